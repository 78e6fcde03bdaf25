/* statistics.h - correlations, intervals and paired tests; plain numbers in, plain numbers out.
 *
 * The definitions are those of NumPy and SciPy, and tests/data/statistics holds what they answer.
 * Where a quantity is not defined (no values, no variation) it is NaN, as there.
 */
#ifndef S2_BASE_STATISTICS_H
#define S2_BASE_STATISTICS_H

#include "s2prune.h"

typedef struct s2_interval {
    double low, high;
} s2_interval;

typedef struct s2_test { /* of the hypothesis that there is no difference; two-sided */
    double statistic, p;
} s2_test;

/* --- one sample -------------------------------------------------------------------- */

double s2_mean(const double *x, size_t n);
double s2_deviation(const double *x, size_t n); /* of a sample: divided by n - 1 */

/* sorted: [n] ascending, n >= 1; q from 0 to 1, between two values in proportion. */
double s2_quantile(const double *sorted, size_t n, double q);

/* Ascending, in place. */
void s2_sort_numbers(double *x, size_t n);

/* 1 for the smallest; equal values share the mean of their ranks. rank: [n] out. S2P_ENOMEM. */
s2p_status s2_ranks(const double *x, size_t n, double *rank);

/* --- two of equal length -------------------------------------------------------------- */

double s2_pearson(const double *x, const double *y, size_t n);

/* Pearson of the ranks, ties included. S2P_ENOMEM. */
s2p_status s2_spearman(const double *x, const double *y, size_t n, double *out);

/* --- intervals; confidence such as 0.95 ------------------------------------------------ */

/* Wilson's score interval of `right` out of n. */
s2_interval s2_wilson(double right, double n, double confidence);

/* Percentile interval of sum(value) / sum(weight) over n groups drawn with replacement: a picture
 * with its questions is one group. weight NULL: 1 each, the mean. Two lists of values that belong
 * together are compared by the bootstrap of their differences. The draws are those of
 * s2_random{ seed }, n of them a round. A round without weight counts as 0. S2P_EINVAL: no groups
 * or no rounds. S2P_ENOMEM. */
s2p_status s2_bootstrap(const double *value, const double *weight, size_t n, int32_t rounds,
                        uint64_t seed, double confidence, s2_interval *out);

/* --- how fine a sample is ------------------------------------------------------------------ */

/* Standard error of sum(value) / sum(weight) over n groups, by linearisation:
 *
 *     r = sum(v) / sum(w),   error = sqrt(n / (n - 1) * sum((v - r w)^2)) / sum(w)
 *
 * weight NULL: 1 each, and the error is the deviation divided by the square root of n. NAN below two
 * groups and without weight. */
double s2_ratio_error(const double *value, const double *weight, size_t n);

/* The smallest true difference that a two-sided test at 1 - confidence finds with the chance
 * `power`, when differences scatter with this standard error:
 *
 *     (z(1 - (1 - confidence) / 2) + z(power)) error,   2.80 error for 0.95 and 0.80
 *
 * by the normal approximation. NAN where the error is not above 0: a sample without scatter says
 * nothing about what it could show. */
double s2_smallest_difference(double error, double confidence, double power);

/* --- paired tests; permutation.h has the one that needs no distribution ----------------------- */

/* Student's t of the differences x - y. */
s2_test s2_paired_t(const double *x, const double *y, size_t n);

/* Wilcoxon's signed ranks of x - y; pairs without a difference are left out. Exact up to 50 pairs
 * without ties, else the normal approximation with ties allowed for. statistic: the smaller sum of
 * ranks. S2P_ENOMEM. */
s2p_status s2_wilcoxon(const double *x, const double *y, size_t n, s2_test *out);

#endif /* S2_BASE_STATISTICS_H */
