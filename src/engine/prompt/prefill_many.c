/* prefill_many.c - several prompts that have nothing but text to run, with one pass over the weights.
 *
 * A short prompt is not long enough to pay for reading and unpacking every weight: eight questions of
 * forty tokens one after the other take about twice as long as their rows side by side. As in many.c
 * norms and products are of all rows, attention is each session's own. What its rows see may differ
 * from layer to layer where a method has taken slots from some, so a session has a mask for each run of
 * layers with as many slots.
 *
 * Products of very few rows use other kernels than those of many. So that no result depends on other
 * prompts, a prompt joins only if it has enough rows to give the same bits among any number of rows
 * (s2k_rows_with_same_bits).
 */
#include "base/clock.h"
#include "engine/session/answer.h"
#include "engine/prompt/steps.h"
#include "kernels/decoder/products.h"

#include <stdlib.h>

typedef struct joint { /* the prompts that go together */
    s2v_prefill prefill[S2V_MANY_MAX];
    s2v_ask *ask[S2V_MANY_MAX];
    bool is_cancelled[S2V_MANY_MAX];
    int32_t n, n_rows;
    s2v_batch_entry entry[S2V_MANY_MAX];
    int32_t last[S2V_MANY_MAX]; /* rows */
    struct ggml_tensor *logits[S2V_MANY_MAX];
    int32_t *id, *position; /* [n_rows], [n_planes][n_rows] */
    ggml_fp16_t *mask;      /* of all sessions, one behind the other */
    size_t n_mask;
    struct ggml_tensor **seen; /* [n][n_layers] masks, as views */
    s2v_graph graph;
} joint;

/* --- which prompts join ---------------------------------------------------------------- */

static bool has_text_alone(const s2v_prefill *pf)
{
    return pf->is_recalled || pf->prompt.n_images == 0;
}

static bool joins(const joint *c, const s2v_prefill *pf)
{
    const s2v_session *s = pf->s, *first = c->n > 0 ? c->prefill[0].s : s;
    const int32_t n = s->rows.n;
    const bool is_watched = s->trace.show || s->trace.masks;
    const bool is_same_together = s2k_rows_with_same_bits(S2K_NO_FORMAT, n) == S2K_ANY_ROWS;
    return has_text_alone(pf) && !is_watched && is_same_together && n <= s->options.n_batch &&
           c->n_rows + n <= first->options.n_batch;
}

/* --- what goes in ------------------------------------------------------------------------ */

/* The text that is left to run: a token left over from the last answer, then the prompt or its end. */
static void list_tokens(const s2v_prefill *pf, int32_t *id)
{
    const s2v_session *s = pf->s;
    int32_t n = s->rows.n;
    if (!pf->is_recalled && s->pending >= 0) {
        *id++ = s->pending;
        n--;
    }
    const int32_t *from = pf->chat.tokens.id + pf->chat.tokens.n - (size_t)n;
    for (int32_t i = 0; i < n; i++) id[i] = from[i];
}

static size_t mask_size(const s2v_batch_entry *entry, int32_t layer)
{
    return s2v_sight_cells(s2v_past_length(entry->past, layer) + entry->n, entry->n);
}

/* Report progress to each caller; the pass stops if all have canceled. */
static int tell_all(const char *step, double done, void *user)
{
    joint *c = user;
    int32_t n_left = 0;
    for (int32_t i = 0; i < c->n; i++) {
        const s2v_watch w = s2v_progress_watch(c->prefill[i].s, step, done, done);
        if (!c->is_cancelled[i] && w.call) c->is_cancelled[i] = w.call(step, done, w.user) != 0;
        n_left += !c->is_cancelled[i];
    }
    return n_left == 0;
}

/* --- the pass ---------------------------------------------------------------------------- */

static s2p_status run_pass(joint *c, s2p_error *error)
{
    s2v_session *first = c->prefill[0].s;
    const s2v_model *model = &first->engine->model;
    const s2v_decoder_params *p = &model->decoder.p;
    const size_t n_rows = (size_t)c->n_rows, n_layers = (size_t)p->n_layers;
    s2v_graph *graph = &c->graph;
    const size_t n_kinds = p->window > 0 ? 2 : 1;
    for (int32_t i = 0; i < c->n; i++)
        for (int32_t l = 0; l < p->n_layers; l = s2v_past_alike(c->entry[i].past, l, p->n_layers))
            c->n_mask += n_kinds * mask_size(&c->entry[i], l);
    c->id = malloc(n_rows * ((size_t)p->n_planes + 1) * sizeof *c->id);
    c->mask = calloc(c->n_mask, sizeof *c->mask);
    c->seen = malloc((size_t)c->n * n_layers * sizeof(struct ggml_tensor *));
    if (!c->id || !c->mask || !c->seen)
        return s2_fail_memory(error, c->n_mask * sizeof *c->mask, "what the prompts see");
    c->position = c->id + n_rows;
    TRY(s2v_graph_init(graph, &first->backends, s2v_many_nodes(first->engine, c->n), error));
    graph->traffic = &first->traffic;
    TRY(s2v_graph_begin(graph, error));
    graph->watch = (s2v_watch){ .call = tell_all, .user = c, .step = "layers", .to = 1.0 };

    /* Tokens and positions of all rows. */
    for (int32_t i = 0, at = 0; i < c->n; at += c->entry[i++].n) {
        const s2v_rows *rows = &c->prefill[i].s->rows;
        list_tokens(&c->prefill[i], c->id + at);
        for (int32_t plane = 0; plane < p->n_planes; plane++)
            for (int32_t r = 0; r < rows->n; r++)
                c->position[plane * c->n_rows + at + r] = rows->pos[plane % 3][r];
        c->last[i] = at + rows->n - 1;
    }
    struct ggml_tensor *id = s2v_graph_input(graph, GGML_TYPE_I32, c->n_rows, 1, c->id);

    /* A mask of each session for every run of layers that remember the same rows; two where some of them
     * have windows. */
    struct ggml_tensor *all = s2v_graph_input(graph, GGML_TYPE_F16, (int64_t)c->n_mask, 1, c->mask);
    ggml_fp16_t *at = c->mask;
    for (int32_t i = 0; i < c->n; i++) {
        s2v_batch_entry *entry = &c->entry[i];
        const s2v_past *past = entry->past;
        struct ggml_tensor **seen = c->seen + (ptrdiff_t)i * past->n_layers;
        for (int32_t l = 0, end; l < past->n_layers; l = end) {
            end = s2v_past_alike(past, l, past->n_layers);
            s2v_sight sight = { .past = past,
                                .p = p,
                                .layer = l,
                                .n_before = s2v_past_length(past, l),
                                .n = entry->n,
                                .n_seen = entry->n };
            const int32_t width = sight.n_before + entry->n;
            struct ggml_tensor *mask[2];
            for (size_t kind = 0; kind < n_kinds; kind++, at += mask_size(entry, l)) {
                sight.window = kind ? p->window : 0;
                s2v_sight_fill(&sight, &c->prefill[i].s->rows, at);
                mask[kind] =
                    ggml_view_2d(graph->ctx, all, width, entry->n, (size_t)width * sizeof *at,
                                 (size_t)(at - c->mask) * sizeof *at);
            }
            for (int32_t k = l; k < end; k++) seen[k] = mask[model->decoder.layers[k].window > 0];
        }
        entry->mask = seen;
    }
    s2v_span span = { .n = c->n_rows, .entry = c->entry, .n_entries = c->n, .last_row_only = true };
    span.last = s2v_graph_input(graph, GGML_TYPE_I32, c->n, 1, c->last);
    span.pos =
        s2v_graph_input(graph, GGML_TYPE_I32, (int64_t)p->n_planes * c->n_rows, 1, c->position);
    s2v_many_draw(graph, model, id, &span, c->logits);
    return s2v_graph_compute(graph, error);
}

/* Its rows are in its cache. */
static s2p_status finish(s2v_prefill *pf, int32_t n_rows, const struct ggml_tensor *logits,
                         double took)
{
    s2v_session *s = pf->s;
    s2v_past_append(&s->past, 0, s->past.n_layers, n_rows, s->rows.pos[0]);
    s->pending = -1;
    TRY(s2v_logits_read(s, logits, pf->error));
    if (pf->is_recalled) {
        TRY(s2v_prefix_settle(pf));
        s2v_prefill_question_ran(pf, took);
    } else {
        s2v_stages_pass(pf);
        pf->stats.layers_ms = pf->stats.prompt_ms = took;
    }
    return S2P_OK;
}

/* The graph's memory goes with the pass: it is as large as a session's own. */
static void run_together(joint *c)
{
    const double start = s2_now_ms();
    s2p_error error = { S2P_OK, "" };
    for (int32_t i = 0; i < c->n; i++) s2v_prefill_begin(&c->prefill[i]);
    const s2p_status all = run_pass(c, &error);
    const double took = s2_now_ms() - start;
    for (int32_t i = 0; i < c->n; i++) {
        s2v_prefill *pf = &c->prefill[i];
        s2p_status st = all;
        if (c->is_cancelled[i])
            st = s2_fail(pf->error, S2P_ECANCELLED, "the prompt was cancelled");
        else if (st != S2P_OK)
            *pf->error = error;
        else
            st = finish(pf, c->entry[i].n, c->logits[i], took);
        c->ask[i]->status = s2v_prefill_close(pf, st, &c->ask[i]->stats);
    }
    s2v_graph_free(&c->graph);
    free(c->id);
    free(c->mask);
    free((void *)c->seen);
}

/* --- the sessions ---------------------------------------------------------------------- */

/* Opens them one by one: how many go. One that is refused is done with. The first that goes at all may have
 * to go alone: then it is all there is. */
static size_t gather(joint *c, s2v_ask *asks, size_t n)
{
    bool is_alone = false;
    for (size_t i = 0; i < n; i++) {
        s2v_ask *ask = &asks[i];
        s2v_prefill *pf = &c->prefill[c->n];
        if (is_alone) return i;
        s2p_status st = s2v_prefill_init(pf, ask->session, ask->prompt, ask->prune, &ask->error);
        if (st == S2P_OK) st = s2v_prefill_open(pf);
        if (st == S2P_OK && has_text_alone(pf)) /* layers may be longer than the last one */
            st =
                s2v_past_make_room(&pf->s->past, 0, pf->s->past.n_layers, pf->s->rows.n, pf->error);
        is_alone = st == S2P_OK && !joins(c, pf);
        if (is_alone && c->n > 0) {
            s2v_prefill_undo(pf);
            return i;
        }
        if (st != S2P_OK) {
            ask->status = s2v_prefill_close(pf, st, &ask->stats);
            continue;
        }
        c->entry[c->n] = (s2v_batch_entry){ .past = &pf->s->past, .n = pf->s->rows.n };
        c->n_rows += pf->s->rows.n;
        c->ask[c->n++] = ask;
    }
    return n;
}

s2p_status s2v_prefill_many(s2v_ask *asks, size_t n, size_t *n_ran, s2p_error *error)
{
    s2v_session *sessions[S2V_MANY_MAX] = { NULL };
    *n_ran = 0;
    TRY(s2v_many_check_count(asks ? n : 0, error));
    for (size_t i = 0; i < n; i++) {
        sessions[i] = asks[i].session;
        asks[i].deferred = 0;
        asks[i].error = (s2p_error){ S2P_OK, "" };
        asks[i].stats = (s2v_stats){ .n_stages = 0 };
        if (!asks[i].prompt) return s2_fail(error, S2P_EINVAL, "entry %zu has no prompt", i);
    }
    TRY(s2v_many_check(sessions, n, error));
    joint *c = calloc(1, sizeof *c);
    if (!c) return s2_fail_memory(error, sizeof *c, "the prompts");
    *n_ran = gather(c, asks, n);
    for (size_t i = *n_ran; i < n; i++) asks[i].deferred = 1;
    if (c->n == 1) /* alone: its own graph */
        c->ask[0]->status = s2v_prefill_alone(&c->prefill[0], &c->ask[0]->stats);
    else if (c->n > 1)
        run_together(c);
    free(c);
    return S2P_OK;
}
