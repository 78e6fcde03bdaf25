/* category_table.h - the results of an evaluation as text, Markdown, CSV or JSON. */
#ifndef S2_EVAL_REPORT_CATEGORY_TABLE_H
#define S2_EVAL_REPORT_CATEGORY_TABLE_H

#include "eval/metrics.h"
#include "eval/report/results.h"

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

#endif /* S2_EVAL_REPORT_CATEGORY_TABLE_H */
