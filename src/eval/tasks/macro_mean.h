/* macro_mean.h - accuracy where every category counts the same: the mean of the categories' means.
 *
 * The category that counts is a sample's last one: the finer of two levels, or the split.
 */
#ifndef S2_EVAL_MACRO_MEAN_H
#define S2_EVAL_MACRO_MEAN_H

#include "eval/task.h"

/* Of all samples, of every category, and the mean of means under `macro_name`, in percent; the
 * headline is the first or the last of them. */
s2p_status s2e_figures_with_macro(const s2e_set *set, const s2e_verdict *verdict, const char *name,
                                  const char *macro_name, bool macro_is_headline, s2e_figures *out,
                                  s2p_error *error);

/* The counts of both, for s2e_counts. */
int32_t s2e_macro_counts(const s2e_set *set);
void s2e_macro_add(const s2e_set *set, s2e_protocol protocol, const s2e_verdict *verdict,
                   int32_t first, int32_t last, double *out);
double s2e_macro_value(const s2e_set *set, const double *count, bool is_macro);

#endif /* S2_EVAL_MACRO_MEAN_H */
