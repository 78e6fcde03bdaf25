/* results.h - what the answers of a run are worth: read from its store, judged by all protocols.
 *
 * A column is a method at a budget; a result is a column on one task. Where a method draws, figures
 * and scores are the mean over its seeds.
 */
#ifndef S2_EVAL_REPORT_RESULTS_H
#define S2_EVAL_REPORT_RESULTS_H

#include "base/pool.h"
#include "eval/metrics.h"
#include "eval/run/run_plan.h"
#include "eval/run/store.h"
#include "eval/task.h"

/* judged.c: the answers of one column and seed to one task, with the verdicts of all protocols. */
typedef struct s2e_judged { /* all zero: none. Free with s2e_judged_free */
    int32_t n_samples;
    const char **answer;                   /* [n_samples] in the pool; NULL: it failed */
    s2e_verdict *verdict[S2E_N_PROTOCOLS]; /* [n_samples]; a failure has the rule "failed" */
    s2_pool texts;
} s2e_judged;

/* visit NULL: none, else every row beside. S2P_EFORMAT: answers are missing, or are about other
 * samples. On failure *out is empty. */
s2p_status s2e_judged_load(s2e_store *store, const s2e_task *task, const s2e_set *set,
                           const s2e_column *column, int32_t seed, s2e_record_visit visit,
                           void *user, s2e_judged *out, s2p_error *error);
void s2e_judged_free(s2e_judged *judged);

/* counts.c: the counts a headline is computed from, picture by picture: see s2e_counts in task.h. */

/* Pictures with their samples, and samples without a picture: what is drawn. */
int32_t s2e_units_of(const s2e_set *set);

/* The counts of one seed, unit by unit. out: [s2e_units_of(set)][n counts], zero before. */
void s2e_counts_add(const s2e_task *task, const s2e_set *set, s2e_protocol protocol,
                    const s2e_verdict *verdict, double *out);

typedef struct s2e_spread {      /* of a number over the seeds of a method that draws */
    double deviation, low, high; /* of the sample; all NAN with one seed, or no values */
} s2e_spread;

s2e_spread s2e_spread_of(const double *value, int32_t n_seeds);

typedef struct s2e_result {
    s2e_column column;
    s2a_budget budget;                    /* of the column; all zero: every token */
    float *score[S2E_N_PROTOCOLS];        /* [n_samples] mean over the seeds */
    s2e_figures figures[S2E_N_PROTOCOLS]; /* mean over the seeds */
    /* [n_seeds][units][counts] in the run's own protocol: see s2e_counts_add. NULL: the headline is a
     * mean. */
    double *counts;
    /* [n_seeds] mean score in percent, and the number of the tables, in the run's own protocol. */
    double *seed_score, *seed_headline;
    double image_tokens, prompt_ms,
        kv_bytes;              /* mean per answer: kept, prefill of a whole prompt, visual
                                                 cache */
    double flops, tower_flops; /* of a prefill, mean per answer; 0: the store does not have them */
    /* The decoder layers it prunes after, "0" or "8,12" or "before 0"; "": unknown or none. own_after:
     * those the setting asks for where the model has too few layers, else "". */
#define S2E_AFTER_TEXT 40u
    char after[S2E_AFTER_TEXT], own_after[S2E_AFTER_TEXT];
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

/* A column by its label; NULL: there is none. */
const s2e_result *s2e_results_find(const s2e_task_results *task, const char *label,
                                   const char *budget);

/* The column of a method that others are compared with: the one where nothing differs from the
 * method's default, else its only one at that budget; NULL: there is none. */
const s2e_result *s2e_results_reference(const s2e_task_results *task, const char *method,
                                        const char *budget);

/* The column that keeps every token; NULL: the run has none. */
const s2e_result *s2e_results_full(const s2e_task_results *task);

/* The figure a table shows for a result. *best: the largest possible. NAN: there is none. */
double s2e_result_headline(const s2e_result *result, s2e_protocol protocol, double *best);

/* headline.c: the confidence interval of a table's number.
 *
 * An F1, a sum over pairs, a share of whole groups: these are no means of scores. A task says from
 * which counts its number is computed (s2e_counts); the counts of every picture are kept, pictures
 * are drawn, and the number is computed anew from the counts of each draw.
 */

/* The headline in the run's own protocol with its 95 % interval, in its own unit. With `other`, a
 * column on the same data under the same protocol: of one minus other, paired. NAN where there is
 * no headline. S2P_ENOMEM only. */
s2p_status s2e_headline_interval(const s2e_task_results *task, s2e_protocol protocol,
                                 const s2e_result *one, const s2e_result *other, s2e_interval *out);

/* The same as a difference with its test. mean: s2e_difference_of the two, which it is in another unit
 * where the number is a mean. For a number that is no mean the outcomes of a picture,
 * its counts, are swapped between the two columns, seed by seed, and `smallest` comes from the
 * deviation of the drawn differences. Where only one of them draws, its seeds are all compared with
 * the other's one. p is NAN when the numbers of seeds have no common multiple up to
 * S2E_MAX_COMMON_SEEDS. S2P_ENOMEM only. */
#define S2E_MAX_COMMON_SEEDS 1000
s2p_status s2e_headline_difference(const s2e_task_results *task, s2e_protocol protocol,
                                   const s2e_result *one, const s2e_result *other,
                                   const s2e_difference *mean, s2e_difference *out);

/* gains.c: how far a method is ahead of the others of the same budget. */
typedef struct s2e_gain {
    const s2e_result *reference; /* NULL: this column is not compared, and the rest is NAN */
    s2e_difference mean;         /* reference minus this one, mean score in percent */
    s2e_difference headline;     /* the same of the number of the tables */
} s2e_gain;

/* *out: [n_results] new memory, free(). All comparisons of the task, over methods and budgets, are one
 * family for p_holm, those of the headline another. S2P_ENOMEM only, then *out is NULL. */
s2p_status s2e_gains_make(const s2e_task_results *task, s2e_protocol protocol,
                          const char *reference, s2e_gain **out);

/* swaps.c: p of the headline computed from counts that are swapped picture by picture. */
s2p_status s2e_swap_test(const s2e_task_results *task, s2e_protocol protocol, const s2e_result *one,
                         const s2e_result *other, double *p);

#endif /* S2_EVAL_REPORT_RESULTS_H */
