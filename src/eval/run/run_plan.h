/* run_plan.h - what a run is made of: its columns (a method at a budget) and its tasks, read back
 * from the values of its store. See fingerprint.h for how they are written.
 */
#ifndef S2_EVAL_RUN_RUN_PLAN_H
#define S2_EVAL_RUN_RUN_PLAN_H

#include "ask/settings.h"
#include "base/json.h"

#define S2E_MAX_TASKS 32
#define S2E_MAX_SEEDS 1000 /* of a column */
#define S2E_NAME 48u       /* bytes of a task, with its NUL */
#define S2E_METHOD 96u     /* and of a method without what differs */

typedef struct s2e_column {
    char method[S2A_LABEL_SIZE];  /* as in the store: a label, of older runs the bare method */
    char label[S2A_LABEL_SIZE];   /* of the setting: "s2prune[K=10]" */
    char budget[S2A_BUDGET_TEXT]; /* "64" or "10%" or "-" */
    int32_t n_seeds;              /* runs; one unless the method draws */
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

/* is_bare: `method` is the bare name, as in runs of older programs. */
s2e_column s2e_column_of(const s2a_setting *setting, int32_t n_seeds, bool is_bare);

/* The bare method of a label: the text before the bracket. */
const char *s2e_label_method(const char *label, char out[S2E_METHOD]);

/* "full/-,random/64*3,s2prune[K=10]/64" */
void s2e_columns_write(const s2e_column *column, int32_t n, s2_buffer *out);

/* Mode and structure as all settings of a run have them. */
typedef struct s2e_common {
    bool is_published, is_resized;
} s2e_common;

/* "side=0 allocator=laplacian selector=erc recycle_ratio=0.3", and what else differs between settings
 * only where it differs: mode, after, structure, size. A run of an older program says the same for the
 * same setting. */
void s2e_setting_write(const s2a_setting *setting, s2e_common common, s2_buffer *out);

/* The setting of a column, from what the run says of its method; budget included. false: a method that
 * this program does not have. */
bool s2e_setting_read(const json_t *values, const s2e_column *column, s2a_setting *out);

/* S2P_EFORMAT: values that no run of ours has. */
s2p_status s2e_run_plan_read(const json_t *values, s2e_run_plan *out, s2p_error *error);

/* Answers of the whole run. */
int64_t s2e_run_plan_answers(const s2e_run_plan *plan);

#endif /* S2_EVAL_RUN_RUN_PLAN_H */
