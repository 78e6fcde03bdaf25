/* packing.h - the tower's matrices, from the layout of the file into that of its kernels.
 *
 * It happens once. Who expects pictures has a thread do it while the text model is read; what is
 * left when the first picture comes is packed by that picture's graph, each matrix just before its
 * product (tower_nodes.h). Who asks only for text never pays. The pages of the file go matrix by
 * matrix, so the file and its packed copy are never both in memory.
 */
#ifndef S2_ENGINE_PACKING_H
#define S2_ENGINE_PACKING_H

#include "engine/vision/kernels/kernels.h"
#include "gguf/gguf.h"
#include "s2vlm.h"

#include <ggml.h>
#include <pthread.h>
#include <stdatomic.h>

typedef struct s2v_origin { /* where packed weights come from: matrices of a mapped file */
    s2v_gguf *file;
    const s2v_gguf_tensor *part[3];
    bool is_packed; /* before the first picture */
} s2v_origin;

/* What kernels read in the matrices of a file; such a type they can. */
bool s2v_origin_takes(const s2v_gguf_tensor *t);
s2v_element s2v_origin_type(const s2v_origin *origin);

void *s2v_packed_data(const struct ggml_tensor *tensor);

/* Part i of n of the packing, on as many threads; `packed` with its data. */
void s2v_pack_part(const s2v_kernels *kernels, const s2v_packed *packed, const s2v_origin *origin,
                   int i, int n);
void s2v_origin_release(const s2v_origin *origin); /* the pages that were read for it */

/* --- in the background ------------------------------------------------------------- */

typedef struct s2v_packing_matrix { /* all belong to the model */
    const s2v_kernels *kernels;
    const s2v_packed *weights;
    s2v_origin *origin;
    const struct ggml_tensor *tensor;
} s2v_packing_matrix;

typedef struct s2v_packing { /* zeros: nothing to do */
    s2v_packing_matrix *matrix;
    size_t n, capacity;
    pthread_t thread;
    bool is_running;
    atomic_bool stop;
} s2v_packing;

s2p_status s2v_packing_add(s2v_packing *packing, s2v_packing_matrix matrix, s2p_error *error);

/* Without a thread to be had nothing happens, and the first picture does all of it. */
void s2v_packing_start(s2v_packing *packing);

/* Waits for the matrix the thread is at. */
void s2v_packing_stop(s2v_packing *packing);

void s2v_packing_free(s2v_packing *packing); /* stops it too */

#endif /* S2_ENGINE_PACKING_H */
