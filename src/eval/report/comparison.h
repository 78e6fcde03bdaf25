/* comparison.h - two runs on the same data, sample by sample. */
#ifndef S2_EVAL_REPORT_COMPARISON_H
#define S2_EVAL_REPORT_COMPARISON_H

#include "eval/metrics.h"
#include "eval/report/results.h"

typedef struct s2e_comparison {
    const s2e_task *task;
    const s2e_column *ours, *theirs;
    double our_score, their_score;  /* percent, mean over the samples */
    s2e_interval gain;              /* ours minus theirs, paired over pictures */
    s2e_interval headline;          /* the same of the number of the tables; NAN: not known */
    int32_t only_ours, only_theirs; /* samples right here and wrong there, and the other way */
    double p;                       /* McNemar's exact test of the two */
} s2e_comparison;

/* Columns of the same name; a baseline of a single column is compared with every one. *out: new
 * memory, free(). S2P_EINVAL: other data, or nothing in common. */
s2p_status s2e_compare(const s2e_results *ours, const s2e_results *theirs, s2e_comparison **out,
                       int32_t *n, s2p_error *error);

#endif /* S2_EVAL_REPORT_COMPARISON_H */
