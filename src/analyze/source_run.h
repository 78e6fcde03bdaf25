/* source_run.h - the answers of an evaluation (s2prune eval), from its store. */
#ifndef S2_ANALYZE_SOURCE_RUN_H
#define S2_ANALYZE_SOURCE_RUN_H

#include "analyze/trials.h"
#include "eval/run/run_plan.h"
#include "eval/run/store.h"
#include "eval/task.h"

/* The columns of a run as settings, in its order. values: those of the store. column: which column
 * each is. out, column: [S2A_MAX_SETTINGS]. S2P_EFORMAT: a method this program does not know. */
s2p_status s2_source_run_settings(const json_t *values, s2a_setting *out, s2e_column *column,
                                  int32_t *n, s2p_error *error);

/* Fill trials whose questions are those of s2_source_task on the run's data and whose settings are
 * of the columns given, [n_settings]. Scores are the protocol's, mean over the seeds; answer and
 * kept tokens those of the first. needs_kept: pictures of different grids are an error; else such
 * trials do not say what was kept. S2P_EFORMAT: answers are missing, or of other data. */
s2p_status s2_source_run(s2e_store *store, const s2e_task *task, const s2e_set *set,
                         s2e_protocol protocol, const s2e_column *column, bool needs_kept,
                         s2_trials *trials, s2p_error *error);

#endif /* S2_ANALYZE_SOURCE_RUN_H */
