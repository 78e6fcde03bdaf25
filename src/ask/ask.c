/* ask.c - prefill, generate, and keep what the session forgets with the next prompt.
 *
 * With several budgets this is repeated while the confidence is too low. Text is released only when the
 * answer is known to be final, so that a listener never receives two answers.
 */
#include "ask/ask.h"

#include "ask/own.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "ask/thought_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ANSWER ((size_t)64 << 20)

/* --- generating ----------------------------------------------------------------------------- */

static void fail(s2a_generation *g, s2p_status status)
{
    g->ending = S2A_FAILED;
    g->status = status;
}

/* The logarithm of the probability of `token`, and of the likeliest other one below it: its distance. */
static double log_probability(const float *logit, int32_t n, int32_t token, double *gap)
{
    double largest = -INFINITY, sum = 0.0, rival = -INFINITY;
    for (int32_t i = 0; i < n; i++) {
        if (logit[i] > largest) largest = logit[i];
        if (i != token && logit[i] > rival) rival = logit[i];
    }
    for (int32_t i = 0; i < n; i++) sum += exp((double)logit[i] - largest);
    if (gap) *gap = logit[token] - rival;
    return (double)logit[token] - largest - log(sum);
}

static void measure(s2a_generation *g)
{
    size_t n;
    const int32_t *token = s2v_session_tokens(g->session, &n);
    if (g->n_vocab < 1 || n < 1 || n > S2A_CONFIDENCE_TOKENS) return;
    const float *logit = s2v_session_logits(g->session);
    const double p = exp(log_probability(logit, g->n_vocab, token[n - 1], NULL));
    if (p < g->confidence) g->confidence = p;
}

/* Once the answer is long enough, or over. false: it does not count. */
static bool decide(s2a_generation *g)
{
    if (g->confidence < g->min_confidence) {
        g->ending = S2A_UNSURE;
        return false;
    }
    g->min_confidence = 0.0;
    return true;
}

/* The answer ends before the model does: text that was held back belongs to it. */
static void end_by_length(s2a_generation *g)
{
    g->ending = S2A_LENGTH;
    s2v_session_get_rest(g->session, g->piece, sizeof g->piece);
    const s2p_status st = g->receive(g, g->piece, true, &g->error);
    if (st != S2P_OK) fail(g, st);
}

void s2a_generation_start(s2a_generation *g)
{
    g->n_tokens = 0;
    g->confidence = 1.0;
    g->ending = S2A_RUNNING;
    g->status = S2P_OK;
    g->error = (s2p_error){ S2P_OK, "" };
    if (g->max_tokens != 0) return;
    g->min_confidence = 0.0;
    end_by_length(g);
}

void s2a_generate(s2a_generation *const *answers, size_t n)
{
    s2v_step step[64];
    s2p_error error = { S2P_OK, "" };
    for (size_t i = 0; i < n; i++)
        step[i] = (s2v_step){ .session = answers[i]->session,
                              .text = answers[i]->piece,
                              .capacity = sizeof answers[i]->piece };
    const s2p_status pass = s2v_decode_many(step, n, &error);
    for (size_t i = 0; i < n; i++) {
        s2a_generation *g = answers[i];
        s2p_status st = pass != S2P_OK ? pass : step[i].status;
        if (st == S2P_ELIMIT && g->n_tokens > 0) { /* the context is full: the answer ends here */
            g->min_confidence = 0.0; /* more tokens of a picture would not fit either */
            end_by_length(g);
            continue;
        }
        if (st != S2P_OK) {
            g->error = pass != S2P_OK ? error : step[i].error;
            fail(g, st);
            continue;
        }
        g->n_tokens++;
        measure(g);
        if (step[i].done) g->ending = S2A_STOPPED;
        const bool is_last = step[i].done || g->n_tokens >= S2A_CONFIDENCE_TOKENS ||
                             (g->max_tokens >= 0 && g->n_tokens >= g->max_tokens);
        if (g->min_confidence > 0.0 && is_last && !decide(g)) continue;
        st = g->receive(g, g->piece, false, &g->error);
        if (st == S2P_OK && g->min_confidence > 0.0 && g->ending == S2A_STOPPED) {
            if (!decide(g)) continue;
            st = g->receive(g, "", true, &g->error); /* what was held back may go */
        }
        if (st != S2P_OK)
            fail(g, st);
        else if (g->ending == S2A_RUNNING && g->max_tokens >= 0 && g->n_tokens >= g->max_tokens)
            end_by_length(g);
    }
}

/* --- one question --------------------------------------------------------------------------- */

s2v_prune_options s2a_prune_options(const s2a_setting *setting, const s2a_limits *limits)
{
    s2v_prune_options prune;
    s2v_prune_options_init(&prune);
    prune.method = setting->own_method ? NULL : setting->method;
    prune.budget = s2a_budget_step(setting->budget, 0);
    prune.published = setting->published;
    prune.choice = setting->choice;
    prune.parameters = &setting->parameters;
    prune.own_method = setting->own_method;
    prune.after = setting->has_after ? &setting->after : NULL;
    prune.renumber =
        setting->is_renumbered && !s2p_method_about(s2a_setting_method(setting))->keeps_all;
    prune.image_budget = limits->image_budget;
    prune.image_side = limits->image_side;
    return prune;
}

/* Tokens a step keeps of a grid, or of the two of a picture that is also seen in tiles. */
static int32_t kept_of_picture(const s2v_session *session, int32_t i, s2a_budget step)
{
    int32_t n = 0;
    const s2p_plan *plan[2] = { s2v_session_plan(session, i), s2v_session_tile_plan(session, i) };
    for (int k = 0; k < 2; k++) {
        const s2p_grid grid = plan[k] ? s2p_plan_layout(plan[k]).grid : (s2p_grid){ 0, 0 };
        n += grid.rows * grid.cols;
    }
    const int32_t kept = s2a_budget_tokens(step, n);
    return kept < n ? kept : n;
}

static int64_t kept_of_all(const s2v_session *session, const s2a_setting *setting, int32_t step)
{
    const s2a_budget budget = s2a_budget_single(setting->budget, step);
    int64_t n = 0;
    for (int32_t i = 0; s2v_session_plan(session, i); i++) n += kept_of_picture(session, i, budget);
    return n;
}

int32_t s2a_next_step(const s2v_session *session, const s2a_setting *setting, int32_t step)
{
    /* the grid of a smaller picture does not say what a larger one would have */
    if (s2p_method_about(s2a_setting_method(setting))->resizes) return step + 1;
    const int64_t n_kept = kept_of_all(session, setting, step);
    do step++;
    while (step <= setting->budget.n_more && kept_of_all(session, setting, step) <= n_kept);
    return step;
}

void s2a_attempts_end(s2a_attempts *attempts, s2v_budget budget, double confidence,
                      double generate_ms, s2v_stats *stats)
{
    s2v_stats *paid = &attempts->paid;
    const s2a_attempt own = { .budget = budget,
                              .image_tokens = stats->image_tokens,
                              .prompt_tokens = stats->prompt_tokens,
                              .confidence = confidence,
                              .ms = stats->prompt_ms + generate_ms,
                              .flops = stats->flops };
    if (attempts->n > 0) {
        attempts->earlier_ms += attempts->list[attempts->n - 1].ms;
        stats->image_ms += paid->image_ms;
        stats->vision_ms += paid->vision_ms;
        stats->tower_runs += paid->tower_runs;
        stats->flops += paid->flops;
        stats->saved_ms =
            paid->saved_ms; /* what the attempts save each other was not there before */
    }
    attempts->list[attempts->n++] = own;
    *paid = *stats;
}

typedef struct asking { /* what `receive` of s2a_ask works on */
    const s2a_limits *limits;
    const s2a_listener *listener;
    s2_buffer text, thoughts;
    s2v_thought_text split;
    size_t n_heard, n_known; /* bytes of both the listener has */
    size_t *length; /* [n_tokens + 1] bytes of text after so many tokens; NULL: no ends_after */
    int32_t n_remaining; /* tokens that ends_after left; below 0: all */
    s2_buffer logprobs;  /* floats */
} asking;

static void keep_logprob(s2a_generation *g, asking *a)
{
    size_t n;
    double gap;
    const int32_t *token = s2v_session_tokens(g->session, &n);
    const double logprob =
        log_probability(s2v_session_logits(g->session), a->limits->n_vocab, token[n - 1], &gap);
    const float pair[2] = { (float)logprob, (float)gap };
    s2_buffer_append(&a->logprobs, pair, sizeof pair);
}

/* The listener's share of a text that grows. */
static s2p_status tell(asking *a, const s2_buffer *text, size_t *n_told,
                       s2p_status (*receive)(const char *, size_t, void *, s2p_error *),
                       s2p_error *error)
{
    const size_t n_new = text->size - *n_told;
    if (n_new == 0 || !receive) return S2P_OK;
    const char *from = (const char *)text->data + *n_told;
    *n_told = text->size;
    return receive(from, n_new, a->listener->user, error);
}

static s2p_status receive(s2a_generation *g, const char *piece, bool is_rest, s2p_error *error)
{
    asking *a = g->user;
    const s2a_limits *limits = a->limits;
    s2v_thought_text_feed(&a->split, piece, strlen(piece), &a->thoughts, &a->text);
    if (is_rest || g->ending != S2A_RUNNING) s2v_thought_text_end(&a->split, &a->thoughts);
    s2_buffer_append(&a->text, "", 1); /* ends_after reads a string */
    if (a->text.status != S2P_OK || a->thoughts.status != S2P_OK)
        return s2_fail(error, a->text.status != S2P_OK ? a->text.status : a->thoughts.status,
                       "the answer is longer than %zu bytes", MAX_ANSWER);
    a->text.size--;
    if (!is_rest && limits->wants_logprobs) keep_logprob(g, a);
    if (a->listener && g->min_confidence == 0.0) {
        TRY(tell(a, &a->thoughts, &a->n_known, a->listener->think, error));
        TRY(tell(a, &a->text, &a->n_heard, a->listener->receive, error));
    }
    if (is_rest || !a->length) return S2P_OK;
    a->length[g->n_tokens] = a->text.size;
    if (g->ending != S2A_RUNNING) return S2P_OK;
    size_t n_tokens;
    const int32_t *token = s2v_session_tokens(g->session, &n_tokens);
    const int32_t left =
        limits->ends_after(token, (int32_t)n_tokens, (const char *)a->text.data, limits->user);
    if (left < 0 || left > (int32_t)n_tokens) return S2P_OK;
    a->text.size = a->length[left];
    if (a->n_heard > a->text.size) a->n_heard = a->text.size;
    a->n_remaining = left;
    g->ending = S2A_STOPPED;
    return S2P_OK;
}

/* A copy of what was kept of one grid: the plan is the session's and changes with the next prompt. */
static s2p_status keep_part(const s2p_plan *plan, int32_t picture, bool is_tiles,
                            s2a_answer *answer, s2p_error *error)
{
    if (!plan) return S2P_OK;
    int32_t n_keep;
    const int32_t *keep = s2p_plan_keep(plan, &n_keep);
    const s2p_layout layout = s2p_plan_layout(plan);
    int32_t *copy = malloc((size_t)(n_keep > 0 ? n_keep : 1) * sizeof *copy);
    if (!copy) return s2_fail_memory(error, (size_t)n_keep * sizeof *copy, "the kept tokens");
    memcpy(copy, keep, (size_t)n_keep * sizeof *copy);
    s2a_part *part = &answer->part[answer->n_parts++];
    *part = (s2a_part){ .grid = layout.grid,
                        .picture = picture,
                        .is_tiles = is_tiles,
                        .side = layout.side,
                        .keep = copy,
                        .n_keep = n_keep };
    const size_t n = (size_t)layout.side * (size_t)layout.side;
    if (n == 0 || !layout.share) return S2P_OK;
    part->share = malloc(n * (sizeof *part->share + 2 * sizeof *part->raw));
    if (!part->share) return s2_fail_memory(error, n * 12, "the regions");
    part->raw = (float *)(part->share + n);
    part->score = part->raw + n;
    memcpy(part->share, layout.share, n * sizeof *part->share);
    memcpy(part->raw, layout.raw, n * sizeof *part->raw);
    memcpy(part->score, layout.score, n * sizeof *part->score);
    return S2P_OK;
}

/* The text moves over; tokens and plans are copied. */
static s2p_status keep_result(s2v_session *session, int32_t n_pictures, asking *a,
                              s2a_answer *answer, s2p_error *error)
{
    size_t n;
    const int32_t *tokens = s2v_session_tokens(session, &n);
    s2_buffer_append(&a->text, "", 1);
    if (a->text.status != S2P_OK) return s2_fail(error, a->text.status, "no memory for the answer");
    answer->text = (char *)a->text.data;
    a->text.data = NULL;
    if (a->split.has_thoughts) {
        s2_buffer_append(&a->thoughts, "", 1);
        if (a->thoughts.status != S2P_OK)
            return s2_fail(error, a->thoughts.status, "no memory for the thoughts");
        answer->thoughts = (char *)a->thoughts.data;
        a->thoughts.data = NULL;
    }
    answer->part = calloc((size_t)n_pictures * 2 + 1, sizeof *answer->part);
    answer->token = malloc((n + 1) * sizeof *answer->token);
    if (!answer->part || !answer->token)
        return s2_fail_memory(error, (n + 1) * sizeof *answer->token, "the answer");
    if (n > 0) memcpy(answer->token, tokens, n * sizeof *tokens);
    answer->n_tokens = a->n_remaining >= 0 ? a->n_remaining : (int32_t)n;
    if (a->limits->wants_logprobs && a->logprobs.status == S2P_OK &&
        a->logprobs.size >= (size_t)answer->n_tokens * 2 * sizeof *answer->logprob) {
        answer->logprob = (float *)(void *)a->logprobs.data;
        a->logprobs.data = NULL;
    }
    for (int32_t i = 0; i < n_pictures; i++) {
        TRY(keep_part(s2v_session_plan(session, i), i, false, answer, error));
        TRY(keep_part(s2v_session_tile_plan(session, i), i, true, answer, error));
    }
    return S2P_OK;
}

/* The last position of the prompt: generation overwrites it. */
static s2p_status keep_logits(const s2v_session *session, int32_t n, s2a_answer *answer,
                              s2p_error *error)
{
    const size_t n_bytes = (size_t)n * sizeof *answer->logits;
    free(answer->logits);
    answer->logits = malloc(n_bytes);
    if (!answer->logits) return s2_fail_memory(error, n_bytes, "the logits");
    memcpy(answer->logits, s2v_session_logits(session), n_bytes);
    return S2P_OK;
}

static s2p_status generate(s2v_session *session, s2a_generation *g, asking *a, s2a_answer *answer,
                           s2p_error *error)
{
    const double start = s2_now_ms();
    g->session = session;
    g->max_tokens = a->limits->n_tokens;
    g->receive = receive;
    g->user = a;
    s2a_generation_start(g);
    while (g->ending == S2A_RUNNING) s2a_generate(&g, 1);
    answer->generate_ms = s2_now_ms() - start;
    answer->is_stopped = g->ending == S2A_STOPPED;
    if (g->ending != S2A_FAILED) return S2P_OK;
    if (error) *error = g->error;
    return g->status;
}

/* All attempts. The answer's figures are those of the last, and of all where they were paid once. */
static s2p_status ask_all(s2v_session *session, const s2v_prompt *prompt,
                          const s2a_setting *setting, s2a_generation *g, asking *a,
                          s2a_answer *answer, s2p_error *error)
{
    const s2a_limits *limits = a->limits;
    const bool has_steps = prompt->n_images > 0 && !s2a_keeps_all(setting);
    const int32_t last = has_steps ? setting->budget.n_more : 0;
    int32_t step = s2v_session_length(session) > 0 ? last : 0;
    s2v_stats *s = &answer->stats;
    if (last > 0 && limits->n_vocab < 1)
        return s2_fail(error, S2P_EINVAL, "several budgets need the size of the vocabulary");
    for (;;) {
        s2v_prune_options prune = s2a_prune_options(setting, limits);
        prune.budget = s2a_budget_step(setting->budget, step);
        a->text.size = a->n_heard = a->logprobs.size = a->thoughts.size = a->n_known = 0;
        a->n_remaining = -1;
        if (setting->own) s2a_own_begin(setting->own, limits->sample);
        TRY(s2v_session_prefill(session, prompt, &prune, s, error));
        s2v_thought_text_free(&a->split);
        s2v_thought_text_init(&a->split, s2v_session_thinks(session));
        if (limits->n_logits > 0) TRY(keep_logits(session, limits->n_logits, answer, error));
        const int32_t next = last > 0 ? s2a_next_step(session, setting, step) : 1;
        g->n_vocab = last > 0 ? limits->n_vocab : 0;
        g->min_confidence = next <= last ? s2a_min_confidence(setting) : 0.0;
        TRY(generate(session, g, a, answer, error));
        if (last > 0)
            s2a_attempts_end(&answer->attempts, prune.budget, g->confidence, answer->generate_ms,
                             s);
        if (g->ending != S2A_UNSURE) return S2P_OK;
        step = next;
        s2v_session_reset(session);
    }
}

s2p_status s2a_ask(s2v_session *session, const s2v_prompt *prompt, const s2a_setting *setting,
                   const s2a_limits *limits, const s2a_listener *listener, s2a_answer *answer,
                   s2p_error *error)
{
    asking a = { .limits = limits, .listener = listener, .n_remaining = -1 };
    s2a_generation *const g = malloc(sizeof *g);
    s2_buffer_init(&a.text, MAX_ANSWER);
    s2_buffer_init(&a.thoughts, MAX_ANSWER);
    s2v_thought_text_init(&a.split, false);
    s2_buffer_init(&a.logprobs, MAX_ANSWER);
    *answer = (s2a_answer){ .text = NULL };
    if (limits->ends_after) a.length = calloc((size_t)limits->n_tokens + 1, sizeof *a.length);
    s2p_status st = g && (a.length || !limits->ends_after)
                        ? ask_all(session, prompt, setting, g, &a, answer, error)
                        : s2_fail_memory(error, sizeof *g, "the answer");
    if (st == S2P_OK) st = keep_result(session, prompt->n_images, &a, answer, error);
    free(a.length);
    free(g);
    s2_buffer_free(&a.logprobs);
    s2v_thought_text_free(&a.split);
    s2_buffer_free(&a.thoughts);
    s2_buffer_free(&a.text);
    if (st != S2P_OK) s2a_answer_free(answer);
    return st;
}

void s2a_answer_free(s2a_answer *answer)
{
    for (int32_t p = 0; p < answer->n_parts; p++) {
        free(answer->part[p].keep);
        free(answer->part[p].share);
    }
    free(answer->part);
    free(answer->text);
    free(answer->thoughts);
    free(answer->token);
    free(answer->logits);
    free(answer->logprob);
    *answer = (s2a_answer){ .text = NULL };
}

double s2a_tokens_per_second(const s2a_answer *answer)
{
    if (answer->n_tokens < 2 || !(answer->generate_ms > 0.0)) return 0.0;
    return 1e3 * (answer->n_tokens - 1) / answer->generate_ms;
}
