/* source_task.c - pictures and questions of a benchmark, thinned out evenly. */
#include "analyze/sources/sources.h"

#include "eval/judging.h"
#include "image/image.h"

#include <stdio.h>

/* Questions [first, last) of picture `number`; question k is taken when it starts one of `wanted`
 * equal parts of the list, which begins somewhere else for each picture. */
static s2p_status add_some(const s2_source_questions *from, int32_t first, int32_t last,
                           int32_t number, s2_trials *out, s2p_error *error)
{
    const s2e_set *set = from->set;
    const int32_t n = last - first;
    const int32_t wanted = from->per_picture < 1 || from->per_picture > n ? n : from->per_picture;
    for (int32_t k = 0; k < n; k++) {
        const int32_t shifted = (k + number) % n;
        const bool is_taken = (int64_t)shifted * wanted / n != ((int64_t)shifted + 1) * wanted / n;
        const s2e_sample *sample = &set->sample[first + k];
        if (!is_taken) continue;
        s2_buffer text;
        s2_buffer_init(&text, (size_t)1 << 20);
        s2p_status st = from->task->prompt(sample, from->protocol, &text, error);
        s2_buffer_append(&text, "", 1);
        if (st == S2P_OK && text.status != S2P_OK)
            st = s2_fail(error, text.status, "the question '%.60s' is too long", sample->id);
        if (st == S2P_OK)
            st = s2_trials_add_question(
                out, (const char *)text.data, sample->n_answers > 0 ? sample->answer[0] : "",
                sample->n_categories > 0 ? sample->category[0] : "", first + k, error);
        s2_buffer_free(&text);
        TRY(st);
    }
    return S2P_OK;
}

static s2p_status load_picture(const void *source, int32_t index, s2_image *out, s2p_error *error)
{
    s2_buffer bytes;
    s2_image_limits limits;
    s2_image_limits_init(&limits);
    s2_buffer_init(&bytes, limits.max_bytes);
    s2p_status st = s2e_set_picture_bytes(source, index, &bytes, error);
    if (st == S2P_OK)
        st = s2_image_decode(bytes.data, bytes.size, S2_PIXELS_REFERENCE, NULL, out, error);
    s2_buffer_free(&bytes);
    return st;
}

s2p_status s2_source_task(const s2_source_questions *from, s2_trials *out, s2p_error *error)
{
    const s2e_set *set = from->set;
    s2_trial_part part = { .task = from->task,
                           .set = set,
                           .protocol = from->protocol,
                           .load = load_picture,
                           .source = set };
    (void)snprintf(part.name, sizeof part.name, "%s", from->task->name);
    (void)snprintf(part.title, sizeof part.title, "%s", from->task->title);
    part.n_all = from->n_all;
    for (int32_t i = 0; i < set->n_samples && !from->n_all; i++)
        part.n_all += s2e_first_picture(&set->sample[i]) >= 0;
    TRY(s2_trials_add_part(out, &part, error));
    int32_t number = 0;
    for (int32_t first = 0, last; first < set->n_samples; first = last) {
        const int32_t index = s2e_first_picture(&set->sample[first]);
        for (last = first + 1; last < set->n_samples; last++)
            if (s2e_first_picture(&set->sample[last]) != index) break;
        if (index < 0) continue; /* nothing to prune */
        const s2e_picture *picture = &set->picture[index];
        if (from->n_pictures > 0 && number == from->n_pictures) break;
        const char *name = picture->file        ? picture->file
                           : picture->sha256[0] ? picture->sha256 /* inside a table */
                                                : set->sample[first].id;
        TRY(s2_trials_add_picture(out, name, index, error));
        TRY(add_some(from, first, last, number, out, error));
        number++;
    }
    return S2P_OK;
}

float s2_source_score(const s2_trials *t, int32_t question, const char *answer)
{
    const s2_trial_part *part = s2_trial_part_of(t, question);
    s2e_verdict verdict = { .rule = NULL };
    const s2p_status st = part->task->judge(&part->set->sample[t->question[question].index],
                                            part->protocol, NULL, answer, &verdict, NULL);
    const float score = st == S2P_OK ? verdict.score : 0.0f;
    s2e_verdict_free(&verdict);
    return score;
}
