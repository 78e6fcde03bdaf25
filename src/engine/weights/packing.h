/* packing.h - the tower's matrices, from the layout of the file into that of its kernels.
 *
 * It happens for every picture, matrix by matrix, just before the product (tower_nodes.h): packing
 * a matrix costs a few hundredths of multiplying a picture's rows with it. A packed copy of them all
 * would cost as much memory as the file, and the first picture the time in which the system clears
 * that memory; the file's own pages are shared by every process that has it open.
 */
#ifndef S2_ENGINE_PACKING_H
#define S2_ENGINE_PACKING_H

#include "kernels/tower/kernels.h"
#include "gguf/gguf.h"

#include <stdbool.h>

typedef struct s2v_origin { /* where packed weights come from: matrices of a mapped file */
    const s2v_gguf_tensor *part[3];
} s2v_origin;

/* Those of the two that read this matrix: floats or quantized numbers; NULL: ggml multiplies with it. */
const s2v_kernels *s2v_kernels_for(const s2v_kernels *floats, const s2v_kernels *quants,
                                   const s2v_gguf_tensor *t);

/* The type of all parts, F32 where they differ. */
s2v_element s2v_origin_type(const s2v_origin *origin, int32_t n_parts);

/* Part i of n of the packing, on as many threads; `packed` with its data. */
void s2v_pack_part(const s2v_kernels *kernels, const s2v_packed *packed, const s2v_origin *origin,
                   int i, int n);

#endif /* S2_ENGINE_PACKING_H */
