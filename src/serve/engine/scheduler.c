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
 * long as their last pass took.
 */
#include "serve/engine/scheduler.h"

#include "base/clock.h"
#include "serve/engine/answer_json.h"
#include "serve/engine/logprobs.h"
#include "serve/engine/score_memory.h"
#include "ask/kept.h"

#include <stdlib.h>
#include <string.h>

#define MAX_PIECE 8192 /* bytes of text one token can add, and what was held back before it */
#define MAX_TEXT ((size_t)4 << 20)
#define TELL_MS 100.0    /* between two words about the progress of a prompt */
#define PROMPT_SHARE 4.0 /* time of prompts for one of passes, while both want it */

typedef struct slot {
    s2_scheduler *scheduler;
    s2v_session *session;
    s2_inbox_job *from; /* NULL: free */
    s2_ask_job ask;
    bool is_read;    /* `ask` holds something */
    bool is_started; /* the prompt of wish[i_wish] is in the session */
    int32_t i_wish;
    uint64_t turn; /* when its prompt began to wait: the first is the next */
    s2v_stats stats;
    int32_t n_tokens;
    double first_ms; /* when its first token was asked for */
    double told_ms;  /* when the client last heard how far the prompt is */
    char piece[MAX_PIECE];
    s2_buffer text; /* of this answer, for comparisons */
    s2_logprobs logprobs;
    float *score; /* [n_scores] of the first picture */
    int32_t n_scores;
    uint8_t score_key[32];
    int32_t *kept[S2_SERVE_MAX_SETTINGS]; /* of the first picture, for the overlaps */
    int32_t n_kept[S2_SERVE_MAX_SETTINGS];
    double prompt_ms[S2_SERVE_MAX_SETTINGS];
} slot;

struct s2_scheduler {
    s2v_engine *engine;
    const s2_quick *quick;
    s2_inbox *inbox;
    s2_outbox *outbox;
    int32_t n_slots, n_vocab;
    slot *slot;
    uint64_t n_turns;
    double step_ms, stepped_ms; /* what the last pass took; when it was over */
    s2_work work;
    s2_score_memory scores;
};

/* --- sessions ------------------------------------------------------------------------- */

static s2p_status ready_session(s2_scheduler *s, slot *p, const s2v_session_options *options,
                                s2p_error *error)
{
    if (!p->session) return s2v_session_create(&p->session, s->engine, options, error);
    s2v_session_reset(p->session);
    return s2v_session_set_sampling(p->session, options, error);
}

/* --- ending ------------------------------------------------------------------------- */

static void clear_answer(slot *p)
{
    free(p->score);
    p->score = NULL;
    p->n_scores = p->n_tokens = 0;
    s2_logprobs_clear(&p->logprobs);
    p->text.size = 0;
    p->is_started = false;
}

static void free_slot(s2_scheduler *s, slot *p)
{
    clear_answer(p);
    s2_buffer_free(&p->text);
    for (int32_t i = 0; i < S2_SERVE_MAX_SETTINGS; i++) {
        free(p->kept[i]);
        p->kept[i] = NULL;
        p->n_kept[i] = 0;
        p->prompt_ms[i] = 0.0;
    }
    if (p->is_read) s2_ask_job_free(&p->ask);
    p->is_read = false;
    s2_inbox_release(s->inbox, p->from);
    p->from = NULL;
}

static void refuse(s2_scheduler *s, slot *p, s2p_status st, const s2p_error *error,
                   const char *param)
{
    const bool is_full = st == S2P_ELIMIT && p->is_read && p->session && !param;
    s2_refusal refusal = { .status = st,
                           .message = error->message[0] ? error->message : s2p_status_text(st),
                           .param = param,
                           .is_ours = st == S2P_ENOMEM || st == S2P_EIO };
    if (is_full) {
        refusal.n_ctx = s->quick->setup->session.n_ctx;
        refusal.n_prompt = p->stats.text_tokens + p->stats.image_tokens_full;
    }
    s2_outbox_refuse(s->outbox, p->from->request, &refusal);
    free_slot(s, p);
}

/* How much each pair of settings keeps in common, and how fast each was beside the slowest. */
static json_t *summary_of(const slot *p)
{
    json_t *overlap = json_array(), *ratio = json_array();
    double slowest = 0.0;
    for (int32_t i = 0; i < p->ask.n_wishes; i++)
        if (p->prompt_ms[i] > slowest) slowest = p->prompt_ms[i];
    for (int32_t i = 0; i < p->ask.n_wishes; i++) {
        json_t *row = json_array();
        for (int32_t k = 0; k < p->ask.n_wishes; k++) {
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
    return json_pack("{s:s,s:o,s:o}", "state", "summary", "iou", overlap, "prefill_speedup", ratio);
}

static json_t *event_of(const slot *p, const char *state)
{
    const s2_prune_wish *wish = &p->ask.wish[p->i_wish];
    char budget[S2A_BUDGET_TEXT];
    return json_pack(
        "{s:i,s:s,s:s,s:s}", "index", p->i_wish, "method", wish->setting.method, "budget",
        s2a_keeps_all(&wish->setting) ? "full" : s2a_budget_text(wish->setting.budget, budget),
        "state", state);
}

/* The last word on a job. */
static void send_done(s2_scheduler *s, slot *p, json_t *json)
{
    json_object_set_new(json, "work", s2_work_json(&s->work));
    s2_outbox_json(s->outbox, S2_FRAME_DONE, p->from->request, json);
    free_slot(s, p);
}

static void next_wish(s2_scheduler *s, slot *p)
{
    clear_answer(p);
    p->turn = ++s->n_turns;
    if (++p->i_wish < p->ask.n_wishes) return;
    send_done(s, p, summary_of(p));
}

static void remember_kept(slot *p)
{
    const s2p_plan *plan = s2v_session_plan(p->session, 0);
    int32_t n = 0;
    const int32_t *keep = plan ? s2p_plan_keep(plan, &n) : NULL;
    int32_t *copy = n > 0 ? malloc((size_t)n * sizeof *copy) : NULL;
    if (!copy) return;
    memcpy(copy, keep, (size_t)n * sizeof *copy);
    p->kept[p->i_wish] = copy;
    p->n_kept[p->i_wish] = n;
    p->prompt_ms[p->i_wish] = p->stats.prompt_ms;
}

static void finish(s2_scheduler *s, slot *p, bool is_stopped)
{
    const s2_told told = { .job = &p->ask,
                           .wish = &p->ask.wish[p->i_wish],
                           .session = p->session,
                           .stats = &p->stats,
                           .score = p->score,
                           .n_scores = p->n_scores,
                           .n_tokens = p->n_tokens,
                           .is_stopped = is_stopped,
                           .generate_ms = s2_now_ms() - p->first_ms };
    json_t *json = s2_told_json(&told);
    if (!p->ask.is_compare) {
        send_done(s, p, json);
        return;
    }
    json_t *event = event_of(p, "done");
    json_object_update(event, json);
    json_object_set_new(event, "answer",
                        json_stringn(p->text.data ? (const char *)p->text.data : "", p->text.size));
    json_decref(json);
    remember_kept(p);
    s2_outbox_json(s->outbox, S2_FRAME_EVENT, p->from->request, event);
    next_wish(s, p);
}

/* One setting of a comparison failed: the others go on. */
static void fail_wish(s2_scheduler *s, slot *p, s2p_status st, const s2p_error *error)
{
    if (!p->ask.is_compare || st == S2P_ECANCELLED) {
        refuse(s, p, st, error, NULL);
        return;
    }
    json_t *event = event_of(p, "error");
    json_object_set_new(event, "error", json_string(error->message));
    s2_outbox_json(s->outbox, S2_FRAME_EVENT, p->from->request, event);
    next_wish(s, p);
}

/* --- taking --------------------------------------------------------------------------- */

static void record_scores(const s2v_choice *choice, void *user)
{
    slot *p = user;
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
static void watch_scores(s2_scheduler *s, slot *p)
{
    const bool wants = p->ask.wish[p->i_wish].wants_scores && p->ask.n_pictures > 0;
    if (wants) {
        s2_score_key(&p->ask, p->score_key);
        p->score = s2_score_recall(&s->scores, p->score_key, &p->n_scores);
    }
    s2v_session_set_recorder(p->session, wants && !p->score ? record_scores : NULL, p);
}

static void take_job(s2_scheduler *s, slot *p, s2_inbox_job *job)
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
    if (st != S2P_OK) refuse(s, p, st, &error, param);
}

/* --- running -------------------------------------------------------------------------- */

/* is_end: the model has no more to say, or may not. */
static void say(s2_scheduler *s, slot *p, const char *text, bool is_end)
{
    const size_t n = strlen(text);
    if (p->ask.n_top >= 0) {
        json_t *tokens = s2_logprobs_shown(&p->logprobs, n, is_end);
        if (n > 0 || json_array_size(tokens) > 0)
            s2_outbox_json(s->outbox, S2_FRAME_TOKENS, p->from->request,
                           json_pack("{s:s,s:O}", "text", text, "tokens", tokens));
        json_decref(tokens);
    } else if (p->ask.is_compare) {
        s2_buffer_append(&p->text, text, n);
    } else if (n > 0) {
        s2_outbox_bytes(s->outbox, S2_FRAME_TEXT, p->from->request, text, n);
    }
}

/* How likely the token just picked was. One that ends the answer is no part of it: true. */
static bool note_token(s2_scheduler *s, slot *p)
{
    size_t n;
    const int32_t *token = s2v_session_tokens(p->session, &n);
    const s2_logits logits = { .logit = s2v_session_logits(p->session),
                               .n = s->n_vocab,
                               .tokenizer = s->quick->tokenizer };
    if (p->ask.n_top < 0 || n == 0) return false;
    if (s2v_tokenizer_ends(logits.tokenizer, token[n - 1]) && !p->ask.sampling.ignore_eos)
        return true;
    s2_logprobs_add(&p->logprobs, &logits, token[n - 1], p->ask.n_top);
    return false;
}

static void say_rest(s2_scheduler *s, slot *p)
{
    char text[MAX_PIECE];
    s2v_session_rest(p->session, text, sizeof text);
    say(s, p, text, true);
}

/* After a token was tried for: text, and whether the answer ends with it. */
static void heed(s2_scheduler *s, slot *p, s2p_status st, const char *text, bool is_done,
                 const s2p_error *error)
{
    const bool is_full = st == S2P_ELIMIT && p->n_tokens > 0; /* what is said is said */
    if (st != S2P_OK && !is_full) {
        fail_wish(s, p, st, error);
        return;
    }
    if (st == S2P_OK) {
        p->n_tokens++;
        const bool is_end = note_token(s, p);
        say(s, p, text, is_end);
    }
    if (is_done) {
        finish(s, p, true);
    } else if (is_full || (p->ask.n_predict >= 0 && p->n_tokens >= p->ask.n_predict)) {
        say_rest(s, p);
        finish(s, p, false);
    }
}

/* One token for each session that answers, all with one pass over the weights. */
static void step_all(s2_scheduler *s, const slot *except)
{
    s2v_step step[S2_SERVE_MAX_PARALLEL];
    slot *of[S2_SERVE_MAX_PARALLEL];
    size_t n = 0;
    for (int32_t i = 0; i < s->n_slots; i++) {
        slot *p = &s->slot[i];
        if (!p->from || !p->is_started || p == except) continue;
        of[n] = p;
        step[n++] = (s2v_step){ .session = p->session, .text = p->piece, .capacity = MAX_PIECE };
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

static void drop_cancelled(s2_scheduler *s, const slot *except)
{
    const s2p_error error = { S2P_ECANCELLED, "the client is gone" };
    for (int32_t i = 0; i < s->n_slots; i++) {
        slot *p = &s->slot[i];
        if (p != except && p->from && atomic_load(&p->from->is_cancelled))
            refuse(s, p, S2P_ECANCELLED, &error, NULL);
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

static void tell_progress(s2_scheduler *s, slot *p, const char *step, double done)
{
    const char *stage = strcmp(step, "picture") == 0 ? "decode"
                        : strcmp(step, "tower") == 0 ? "vision"
                                                     : "prefill";
    if (!p->ask.wants_progress && !p->ask.is_compare) return;
    if (s2_now_ms() - p->told_ms < TELL_MS) return;
    p->told_ms = s2_now_ms();
    json_t *event = p->ask.is_compare ? event_of(p, "running") : json_object();
    if (p->ask.is_compare) json_object_set_new(event, "progress", json_real(done));
    json_object_set_new(event, "prompt_progress",
                        json_pack("{s:s,s:f,s:i}", "stage", stage, "done", done, "total", 1));
    s2_outbox_json(s->outbox, S2_FRAME_EVENT, p->from->request, event);
}

/* A long prompt does not stop the others: between two of its graphs it is seen whose turn it is. */
static int between_graphs(const char *step, double done, void *user)
{
    slot *p = user;
    s2_scheduler *s = p->scheduler;
    if (atomic_load(&p->from->is_cancelled)) return 1;
    tell_progress(s, p, step, done);
    do_quick(s);
    drop_cancelled(s, p);
    if (is_due(s)) step_all(s, p);
    return 0;
}

static s2p_status start_wish(s2_scheduler *s, slot *p, s2p_error *error)
{
    const s2_ask_job *ask = &p->ask;
    const s2_prune_wish *wish = &ask->wish[p->i_wish];
    s2v_session_options sampling = ask->sampling;
    if (wish->keep) sampling.no_cache = 1;
    TRY(ready_session(s, p, &sampling, error));
    s2v_session_set_progress(p->session, between_graphs, p);
    p->told_ms = s2_now_ms();
    watch_scores(s, p);
    const s2v_prune_options prune = s2_ask_job_prune(ask, wish);
    const s2v_prompt prompt = s2_ask_job_prompt(ask);
    p->stats = (s2v_stats){ .n_stages = 0 };
    const s2p_status st = s2v_session_prefill(p->session, &prompt, &prune, &p->stats, error);
    s->work.towers += (uint64_t)p->stats.tower_runs;
    TRY(st);
    const int32_t n_ctx = ask->sampling.n_ctx;
    /* of others it was known before */
    if (prune.published && ask->has_predict && p->stats.prompt_tokens + ask->n_predict > n_ctx)
        return s2_fail(
            error, S2P_ELIMIT,
            "%d tokens of the prompt and %d to be generated are more than the context of "
            "%d",
            p->stats.prompt_tokens, ask->n_predict, n_ctx);
    p->first_ms = s2_now_ms();
    p->is_started = true;
    return S2P_OK;
}

/* What was kept is known before the first word: whoever watches may draw it. */
static void tell_kept(s2_scheduler *s, const slot *p)
{
    if (!p->ask.wants_progress || p->ask.is_compare || p->ask.n_pictures == 0) return;
    const s2_told told = { .job = &p->ask,
                           .wish = &p->ask.wish[p->i_wish],
                           .session = p->session,
                           .stats = &p->stats,
                           .score = p->score,
                           .n_scores = p->n_scores };
    json_t *json = s2_told_json(&told), *prune = json_incref(json_object_get(json, "prune"));
    json_decref(json);
    s2_outbox_json(s->outbox, S2_FRAME_EVENT, p->from->request, json_pack("{s:o}", "prune", prune));
}

static void start(s2_scheduler *s, slot *p)
{
    s2p_error error = { S2P_OK, "" };
    if (p->ask.is_compare)
        s2_outbox_json(s->outbox, S2_FRAME_EVENT, p->from->request, event_of(p, "running"));
    const s2p_status st = start_wish(s, p, &error);
    if (st != S2P_OK)
        fail_wish(s, p, st, &error);
    else if (p->ask.n_predict == 0)
        finish(s, p, false);
    else
        tell_kept(s, p);
}

/* Whose prompt waits longest; NULL: none does. */
static slot *next_one(s2_scheduler *s)
{
    slot *next = NULL;
    for (int32_t i = 0; i < s->n_slots; i++) {
        slot *p = &s->slot[i];
        if (p->from && !p->is_started && (!next || p->turn < next->turn)) next = p;
    }
    return next;
}

static slot *free_one(s2_scheduler *s)
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
        slot *p = free_one(s);
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
        drop_cancelled(s, NULL);
        slot *next = next_one(s);
        if (next) start(s, next);
        if (!next || is_due(s)) step_all(s, NULL);
    }
}

s2p_status s2_scheduler_create(s2_scheduler **out, s2v_engine *engine, const s2_quick *quick,
                               s2_inbox *inbox, s2p_error *error)
{
    *out = NULL;
    s2_scheduler *s = calloc(1, sizeof *s);
    if (!s) return s2_fail_memory(error, sizeof *s, "the sessions");
    *s = (s2_scheduler){ .engine = engine,
                         .quick = quick,
                         .inbox = inbox,
                         .outbox = quick->outbox,
                         .n_slots = quick->setup->n_parallel };
    s2v_engine_info info;
    s2v_engine_get_info(engine, &info);
    s->n_vocab = info.n_vocab;
    s->slot = calloc((size_t)s->n_slots, sizeof *s->slot);
    for (int32_t i = 0; s->slot && i < s->n_slots; i++) s->slot[i].scheduler = s;
    const s2p_status st = s->slot ? ready_session(s, &s->slot[0], &quick->setup->session, error)
                                  : s2_fail_memory(error, sizeof *s->slot, "the sessions");
    if (st != S2P_OK) {
        s2_scheduler_free(s);
        return st;
    }
    *out = s;
    return S2P_OK;
}

void s2_scheduler_free(s2_scheduler *s)
{
    if (!s) return;
    for (int32_t i = 0; s->slot && i < s->n_slots; i++) s2v_session_free(s->slot[i].session);
    s2_score_memory_free(&s->scores);
    free(s->slot);
    free(s);
}
