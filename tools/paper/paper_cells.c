/* paper_cells.c - `paper --cells FILE`: the cells of any table through our means and places. */
#include "paper/paper_cells.h"

#include "eval/report/documents.h"
#include "paper/cells_file.h"
#include "paper/printed.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static void put(s2_table *t, double value, s2e_mark mark)
{
    s2_table_number(t, value);
    s2_table_mark(t, mark == S2E_BEST     ? S2_CELL_BEST
                     : mark == S2E_SECOND ? S2_CELL_SECOND
                                          : S2_CELL_PLAIN);
}

static void fill(const s2_cells *c, s2e_paper_row *row, double *best)
{
    for (int32_t i = 0; i < c->n; i++) {
        int32_t first = 0;
        while (strcmp(c->row[first].tokens, c->row[i].tokens) != 0) first++;
        row[i] = (s2e_paper_row){ .is_full = c->row[i].is_full, .group = first };
        memcpy(row[i].value, c->row[i].value, (size_t)c->n_benchmarks * sizeof *row[i].value);
    }
    for (int32_t k = 0; k < c->n_benchmarks; k++)
        best[k] = s2_printed_best(strcasecmp(c->benchmark[k], "mme") == 0 ? "mme" : "");
}

static void add_table(const s2_cells *c, const s2e_paper_row *row, s2_study *study)
{
    s2_table *t =
        s2_study_table(study, "cells",
                       "Acc., Rel. and places of the cells given. Places are those of the "
                       "numbers as given: equal ones share a place.");
    s2_table_column(t, "tokens", "tokens", S2_TEXT_COLUMN);
    s2_table_column(t, "method", "method", S2_TEXT_COLUMN);
    for (int32_t k = 0; k < c->n_benchmarks; k++)
        s2_table_column(t, c->benchmark[k], s2_printed_heading(c->benchmark[k]), 1);
    s2_table_column(t, "acc", "Acc.", 2);
    if (c->has_acc) s2_table_column(t, "acc_given", "given", 2);
    s2_table_column(t, "rel", "Rel.", 2);
    if (c->has_rel) s2_table_column(t, "rel_given", "given", 2);
    s2_table_detail(t, "marks", S2_TEXT_COLUMN);
    for (int32_t i = 0; i < c->n; i++) {
        char marks[S2_CELLS_BENCHMARKS + 3] = "";
        s2_table_text(t, c->row[i].tokens);
        s2_table_text(t, c->row[i].method);
        for (int32_t k = 0; k < c->n_benchmarks; k++) put(t, row[i].value[k], row[i].mark[k]);
        put(t, row[i].acc, row[i].mark[c->n_benchmarks]);
        if (c->has_acc) s2_table_number(t, c->row[i].acc);
        put(t, row[i].rel, row[i].mark[c->n_benchmarks + 1]);
        if (c->has_rel) s2_table_number(t, c->row[i].rel);
        for (int32_t k = 0; k < c->n_benchmarks + 2; k++)
            marks[k] = row[i].mark[k] == S2E_BEST ? 'b' : row[i].mark[k] == S2E_SECOND ? 's' : '-';
        s2_table_text(t, marks);
    }
}

s2p_status s2_paper_cells(const char *path, s2_study *study, s2p_error *error)
{
    s2_cells c = { .n = 0 };
    double best[S2_CELLS_BENCHMARKS];
    s2e_paper_row *row = NULL;
    s2p_status st = s2_cells_read(path, &c, error);
    if (st == S2P_OK && !(row = calloc((size_t)c.n, sizeof *row)))
        st = s2_fail_memory(error, (size_t)c.n * sizeof *row, "the cells");
    if (st == S2P_OK) {
        s2e_paper_table made = { row, c.n, c.n_benchmarks };
        fill(&c, row, best);
        s2e_paper_table_complete(&made, best);
        add_table(&c, row, study);
    }
    free(row);
    free(c.row);
    return st;
}
