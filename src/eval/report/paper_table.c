/* paper_table.c - Sec. 5.1: Acc., Rel., and who is first and second at a budget. */
#include "eval/report/documents.h"

#include "eval/scoring/means.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double cell(const s2e_paper_table *t, int32_t row, int32_t column)
{
    const s2e_paper_row *r = &t->row[row];
    return column < t->n_tasks ? r->value[column] : column == t->n_tasks ? r->acc : r->rel;
}

/* Equal figures share their place: what a table shows is what counts. */
static bool is_above(double a, double b) { return a > b + 0.05; }

static void mark_column(s2e_paper_table *t, int32_t column)
{
    for (int32_t i = 0; i < t->n_rows; i++) {
        const double mine = cell(t, i, column);
        int32_t n_rivals = 0, n_above = 0;
        double last = (double)NAN;
        for (int32_t k = 0; k < t->n_rows; k++) {
            if (t->row[k].is_full ||
                strcmp(t->row[k].column->budget, t->row[i].column->budget) != 0)
                continue;
            n_rivals++;
            if (!is_above(cell(t, k, column), mine)) continue;
            /* Those above that show the same figure are one place. */
            if (n_above == 0 || is_above(cell(t, k, column), last) ||
                is_above(last, cell(t, k, column)))
                n_above++;
            last = cell(t, k, column);
        }
        if (t->row[i].is_full || n_rivals < 2 || isnan(mine)) continue;
        t->row[i].mark[column] = n_above == 0 ? S2E_BEST : n_above == 1 ? S2E_SECOND : S2E_PLAIN;
    }
}

s2p_status s2e_paper_table_make(const s2e_results *results, s2e_protocol protocol,
                                s2e_paper_table *out, s2p_error *error)
{
    const int32_t n = results->n_tasks ? results->task[0].n_results : 0;
    *out = (s2e_paper_table){ calloc((size_t)n + 1, sizeof *out->row), n, results->n_tasks };
    if (!out->row) return s2_fail_memory(error, (size_t)n * sizeof *out->row, "the table");
    double best[S2E_MAX_TASKS], full[S2E_MAX_TASKS], unused;
    bool has_full = n > 0;
    for (int32_t t = 0; t < results->n_tasks; t++) {
        const s2e_result *whole = s2e_results_full(&results->task[t]);
        has_full = has_full && whole;
        full[t] = whole ? s2e_result_headline(whole, protocol, &unused) : (double)NAN;
    }
    for (int32_t i = 0; i < n; i++) {
        s2e_paper_row *row = &out->row[i];
        row->column = &results->task[0].result[i].column;
        row->is_full = s2a_budget_is_none(results->task[0].result[i].budget);
        for (int32_t t = 0; t < results->n_tasks; t++)
            row->value[t] = s2e_result_headline(&results->task[t].result[i], protocol, &best[t]);
        row->acc = s2e_paper_acc(row->value, best, results->n_tasks);
        row->rel = has_full ? s2e_paper_rel(row->value, full, results->n_tasks) : (double)NAN;
    }
    for (int32_t c = 0; c < results->n_tasks + 2; c++) mark_column(out, c);
    return S2P_OK;
}

void s2e_paper_table_free(s2e_paper_table *table)
{
    free(table->row);
    *table = (s2e_paper_table){ .row = NULL };
}
