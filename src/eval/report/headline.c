/* headline.c - numbers from drawn pictures. */
#include "eval/report/results.h"

#include "base/random.h"
#include "base/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- drawing ------------------------------------------------------------------------- */

typedef struct drawing { /* of one column */
    const s2e_task_results *task;
    s2e_protocol protocol;
    const s2e_result *result; /* NULL: nothing, and its value is 0 */
    int32_t n_units, n_counts;
    double *sum; /* [n_seeds][n_counts] */
} drawing;

static size_t room_of(const drawing *d)
{
    return (size_t)d->result->column.n_seeds * (size_t)d->n_counts * sizeof *d->sum;
}

static void add_unit(const drawing *d, int32_t unit)
{
    if (!d->result) return;
    const size_t n = (size_t)d->n_counts, of_seed = n * (size_t)d->n_units;
    for (int32_t seed = 0; seed < d->result->column.n_seeds; seed++) {
        const double *count = d->result->counts + (size_t)seed * of_seed + (size_t)unit * n;
        for (size_t i = 0; i < n; i++) d->sum[(size_t)seed * n + i] += count[i];
    }
}

/* The mean over the seeds, as in the tables; what was added is forgotten. */
static double take_value(const drawing *d)
{
    double value = 0.0;
    if (!d->result) return 0.0;
    const int32_t n_seeds = d->result->column.n_seeds;
    for (int32_t seed = 0; seed < n_seeds; seed++)
        value += d->task->task->counts->value(d->task->set, d->protocol,
                                              d->sum + (size_t)seed * (size_t)d->n_counts);
    memset(d->sum, 0, room_of(d));
    return value / n_seeds;
}

/* *error: the deviation of the draws. */
static s2p_status draw(drawing *a, drawing *b, s2e_interval *out, double *error)
{
    double *drawn = malloc(S2E_RESAMPLES * sizeof *drawn);
    a->sum = calloc(1, room_of(a) + 1);
    b->sum = b->result ? calloc(1, room_of(b) + 1) : NULL;
    const bool has_memory = drawn && a->sum && (b->sum || !b->result);
    if (has_memory) {
        for (int32_t i = 0; i < a->n_units; i++) {
            add_unit(a, i);
            add_unit(b, i);
        }
        out->value = take_value(a) - take_value(b);
        s2_random random = { 1 };
        for (int32_t r = 0; r < S2E_RESAMPLES; r++) {
            for (int32_t i = 0; i < a->n_units; i++) {
                const int32_t unit = (int32_t)s2_random_below(&random, (uint32_t)a->n_units);
                add_unit(a, unit);
                add_unit(b, unit);
            }
            drawn[r] = take_value(a) - take_value(b);
        }
        *error = s2_deviation(drawn, S2E_RESAMPLES);
        s2_sort_numbers(drawn, S2E_RESAMPLES);
        out->low = drawn[S2E_RESAMPLES / 40];
        out->high = drawn[S2E_RESAMPLES - 1 - S2E_RESAMPLES / 40];
    }
    free(drawn);
    free(a->sum);
    free(b->sum);
    return has_memory ? S2P_OK : S2P_ENOMEM;
}

/* --- headlines that are means, in their own unit ---------------------------------------- */

static double mean_of(const s2e_set *set, const float *score)
{
    double sum = 0.0;
    for (int32_t i = 0; i < set->n_samples; i++) sum += (double)score[i];
    return set->n_samples ? 100.0 * sum / set->n_samples : 0.0;
}

/* Headline over mean score: 1 for a percentage, hits over percent for a number of hits. */
static double scale_of(const s2e_set *set, s2e_protocol protocol, const s2e_result *result)
{
    double best;
    const double value = s2e_result_headline(result, protocol, &best);
    const double mean = mean_of(set, result->score[protocol]);
    return mean > 0.0 ? value / mean : best / 100.0;
}

static s2p_status scale_mean(const s2e_task_results *task, s2e_protocol protocol,
                             const s2e_result *one, const s2e_result *other, s2e_interval *out)
{
    const double scale = scale_of(task->set, protocol, one);
    if (other)
        TRY(s2e_bootstrap(task->set, one->score[protocol], other->score[protocol], out));
    else
        TRY(s2e_interval_of(task->set, one->score[protocol], out));
    *out = (s2e_interval){ scale * out->value, scale * out->low, scale * out->high };
    return S2P_OK;
}

static bool has_headline(const s2e_task_results *task, s2e_protocol protocol, const s2e_result *one)
{
    double unused;
    return !isnan(s2e_result_headline(one, protocol, &unused)) && task->set->n_samples > 0;
}

static s2p_status draw_counts(const s2e_task_results *task, s2e_protocol protocol,
                              const s2e_result *one, const s2e_result *other, s2e_interval *out,
                              double *error)
{
    drawing a = { task, protocol, one, s2e_units_of(task->set), task->task->counts->n(task->set),
                  NULL },
            b = a;
    b.result = other;
    return draw(&a, &b, out, error);
}

s2p_status s2e_headline_interval(const s2e_task_results *task, s2e_protocol protocol,
                                 const s2e_result *one, const s2e_result *other, s2e_interval *out)
{
    double unused;
    *out = (s2e_interval){ (double)NAN, (double)NAN, (double)NAN };
    if (!has_headline(task, protocol, one)) return S2P_OK;
    if (!task->task->counts) return scale_mean(task, protocol, one, other, out);
    if (!one->counts || (other && !other->counts)) return S2P_OK;
    return draw_counts(task, protocol, one, other, out, &unused);
}

/* --- differences --------------------------------------------------------------------------- */

static const s2e_difference unknown = { (double)NAN, (double)NAN, (double)NAN,
                                        (double)NAN, (double)NAN, (double)NAN };

/* A mean in its own unit: everything but p is scaled. */
static s2e_difference scaled(const s2e_task_results *task, s2e_protocol protocol,
                             const s2e_result *one, const s2e_difference *mean)
{
    const double scale = scale_of(task->set, protocol, one);
    return (s2e_difference){ scale * mean->value,    scale * mean->low, scale * mean->high,
                             scale * mean->smallest, mean->p,           (double)NAN };
}

s2p_status s2e_headline_difference(const s2e_task_results *task, s2e_protocol protocol,
                                   const s2e_result *one, const s2e_result *other,
                                   const s2e_difference *mean, s2e_difference *out)
{
    *out = unknown;
    if (!has_headline(task, protocol, one)) return S2P_OK;
    if (!task->task->counts) {
        *out = scaled(task, protocol, one, mean);
        return S2P_OK;
    }
    if (!one->counts || !other->counts) return S2P_OK;
    s2e_interval interval;
    double error, p;
    TRY(draw_counts(task, protocol, one, other, &interval, &error));
    TRY(s2e_swap_test(task, protocol, one, other, &p));
    *out = (s2e_difference){ interval.value,
                             interval.low,
                             interval.high,
                             s2_smallest_difference(error, S2E_CONFIDENCE, S2E_POWER),
                             p,
                             (double)NAN };
    return S2P_OK;
}
