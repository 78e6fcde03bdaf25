/* source_model.c - pictures outermost, so that the tower runs once for each; then settings, so that
 * what a session remembers of a pruned picture serves all questions about it.
 */
#include "analyze/sources/sources.h"

#include "ask/attempts.h"
#include "ask/own.h"
#include "base/error.h"
#include "eval/evaluate.h"

#include <stdlib.h>

typedef struct asking {
    const s2_source_model *source;
    s2_trials *trials;
    s2_image
        picture[S2E_MAX_PICTURES]; /* of the current question; the first is that of the group */
    const s2_trial_part *part;
} asking;

static int32_t end_early(const int32_t *token, int32_t n_tokens, const char *text, void *user)
{
    const asking *a = user;
    return s2e_ends_after(a->part->task, a->part->protocol, token, n_tokens, text);
}

/* The pictures of a sample after the first, which is there. */
static s2p_status load_others(asking *a, const s2e_sample *sample, s2p_error *error)
{
    for (int32_t i = 1; i < sample->n_pictures; i++) {
        s2_image_free(&a->picture[i]);
        a->picture[i] = (s2_image){ .pixels = NULL };
        TRY(a->part->load(a->part->source, sample->picture[i], &a->picture[i], error));
    }
    return S2P_OK;
}

static s2p_status ask_once(asking *a, int32_t setting, int32_t question, int32_t seed,
                           s2a_answer *answer, s2p_error *error)
{
    const s2_trial_question *q = &a->trials->question[question];
    const s2e_sample *sample = &a->part->set->sample[q->index];
    s2p_image view[S2E_MAX_PICTURES];
    s2v_image_options options[S2E_MAX_PICTURES];
    s2a_setting asked = a->trials->setting[setting];
    TRY(load_others(a, sample, error));
    for (int32_t i = 0; i < sample->n_pictures; i++) {
        view[i] = a->picture[i].view;
        options[i] = s2a_setting_image(&asked, *a->source->image_options);
    }
    const s2v_message message = { .role = S2V_USER,
                                  .text = q->text,
                                  .n_images = sample->n_pictures };
    const s2v_prompt prompt = { .size = sizeof(s2v_prompt),
                                .messages = &message,
                                .n_messages = 1,
                                .images = view,
                                .n_images = sample->n_pictures,
                                .image_options = options };
    asked.choice.seed = ((uint64_t)(uint32_t)seed << 32) | (uint32_t)s2e_first_picture(sample);
    const int32_t usual = a->part->task->predict[a->part->protocol];
    const s2a_sample about = { a->part->task->name, sample->id };
    const s2a_limits limits = { .n_tokens = a->source->predict ? a->source->predict : usual,
                                .n_vocab = a->source->n_vocab,
                                .ends_after = end_early,
                                .user = a,
                                .sample = &about };
    s2v_session_reset(a->source->session);
    return s2a_ask(a->source->session, &prompt, &asked, &limits, NULL, answer, error);
}

/* Of all pictures; a smaller picture of each attempt is a run of the tower of its own. */
static double tower_flops(const asking *a, int32_t setting, const s2a_answer *answer, int32_t n)
{
    const s2_tower_size *tower = a->source->tower;
    double sum = n * s2_tower_flops(tower, answer->stats.tower_tokens / n);
    const bool resizes =
        s2p_method_about(s2a_setting_method(&a->trials->setting[setting]))->resizes;
    for (int32_t i = 0; resizes && i + 1 < answer->attempts.n; i++)
        sum += n * s2_tower_flops(tower, answer->attempts.list[i].image_tokens / n);
    return sum;
}

static s2p_status keep_first(const asking *a, int32_t setting, int32_t question,
                             const s2a_answer *answer, s2p_error *error)
{
    const s2a_part *part = answer->n_parts > 0 ? &answer->part[0] : NULL;
    const s2v_stats *t = &answer->stats;
    const s2_trial_question *q = &a->trials->question[question];
    const int32_t n_pictures = a->part->set->sample[q->index].n_pictures;
    if (s2p_method_about(s2a_setting_method(&a->trials->setting[setting]))->resizes)
        part = NULL; /* a grid of its own: its tokens are no tokens of the picture */
    TRY(s2_trial_fill(a->trials, setting, question,
                      s2_source_score(a->trials, question, answer->text), answer->text,
                      part ? part->grid : (s2p_grid){ 0, 0 }, part ? part->keep : NULL,
                      part ? part->n_keep : 0, error));
    s2_trial *trial = s2_trial_at(a->trials, setting, question);
    trial->first_ms = t->image_ms + t->vision_ms + t->prompt_ms + t->saved_ms;
    trial->first_ms += answer->attempts.earlier_ms;
    trial->n_used = s2a_prefilled_tokens(answer);
    if (a->source->tower && n_pictures > 0)
        trial->flops = t->flops + tower_flops(a, setting, answer, n_pictures);
    return S2P_OK;
}

/* The fault of a method of the user's own, with this question alone. */
static bool is_own_fault(const s2_trials *t, int32_t setting)
{
    const s2a_own *own = t->setting[setting].own;
    return own && s2a_own_fault(own) == S2A_FAULT_SAMPLE;
}

/* It is wrong, as a failure of an evaluation is; not written down, so it is asked again. */
static s2p_status fail_question(const asking *a, int32_t setting, int32_t question,
                                s2p_error *error)
{
    const s2_model_watch *watch = a->source->watch;
    if (watch && watch->failed) watch->failed(error ? error->message : "", watch->user);
    TRY(s2_trial_fill(a->trials, setting, question, 0.0f, "", (s2p_grid){ 0, 0 }, NULL, 0, error));
    return s2_trial_add_run(a->trials, setting, question, 0, 1, NULL, error);
}

static s2p_status fill(asking *a, int32_t setting, int32_t question, s2p_error *error)
{
    const s2_source_model *source = a->source;
    s2_trials *t = a->trials;
    const int32_t n_seeds = s2a_draws(&t->setting[setting]) && t->n_seeds > 1 ? t->n_seeds : 1;
    float sum = 0.0f;
    for (int32_t seed = 0; seed < n_seeds; seed++) {
        s2a_answer answer;
        s2p_status st = ask_once(a, setting, question, seed, &answer, error);
        if (st != S2P_OK && is_own_fault(t, setting))
            return fail_question(a, setting, question, error);
        TRY(st);
        st = seed == 0 ? keep_first(a, setting, question, &answer, error) : S2P_OK;
        if (st == S2P_OK)
            st = s2_trial_add_run(t, setting, question, seed, n_seeds, answer.text, error);
        sum += s2_source_score(t, question, answer.text);
        s2a_answer_free(&answer);
        TRY(st);
    }
    s2_trial_at(t, setting, question)->score = sum / (float)n_seeds;
    if (source->watch && source->watch->filled)
        return source->watch->filled(t, setting, question, source->watch->user, error);
    return S2P_OK;
}

/* Questions [first, last) are about one picture. */
static s2p_status ask_about(asking *a, int32_t first, int32_t last, s2p_error *error)
{
    const s2_trials *t = a->trials;
    bool is_done = true;
    for (int32_t q = first; q < last; q++) is_done = is_done && s2_trials_question_done(t, q);
    if (is_done) return S2P_OK;
    a->part = s2_trial_part_of(t, first);
    TRY(s2_trials_load(t, t->question[first].picture, &a->picture[0], error));
    s2p_status st = S2P_OK;
    for (int32_t s = 0; s < t->n_settings && st == S2P_OK; s++)
        for (int32_t q = first; q < last && st == S2P_OK; q++)
            if (!s2_trial_is_done(s2_trial_at(t, s, q))) st = fill(a, s, q, error);
    for (int32_t i = 0; i < S2E_MAX_PICTURES; i++) {
        s2_image_free(&a->picture[i]);
        a->picture[i] = (s2_image){ .pixels = NULL };
    }
    return st;
}

s2p_status s2_source_ask(const s2_source_model *source, s2_trials *trials, s2p_error *error)
{
    asking a = { .source = source, .trials = trials };
    const s2_model_watch *watch = source->watch;
    for (int32_t first = 0, last; first < trials->n_questions; first = last) {
        const int32_t picture = trials->question[first].picture;
        for (last = first + 1; last < trials->n_questions; last++)
            if (trials->question[last].picture != picture) break;
        if (source->n_shards < 1 || picture % source->n_shards == source->shard)
            TRY(ask_about(&a, first, last, error));
        if (watch && watch->progress)
            watch->progress((double)last / trials->n_questions, watch->user);
    }
    return s2_trials_judge(trials, error);
}
