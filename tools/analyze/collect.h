/* collect.h - trials from what is on the disk already: a run of `eval`, recordings of `run --record`. */
#ifndef S2_TOOLS_COLLECT_H
#define S2_TOOLS_COLLECT_H

#include "analyze/analyze_job.h"

/* --run: the store, the task (the run's own, or --tasks of several) and its data. */
s2p_status s2_collect_run_open(analyze_job *job, s2p_error *error);

/* Its columns, all or those of --methods and --budgets, as trials. */
s2p_status s2_collect_run(analyze_job *job, const s2_analysis *analysis, s2_trials *trials,
                          s2p_error *error);

/* --recorded: a folder of `run --record`, or one that holds such folders. */
s2p_status s2_collect_recorded(analyze_job *job, const s2_analysis *analysis, s2_trials *trials,
                               s2p_error *error);

#endif /* S2_TOOLS_COLLECT_H */
