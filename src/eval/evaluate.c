/* evaluate.c - the loop: picture, setting, seed, question. */
#include "eval/evaluate.h"

#include "base/clock.h"
#include "image/image.h"

#include <stdio.h>
#include <stdlib.h>

/* Another seed of the same number draws other tokens of another picture. */
static uint64_t seed_of(int32_t seed, int32_t picture)
{
    return ((uint64_t)(uint32_t)seed << 32) | (uint32_t)picture;
}

static s2p_status ask(const s2e_job *job, const s2p_image *picture, s2e_result *result,
                      int32_t seed, int32_t index, s2p_error *error)
{
    const s2e_question *question = &job->set->question[index];
    const s2v_message message = { .role = S2V_USER, .text = question->text, .n_images = 1 };
    const s2v_prompt prompt = { .messages = &message,
                                .n_messages = 1,
                                .images = picture,
                                .n_images = 1,
                                .image_options = job->image_options };
    s2a_setting setting = result->setting;
    setting.choice.seed = seed_of(seed, question->picture);
    s2a_answer answer;
    s2v_session_reset(job->session);
    TRY(s2a_ask(job->session, &prompt, &setting, &(s2a_limits){ .n_tokens = job->predict }, NULL,
                &answer, error));
    const float score = job->task->score(question, answer.text);
    const double share = 1.0 / ((double)result->n_seeds * job->set->n_questions);
    result->score[index] += score / (float)result->n_seeds;
    result->prompt_ms += share * answer.stats.prompt_ms;
    result->image_tokens += share * answer.stats.image_tokens;
    result->kv_bytes += share * (double)answer.stats.kv_visual_bytes;
    const s2e_answer note = { &result->setting, seed, index, answer.text, score };
    s2p_status st = S2P_OK;
    if (job->watch && job->watch->answered) st = job->watch->answered(&note, job->watch->user);
    s2a_answer_free(&answer);
    return st;
}

/* Questions [first, last) are about one picture. */
static s2p_status ask_about(const s2e_job *job, s2e_result *result, int32_t first, int32_t last,
                            s2p_error *error)
{
    const s2e_set *set = job->set;
    char path[8192];
    s2_image picture;
    (void)snprintf(path, sizeof path, "%.4000s/%.4000s", set->folder,
                   set->picture[set->question[first].picture].file);
    TRY(s2_image_load(path, S2_PIXELS_REFERENCE, NULL, &picture, error));
    s2p_status st = S2P_OK;
    for (int32_t r = 0; r < job->n_settings && st == S2P_OK; r++) {
        const double start = s2_now_ms();
        for (int32_t seed = 0; seed < result[r].n_seeds && st == S2P_OK; seed++)
            for (int32_t i = first; i < last && st == S2P_OK; i++)
                st = ask(job, &picture.view, &result[r], seed, i, error);
        result[r].seconds += 1e-3 * (s2_now_ms() - start);
    }
    s2_image_free(&picture);
    return st;
}

void s2e_results_free(s2e_result *result, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        free(result[i].score);
        result[i].score = NULL;
    }
}

s2p_status s2e_evaluate(const s2e_job *job, s2e_result *result, s2p_error *error)
{
    const s2e_set *set = job->set;
    s2p_status st = S2P_OK;
    for (int32_t i = 0; i < job->n_settings; i++) {
        const s2a_setting *setting = &job->setting[i];
        result[i] =
            (s2e_result){ .setting = *setting, .n_seeds = s2a_draws(setting) ? job->n_seeds : 1 };
        result[i].score = calloc((size_t)set->n_questions, sizeof *result[i].score);
        if (!result[i].score)
            st = s2_fail_memory(error, (size_t)set->n_questions * sizeof(float), "the scores");
    }
    for (int32_t first = 0, last; first < set->n_questions && st == S2P_OK; first = last) {
        const int32_t picture = set->question[first].picture;
        for (last = first + 1; last < set->n_questions; last++)
            if (set->question[last].picture != picture) break;
        st = ask_about(job, result, first, last, error);
        if (job->watch && job->watch->progress) job->watch->progress(picture + 1, job->watch->user);
    }
    if (st != S2P_OK) s2e_results_free(result, job->n_settings);
    return st;
}
