/* unrounded.c - hold the keys and values of one layer in F32 while the prompt runs through it. */
#include "engine/decoder/unrounded.h"

#include "engine/backend/reserve.h"

static bool is_exact(s2v_kv_types type)
{
    return type.k == GGML_TYPE_F32 && type.v == GGML_TYPE_F32;
}

void s2v_unrounded_start(s2v_unrounded *u, s2v_kv_types past, int32_t n_layers, bool with_question)
{
    s2v_unrounded_end(u);
    if (is_exact(past)) return; /* it rounds nothing */
    u->n_layers = n_layers;
    u->with_question = with_question;
}

void s2v_unrounded_end(s2v_unrounded *u)
{
    ggml_backend_buffer_free(u->buffer);
    ggml_free(u->ctx);
    *u = (s2v_unrounded){ .n_layers = 0 };
}

uint64_t s2v_unrounded_bytes(const s2v_decoder *decoder, int32_t n_ctx, s2v_kv_types past)
{
    static const s2v_kv_types floats = { GGML_TYPE_F32, GGML_TYPE_F32 };
    return is_exact(past) ? 0 : s2v_past_layer_bytes(decoder, n_ctx, floats);
}

bool s2v_unrounded_row(const s2v_unrounded *u, const s2v_rows *rows, int32_t layer, int32_t row)
{
    return layer < u->n_layers && (u->with_question || row < rows->n - rows->n_tail);
}

/* The question runs in chunks of its own. */
bool s2v_unrounded_is_held(const s2v_unrounded *u, const s2v_rows *rows, const s2v_past *past,
                           int32_t layer, int32_t n_batch)
{
    const int32_t n = rows->n - rows->n_tail;
    if (!s2v_unrounded_row(u, rows, layer, 0)) return false;
    if (past->layer[layer].state) return false; /* it has neither */
    return u->with_question || s2v_past_length(past, layer) > 0 || n > n_batch;
}

s2p_status s2v_unrounded_hold(s2v_unrounded *u, const s2v_past *past, s2v_graph *graph,
                              int32_t layer, int32_t n_rows, s2p_error *error)
{
    const s2v_slots *slots = &past->layer[layer];
    const int32_t n_past = slots->n, n = n_past + n_rows;
    ggml_backend_buffer_type_t type = ggml_backend_buffer_get_type(slots->k->buffer);
    u->n_held = 0;
    if (n > u->capacity || ggml_backend_buffer_get_type(u->buffer) != type) {
        ggml_backend_buffer_free(u->buffer);
        ggml_free(u->ctx);
        const struct ggml_init_params params = { ggml_tensor_overhead() * 2, NULL, true };
        u->capacity = 0;
        u->buffer = NULL;
        u->ctx = s2v_context_open(params);
        if (u->ctx) {
            u->k = ggml_new_tensor_2d(u->ctx, GGML_TYPE_F32, slots->k->ne[0], n);
            u->v = ggml_new_tensor_2d(u->ctx, GGML_TYPE_F32, slots->v->ne[0], n);
            u->buffer = ggml_backend_alloc_ctx_tensors_from_buft(u->ctx, type);
        }
        if (!u->buffer)
            return s2_fail(error, S2P_ENOMEM, "out of memory for keys and values of %d tokens", n);
        u->capacity = n;
    }
    if (n_past > 0) {
        TRY(s2v_graph_begin(graph, error));
        struct ggml_tensor *const from[2] = { slots->k, slots->v }, *const to[2] = { u->k, u->v };
        for (int c = 0; c < 2; c++)
            s2v_graph_expand(graph,
                             ggml_cpy(graph->ctx, s2v_slots_view(graph->ctx, from[c], 0, n_past),
                                      s2v_slots_view(graph->ctx, to[c], 0, n_past)));
        TRY(s2v_graph_compute(graph, error));
    }
    u->n_held = layer + 1;
    return S2P_OK;
}
