/* means.h - figures made from many scores. */
#ifndef S2_EVAL_SCORING_MEANS_H
#define S2_EVAL_SCORING_MEANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* paper_means.c: the two means of the paper's tables. */

/* Acc.: mean of the scores in percent; MME, whose best is 2800, counts as a 28th.
 * score, best: [n]; best is the largest possible of each. */
double s2e_paper_acc(const double *score, const double *best, int32_t n);

/* Rel.: mean of the ratios to the full model, in percent. A benchmark the full model has 0 on is left
 * out. */
double s2e_paper_rel(const double *score, const double *full, int32_t n);

/* capabilities.c: MM-Vet's capabilities and their combinations, "rec,know". */
const char *s2e_capability_name(size_t index); /* NULL past the end */

/* How often a question of these capabilities counts for `name`, a capability or a combination joined
 * by '_'. In VLMEvalKit one table holds both, so a question of a single capability counts twice. */
int32_t s2e_capability_weight(const char *capabilities, const char *name, bool one_table);

#endif /* S2_EVAL_SCORING_MEANS_H */
