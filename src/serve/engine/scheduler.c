/* scheduler.c - slots with a session each.
 *
 *     take a job -> prefill -> a token, and a token for each of the others, ... -> the result
 *
 * The front sends as many jobs as there are slots. A comparison keeps its slot for all its settings,
 * one after the other; a single question is a comparison of one.
 *
 * A pass over the weights costs about the same for one token as for one of each session, so prompts
 * go first: the sooner they all answer, the fewer passes. But nobody who answers stands still for
 * that: while prompts run, the others get a token whenever the prompts had PROMPT_SHARE times as
 * long as their last pass took. Prompts that have text alone to run go together, too.
 */
#include "serve/engine/slot.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

#define MAX_TEXT ((size_t)4 << 20)
#define PROMPT_SHARE 4.0 /* time of prompts for one of passes, while both want it */

/* --- sessions ------------------------------------------------------------------------- */

static s2p_status ready_session(s2_scheduler *s, s2_slot *p, const s2v_session_options *options,
                                s2p_error *error)
{
    if (!p->session) return s2v_session_create(&p->session, s->engine, options, error);
    s2v_session_reset(p->session);
    return s2v_session_set_sampling(p->session, &options->sampling, error);
}

/* --- taking --------------------------------------------------------------------------- */

static void record_scores(const s2v_selection *choice, void *user)
{
    s2_slot *p = user;
    const s2p_signal *erc = &choice->view->signal[S2P_ERC];
    if (choice->picture != 0 || choice->part != 0 || !erc->data || p->score) return;
    if (choice->method->after[0] != 0) return; /* of another layer */
    p->score = malloc((size_t)erc->shape[0] * sizeof *p->score);
    if (!p->score) return;
    memcpy(p->score, erc->data, (size_t)erc->shape[0] * sizeof *p->score);
    p->n_scores = erc->shape[0];
    s2_score_remember(&p->scheduler->scores, p->score_key, p->score, p->n_scores);
}

/* Scores known from before need no recorder, and without one the prompt may be found in the cache. */
static void watch_scores(s2_scheduler *s, s2_slot *p)
{
    const bool wants = p->ask.wish[p->i_wish].wants_scores && p->ask.n_pictures > 0;
    if (wants) {
        s2_score_key(&p->ask, p->score_key);
        p->score = s2_score_recall(&s->scores, p->score_key, &p->n_scores);
    }
    s2v_session_set_recorder(p->session, wants && !p->score ? record_scores : NULL, p);
}

static void take_job(s2_scheduler *s, s2_slot *p, s2_inbox_job *job)
{
    s2p_error error = { S2P_OK, "" };
    const char *param = NULL;
    s2_job_parts parts;
    json_t *json = NULL;
    p->from = job;
    p->i_wish = 0;
    p->turn = ++s->n_turns;
    s2_buffer_init(&p->text, MAX_TEXT);
    s2p_status st = s2_job_decode(job->payload, job->n, &parts, &error);
    if (st == S2P_OK) st = s2_json_parse(parts.json.data, parts.json.n, "the job", &json, &error);
    if (st == S2P_OK) {
        p->is_read = true;
        st = s2_ask_job_read(&parts, json, s->quick->setup, &p->ask, &param, &error);
    }
    json_decref(json);
    if (st != S2P_OK) s2_slot_refuse(s, p, st, &error, param);
}

/* --- running -------------------------------------------------------------------------- */

/* How likely the token just picked was. One that ends the answer is no part of it: true. */
static bool note_token(s2_scheduler *s, s2_slot *p)
{
    size_t n;
    const int32_t *token = s2v_session_tokens(p->session, &n);
    const s2_logits logits = { .logit = s2v_session_logits(p->session),
                               .n = s->n_vocab,
                               .tokenizer = s->quick->tokenizer };
    if (p->ask.n_top < 0 || n == 0) return false;
    if (s2v_tokenizer_ends(logits.tokenizer, token[n - 1]) && !p->ask.session.sampling.ignore_eos)
        return true;
    s2_logprobs_add(&p->logprobs, &logits, token[n - 1], p->ask.n_top);
    return false;
}

/* After a token was tried for: text, and whether the answer ends with it. */
static void heed(s2_scheduler *s, s2_slot *p, s2p_status st, const char *text, bool is_done,
                 const s2p_error *error)
{
    const bool is_full = st == S2P_ELIMIT && p->n_tokens > 0; /* what is said is said */
    if (st != S2P_OK && !is_full) {
        s2_slot_fail(s, p, st, error);
        return;
    }
    if (st == S2P_OK) {
        p->n_tokens++;
        const bool is_end = note_token(s, p);
        s2_slot_say(s, p, text, is_end);
    }
    if (is_done) {
        s2_slot_finish(s, p, true);
    } else if (is_full || (p->ask.n_predict >= 0 && p->n_tokens >= p->ask.n_predict)) {
        s2_slot_say_rest(s, p);
        s2_slot_finish(s, p, false);
    }
}

/* One token for each session that answers, all with one pass over the weights. */
static void step_all(s2_scheduler *s)
{
    s2v_step step[S2_SERVE_MAX_PARALLEL];
    s2_slot *of[S2_SERVE_MAX_PARALLEL];
    size_t n = 0;
    for (int32_t i = 0; i < s->n_slots; i++) {
        s2_slot *p = &s->slot[i];
        if (!p->from || !p->is_started) continue;
        of[n] = p;
        step[n++] =
            (s2v_step){ .session = p->session, .text = p->piece, .capacity = S2V_TEXT_BYTES };
    }
    if (n == 0) return;
    s2p_error error = { S2P_OK, "" };
    const double start = s2_now_ms();
    const s2p_status st = s2v_decode_many(step, n, &error);
    s->stepped_ms = s2_now_ms();
    s->step_ms = s->stepped_ms - start;
    s->work.passes++;
    s->work.tokens += n;
    for (size_t i = 0; i < n; i++)
        heed(s, of[i], st != S2P_OK ? st : step[i].status, of[i]->piece, step[i].done != 0,
             st != S2P_OK ? &error : &step[i].error);
}

/* Those who answer have waited for prompts long enough. */
static bool is_due(const s2_scheduler *s)
{
    return s2_now_ms() - s->stepped_ms >= PROMPT_SHARE * s->step_ms;
}

/* Those whose prompts run are asked by the engine. */
static void drop_cancelled(s2_scheduler *s)
{
    const s2p_error error = { S2P_ECANCELLED, "the client is gone" };
    for (int32_t i = 0; i < s->n_slots; i++) {
        s2_slot *p = &s->slot[i];
        const bool is_running = p->asked && !p->asked->deferred;
        if (p->from && !is_running && atomic_load(&p->from->is_cancelled))
            s2_slot_refuse(s, p, S2P_ECANCELLED, &error, NULL);
    }
}

static void do_quick(s2_scheduler *s)
{
    s2_inbox_job *job;
    while ((job = s2_inbox_take(s->inbox, S2_INBOX_QUICK))) {
        s2_quick_job(s->quick, job);
        s2_inbox_release(s->inbox, job);
    }
}

/* --- starting ------------------------------------------------------------------------- */

/* A long prompt does not stop the others: between two of its graphs it is seen whose turn it is. */
static int between_graphs(const char *step, double done, void *user)
{
    s2_slot *p = user;
    s2_scheduler *s = p->scheduler;
    if (atomic_load(&p->from->is_cancelled)) return 1;
    s2_slot_tell_progress(s, p, step, done);
    do_quick(s);
    drop_cancelled(s);
    if (is_due(s)) step_all(s);
    return 0;
}

/* The session, set up for what is asked next. */
static s2p_status ready_wish(s2_scheduler *s, s2_slot *p, s2p_error *error)
{
    const s2_prune_wish *wish = &p->ask.wish[p->i_wish];
    s2_slot_tell_begin(s, p);
    TRY(ready_session(s, p, &p->ask.session, error));
    s2v_session_set_progress(p->session, between_graphs, p);
    p->told_ms = s2_now_ms();
    watch_scores(s, p);
    p->prune = s2_ask_job_prune(&p->ask, wish);
    p->prompt = s2_ask_job_prompt(&p->ask);
    p->stats = (s2v_stats){ .n_stages = 0 };
    p->is_ready = true;
    return S2P_OK;
}

/* Of published methods it is not known before. */
static s2p_status check_room(const s2_slot *p, s2p_error *error)
{
    const s2_ask_job *ask = &p->ask;
    const int32_t n_ctx = ask->session.n_ctx;
    if (!p->prune.published || !ask->has_predict ||
        p->stats.prompt_tokens + ask->n_predict <= n_ctx)
        return S2P_OK;
    return s2_fail(error, S2P_ELIMIT,
                   "%d tokens of the prompt and %d to be generated are more than the context of %d",
                   p->stats.prompt_tokens, ask->n_predict, n_ctx);
}

/* Its prompt ran, or was refused. */
static void prompt_ran(s2_scheduler *s, s2_slot *p, const s2v_ask *ask)
{
    s2p_error error = ask->error;
    p->stats = ask->stats;
    s->work.towers += (uint64_t)p->stats.tower_runs;
    const s2p_status st = ask->status == S2P_OK ? check_room(p, &error) : ask->status;
    if (st != S2P_OK) {
        s2_slot_fail(s, p, st, &error);
        return;
    }
    p->first_ms = s2_now_ms();
    p->is_started = true;
    if (p->ask.n_predict == 0)
        s2_slot_finish(s, p, false);
    else
        s2_slot_tell_kept(s, p);
}

/* Whose prompt has waited longest behind turn `after`; NULL: none does. */
static s2_slot *next_one(s2_scheduler *s, uint64_t after)
{
    s2_slot *next = NULL;
    for (int32_t i = 0; i < s->n_slots; i++) {
        s2_slot *p = &s->slot[i];
        if (p->from && !p->is_started && p->turn > after && (!next || p->turn < next->turn))
            next = p;
    }
    return next;
}

/* The prompts that wait, the first and those that can go with it. A comparison goes alone: its client
 * is told when it begins. False: nobody waits. */
static bool start_some(s2_scheduler *s)
{
    s2v_ask ask[S2_SERVE_MAX_PARALLEL];
    s2_slot *of[S2_SERVE_MAX_PARALLEL];
    size_t n = 0, n_ran = 0;
    s2p_error error = { S2P_OK, "" };
    s2_slot *p = next_one(s, 0);
    if (!p) return false;
    for (bool is_alone = false; p && !is_alone; p = next_one(s, of[n - 1]->turn)) {
        is_alone = p->ask.is_compare;
        if (is_alone && n > 0) break;
        const s2p_status st = p->is_ready ? S2P_OK : ready_wish(s, p, &error);
        if (st != S2P_OK) {
            s2_slot_fail(s, p, st, &error);
            if (n == 0) return true;
            break;
        }
        of[n] = p;
        ask[n++] = (s2v_ask){ .session = p->session, .prompt = &p->prompt, .prune = &p->prune };
    }
    for (size_t i = 0; i < n; i++) of[i]->asked = &ask[i];
    const s2p_status st = s2v_prefill_many(ask, n, &n_ran, &error);
    for (size_t i = 0; i < n; i++) of[i]->asked = NULL;
    for (size_t i = 0; st != S2P_OK && i < n; i++) s2_slot_fail(s, of[i], st, &error);
    for (size_t i = 0; i < n_ran; i++) prompt_ran(s, of[i], &ask[i]);
    return true;
}

static s2_slot *free_one(s2_scheduler *s)
{
    for (int32_t i = 0; i < s->n_slots; i++)
        if (!s->slot[i].from) return &s->slot[i];
    return NULL;
}

static bool is_idle(const s2_scheduler *s)
{
    for (int32_t i = 0; i < s->n_slots; i++)
        if (s->slot[i].from) return false;
    return true;
}

/* All that has come, as far as there are slots; when there is nothing to do, what comes next. */
static void take_all(s2_scheduler *s)
{
    s2_inbox_job *job;
    do {
        s2_slot *p = free_one(s);
        job = s2_inbox_take(s->inbox, is_idle(s) ? S2_INBOX_WAIT
                                      : p        ? S2_INBOX_ANY
                                                 : S2_INBOX_QUICK);
        if (job && job->is_quick) {
            s2_quick_job(s->quick, job);
            s2_inbox_release(s->inbox, job);
        } else if (job) {
            take_job(s, p, job);
        }
    } while (job);
}

void s2_scheduler_run(s2_scheduler *s)
{
    for (;;) {
        take_all(s);
        drop_cancelled(s);
        const bool has_prompts = start_some(s);
        if (!has_prompts || is_due(s)) step_all(s);
    }
}

s2p_status s2_scheduler_create(s2_scheduler **out, s2a_opened *opened, const s2_quick *quick,
                               s2_inbox *inbox, s2p_error *error)
{
    *out = NULL;
    s2_scheduler *s = calloc(1, sizeof *s);
    s2_slot *slots = calloc((size_t)quick->setup->n_parallel, sizeof *slots);
    if (!s || !slots) {
        free(s);
        free(slots);
        return s2_fail_memory(error, sizeof *slots, "the sessions");
    }
    *s = (s2_scheduler){ .engine = opened->engine,
                         .quick = quick,
                         .inbox = inbox,
                         .outbox = quick->outbox,
                         .n_slots = quick->setup->n_parallel,
                         .n_vocab = opened->info.n_vocab,
                         .slot = slots };
    for (int32_t i = 0; i < s->n_slots; i++) slots[i].scheduler = s;
    slots[0].session = opened->session;
    opened->session = NULL;
    *out = s;
    return S2P_OK;
}

void s2_scheduler_free(s2_scheduler *s)
{
    if (!s) return;
    for (int32_t i = 0; i < s->n_slots; i++) s2v_session_free(s->slot[i].session);
    s2_score_memory_free(&s->scores);
    free(s->slot);
    free(s);
}
