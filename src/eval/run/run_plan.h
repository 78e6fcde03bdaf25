/* run_plan.h - what a run is made of: its columns (a method at a budget) and its tasks, read back
 * from the values of its store. See fingerprint.h for how they are written.
 */
#ifndef S2_EVAL_RUN_RUN_PLAN_H
#define S2_EVAL_RUN_RUN_PLAN_H

#include "ask/settings.h"
#include "base/json.h"

#define S2E_MAX_TASKS 32
#define S2E_NAME 48u /* bytes of a method or task, with its NUL */

typedef struct s2e_column {
    char method[S2E_NAME], budget[S2A_BUDGET_TEXT]; /* "s2prune", "64" or "10%" or "-" */
    int32_t n_seeds;                                /* runs; one unless the method draws */
} s2e_column;

typedef struct s2e_run_task { /* a task of the run */
    char name[S2E_NAME];
    int32_t n_samples;
} s2e_run_task;

typedef struct s2e_run_plan {
    s2e_column column[S2A_MAX_SETTINGS];
    s2e_run_task task[S2E_MAX_TASKS];
    int32_t n_columns, n_tasks;
} s2e_run_plan;

s2e_column s2e_column_of(const s2a_setting *setting, int32_t n_seeds);

/* "full/-,random/64*3,s2prune/64" */
void s2e_columns_write(const s2e_column *column, int32_t n, s2_buffer *out);

/* S2P_EFORMAT: values that no run of ours has. */
s2p_status s2e_run_plan_read(const json_t *values, s2e_run_plan *out, s2p_error *error);

/* Answers of the whole run. */
int64_t s2e_run_plan_answers(const s2e_run_plan *plan);

#endif /* S2_EVAL_RUN_RUN_PLAN_H */
