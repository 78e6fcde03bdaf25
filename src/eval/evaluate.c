/* evaluate.c - the loop: picture, setting, seed, question. */
#include "eval/evaluate.h"

#include "base/clock.h"
#include "eval/judging.h"
#include "image/image.h"

#include <stdlib.h>

#define MAX_PROMPT ((size_t)1 << 20)

/* Another seed of the same number draws other tokens of another picture. */
static uint64_t seed_of(int32_t seed, int32_t picture)
{
    return ((uint64_t)(uint32_t)seed << 32) | (uint32_t)picture;
}

/* What one question is asked with. */
typedef struct asked {
    s2_image picture[S2E_MAX_PICTURES];
    s2p_image view[S2E_MAX_PICTURES];
    s2_buffer text, bytes;
} asked;

static s2p_status load(const s2e_job *job, int32_t picture, asked *a, int32_t to, s2p_error *error)
{
    s2_image_free(&a->picture[to]);
    a->picture[to] = (s2_image){ .pixels = NULL };
    a->bytes.size = 0;
    TRY(s2e_set_picture_bytes(job->set, picture, &a->bytes, error));
    TRY(s2_image_decode(a->bytes.data, a->bytes.size, S2_PIXELS_REFERENCE, NULL, &a->picture[to],
                        error));
    a->view[to] = a->picture[to].view;
    return S2P_OK;
}

static s2p_status ask(const s2e_job *job, asked *a, s2e_result *result, int32_t seed, int32_t index,
                      s2p_error *error)
{
    const s2e_sample *sample = &job->set->sample[index];
    for (int32_t i = 1; i < sample->n_pictures; i++)
        TRY(load(job, sample->picture[i], a, i, error));
    a->text.size = 0;
    TRY(job->task->prompt(sample, S2E_PAPER, &a->text, error));
    s2_buffer_append(&a->text, "", 1);
    TRY(a->text.status);
    const s2v_message message = { .role = S2V_USER,
                                  .text = (const char *)a->text.data,
                                  .n_images = sample->n_pictures };
    s2v_image_options image_options[S2E_MAX_PICTURES];
    for (int32_t i = 0; i < sample->n_pictures; i++) image_options[i] = *job->image_options;
    const s2v_prompt prompt = { .messages = &message,
                                .n_messages = 1,
                                .images = a->view,
                                .n_images = sample->n_pictures,
                                .image_options = image_options };
    s2a_setting setting = result->setting;
    setting.choice.seed = seed_of(seed, s2e_first_picture(sample));
    s2a_answer answer;
    s2v_session_reset(job->session);
    TRY(s2a_ask(job->session, &prompt, &setting, &(s2a_limits){ .n_tokens = job->predict }, NULL,
                &answer, error));
    s2e_verdict verdict = { .rule = NULL };
    s2p_status st = job->task->judge(sample, S2E_PAPER, NULL, answer.text, &verdict, error);
    const float score = verdict.score;
    s2e_verdict_free(&verdict);
    const double share = 1.0 / ((double)result->n_seeds * job->set->n_samples);
    result->score[index] += score / (float)result->n_seeds;
    result->prompt_ms += share * answer.stats.prompt_ms;
    result->image_tokens += share * answer.stats.image_tokens;
    result->kv_bytes += share * (double)answer.stats.kv_visual_bytes;
    const s2e_answer note = { &result->setting, seed, index, answer.text, score };
    if (st == S2P_OK && job->watch && job->watch->answered)
        st = job->watch->answered(&note, job->watch->user);
    s2a_answer_free(&answer);
    return st;
}

/* Samples [first, last) are about one first picture. */
static s2p_status ask_about(const s2e_job *job, s2e_result *result, int32_t first, int32_t last,
                            s2p_error *error)
{
    asked a = { .text = { .data = NULL } };
    const int32_t picture = s2e_first_picture(&job->set->sample[first]);
    s2_image_limits limits;
    s2_image_limits_init(&limits);
    s2_buffer_init(&a.text, MAX_PROMPT);
    s2_buffer_init(&a.bytes, limits.max_bytes);
    s2p_status st = picture < 0 ? S2P_OK : load(job, picture, &a, 0, error);
    for (int32_t r = 0; r < job->n_settings && st == S2P_OK; r++) {
        const double start = s2_now_ms();
        for (int32_t seed = 0; seed < result[r].n_seeds && st == S2P_OK; seed++)
            for (int32_t i = first; i < last && st == S2P_OK; i++)
                st = ask(job, &a, &result[r], seed, i, error);
        result[r].seconds += 1e-3 * (s2_now_ms() - start);
    }
    for (int32_t i = 0; i < S2E_MAX_PICTURES; i++) s2_image_free(&a.picture[i]);
    s2_buffer_free(&a.text);
    s2_buffer_free(&a.bytes);
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
        result[i].score = calloc((size_t)set->n_samples, sizeof *result[i].score);
        if (!result[i].score)
            st = s2_fail_memory(error, (size_t)set->n_samples * sizeof(float), "the scores");
    }
    for (int32_t first = 0, last; first < set->n_samples && st == S2P_OK; first = last) {
        const int32_t picture = s2e_first_picture(&set->sample[first]);
        for (last = first + 1; last < set->n_samples; last++)
            if (picture < 0 || s2e_first_picture(&set->sample[last]) != picture) break;
        st = ask_about(job, result, first, last, error);
        if (job->watch && job->watch->progress && picture >= 0)
            job->watch->progress(picture + 1, job->watch->user);
    }
    if (st != S2P_OK) s2e_results_free(result, job->n_settings);
    return st;
}
