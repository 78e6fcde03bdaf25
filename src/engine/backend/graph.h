/* graph.h - draw a graph, allocate it, set its inputs, compute.
 *
 * The memory for nodes is taken once and reused for every graph, so drawing one
 * allocates nothing. Inputs are remembered while drawing and set once the
 * scheduler knows where they live.
 */
#ifndef S2_ENGINE_GRAPH_H
#define S2_ENGINE_GRAPH_H

#include "engine/backend/device.h"
#include "s2vlm.h"

#define S2V_MAX_INPUTS 16

typedef struct s2v_traffic { /* bytes that crossed between host and device */
    uint64_t up, down;
} s2v_traffic;

typedef struct s2v_watch {      /* who is told while a graph runs that takes long */
    s2v_progress_callback call; /* NULL: nobody */
    void *user;
    const char *step;
    double from, to; /* of the step: where the graph begins and ends */
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
    bool is_broken;       /* the device failed; what it left behind is not to be computed with */
    struct {
        struct ggml_tensor *tensor;
        const void *data;
    } input[S2V_MAX_INPUTS];
    int32_t n_inputs;
    s2v_watch watch;             /* of the graph being drawn */
    int32_t n_pauses, n_reached; /* places where it is told; those that were computed */
    bool is_cancelled;
} s2v_graph;

s2p_status s2v_graph_init(s2v_graph *graph, const s2v_backends *backends, int32_t max_nodes,
                          s2p_error *error);
void s2v_graph_free(s2v_graph *graph);

/* Start drawing; what was drawn before is gone, and nobody watches until graph->watch is set. */
s2p_status s2v_graph_begin(s2v_graph *graph, s2p_error *error);

/* An input of [ne0, ne1]; `data` is borrowed until s2v_graph_compute. */
struct ggml_tensor *s2v_graph_input(s2v_graph *graph, enum ggml_type type, int64_t ne0, int64_t ne1,
                                    const void *data);

/* Once `node` is computed whoever watches is told and may cancel: a graph that is watched runs in
 * pieces, one after the other, else the same. Between them its session computes nothing. */
void s2v_graph_pause(s2v_graph *graph, struct ggml_tensor *node);

/* Make sure `node` is computed, after everything expanded so far. */
void s2v_graph_expand(s2v_graph *graph, struct ggml_tensor *node);

/* Allocate, set the inputs, compute. Outputs (ggml_set_output) can be read until the next begin. */
s2p_status s2v_graph_compute(s2v_graph *graph, s2p_error *error);

/* Bytes of this machine's memory the graph as drawn will take: results, and what products convert. */
uint64_t s2v_graph_host_bytes(s2v_graph *graph);

/* Bytes of the device the graph as drawn will take; 0 on the CPU. */
uint64_t s2v_graph_device_bytes(s2v_graph *graph);

/* Take the memory for the graph as drawn, and compute nothing. */
s2p_status s2v_graph_reserve(s2v_graph *graph, s2p_error *error);

/* Numbers the model computed, all of a contiguous F32 tensor, read back; S2P_EFORMAT unless all are
 * finite. */
s2p_status s2v_graph_read(const struct ggml_tensor *from, float *out, s2p_error *error);

/* Bytes read from and written to a tensor beside a graph; counted where they cross. */
void s2v_tensor_get(const struct ggml_tensor *from, void *data, size_t offset, size_t n,
                    s2v_traffic *traffic);
void s2v_tensor_set(struct ggml_tensor *to, const void *data, size_t offset, size_t n,
                    s2v_traffic *traffic);

#endif /* S2_ENGINE_GRAPH_H */
