/* printed_check.c - Acc., Rel. and places of the paper's tables, computed anew from their cells.
 *
 * A printed cell is an interval: the number before it was rounded lies within half of its last digit.
 * What is computed from cells may therefore differ from what is printed without contradicting it.
 */
#include "paper/printed.h"

#include <math.h>
#include <string.h>

typedef struct checking {
    const s2_printed_table *table;
    s2_printed_cell cell[S2_PRINTED_ROWS][S2_PRINTED_COLUMNS];
    s2_printed_cell full[S2_PRINTED_COLUMNS];
    int32_t n_columns;
} checking;

/* --- means ---------------------------------------------------------------------------------- */

static s2_printed_verdict compare(double low, double value, double high,
                                  const s2_printed_cell *printed)
{
    const double slack = 1e-9; /* 0.05 has no exact double */
    if (fabs(value - printed->value) <= printed->half + slack) return S2_PRINTED_SAME;
    return high + slack >= printed->value - printed->half &&
                   low - slack <= printed->value + printed->half
               ? S2_PRINTED_ROUNDED
               : S2_PRINTED_AGAINST;
}

static void check_means(const checking *c, int32_t row, s2_printed_checked *out)
{
    const int32_t n = c->table->n_benchmarks;
    double acc_half = 0.0, low = 0.0, high = 0.0;
    char name[24];
    for (int32_t k = 0; k < n; k++) {
        const s2_printed_cell *cell = &c->cell[row][k], *full = &c->full[k];
        (void)s2_printed_column(c->table, k, name);
        acc_half += 100.0 * cell->half / s2_printed_best(name) / n;
        low += 100.0 * (cell->value - cell->half) / (full->value + full->half) / n;
        high += 100.0 * (cell->value + cell->half) / (full->value - full->half) / n;
    }
    out->acc_verdict =
        compare(out->acc - acc_half, out->acc, out->acc + acc_half, &c->cell[row][n]);
    out->rel_verdict = compare(low, out->rel, high, &c->cell[row][n + 1]);
}

/* --- places ------------------------------------------------------------------------------------ */

static int place(s2e_mark mark) { return mark == S2E_BEST ? 2 : mark == S2E_SECOND ? 1 : 0; }

/* Could the numbers before rounding be so that both marks are right? */
static bool agree(const s2_printed_cell *a, const s2_printed_cell *b, bool is_lower)
{
    const double slack = 1e-9, room = a->half + b->half + slack;
    const double ahead = is_lower ? b->value - a->value : a->value - b->value;
    const int d = place(a->mark) - place(b->mark);
    if (d > 0) return ahead >= -room;
    if (d < 0) return ahead <= room;
    return a->mark == S2E_PLAIN || fabs(ahead) <= room;
}

static s2_printed_verdict check_mark(const checking *c, int32_t row, int32_t column, s2e_mark mine)
{
    const s2_printed_cell *cell = &c->cell[row][column];
    if (cell->mark == mine) return S2_PRINTED_SAME;
    for (int32_t i = 0; i < c->table->n_rows; i++)
        if (i != row && strcmp(c->table->row[i].group, c->table->row[row].group) == 0 &&
            !agree(cell, &c->cell[i][column], (c->table->is_lower >> column) & 1u))
            return S2_PRINTED_AGAINST;
    return S2_PRINTED_ROUNDED;
}

/* --- a table --------------------------------------------------------------------------------------- */

static int32_t group_of(const s2_printed_table *table, int32_t row)
{
    int32_t first = 0;
    while (strcmp(table->row[first].group, table->row[row].group) != 0) first++;
    return first;
}

/* Rows as the table of an evaluation has them; the row of every token is the last. */
static int32_t fill_rows(const checking *c, int32_t n_ranked, s2e_paper_row *row)
{
    int32_t n = 0;
    const s2_printed_table *table = c->table;
    for (; n < table->n_rows; n++) {
        row[n].group = group_of(table, n);
        row[n].is_full = strcmp(table->row[n].group, S2_PRINTED_FULL) == 0;
        for (int32_t k = 0; k < n_ranked; k++)
            row[n].value[k] =
                (table->is_lower >> k) & 1u ? -c->cell[n][k].value : c->cell[n][k].value;
    }
    if (table->n_benchmarks > 0) {
        row[n].is_full = true;
        row[n].group = -1;
        for (int32_t k = 0; k < n_ranked; k++) row[n].value[k] = c->full[k].value;
        n++;
    }
    return n;
}

void s2_printed_check(const s2_printed_table *table, s2_printed_checked *out)
{
    checking c = { .table = table };
    s2e_paper_row row[S2_PRINTED_ROWS + 1] = { { .column = NULL } };
    double best[S2_PRINTED_COLUMNS];
    char name[24];
    for (int32_t i = 0; i < table->n_rows && i < S2_PRINTED_ROWS; i++)
        c.n_columns = s2_printed_cells(&table->row[i], c.cell[i]);
    s2_printed_full(table, c.full);
    const int32_t n_ranked = table->n_benchmarks > 0 ? table->n_benchmarks : c.n_columns;
    for (int32_t k = 0; k < n_ranked; k++)
        best[k] = s2_printed_column(table, k, name) ? s2_printed_best(name) : 100.0;
    s2e_paper_table made = { row, fill_rows(&c, n_ranked, row), n_ranked };
    s2e_paper_table_complete(&made, best);
    for (int32_t i = 0; i < table->n_rows && i < S2_PRINTED_ROWS; i++) {
        const bool has_means = table->n_benchmarks > 0;
        out[i] = (s2_printed_checked){ .acc = has_means ? row[i].acc : (double)NAN,
                                       .rel = has_means ? row[i].rel : (double)NAN };
        if (has_means) check_means(&c, i, &out[i]);
        for (int32_t k = 0; k < c.n_columns; k++) {
            out[i].mark[k] = row[i].mark[k];
            out[i].mark_verdict[k] = check_mark(&c, i, k, row[i].mark[k]);
        }
    }
}
