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
 * None but per_sample.csv and summary.json (members "..._ms", "seconds") holds a time: the same
 * answers give the same bytes.
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
    double our_score, their_score;  /* percent, mean over the samples */
    s2e_interval gain;              /* ours minus theirs, paired over pictures */
    s2e_interval headline;          /* the same of the number of the tables; NAN: not known */
    int32_t only_ours, only_theirs; /* samples right here and wrong there, and the other way */
    double p;                       /* McNemar's exact test of the two */
} s2e_comparison;

/* Columns of the same name; a baseline of a single column is compared with every one. *out: new
 * memory, free(). S2P_EINVAL: other data, or nothing in common. */
s2p_status s2e_compare(const s2e_results *ours, const s2e_results *theirs, s2e_comparison **out,
                       int32_t *n, s2p_error *error);

/* paper_table.c: the paper's table: methods down, benchmarks across, Acc. and Rel.
 *
 * Acc. is the mean over the benchmarks of the figure as a share of the best there is: percentages
 * stay, MME's 2800 is divided by 28. Rel. is the mean of each benchmark's ratio to the row that keeps
 * every token. Both are computed from figures that were not rounded.
 */

typedef enum s2e_mark { S2E_PLAIN, S2E_BEST, S2E_SECOND } s2e_mark; /* among those of a budget */

typedef struct s2e_paper_row {
    const s2e_column *column;
    bool is_full;                     /* keeps every token */
    double value[S2E_MAX_TASKS];      /* headlines */
    double acc, rel;                  /* percent; rel is NAN without a full row */
    s2e_mark mark[S2E_MAX_TASKS + 2]; /* of the values, acc and rel */
} s2e_paper_row;

typedef struct s2e_paper_table { /* free with s2e_paper_table_free */
    s2e_paper_row *row;
    int32_t n_rows, n_tasks;
} s2e_paper_table;

s2p_status s2e_paper_table_make(const s2e_results *results, s2e_protocol protocol,
                                s2e_paper_table *out, s2p_error *error);
void s2e_paper_table_free(s2e_paper_table *table);

/* category_table.c: the results of an evaluation as text, Markdown, CSV or JSON. */
typedef enum s2e_format { S2E_TEXT, S2E_JSON, S2E_CSV, S2E_MARKDOWN } s2e_format;
const char *s2e_format_name(size_t index); /* NULL past the end */

typedef struct s2e_report {
    const char *model; /* its name, for the heading */
    const s2e_task_results *results;
    s2e_protocol protocol; /* whose scores */
    bool is_published;
    const char *reference; /* the method the others are compared with, at equal budgets */
    bool has_times;        /* with the milliseconds of a prefill */
    bool is_first;         /* of several that go to one file: CSV has one heading */
} s2e_report;

/* Accuracy by category for every setting, then how far the reference is ahead of the others with
 * paired intervals, then accuracy by thirds of heterogeneity. */
s2p_status s2e_report_write(const s2e_report *report, s2e_format format, s2_buffer *out);

typedef struct s2e_report_input { /* all borrowed */
    const s2e_results *results;
    s2e_store *store;
    const s2e_comparison *comparison; /* [n_comparisons] */
    int32_t n_comparisons;
    const char *baseline; /* name of the run compared with; NULL: none */
} s2e_report_input;

typedef struct s2e_document {
    const char *name; /* of the file */
    s2p_status (*write)(const s2e_report_input *input, s2_buffer *out, s2p_error *error);
} s2e_document;

const s2e_document *s2e_document_at(size_t index); /* NULL past the end */

/* "s2prune/64", "full" */
#define S2E_COLUMN_TEXT (S2E_NAME + S2A_BUDGET_TEXT)
const char *s2e_column_text(const s2e_column *column, char out[S2E_COLUMN_TEXT]);

/* curves.c: accuracy by budget as a drawing. */

/* An SVG element: a panel for each task, a line for each method over the tokens it kept, with 95 %
 * intervals; dashed: every token. */
s2p_status s2e_curves_write(const s2e_results *results, s2_buffer *out, s2p_error *error);

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
