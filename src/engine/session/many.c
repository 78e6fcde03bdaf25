/* many.c - one token for each of several sessions, one pass over the weights.
 *
 * A token alone reads every weight once and multiplies it once: memory sets the pace. Here the rows
 * of all sessions are side by side in the norms and the products, so a weight is read once for all
 * of them. Attention is each session's own, on its own cache: lengths, types of cache, methods and
 * budgets do not have to agree, and in attention a row computes what it would compute alone. Only
 * products may use another kernel for several rows than for one; they add in another order.
 *
 * Where ggml's products are faster with more rows (s2v_decoder_rows_to_run), padding rows are added;
 * their results are not used.
 */
#include "engine/session/many.h"

#include "engine/decoder/draw.h"
#include "engine/session/answer.h"
#include "engine/vision/arch.h"

#define FIRST_CAPACITY 4 /* rows; doubled until all fit */

typedef struct pass { /* the sessions that have a token to run */
    s2v_step *step[S2V_MANY_MAX];
    s2v_batch_entry entry[S2V_MANY_MAX];
    struct ggml_tensor *logits[S2V_MANY_MAX];
    int32_t n;
} pass;

void s2v_many_free(s2v_many *many)
{
    s2v_graph_free(&many->graph);
    many->capacity = 0;
}

void s2v_many_draw(s2v_graph *graph, const s2v_model *model, struct ggml_tensor *id,
                   const s2v_span *span, struct ggml_tensor **logits)
{
    const s2v_decoder *decoder = &model->decoder;
    struct ggml_tensor *h = s2v_draw_embedding(graph, decoder, id);
    h = model->arch->layers(graph, decoder, NULL, h, span, 0, decoder->p.n_layers);
    struct ggml_tensor *all = model->arch->head(graph, decoder, h);
    ggml_set_output(all);
    s2v_graph_expand(graph, all);
    for (int32_t i = 0; i < span->n_entries; i++) {
        logits[i] = ggml_view_1d(graph->ctx, all, all->ne[0], (size_t)i * all->nb[1]);
        s2v_graph_expand(graph, logits[i]);
    }
}

/* The pending tokens through all layers, each at the position its session has reached. On failure no
 * session has advanced; numbers that are not finite fail the session they belong to. */
static s2p_status run_pass(s2v_session *first, pass *p, s2p_error *error)
{
    s2v_many *many = &first->many;
    s2v_graph *graph = &many->graph;
    const s2v_model *model = &first->engine->model;
    const s2v_decoder *decoder = &model->decoder;
    if (p->n > many->capacity) { /* nodes for that many rows, kept for the next pass */
        int32_t capacity = FIRST_CAPACITY;
        while (capacity < p->n) capacity *= 2;
        s2v_many_free(many);
        TRY(s2v_graph_init(graph, &first->backends, s2v_many_nodes(first->engine, capacity),
                           error));
        graph->traffic = &first->traffic;
        many->capacity = capacity;
    }
    const int32_t n = s2v_decoder_rows_to_run(graph, decoder, p->n);
    const int32_t n_planes = decoder->p.n_planes;
    const s2v_past *past[S2V_MANY_MAX];
    int32_t pos[S2V_MANY_MAX];
    for (int32_t r = 0; r < p->n; r++) {
        past[r] = &p->step[r]->session->past;
        pos[r] = p->step[r]->session->next_pos;
    }
    for (int32_t r = 0; r < n; r++) {
        const s2v_session *s = p->step[r < p->n ? r : 0]->session; /* 0: padding */
        many->id[r] = s->pending;
        for (int32_t plane = 0; plane < n_planes; plane++)
            many->position[plane * n + r] = s->next_pos;
    }
    TRY(s2v_graph_begin(graph, error));
    struct ggml_tensor *id = s2v_graph_input(graph, GGML_TYPE_I32, n, 1, many->id);
    TRY(s2v_row_masks_draw(&first->row_masks, graph, decoder, past, pos, p->n, error));
    for (int32_t r = 0; first->row_masks.mask && r < p->n; r++)
        p->entry[r].mask = first->row_masks.mask + (ptrdiff_t)r * decoder->p.n_layers;
    s2v_span span = { .n = n, .entry = p->entry, .n_entries = p->n };
    span.pos = s2v_graph_input(graph, GGML_TYPE_I32, (int64_t)n_planes * n, 1, many->position);
    s2v_many_draw(graph, model, id, &span, p->logits);
    TRY(s2v_graph_compute(graph, error));
    for (int32_t r = 0; r < p->n; r++) {
        s2v_step *step = p->step[r];
        s2v_token_ran(step->session);
        step->status = s2v_logits_read(step->session, p->logits[r], &step->error);
    }
    return S2P_OK;
}

/* --- the sessions ---------------------------------------------------------------------- */

s2p_status s2v_many_check_count(size_t n, s2p_error *error)
{
    if (n > 0 && n <= S2V_MANY_MAX) return S2P_OK;
    return s2_fail(error, S2P_ELIMIT, "%zu sessions in one call; a call takes 1 to %d", n,
                   S2V_MANY_MAX);
}

s2p_status s2v_many_check(s2v_session *const *sessions, size_t n, s2p_error *error)
{
    for (size_t i = 0; i < n; i++) {
        if (!sessions[i]) return s2_fail(error, S2P_EINVAL, "entry %zu has no session", i);
        if (sessions[i]->engine != sessions[0]->engine)
            return s2_fail(error, S2P_EINVAL, "all sessions must belong to the same engine");
        for (size_t k = 0; k < i; k++)
            if (sessions[k] == sessions[i])
                return s2_fail(error, S2P_EINVAL, "entries %zu and %zu refer to the same session",
                               k, i);
    }
    return S2P_OK;
}

s2p_status s2v_decode_many(s2v_step *steps, size_t n, s2p_error *error)
{
    s2v_session *sessions[S2V_MANY_MAX] = { NULL };
    TRY(s2v_many_check_count(steps ? n : 0, error));
    for (size_t i = 0; i < n; i++) sessions[i] = steps[i].session;
    TRY(s2v_many_check(sessions, n, error));
    pass p = { .n = 0 };
    for (size_t i = 0; i < n; i++) {
        s2v_step *step = &steps[i];
        s2v_session *s = step->session;
        step->done = 0;
        step->error = (s2p_error){ .status = S2P_OK };
        if (step->capacity > 0) step->text[0] = '\0';
        step->status = s2v_answer_check(s, &step->error);
        if (step->status != S2P_OK || s->pending < 0) continue;
        p.step[p.n] = step;
        p.entry[p.n++] = (s2v_batch_entry){ .past = &s->past, .n = 1 };
    }
    if (p.n == 1) /* alone: its own graph, threads and kernels */
        p.step[0]->status =
            s2v_run_token(p.step[0]->session, p.step[0]->session->pending, &p.step[0]->error);
    else if (p.n > 1)
        TRY(run_pass(steps[0].session, &p, error));
    for (size_t i = 0; i < n; i++)
        if (steps[i].status == S2P_OK)
            steps[i].status = s2v_answer_pick(steps[i].session, steps[i].text, steps[i].capacity,
                                              &steps[i].done, &steps[i].error);
    return S2P_OK;
}
