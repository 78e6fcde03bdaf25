/* source_model.c - pictures outermost, so that the tower runs once for each; then settings, so that
 * what a session remembers of a pruned picture serves all questions about it.
 */
#include "analyze/sources.h"

#include "base/error.h"

#include <stdlib.h>

typedef struct asking {
    const s2_source_model *source;
    s2_trials *trials;
    const s2p_image *picture;
} asking;

static s2p_status ask_once(const asking *a, int32_t setting, int32_t question, int32_t seed,
                           s2a_answer *answer, s2p_error *error)
{
    const s2_trial_question *q = &a->trials->question[question];
    const s2v_message message = { .role = S2V_USER, .text = q->text, .n_images = 1 };
    const s2v_prompt prompt = { .size = sizeof(s2v_prompt),
                                .messages = &message,
                                .n_messages = 1,
                                .images = a->picture,
                                .n_images = 1,
                                .image_options = a->source->image_options };
    s2a_setting asked = a->trials->setting[setting];
    asked.choice.seed = ((uint64_t)(uint32_t)seed << 32) | (uint32_t)q->picture;
    s2v_session_reset(a->source->session);
    return s2a_ask(a->source->session, &prompt, &asked,
                   &(s2a_limits){ .n_tokens = a->source->predict }, NULL, answer, error);
}

static s2p_status fill(const asking *a, int32_t setting, int32_t question, s2p_error *error)
{
    const s2_source_model *source = a->source;
    const s2a_setting *asked = &a->trials->setting[setting];
    const int32_t n_seeds = s2a_draws(asked) ? source->n_seeds : 1;
    s2a_answer first = { .text = NULL };
    float score = 0.0f;
    s2p_status st = S2P_OK;
    for (int32_t seed = 0; seed < n_seeds && st == S2P_OK; seed++) {
        s2a_answer answer;
        st = ask_once(a, setting, question, seed, &answer, error);
        if (st != S2P_OK) break;
        score += s2_source_score(source->task, source->set, &a->trials->question[question],
                                 answer.text) /
                 (float)n_seeds;
        if (seed == 0)
            first = answer;
        else
            s2a_answer_free(&answer);
    }
    const s2a_part *part = first.n_parts > 0 ? &first.part[0] : NULL;
    if (st == S2P_OK)
        st = s2_trial_fill(a->trials, setting, question, score, first.text,
                           part ? part->grid : (s2p_grid){ 0, 0 }, part ? part->keep : NULL,
                           part ? part->n_keep : 0, error);
    s2a_answer_free(&first);
    if (st == S2P_OK && source->watch && source->watch->filled)
        st = source->watch->filled(a->trials, setting, question, source->watch->user, error);
    return st;
}

/* Questions [first, last) are about one picture. */
static s2p_status ask_about(asking *a, int32_t first, int32_t last, s2p_error *error)
{
    const s2_trials *t = a->trials;
    s2_image picture;
    bool is_done = true;
    for (int32_t q = first; q < last; q++) is_done = is_done && s2_trials_question_done(t, q);
    if (is_done) return S2P_OK;
    TRY(s2_trials_load(t, t->question[first].picture, &picture, error));
    a->picture = &picture.view;
    s2p_status st = S2P_OK;
    for (int32_t s = 0; s < t->n_settings && st == S2P_OK; s++)
        for (int32_t q = first; q < last && st == S2P_OK; q++)
            if (!s2_trial_is_done(s2_trial_at(t, s, q))) st = fill(a, s, q, error);
    s2_image_free(&picture);
    return st;
}

s2p_status s2_source_ask(const s2_source_model *source, s2_trials *trials, s2p_error *error)
{
    asking a = { source, trials, NULL };
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
    return S2P_OK;
}
