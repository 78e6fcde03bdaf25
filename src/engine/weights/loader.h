/* loader.h - loads weights from validated files into the memory where they are fastest.
 *
 * An architecture requests each tensor by name with the shape its graph expects;
 * the loader checks it, decides where to place it, and moves all data at the end,
 * with progress. On the CPU a quantized matrix goes into the buffer type that
 * repacks it; tensors used unchanged stay mapped; the rest is copied. The
 * tower's matrices are read in place (packing.h).
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
uint64_t s2v_weights_bytes(const s2v_weights *weights); /* memory used beyond the mapped files */
uint64_t s2v_weights_device_bytes(const s2v_weights *weights); /* of it, on the main device */
uint64_t
s2v_weights_mapped_bytes(const s2v_weights *weights); /* beside it, read all over in place */
uint64_t s2v_weights_tower_bytes(const s2v_weights *weights); /* beside it, read by pictures */

typedef struct s2v_loader {
    s2v_weights *weights;
    const s2v_devices *devices;
    s2v_gguf *file;                   /* the file that tensors are now taken from */
    bool on_device;                   /* weights requested now go to the main device */
    bool tower_on_device;             /* those of the tower will */
    const s2v_kernels *kernels;       /* of the tower; NULL: its products are ggml's */
    const s2v_kernels *quant_kernels; /* of its quantized matrices; NULL: as above */
    int32_t n_matrices, n_quantized;  /* products requested on these kernels; on the second */
    bool keeps_blocks; /* matrices requested now keep the file's layout if our products read it */
    bool as_f32;       /* F16 and BF16 matrices requested now become F32 (small files: always) */
    s2p_status status; /* the first failure sticks; later requests return NULL */
    s2p_error *error;
} s2v_loader;

s2p_status s2v_loader_init(s2v_loader *loader, const s2v_devices *devices, s2p_error *error);

/* A tensor of exactly [ne0, ne1] (ne1 = 1 for vectors). NULL and a message if it is missing or
 * has another shape or an unsupported type. `layer` < 0: `name` is used unchanged, else it has one %d. */
struct ggml_tensor *s2v_loader_get(s2v_loader *loader, const char *name, int32_t layer, s2v_use use,
                                   int64_t ne0, int64_t ne1);

/* The same, but NULL without an error if the file has no such tensor. */
struct ggml_tensor *s2v_loader_try(s2v_loader *loader, const char *name, int32_t layer, s2v_use use,
                                   int64_t ne0, int64_t ne1);

/* n matrices [ne0, ne1], stacked in one tensor. On the CPU they are read in place: a row needs only a
 * few of them, and the products that ggml would pack them for process one row at a time anyway. */
struct ggml_tensor *s2v_loader_experts(s2v_loader *loader, const char *name, int32_t layer,
                                       int64_t ne0, int64_t ne1, int64_t n);

/* [ne0, ne1] in the file, zero-padded to [to0, to1]: the fast kernels need sizes that are multiples
 * of 32. Blocks of zero bytes are zeros in every quantized type. */
struct ggml_tensor *s2v_loader_padded(s2v_loader *loader, const char *name, int32_t layer,
                                      int64_t ne0, int64_t ne1, int64_t to0, int64_t to1);

/* The sum of two tensors of n elements per row, as F32 rows padded to to0: the two temporal kernels
 * of a still picture. ne: the shape both have in the file. */
struct ggml_tensor *s2v_loader_sum(s2v_loader *loader, const char *first, const char *second,
                                   const int64_t ne[4], int64_t to0);

/* A computed tensor: F32 [n], base to the power of i / n. */
struct ggml_tensor *s2v_loader_powers(s2v_loader *loader, double base, int64_t n);

/* Locate matrices [k, n] that the kernels will pack one below the other or as a pair. name:
 * [packed->n_parts]. packed: n, k, n_parts and is_pair in, type out. Returns the kernels: those of
 * quantized matrices if one of these is. NULL: they are missing, or have other shapes or types;
 * loader->status has the reason. */
const s2v_kernels *s2v_loader_origin(s2v_loader *loader, const char *const *name, int32_t layer,
                                     s2v_packed *packed, s2v_origin *origin);

/* Vectors of n, one after the other. */
struct ggml_tensor *s2v_loader_joined(s2v_loader *loader, const char *const *name, int32_t n_names,
                                      int32_t layer, int64_t n);

/* Whether the matrices of the file with this name prefix can be packed; their types may differ. */
bool s2v_loader_packs(const s2v_loader *loader, const char *prefix);

/* Memory that the weights will use; known once every tensor has been requested. */
uint64_t s2v_loader_bytes(const s2v_loader *loader);
uint64_t s2v_loader_device_bytes(const s2v_loader *loader); /* of it, on the main device */

/* Allocate and move the data. Then the loader is finished; loader->weights belongs to the caller.
 */
s2p_status s2v_loader_finish(s2v_loader *loader, s2v_progress_callback progress, void *user);

/* Instead of that, without memory and data: placeholders in the right kinds of memory, so that graphs
 * can be built and measured. */
s2p_status s2v_loader_outline(s2v_loader *loader);

void s2v_loader_abandon(s2v_loader *loader); /* after a failure */

#endif /* S2_ENGINE_LOADER_H */
