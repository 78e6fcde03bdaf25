/* judging.c - verdicts in order, figures with their names. */
#include "eval/judging.h"

#include <stdlib.h>
#include <string.h>

#define SEED 42 /* of the official MMMU scorer */

const char *s2e_protocol_name(size_t index)
{
    static const char *const names[] = { "paper", "official", "vlmevalkit", "lmms" };
    return index < sizeof names / sizeof *names ? names[index] : NULL;
}

void s2e_verdict_free(s2e_verdict *verdict)
{
    free(verdict->extracted);
    *verdict = (s2e_verdict){ .rule = NULL };
}

s2p_status s2e_judge_all(const s2e_task *task, const s2e_set *set, s2e_protocol protocol,
                         const char *const *answer, s2e_verdict *verdict, s2p_error *error)
{
    const size_t n_rows = (size_t)set->ids.n;
    int32_t *at = malloc((n_rows + 1) * sizeof *at);
    if (!at) return s2_fail_memory(error, n_rows * sizeof *at, "the order of the samples");
    for (size_t row = 0; row < n_rows; row++) at[row] = -1;
    for (int32_t i = 0; i < set->n_samples; i++) {
        at[set->sample[i].row] = i;
        verdict[i] = (s2e_verdict){ .rule = NULL };
    }
    s2e_draws draws;
    s2e_draws_start(&draws, SEED);
    s2p_status st = S2P_OK;
    for (size_t row = 0; row < n_rows && st == S2P_OK; row++) {
        const int32_t i = at[row];
        if (i >= 0 && answer[i])
            st = task->judge(&set->sample[i], protocol, &draws, answer[i], &verdict[i], error);
    }
    for (int32_t i = 0; i < set->n_samples && st != S2P_OK; i++) s2e_verdict_free(&verdict[i]);
    free(at);
    return st;
}

s2p_status s2e_figures_add(s2e_figures *figures, const s2e_figure *figure, s2p_error *error)
{
    if (figures->n == figures->capacity) {
        const int32_t capacity = figures->capacity ? 2 * figures->capacity : 32;
        s2e_figure *grown = realloc(figures->figure, (size_t)capacity * sizeof *grown);
        if (!grown) return s2_fail_memory(error, (size_t)capacity * sizeof *grown, "the figures");
        figures->figure = grown;
        figures->capacity = capacity;
    }
    s2e_figure *copy = &figures->figure[figures->n];
    *copy = *figure;
    copy->name = s2_pool_copy(&figures->pool, figure->name);
    copy->section = s2_pool_copy(&figures->pool, figure->section ? figure->section : "");
    if (!copy->name || !copy->section) return s2_fail_memory(error, 1, "the name of a figure");
    figures->n++;
    return S2P_OK;
}

void s2e_figures_free(s2e_figures *figures)
{
    free(figures->figure);
    s2_pool_free(&figures->pool);
    *figures = (s2e_figures){ .figure = NULL };
}

const s2e_figure *s2e_headline(const s2e_figures *figures)
{
    for (int32_t i = 0; i < figures->n; i++)
        if (figures->figure[i].headline) return &figures->figure[i];
    return NULL;
}

static bool is_in(const s2e_sample *sample, const char *category)
{
    for (int32_t c = 0; c < sample->n_categories; c++)
        if (sample->category[c] == category) return true;
    return false;
}

s2p_status s2e_figures_of_categories(const s2e_set *set, const s2e_verdict *verdict,
                                     const char *name, s2e_figures *out, s2p_error *error)
{
    for (int32_t c = -1; c < set->n_categories; c++) {
        double sum = 0.0;
        int32_t n = 0;
        for (int32_t i = 0; i < set->n_samples; i++) {
            if (!verdict[i].rule || (c >= 0 && !is_in(&set->sample[i], set->category[c]))) continue;
            sum += (double)verdict[i].score;
            n++;
        }
        if (c >= 0 && n == 0) continue;
        const s2e_figure figure = { .name = name,
                                    .section = c < 0 ? "" : set->category[c],
                                    .value = n ? 100.0 * sum / n : 0.0,
                                    .best = 100.0,
                                    .n = n,
                                    .headline = c < 0 };
        TRY(s2e_figures_add(out, &figure, error));
    }
    return S2P_OK;
}
