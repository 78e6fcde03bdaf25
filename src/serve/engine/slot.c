/* slot.c - what the client of a slot receives, from the progress of its prompt to the result. */
#include "serve/engine/scheduler.h"

#include "ask/attempts.h"
#include "ask/kept.h"
#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

#define MAX_PIECE ((size_t)64 << 20)
#define PROGRESS_MS 100.0 /* between two reports on the progress of a prompt */

/* --- ending ------------------------------------------------------------------------- */

/* Drops what is left of an answer; the question stays. */
static void clear_answer(s2_slot *p)
{
    free(p->score);
    p->score = NULL;
    p->n_scores = p->generation.n_tokens = 0;
    s2_logprobs_clear(&p->logprobs);
    p->text.size = p->held.size = 0;
    p->owes_kept = false;
    p->is_ready = p->is_started = false;
}

static void free_slot(s2_scheduler *s, s2_slot *p)
{
    clear_answer(p);
    s2v_thought_text_free(&p->split);
    s2_buffer_free(&p->text);
    s2_buffer_free(&p->held);
    p->i_step = 0;
    p->attempts.n = 0;
    for (int32_t i = 0; i < S2_SERVE_MAX_SETTINGS; i++) {
        free(p->kept[i]);
        p->kept[i] = NULL;
        p->n_kept[i] = 0;
        p->prompt_ms[i] = 0.0;
    }
    s2v_constraint_free(p->constraint);
    p->constraint = NULL;
    if (p->is_read) s2_ask_job_free(&p->ask);
    p->is_read = false;
    if (!p->group.leader) s2_inbox_release(s->inbox, p->from);
    p->group = (s2_slot_group){ .leader = NULL };
    p->from = NULL;
}

/* With the slots of the other answers to its prompt. */
static void free_group(s2_scheduler *s, s2_slot *p)
{
    s2_slot *leader = s2_slot_leader(p);
    for (int32_t i = 0; i < s->n_slots; i++)
        if (s->slot[i].group.leader == leader) free_slot(s, &s->slot[i]);
    free_slot(s, leader);
}

void s2_slot_refuse(s2_scheduler *s, s2_slot *p, s2p_status st, const s2p_error *error,
                    const char *param)
{
    p = s2_slot_leader(p);
    const int32_t n_counted = p->is_read ? p->ask.n_counted : 0;
    const bool is_full = st == S2P_ELIMIT && p->is_read && (p->session || n_counted > 0) && !param;
    s2_refusal refusal = { .status = st,
                           .message = error->message[0] ? error->message : s2p_status_text(st),
                           .param = param,
                           .is_ours = st == S2P_ENOMEM || st == S2P_EIO };
    if (is_full) {
        refusal.n_ctx = s->quick->setup->session.n_ctx;
        refusal.n_prompt = n_counted > 0 ? n_counted : p->stats.text_tokens + p->stats.image_tokens;
    }
    s2_outbox_refuse(s->outbox, p->from->request, &refusal);
    free_group(s, p);
}

static json_t *event_of(const s2_slot *p, const char *state)
{
    const s2a_setting *setting = &p->ask.setting[p->i_setting].setting;
    char budget[S2A_BUDGET_TEXT];
    return json_pack(
        "{s:i,s:s,s:s,s:s}", "index", p->i_setting, "method", setting->method, "budget",
        s2a_keeps_all(setting) ? "full" : s2a_budget_text(setting->budget, budget), "state", state);
}

/* The result of the job. */
static void send_done(s2_scheduler *s, s2_slot *p, json_t *json)
{
    json_object_set_new(json, "work", s2_work_json(&s->work));
    s2_outbox_json(s->outbox, S2_FRAME_DONE, p->from->request, json);
    free_group(s, p);
}

/* The next setting of a comparison; after the last one its summary: how much each pair of settings
 * keeps in common, and how fast each was compared with the slowest. */
static void next_setting(s2_scheduler *s, s2_slot *p)
{
    clear_answer(p);
    p->i_step = 0;
    p->attempts = (s2a_attempts){ .n = 0 };
    p->waiting_since = ++s->n_waits;
    if (++p->i_setting < p->ask.n_settings) return;
    json_t *overlap = json_array(), *ratio = json_array();
    double slowest = 0.0;
    for (int32_t i = 0; i < p->ask.n_settings; i++)
        if (p->prompt_ms[i] > slowest) slowest = p->prompt_ms[i];
    for (int32_t i = 0; i < p->ask.n_settings; i++) {
        json_t *row = json_array();
        for (int32_t k = 0; k < p->ask.n_settings; k++) {
            const int64_t both =
                s2a_count_common(p->kept[i], p->n_kept[i], p->kept[k], p->n_kept[k]);
            const int64_t any = p->n_kept[i] + p->n_kept[k] - both;
            json_array_append_new(row,
                                  any > 0 ? json_real((double)both / (double)any) : json_null());
        }
        json_array_append_new(overlap, row);
        json_array_append_new(ratio, p->prompt_ms[i] > 0.0 ? json_real(slowest / p->prompt_ms[i])
                                                           : json_null());
    }
    send_done(
        s, p,
        json_pack("{s:s,s:o,s:o}", "state", "summary", "iou", overlap, "prefill_speedup", ratio));
}

static json_t *result_of(const s2_slot *p, bool is_stopped)
{
    const s2_result result = { .job = &p->ask,
                               .setting = &p->ask.setting[p->i_setting],
                               .prune = &p->prune,
                               .session = p->session,
                               .stats = &p->stats,
                               .attempts = &p->attempts,
                               .score = p->score,
                               .n_scores = p->n_scores,
                               .n_tokens = p->ask.n_answers > 1 ? p->group.n_generated
                                                                : p->generation.n_tokens,
                               .is_stopped = is_stopped,
                               .generate_ms = s2_now_ms() - p->first_ms };
    return s2_result_json(&result);
}

/* Where the setting has several budgets. */
static void end_attempt(s2_slot *p)
{
    const s2a_prune_request *setting = &p->ask.setting[p->i_setting];
    if (s2_ask_job_has_steps(&p->ask, setting))
        s2a_attempts_end(&p->attempts, s2a_budget_step(setting->setting.budget, p->i_step),
                         p->generation.confidence, s2_now_ms() - p->first_ms, &p->stats);
}

void s2_slot_repeat(s2_slot *p)
{
    end_attempt(p);
    p->i_step = s2a_next_step(p->session, &p->ask.setting[p->i_setting].setting, p->i_step);
    clear_answer(p); /* its place in the queue is the old one */
}

void s2_slot_finish(s2_scheduler *s, s2_slot *p, bool is_stopped)
{
    if (p->ask.n_answers > 1 && !s2_slot_over(s, p, is_stopped)) return;
    p = s2_slot_leader(p);
    end_attempt(p);
    json_t *json = result_of(p, is_stopped);
    if (!p->ask.is_compare) {
        send_done(s, p, json);
        return;
    }
    json_t *event = event_of(p, "done");
    json_object_update(event, json);
    json_object_set_new(event, "answer",
                        json_stringn(p->text.data ? (const char *)p->text.data : "", p->text.size));
    json_decref(json);
    s2_outbox_json(s->outbox, S2_FRAME_EVENT, p->from->request, event);
    /* what the summary needs */
    const s2p_plan *plan = s2v_session_plan(p->session, 0);
    int32_t n = 0;
    const int32_t *keep = plan ? s2p_plan_keep(plan, &n) : NULL;
    int32_t *copy = n > 0 ? malloc((size_t)n * sizeof *copy) : NULL;
    if (copy) {
        memcpy(copy, keep, (size_t)n * sizeof *copy);
        p->kept[p->i_setting] = copy;
        p->n_kept[p->i_setting] = n;
        p->prompt_ms[p->i_setting] = p->stats.prompt_ms + p->attempts.earlier_ms;
    }
    next_setting(s, p);
}

/* When one setting of a comparison fails, the others still run. */
void s2_slot_fail(s2_scheduler *s, s2_slot *p, s2p_status st, const s2p_error *error)
{
    if (!p->ask.is_compare || st == S2P_ECANCELLED) {
        s2_slot_refuse(s, p, st, error, NULL);
        return;
    }
    json_t *event = event_of(p, "error");
    json_object_set_new(event, "error", json_string(error->message));
    s2_outbox_json(s->outbox, S2_FRAME_EVENT, p->from->request, event);
    next_setting(s, p);
}

/* --- before the end ---------------------------------------------------------------------- */

/* Takes over tokens; NULL: no probabilities were asked for. */
static void send_piece(s2_scheduler *s, s2_slot *p, const s2_buffer *thoughts,
                       const s2_buffer *answer, json_t *tokens)
{
    const uint64_t request = p->from->request;
    json_t *piece = NULL;
    if (p->ask.is_compare) {
        s2_buffer_append(&p->text, answer->data, answer->size);
        return;
    }
    if (thoughts->size > 0)
        piece = json_pack("{s:i,s:s%}", "index", p->group.index, "reasoning_content",
                          (const char *)thoughts->data, thoughts->size);
    if (p->ask.n_top >= 0 || p->ask.n_answers > 1) {
        if (answer->size > 0 || json_array_size(tokens) > 0 || piece) {
            json_t *json = json_pack("{s:i,s:s%,s:O*}", "index", p->group.index, "text",
                                     answer->size > 0 ? (const char *)answer->data : "",
                                     answer->size, "tokens", tokens);
            if (json && piece) json_object_update(json, piece);
            s2_outbox_json(s->outbox, S2_FRAME_TOKENS, request, json);
        }
        json_decref(piece);
        json_decref(tokens);
        return;
    }
    if (piece) s2_outbox_json(s->outbox, S2_FRAME_EVENT, request, piece);
    if (answer->size > 0)
        s2_outbox_bytes(s->outbox, S2_FRAME_TEXT, request, answer->data, answer->size);
}

void s2_slot_send_text(s2_scheduler *s, s2_slot *p, const char *text, bool is_end)
{
    size_t n = strlen(text);
    if (p->generation.min_confidence > 0.0) {
        s2_buffer_append(&p->held, text, n);
        return;
    }
    if (p->owes_kept) s2_slot_send_kept(s, p);
    p->owes_kept = false;
    if (p->held.size > 0) {
        s2_buffer_append(&p->held, text, n + 1);
        text = (const char *)p->held.data;
        n = p->held.size - 1;
        p->held.size = 0;
    }
    s2_buffer thoughts, answer;
    s2_buffer_init(&thoughts, MAX_PIECE);
    s2_buffer_init(&answer, MAX_PIECE);
    s2v_thought_text_feed(&p->split, text, n, &thoughts, &answer);
    if (is_end || p->generation.ending != S2A_RUNNING) s2v_thought_text_end(&p->split, &thoughts);
    send_piece(s, p, &thoughts, &answer,
               p->ask.n_top >= 0 ? s2_logprobs_shown(&p->logprobs, n, is_end) : NULL);
    s2_buffer_free(&thoughts);
    s2_buffer_free(&answer);
}

void s2_slot_send_progress(s2_scheduler *s, s2_slot *p, const char *step, double done)
{
    const char *stage = strcmp(step, "picture") == 0 ? "decode"
                        : strcmp(step, "tower") == 0 ? "vision"
                                                     : "prefill";
    if (!p->ask.wants_progress && !p->ask.is_compare) return;
    if (s2_now_ms() - p->reported_ms < PROGRESS_MS) return;
    p->reported_ms = s2_now_ms();
    json_t *event = p->ask.is_compare ? event_of(p, "running") : json_object();
    if (p->ask.is_compare) json_object_set_new(event, "progress", json_real(done));
    json_object_set_new(event, "prompt_progress",
                        json_pack("{s:s,s:f,s:i}", "stage", stage, "done", done, "total", 1));
    s2_outbox_json(s->outbox, S2_FRAME_EVENT, p->from->request, event);
}

void s2_slot_send_begin(s2_scheduler *s, const s2_slot *p)
{
    if (p->ask.is_compare)
        s2_outbox_json(s->outbox, S2_FRAME_EVENT, p->from->request, event_of(p, "running"));
}

void s2_slot_send_kept(s2_scheduler *s, const s2_slot *p)
{
    if (!p->ask.wants_progress || p->ask.is_compare || p->ask.n_pictures == 0) return;
    json_t *json = result_of(p, false), *prune = json_incref(json_object_get(json, "prune"));
    json_decref(json);
    const s2a_prune_request *setting = &p->ask.setting[p->i_setting];
    if (s2_ask_job_has_steps(&p->ask, setting))
        s2a_attempts_foretell(&setting->setting, p->i_step > 0, prune);
    s2_outbox_json(s->outbox, S2_FRAME_EVENT, p->from->request, json_pack("{s:o}", "prune", prune));
}
