/* judging.h - what all benchmarks share when answers are judged and counted. */
#ifndef S2_EVAL_JUDGING_H
#define S2_EVAL_JUDGING_H

#include "eval/task.h"

const char *s2e_protocol_name(size_t index); /* NULL past the end */

void s2e_verdict_free(s2e_verdict *verdict);

/* One answer as it is judged where nothing is drawn. grids: what the store says the model saw of the
 * pictures ("[[24,24]]"); NULL: not known. */
s2p_status s2e_judge_one(const s2e_task *task, const s2e_sample *sample, s2e_protocol protocol,
                         const char *answer, const char *grids, s2e_verdict *out, s2p_error *error);

/* Judge a whole set in order of its rows, with fresh draws. answer: [n_samples], NULL where there is
 * none; grids: [n_samples] likewise, or NULL. verdict: [n_samples] out, free each; all zero on failure. */
s2p_status s2e_judge_all(const s2e_task *task, const s2e_set *set, s2e_protocol protocol,
                         const char *const *answer, const char *const *grids, s2e_verdict *verdict,
                         s2p_error *error);

/* Two texts that say the same: letters in any case, spaces around them do not count. */
bool s2e_is_same_answer(const char *a, const char *b);

/* The names of `figure` are copied. */
s2p_status s2e_figures_add(s2e_figures *figures, const s2e_figure *figure, s2p_error *error);
void s2e_figures_free(s2e_figures *figures);
const s2e_figure *s2e_headline(const s2e_figures *figures); /* NULL: none */

/* Mean score of all, in percent, as the headline `name`; then of every category of the set. */
s2p_status s2e_figures_of_categories(const s2e_set *set, const s2e_verdict *verdict,
                                     const char *name, s2e_figures *out, s2p_error *error);

/* The same of every value the text `key` of the samples' extra has; section "key: value". */
s2p_status s2e_figures_by_extra(const s2e_set *set, const s2e_verdict *verdict, const char *key,
                                s2e_figures *out, s2p_error *error);

/* Mean score in percent of those `belongs` chooses; nothing is added when there are none. */
s2p_status s2e_figures_of(const s2e_set *set, const s2e_verdict *verdict,
                          bool (*belongs)(const s2e_sample *sample, const void *user),
                          const void *user, const s2e_figure *named, s2e_figures *out,
                          s2p_error *error);

#endif /* S2_EVAL_JUDGING_H */
