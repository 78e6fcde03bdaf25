/* rates.h - the numbers of benchmarks on trials and how sure they are.
 *
 * A number is the benchmark's own: POPE's F1, MME's total, elsewhere the mean score in percent. It is
 * computed from counts that add up over pictures (s2e_counts), so that the same rule serves a kind of
 * question, a third of the pictures and every draw of the bootstrap. Over several benchmarks numbers
 * are averaged as in the paper: Acc. takes each as a percentage of the largest possible, Rel. is the
 * mean of the ratios to the full model.
 */
#ifndef S2_ANALYZE_RATES_H
#define S2_ANALYZE_RATES_H

#include "analyze/table.h"
#include "analyze/trials.h"
#include "base/permutation.h"

#define S2_ALL_PARTS (-1)
#define S2_ALL_CATEGORIES (-1)
#define S2_NO_SETTING (-1)
#define S2_ROUNDS 2000 /* of every bootstrap; the seed is 1 for the first part, 2 for the second */

typedef struct s2_scope { /* which questions, of those every setting has answered */
    int32_t part;         /* S2_ALL_PARTS: each by itself, then their mean */
    int32_t category;     /* of the part */
    const bool *wanted;   /* [n_pictures]; NULL: all pictures */
} s2_scope;

#define S2_EVERYTHING ((s2_scope){ S2_ALL_PARTS, S2_ALL_CATEGORIES, NULL })

typedef struct s2_rate {     /* NaN: no question */
    double value, low, high; /* 95 % by drawing pictures with their questions */
    double best;             /* the largest possible: 100 for percentages */
    int32_t n;               /* questions */
    double error; /* standard error over pictures: of a mean by linearisation, else that of
                                the draws */
} s2_rate;

/* draws.c: one number, with its values on S2_ROUNDS draws of pictures. Equal questions have equal
 * draws, so that what two settings make of them can be compared draw by draw. */
typedef struct s2_draws {
    double value, best; /* NaN: no question */
    int32_t n;
    double drawn[S2_ROUNDS];
} s2_draws;

/* scope: of one part. S2P_ENOMEM. */
s2p_status s2_draw(const s2_trials *trials, int32_t setting, s2_scope scope, s2_draws *out);

/* swaps.c: pictures swapped between two settings, on the questions every setting has answered. statistic:
 * the difference of Acc., as a share of the largest possible. S2P_ENOMEM. */
s2p_status s2_rate_test(const s2_trials *trials, int32_t setting, int32_t other, s2_test *out);

/* rates.c */

/* In the unit of the benchmark; over several, in percent of the largest possible (Acc.). Minus the number
 * of `other`, paired, unless S2_NO_SETTING. S2P_ENOMEM. */
s2p_status s2_rate_of(const s2_trials *trials, int32_t setting, int32_t other, s2_scope scope,
                      s2_rate *out);

/* The same in percent of the largest possible for one part too. */
s2p_status s2_rate_percent(const s2_trials *trials, int32_t setting, int32_t other, s2_scope scope,
                           s2_rate *out);

/* In percent of what `full` has; over several parts the mean of the ratios (Rel.). Minus that of
 * `other`, paired, unless S2_NO_SETTING. A part where full has nothing is left out. */
s2p_status s2_rate_retained(const s2_trials *trials, int32_t setting, int32_t other, int32_t full,
                            s2_scope scope, s2_rate *out);

/* What a figure or table shows side by side: of one benchmark its kinds of questions, those with most
 * questions in their own order; else the benchmarks. Returns how many; out: [most], each with its
 * part. *n_all: how many there are. */
int32_t s2_rate_scopes(const s2_trials *trials, int32_t most, s2_scope *out, int32_t *n_all);

/* "counting", or "POPE" */
const char *s2_scope_name(const s2_trials *trials, s2_scope scope);

/* A row for every setting: the number of each kind of question or benchmark, Acc., Rel., of one
 * benchmark also its number over all questions; intervals; and the paired difference from
 * `reference`, a method, at the same budget, with its interval, the smallest difference the pictures can
 * show (80 % power at .05), the p of swaps and Holm's correction of it over the rows. full: a setting or
 * S2_NO_SETTING; reference: NULL for none. */
s2p_status s2_rate_table(const s2_trials *trials, int32_t full, const char *reference,
                         s2_table *table);

#endif /* S2_ANALYZE_RATES_H */
