/* printed_report.c - "the paper's tables recomputed": a section of the report that needs no model. */
#include "paper/printed.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FALL 2.0 /* points that more tokens may cost before a row is called odd */

/* --- words --------------------------------------------------------------------------------------- */

const char *s2_printed_heading(const char *column)
{
    static const char *const names[][2] = {
        { "gqa", "GQA" },
        { "scienceqa", "SQA" },
        { "textvqa", "TextVQA" },
        { "vizwiz", "VizWiz" },
        { "mmmu", "MMMU" },
        { "pope", "POPE" },
        { "mme", "MME" },
        { "mmbench", "MMB-EN" },
        { "mmbench_cn", "MMB-CN" },
        { "mmvet", "MM-Vet" },
        { "ocrbench", "OCRBench" },
        { "acc", "Acc." },
        { "rel", "Rel." },
        { "accuracy", "POPE acc." },
        { "flops_t", "FLOPs (T)" },
        { "kv_mib", "KV (MiB)" },
        { "prefill_ms", "prefill (ms)" },
        { "pearson", "Pearson r" },
        { "spearman", "Spearman rho" },
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i][0], column) == 0) return names[i][1];
    return column;
}

static int digits_of(const s2_printed_cell *cell) { return (int)lround(-log10(2.0 * cell->half)); }

static s2_cell_mark mark_of(s2e_mark mark)
{
    return mark == S2E_BEST ? S2_CELL_BEST : mark == S2E_SECOND ? S2_CELL_SECOND : S2_CELL_PLAIN;
}

static char letter_of(s2e_mark mark)
{
    return mark == S2E_BEST ? 'b' : mark == S2E_SECOND ? 's' : '-';
}

static void add(char *text, size_t capacity, const char *more)
{
    const size_t n = strlen(text);
    (void)snprintf(text + n, capacity - n, "%s%s", n ? "; " : "", more);
}

/* What is to say about a row, and what of it is a contradiction. */
static void describe(const s2_printed_table *t, int32_t row, const s2_printed_checked *checked,
                     char *out, size_t capacity, s2_table *against)
{
    s2_printed_cell cell[S2_PRINTED_COLUMNS];
    const int32_t n = s2_printed_cells(&t->row[row], cell);
    char text[160], column[24];
    *out = '\0';
    for (int32_t c = 0; c < n; c++) {
        const bool is_acc = t->n_benchmarks && c == t->n_benchmarks;
        const bool is_rel = t->n_benchmarks && c == t->n_benchmarks + 1;
        (void)s2_printed_column(t, c, column);
        const s2_printed_verdict mean = is_acc   ? checked->acc_verdict
                                        : is_rel ? checked->rel_verdict
                                                 : S2_PRINTED_SAME;
        const double value = is_acc ? checked->acc : checked->rel;
        if (mean != S2_PRINTED_SAME) {
            (void)snprintf(text, sizeof text, "%s %.1f printed, %.2f from the cells: %s",
                           s2_printed_heading(column), cell[c].value, value,
                           mean == S2_PRINTED_ROUNDED ? "possible before the cells were rounded"
                                                      : "not possible");
            add(out, capacity, text);
        }
        if (checked->mark_verdict[c] != S2_PRINTED_SAME) {
            (void)snprintf(text, sizeof text, "%s: place decided by digits that are not printed",
                           s2_printed_heading(column));
            add(out, capacity,
                checked->mark_verdict[c] == S2_PRINTED_ROUNDED ? text : "a mark is not possible");
        }
        if (mean == S2_PRINTED_AGAINST || checked->mark_verdict[c] == S2_PRINTED_AGAINST) {
            (void)snprintf(text, sizeof text, "%s, %s, %s", t->title, t->row[row].group,
                           t->row[row].label);
            s2_table_text(against, text);
            (void)snprintf(text, sizeof text, "%s %.1f%s", s2_printed_heading(column),
                           cell[c].value,
                           cell[c].mark == S2E_BEST     ? ", bold"
                           : cell[c].mark == S2E_SECOND ? ", underlined"
                                                        : "");
            s2_table_text(against, text);
            s2_table_text(against, mean == S2_PRINTED_AGAINST ? "not the mean of the row's cells"
                                                              : "not the place of the number");
        }
    }
    if (!*out) (void)snprintf(out, capacity, "as printed");
}

/* --- a table ------------------------------------------------------------------------------------- */

static void add_table(const s2_printed_table *t, s2_study *study, s2_table *against)
{
    char name[64], caption[256], column[24];
    s2_printed_checked checked[S2_PRINTED_ROWS];
    s2_printed_cell cell[S2_PRINTED_COLUMNS];
    (void)snprintf(name, sizeof name, "%s_recomputed", t->name);
    (void)snprintf(caption, sizeof caption,
                   "%s as printed (%s), with the means and places its own cells give.", t->title,
                   t->about);
    s2_table *out = s2_study_table(study, name, caption);
    s2_printed_check(t, checked);
    const int32_t n = s2_printed_cells(&t->row[0], cell);
    s2_table_column(out, "tokens", "tokens", S2_TEXT_COLUMN);
    s2_table_column(out, "method", "method", S2_TEXT_COLUMN);
    for (int32_t c = 0; c < n && s2_printed_column(t, c, column); c++) {
        s2_table_column(out, column, s2_printed_heading(column), digits_of(&cell[c]));
        if (t->n_benchmarks && c >= t->n_benchmarks)
            s2_table_column(out, c == t->n_benchmarks ? "acc_recomputed" : "rel_recomputed",
                            "recomputed", 2);
    }
    s2_table_column(out, "check", "check", S2_TEXT_COLUMN);
    s2_table_detail(out, "marks_printed", S2_TEXT_COLUMN);
    s2_table_detail(out, "marks_recomputed", S2_TEXT_COLUMN);
    for (int32_t i = 0; i < t->n_rows; i++) {
        char check[512], printed[S2_PRINTED_COLUMNS + 1] = "", ours[S2_PRINTED_COLUMNS + 1] = "";
        const bool is_full = strcmp(t->row[i].group, S2_PRINTED_FULL) == 0;
        (void)s2_printed_cells(&t->row[i], cell);
        s2_table_text(out, is_full ? "all" : t->row[i].group);
        s2_table_text(out, t->row[i].label);
        for (int32_t c = 0; c < n; c++) {
            s2_table_shown(out, cell[c].value, "%.*f", digits_of(&cell[c]), cell[c].value);
            s2_table_mark(out, mark_of(cell[c].mark));
            if (t->n_benchmarks && c >= t->n_benchmarks)
                s2_table_number(out, c == t->n_benchmarks ? checked[i].acc : checked[i].rel);
            printed[c] = letter_of(cell[c].mark);
            ours[c] = letter_of(checked[i].mark[c]);
        }
        describe(t, i, &checked[i], check, sizeof check, against);
        s2_table_text(out, check);
        s2_table_text(out, printed);
        s2_table_text(out, ours);
    }
}

/* --- more tokens, fewer points ---------------------------------------------------------------------- */

/* Benchmarks where a row is below the same method with fewer tokens. */
static void compare_row(const s2_printed_table *t, int32_t row, s2_table *against)
{
    s2_printed_cell mine[S2_PRINTED_COLUMNS], other[S2_PRINTED_COLUMNS];
    char where[120], text[160] = "", one[80], column[24];
    (void)s2_printed_cells(&t->row[row], mine);
    const long tokens = strtol(t->row[row].group, NULL, 10);
    for (int32_t c = 0; c < t->n_benchmarks; c++) {
        int32_t worst = -1;
        double most = FALL;
        (void)s2_printed_column(t, c, column);
        for (int32_t i = 0; i < t->n_rows; i++) {
            const long fewer = strtol(t->row[i].group, NULL, 10);
            if (strcmp(t->row[i].method, t->row[row].method) != 0 || fewer < 1 || fewer >= tokens)
                continue;
            (void)s2_printed_cells(&t->row[i], other);
            const double fall = 100.0 * (other[c].value - mine[c].value) / s2_printed_best(column);
            if (fall <= most) continue;
            most = fall;
            worst = i;
        }
        if (worst < 0) continue;
        (void)s2_printed_cells(&t->row[worst], other);
        (void)snprintf(one, sizeof one, "%s %.1f, but %.1f with %s tokens",
                       s2_printed_heading(column), mine[c].value, other[c].value,
                       t->row[worst].group);
        add(text, sizeof text, one);
    }
    if (!*text) return;
    (void)snprintf(where, sizeof where, "%s, %s tokens, %s", t->title, t->row[row].group,
                   t->row[row].label);
    s2_table_text(against, where);
    s2_table_text(against, text);
    s2_table_text(against, "fewer tokens score more than two points higher: a doubtful row");
}

/* --- F1 and accuracy of the same answers -------------------------------------------------------------- */

/* With as many questions to be answered yes as no, and every answer one of the two: recall r and an F1 of f
 * give an accuracy of 1 - r (1/f - 1), which is least where r is 1. */
static double least_accuracy(double f1) { return 100.0 * (2.0 - 100.0 / f1); }

/* Table 3 has the accuracy on POPE, Table 1 its F1. */
static void compare_pope(s2_table *against)
{
    const s2_printed_table *cost = s2_printed_find("table3"),
                           *main_results = s2_printed_find("table1");
    const int32_t pope = s2_printed_column_find(main_results, "pope");
    char printed[160] = "", least[160] = "", one[48];
    for (int32_t i = 0; i < cost->n_rows; i++) {
        s2_printed_cell mine[S2_PRINTED_COLUMNS], there[S2_PRINTED_COLUMNS];
        (void)s2_printed_cells(&cost->row[i], mine);
        (void)s2_printed_cells(
            s2_printed_row_find(main_results, cost->row[i].group, cost->row[i].method), there);
        if (mine[0].value + mine[0].half >= least_accuracy(there[pope].value - there[pope].half))
            continue;
        (void)snprintf(one, sizeof one, "%s %.1f", cost->row[i].label, mine[0].value);
        add(printed, sizeof printed, one);
        (void)snprintf(one, sizeof one, "%.1f", least_accuracy(there[pope].value));
        add(least, sizeof least, one);
    }
    if (!*printed) return;
    char text[256];
    s2_table_text(against, "Table 3 and Table 1, POPE");
    (void)snprintf(text, sizeof text, "accuracy: %s", printed);
    s2_table_text(against, text);
    (void)snprintf(text, sizeof text, "their F1 needs at least %s on as many yes as no", least);
    s2_table_text(against, text);
}

void s2_printed_report(s2_study *study)
{
    s2_study_heading(study, "The paper's tables recomputed");
    s2_study_note(study,
                  "No model is needed here: Acc., Rel. and the places are computed from the cells "
                  "the paper prints, by the code that makes the tables of 's2prune eval'. Where a "
                  "cell stands for a number that was rounded, a mean or place may differ within "
                  "what rounding allows.");
    s2_table *against =
        s2_study_table(study, "paper_contradictions",
                       "Where the paper contradicts itself: marks, means and sentences against its "
                       "own cells, rows that fewer tokens beat, and numbers of two "
                       "tables that cannot be combined.");
    s2_table_column(against, "where", "where", S2_TEXT_COLUMN);
    s2_table_column(against, "printed", "printed", S2_TEXT_COLUMN);
    s2_table_column(against, "but", "but", S2_TEXT_COLUMN);
    s2_table *all = s2_study_table(
        study, "paper_claims", "Sentences of the paper about its tables, and what the cells say.");
    s2_table_column(all, "section", "section", S2_TEXT_COLUMN);
    s2_table_column(all, "claim", "claim", S2_TEXT_COLUMN);
    s2_table_column(all, "stated", "stated", S2_TEXT_COLUMN);
    s2_table_column(all, "from_cells", "from the cells", 2);
    s2_table_column(all, "table", "table", S2_TEXT_COLUMN);
    s2_table_column(all, "verdict", "verdict", S2_TEXT_COLUMN);
    s2_printed_claims(all, against);
    for (size_t i = 0; s2_printed_at(i); i++) add_table(s2_printed_at(i), study, against);
    const s2_printed_table *main_results = s2_printed_find("table1");
    for (int32_t i = 0; i < main_results->n_rows; i++) compare_row(main_results, i, against);
    compare_pope(against);
}
