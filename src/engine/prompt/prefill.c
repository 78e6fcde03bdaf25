/* prefill.c - a prompt with pictures becomes a past and logits: the whole way, on one page (run_prompt).
 *
 *   pictures -> frames -> tower -> rows <- text;   rows -> layers, select, compact, layers -> logits
 */
#include "engine/prompt/steps.h"

#include "base/clock.h"
#include "engine/decoder/draw.h"
#include "engine/prompt/trace.h"
#include "engine/session/answer.h"
#include "engine/session/memory.h"

#include <stdlib.h>

const char *s2v_method_name(size_t index)
{
    const s2p_method *method = s2p_method_at(index);
    return method ? s2p_method_about(method)->name : NULL;
}

/* ids: I32 [n], to rows [first, first + n). */
static void draw_text(s2v_session *s, struct ggml_tensor *ids, int32_t first)
{
    struct ggml_context *ctx = s->graph.ctx;
    struct ggml_tensor *rows = s2v_rows_view(ctx, &s->rows, first, (int32_t)ids->ne[0]);
    struct ggml_tensor *text = s2v_draw_embedding(&s->graph, &s->engine->model.decoder, ids);
    s2v_graph_expand(&s->graph, ggml_cpy(ctx, text, rows));
}

s2p_status s2v_prefill_open(s2v_prefill *pf)
{
    s2v_session *s = pf->s;
    if (s->is_busy) return s2_fail(pf->error, S2P_EINVAL, "the session is in a prefill already");
    s->is_busy = pf->is_open = true;
    pf->is_continued = s2v_past_length(&s->past, 0) > 0;
    TRY(s2v_layout_make(pf));
    pf->is_recalled = s2v_prefix_recall(pf);
    return S2P_OK;
}

void s2v_prefill_begin(s2v_prefill *pf)
{
    s2v_answer_clear(pf->s);
    pf->s->next_pos += pf->n_positions;
    pf->has_begun = true;
}

void s2v_prefill_question_ran(s2v_prefill *pf, double took)
{
    const double made = pf->prefix.parts.head.made_ms;
    pf->stats.layers_ms = pf->stats.prompt_ms = took;
    pf->stats.saved_ms = made > took ? made - took : 0.0;
}

static s2p_status run_prompt(s2v_prefill *pf)
{
    s2v_session *s = pf->s;
    s2v_graph *graph = &s->graph;
    const int32_t n_images = pf->prompt.n_images;
    const int32_t *ids = pf->chat.tokens.id;
    s2v_prefill_begin(pf);
    double start = s2_now_ms();

    /* The pictures and all before them were in the engine's cache: the question is left to run. */
    if (pf->is_recalled) {
        const int32_t n = s->rows.n;
        TRY(s2v_graph_begin(graph, pf->error));
        ids += pf->chat.tokens.n - (size_t)n;
        draw_text(s, s2v_graph_input(graph, GGML_TYPE_I32, n, 1, ids), 0);
        TRY(s2v_graph_compute(graph, pf->error));
        s->progress.done = 0.0;
        s->progress.total = (double)n * s->past.n_layers;
        TRY(s2v_run_layers(s, 0, s->past.n_layers, NULL, pf->error));
        TRY(s2v_prefix_settle(pf));
        s2v_prefill_question_ran(pf, s2_now_ms() - start);
        return S2P_OK;
    }

    /* The tower writes straight into the rows; its memory is freed before the decoder starts. */
    if (n_images > 0) {
        s2v_graph tower;
        TRY(s2v_graph_init(&tower, &s->backends, s2v_tower_nodes(&s->engine->model), pf->error));
        tower.traffic = &s->traffic;
        s2p_status st = S2P_OK;
        for (int32_t i = 0; st == S2P_OK && i < n_images; i++) {
            s->progress.from = (double)i / n_images;
            s->progress.to = (double)(i + 1) / n_images;
            st = s2v_picture_rows(pf, &tower, i);
            if (st == S2P_OK) st = s2v_progress_tell(s, "tower", s->progress.to, pf->error);
        }
        s2v_graph_free(&tower);
        pf->stats.vision_ms = s2_now_ms() - start - pf->stats.probe_ms;
        if (st != S2P_OK) return st;
    }

    /* The text between them: a token left over from the last answer, then piece by piece. */
    const double tower_probe_ms = pf->stats.probe_ms;
    int32_t row = 0;
    size_t token = 0;
    start = s2_now_ms();
    TRY(s2v_graph_begin(graph, pf->error));
    if (s->pending >= 0)
        draw_text(s, s2v_graph_input(graph, GGML_TYPE_I32, 1, 1, &s->pending), row++);
    struct ggml_tensor *all =
        s2v_graph_input(graph, GGML_TYPE_I32, (int64_t)pf->chat.tokens.n, 1, ids);
    for (size_t i = 0; i < pf->chat.n_pieces; i++) {
        const s2v_piece *piece = &pf->chat.piece[i];
        const int32_t n = (int32_t)piece->n_tokens;
        if (n > 0) draw_text(s, ggml_view_1d(graph->ctx, all, n, token * sizeof *ids), row);
        token += piece->n_tokens;
        row += n;
        if (piece->image >= 0) row += pf->frames[piece->image].n_rows;
    }
    TRY(s2v_graph_compute(graph, pf->error));
    s->pending = -1;

    /* Layers and prune points, until the logits are there. */
    TRY(s2v_run_stages(pf));
    pf->stats.prompt_ms = s2_now_ms() - start + tower_probe_ms;
    s2v_prefix_remember(pf);
    return S2P_OK;
}

/* What the prefill cost, after the paper's formulas, and what it left in the past. */
static void count_stats(s2v_prefill *pf)
{
    const s2v_session *s = pf->s;
    const s2v_decoder_params *p = &s->engine->model.decoder.p;
    s2v_stats *t = &pf->stats;
    const double d = p->n_embd;
    double m = p->n_ff; /* of the feed-forward part of a row, including a router's rows */
    if (p->n_experts > 0) m = m * p->n_experts_used + p->n_experts / 3.0;
    const double d_q = (double)p->n_heads * p->head_dim;
    const double d_kv = (double)p->n_kv_heads * p->head_dim;
    const double shared = p->n_shared_ff > 0 ? p->n_shared_ff + 1.0 / 3.0 : 0.0;
    const double of_ffn = 6.0 * d * (m + shared), with_gate = p->has_output_gate ? d * d_q : 0.0;
    const double of_attention = 2.0 * (2.0 * d * d_q + 2.0 * d * d_kv + with_gate);
    const uint64_t row = s2v_past_slot_bytes(&s->past), state = s2v_past_state_bytes(&s->past);
    /* A delta net: its products and convolution, and a state that decays, is read twice and written. */
    const s2v_delta_params *delta = &p->delta;
    const double channels = (double)s2v_delta_channels(delta), heads = delta->n_value_heads,
                 values = heads * delta->head_dim;
    const double of_delta_net = 2.0 * (d * (channels + 2.0 * values + 2.0 * heads) +
                                       channels * delta->n_taps + 3.5 * values * delta->head_dim);
    for (int32_t layer = 0; layer < p->n_layers; layer++) {
        int32_t n_tokens = t->tower_tokens - pf->n_dropped; /* visual tokens this layer has seen */
        for (int32_t i = 0; i < t->n_stages; i++)
            if (layer > t->stage_after[i]) n_tokens = t->stage_tokens[i];
        const double n = t->text_tokens + n_tokens;
        if (s2v_past_is_state(&s->past, layer)) { /* of the same size with and without pictures */
            t->flops += (of_delta_net + of_ffn) * n;
            t->kv_total_bytes += state;
            continue;
        }
        t->flops += (of_attention + of_ffn) * n + 4.0 * n * n * d_q;
        t->kv_visual_bytes += row * (uint64_t)(pf->prunes_cache ? t->image_tokens : n_tokens);
        t->kv_visual_bytes_paper += 4 * (uint64_t)d_kv * (uint64_t)n_tokens;
        t->kv_total_bytes += row * (uint64_t)s2v_past_length(&s->past, layer);
    }
    t->prompt_tokens = t->text_tokens + t->image_tokens;
}

/* Free everything, whether the prefill succeeded or not. Plans of earlier pictures stay available while
 * these pictures stay in the conversation. */
static void free_prefill(s2v_prefill *pf, s2p_status st)
{
    const int32_t n = pf->prompt.n_images;
    s2v_prefix_end(pf);
    s2v_memory_end_prompt(pf->s);
    if (st == S2P_OK ? pf->is_continued && n == 0 : !pf->has_begun)
        s2v_plans_move(&pf->s->plans, &pf->earlier);
    s2v_plans_free(&pf->earlier);
    s2v_trace_unmask(pf->s);
    s2v_layout_keep_frame(pf);
    for (int32_t i = 0; pf->frames && i < n; i++) s2v_frame_free(&pf->frames[i]);
    for (int32_t i = 0; pf->tower_probe && i < n; i++) s2v_tower_probe_free(&pf->tower_probe[i]);
    s2v_units_free(pf);
    free(pf->frames);
    free(pf->tower_probe);
    free(pf->first_row);
    free(pf->text);
    s2v_chat_free(&pf->chat);
}

s2p_status s2v_prefill_close(s2v_prefill *pf, s2p_status st, s2v_stats *stats)
{
    s2v_session *s = pf->s;
    if (!pf->is_open) return st;
    if (st == S2P_OK) st = s2v_progress_tell(s, "layers", 1.0, pf->error);
    if (st == S2P_OK && s2v_prompt_thinks(s->engine, &pf->prompt))
        s->thoughts = s2v_thoughts_begin(s->engine->tokenizer, pf->prompt.reasoning_budget);
    if (st == S2P_OK) st = s2v_answer_start(s, pf->error);
    s->is_busy = false;
    if (st == S2P_OK) count_stats(pf);
    if (stats && (st == S2P_OK || st == S2P_ELIMIT)) *stats = pf->stats;
    if (st != S2P_OK && (pf->has_begun || st == S2P_ECANCELLED)) {
        pf->has_begun = true;
        s2v_session_reset(s);
    }
    free_prefill(pf, st);
    return st;
}

void s2v_prefill_undo(s2v_prefill *pf)
{
    if (pf->is_recalled) s2v_past_clear(&pf->s->past); /* it was empty */
    pf->s->is_busy = false;
    free_prefill(pf, S2P_EINVAL);
}

s2p_status s2v_prefill_alone(s2v_prefill *pf, s2v_stats *stats)
{
    return s2v_prefill_close(pf, run_prompt(pf), stats);
}

s2p_status s2v_session_prefill(s2v_session *session, const s2v_prompt *prompt,
                               const s2v_prune_options *prune, s2v_stats *stats, s2p_error *error)
{
    s2v_prefill pf;
    TRY(s2v_prefill_init(&pf, session, prompt, prune, error));
    const s2p_status st = s2v_prefill_open(&pf);
    return st == S2P_OK ? s2v_prefill_alone(&pf, stats) : s2v_prefill_close(&pf, st, stats);
}
