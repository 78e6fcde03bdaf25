/* judging.c - verdicts in order, figures with their names. */
#include "eval/judging.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SEED 42        /* of the official MMMU scorer */
#define MAX_SIDE 65536 /* tokens of a grid */

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

/* The sample as the model saw it: the first of "[[rows,cols],...]"; anything else is not known. */
static s2e_sample as_seen(const s2e_sample *sample, const char *grids)
{
    s2e_sample out = *sample;
    json_t *root = grids ? json_loads(grids, 0, NULL) : NULL;
    const json_t *first = json_array_get(root, 0);
    const json_int_t rows = json_integer_value(json_array_get(first, 0)),
                     cols = json_integer_value(json_array_get(first, 1));
    if (rows > 0 && rows <= MAX_SIDE && cols > 0 && cols <= MAX_SIDE) {
        out.seen_rows = (int32_t)rows;
        out.seen_cols = (int32_t)cols;
    }
    json_decref(root);
    return out;
}

s2p_status s2e_judge_one(const s2e_task *task, const s2e_sample *sample, s2e_protocol protocol,
                         const char *answer, const char *grids, s2e_verdict *out, s2p_error *error)
{
    const s2e_sample seen = as_seen(sample, grids);
    return task->judge(&seen, protocol, NULL, answer, out, error);
}

s2p_status s2e_judge_all(const s2e_task *task, const s2e_set *set, s2e_protocol protocol,
                         const char *const *answer, const char *const *grids, s2e_verdict *verdict,
                         s2p_error *error)
{
    s2e_draws draws;
    s2p_status st = S2P_OK;
    s2e_draws_start(&draws, SEED);
    for (int32_t i = 0; i < set->n_samples; i++) verdict[i] = (s2e_verdict){ .rule = NULL };
    for (int32_t row = 0; row < set->ids.n && st == S2P_OK; row++) {
        const int32_t i = s2e_set_at_row(set, row);
        if (i < 0 || !answer[i]) continue;
        const s2e_sample sample = as_seen(&set->sample[i], grids ? grids[i] : NULL);
        st = task->judge(&sample, protocol, &draws, answer[i], &verdict[i], error);
    }
    for (int32_t i = 0; i < set->n_samples && st != S2P_OK; i++) s2e_verdict_free(&verdict[i]);
    return st;
}

bool s2e_is_same_answer(const char *a, const char *b)
{
    size_t n_a, n_b;
    while (isspace((unsigned char)*a)) a++;
    while (isspace((unsigned char)*b)) b++;
    for (n_a = strlen(a); n_a > 0 && isspace((unsigned char)a[n_a - 1]);) n_a--;
    for (n_b = strlen(b); n_b > 0 && isspace((unsigned char)b[n_b - 1]);) n_b--;
    return n_a == n_b && strncasecmp(a, b, n_a) == 0;
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

s2p_status s2e_figures_of(const s2e_set *set, const s2e_verdict *verdict,
                          bool (*belongs)(const s2e_sample *sample, const void *user),
                          const void *user, const s2e_figure *named, s2e_figures *out,
                          s2p_error *error)
{
    double sum = 0.0;
    s2e_figure figure = *named;
    figure.n = 0;
    figure.best = 100.0;
    for (int32_t i = 0; i < set->n_samples; i++) {
        if (!verdict[i].rule || (belongs && !belongs(&set->sample[i], user))) continue;
        sum += (double)verdict[i].score;
        figure.n++;
    }
    if (figure.n == 0 && !figure.headline) return S2P_OK;
    figure.value = figure.n ? 100.0 * sum / figure.n : 0.0;
    return s2e_figures_add(out, &figure, error);
}

static bool is_in(const s2e_sample *sample, const void *category)
{
    for (int32_t c = 0; c < sample->n_categories; c++)
        if (sample->category[c] == category) return true;
    return false;
}

s2p_status s2e_figures_of_categories(const s2e_set *set, const s2e_verdict *verdict,
                                     const char *name, s2e_figures *out, s2p_error *error)
{
    const s2e_figure all = { .name = name, .headline = true };
    TRY(s2e_figures_of(set, verdict, NULL, NULL, &all, out, error));
    for (int32_t c = 0; c < set->n_categories; c++) {
        const s2e_figure one = { .name = name, .section = set->category[c] };
        TRY(s2e_figures_of(set, verdict, is_in, set->category[c], &one, out, error));
    }
    return S2P_OK;
}

typedef struct extra_value {
    const char *key, *value;
} extra_value;

static bool has_value(const s2e_sample *sample, const void *user)
{
    const extra_value *wanted = user;
    const char *value = s2_json_string(sample->extra, wanted->key);
    return value && strcmp(value, wanted->value) == 0;
}

s2p_status s2e_figures_by_extra(const s2e_set *set, const s2e_verdict *verdict, const char *key,
                                s2e_figures *out, s2p_error *error)
{
    s2_names values = { .n = 0 };
    s2p_status st = S2P_OK;
    for (int32_t i = 0; i < set->n_samples && st == S2P_OK; i++) {
        const char *value = s2_json_string(set->sample[i].extra, key);
        if (value && s2_names_add(&values, value, NULL) < 0)
            st = s2_fail_memory(error, 64, "the figures");
    }
    for (int32_t i = 0; i < values.n && st == S2P_OK; i++) {
        char section[256];
        (void)snprintf(section, sizeof section, "%.60s: %.180s", key, values.name[i]);
        const s2e_figure one = { .name = "accuracy", .section = section };
        st = s2e_figures_of(set, verdict, has_value, &(extra_value){ key, values.name[i] }, &one,
                            out, error);
    }
    s2_names_free(&values);
    return st;
}
