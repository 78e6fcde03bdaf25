/* prefill.c - a prompt with pictures becomes a cache and logits: the whole way, on one page (run_prompt).
 *
 *   pictures -> frames -> tower -> rows <- text;   rows -> layers, select, compact, layers -> logits
 */
#include "engine/prompt/prefill.h"

#include "base/clock.h"
#include "engine/decoder/draw.h"
#include "engine/session/answer.h"
#include "engine/session/layers.h"
#include "engine/prompt/layout.h"
#include "engine/prompt/picture_rows.h"
#include "engine/prompt/stages.h"
#include "engine/prompt/stats.h"

const char *s2v_method_name(size_t index)
{
    const s2p_method *method = s2p_method_at(index);
    return method ? method->name : NULL;
}

/* --- filling the rows ------------------------------------------------------------------ */

/* The tower writes straight into the rows; its memory is gone before the decoder starts. */
static s2p_status see_pictures(s2v_job *j)
{
    s2v_session *s = j->s;
    const int32_t n = j->prompt.n_images;
    if (n == 0) return S2P_OK;
    const double start = s2_now_ms();
    s2v_graph tower;
    TRY(s2v_graph_init(&tower, &s->backends, s2v_tower_nodes(&s->engine->model), j->error));
    tower.traffic = &s->traffic;
    s2p_status st = S2P_OK;
    for (int32_t i = 0; st == S2P_OK && i < n; i++) {
        s->progress.from = (double)i / n;
        s->progress.to = (double)(i + 1) / n;
        st = s2v_picture_rows(j, &tower, i);
        if (st == S2P_OK) st = s2v_progress_tell(s, "tower", s->progress.to, j->error);
    }
    s2v_graph_free(&tower);
    j->stats.vision_ms = s2_now_ms() - start - j->stats.probe_ms;
    return st;
}

/* ids: I32 [n], to rows [first, first + n). */
static void draw_text(s2v_session *s, struct ggml_tensor *ids, int32_t first)
{
    struct ggml_context *ctx = s->graph.ctx;
    struct ggml_tensor *rows = s2v_rows_view(ctx, &s->rows, first, (int32_t)ids->ne[0]);
    struct ggml_tensor *text = s2v_draw_embedding(&s->graph, &s->engine->model.decoder, ids);
    s2v_graph_expand(&s->graph, ggml_cpy(ctx, text, rows));
}

static s2p_status embed_text(s2v_job *j)
{
    s2v_session *s = j->s;
    s2v_graph *graph = &s->graph;
    int32_t row = 0;
    size_t token = 0;
    TRY(s2v_graph_begin(graph, j->error));
    if (s->pending >= 0)
        draw_text(s, s2v_graph_input(graph, GGML_TYPE_I32, 1, 1, &s->pending), row++);
    struct ggml_tensor *ids =
        s2v_graph_input(graph, GGML_TYPE_I32, (int64_t)j->chat.tokens.n, 1, j->chat.tokens.id);
    for (size_t i = 0; i < j->chat.n_pieces; i++) {
        const s2v_piece *piece = &j->chat.piece[i];
        const int32_t n = (int32_t)piece->n_tokens;
        if (n > 0)
            draw_text(s, ggml_view_1d(graph->ctx, ids, n, token * sizeof *j->chat.tokens.id), row);
        token += piece->n_tokens;
        row += n;
        if (piece->image >= 0) row += j->frames[piece->image].n_rows;
    }
    TRY(s2v_graph_compute(graph, j->error));
    s->pending = -1;
    return S2P_OK;
}

/* --- the whole of it --------------------------------------------------------------- */

s2p_status s2v_prefill_open(s2v_job *j)
{
    s2v_session *s = j->s;
    if (s->is_busy) return s2_fail(j->error, S2P_EINVAL, "the session is in a prefill already");
    s->is_busy = j->is_open = true;
    j->is_continued = s->kv.n_slots[0] > 0;
    TRY(s2v_layout_make(j));
    j->is_recalled = s2v_prefix_recall(j);
    return S2P_OK;
}

void s2v_prefill_begin(s2v_job *j)
{
    s2v_answer_clear(j->s);
    j->s->next_pos += j->n_positions;
    j->has_begun = true;
}

void s2v_prefill_question_ran(s2v_job *j, double took)
{
    const double made = j->prefix.parts.head.made_ms;
    j->stats.layers_ms = j->stats.prompt_ms = took;
    j->stats.saved_ms = made > took ? made - took : 0.0;
}

/* The pictures and all before them are in the cache: the question is what is left to run. */
static s2p_status run_question(s2v_job *j)
{
    s2v_session *s = j->s;
    const int32_t n = s->rows.n, *question = j->chat.tokens.id + j->chat.tokens.n - (size_t)n;
    const double start = s2_now_ms();
    TRY(s2v_graph_begin(&s->graph, j->error));
    draw_text(s, s2v_graph_input(&s->graph, GGML_TYPE_I32, n, 1, question), 0);
    TRY(s2v_graph_compute(&s->graph, j->error));
    s->progress.done = 0.0;
    s->progress.total = (double)n * s->kv.n_layers;
    TRY(s2v_run_layers(s, 0, s->kv.n_layers, NULL, j->error));
    TRY(s2v_prefix_settle(j));
    s2v_prefill_question_ran(j, s2_now_ms() - start);
    return S2P_OK;
}

static s2p_status run_prompt(s2v_job *j)
{
    s2v_prefill_begin(j);
    if (j->is_recalled) return run_question(j);
    TRY(see_pictures(j));

    const double start = s2_now_ms(), tower_probe_ms = j->stats.probe_ms;
    TRY(embed_text(j));
    TRY(s2v_run_stages(j));
    j->stats.prompt_ms = s2_now_ms() - start + tower_probe_ms;
    s2v_prefix_remember(j);
    return S2P_OK;
}

/* What was chosen of earlier pictures stays to be asked for while they stay in the conversation. */
static void settle_plans(s2v_job *j, s2p_status st)
{
    if (st == S2P_OK ? j->is_continued && j->prompt.n_images == 0 : !j->has_begun)
        s2v_plans_move(&j->s->plans, &j->earlier);
    s2v_plans_free(&j->earlier);
}

/* All that is left when the prefill is over, well or not. */
static void close_job(s2v_job *j, s2p_status st)
{
    s2v_prefix_end(j);
    settle_plans(j, st);
    s2v_trace_unmask(j->s);
    s2v_layout_keep_frame(j);
    s2v_job_free(j);
}

s2p_status s2v_prefill_close(s2v_job *j, s2p_status st, s2v_stats *stats)
{
    s2v_session *s = j->s;
    if (!j->is_open) return st;
    if (st == S2P_OK) st = s2v_progress_tell(s, "layers", 1.0, j->error);
    if (st == S2P_OK) st = s2v_answer_start(s, j->error);
    s->is_busy = false;
    if (st == S2P_OK) s2v_stats_count(j);
    if (stats && (st == S2P_OK || st == S2P_ELIMIT)) *stats = j->stats;
    if (st != S2P_OK && (j->has_begun || st == S2P_ECANCELLED)) {
        j->has_begun = true;
        s2v_session_reset(s);
    }
    close_job(j, st);
    return st;
}

void s2v_prefill_undo(s2v_job *j)
{
    if (j->is_recalled) s2v_kv_clear(&j->s->kv); /* it was empty */
    j->s->is_busy = false;
    close_job(j, S2P_EINVAL);
}

s2p_status s2v_prefill_alone(s2v_job *j, s2v_stats *stats)
{
    return s2v_prefill_close(j, run_prompt(j), stats);
}

s2p_status s2v_session_prefill(s2v_session *session, const s2v_prompt *prompt,
                               const s2v_prune_options *prune, s2v_stats *stats, s2p_error *error)
{
    s2v_job j;
    TRY(s2v_job_init(&j, session, prompt, prune, error));
    const s2p_status st = s2v_prefill_open(&j);
    return st == S2P_OK ? s2v_prefill_alone(&j, stats) : s2v_prefill_close(&j, st, stats);
}
