/* analyses.h - the analyses: from trials to the figures and tables of a study. */
#ifndef S2_ANALYZE_ANALYSES_H
#define S2_ANALYZE_ANALYSES_H

#include "analyze/rates.h"
#include "analyze/study.h"
#include "analyze/trials.h"

/* accuracy.c: figures and tables of scores: Figures 3, 5, 6 and 7, Tables 4 and S3. */

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

/* pareto.c: accuracy, and agreement with the answers of all tokens, against what it costs. */

/* A figure of each against time to first token and against FLOPs, with the settings that nothing beats in
 * both, and all numbers as a table. Without "full" there is no agreement; of answers whose cost was not
 * measured no figure. S2P_EINVAL: no setting has a cost. */
s2p_status s2_analyze_pareto(const s2_trials *trials, s2_study *study, s2p_error *error);

/* Which of n settings no other one beats: at least as good for at most the cost, and better in one of the two.
 * Values that are not finite are not. is_front: [n] out. */
void s2_pareto_front(const double *cost, const double *value, int32_t n, bool *is_front);

/* One of the numbers of a setting, its mean over the questions that every setting has answered; and the mean
 * of visual tokens used. full: the setting whose answers agreement compares with, or -1. NaN: the number is
 * unknown for every question. S2P_ENOMEM. */
enum { S2_WORTH_ACCURACY, S2_WORTH_AGREEMENT, S2_COST_FIRST_MS, S2_COST_TFLOPS, S2_PARETO_NUMBERS };
s2p_status s2_pareto_mean(const s2_trials *trials, int32_t setting, int32_t full, int which,
                          s2_rate *out);
double s2_pareto_tokens(const s2_trials *trials, int32_t setting);

/* layer.c: the same numbers against the decoder layer after which a method prunes. */

/* A panel for each, a line for each method and budget, and all as a table. Settings that name their layer
 * (has_after) have a point; "full" is a dashed line. S2P_EINVAL: no setting names one. */
s2p_status s2_analyze_layer(const s2_trials *trials, s2_study *study, s2p_error *error);

/* spatial.c: where the kept tokens lie: Figure 2, Figures S1 and S2, Table S1. */

/* The outer two rows and columns; the middle half of both. */
bool s2_is_edge(s2p_grid grid, int32_t token);
bool s2_is_centre(s2p_grid grid, int32_t token);

typedef struct s2_banding { /* of rows, or of columns */
    double share;           /* of the map's variance that their means explain, 0 to 1 */
    double p;               /* chance of that when every picture is shifted round at random */
    double period;          /* of the strongest wave of the means, in tokens */
    double period_share;    /* of their variance */
} s2_banding;

/* kept: trials of one setting, [n] of them; is_rows: else columns. S2P_ENOMEM. */
s2p_status s2_banding_of(const s2_trial *const *kept, int32_t n, s2p_grid grid, bool is_rows,
                         s2_banding *out);

/* Shares, bandings, correlations across budgets, a map for each setting. Settings whose tokens are
 * not known are left out. */
s2p_status s2_analyze_spatial(const s2_trials *trials, s2_study *study, s2p_error *error);

/* overlap.c: how much two methods keep in common. */

/* Tokens both keep over tokens either keeps. */
double s2_overlap_of(const s2_trial *a, const s2_trial *b);

/* A map of mean overlaps for each budget, and all of them as a table. */
s2p_status s2_analyze_overlap(const s2_trials *trials, s2_study *study, s2p_error *error);

/* cases.c: pictures where one method alone is right, or alone is wrong, with what each kept. */

/* The first `most` questions (0: six), one a picture, that `reference` answers and all other settings of
 * its budget do not, and the first that it alone does not; two sheets for each budget, and a table that
 * counts wins and losses against every setting. The full model is shown, and need not be right. */
s2p_status s2_analyze_cases(const s2_trials *trials, const char *reference, int32_t most,
                            s2_study *study, s2p_error *error);

/* What every setting of each budget keeps of one picture, side by side (Figure 2a). */
s2p_status s2_analyze_example(const s2_trials *trials, int32_t question, s2_study *study,
                              s2p_error *error);

#endif /* S2_ANALYZE_ANALYSES_H */
