/* unrounded.c - hold the keys and values of one layer in F32 while the prompt runs through it. */
#include "engine/session/unrounded.h"

#include "engine/session/session.h"

static bool is_exact(s2v_kv_types cache)
{
    return cache.k == GGML_TYPE_F32 && cache.v == GGML_TYPE_F32;
}

void s2v_unrounded_start(s2v_session *s, int32_t n_layers, bool with_question)
{
    s2v_unrounded_end(&s->unrounded);
    if (is_exact(s->kv.type)) return; /* it rounds nothing */
    s->unrounded.n_layers = n_layers;
    s->unrounded.with_question = with_question;
}

void s2v_unrounded_end(s2v_unrounded *u)
{
    ggml_backend_buffer_free(u->buffer);
    ggml_free(u->ctx);
    *u = (s2v_unrounded){ .n_layers = 0 };
}

uint64_t s2v_unrounded_bytes(const s2v_decoder *decoder, int32_t n_ctx, s2v_kv_types cache)
{
    static const s2v_kv_types floats = { GGML_TYPE_F32, GGML_TYPE_F32 };
    if (is_exact(cache)) return 0;
    return s2v_kv_bytes(decoder, n_ctx, floats) / (uint64_t)decoder->p.n_layers;
}

bool s2v_unrounded_row(const s2v_session *s, int32_t layer, int32_t row)
{
    const s2v_unrounded *u = &s->unrounded;
    return layer < u->n_layers && (u->with_question || row < s->rows.n - s->rows.n_tail);
}

/* The question runs in chunks of its own. */
bool s2v_unrounded_is_held(const s2v_session *s, int32_t layer)
{
    const s2v_unrounded *u = &s->unrounded;
    const int32_t n = s->rows.n - s->rows.n_tail;
    if (!s2v_unrounded_row(s, layer, 0)) return false;
    return u->with_question || s->kv.n_slots[layer] > 0 || n > s->options.n_batch;
}

/* Room on the device that holds `cache`. */
static s2p_status reserve_slots(s2v_unrounded *u, const struct ggml_tensor *cache, int32_t n,
                                s2p_error *error)
{
    ggml_backend_buffer_type_t type = ggml_backend_buffer_get_type(cache->buffer);
    if (n <= u->capacity && ggml_backend_buffer_get_type(u->buffer) == type) return S2P_OK;
    ggml_backend_buffer_free(u->buffer);
    ggml_free(u->ctx);
    const struct ggml_init_params params = { ggml_tensor_overhead() * 2, NULL, true };
    u->capacity = 0;
    u->buffer = NULL;
    u->ctx = ggml_init(params);
    if (u->ctx) {
        u->k = ggml_new_tensor_2d(u->ctx, GGML_TYPE_F32, cache->ne[0], n);
        u->v = ggml_new_tensor_2d(u->ctx, GGML_TYPE_F32, cache->ne[0], n);
        u->buffer = ggml_backend_alloc_ctx_tensors_from_buft(u->ctx, type);
    }
    if (!u->buffer)
        return s2_fail(error, S2P_ENOMEM, "out of memory for keys and values of %d tokens", n);
    u->capacity = n;
    return S2P_OK;
}

s2p_status s2v_unrounded_hold(s2v_session *s, int32_t layer, s2p_error *error)
{
    s2v_unrounded *u = &s->unrounded;
    s2v_graph *graph = &s->graph;
    const int32_t n_past = s->kv.n_slots[layer];
    u->n_held = 0;
    TRY(reserve_slots(u, s->kv.k[layer], n_past + s->rows.n, error));
    if (n_past > 0) {
        TRY(s2v_graph_begin(graph, error));
        struct ggml_tensor *k = s2v_kv_rows(graph->ctx, s->kv.k[layer], 0, n_past);
        struct ggml_tensor *v = s2v_kv_rows(graph->ctx, s->kv.v[layer], 0, n_past);
        s2v_graph_expand(graph, ggml_cpy(graph->ctx, k, s2v_kv_rows(graph->ctx, u->k, 0, n_past)));
        s2v_graph_expand(graph, ggml_cpy(graph->ctx, v, s2v_kv_rows(graph->ctx, u->v, 0, n_past)));
        TRY(s2v_graph_compute(graph, error));
    }
    u->n_held = layer + 1;
    return S2P_OK;
}

struct ggml_tensor *s2v_unrounded_keys(const s2v_session *s, int32_t layer)
{
    return s->unrounded.n_held == layer + 1 ? s->unrounded.k : s->kv.k[layer];
}
