/* paper_intervals.c - Acc. and Rel. anew from drawn pictures, every benchmark drawn for itself. */
#include "eval/report/documents.h"

#include "base/random.h"
#include "base/statistics.h"
#include "eval/evaluate.h"
#include "eval/scoring/means.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct column {  /* of one benchmark: what a picture adds to it */
    const double *count; /* [n_seeds][n_units][n_counts]: the result's own, or `made` */
    double *made;        /* [n_units][2] scores and questions of a picture; NULL: it has counts */
    int32_t n_seeds;
    double scale; /* headline over score per question */
} column;

typedef struct bench { /* one benchmark */
    const s2e_task_results *task;
    s2e_protocol protocol;
    column *column; /* [n_columns] */
    int32_t n_columns, n_units, n_counts;
    int32_t *drawn; /* [n_units] how often each picture was drawn */
    double *sum;    /* [n_counts] */
    double best;
    s2_random random;
} bench;

/* --- what is drawn --------------------------------------------------------------------- */

static s2p_status make_means(const s2e_set *set, const float *score, double scale, column *out)
{
    out->made = calloc(2 * (size_t)s2e_units_of(set) + 1, sizeof *out->made);
    if (!out->made) return S2P_ENOMEM;
    double *unit = out->made;
    for (int32_t first = 0, last; first < set->n_samples; first = last, unit += 2) {
        last = s2e_group_end(set, first);
        for (int32_t i = first; i < last; i++) unit[0] += (double)score[i];
        unit[1] = last - first;
    }
    out->count = out->made;
    out->n_seeds = 1;
    out->scale = scale;
    return S2P_OK;
}

static s2p_status start(const s2e_task_results *task, s2e_protocol protocol, uint64_t seed,
                        bench *out)
{
    const s2e_counts *counts = task->task->counts;
    *out = (bench){ .task = task,
                    .protocol = protocol,
                    .n_columns = task->n_results,
                    .n_units = s2e_units_of(task->set),
                    .n_counts = counts ? counts->n(task->set) : 2,
                    .random = { seed } };
    out->column = calloc((size_t)task->n_results + 1, sizeof *out->column);
    out->drawn = calloc((size_t)out->n_units + 1, sizeof *out->drawn);
    out->sum = calloc((size_t)out->n_counts + 1, sizeof *out->sum);
    if (!out->column || !out->drawn || !out->sum) return S2P_ENOMEM;
    for (int32_t i = 0; i < task->n_results; i++) {
        const s2e_result *r = &task->result[i];
        const double value = s2e_result_headline(r, protocol, &out->best);
        column *c = &out->column[i];
        *c = (column){ .count = r->counts, .n_seeds = r->column.n_seeds };
        if (counts) continue;
        double mean = 0.0;
        for (int32_t k = 0; k < task->set->n_samples; k++) mean += (double)r->score[protocol][k];
        mean /= task->set->n_samples > 0 ? task->set->n_samples : 1;
        const double scale = isnan(value) || mean > 0.0 ? value / mean : out->best;
        TRY(make_means(task->set, r->score[protocol], scale, c));
    }
    return S2P_OK;
}

static void end(bench *b)
{
    for (int32_t i = 0; b->column && i < b->n_columns; i++) free(b->column[i].made);
    free(b->column);
    free(b->drawn);
    free(b->sum);
}

/* --- draws ---------------------------------------------------------------------------------- */

static void draw(bench *b)
{
    memset(b->drawn, 0, (size_t)b->n_units * sizeof *b->drawn);
    for (int32_t i = 0; i < b->n_units; i++)
        b->drawn[s2_random_below(&b->random, (uint32_t)b->n_units)]++;
}

/* The number of the tables from the pictures that were drawn; the mean over the seeds. */
static double value_of(bench *b, const column *c)
{
    const s2e_counts *counts = b->task->task->counts;
    const size_t n = (size_t)b->n_counts;
    double value = 0.0;
    if (!c->count || b->n_units < 1) return (double)NAN;
    for (int32_t seed = 0; seed < c->n_seeds; seed++) {
        const double *unit = c->count + (size_t)seed * (size_t)b->n_units * n;
        memset(b->sum, 0, n * sizeof *b->sum);
        for (int32_t u = 0; u < b->n_units; u++, unit += n)
            for (size_t k = 0; b->drawn[u] && k < n; k++) b->sum[k] += b->drawn[u] * unit[k];
        value += counts ? counts->value(b->task->set, b->protocol, b->sum)
                        : c->scale * b->sum[0] / b->sum[1];
    }
    return value / c->n_seeds;
}

/* NAN stays: a benchmark without a number has no interval. */
static s2e_interval interval_of(double value, double *drawn)
{
    for (int32_t r = 0; r < S2E_RESAMPLES; r++)
        if (isnan(drawn[r])) return (s2e_interval){ value, (double)NAN, (double)NAN };
    s2_sort_numbers(drawn, S2E_RESAMPLES);
    return (s2e_interval){ value, drawn[S2E_RESAMPLES / 40],
                           drawn[S2E_RESAMPLES - 1 - S2E_RESAMPLES / 40] };
}

/* drawn: [n_columns][2][S2E_RESAMPLES] Acc. and Rel. */
static s2p_status draw_all(const s2e_results *results, bench *b, int32_t n_columns, double *drawn)
{
    double(*value)[S2E_MAX_TASKS] = calloc((size_t)n_columns + 1, sizeof *value);
    double best[S2E_MAX_TASKS] = { 0 };
    const s2e_result *whole = s2e_results_full(&results->task[0]);
    const ptrdiff_t full = whole ? whole - results->task[0].result : -1;
    if (!value) return S2P_ENOMEM;
    for (int32_t r = 0; r < S2E_RESAMPLES; r++) {
        for (int32_t t = 0; t < results->n_tasks; t++) {
            best[t] = b[t].best;
            draw(&b[t]);
            for (int32_t i = 0; i < n_columns; i++) value[i][t] = value_of(&b[t], &b[t].column[i]);
        }
        for (int32_t i = 0; i < n_columns; i++) {
            double *of = drawn + (size_t)i * 2 * S2E_RESAMPLES;
            of[r] = s2e_paper_acc(value[i], best, results->n_tasks);
            of[S2E_RESAMPLES + r] =
                full < 0 ? (double)NAN : s2e_paper_rel(value[i], value[full], results->n_tasks);
        }
    }
    free(value);
    return S2P_OK;
}

/* Acc. seed by seed, where every benchmark has the same seeds. */
static s2e_spread spread_of(const s2e_results *results, int32_t row)
{
    const int32_t n_seeds = results->task[0].result[row].column.n_seeds;
    double acc[S2E_MAX_SEEDS], value[S2E_MAX_TASKS], best[S2E_MAX_TASKS];
    for (int32_t seed = 0; seed < n_seeds; seed++) {
        for (int32_t t = 0; t < results->n_tasks; t++) {
            (void)s2e_result_headline(&results->task[t].result[row], results->protocol, &best[t]);
            value[t] = results->task[t].result[row].seed_headline[seed];
        }
        acc[seed] = s2e_paper_acc(value, best, results->n_tasks);
    }
    return s2e_spread_of(acc, n_seeds);
}

s2p_status s2e_paper_intervals_make(const s2e_results *results, const s2e_paper_table *table,
                                    s2e_paper_interval **out, s2p_error *error)
{
    const size_t n = (size_t)table->n_rows;
    bench *b = calloc((size_t)results->n_tasks + 1, sizeof *b);
    double *drawn = calloc(n * 2 * S2E_RESAMPLES + 1, sizeof *drawn);
    *out = calloc(n + 1, sizeof **out);
    s2p_status st = b && drawn && *out ? S2P_OK : S2P_ENOMEM;
    for (int32_t t = 0; t < results->n_tasks && st == S2P_OK; t++)
        st = start(&results->task[t], results->protocol, (uint64_t)t + 1, &b[t]);
    if (st == S2P_OK && n > 0) st = draw_all(results, b, table->n_rows, drawn);
    for (size_t i = 0; i < n && st == S2P_OK; i++) {
        double *of = drawn + i * 2 * S2E_RESAMPLES;
        (*out)[i] = (s2e_paper_interval){ interval_of(table->row[i].acc, of),
                                          interval_of(table->row[i].rel, of + S2E_RESAMPLES),
                                          spread_of(results, (int32_t)i) };
    }
    for (int32_t t = 0; b && t < results->n_tasks; t++) end(&b[t]);
    free(b);
    free(drawn);
    if (st == S2P_OK) return S2P_OK;
    free(*out);
    *out = NULL;
    return s2_fail_memory(error, sizeof(double), "the intervals of Acc. and Rel.");
}
