/* graph.h - build a graph, allocate it, set its inputs, compute.
 *
 * The memory for nodes is allocated once and reused for every graph, so building one
 * allocates nothing. Inputs are recorded during building and set once the
 * scheduler has placed them.
 */
#ifndef S2_ENGINE_GRAPH_H
#define S2_ENGINE_GRAPH_H

#include "engine/backend/device.h"
#include "s2vlm.h"

#define S2V_MAX_INPUTS 16

typedef struct s2v_traffic { /* bytes that crossed between host and device */
    uint64_t up, down;
} s2v_traffic;

typedef struct s2v_watch {      /* the progress callback for a long graph */
    s2v_progress_callback call; /* NULL: nobody */
    void *user;
    const char *step;
    double from, to; /* progress of the step at the start and end of the graph */
} s2v_watch;

typedef struct s2v_graph {
    struct ggml_context *ctx; /* of the graph being drawn */
    struct ggml_cgraph *cgraph;
    ggml_backend_sched_t sched;
    void *memory;
    size_t n_memory;
    int32_t max_nodes, n_threads;
    const s2k_product_set *products; /* as in s2v_devices */
    ggml_backend_t device;           /* NULL: the CPU alone */
    s2v_traffic *traffic; /* borrowed, counted into: inputs, outputs, what the scheduler copies */
    bool is_broken;       /* the device failed; its results must not be used */
    struct {
        struct ggml_tensor *tensor;
        const void *data;
    } input[S2V_MAX_INPUTS];
    int32_t n_inputs;
    s2v_watch watch;             /* of the graph being drawn */
    int32_t n_pauses, n_reached; /* nodes with a callback; those already computed */
    bool is_cancelled;
} s2v_graph;

s2p_status s2v_graph_init(s2v_graph *graph, const s2v_backends *backends, int32_t max_nodes,
                          s2p_error *error);
void s2v_graph_free(s2v_graph *graph);

/* Start a new graph, discarding the previous one; no progress is reported until graph->watch is set. */
s2p_status s2v_graph_begin(s2v_graph *graph, s2p_error *error);

/* An input of [ne0, ne1]; `data` is borrowed until s2v_graph_compute. */
struct ggml_tensor *s2v_graph_input(s2v_graph *graph, enum ggml_type type, int64_t ne0, int64_t ne1,
                                    const void *data);

/* Report progress after `node` is computed; the callback may cancel. A watched graph runs in pieces,
 * one after the other, with the same result. Between them its session computes nothing. */
void s2v_graph_pause(s2v_graph *graph, struct ggml_tensor *node);

/* Ensure that `node` is computed, after everything expanded so far. */
void s2v_graph_expand(s2v_graph *graph, struct ggml_tensor *node);

/* Allocate, set the inputs, compute. Outputs (ggml_set_output) can be read until the next begin. */
s2p_status s2v_graph_compute(s2v_graph *graph, s2p_error *error);

/* Bytes of main memory that this graph will use: results, and converted inputs of products. */
uint64_t s2v_graph_host_bytes(s2v_graph *graph);

/* Bytes of device memory that this graph will use; 0 on the CPU. */
uint64_t s2v_graph_device_bytes(s2v_graph *graph);

/* Allocate memory for this graph, without computing. */
s2p_status s2v_graph_reserve(s2v_graph *graph, s2p_error *error);

/* Numbers the model computed, all of a contiguous F32 tensor, read back; S2P_EFORMAT unless all are
 * finite. */
s2p_status s2v_graph_read(const struct ggml_tensor *from, float *out, s2p_error *error);

/* Read from or write to a tensor outside of a graph; bytes to and from a device are counted. */
void s2v_tensor_get(const struct ggml_tensor *from, void *data, size_t offset, size_t n,
                    s2v_traffic *traffic);
void s2v_tensor_set(struct ggml_tensor *to, const void *data, size_t offset, size_t n,
                    s2v_traffic *traffic);

#endif /* S2_ENGINE_GRAPH_H */
