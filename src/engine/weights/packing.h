/* packing.h - converts the tower's matrices from the layout of the file to that of its kernels.
 *
 * This happens for every picture, matrix by matrix, just before the product (tower_nodes.h): packing
 * a matrix takes a few percent of the time of its product with a picture's rows. A packed copy of
 * all matrices would need as much memory as the file, and the first picture would wait while the
 * system clears it; the file's own pages are shared by every process that has it open.
 */
#ifndef S2_ENGINE_PACKING_H
#define S2_ENGINE_PACKING_H

#include "kernels/tower/kernels.h"
#include "gguf/gguf.h"

#include <stdbool.h>

typedef struct s2v_origin { /* where packed weights come from: matrices of a mapped file */
    const s2v_gguf_tensor *part[3];
} s2v_origin;

/* The kernels of the two that read this matrix: floats or quantized; NULL: ggml computes the product. */
const s2v_kernels *s2v_kernels_for(const s2v_kernels *floats, const s2v_kernels *quants,
                                   const s2v_gguf_tensor *t);

/* The type of all parts, F32 where they differ. */
s2v_element s2v_origin_type(const s2v_origin *origin, int32_t n_parts);

/* Task i of n of the packing, on n threads; `packed` has its data set. */
void s2v_pack_part(const s2v_kernels *kernels, const s2v_packed *packed, const s2v_origin *origin,
                   int i, int n);

#endif /* S2_ENGINE_PACKING_H */
