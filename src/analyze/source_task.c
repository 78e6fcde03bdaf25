/* source_task.c - pictures and questions of a benchmark, thinned out evenly. */
#include "analyze/source_task.h"

#include <math.h>
#include <stdio.h>

/* Questions [first, last) of picture `number`; question k is taken when it starts one of `wanted`
 * equal parts of the list, which begins somewhere else for each picture. */
static s2p_status add_some(const s2e_set *set, int32_t first, int32_t last, int32_t wanted,
                           int32_t number, s2_trials *out, s2p_error *error)
{
    const int32_t n = last - first;
    if (wanted < 1 || wanted > n) wanted = n;
    for (int32_t k = 0; k < n; k++) {
        const int32_t turned = (k + number) % n;
        const bool is_taken = (int64_t)turned * wanted / n != ((int64_t)turned + 1) * wanted / n;
        const s2e_question *q = &set->question[first + k];
        if (is_taken)
            TRY(s2_trials_add_question(out, q->text, q->answer, set->category[q->category],
                                       first + k, error));
    }
    return S2P_OK;
}

s2p_status s2_source_task(const s2e_task *task, const s2e_set *set, int32_t per_picture,
                          int32_t n_pictures, s2_trials *out, s2p_error *error)
{
    (void)snprintf(out->task, sizeof out->task, "%s", task->name);
    (void)snprintf(out->folder, sizeof out->folder, "%s", set->folder);
    int32_t number = 0;
    for (int32_t first = 0, last; first < set->n_questions; first = last) {
        const s2e_picture *picture = &set->picture[set->question[first].picture];
        for (last = first + 1; last < set->n_questions; last++)
            if (set->question[last].picture != set->question[first].picture) break;
        if (n_pictures > 0 && number == n_pictures) break;
        const double h = picture->heterogeneity;
        TRY(s2_trials_add_picture(out, picture->file, h >= 0.0 ? h : (double)NAN, error));
        TRY(add_some(set, first, last, per_picture, number, out, error));
        number++;
    }
    return S2P_OK;
}

float s2_source_score(const s2e_task *task, const s2e_set *set, const s2_trial_question *question,
                      const char *answer)
{
    return task->score(&set->question[question->index], answer);
}
