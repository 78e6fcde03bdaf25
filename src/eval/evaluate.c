/* evaluate.c - the loop: picture, setting, seed, question. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */

#include "eval/evaluate.h"

#include "image/image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_ANSWER 4096

typedef struct inquiry { /* what stays the same from one question to the next */
    s2v_session *session;
    const s2e_task *task;
    const s2e_set *set;
    const s2e_watch *watch;
    int32_t predict;
    s2_image picture;
    s2p_error *error;
} inquiry;

static double now_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static s2p_status generate(inquiry *q, char answer[MAX_ANSWER])
{
    int done = 0;
    size_t n = 0;
    answer[0] = '\0';
    for (int32_t i = 0; i < q->predict && !done; i++) {
        const s2p_status st =
            s2v_session_next(q->session, answer + n, MAX_ANSWER - n, &done, q->error);
        if (st != S2P_OK) return st;
        n += strlen(answer + n);
    }
    return S2P_OK;
}

/* Another seed of the same number draws other tokens of another picture. */
static uint64_t seed_of(int32_t seed, int32_t picture)
{
    return ((uint64_t)(uint32_t)seed << 32) | (uint32_t)picture;
}

static s2p_status ask(inquiry *q, s2e_result *result, int32_t seed, int32_t index)
{
    const s2e_question *question = &q->set->question[index];
    const s2v_message message = { .role = S2V_USER, .text = question->text, .n_images = 1 };
    const s2v_image_options whole = { .framing =
                                          S2V_FRAMING_BASE }; /* the same tokens for every method */
    const s2v_prompt prompt = { .messages = &message,
                                .n_messages = 1,
                                .images = &q->picture.view,
                                .n_images = 1,
                                .image_options = &whole };
    s2v_prune_options prune;
    s2v_prune_options_init(&prune);
    prune.method = result->setting.method;
    prune.budget = result->setting.budget > 0 ? result->setting.budget : S2P_MAX_TOKENS;
    prune.budget_percent = result->setting.percent;
    prune.published = result->setting.published;
    prune.choice.seed = seed_of(seed, question->picture);

    char answer[MAX_ANSWER];
    s2v_stats stats;
    s2v_session_reset(q->session);
    s2p_status st = s2v_session_prefill(q->session, &prompt, &prune, &stats, q->error);
    if (st == S2P_OK) st = generate(q, answer);
    if (st != S2P_OK) return st;
    const float score = q->task->score(question, answer);
    const double share = 1.0 / ((double)result->setting.n_seeds * q->set->n_questions);
    result->score[index] += score / (float)result->setting.n_seeds;
    result->prompt_ms += share * stats.prompt_ms;
    result->image_tokens += share * stats.image_tokens;
    result->kv_bytes += share * (double)stats.kv_visual_bytes;
    if (!q->watch || !q->watch->answered) return S2P_OK;
    const s2e_answer note = { &result->setting, seed, index, answer, score };
    return q->watch->answered(&note, q->watch->user);
}

/* Questions [first, last) are about the picture. */
static s2p_status ask_about(inquiry *q, s2e_result *result, int32_t n, int32_t first, int32_t last)
{
    char path[8192];
    (void)snprintf(path, sizeof path, "%.4000s/%.4000s", q->set->folder,
                   q->set->picture[q->set->question[first].picture].file);
    s2p_status st = s2_image_load(path, S2_PIXELS_REFERENCE, NULL, &q->picture, q->error);
    if (st != S2P_OK) return st;
    for (int32_t r = 0; r < n && st == S2P_OK; r++) {
        const double start = now_seconds();
        for (int32_t seed = 0; seed < result[r].setting.n_seeds && st == S2P_OK; seed++)
            for (int32_t i = first; i < last && st == S2P_OK; i++) st = ask(q, &result[r], seed, i);
        result[r].seconds += now_seconds() - start;
    }
    s2_image_free(&q->picture);
    return st;
}

static s2p_status ask_all(inquiry *q, s2e_result *result, int32_t n)
{
    const s2e_set *set = q->set;
    s2p_status st = S2P_OK;
    for (int32_t first = 0, last; first < set->n_questions && st == S2P_OK; first = last) {
        last = first + 1;
        while (last < set->n_questions &&
               set->question[last].picture == set->question[first].picture)
            last++;
        st = ask_about(q, result, n, first, last);
        if (q->watch && q->watch->progress)
            q->watch->progress(set->question[first].picture + 1, q->watch->user);
    }
    return st;
}

void s2e_results_free(s2e_result *result, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        free(result[i].score);
        result[i].score = NULL;
    }
}

s2p_status s2e_evaluate(s2v_engine *engine, const s2e_task *task, const s2e_set *set,
                        const s2e_setting *setting, int32_t n, int32_t predict,
                        const s2e_watch *watch, s2e_result *result, s2p_error *error)
{
    s2p_status st = S2P_OK;
    for (int32_t i = 0; i < n; i++) {
        result[i] = (s2e_result){ .setting = setting[i] };
        result[i].score = calloc((size_t)set->n_questions, sizeof *result[i].score);
        if (!result[i].score)
            st = s2_fail_memory(error, (size_t)set->n_questions * sizeof(float), "the scores");
    }
    inquiry q = { .task = task, .set = set, .watch = watch, .predict = predict, .error = error };
    s2v_session_options options;
    s2v_session_options_init(&options);
    options.keep_picture = 1;
    if (st == S2P_OK) st = s2v_session_create(&q.session, engine, &options, error);
    if (st == S2P_OK) st = ask_all(&q, result, n);
    s2v_session_free(q.session);
    if (st != S2P_OK) s2e_results_free(result, n);
    return st;
}
