/* cells_file.c - a CSV of scores, checked cell by cell. */
#include "paper/cells_file.h"

#include "eval/readers/rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool is_own(const char *name)
{
    return strcasecmp(name, "acc") == 0 || strcasecmp(name, "rel") == 0;
}

/* The benchmarks are the columns that are nothing else. */
static s2p_status read_columns(const s2e_row *row, s2_cells *c, s2p_error *error)
{
    if (!s2e_row_value(row, "method") || !s2e_row_value(row, "tokens"))
        return s2_fail(error, S2P_EFORMAT,
                       "%.200s: the first line must name the columns 'method' and 'tokens'",
                       row->file);
    for (size_t i = 0; i < row->n; i++) {
        const char *name = row->name[i];
        c->has_acc = c->has_acc || strcasecmp(name, "acc") == 0;
        c->has_rel = c->has_rel || strcasecmp(name, "rel") == 0;
        if (is_own(name) || strcmp(name, "method") == 0 || strcmp(name, "tokens") == 0) continue;
        if (c->n_benchmarks == S2_CELLS_BENCHMARKS)
            return s2_fail(error, S2P_ELIMIT, "%.200s: more than %d benchmarks", row->file,
                           S2_CELLS_BENCHMARKS);
        if (strlen(name) >= S2_CELLS_NAME || !*name)
            return s2_fail(error, S2P_EFORMAT, "%.200s: column %d has no name of 1 to %u bytes",
                           row->file, (int)i + 1, S2_CELLS_NAME - 1u);
        for (const char *at = name; *at; at++) /* it becomes a key of JSON and SQL */
            if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-", *at))
                return s2_fail(error, S2P_EFORMAT,
                               "%.200s: the column '%.60s' must have letters, digits, '_' or '-'",
                               row->file, name);
        (void)snprintf(c->benchmark[c->n_benchmarks++], S2_CELLS_NAME, "%s", name);
    }
    if (c->n_benchmarks == 0)
        return s2_fail(error, S2P_EFORMAT, "%.200s: no column for a benchmark", row->file);
    return S2P_OK;
}

/* A number, "92.1%" too; an empty cell is NAN. */
static s2p_status read_number(const s2e_row *row, const char *column, double *out, s2p_error *error)
{
    const char *text = s2e_row_text(row, column);
    char *end;
    *out = (double)NAN;
    if (!text || !*text || strcmp(text, "-") == 0) return S2P_OK;
    const double value = strtod(text, &end);
    if (*end == '%') end++;
    if (end == text || *end || !isfinite(value) || value < 0.0 || value > 1e6)
        return s2e_row_fail(row, error, S2P_EFORMAT, "'%.40s' in column %.40s is not a score", text,
                            column);
    *out = value;
    return S2P_OK;
}

static s2p_status read_row(const s2e_row *row, s2_cells *c, s2p_error *error)
{
    const int32_t i = c->n;
    const char *method = s2e_row_text(row, "method"), *tokens = s2e_row_text(row, "tokens");
    if (i == S2_CELLS_ROWS)
        return s2_fail(error, S2P_ELIMIT, "%.200s: more than %d rows", row->file, S2_CELLS_ROWS);
    if (!method || !*method) return s2e_row_fail(row, error, S2P_EFORMAT, "no method");
    const bool is_full = !tokens || !*tokens || strcmp(tokens, "-") == 0 ||
                         strcasecmp(tokens, "all") == 0 || strcasecmp(tokens, "full") == 0;
    for (int32_t k = 0; k < i; k++)
        if (is_full && c->row[k].is_full)
            return s2e_row_fail(row, error, S2P_EFORMAT,
                                "a second row with all tokens; Rel. needs exactly one");
    s2_cells_row *mine = &c->row[c->n++];
    *mine = (s2_cells_row){ .is_full = is_full, .acc = (double)NAN, .rel = (double)NAN };
    (void)snprintf(mine->method, S2_CELLS_NAME, "%.39s", method);
    (void)snprintf(mine->tokens, S2_CELLS_NAME, "%.39s", is_full ? "all" : tokens);
    for (int32_t k = 0; k < c->n_benchmarks; k++)
        TRY(read_number(row, c->benchmark[k], &mine->value[k], error));
    if (c->has_acc) TRY(read_number(row, "acc", &mine->acc, error));
    return c->has_rel ? read_number(row, "rel", &mine->rel, error) : S2P_OK;
}

s2p_status s2_cells_read(const char *path, s2_cells *c, s2p_error *error)
{
    s2e_rows *rows;
    s2e_row row;
    c->row = calloc(S2_CELLS_ROWS, sizeof *c->row);
    if (!c->row) return s2_fail_memory(error, S2_CELLS_ROWS * sizeof *c->row, "the cells");
    TRY(s2e_rows_open(path, NULL, &rows, error));
    s2p_status st = S2P_OK;
    for (bool end = false; st == S2P_OK;) {
        st = s2e_rows_next(rows, &row, &end, error);
        if (st != S2P_OK || end) break;
        if (c->n == 0) st = read_columns(&row, c, error);
        if (st == S2P_OK) st = read_row(&row, c, error);
    }
    s2e_rows_close(rows);
    if (st == S2P_OK && c->n == 0)
        st = s2_fail(error, S2P_EFORMAT, "%.200s: there are no rows of cells", path);
    return st;
}
