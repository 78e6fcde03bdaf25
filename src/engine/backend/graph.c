/* graph.c - the only place that talks to ggml's scheduler. */
#include "engine/backend/graph.h"

#include "engine/backend/guard.h"
#include "engine/backend/reserve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What ggml's scheduler takes for copies between devices, whether there are any or not: ggml-backend.cpp */
static size_t scheduler_bytes(int32_t max_nodes)
{
    static const size_t inputs_of_split = 30, copies = 2, tables = 2048;
    const size_t n = (size_t)max_nodes;
    return n * (inputs_of_split * copies * sizeof(struct ggml_tensor) + tables) +
           ggml_graph_overhead_custom(n, false);
}

s2p_status s2v_graph_init(s2v_graph *graph, const s2v_backends *backends, int32_t max_nodes,
                          s2p_error *error)
{
    *graph = (s2v_graph){ .max_nodes = max_nodes,
                          .n_threads = backends->n_threads,
                          .products = backends->products };
    graph->n_memory = ggml_tensor_overhead() * (size_t)max_nodes +
                      ggml_graph_overhead_custom((size_t)max_nodes, false);
    graph->memory = malloc(graph->n_memory);
    if (!graph->memory) return s2_fail_memory(error, graph->n_memory, "graph nodes");
    ggml_backend_t backend[2];
    for (int i = 0; i < backends->n; i++) backend[i] = backends->backend[i];
    if (backends->n > 1) graph->device = backend[0];
    const bool can_take = s2v_can_take(scheduler_bytes(max_nodes));
    graph->sched = can_take ? ggml_backend_sched_new(backend, NULL, backends->n, (size_t)max_nodes,
                                                     false, false)
                            : NULL;
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
        graph->ctx = s2v_context_open(params);
    if (!graph->ctx) return s2_fail(error, S2P_ENOMEM, "out of memory for a graph");
    graph->cgraph = ggml_new_graph_custom(graph->ctx, (size_t)graph->max_nodes, false);
    graph->n_inputs = 0;
    graph->n_pauses = 0;
    graph->watch = (s2v_watch){ .call = NULL };
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

/* --- pauses -------------------------------------------------------------------------- */

static const char pause_name[] = "pause"; /* of nodes after which the graph pauses */

void s2v_graph_pause(s2v_graph *graph, struct ggml_tensor *node)
{
    if (!graph->watch.call) return;
    ggml_set_name(node, pause_name);
    graph->n_pauses++;
}

/* The scheduler asks before each node whether to stop behind it, and reports when it did. After a
 * "no more" it leaves the part on this device and goes on with the next, of which it gets as far as
 * one node: so little is left to run that nothing else has to stop it. */
static bool at_node(struct ggml_tensor *node, bool is_question, void *user)
{
    s2v_graph *graph = user;
    const s2v_watch *w = &graph->watch;
    if (is_question) return graph->is_cancelled || strcmp(node->name, pause_name) == 0;
    if (graph->is_cancelled) return false;
    const double share = (double)++graph->n_reached / (graph->n_pauses + 1);
    graph->is_cancelled = w->call(w->step, w->from + (w->to - w->from) * share, w->user) != 0;
    return !graph->is_cancelled;
}

/* --- what crosses -------------------------------------------------------------------- */

static bool is_here(const struct ggml_tensor *t)
{
    const struct ggml_tensor *owner = t->view_src ? t->view_src : t;
    return !owner->buffer || ggml_backend_buffer_is_host(owner->buffer);
}

void s2v_tensor_get(const struct ggml_tensor *from, void *data, size_t offset, size_t n,
                    s2v_traffic *traffic)
{
    if (traffic && !is_here(from)) traffic->down += n;
    ggml_backend_tensor_get(from, data, offset, n);
}

void s2v_tensor_set(struct ggml_tensor *to, const void *data, size_t offset, size_t n,
                    s2v_traffic *traffic)
{
    if (traffic && !is_here(to)) traffic->up += n;
    ggml_backend_tensor_set(to, data, offset, n);
}

/* Outputs are read. And the scheduler copies what a node needs from the other side, and lets the
 * node read its copy: a tensor in compute memory that was not drawn here, counted at its first
 * reader. */
static void count_crossing(const s2v_graph *graph)
{
    enum { MOST = 256 };
    const struct ggml_tensor *seen[MOST];
    const uintptr_t low = (uintptr_t)graph->memory, high = low + graph->n_memory;
    int n_seen = 0;
    for (int i = 0; i < ggml_graph_n_nodes(graph->cgraph); i++) {
        const struct ggml_tensor *node = ggml_graph_node(graph->cgraph, i);
        if ((node->flags & GGML_TENSOR_FLAG_OUTPUT) && !is_here(node))
            graph->traffic->down += ggml_nbytes(node);
        for (int j = 0; j < GGML_MAX_SRC; j++) {
            const struct ggml_tensor *t = node->src[j];
            const uintptr_t at = (uintptr_t)t;
            if (!t || (at >= low && at < high) || !t->buffer || t->view_src ||
                ggml_backend_buffer_get_usage(t->buffer) != GGML_BACKEND_BUFFER_USAGE_COMPUTE)
                continue;
            int k = 0;
            while (k < n_seen && seen[k] != t) k++;
            if (k < n_seen) continue;
            if (n_seen < MOST) seen[n_seen++] = t;
            *(is_here(t) ? &graph->traffic->down : &graph->traffic->up) += ggml_nbytes(t);
        }
    }
}

/* --- computing ----------------------------------------------------------------------- */

typedef enum step { STEP_MEASURE, STEP_RESERVE, STEP_COMPUTE } step;

typedef struct work { /* one call into ggml that may throw */
    s2v_graph *graph;
    step step;
    size_t n_bytes[2]; /* of each backend */
    enum ggml_status status;
} work;

static void do_work(void *user)
{
    work *w = user;
    s2v_graph *graph = w->graph;
    w->status = GGML_STATUS_ALLOC_FAILED;
    ggml_backend_sched_reset(graph->sched);
    /* Devices would sum attention in halves, and large scores overflow. The CPU has no other way. */
    for (int i = 0; graph->device && i < ggml_graph_n_nodes(graph->cgraph); i++) {
        struct ggml_tensor *node = ggml_graph_node(graph->cgraph, i);
        if (node->op == GGML_OP_FLASH_ATTN_EXT) (void)ggml_prec_set_acc(node, GGML_PREC_F32);
    }
    if (w->step == STEP_MEASURE) {
        ggml_backend_sched_reserve_size(graph->sched, graph->cgraph, w->n_bytes);
        ggml_backend_sched_reset(graph->sched);
        return;
    }
    if (w->step == STEP_RESERVE) {
        const bool has_room = ggml_backend_sched_reserve(graph->sched, graph->cgraph);
        if (has_room) w->status = GGML_STATUS_SUCCESS;
        return;
    }
    if (!ggml_backend_sched_alloc_graph(graph->sched, graph->cgraph)) return;
    for (int32_t i = 0; i < graph->n_inputs; i++) {
        struct ggml_tensor *tensor = graph->input[i].tensor;
        if (tensor->buffer) /* an input no node reads has none */
            s2v_tensor_set(tensor, graph->input[i].data, 0, ggml_nbytes(tensor), graph->traffic);
    }
    if (graph->device && graph->traffic) count_crossing(graph);
    graph->n_reached = 0;
    graph->is_cancelled = false;
    ggml_backend_sched_set_eval_callback(graph->sched, graph->watch.call ? at_node : NULL, graph);
    w->status = ggml_backend_sched_graph_compute(graph->sched, graph->cgraph);
    if (graph->is_cancelled) w->status = GGML_STATUS_ABORTED;
}

static const char *device_name(const s2v_graph *graph)
{
    return graph->device ? ggml_backend_name(graph->device) : "the CPU";
}

/* Vulkan's words are ErrorOutOfDeviceMemory, ErrorOutOfHostMemory, ErrorOutOfPoolMemory. */
static s2p_status fail_thrown(const char *device, const char *what, s2p_error *error)
{
    const bool is_memory = strstr(what, "OutOf") || strstr(what, "bad_alloc");
    return s2_fail(error, is_memory ? S2P_ENOMEM : S2P_EIO, "%s %s: %.120s", device,
                   is_memory ? "ran out of memory" : "failed", what);
}

/* An exception breaks the graph permanently, because the state of the device is unknown. */
static s2p_status try_work(work *w, s2p_error *error)
{
    s2v_graph *graph = w->graph;
    char what[160];
    if (graph->is_broken)
        return s2_fail(error, S2P_EIO, "%s failed before; this session cannot continue",
                       device_name(graph));
    if (s2v_guarded(do_work, w, what, sizeof what)) return S2P_OK;
    graph->is_broken = true;
    return fail_thrown(device_name(graph), what, error);
}

uint64_t s2v_graph_device_bytes(s2v_graph *graph)
{
    work w = { .graph = graph, .step = STEP_MEASURE };
    if (!graph->device || try_work(&w, NULL) != S2P_OK) return 0;
    return w.n_bytes[0];
}

/* A product with quantized or half-precision weights first converts its rows to a matching type. */
static uint64_t count_converted(const s2v_graph *graph)
{
    uint64_t most = 0;
    for (int i = 0; i < ggml_graph_n_nodes(graph->cgraph); i++) {
        const struct ggml_tensor *node = ggml_graph_node(graph->cgraph, i);
        if (node->op != GGML_OP_MUL_MAT || node->src[0]->type == node->src[1]->type) continue;
        const enum ggml_type type =
            ggml_is_quantized(node->src[0]->type) ? GGML_TYPE_Q8_0 : node->src[0]->type;
        const uint64_t n =
            (uint64_t)ggml_row_size(type, node->src[1]->ne[0]) * (uint64_t)ggml_nrows(node->src[1]);
        if (n > most) most = n;
    }
    return most;
}

uint64_t s2v_graph_host_bytes(s2v_graph *graph)
{
    work w = { .graph = graph, .step = STEP_MEASURE };
    if (try_work(&w, NULL) != S2P_OK) return 0;
    return w.n_bytes[graph->device ? 1 : 0] + count_converted(graph);
}

static s2p_status fail_room(const s2v_graph *graph, s2p_error *error)
{
    return s2_fail(error, S2P_ENOMEM, "%s has no memory for %d graph nodes", device_name(graph),
                   ggml_graph_n_nodes(graph->cgraph));
}

s2p_status s2v_graph_reserve(s2v_graph *graph, s2p_error *error)
{
    work w = { .graph = graph, .step = STEP_RESERVE };
    TRY(try_work(&w, error));
    return w.status == GGML_STATUS_SUCCESS ? S2P_OK : fail_room(graph, error);
}

s2p_status s2v_graph_compute(s2v_graph *graph, s2p_error *error)
{
    work w = { .graph = graph, .step = STEP_COMPUTE };
    TRY(try_work(&w, error));
    switch (w.status) {
    case GGML_STATUS_SUCCESS:
        return S2P_OK;
    case GGML_STATUS_ALLOC_FAILED:
        return fail_room(graph, error);
    case GGML_STATUS_ABORTED:
        return s2_fail(error, S2P_ECANCELLED, "the prompt was cancelled");
    default:
        return s2_fail(error, S2P_EIO, "%s failed while computing", device_name(graph));
    }
}

/* --- reading ------------------------------------------------------------------------- */

typedef struct reading {
    const struct ggml_tensor *from;
    float *out;
} reading;

static void read_back(void *user)
{
    const reading *r = user;
    ggml_backend_tensor_get(r->from, r->out, 0, ggml_nbytes(r->from));
}

/* On the CPU only damaged weights make numbers anything but finite; elsewhere halves overflow. */
s2p_status s2v_graph_read(const struct ggml_tensor *from, float *out, s2p_error *error)
{
    const struct ggml_tensor *owner = from->view_src ? from->view_src : from;
    ggml_backend_dev_t device =
        is_here(from) ? NULL
                      : ggml_backend_buft_get_device(ggml_backend_buffer_get_type(owner->buffer));
    const char *name = device ? ggml_backend_dev_name(device) : "the CPU";
    reading r = { from, out };
    char what[160];
    if (!s2v_guarded(read_back, &r, what, sizeof what)) return fail_thrown(name, what, error);
    const size_t n = (size_t)ggml_nelements(from);
    for (size_t i = 0; i < n; i++) {
        if (isfinite(out[i])) continue;
        const char *number = isnan(out[i]) ? "NaN" : "infinity";
        if (!device)
            return s2_fail(error, S2P_EFORMAT, "the model computed %s; its weights are damaged",
                           number);
        return s2_fail(error, S2P_EFORMAT,
                       "the model computed %s on %s: a value was too large for the device's 16-bit "
                       "floats, or the weights are damaged; run on the CPU to find out which",
                       number, name);
    }
    return S2P_OK;
}
