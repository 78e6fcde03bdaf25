/* layers.c - run a range of decoder layers over the prompt's rows, or over one token.
 *
 * Long prompts go in chunks: a chunk's rows see the cache of all rows before it,
 * so running all chunks through a range of layers is the same as running the whole
 * prompt at once. Because layers come as a range, pruning can step in between any
 * two. Where a method looks on and the cache rounds, layers whose rows come in several
 * chunks run one by one (unrounded.h).
 */
#include "engine/session/layers.h"

#include "engine/vision/arch.h"

#include <math.h>

/* ERC of the rows: || h1 - h0 ||, computed where the rows are. */
static struct ggml_tensor *draw_erc(struct ggml_context *ctx, struct ggml_tensor *h0,
                                    struct ggml_tensor *h1)
{
    struct ggml_tensor *change = ggml_sub(ctx, h1, h0);
    struct ggml_tensor *erc = ggml_sqrt(ctx, ggml_sum_rows(ctx, ggml_sqr(ctx, change)));
    ggml_set_output(erc);
    return erc;
}

/* Of the last row of h. */
static struct ggml_tensor *draw_logits(s2v_session *s, struct ggml_tensor *h)
{
    const s2v_model *model = &s->engine->model;
    if (h->ne[1] > 1)
        h = ggml_view_2d(s->graph.ctx, h, h->ne[0], 1, h->nb[1], (size_t)(h->ne[1] - 1) * h->nb[1]);
    struct ggml_tensor *logits = model->arch->head(&s->graph, &model->decoder, h);
    ggml_set_output(logits);
    s2v_graph_expand(&s->graph, logits);
    return logits;
}

s2p_status s2v_logits_read(s2v_session *s, const struct ggml_tensor *logits, s2p_error *error)
{
    const s2p_status st = s2v_graph_read(logits, s->logits, error);
    s->has_logits = st == S2P_OK;
    return st;
}

/* Rows [first_row, first_row + n) through layers that have the same number of slots. */
static s2p_status run_chunk(s2v_session *s, int32_t first_row, int32_t n, int32_t first,
                            int32_t last, float *erc, s2p_error *error)
{
    s2v_graph *graph = &s->graph;
    const s2v_model *model = &s->engine->model;
    s2v_span span = { .n = n, .is_unrounded = s2v_unrounded_row(s, first, first_row) };
    if (s->unrounded.n_held == first + 1) {
        span.k = s->unrounded.k;
        span.v = s->unrounded.v;
    }
    TRY(s2v_graph_begin(graph, error));
    s2v_progress *p = &s->progress;
    const double work = (double)n * (last - first), total = p->total;
    graph->watch =
        s2v_progress_watch(s, "layers", p->done / total, fmin((p->done + work) / total, 1.0));
    if (n > 1) TRY(s2v_rows_mask(s, s->kv.n_slots[first], first_row, n, &span.mask, error));

    struct ggml_context *ctx = graph->ctx;
    const bool is_end = last == model->decoder.p.n_layers;
    const bool is_last_chunk = first_row + n == s->rows.n;
    span.last_row_only = is_end && !s->trace.show && !s->trace.masked_rows;
    span.pos = s2v_rows_positions(s, first_row, n);
    struct ggml_tensor *h0 = s2v_rows_view(ctx, &s->rows, first_row, n);
    struct ggml_tensor *h1 =
        model->arch->layers(graph, &model->decoder, &s->kv, h0, &span, first, last);
    struct ggml_tensor *change = erc ? draw_erc(ctx, h0, h1) : NULL, *logits = NULL;
    s2v_graph_expand(graph, change ? change : h1);
    if (!span.last_row_only) s2v_graph_expand(graph, ggml_cpy(ctx, h1, h0)); /* after ERC read h0 */
    if (is_end && is_last_chunk) logits = draw_logits(s, h1);

    TRY(s2v_graph_compute(graph, error));
    for (int32_t i = first; i < last; i++) s->kv.n_slots[i] += n;
    if (change) TRY(s2v_graph_read(change, erc + first_row, error));
    if (logits) TRY(s2v_logits_read(s, logits, error));
    p->done = fmin(p->done + work, total);
    return p->done < total ? s2v_progress_tell(s, "layers", p->done / total, error) : S2P_OK;
}

s2p_status s2v_run_layers(s2v_session *s, int32_t first, int32_t last, float *erc, s2p_error *error)
{
    const int32_t tail = s->rows.n - s->rows.n_tail;
    for (int32_t end; first < last; first = end) {
        /* A method may have left layers with different numbers of slots in an earlier turn: layers
         * that share a mask run together. */
        for (end = first + 1; end < last && s->kv.n_slots[end] == s->kv.n_slots[first];) end++;
        if (s2v_unrounded_is_held(s, first)) {
            end = first + 1;
            TRY(s2v_unrounded_hold(s, first, error));
        } else if (first < s->unrounded.n_layers && end > s->unrounded.n_layers) {
            end = s->unrounded.n_layers;
        }
        for (int32_t at = 0, n; at < s->rows.n; at += n) {
            const int32_t left = (at < tail ? tail : s->rows.n) - at;
            n = left < s->options.n_batch ? left : s->options.n_batch;
            TRY(run_chunk(s, at, n, first, end, erc, error));
        }
    }
    return S2P_OK;
}

s2p_status s2v_token_fits(const s2v_session *s, s2p_error *error)
{
    for (int32_t i = 0; i < s->kv.n_layers; i++)
        if (s->kv.n_slots[i] >= s->kv.n_ctx)
            return s2_fail(error, S2P_ELIMIT, "the context of %d tokens is full", s->kv.n_ctx);
    return S2P_OK;
}

void s2v_token_ran(s2v_session *s)
{
    for (int32_t i = 0; i < s->kv.n_layers; i++) s->kv.n_slots[i]++;
    s->next_pos++;
    s->pending = -1;
}

s2p_status s2v_run_token(s2v_session *s, int32_t token, s2p_error *error)
{
    s2v_graph *graph = &s->graph;
    const s2v_model *model = &s->engine->model;
    const s2v_decoder *decoder = &model->decoder;
    TRY(s2v_token_fits(s, error));
    TRY(s2v_graph_begin(graph, error));
    for (int32_t plane = 0; plane < decoder->p.n_planes; plane++)
        s->positions[plane] = plane < 3 ? s->next_pos : 0;

    s2v_span span = { .n = 1 };
    struct ggml_tensor *id = s2v_graph_input(graph, GGML_TYPE_I32, 1, 1, &token);
    span.pos = s2v_graph_input(graph, GGML_TYPE_I32, decoder->p.n_planes, 1, s->positions);
    struct ggml_tensor *h = s2v_draw_embedding(graph, decoder, id);
    h = model->arch->layers(graph, decoder, &s->kv, h, &span, 0, decoder->p.n_layers);
    struct ggml_tensor *logits = draw_logits(s, h);
    TRY(s2v_graph_compute(graph, error));
    s2v_token_ran(s);
    return s2v_logits_read(s, logits, error);
}
