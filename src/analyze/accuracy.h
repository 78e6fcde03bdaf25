/* accuracy.h - figures and tables of scores: Figures 3, 5, 6 and 7, Tables 4 and S3. */
#ifndef S2_ANALYZE_ACCURACY_H
#define S2_ANALYZE_ACCURACY_H

#include "analyze/study.h"
#include "analyze/trials.h"

/* Accuracy against budget, a line for each method, a panel for each kind of question. */
s2p_status s2_analyze_budget(const s2_trials *trials, s2_study *study, s2p_error *error);

/* How much more of the full model's accuracy each method retains than "random", by kind of question.
 * Needs "full" and "random". */
s2p_status s2_analyze_retention(const s2_trials *trials, s2_study *study, s2p_error *error);

/* Bars for every setting, by kind of question, and the table with Acc. and Rel. */
s2p_status s2_analyze_ablation(const s2_trials *trials, s2_study *study, s2p_error *error);

/* Accuracy against the side K of the coarse grid, a line for each budget. */
s2p_status s2_analyze_grid(const s2_trials *trials, s2_study *study, s2p_error *error);

/* Gain of adaptive over equal density by thirds of heterogeneity, a group of bars each. */
s2p_status s2_analyze_heterogeneity(const s2_trials *trials, s2_study *study, s2p_error *error);

#endif /* S2_ANALYZE_ACCURACY_H */
