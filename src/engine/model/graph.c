/* graph.c - the only place that talks to ggml's scheduler. */
#include "engine/model/graph.h"

#include <math.h>
#include <stdlib.h>

s2p_status s2v_graph_init(s2v_graph *graph, const s2v_backends *backends, int32_t max_nodes,
                          s2p_error *error)
{
    *graph = (s2v_graph){ .max_nodes = max_nodes, .n_threads = backends->n_threads };
    graph->n_memory = ggml_tensor_overhead() * (size_t)max_nodes +
                      ggml_graph_overhead_custom((size_t)max_nodes, false);
    graph->memory = malloc(graph->n_memory);
    if (!graph->memory) return s2_fail_memory(error, graph->n_memory, "graph nodes");
    ggml_backend_t backend[2];
    for (int i = 0; i < backends->n; i++) backend[i] = backends->backend[i];
    graph->sched =
        ggml_backend_sched_new(backend, NULL, backends->n, (size_t)max_nodes, false, false);
    if (!graph->sched) {
        s2v_graph_free(graph);
        return s2_fail(error, S2P_ENOMEM, "out of memory for the scheduler");
    }
    return S2P_OK;
}

void s2v_graph_free(s2v_graph *graph)
{
    if (graph->ctx) ggml_free(graph->ctx);
    if (graph->sched) ggml_backend_sched_free(graph->sched);
    free(graph->memory);
    *graph = (s2v_graph){ .max_nodes = 0 };
}

s2p_status s2v_graph_begin(s2v_graph *graph, s2p_error *error)
{
    const struct ggml_init_params params = { graph->n_memory, graph->memory, true };
    if (graph->ctx)
        ggml_reset(graph->ctx);
    else
        graph->ctx = ggml_init(params);
    if (!graph->ctx) return s2_fail(error, S2P_ENOMEM, "out of memory for a graph");
    graph->cgraph = ggml_new_graph_custom(graph->ctx, (size_t)graph->max_nodes, false);
    graph->n_inputs = 0;
    return S2P_OK;
}

struct ggml_tensor *s2v_graph_input(s2v_graph *graph, enum ggml_type type, int64_t ne0, int64_t ne1,
                                    const void *data)
{
    struct ggml_tensor *tensor = ggml_new_tensor_2d(graph->ctx, type, ne0, ne1);
    ggml_set_input(tensor);
    graph->input[graph->n_inputs].tensor = tensor;
    graph->input[graph->n_inputs++].data = data;
    return tensor;
}

void s2v_graph_expand(s2v_graph *graph, struct ggml_tensor *node)
{
    ggml_build_forward_expand(graph->cgraph, node);
}

s2p_status s2v_graph_compute(s2v_graph *graph, s2p_error *error)
{
    ggml_backend_sched_reset(graph->sched);
    if (!ggml_backend_sched_alloc_graph(graph->sched, graph->cgraph))
        return s2_fail(error, S2P_ENOMEM, "out of memory for %d graph nodes",
                       ggml_graph_n_nodes(graph->cgraph));
    for (int32_t i = 0; i < graph->n_inputs; i++) {
        struct ggml_tensor *tensor = graph->input[i].tensor;
        if (tensor->buffer) /* an input no node reads has none */
            ggml_backend_tensor_set(tensor, graph->input[i].data, 0, ggml_nbytes(tensor));
    }
    switch (ggml_backend_sched_graph_compute(graph->sched, graph->cgraph)) {
    case GGML_STATUS_SUCCESS:
        return S2P_OK;
    case GGML_STATUS_ALLOC_FAILED:
        return s2_fail(error, S2P_ENOMEM, "out of memory while computing");
    case GGML_STATUS_ABORTED:
        return s2_fail(error, S2P_ECANCELLED, "cancelled while computing");
    default:
        return s2_fail(error, S2P_EIO, "the device failed while computing");
    }
}

/* Only damaged weights make numbers anything but finite. */
s2p_status s2v_graph_read(const struct ggml_tensor *from, float *out, s2p_error *error)
{
    const size_t n = (size_t)ggml_nelements(from);
    ggml_backend_tensor_get(from, out, 0, n * sizeof *out);
    for (size_t i = 0; i < n; i++)
        if (!isfinite(out[i]))
            return s2_fail(error, S2P_EFORMAT, "the model computed %s; its weights are damaged",
                           isnan(out[i]) ? "NaN" : "infinity");
    return S2P_OK;
}
