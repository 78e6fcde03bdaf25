/* statistics.c - sums over small arrays, and the three distributions the tests need.
 *
 * Student's t goes through the incomplete beta function by its continued fraction, the normal
 * quantile through a few Newton steps on erfc, Wilcoxon's exact distribution by counting subsets of
 * ranks. Arrays here have hundreds of elements: clarity before speed.
 */
#include "base/statistics.h"

#include "base/random.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#define EXACT_PAIRS 50 /* Wilcoxon: up to here every outcome is counted */

/* --- one sample -------------------------------------------------------------------- */

double s2_mean(const double *x, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) sum += x[i];
    return sum / (double)n;
}

double s2_deviation(const double *x, size_t n)
{
    const double mean = s2_mean(x, n);
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) sum += (x[i] - mean) * (x[i] - mean);
    return n > 1 ? sqrt(sum / (double)(n - 1)) : (double)NAN;
}

double s2_quantile(const double *sorted, size_t n, double q)
{
    const double at = q * (double)(n - 1);
    const size_t below = (size_t)at;
    if (below + 1 >= n) return sorted[n - 1];
    return sorted[below] + (at - (double)below) * (sorted[below + 1] - sorted[below]);
}

static int compare_numbers(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void s2_sort_numbers(double *x, size_t n) { qsort(x, n, sizeof *x, compare_numbers); }

typedef struct place {
    double value;
    size_t index;
} place;

static int compare_places(const void *a, const void *b)
{
    const place *x = a, *y = b;
    if (x->value != y->value) return x->value < y->value ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

s2p_status s2_ranks(const double *x, size_t n, double *rank)
{
    place *order = malloc((n + 1) * sizeof *order);
    if (!order) return S2P_ENOMEM;
    for (size_t i = 0; i < n; i++) order[i] = (place){ x[i], i };
    qsort(order, n, sizeof *order, compare_places);
    for (size_t first = 0, last; first < n; first = last) {
        for (last = first + 1; last < n; last++)
            if (order[last].value != order[first].value) break;
        for (size_t i = first; i < last; i++)
            rank[order[i].index] = 0.5 * (double)(first + 1 + last);
    }
    free(order);
    return S2P_OK;
}

/* --- correlations ------------------------------------------------------------------------ */

double s2_pearson(const double *x, const double *y, size_t n)
{
    const double mean_x = s2_mean(x, n), mean_y = s2_mean(y, n);
    double xx = 0.0, yy = 0.0, xy = 0.0;
    for (size_t i = 0; i < n; i++) {
        const double dx = x[i] - mean_x, dy = y[i] - mean_y;
        xx += dx * dx;
        yy += dy * dy;
        xy += dx * dy;
    }
    return xx > 0.0 && yy > 0.0 ? fmax(-1.0, fmin(1.0, xy / sqrt(xx) / sqrt(yy))) : (double)NAN;
}

s2p_status s2_spearman(const double *x, const double *y, size_t n, double *out)
{
    double *rank_x = malloc((n + 1) * sizeof *rank_x), *rank_y = malloc((n + 1) * sizeof *rank_y);
    s2p_status st = rank_x && rank_y ? S2P_OK : S2P_ENOMEM;
    if (st == S2P_OK) st = s2_ranks(x, n, rank_x);
    if (st == S2P_OK) st = s2_ranks(y, n, rank_y);
    if (st == S2P_OK) *out = s2_pearson(rank_x, rank_y, n);
    free(rank_x);
    free(rank_y);
    return st;
}

/* --- distributions -------------------------------------------------------------------------- */

static double normal_above(double z) { return 0.5 * erfc(z / sqrt(2.0)); }

/* z with normal_above(z) == p, 0 < p < 0.5. Starts below and climbs: there the tail is convex, so
 * Newton never overshoots. */
static double normal_quantile_above(double p)
{
    const double pi = 3.14159265358979323846;
    double z = 0.0;
    for (int i = 0; i < 200; i++) {
        const double density = exp(-0.5 * z * z) / sqrt(2.0 * pi);
        const double step = (normal_above(z) - p) / density;
        z += step;
        if (fabs(step) < 1e-15 * (1.0 + z)) break;
    }
    return z;
}

/* Continued fraction of the incomplete beta function, from the front (modified Lentz). */
static double beta_fraction(double a, double b, double x)
{
    const double tiny = 1e-300;
    double c = 1.0, d = 1.0 - (a + b) * x / (a + 1.0);
    if (fabs(d) < tiny) d = tiny;
    d = 1.0 / d;
    double value = d;
    for (int m = 1; m < 10000; m++) {
        for (int half = 0; half < 2; half++) {
            const double t = half == 0
                                 ? m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
                                 : -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1));
            d = 1.0 + t * d;
            if (fabs(d) < tiny) d = tiny;
            c = 1.0 + t / c;
            if (fabs(c) < tiny) c = tiny;
            d = 1.0 / d;
            value *= c * d;
        }
        if (fabs(c * d - 1.0) < 1e-16) break;
    }
    return value;
}

/* Regularised incomplete beta function. */
static double beta_share(double a, double b, double x)
{
    if (x <= 0.0) return 0.0;
    if (x >= 1.0) return 1.0;
    const double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    if (x < (a + 1.0) / (a + b + 2.0)) return front * beta_fraction(a, b, x) / a;
    return 1.0 - front * beta_fraction(b, a, 1.0 - x) / b;
}

/* --- intervals ---------------------------------------------------------------------------------- */

s2_interval s2_wilson(double right, double n, double confidence)
{
    if (!(n > 0.0)) return (s2_interval){ (double)NAN, (double)NAN };
    const double z = normal_quantile_above(0.5 * (1.0 - confidence));
    const double p = right / n, zz = z * z / n;
    const double centre = (p + 0.5 * zz) / (1.0 + zz);
    const double half = z * sqrt(p * (1.0 - p) / n + 0.25 * zz / n) / (1.0 + zz);
    return (s2_interval){ right <= 0.0 ? 0.0 : centre - half, right >= n ? 1.0 : centre + half };
}

s2p_status s2_bootstrap(const double *value, const double *weight, size_t n, int32_t rounds,
                        uint64_t seed, double confidence, s2_interval *out)
{
    if (n < 1 || n > UINT32_MAX || rounds < 1) return S2P_EINVAL;
    double *drawn = malloc((size_t)rounds * sizeof *drawn);
    if (!drawn) return S2P_ENOMEM;
    s2_random random = { seed };
    for (int32_t r = 0; r < rounds; r++) {
        double sum = 0.0, total = 0.0;
        for (size_t i = 0; i < n; i++) {
            const uint32_t k = s2_random_below(&random, (uint32_t)n);
            sum += value[k];
            total += weight ? weight[k] : 1.0;
        }
        drawn[r] = total > 0.0 ? sum / total : 0.0;
    }
    s2_sort_numbers(drawn, (size_t)rounds);
    out->low = s2_quantile(drawn, (size_t)rounds, 0.5 * (1.0 - confidence));
    out->high = s2_quantile(drawn, (size_t)rounds, 0.5 * (1.0 + confidence));
    free(drawn);
    return S2P_OK;
}

/* --- how fine a sample is ---------------------------------------------------------------------------- */

double s2_ratio_error(const double *value, const double *weight, size_t n)
{
    double sum = 0.0, total = 0.0, square = 0.0;
    for (size_t i = 0; i < n; i++) {
        sum += value[i];
        total += weight ? weight[i] : 1.0;
    }
    if (n < 2 || !(total > 0.0)) return (double)NAN;
    for (size_t i = 0; i < n; i++) {
        const double rest = value[i] - sum / total * (weight ? weight[i] : 1.0);
        square += rest * rest;
    }
    return sqrt((double)n / ((double)n - 1.0) * square) / total;
}

double s2_smallest_difference(double error, double confidence, double power)
{
    if (!(error > 0.0)) return (double)NAN;
    return error *
           (normal_quantile_above(0.5 * (1.0 - confidence)) + normal_quantile_above(1.0 - power));
}

/* --- paired tests --------------------------------------------------------------------------------- */

s2_test s2_paired_t(const double *x, const double *y, size_t n)
{
    if (n < 2) return (s2_test){ (double)NAN, (double)NAN };
    double mean = 0.0, square = 0.0;
    for (size_t i = 0; i < n; i++) mean += (x[i] - y[i]) / (double)n;
    for (size_t i = 0; i < n; i++) square += (x[i] - y[i] - mean) * (x[i] - y[i] - mean);
    const double freedom = (double)n - 1.0;
    if (!(square > 0.0)) return (s2_test){ (double)NAN, (double)NAN };
    const double t = mean / sqrt(square / freedom / (double)n);
    return (s2_test){ t, beta_share(0.5 * freedom, 0.5, freedom / (freedom + t * t)) };
}

/* Chance that the ranks 1..n, each in or out with equal chance, sum up to `most` or less. */
static double rank_sum_below(size_t n, size_t most)
{
    double ways[EXACT_PAIRS * (EXACT_PAIRS + 1) / 2 + 1] = { 1.0 };
    for (size_t rank = 1, top = 0; rank <= n; rank++) {
        top += rank;
        for (size_t sum = top + 1; sum-- > rank;) ways[sum] += ways[sum - rank];
    }
    double below = 0.0;
    for (size_t sum = 0; sum <= most; sum++) below += ways[sum];
    return ldexp(below, -(int)n);
}

/* rank: of the n absolute differences that are not zero; sum: of those that are positive. */
static s2_test judge_ranks(const double *rank, size_t n, double sum)
{
    const double all = 0.5 * (double)n * ((double)n + 1.0);
    const double fewer = fmin(sum, all - sum);
    double square = 0.0, untied = 0.0;
    for (size_t i = 0; i < n; i++) square += rank[i] * rank[i];
    for (size_t i = 1; i <= n; i++) untied += (double)i * (double)i;
    const bool is_tied = fabs(square - untied) > 0.1;
    if (n <= EXACT_PAIRS && !is_tied)
        return (s2_test){ fewer, fmin(1.0, 2.0 * rank_sum_below(n, (size_t)(fewer + 0.5))) };
    return (s2_test){ fewer, 2.0 * normal_above((0.5 * all - fewer) / sqrt(0.25 * square)) };
}

s2p_status s2_wilcoxon(const double *x, const double *y, size_t n, s2_test *out)
{
    double *size = calloc(n + 1, sizeof *size), *rank = calloc(n + 1, sizeof *rank);
    s2p_status st = size && rank ? S2P_OK : S2P_ENOMEM;
    size_t n_pairs = 0;
    for (size_t i = 0; st == S2P_OK && i < n; i++)
        if (x[i] != y[i]) size[n_pairs++] = fabs(x[i] - y[i]);
    if (st == S2P_OK) st = s2_ranks(size, n_pairs, rank);
    double sum = 0.0;
    for (size_t i = 0, k = 0; st == S2P_OK && i < n; i++) {
        if (x[i] > y[i]) sum += rank[k];
        k += x[i] != y[i];
    }
    if (st == S2P_OK)
        *out = n_pairs ? judge_ranks(rank, n_pairs, sum) : (s2_test){ (double)NAN, (double)NAN };
    free(size);
    free(rank);
    return st;
}
