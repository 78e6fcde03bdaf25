/* rates.h - accuracies of trials and how sure they are. */
#ifndef S2_ANALYZE_RATES_H
#define S2_ANALYZE_RATES_H

#include "analyze/table.h"
#include "analyze/trials.h"
#include "base/statistics.h"

#define S2_ALL_CATEGORIES (-1)
#define S2_NO_SETTING (-1)
#define S2_ROUNDS 2000 /* of every bootstrap; seed 1 */

typedef struct s2_rate {     /* percent; NaN: no question */
    double value, low, high; /* 95 % by drawing pictures with their questions */
    int32_t n;               /* questions */
} s2_rate;

/* Of the questions every setting has answered, those of one category; minus the scores of `other`,
 * paired, unless S2_NO_SETTING. wanted: [n_pictures], NULL: all pictures. scale: 100 for percent.
 * S2P_ENOMEM. */
s2p_status s2_rate_of(const s2_trials *trials, int32_t setting, int32_t other, int32_t category,
                      const bool *wanted, double scale, s2_rate *out);

/* Exact McNemar on right and wrong (score of a half or more). */
s2_test s2_rate_test(const s2_trials *trials, int32_t setting, int32_t other);

/* Categories a figure or table shows: those with most questions, in their own order. Returns how
 * many; out: [most]. */
int32_t s2_rate_categories(const s2_trials *trials, int32_t most, int32_t *out);

/* A row for every setting: accuracy by category, mean of the categories (the paper's Acc.), mean of
 * the ratios to `full` (Rel.), all questions with their interval, and the paired difference from
 * `reference` with its interval and McNemar's p. full, reference: settings, or S2_NO_SETTING. */
s2p_status s2_rate_table(const s2_trials *trials, int32_t full, int32_t reference, s2_table *table);

#endif /* S2_ANALYZE_RATES_H */
