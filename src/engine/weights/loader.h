/* loader.h - weights from validated files into the memory where they are fastest.
 *
 * An architecture asks for each tensor by name with the shape its graph expects;
 * the loader checks it, decides where it lives, and moves all data in one go at
 * the end, with progress. On the CPU a quantised matrix goes into the buffer type
 * that repacks it; what is used as it is stays mapped; the rest is copied. The
 * tower's matrices are read where they are (packing.h).
 */
#ifndef S2_ENGINE_LOADER_H
#define S2_ENGINE_LOADER_H

#include "engine/backend/device.h"
#include "engine/weights/packing.h"
#include "s2vlm.h"

typedef enum s2v_use {
    S2V_USE_MATRIX, /* left side of products */
    S2V_USE_ROWS,   /* looked up by row */
    S2V_USE_VECTOR  /* norms and biases, F32 */
} s2v_use;

typedef struct s2v_weights s2v_weights; /* tensors and their buffers, owned by the engine */

void s2v_weights_free(s2v_weights *weights);
uint64_t s2v_weights_bytes(const s2v_weights *weights); /* memory taken beyond the mapped files */
uint64_t s2v_weights_device_bytes(const s2v_weights *weights); /* of it, on the main device */
uint64_t
s2v_weights_mapped_bytes(const s2v_weights *weights); /* beside it, read all over in place */
uint64_t s2v_weights_tower_bytes(const s2v_weights *weights); /* beside it, read by pictures */

typedef struct s2v_loader {
    s2v_weights *weights;
    const s2v_devices *devices;
    s2v_gguf *file;                   /* the file tensors are taken from now */
    bool on_device;                   /* weights asked for now go to the main device */
    bool tower_on_device;             /* those of the tower will */
    const s2v_kernels *kernels;       /* of the tower; NULL: its products are ggml's */
    const s2v_kernels *quant_kernels; /* of its quantized matrices; NULL: as above */
    int32_t n_matrices, n_quantized;  /* products asked for on these kernels; on the second */
    bool keeps_blocks; /* matrices asked for now stay as in the file where our products read that */
    bool as_f32;       /* F16 and BF16 matrices asked for now become F32 (small files: always) */
    s2p_status status; /* the first failure sticks; later requests return NULL */
    s2p_error *error;
} s2v_loader;

s2p_status s2v_loader_init(s2v_loader *loader, const s2v_devices *devices, s2p_error *error);

/* A tensor of exactly [ne0, ne1] (ne1 = 1 for vectors). NULL and a sentence when it is missing or
 * has another shape or an impossible type. `layer` < 0: `name` as it is, else it has one %d. */
struct ggml_tensor *s2v_loader_get(s2v_loader *loader, const char *name, int32_t layer, s2v_use use,
                                   int64_t ne0, int64_t ne1);

/* The same, NULL without complaint when the file has no such tensor. */
struct ggml_tensor *s2v_loader_try(s2v_loader *loader, const char *name, int32_t layer, s2v_use use,
                                   int64_t ne0, int64_t ne1);

/* n matrices [ne0, ne1], one behind the other in one tensor. On the CPU they are read where they are: a
 * row needs a few of them, and the products ggml would pack them for take one row at a time anyway. */
struct ggml_tensor *s2v_loader_experts(s2v_loader *loader, const char *name, int32_t layer,
                                       int64_t ne0, int64_t ne1, int64_t n);

/* [ne0, ne1] in the file, zero-padded to [to0, to1]: sizes that are no multiple of 32 fall out of
 * the fast kernels. Blocks of zero bytes are zeros in every quantised type. */
struct ggml_tensor *s2v_loader_padded(s2v_loader *loader, const char *name, int32_t layer,
                                      int64_t ne0, int64_t ne1, int64_t to0, int64_t to1);

/* The sum of two tensors of n elements per row, as F32 rows padded to to0: the two temporal kernels
 * of a still picture. ne: the shape both have in the file. */
struct ggml_tensor *s2v_loader_sum(s2v_loader *loader, const char *first, const char *second,
                                   const int64_t ne[4], int64_t to0);

/* Computed here: F32 [n], base to the power of i / n. */
struct ggml_tensor *s2v_loader_powers(s2v_loader *loader, double base, int64_t n);

/* Where matrices [k, n] are, which kernels will pack one below the other or as a pair. name:
 * [packed->n_parts]. packed: n, k, n_parts and is_pair in, type out. Returns the kernels: those of
 * quantized matrices if one of these is. NULL: they are not there, or of other shapes and types;
 * loader->status has the reason. */
const s2v_kernels *s2v_loader_origin(s2v_loader *loader, const char *const *name, int32_t layer,
                                     s2v_packed *packed, s2v_origin *origin);

/* Vectors of n, one after the other. */
struct ggml_tensor *s2v_loader_joined(s2v_loader *loader, const char *const *name, int32_t n_names,
                                      int32_t layer, int64_t n);

/* The matrices of the file whose names begin so can be packed; their types may differ. */
bool s2v_loader_packs(const s2v_loader *loader, const char *prefix);

/* Memory the weights will take; known once every tensor was asked for. */
uint64_t s2v_loader_bytes(const s2v_loader *loader);
uint64_t s2v_loader_device_bytes(const s2v_loader *loader); /* of it, on the main device */

/* Allocate and move the data. Afterwards the loader is done; loader->weights belongs to the caller.
 */
s2p_status s2v_loader_finish(s2v_loader *loader, s2v_progress_callback progress, void *user);

/* Instead: no memory and no data, only places in the right kinds of memory, so that graphs can be
 * drawn and measured. */
s2p_status s2v_loader_outline(s2v_loader *loader);

void s2v_loader_abandon(s2v_loader *loader); /* after a failure */

#endif /* S2_ENGINE_LOADER_H */
