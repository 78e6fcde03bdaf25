/* device.h - which ggml devices compute, and where weights are stored.
 *
 * Everything goes through ggml's registry, so the same code runs on the CPU, on a
 * GPU and over RPC. The engine keeps the devices; each session opens its own
 * backends on them, because a backend is used by one thread.
 */
#ifndef S2_ENGINE_DEVICE_H
#define S2_ENGINE_DEVICE_H

#include "base/error.h"
#include "engine/backend/threads.h"
#include "kernels/decoder/products.h"

#include <ggml-backend.h>
#include <ggml.h>

#define S2V_MAX_EXTRA_TYPES 8

typedef struct s2v_devices {
    ggml_backend_dev_t cpu;
    ggml_backend_dev_t main; /* holds offloaded layers; the CPU without an offload */
    ggml_backend_buffer_type_t
        extra[S2V_MAX_EXTRA_TYPES]; /* CPU types that repack weights, best first */
    int32_t n_extra;
    int32_t n_threads;
    const s2k_product_set
        *products; /* of the decoder; NULL: ggml's. Only if the CPU computes everything */
} s2v_devices;

/* device NULL: the first GPU, or else the CPU. rpc_server NULL or host:port. */
s2p_status s2v_devices_open(s2v_devices *out, const char *device, const char *rpc_server,
                            int32_t n_threads, s2p_error *error);

/* From now on the CPU computes everything. */
void s2v_devices_stay(s2v_devices *devices);

/* The buffer type in which a product with this weight is fastest on the CPU; NULL: the plain one.
 */
ggml_backend_buffer_type_t s2v_fastest_buffer(const s2v_devices *devices,
                                              struct ggml_tensor *weight);

/* Whether the main device can multiply with this weight (of experts: stacked matrices), or look up its
 * rows. */
bool s2v_device_takes(const s2v_devices *devices, struct ggml_tensor *weight, bool by_row);

typedef struct s2v_backends {  /* one session's */
    ggml_backend_t backend[2]; /* main device first, the CPU last */
    int n;
    int32_t n_threads;               /* of the CPU */
    s2v_pool pool;                   /* they wait in it */
    const s2k_product_set *products; /* as in s2v_devices */
} s2v_backends;

s2p_status s2v_backends_open(s2v_backends *out, const s2v_devices *devices, int32_t n_threads,
                             s2p_error *error);
void s2v_backends_close(s2v_backends *backends);

/* Assign the tensors of a context to a placeholder buffer of this kind, to measure graphs;
 * NULL without memory. */
ggml_backend_buffer_t s2v_place_outline(struct ggml_context *ctx, ggml_backend_buffer_type_t type);

/* A descriptor of the file that says how much memory the system has; -1 on other systems. The caller closes it. */
int s2v_memory_open(void);

/* Bytes available without swapping; 0 if the system does not report it. */
uint64_t s2v_memory_available(int memory_fd);

/* Resident bytes of this process; 0 if the system does not report it. */
uint64_t s2v_memory_resident(void);

#endif /* S2_ENGINE_DEVICE_H */
