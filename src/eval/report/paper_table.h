/* paper_table.h - the paper's table: methods down, benchmarks across, Acc. and Rel.
 *
 * Acc. is the mean over the benchmarks of the figure as a share of the best there is: percentages
 * stay, MME's 2800 is divided by 28. Rel. is the mean of each benchmark's ratio to the row that keeps
 * every token. Both are computed from figures that were not rounded.
 */
#ifndef S2_EVAL_REPORT_PAPER_TABLE_H
#define S2_EVAL_REPORT_PAPER_TABLE_H

#include "eval/report/results.h"

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

#endif /* S2_EVAL_REPORT_PAPER_TABLE_H */
