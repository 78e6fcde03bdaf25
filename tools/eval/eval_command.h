/* eval_command.h - what the files of `eval` share, from its options to the results. */
#ifndef S2_TOOLS_EVAL_COMMAND_H
#define S2_TOOLS_EVAL_COMMAND_H

#include "ask/tower_cost.h"
#include "asking/asker.h"
#include "eval/evaluate.h"
#include "eval/report/results.h"
#include "progress.h"

/* Everything `eval` owns, from its options to the results. */
typedef struct eval_options {
    ask_options ask; /* first: the shared rows point into it */
    s2_list operands;
    const char *tasks, *data, *methods, *budgets, *samples, *out, *shard, *baseline;
    const char *judge;
    int32_t seeds, limit, predict, output, protocol, step, jpeg;
    bool recompute, keeps_logprobs, is_dry, starts_over, repeats_failed, fingerprint;
} eval_options;

#define EVAL_METHODS "full,random,uniform,s2prune" /* unless something is said */

enum eval_step { EVAL_ALL, EVAL_INFER, EVAL_SCORE };
const char *eval_step_name(size_t index); /* NULL past the end */

typedef struct eval_data { /* the samples of a run's tasks */
    const s2e_task *task[S2E_MAX_TASKS];
    s2e_set set[S2E_MAX_TASKS];
    char folder[S2E_MAX_TASKS][S2_BUNDLED_PATH];
    int32_t n;
} eval_data;

typedef struct eval_context {
    const eval_options *options;
    s2_asker asker;
    s2_tower_size tower; /* of the model, for its FLOPs */
    eval_data data;
    s2a_setting setting[S2A_MAX_SETTINGS];
    int32_t n_settings;
    s2e_shard shard;
    char store_path[4096];
    s2e_store *store;
    bool is_bare;   /* the store is one of an older program: see s2e_column_of */
    json_t *values; /* the fingerprint, see eval/run/fingerprint.h */
} eval_context;

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

/* --- the context ----------------------------------------------------------------------------- */

/* Settings, data and the model's files; nothing is loaded or written. */
s2p_status eval_prepare(eval_context *context, s2p_error *error);

/* The store of the run, ours to write; a run of another configuration is refused. The statuses of
 * a store that cannot be written are those of s2e_store_open. */
s2p_status eval_open_store(eval_context *context, s2p_error *error);

/* Engine and session. */
s2p_status eval_open_model(eval_context *context, s2p_error *error);

/* What s2e_evaluate wants; `asking`: [S2E_MAX_TASKS], filled. */
s2e_evaluation eval_work(eval_context *context, s2e_asking *asking);

void eval_context_free(eval_context *context);

/* eval_progress.c: how far a run is, on standard error. */
typedef struct eval_progress {
    s2_progress_form form; /* auto only on a terminal */
    bool is_shown;
    double last_ms; /* when something was shown */
} eval_progress;

void eval_progress_start(eval_progress *progress, s2_progress_form form, bool is_quiet);
void eval_progress_show(eval_progress *progress, const s2e_progress *p);
void eval_progress_end(eval_progress *progress);

/* eval_output.c: what comes out of a run: tables on standard output, files in its folder. */

/* The tables in the form of -o, on standard output; the exit code. */
int eval_print_tables(const s2e_results *results, int32_t form);

typedef struct eval_report { /* a run that is complete, with what it is compared with */
    s2e_store *store;
    eval_data data;
    s2e_results results;
} eval_report;

/* Load what `folder` holds; data_dir NULL: from where it says its data are. */
s2p_status eval_report_load(const char *folder, const char *data_dir, eval_report *out,
                            s2p_error *error);
void eval_report_free(eval_report *report);

/* Tables on standard output; with `folder` every document there; --samples; against --baseline. The
 * exit code. */
int eval_report_write(const eval_options *options, const s2e_results *results, s2e_store *store,
                      const char *folder);

/* --judge: "local", "export". Anything else is refused, with what there is instead. */
s2p_status eval_judge_check(const char *judge, s2p_error *error);

/* Every answer as a line of JSON, by the order of the data; the exit code. */
int eval_write_samples(const char *path, s2e_store *store, const s2e_results *results);

/* eval_estimate.c: `eval --dry-run`: what a run would take. */

/* Ask the first sample of every task under every setting, keep nothing, and print what all of them
 * would be. The context is prepared; its sets are cut to one sample. The exit code. */
int eval_estimate(eval_context *context);

/* eval_questions.c: `eval questions`: every question of the tasks as a line of JSON; the exit code. */
int eval_questions(const eval_options *options);

/* eval_verbs.c: `eval merge`, `eval status`, `eval export`. */

/* The first operand is the verb; the exit code. */
int eval_verb(const eval_options *options);

#endif /* S2_TOOLS_EVAL_COMMAND_H */
