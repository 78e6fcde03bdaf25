/* results.h - what the answers of a run are worth: read from its store, judged by all protocols.
 *
 * A column is a method at a budget; a result is a column on one task. Where a method draws, figures
 * and scores are the mean over its seeds.
 */
#ifndef S2_EVAL_REPORT_RESULTS_H
#define S2_EVAL_REPORT_RESULTS_H

#include "eval/run/run_plan.h"
#include "eval/run/store.h"
#include "eval/task.h"

typedef struct s2e_result {
    s2e_column column;
    s2_budget budget;                     /* of the column; all zero: every token */
    float *score[S2E_N_PROTOCOLS];        /* [n_samples] mean over the seeds */
    s2e_figures figures[S2E_N_PROTOCOLS]; /* mean over the seeds */
    /* [n_seeds][units][parts] in the run's own protocol: see parts.h. NULL: the headline is a
     * mean. */
    double *parts;
    double image_tokens, prompt_ms,
        kv_bytes;   /* mean per answer: kept, prefill of a whole prompt, visual
                                                 cache */
    double seconds; /* of all its answers */
    int64_t n_answers, n_failures;
} s2e_result;

typedef struct s2e_task_results {
    const s2e_task *task;
    const s2e_set *set; /* borrowed */
    s2e_result *result; /* [n_results] in the order of the run's columns */
    int32_t n_results;
} s2e_task_results;

typedef struct s2e_results { /* all zero: none. Free with s2e_results_free */
    s2e_task_results task[S2E_MAX_TASKS];
    int32_t n_tasks;
    s2e_protocol protocol; /* the run's own: whose prompts it used */
    bool is_published;     /* methods as their authors' code has them */
    json_t *values;        /* of the run: see fingerprint.h */
    char model[64];        /* its name */
} s2e_results;

/* set: [n_tasks] the data of the run's tasks, in its order, borrowed as long as the results live.
 * S2P_EFORMAT: answers are missing, or are about other data. On failure *out is empty. */
s2p_status s2e_results_load(s2e_store *store, const s2e_set *const *set, s2e_results *out,
                            s2p_error *error);
void s2e_results_free(s2e_results *results);

/* The same column of another task, and a column by name; NULL: there is none. */
const s2e_result *s2e_results_find(const s2e_task_results *task, const char *method,
                                   const char *budget);

/* The column that keeps every token; NULL: the run has none. */
const s2e_result *s2e_results_full(const s2e_task_results *task);

/* The figure a table shows for a result. *best: the largest possible. NAN: there is none. */
double s2e_result_headline(const s2e_result *result, s2e_protocol protocol, double *best);

#endif /* S2_EVAL_REPORT_RESULTS_H */
