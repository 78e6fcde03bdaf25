/* layers.c - run a range of decoder layers over the prompt's rows, or over one token.
 *
 * Long prompts go in chunks: a chunk's rows see the cache of all rows before it,
 * so running all chunks through a range of layers is the same as running the whole
 * prompt at once. Because layers come as a range, pruning can step in between any
 * two.
 */
#include "engine/run/probe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const ggml_fp16_t SEEN = 0x0000,
                         UNSEEN = 0xFC00; /* 0 and minus infinity in half precision */

s2p_status s2v_rows_mask(s2v_session *s, int32_t n_past, int32_t first, int32_t n,
                         struct ggml_tensor **out, s2p_error *error)
{
    *out = NULL;
    const size_t width = (size_t)n_past + (size_t)n, needed = width * (size_t)n;
    if (needed > s->n_mask) {
        ggml_fp16_t *mask = realloc(s->mask, needed * sizeof *mask);
        if (!mask) return s2_fail_memory(error, needed * sizeof *mask, "the attention mask");
        s->mask = mask;
        s->n_mask = needed;
    }
    for (int32_t r = 0; r < n; r++) {
        ggml_fp16_t *row = s->mask + (size_t)r * width;
        for (size_t c = 0; c < width; c++) row[c] = c <= (size_t)(n_past + r) ? SEEN : UNSEEN;
        if (!s->hidden_rows) continue;
        for (int32_t c = 0; c < first + r; c++) /* a row always sees itself */
            if (s->hidden_rows[c]) row[n_past - first + c] = UNSEEN;
    }
    *out = s2v_graph_input(&s->graph, GGML_TYPE_F16, (int64_t)width, n, s->mask);
    return S2P_OK;
}

/* Plane after plane, a fourth of zeros. */
struct ggml_tensor *s2v_rows_positions(s2v_session *s, int32_t first, int32_t n)
{
    const int n_planes = s->engine->model.decoder.p.sections[0] ? 4 : 1;
    for (int plane = 0; plane < n_planes; plane++)
        for (int32_t i = 0; i < n; i++)
            s->positions[plane * n + i] = plane < 3 ? s->rows.pos[plane][first + i] : 0;
    return s2v_graph_input(&s->graph, GGML_TYPE_I32, (int64_t)n_planes * n, 1, s->positions);
}

/* ERC of the rows: || h1 - h0 ||, computed where the rows are. */
static struct ggml_tensor *draw_erc(struct ggml_context *ctx, struct ggml_tensor *h0,
                                    struct ggml_tensor *h1)
{
    struct ggml_tensor *change = ggml_sub(ctx, h1, h0);
    struct ggml_tensor *erc = ggml_sqrt(ctx, ggml_sum_rows(ctx, ggml_sqr(ctx, change)));
    ggml_set_output(erc);
    return erc;
}

static struct ggml_tensor *draw_logits(s2v_session *s, struct ggml_tensor *h)
{
    struct ggml_context *ctx = s->graph.ctx;
    if (h->ne[1] > 1)
        h = ggml_view_2d(ctx, h, h->ne[0], 1, h->nb[1], (size_t)(h->ne[1] - 1) * h->nb[1]);
    struct ggml_tensor *logits = s2v_draw_head(&s->graph, &s->engine->model.decoder, h);
    ggml_set_output(logits);
    s2v_graph_expand(&s->graph, logits);
    return logits;
}

/* Only damaged weights make numbers anything but finite. */
s2p_status s2v_read_floats(const struct ggml_tensor *from, float *out, s2p_error *error)
{
    const size_t n = (size_t)ggml_nelements(from);
    ggml_backend_tensor_get(from, out, 0, n * sizeof *out);
    for (size_t i = 0; i < n; i++)
        if (!isfinite(out[i]))
            return s2_fail(error, S2P_EFORMAT, "the model computed %s; its weights are damaged",
                           isnan(out[i]) ? "NaN" : "infinity");
    return S2P_OK;
}

static s2p_status read_logits(s2v_session *s, struct ggml_tensor *logits, s2p_error *error)
{
    const s2p_status st = s2v_read_floats(logits, s->logits, error);
    s->has_logits = st == S2P_OK;
    return st;
}

static s2p_status run_chunk(s2v_session *s, int32_t first_row, int32_t n, int32_t first,
                            int32_t last, float *erc, s2p_error *error)
{
    s2v_graph *graph = &s->graph;
    const s2v_decoder *decoder = &s->engine->model.decoder;
    const int32_t n_past = s->kv.n_cells[first];
    s2p_status st = s2v_graph_begin(graph, error);
    s2v_span span = { .n = n };
    if (st == S2P_OK && n > 1) st = s2v_rows_mask(s, n_past, first_row, n, &span.mask, error);
    if (st != S2P_OK) return st;

    struct ggml_context *ctx = graph->ctx;
    const bool is_end = last == decoder->p.n_layers;
    const bool is_last_chunk = first_row + n == s->rows.n;
    span.last_row_only = is_end && !s->tap && !s->hidden_rows;
    span.pos = s2v_rows_positions(s, first_row, n);
    struct ggml_tensor *h0 = s2v_rows_view(ctx, &s->rows, first_row, n);
    struct ggml_tensor *h1 = s2v_draw_layers(graph, decoder, &s->kv, h0, &span, first, last);
    struct ggml_tensor *change = erc ? draw_erc(ctx, h0, h1) : NULL, *logits = NULL;
    s2v_graph_expand(graph, change ? change : h1);
    if (!span.last_row_only) s2v_graph_expand(graph, ggml_cpy(ctx, h1, h0)); /* after ERC read h0 */
    if (is_end && is_last_chunk) logits = draw_logits(s, h1);

    st = s2v_graph_compute(graph, error);
    if (st != S2P_OK) return st;
    for (int32_t i = first; i < last; i++) s->kv.n_cells[i] += n;
    if (change) st = s2v_read_floats(change, erc + first_row, error);
    if (st != S2P_OK) return st;
    return logits ? read_logits(s, logits, error) : S2P_OK;
}

static void tap_rows(s2v_session *s, int32_t n_layers_done)
{
    const int32_t n = s->rows.n, width = s->engine->model.decoder.p.n_embd;
    float *data = malloc((size_t)n * (size_t)width * sizeof *data);
    if (!data) return;
    ggml_backend_tensor_get(s->rows.hidden, data, 0, (size_t)n * (size_t)width * sizeof *data);
    s->tap("h", n_layers_done, data, n, width, s->tap_user);
    free(data);
}

static s2p_status run_range(s2v_session *s, int32_t first, int32_t last, float *erc,
                            s2p_error *error)
{
    const int32_t tail = s->rows.n - s->rows.n_tail;
    for (int32_t at = 0, n; at < s->rows.n; at += n) {
        const int32_t left = (at < tail ? tail : s->rows.n) - at;
        n = left < s->options.n_batch ? left : s->options.n_batch;
        const s2p_status st = run_chunk(s, at, n, first, last, erc, error);
        if (st != S2P_OK) return st;
        const s2v_engine_options *o = &s->engine->options;
        const double done = (double)(at + n) / s->rows.n;
        if (o->progress && o->progress(first == 0 ? "layer 0" : "prefill", done, o->user) != 0)
            return s2_fail(error, S2P_ECANCELLED, "prefill was cancelled");
    }
    return S2P_OK;
}

/* A layer with its keys and all of its attention handed to the tap. */
static s2p_status run_watched(s2v_session *s, int32_t layer, float *erc, s2p_error *error)
{
    const s2v_decoder_params *p = &s->engine->model.decoder.p;
    const size_t n = (size_t)s->rows.n, n_bytes = n * n * sizeof(float);
    const s2v_probe_request request = { .needs = S2P_NEED_ROTATED_KEY | S2P_NEED_QUERY_ATTN };
    s2v_probe probe;
    s2p_status st = s2v_probe_layer(s, layer, &request, &probe, error);
    if (st != S2P_OK) return st;
    s->tap("k_rope", layer, probe.rotated_key, s->rows.n, p->n_kv_heads * p->head_dim, s->tap_user);
    float *attention = malloc(n_bytes);
    if (!attention) st = s2_fail_memory(error, n_bytes, "the attention of all rows");
    if (st == S2P_OK) st = run_range(s, layer, layer + 1, erc, error);
    if (st == S2P_OK) st = s2v_probe_attention(s, layer, probe.query, 0, attention, error);
    if (st == S2P_OK) s->tap("attn", layer, attention, s->rows.n, s->rows.n, s->tap_user);
    free(attention);
    s2v_probe_free(&probe);
    return st;
}

/* A method may have left layers with different numbers of cells in an earlier turn: layers that
 * share a mask run together. */
static int32_t same_cells(const s2v_kv *kv, int32_t first, int32_t last)
{
    int32_t end = first + 1;
    while (end < last && kv->n_cells[end] == kv->n_cells[first]) end++;
    return end;
}

s2p_status s2v_run_layers(s2v_session *session, int32_t first, int32_t last, float *erc,
                          s2p_error *error)
{
    for (int32_t end; !session->tap && first < last; first = end) {
        end = same_cells(&session->kv, first, last);
        const s2p_status st = run_range(session, first, end, erc, error);
        if (st != S2P_OK) return st;
    }
    for (int32_t i = first; i < last; i++) { /* one by one, to see each */
        if (i == 0) tap_rows(session, 0);
        const s2p_status st = session->tap_attention ? run_watched(session, i, erc, error)
                                                     : run_range(session, i, i + 1, erc, error);
        if (st != S2P_OK) return st;
        tap_rows(session, i + 1);
    }
    return S2P_OK;
}

s2p_status s2v_run_token(s2v_session *s, int32_t token, s2p_error *error)
{
    s2v_graph *graph = &s->graph;
    const s2v_decoder *decoder = &s->engine->model.decoder;
    for (int32_t i = 0; i < s->kv.n_layers; i++)
        if (s->kv.n_cells[i] >= s->kv.n_ctx)
            return s2_fail(error, S2P_ELIMIT, "the context of %d tokens is full; use a larger -c",
                           s->kv.n_ctx);
    s2p_status st = s2v_graph_begin(graph, error);
    if (st != S2P_OK) return st;
    const int n_planes = decoder->p.sections[0] ? 4 : 1;
    for (int plane = 0; plane < n_planes; plane++)
        s->positions[plane] = plane < 3 ? s->next_pos : 0;

    s2v_span span = { .n = 1 };
    struct ggml_tensor *id = s2v_graph_input(graph, GGML_TYPE_I32, 1, 1, &token);
    span.pos = s2v_graph_input(graph, GGML_TYPE_I32, n_planes, 1, s->positions);
    struct ggml_tensor *h = s2v_draw_embedding(graph, decoder, id);
    h = s2v_draw_layers(graph, decoder, &s->kv, h, &span, 0, decoder->p.n_layers);
    struct ggml_tensor *logits = draw_logits(s, h);
    st = s2v_graph_compute(graph, error);
    if (st != S2P_OK) return st;
    for (int32_t i = 0; i < s->kv.n_layers; i++) s->kv.n_cells[i]++;
    s->next_pos++;
    return read_logits(s, logits, error);
}
