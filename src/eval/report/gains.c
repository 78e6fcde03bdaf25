/* gains.c - the reference against every other column of its budget, one family of tests. */
#include "eval/report/results.h"

#include "base/permutation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* With every question, as a method does that the model cannot run. */
static bool has_failed(const s2e_result *r)
{
    return r->n_answers > 0 && r->n_failures == r->n_answers;
}

/* The column this one is compared with; NULL when it is not. */
static const s2e_result *rival_of(const s2e_task_results *task, const s2e_result *one,
                                  const char *reference)
{
    if (s2a_budget_is_none(one->budget) || has_failed(one)) return NULL;
    const s2e_result *rival = s2e_results_reference(task, reference, one->column.budget);
    return rival && rival != one && !has_failed(rival) ? rival : NULL;
}

static s2p_status correct(s2e_gain *gain, int32_t n)
{
    double *p = malloc((size_t)(n + 1) * sizeof *p);
    s2p_status st = p ? S2P_OK : S2P_ENOMEM;
    for (int kind = 0; kind < 2 && st == S2P_OK; kind++) {
        for (int32_t i = 0; i < n; i++) p[i] = kind ? gain[i].headline.p : gain[i].mean.p;
        st = s2_holm(p, (size_t)n, p);
        for (int32_t i = 0; i < n && st == S2P_OK; i++)
            *(kind ? &gain[i].headline.p_holm : &gain[i].mean.p_holm) = p[i];
    }
    free(p);
    return st;
}

s2p_status s2e_gains_make(const s2e_task_results *task, s2e_protocol protocol,
                          const char *reference, s2e_gain **out)
{
    const double none = (double)NAN;
    s2e_gain *gain = calloc((size_t)task->n_results + 1, sizeof *gain);
    s2p_status st = gain ? S2P_OK : S2P_ENOMEM;
    for (int32_t i = 0; i < task->n_results && st == S2P_OK; i++) {
        const s2e_result *other = &task->result[i], *rival = rival_of(task, other, reference);
        gain[i].mean = (s2e_difference){ none, none, none, none, none, none };
        gain[i].headline = gain[i].mean;
        gain[i].reference = rival;
        if (!rival) continue;
        st = s2e_difference_of(task->set, rival->score[protocol], other->score[protocol],
                               &gain[i].mean);
        if (st == S2P_OK)
            st = s2e_headline_difference(task, protocol, rival, other, &gain[i].mean,
                                         &gain[i].headline);
    }
    if (st == S2P_OK) st = correct(gain, task->n_results);
    if (st != S2P_OK) {
        free(gain);
        gain = NULL;
    }
    *out = gain;
    return st;
}
