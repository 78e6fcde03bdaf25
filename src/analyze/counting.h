/* counting.h - the counts of every picture that a number is computed from; for draws.c and swaps.c. */
#ifndef S2_ANALYZE_COUNTING_H
#define S2_ANALYZE_COUNTING_H

#include "analyze/rates.h"

typedef struct s2_counting { /* of a setting on one part */
    const s2_trials *trials;
    const s2_trial_part *part;
    int32_t setting, n_runs, n_counts, n_units; /* units: pictures with a question of the scope */
    int32_t n;                                  /* questions */
    s2e_verdict *verdict; /* [n_samples] borrowed verdicts of the current picture, else all zero */
    double *count;        /* [n_units][n_runs][n_counts] */
    double *sum;          /* [n_runs][n_counts] of the units that were added */
} s2_counting;

/* n_runs: at least so many; a setting with fewer repeats its own. S2P_ENOMEM. */
s2p_status s2_count(const s2_trials *trials, int32_t setting, s2_scope scope, int32_t n_runs,
                    s2_counting *out);
void s2_counting_free(s2_counting *counting);

void s2_counting_add(s2_counting *counting, int32_t unit);

/* The number of the sums, mean over the runs. */
double s2_counting_value(const s2_counting *counting);

/* The largest possible of it. */
double s2_counting_best(const s2_trial_part *part);

#endif /* S2_ANALYZE_COUNTING_H */
