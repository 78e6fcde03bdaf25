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

/* Scores are sums of thousands of numbers: what differs by less than this differs by the order in
 * which they were added. The smallest real difference is that of one answer, far above. */
static bool is_above(double a, double b) { return a > b + 1e-7 * (1.0 + fabs(b)); }

/* The places above a row are the different scores above it. */
static void mark_column(s2e_paper_table *t, int32_t column)
{
    for (int32_t i = 0; i < t->n_rows; i++) {
        s2e_paper_row *mine = &t->row[i];
        const double value = cell(t, i, column);
        double best = -INFINITY; /* of the others of the group */
        int32_t n_rivals = 0;
        mine->mark[column] = S2E_PLAIN;
        if (mine->is_full || isnan(value)) continue;
        for (int32_t k = 0; k < t->n_rows; k++) {
            if (t->row[k].is_full || t->row[k].group != mine->group) continue;
            n_rivals += !isnan(cell(t, k, column));
            if (cell(t, k, column) > best) best = cell(t, k, column);
        }
        if (n_rivals < 2) continue;
        bool has_between = false; /* a score below the best and above mine */
        for (int32_t k = 0; k < t->n_rows; k++)
            if (!t->row[k].is_full && t->row[k].group == mine->group)
                has_between = has_between || (is_above(cell(t, k, column), value) &&
                                              is_above(best, cell(t, k, column)));
        if (!is_above(best, value))
            mine->mark[column] = S2E_BEST;
        else if (!has_between)
            mine->mark[column] = S2E_SECOND;
    }
}

void s2e_paper_table_complete(s2e_paper_table *table, const double *best)
{
    const s2e_paper_row *full = NULL;
    for (int32_t i = table->n_rows - 1; i >= 0; i--)
        if (table->row[i].is_full) full = &table->row[i];
    for (int32_t i = 0; i < table->n_rows; i++) {
        s2e_paper_row *row = &table->row[i];
        row->acc = s2e_paper_acc(row->value, best, table->n_tasks);
        row->rel = full ? s2e_paper_rel(row->value, full->value, table->n_tasks) : (double)NAN;
    }
    for (int32_t c = 0; c < table->n_tasks + 2; c++) mark_column(table, c);
}

/* Rows of one budget have the number of the first of them. */
static int32_t group_of(const s2e_paper_table *t, int32_t row)
{
    int32_t first = 0;
    while (strcmp(t->row[first].column->budget, t->row[row].column->budget) != 0) first++;
    return first;
}

s2p_status s2e_paper_table_make(const s2e_results *results, s2e_protocol protocol,
                                s2e_paper_table *out, s2p_error *error)
{
    const int32_t n = results->n_tasks ? results->task[0].n_results : 0;
    *out = (s2e_paper_table){ calloc((size_t)n + 1, sizeof *out->row), n, results->n_tasks };
    if (!out->row) return s2_fail_memory(error, (size_t)n * sizeof *out->row, "the table");
    double best[S2E_MAX_TASKS] = { 0 };
    for (int32_t i = 0; i < n; i++) {
        s2e_paper_row *row = &out->row[i];
        row->column = &results->task[0].result[i].column;
        row->is_full = s2a_budget_is_none(results->task[0].result[i].budget);
        row->group = group_of(out, i);
        for (int32_t t = 0; t < results->n_tasks; t++)
            row->value[t] = s2e_result_headline(&results->task[t].result[i], protocol, &best[t]);
    }
    s2e_paper_table_complete(out, best);
    return S2P_OK;
}

void s2e_paper_table_free(s2e_paper_table *table)
{
    free(table->row);
    *table = (s2e_paper_table){ .row = NULL };
}
