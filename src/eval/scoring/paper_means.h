/* paper_means.h - the two means of the paper's tables. */
#ifndef S2_EVAL_SCORING_PAPER_MEANS_H
#define S2_EVAL_SCORING_PAPER_MEANS_H

#include <stdint.h>

/* Acc.: mean of the scores in percent; MME, whose best is 2800, counts as a 28th.
 * score, best: [n]; best is the largest possible of each. */
double s2e_paper_acc(const double *score, const double *best, int32_t n);

/* Rel.: mean of the ratios to the full model, in percent. A benchmark the full model has 0 on is left
 * out. */
double s2e_paper_rel(const double *score, const double *full, int32_t n);

#endif /* S2_EVAL_SCORING_PAPER_MEANS_H */
