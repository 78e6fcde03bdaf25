/* eval_job.h - everything `eval` owns, from its options to the results. */
#ifndef S2_TOOLS_EVAL_JOB_H
#define S2_TOOLS_EVAL_JOB_H

#include "asking/asker.h"
#include "eval/evaluate.h"
#include "eval/report/results.h"

typedef struct eval_options {
    ask_options ask; /* first: the shared rows point into it */
    s2_list operands;
    const char *tasks, *data, *methods, *budgets, *samples, *out, *shard, *baseline;
    const char *judge;
    int32_t seeds, limit, predict, output, protocol, step, jpeg;
    bool recompute, is_dry, starts_over, repeats_failed;
} eval_options;

enum eval_step { EVAL_ALL, EVAL_INFER, EVAL_SCORE };
const char *eval_step_name(size_t index); /* NULL past the end */

typedef struct eval_data { /* the samples of a run's tasks */
    const s2e_task *task[S2E_MAX_TASKS];
    s2e_set set[S2E_MAX_TASKS];
    char folder[S2E_MAX_TASKS][S2_BUNDLED_PATH];
    int32_t n;
} eval_data;

typedef struct eval_job {
    const eval_options *options;
    s2_asker asker;
    eval_data data;
    s2a_setting setting[S2A_MAX_SETTINGS];
    int32_t n_settings;
    s2e_shard shard;
    char store_path[4096];
    s2e_store *store;
    json_t *values; /* the fingerprint, see eval/run/fingerprint.h */
} eval_job;

/* --- data ------------------------------------------------------------------------------ */

/* One more task from `folder` (or what is in it under the task's name; NULL: the bundled data), at
 * most `limit` samples of it (0: all). */
s2p_status eval_data_add(eval_data *data, const char *name, const char *folder, int32_t limit,
                         s2p_error *error);

/* The data of a run, from where it says they are, or from --data-dir. */
s2p_status eval_data_of_run(eval_data *data, const json_t *values, const char *folder,
                            s2p_error *error);
void eval_data_free(eval_data *data);
void eval_data_sets(const eval_data *data, const s2e_set *out[S2E_MAX_TASKS]);

/* One item that could not be used, with its file and row, on standard error. */
void eval_tell_problem(const char *task, const s2e_problem *problem);

/* Say on standard error what could not be read; the number of items. */
int32_t eval_data_problems(const eval_data *data, bool is_quiet);

/* --- the job ----------------------------------------------------------------------------- */

/* Settings, data and the model's files; nothing is loaded or written. */
s2p_status eval_prepare(eval_job *job, s2p_error *error);

/* The store of the run, ours to write; a run of another configuration is refused. The statuses of
 * a store that cannot be written are those of s2e_store_open. */
s2p_status eval_open_store(eval_job *job, s2p_error *error);

/* Engine and session. */
s2p_status eval_open_model(eval_job *job, s2p_error *error);

/* What s2e_evaluate wants; `asking`: [S2E_MAX_TASKS], filled. */
s2e_job eval_work(eval_job *job, s2e_asking *asking);

void eval_job_free(eval_job *job);

#endif /* S2_TOOLS_EVAL_JOB_H */
