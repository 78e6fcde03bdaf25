/* layers.c - run a range of decoder layers over the prompt's rows.
 *
 * Long prompts go in chunks: a chunk's rows see the cache of all rows before it,
 * so running all chunks through a range of layers is the same as running the whole
 * prompt at once. Because layers come as a range, pruning can step in between any
 * two; and a layer needs room for the rows that reach it, not for those of the whole prompt. Where a
 * method looks on and the cache rounds, layers whose rows come in several
 * chunks run one by one (unrounded.h).
 */
#include "engine/prompt/steps.h"

#include "engine/decoder/sight.h"
#include "engine/session/answer.h"

#include <math.h>

/* What rows see in layers [first, last), which have the same number of slots: one mask for those with a
 * window, and one for the others. A single row needs one only if it does not see everything. */
static s2p_status draw_masks(s2v_session *s, int32_t first_row, int32_t n, int32_t first,
                             int32_t last, struct ggml_tensor **mask,
                             struct ggml_tensor *window_mask[S2V_MAX_LAYERS], s2p_error *error)
{
    const s2v_decoder *decoder = &s->engine->model.decoder;
    const int32_t *const pos = s->rows.pos[0] + first_row;
    s2v_sight sight = { .past = &s->past,
                        .p = &decoder->p,
                        .layer = first,
                        .n_before = s2v_past_length(&s->past, first) - first_row,
                        .first = first_row,
                        .n = n,
                        .n_seen = first_row + n };
    struct ggml_tensor *narrow = NULL;
    if (n > 1) TRY(s2v_sight_mask(&sight, &s->rows, &s->graph, 0, mask, error));
    for (int32_t i = first; i < last; i++) {
        sight.window = decoder->layers[i].window;
        window_mask[i] = NULL;
        if (sight.window == 0) continue;
        if (!narrow && (n > 1 || s2v_past_is_cut(&s->past, first, sight.window, *pos)))
            TRY(s2v_sight_mask(&sight, &s->rows, &s->graph, 1, &narrow, error));
        window_mask[i] = narrow;
    }
    return S2P_OK;
}

/* Rows [first_row, first_row + n) through layers that have the same number of slots. */
static s2p_status run_chunk(s2v_session *s, int32_t first_row, int32_t n, int32_t first,
                            int32_t last, float *erc, s2p_error *error)
{
    s2v_graph *graph = &s->graph;
    const s2v_model *model = &s->engine->model;
    s2v_span span = { .n = n,
                      .is_unrounded =
                          s2v_unrounded_row(&s->unrounded, &s->rows, first, first_row) };
    if (s->unrounded.n_held == first + 1) {
        span.k = s->unrounded.k;
        span.v = s->unrounded.v;
    }
    TRY(s2v_graph_begin(graph, error));
    s2v_progress *p = &s->progress;
    const double work = (double)n * (last - first), total = p->total;
    graph->watch =
        s2v_progress_watch(s, "layers", p->done / total, fmin((p->done + work) / total, 1.0));
    struct ggml_tensor *window_mask[S2V_MAX_LAYERS];
    TRY(draw_masks(s, first_row, n, first, last, &span.mask, window_mask, error));
    span.window_mask = window_mask;

    struct ggml_context *ctx = graph->ctx;
    const bool is_end = last == model->decoder.p.n_layers;
    const bool is_last_chunk = first_row + n == s->rows.n;
    span.last_row_only = is_end && !s->trace.show && !s->rows.masked;
    span.pos = s2v_rows_positions(&s->rows, graph, model->decoder.p.n_planes, first_row, n);
    struct ggml_tensor *deepstack[S2V_MAX_DEEPSTACK], *made = NULL;
    for (int32_t i = first; s->rows.has_deepstack && i < last && i < model->decoder.p.n_deepstack;
         i++) {
        deepstack[i] = s2v_rows_deepstack(ctx, &s->rows, i, first_row, n);
        span.deepstack = deepstack;
    }
    if (erc && !s->erc_deepstack) span.made = &made;
    struct ggml_tensor *h0 = s2v_rows_view(ctx, &s->rows, first_row, n);
    struct ggml_tensor *h1 =
        model->arch->layers(graph, &model->decoder, &s->past, h0, &span, first, last);
    struct ggml_tensor *change = NULL, *logits = NULL;
    if (erc) { /* || h1 - h0 ||, computed where the rows are: what the layer did, not what is added to it */
        change = ggml_sqr(ctx, ggml_sub(ctx, made ? made : h1, h0));
        change = ggml_sqrt(ctx, ggml_sum_rows(ctx, change));
        ggml_set_output(change);
    }
    s2v_graph_expand(graph, change ? change : h1);
    if (!span.last_row_only) s2v_graph_expand(graph, ggml_cpy(ctx, h1, h0)); /* after ERC read h0 */
    if (is_end && is_last_chunk) logits = s2v_logits_draw(s, h1);

    TRY(s2v_graph_compute(graph, error));
    s2v_past_append(&s->past, first, last, n, s->rows.pos[0] + first_row);
    if (change) TRY(s2v_graph_read(change, erc + first_row, error));
    if (logits) TRY(s2v_logits_read(s, logits, error));
    p->done = fmin(p->done + work, total);
    return p->done < total ? s2v_progress_tell(s, "layers", p->done / total, error) : S2P_OK;
}

s2p_status s2v_run_layers(s2v_session *s, int32_t first, int32_t last, float *erc, s2p_error *error)
{
    const int32_t tail = s->rows.n - s->rows.n_tail;
    TRY(s2v_past_make_room(&s->past, first, last, s->rows.n, error));
    for (int32_t end; first < last; first = end) {
        /* A method may have left layers with different numbers of slots in an earlier turn: layers
         * that share a mask run together. */
        end = s2v_past_alike(&s->past, first, last);
        for (int32_t i = first + 1; i < end; i++) /* states run up to the next layer that is held */
            if (s2v_past_is_state(&s->past, first) &&
                s2v_unrounded_is_held(&s->unrounded, &s->rows, &s->past, i, s->options.n_batch))
                end = i;
        if (s2v_unrounded_is_held(&s->unrounded, &s->rows, &s->past, first, s->options.n_batch)) {
            end = first + 1;
            TRY(s2v_unrounded_hold(&s->unrounded, &s->past, &s->graph, first, s->rows.n, error));
        } else if (first < s->unrounded.n_layers && end > s->unrounded.n_layers) {
            end = s->unrounded.n_layers;
        }
        for (int32_t at = 0, n; at < s->rows.n; at += n) {
            if (at == tail) s2v_past_mark(&s->past, first, end);
            n = s2v_sight_chunk(&s->engine->model.decoder.p, &s->rows, at,
                                at < tail ? tail : s->rows.n, s->options.n_batch);
            TRY(run_chunk(s, at, n, first, end, erc, error));
        }
    }
    return S2P_OK;
}
