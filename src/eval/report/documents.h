/* documents.h - the files a run leaves for people: one row of a table each.
 *
 *     report.md, report.html     tables, figures by category, comparisons; the page has the samples too
 *     table.tex                  the paper's table
 *     curves.svg                 accuracy by budget
 *     results.csv                every figure of every protocol, one a row
 *     per_sample.csv             every answer, in the columns of the authors' release and some more
 *     summary.json               everything above as JSON, schema s2prune.eval-summary/1
 *     run_config.json            what the run is
 *
 * The same answers with the same times give the same bytes. Times are in the columns "prefill ms" and
 * "prefill_ms", in per_sample.csv, and in summary.json's members "..._ms" and "seconds".
 */
#ifndef S2_EVAL_REPORT_DOCUMENTS_H
#define S2_EVAL_REPORT_DOCUMENTS_H

#include "base/buffer.h"
#include "eval/metrics.h"
#include "eval/report/results.h"
#include "eval/run/run_plan.h"
#include "eval/run/store.h"
#include "eval/task.h"

/* comparison.c: two runs on the same data, sample by sample. */
typedef struct s2e_comparison {
    const s2e_task *task;
    const s2e_column *ours, *theirs;
    double our_score, their_score;   /* percent, mean over the samples */
    double our_tokens, their_tokens; /* visual tokens used, mean over the samples */
    s2e_difference gain;             /* ours minus theirs, paired over pictures */
    s2e_difference headline;         /* the same of the number of the tables; NAN: not known */
    int32_t only_ours, only_theirs;  /* samples right here and wrong there, and the other way */
} s2e_comparison;

/* Columns of the same name; a baseline of a single column is compared with every one. All of them are
 * one family of tests (p_holm); the headlines are another. *out: new memory, free(). S2P_EINVAL: other
 * data, or nothing in common. */
s2p_status s2e_compare(const s2e_results *ours, const s2e_results *theirs, s2e_comparison **out,
                       int32_t *n, s2p_error *error);

/* What a table of comparisons means, for people; a format without arguments. */
#define S2E_COMPARISON_WORDS                                                                       \
    "Paired by sample; intervals by resampling pictures; p by swapping the outcomes of pictures, " \
    "corrected by Holm over the rows. Can show: the smallest difference that these pictures show " \
    "with 80 %% power at p .05."

/* paper_table.c: the paper's table: methods down, benchmarks across, Acc. and Rel.
 *
 * Acc. is the mean over the benchmarks of the figure as a share of the best there is: percentages
 * stay, MME's 2800 is divided by 28. Rel. is the mean of each benchmark's ratio to the row that keeps
 * every token. Both, and the places, are computed from figures that were not rounded: what is shown
 * as the same figure may have different places, and only equal scores share one.
 */

typedef enum s2e_mark { S2E_PLAIN, S2E_BEST, S2E_SECOND } s2e_mark; /* among those of a budget */

typedef struct s2e_paper_row {
    const s2e_column *column;         /* NULL: of no run */
    bool is_full;                     /* keeps every token: the others' Rel., and without a place */
    int32_t group;                    /* rows of one number, of one budget, are ranked together */
    double value[S2E_MAX_TASKS];      /* headlines; NAN: there is none */
    double acc, rel;                  /* percent; rel is NAN without a full row */
    s2e_mark mark[S2E_MAX_TASKS + 2]; /* of the values, acc and rel */
} s2e_paper_row;

typedef struct s2e_paper_table { /* free with s2e_paper_table_free */
    s2e_paper_row *row;
    int32_t n_rows, n_tasks;
} s2e_paper_table;

/* From is_full, group and value of every row to the rest. best: [n_tasks] the largest possible figure
 * of each benchmark. Where the cells come from does not matter: a run, or a printed table. */
void s2e_paper_table_complete(s2e_paper_table *table, const double *best);

s2p_status s2e_paper_table_make(const s2e_results *results, s2e_protocol protocol,
                                s2e_paper_table *out, s2p_error *error);
void s2e_paper_table_free(s2e_paper_table *table);

/* paper_intervals.c: how sure Acc. and Rel. are.
 *
 * In each of S2E_RESAMPLES rounds the pictures of every benchmark are drawn with replacement, the
 * benchmarks independently (seed 1 + place of the benchmark); the headlines of all rows are computed
 * from the same pictures, and Acc. and Rel. from them.
 */
typedef struct s2e_paper_interval {
    s2e_interval acc, rel; /* 95 %; NAN where there is no number */
    s2e_spread seeds;      /* of Acc. */
} s2e_paper_interval;

/* table: that of the results in their own protocol. *out: [n_rows] new memory, free(). */
s2p_status s2e_paper_intervals_make(const s2e_results *results, const s2e_paper_table *table,
                                    s2e_paper_interval **out, s2p_error *error);

/* category_table.c: the results of an evaluation as text, Markdown, CSV or JSON. */
typedef enum s2e_format { S2E_TEXT, S2E_JSON, S2E_CSV, S2E_MARKDOWN } s2e_format;
const char *s2e_format_name(size_t index); /* NULL past the end */

#define S2E_REFERENCE "s2prune" /* the default method that others are compared with */

typedef struct s2e_report {
    const char *model; /* its name, for the heading */
    const s2e_task_results *results;
    s2e_protocol protocol; /* whose scores */
    bool is_published;
    const char *reference;   /* the method the others are compared with, at equal budgets */
    bool has_times;          /* with the milliseconds of a prefill */
    int32_t most_categories; /* across; with more of them none is shown. 0: any number */
    bool is_first;           /* of several that go to one file: CSV has one heading */
} s2e_report;

/* Accuracy by category for every setting, then how far the reference is ahead of the others with
 * paired intervals, then accuracy by thirds of heterogeneity. */
s2p_status s2e_report_write(const s2e_report *report, s2e_format format, s2_buffer *out);

/* statistics_json.c: the same for every JSON document; what is not finite is null. */
json_t *s2e_json_real(double value);
json_t *s2e_json_interval(const s2e_interval *interval); /* value, low, high */
json_t *
s2e_json_difference(const s2e_difference *difference); /* and smallest_difference, p, p_holm */
json_t *s2e_json_spread(const s2e_spread *spread);     /* deviation, low, high */

/* Members seeds_mean_score and seeds_headline of a method that draws, reference_gain and, where the
 * number of the tables is no mean score, reference_headline_gain of one that is compared. */
void s2e_json_statistics(const s2e_task_results *task, const s2e_result *one, const s2e_gain *gain,
                         json_t *out);

typedef struct s2e_report_input { /* all borrowed */
    const s2e_results *results;
    s2e_store *store;
    const s2e_comparison *comparison; /* [n_comparisons] */
    int32_t n_comparisons;
    const char *baseline;               /* name of the run compared with; NULL: none */
    const s2e_paper_interval *interval; /* [rows of the paper's table]; NULL: not shown */
} s2e_report_input;

typedef struct s2e_document {
    const char *name; /* of the file */
    s2p_status (*write)(const s2e_report_input *input, s2_buffer *out, s2p_error *error);
} s2e_document;

const s2e_document *s2e_document_at(size_t index); /* NULL past the end */

/* "s2prune/64", "full" */
#define S2E_COLUMN_TEXT (S2A_LABEL_SIZE + S2A_BUDGET_TEXT)
const char *s2e_column_text(const s2e_column *column, char out[S2E_COLUMN_TEXT]);
/* With the mean of tokens where that is not the budget: "resize/32, 30 used". */
#define S2E_USED_TEXT (S2E_COLUMN_TEXT + 32)
const char *s2e_used_text(const s2e_column *column, double tokens, char out[S2E_USED_TEXT]);

/* curves.c: accuracy by budget as a drawing. */

/* An SVG element: a panel for each task with the number of its tables, a line for each method over
 * the tokens it kept, with 95 % intervals; dashed: every token. */
s2p_status s2e_curves_write(const s2e_results *results, s2_buffer *out, s2p_error *error);

/* The same as elements of a page, none of them higher than a sheet of paper. */
s2p_status s2e_curves_page(const s2e_results *results, s2_buffer *out, s2p_error *error);

/* sample_browser.c: pictures, kept tokens and answers for the page, as JSON. */
#define S2E_BROWSER_SAMPLES 1000             /* of a task */
#define S2E_BROWSER_BYTES ((size_t)24 << 20) /* of all pictures */

/* {"columns": [...], "kept": [...], "pictures": [...], "tasks": [{"title", "shown", "of",
 *   "samples": [{"id", "q", "gold", "cat", "p", "g", "a": [[text, score, kept, failure], ...]}]}]}
 * with '<' written as an escape, so that it can stand inside a page. The first samples of each task,
 * as far as their pictures fit. */
s2p_status s2e_browser_write(const s2e_report_input *input, s2_buffer *out, s2p_error *error);

/* grader.c: answers for a benchmark's own grader: a program of theirs that asks a large model. */

/* {"v1_0": "text", ...} in the order of the data, one column and seed; a failure is an empty text.
 * S2P_EFORMAT: an answer is not of the data. */
s2p_status s2e_grader_write(s2e_store *store, const s2e_task *task, const s2e_set *set,
                            const s2e_column *column, int32_t seed, s2_buffer *out,
                            s2p_error *error);

#endif /* S2_EVAL_REPORT_DOCUMENTS_H */
