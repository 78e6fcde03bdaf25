/* table_tex.c - a table for a paper: booktabs rules, a group of rows for each budget.
 *
 * Columns that belong to programs become what a reader of the paper wants: `budget` the heading of a
 * group, `..._low` and `..._high` a small interval behind their number, the name of a method its title
 * with a citation. The best number of a group is bold, the second underlined, by the values before
 * rounding, in the columns that say which way is better.
 */
#include "analyze/table.h"

#include "eval/figure/look.h"
#include "eval/report/escape.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define NONE (-1)

typedef struct form { /* how the columns of a table are shown */
    const s2_table *t;
    int32_t budget; /* the column that makes groups; NONE: none */
    int32_t shown[S2_MAX_COLUMNS], n_shown;
    int32_t low[S2_MAX_COLUMNS], high[S2_MAX_COLUMNS]; /* of each column; NONE: no interval */
} form;

static int32_t find(const s2_table *t, const char *key)
{
    for (int32_t c = 0; c < t->n_columns; c++)
        if (strcmp(t->column[c].key, key) == 0) return c;
    return NONE;
}

/* The end of an interval of column c. */
static int32_t end_of(const s2_table *t, int32_t c, const char *suffix)
{
    char key[64];
    (void)snprintf(key, sizeof key, "%s%s", t->column[c].key, suffix);
    return find(t, key);
}

static form form_of(const s2_table *t)
{
    form f = { .t = t, .budget = find(t, "budget") };
    bool is_end[S2_MAX_COLUMNS] = { false };
    for (int32_t c = 0; c < t->n_columns; c++) {
        f.low[c] = end_of(t, c, "_low");
        f.high[c] = end_of(t, c, "_high");
        if (f.low[c] < 0 || f.high[c] < 0) f.low[c] = f.high[c] = NONE;
        if (f.low[c] >= 0) is_end[f.low[c]] = is_end[f.high[c]] = true;
    }
    for (int32_t c = 0; c < t->n_columns; c++)
        if (!is_end[c] && c != f.budget && !t->column[c].is_detail) f.shown[f.n_shown++] = c;
    return f;
}

/* --- places ------------------------------------------------------------------------------------- */

/* Columns where more is better and rows are rivals. */
static bool is_ranked(const char *key)
{
    static const char *const keys[] = { "acc", "rel", "all", "score" };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(key, keys[i]) == 0) return true;
    return false;
}

static bool is_same_group(const form *f, int32_t a, int32_t b)
{
    if (f->budget < 0) return true;
    const char *x = s2_table_cell(f->t, a, f->budget)->text;
    const char *y = s2_table_cell(f->t, b, f->budget)->text;
    return x && y && strcmp(x, y) == 0;
}

/* 1 and 2: among the different values of the group; 0: none of them, or no rivals. */
static int place_of(const form *f, int32_t row, int32_t c)
{
    const double mine = s2_table_cell(f->t, row, c)->number;
    double above = (double)NAN; /* the smallest value that is larger */
    int32_t n_rivals = 0;
    if (!is_ranked(f->t->column[c].key) || !isfinite(mine)) return 0;
    for (int32_t r = 0; r < s2_table_n_rows(f->t); r++) {
        const double other = s2_table_cell(f->t, r, c)->number;
        if (!is_same_group(f, row, r) || !isfinite(other)) continue;
        n_rivals++;
        if (other > mine && !(above <= other)) above = other;
    }
    if (n_rivals < 2) return 0;
    if (isnan(above)) return 1;
    for (int32_t r = 0; r < s2_table_n_rows(f->t); r++)
        if (is_same_group(f, row, r) && s2_table_cell(f->t, r, c)->number > above) return 0;
    return 2;
}

/* A table that marks cells has decided itself who is first and second: S2_CELL_BEST, S2_CELL_SECOND. */
static bool is_marked(const s2_table *t)
{
    for (int32_t i = 0; i < t->n_cells; i++)
        if (t->cell[i].mark != S2_CELL_PLAIN) return true;
    return false;
}

/* --- cells --------------------------------------------------------------------------------------- */

static void put_number(s2_buffer *out, double value, int32_t decimals)
{
    const double unit = pow(10.0, decimals);
    const double rounded = round(value * unit) / unit; /* halves go up, as in the other forms */
    s2_buffer_printf(out, rounded < 0.0 ? "$-$%.*f" : "%.*f", (int)decimals, fabs(rounded));
}

static void put_words(const form *f, int32_t c, const char *text, s2_buffer *out)
{
    const bool is_method = strncmp(f->t->column[c].key, "method", 6) == 0 ||
                           strcmp(f->t->column[c].key, "setting") == 0;
    char title[S2_TITLE_SIZE];
    const char *cite = is_method ? s2_look_cite(text) : NULL;
    s2e_latex_text(out, is_method ? s2_title_of(text, title) : text);
    if (cite) s2_buffer_printf(out, "~\\cite{%s}", cite);
}

static void put_cell(const form *f, int32_t row, int32_t c, s2_buffer *out)
{
    const s2_cell *cell = s2_table_cell(f->t, row, c);
    const int32_t decimals = f->t->column[c].decimals;
    if (decimals == S2_TEXT_COLUMN) {
        put_words(f, c, cell->text ? cell->text : "", out);
        return;
    }
    const int place = is_marked(f->t) ? (int)cell->mark : place_of(f, row, c);
    if (place) s2_buffer_printf(out, place == 1 ? "\\textbf{" : "\\underline{");
    if (cell->text)
        s2e_latex_text(out, cell->text);
    else if (isfinite(cell->number))
        put_number(out, cell->number, decimals);
    else
        s2_buffer_printf(out, "--");
    if (place) s2_buffer_printf(out, "}");
    if (f->low[c] < 0) return;
    const double low = s2_table_cell(f->t, row, f->low[c])->number;
    const double high = s2_table_cell(f->t, row, f->high[c])->number;
    if (!isfinite(low) || !isfinite(high)) return;
    s2_buffer_printf(out, " {\\tiny [");
    put_number(out, low, decimals);
    s2_buffer_printf(out, ", ");
    put_number(out, high, decimals);
    s2_buffer_printf(out, "]}");
}

static void put_group(const form *f, int32_t row, s2_buffer *out)
{
    const char *budget = s2_table_cell(f->t, row, f->budget)->text;
    const bool is_all = !budget || strcmp(budget, "all") == 0 || strcmp(budget, "-") == 0;
    s2_buffer_printf(out, "    \\midrule\n    \\multicolumn{%d}{c}{\\emph{", f->n_shown);
    if (is_all) {
        s2_buffer_printf(out, "All visual tokens");
    } else {
        s2_buffer_printf(out, "Budget ");
        s2e_latex_text(out, budget);
    }
    s2_buffer_printf(out, "}} \\\\\n    \\midrule\n");
}

#define COLUMN_COLUMNS 6 /* more do not fit a column of a two-column paper */
#define PAGE_COLUMNS 12  /* more need smaller letters */

void s2_table_tex(const s2_table *table, const char *caption, s2_buffer *out)
{
    const form f = form_of(table);
    const char *star = f.n_shown > COLUMN_COLUMNS ? "*" : ""; /* across both columns of a page */
    s2_buffer_printf(
        out, "%% \\usepackage{booktabs}\n\\begin{table%s}[t]\n  \\centering\n  \\caption{", star);
    s2e_latex_text(out, caption);
    s2_buffer_printf(out, "}\n  \\label{tab:");
    for (const char *c = table->name; *c; c++) s2_buffer_printf(out, "%c", *c == '_' ? '-' : *c);
    s2_buffer_printf(out, "}\n  \\%s\n  \\setlength{\\tabcolsep}{3pt}\n  \\begin{tabular}{",
                     f.n_shown > PAGE_COLUMNS ? "footnotesize" : "small");
    for (int32_t i = 0; i < f.n_shown; i++)
        s2_buffer_printf(out, "%c",
                         table->column[f.shown[i]].decimals == S2_TEXT_COLUMN ? 'l' : 'r');
    s2_buffer_printf(out, "}\n    \\toprule\n    ");
    for (int32_t i = 0; i < f.n_shown; i++) {
        s2_buffer_printf(out, "%s\\textbf{", i ? " & " : "");
        s2e_latex_text(out, table->column[f.shown[i]].heading);
        s2_buffer_printf(out, "}");
    }
    s2_buffer_printf(out, " \\\\\n");
    if (f.budget < 0) s2_buffer_printf(out, "    \\midrule\n");
    for (int32_t r = 0; r < s2_table_n_rows(table); r++) {
        if (f.budget >= 0 && (r == 0 || !is_same_group(&f, r, r - 1))) put_group(&f, r, out);
        s2_buffer_printf(out, "    ");
        for (int32_t i = 0; i < f.n_shown; i++) {
            if (i) s2_buffer_printf(out, " & ");
            put_cell(&f, r, f.shown[i], out);
        }
        s2_buffer_printf(out, " \\\\\n");
    }
    s2_buffer_printf(out, "    \\bottomrule\n  \\end{tabular}\n\\end{table%s}\n", star);
}
