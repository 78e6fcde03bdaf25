/* scheduler.c - slots with a session each.
 *
 *     take a job -> prefill -> one token for every session that answers, ... -> the result
 *
 * The front sends as many jobs as there are slots. A comparison keeps its slot for all its settings,
 * one after the other; a single question is a comparison of one.
 *
 * A pass over the weights costs about the same for one token as for one of each session, so prompts
 * go first: the sooner all of them answer, the fewer passes are needed. Running answers must not
 * starve, however: while prompts run, the answers get a token whenever the prompts had PROMPT_SHARE
 * times as long as the last pass took. Prompts of which only text is left run together.
 */
#include "serve/engine/scheduler.h"

#include "base/clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TEXT ((size_t)4 << 20)
#define PROMPT_SHARE \
    4.0 /* time of prompts for each unit of time of passes, while both are waiting */

/* --- taking jobs ------------------------------------------------------------------------- */

static void decode(s2_side_task *task)
{
    s2_decoding *d = (s2_decoding *)task; /* its first member */
    s2_job_parts parts;
    d->error = (s2p_error){ S2P_OK, "" };
    d->status = s2_job_decode(d->slot->from->payload, d->slot->from->n, &parts, &d->error);
    if (d->status == S2P_OK)
        d->status = s2_ask_job_decode(&parts, d->setup, &d->slot->from->is_cancelled, &d->slot->ask,
                                      d->param, &d->error);
    atomic_store(&d->is_over, true);
}

typedef struct quick_task {
    s2_side_task task;
    const s2_quick *quick;
    s2_inbox *inbox;
    s2_inbox_job *job;
} quick_task;

static void run_quick(s2_side_task *task)
{
    quick_task *q = (quick_task *)task;
    s2_quick_job(q->quick, q->job);
    s2_inbox_release(q->inbox, q->job);
    free(q);
}

/* A quick job, on the side if it has a picture. */
static void take_quick(s2_scheduler *s, s2_inbox_job *job)
{
    s2_job_parts parts;
    const bool has_picture =
        s2_job_decode(job->payload, job->n, &parts, NULL) == S2P_OK && parts.n_blobs > 0;
    quick_task *task = has_picture ? calloc(1, sizeof *task) : NULL;
    if (task) {
        *task = (quick_task){ { .run = run_quick }, s->quick, s->inbox, job };
        s2_side_add(s->side, &task->task);
    } else {
        s2_quick_job(s->quick, job);
        s2_inbox_release(s->inbox, job);
    }
}

/* Slots whose pictures are there now, or cannot be had. */
static void take_decoded(s2_scheduler *s)
{
    for (int32_t i = 0; i < s->n_slots; i++) {
        s2_slot *p = &s->slot[i];
        s2_decoding *d = &p->decoding;
        if (!d->is_begun || !atomic_load(&d->is_over)) continue;
        d->is_begun = false;
        if (d->status != S2P_OK)
            s2_slot_refuse(s, p, d->status, &d->error, d->param[0] ? d->param : NULL);
    }
}

static void take_job(s2_scheduler *s, s2_slot *p, s2_inbox_job *job)
{
    s2p_error error = { S2P_OK, "" };
    char param[S2_JSON_PARAM] = "";
    s2_job_parts parts;
    json_t *json = NULL;
    p->from = job;
    p->i_setting = 0;
    p->waiting_since = ++s->n_waits;
    s2_buffer_init(&p->text, MAX_TEXT);
    s2_buffer_init(&p->held, MAX_TEXT);
    p->i_step = 0;
    p->attempts = (s2a_attempts){ .n = 0 };
    s2p_status st = s2_job_decode(job->payload, job->n, &parts, &error);
    if (st == S2P_OK) st = s2_json_parse(parts.json.data, parts.json.n, "the job", &json, &error);
    if (st == S2P_OK) /* before any picture is decoded */
        st = s2_constraint_get(&s->constraints, s->engine, json_object_get(json, "constraint"),
                               &p->constraint, param, &error);
    if (st == S2P_OK) {
        p->is_read = true;
        st = s2_ask_job_read(&parts, json, s->quick->setup, s->engine, &p->ask, param, &error);
        p->ask.session.sampling.constraint = p->constraint;
    }
    json_decref(json);
    if (st != S2P_OK) {
        s2_slot_refuse(s, p, st, &error, param[0] ? param : NULL);
    } else if (p->ask.n_pictures > 0) {
        p->decoding.task.run = decode;
        p->decoding.slot = p;
        p->decoding.setup = s->quick->setup;
        p->decoding.is_begun = true;
        atomic_store(&p->decoding.is_over, false);
        s2_side_add(s->side, &p->decoding.task);
    }
}

/* All jobs that have arrived, as far as there are free slots; if there is nothing to do, wait. */
static void take_all(s2_scheduler *s)
{
    s2_inbox_job *job;
    do {
        s2_slot *vacant = NULL;
        bool is_idle = true;
        for (int32_t i = s->n_slots - 1; i >= 0; i--) {
            if (s->slot[i].from)
                is_idle = is_idle && s->slot[i].decoding.is_begun;
            else
                vacant = &s->slot[i];
        }
        job = s2_inbox_take(s->inbox, is_idle && vacant ? S2_INBOX_WAIT
                                      : is_idle         ? S2_INBOX_WAIT_QUICK
                                      : vacant          ? S2_INBOX_ANY
                                                        : S2_INBOX_QUICK);
        if (job && job->is_quick) {
            take_quick(s, job);
        } else if (job) {
            take_job(s, vacant, job);
        }
    } while (job);
}

/* --- answers ----------------------------------------------------------------------------- */

/* A token of an answer, or its held back text: to the client, with its probability if asked for. An
 * end token is not part of the answer. */
static s2p_status receive(s2a_generation *g, const char *text, bool is_rest, s2p_error *error)
{
    s2_slot *p = g->user;
    s2_scheduler *s = p->scheduler;
    size_t n;
    const int32_t *token = s2v_session_tokens(p->session, &n);
    bool is_end = is_rest;
    (void)error;
    if (!is_rest && p->ask.n_top >= 0 && n > 0) {
        const s2_logits logits = { .logit = s2v_session_logits(p->session),
                                   .n = s->n_vocab,
                                   .engine = s->engine };
        is_end =
            s2v_engine_token_ends(s->engine, token[n - 1]) && !p->ask.session.sampling.ignore_eos;
        if (!is_end) s2_logprobs_add(&p->logprobs, &logits, token[n - 1], p->ask.n_top);
    }
    s2_slot_send_text(s, p, text, is_end);
    return S2P_OK;
}

/* After a pass, or where no token was asked for. */
static void finish_if_ended(s2_scheduler *s, s2_slot *p)
{
    const s2a_generation *g = &p->generation;
    if (g->ending == S2A_FAILED)
        s2_slot_fail(s, p, g->status, &g->error);
    else if (g->ending == S2A_UNSURE)
        s2_slot_repeat(p);
    else if (g->ending != S2A_RUNNING)
        s2_slot_finish(s, p, g->ending == S2A_STOPPED);
}

/* One token for each session that answers, all with one pass over the weights. */
static void step_all(s2_scheduler *s)
{
    s2a_generation *answers[S2_SERVE_MAX_PARALLEL];
    s2_slot *of[S2_SERVE_MAX_PARALLEL];
    size_t n = 0;
    for (int32_t i = 0; i < s->n_slots; i++) {
        s2_slot *p = &s->slot[i];
        if (!p->from || !p->is_started || p->group.is_over) continue;
        of[n] = p;
        answers[n++] = &p->generation;
    }
    if (n == 0) return;
    const double start = s2_now_ms();
    s2a_generate(answers, n);
    s->stepped_ms = s2_now_ms();
    s->step_ms = s->stepped_ms - start;
    s->work.passes++;
    s->work.tokens += n;
    for (size_t i = 0; i < n; i++)
        if (of[i]->from) finish_if_ended(s, of[i]); /* one that fails ends others of its prompt */
}

/* Running answers have waited for prompts long enough. */
static bool is_due(const s2_scheduler *s)
{
    return s2_now_ms() - s->stepped_ms >= PROMPT_SHARE * s->step_ms;
}

/* Slots whose prompt is running are left alone: the engine polls them itself. */
static void drop_cancelled(s2_scheduler *s)
{
    const s2p_error error = { S2P_ECANCELLED, "the client has disconnected" };
    for (int32_t i = 0; i < s->n_slots; i++) {
        s2_slot *p = &s->slot[i];
        const bool is_running = p->asked && !p->asked->deferred;
        if (p->from && !is_running && !s2_slot_leader(p)->decoding.is_begun &&
            atomic_load(&p->from->is_cancelled))
            s2_slot_refuse(s, p, S2P_ECANCELLED, &error, NULL);
    }
}

/* --- prompts ----------------------------------------------------------------------------- */

/* Called between two graphs of a prompt, so that a long one does not stop everything else. */
static int between_graphs(const char *step, double done, void *user)
{
    s2_slot *p = user;
    s2_scheduler *s = p->scheduler;
    s2_inbox_job *job;
    atomic_fetch_add(&s->inbox->beat, 1);
    if (atomic_load(&p->from->is_cancelled)) return 1;
    s2_slot_send_progress(s, p, step, done);
    while ((job = s2_inbox_take(s->inbox, S2_INBOX_QUICK))) take_quick(s, job);
    drop_cancelled(s);
    if (is_due(s)) step_all(s);
    return 0;
}

static void record_scores(const s2v_selection *selection, void *user)
{
    s2_slot *p = user;
    const s2p_signal *erc = &selection->view->signal[S2P_ERC];
    if (selection->picture != 0 || selection->part != 0 || !erc->data || p->score) return;
    const s2a_setting *setting = &p->ask.setting[p->i_setting].setting;
    const int32_t own = s2p_method_about(selection->method)->after[0];
    if ((setting->has_after ? setting->after : own) != 0) return; /* of another layer */
    /* One for each token of the grid; NaN where it never entered the tower. */
    const s2p_view *view = selection->view;
    const int32_t n = selection->grid.rows * selection->grid.cols;
    p->score = malloc((size_t)n * sizeof *p->score);
    if (!p->score) return;
    for (int32_t i = 0; i < n; i++) p->score[i] = NAN;
    for (int32_t i = 0; i < erc->shape[0]; i++)
        p->score[view->alive ? view->alive[i] : i] = erc->data[i];
    p->n_scores = n;
    s2_score_remember(&p->scheduler->scores, p->score_key, p->score, p->n_scores);
}

/* The session, set up for the next setting of the slot. */
static s2p_status set_up(s2_scheduler *s, s2_slot *p, s2p_error *error)
{
    const s2a_prune_request *setting = &p->ask.setting[p->i_setting];
    if (p->i_step == 0) s2_slot_send_begin(s, p);
    if (!p->session) {
        TRY(s2v_session_create(&p->session, s->engine, &p->ask.session, error));
    } else {
        s2v_session_reset(p->session);
        TRY(s2v_session_set_sampling(p->session, &p->ask.session.sampling, error));
    }
    s2v_session_set_progress(p->session, between_graphs, p);
    p->reported_ms = s2_now_ms();
    /* With known scores no recorder is needed, and without one the cache may know the prompt. The
     * settings of a comparison are all computed, so that their times can be compared. */
    const bool wants_scores = setting->wants_scores && p->ask.n_pictures > 0;
    if (wants_scores) {
        s2_score_key(&p->ask, &setting->setting, p->score_key);
        if (!p->ask.is_compare) p->score = s2_score_recall(&s->scores, p->score_key, &p->n_scores);
    }
    s2v_session_set_recorder(p->session, wants_scores && !p->score ? record_scores : NULL, p);
    if (p->ask.n_answers > 1) p->i_step = setting->setting.budget.n_more; /* they share a prompt */
    p->prune = s2_ask_job_prune(&p->ask, setting, p->i_step);
    p->prompt = s2_ask_job_prompt(&p->ask, setting);
    p->stats = (s2v_stats){ .n_stages = 0 };
    p->is_ready = true;
    return S2P_OK;
}

static void start_answer(s2_scheduler *s, s2_slot *p)
{
    const s2a_prune_request *asked = &p->ask.setting[p->i_setting];
    const s2a_setting *setting = &asked->setting;
    const bool has_steps = s2_ask_job_has_steps(&p->ask, asked);
    const bool is_open =
        has_steps && s2a_next_step(p->session, setting, p->i_step) <= setting->budget.n_more;
    p->generation.n_vocab = has_steps ? s->n_vocab : 0;
    p->generation.min_confidence = is_open ? s2a_min_confidence(setting) : 0.0;
    p->owes_kept = p->ask.n_predict != 0 && is_open;
    if (p->ask.n_predict != 0 && !is_open && !p->group.leader) s2_slot_send_kept(s, p);
    p->first_ms = s2_now_ms();
    s2v_thought_text_free(&p->split);
    s2v_thought_text_init(&p->split, s2v_session_thinks(p->session) && !p->ask.thoughts_in_text);
    p->is_started = true;
    p->generation.session = p->session;
    p->generation.max_tokens = p->ask.n_predict;
    p->generation.receive = receive;
    p->generation.user = p;
    s2a_generation_start(&p->generation);
}

/* The prompt of a slot has run, or was refused. */
static void prompt_ran(s2_scheduler *s, s2_slot *p, const s2v_ask *ask)
{
    const s2_ask_job *job = &p->ask;
    const int32_t n_ctx = job->session.n_ctx;
    s2p_error error = ask->error;
    s2p_status st = ask->status;
    p->stats = ask->stats;
    s->work.towers += (uint64_t)p->stats.tower_runs;
    if (st == S2P_EIO) { /* a model file changed: all answers would be wrong */
        s2_outbox_bytes(s->outbox, S2_FRAME_BROKEN, 0, error.message, strlen(error.message));
        s->quick->setup->broken();
    }
    /* For mode "published" the token count is known only after the prefill. */
    if (st == S2P_OK && p->prune.published && job->has_predict &&
        p->stats.prompt_tokens + job->n_predict > n_ctx)
        st = s2_fail(
            &error, S2P_ELIMIT,
            "%d tokens of the prompt and %d to be generated are more than the context of %d",
            p->stats.prompt_tokens, job->n_predict, n_ctx);
    if (st != S2P_OK) {
        s2_slot_fail(s, p, st, &error);
        return;
    }
    st = job->n_answers > 1 ? s2_slot_fork(s, p, &error) : S2P_OK;
    if (st != S2P_OK) {
        s2_slot_fail(s, p, st, &error);
        return;
    }
    const s2_inbox_job *from = p->from;
    for (int32_t i = 0; i < s->n_slots; i++)
        if (s->slot[i].from == from) start_answer(s, &s->slot[i]);
    for (int32_t i = 0; i < s->n_slots; i++) /* one that fails ends them all */
        if (s->slot[i].from == from && p->from) finish_if_ended(s, &s->slot[i]);
}

/* The prompt that has waited longest among those numbered above `after`; NULL: none. */
static s2_slot *next_prompt(s2_scheduler *s, uint64_t after)
{
    s2_slot *next = NULL;
    for (int32_t i = 0; i < s->n_slots; i++) {
        s2_slot *p = &s->slot[i];
        if (p->from && !p->is_started && !p->decoding.is_begun && p->waiting_since > after &&
            (!next || p->waiting_since < next->waiting_since))
            next = p;
    }
    return next;
}

/* Runs the first waiting prompt and those that can go with it. A comparison goes alone: its client is
 * informed when it begins. False: none is waiting. */
static bool start_some(s2_scheduler *s)
{
    s2v_ask ask[S2_SERVE_MAX_PARALLEL];
    s2_slot *of[S2_SERVE_MAX_PARALLEL];
    size_t n = 0, n_ran = 0;
    s2p_error error = { S2P_OK, "" };
    s2_slot *p = next_prompt(s, 0);
    if (!p) return false;
    for (bool is_alone = false; p && !is_alone; p = next_prompt(s, of[n - 1]->waiting_since)) {
        is_alone = p->ask.is_compare;
        if (is_alone && n > 0) break;
        const s2p_status st = p->is_ready ? S2P_OK : set_up(s, p, &error);
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

/* --- all together -------------------------------------------------------------------------- */

void s2_scheduler_run(s2_scheduler *s)
{
    for (;;) {
        atomic_fetch_add(&s->inbox->beat, 1);
        take_all(s);
        take_decoded(s);
        drop_cancelled(s);
        const bool has_prompts = start_some(s);
        if (!has_prompts || is_due(s)) step_all(s);
    }
}

s2p_status s2_scheduler_create(s2_scheduler **out, s2a_opened *opened, const s2_quick *quick,
                               s2_inbox *inbox, s2_side *side, s2p_error *error)
{
    *out = NULL;
    s2_scheduler *s = calloc(1, sizeof *s);
    const int32_t n_parallel = quick->setup->n_parallel;
    const int32_t n_slots = n_parallel > S2_SERVE_MAX_ANSWERS ? n_parallel : S2_SERVE_MAX_ANSWERS;
    s2_slot *slots = calloc((size_t)n_slots, sizeof *slots);
    if (!s || !slots) {
        free(s);
        free(slots);
        return s2_fail_memory(error, sizeof *slots, "the sessions");
    }
    *s = (s2_scheduler){ .engine = opened->engine,
                         .quick = quick,
                         .inbox = inbox,
                         .outbox = quick->outbox,
                         .side = side,
                         .n_slots = n_slots,
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
    s2_constraint_cache_free(&s->constraints);
    free(s->slot);
    free(s);
}
