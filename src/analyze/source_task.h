/* source_task.h - the questions of a benchmark, for an analysis. */
#ifndef S2_ANALYZE_SOURCE_TASK_H
#define S2_ANALYZE_SOURCE_TASK_H

#include "analyze/trials.h"
#include "eval/task.h"

/* Up to `per_picture` questions (0: all) of the first `n_pictures` pictures (0: all). Which ones
 * changes from picture to picture, so that every kind of question comes up about as often. The set
 * is borrowed as long as the trials live: pictures are read from it, also those inside tables. */
s2p_status s2_source_task(const s2e_task *task, const s2e_set *set, int32_t per_picture,
                          int32_t n_pictures, s2_trials *out, s2p_error *error);

/* 0 to 1. */
float s2_source_score(const s2e_task *task, const s2e_set *set, const s2_trial_question *question,
                      const char *answer);

#endif /* S2_ANALYZE_SOURCE_TASK_H */
