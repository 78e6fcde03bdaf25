/* paper_facts.c - what the text says, and the cell of the study where ours is. */
#include "paper/paper_facts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const s2_table *find_table(const s2_study *study, const char *name)
{
    for (int32_t i = study->n - 1; i >= 0; i--)
        if (study->item[i]->kind == S2_STUDY_TABLE && strcmp(study->item[i]->name, name) == 0)
            return &study->item[i]->table;
    return NULL;
}

static int32_t find_column(const s2_table *t, const char *key, size_t n)
{
    for (int32_t c = 0; c < t->n_columns; c++)
        if (strlen(t->column[c].key) == n && strncmp(t->column[c].key, key, n) == 0) return c;
    return -1;
}

/* "method=fastv-top,budget=64": the texts of a row. */
static bool is_row(const s2_table *t, int32_t row, const char *conditions)
{
    for (const char *at = conditions; at && *at;) {
        const char *equals = strchr(at, '='), *comma = strchr(at, ',');
        const size_t n = comma ? (size_t)(comma - equals - 1) : strlen(equals + 1);
        const int32_t c = find_column(t, at, (size_t)(equals - at));
        const char *text = c >= 0 ? s2_table_cell(t, row, c)->text : NULL;
        if (!text || strlen(text) != n || strncmp(text, equals + 1, n) != 0) return false;
        at = comma ? comma + 1 : NULL;
    }
    return true;
}

/* The last that fits: a mean over benchmarks stands below them. NAN: none. */
static double look_up(const s2_study *study, const char *table, const char *row, const char *column)
{
    const s2_table *t = find_table(study, table);
    const int32_t c = t ? find_column(t, column, strlen(column)) : -1;
    for (int32_t i = t ? s2_table_n_rows(t) - 1 : -1; c >= 0 && i >= 0; i--)
        if (is_row(t, i, row)) return s2_table_cell(t, i, c)->number;
    return (double)NAN;
}

/* The best of some settings on a benchmark at 64 tokens. NAN: none. */
static double best_of(const s2_paper_scores *scores, const char *labels, const char *task)
{
    double best = (double)NAN;
    for (int32_t i = 0; i < scores->n; i++) {
        const s2_paper_score *s = &scores->score[i];
        const size_t n = strlen(s->label);
        if (strcmp(s->task, task) != 0 || strcmp(s->group, "64") != 0) continue;
        for (const char *at = labels; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL)
            if (strncmp(at, s->label, n) == 0 && (at[n] == '|' || !at[n]) && !(s->value <= best))
                best = s->value;
    }
    return best;
}

static s2_table *begin(s2_study *study, const char *name, const char *what, const char *why_not)
{
    char caption[320];
    (void)snprintf(caption, sizeof caption, "%s%s%s.", what,
                   why_not ? " No differences: " : " Differences are ours minus printed",
                   why_not ? why_not : "");
    return s2_study_table(study, name, caption);
}

static void put(s2_table *t, const s2_printed_cell *printed, double ours, const char *why_not)
{
    const int digits = (int)lround(-log10(2.0 * printed->half));
    s2_table_shown(t, printed->value, "%.*f", digits, printed->value);
    if (isnan(ours))
        s2_table_number(t, ours);
    else
        s2_table_shown(t, ours, "%.*f", digits, ours);
    const double difference = why_not ? (double)NAN : ours - printed->value;
    if (isnan(difference))
        s2_table_number(t, difference);
    else
        s2_table_shown(t, difference, "%+.*f", digits, difference);
}

static void add_numbers(s2_table *t)
{
    s2_table_column(t, "printed", "printed", 2);
    s2_table_column(t, "ours", "ours", 2);
    s2_table_column(t, "difference", "difference", 2);
}

void s2_paper_facts(const char *figure, const s2_paper_scores *scores, const char *why_not,
                    s2_study *study)
{
    s2_table *t = NULL;
    for (size_t i = 0; s2_printed_fact_at(i); i++) {
        const s2_printed_fact *fact = s2_printed_fact_at(i);
        const s2_printed_row row = { "", "", "", fact->value };
        s2_printed_cell cell[S2_PRINTED_COLUMNS];
        if (strcmp(fact->figure, figure) != 0) continue;
        if (!t) {
            char name[64];
            (void)snprintf(name, sizeof name, "%s_printed", figure);
            t = begin(study, name, "What the paper's text states, and ours.", why_not);
            s2_table_column(t, "what", "what", S2_TEXT_COLUMN);
            add_numbers(t);
        }
        (void)s2_printed_cells(&row, cell);
        s2_table_text(t, fact->what);
        const double ours = strcmp(fact->table, "scores") == 0
                                ? best_of(scores, fact->row, fact->column)
                                : look_up(study, fact->table, fact->row, fact->column);
        put(t, cell, fact->scale * ours, why_not);
    }
}

void s2_paper_correlations(const char *why_not, s2_study *study)
{
    const s2_printed_table *printed = s2_printed_find("table_s1");
    s2_table *t = begin(study, printed->name, "Table S1 as printed, and ours.", why_not);
    s2_table_column(t, "budgets", "budgets", S2_TEXT_COLUMN);
    s2_table_column(t, "method", "score", S2_TEXT_COLUMN);
    s2_table_column(t, "number", "number", S2_TEXT_COLUMN);
    add_numbers(t);
    for (int32_t i = 0; i < printed->n_rows; i++) {
        const s2_printed_row *row = &printed->row[i];
        s2_printed_cell cell[S2_PRINTED_COLUMNS];
        char where[96];
        const char *slash = strchr(row->group, '/');
        (void)snprintf(where, sizeof where, "method=%s,budget_a=%.*s,budget_b=%s", row->method,
                       (int)(slash - row->group), row->group, slash + 1);
        (void)s2_printed_cells(row, cell);
        for (int32_t c = 0; c < 2; c++) {
            s2_table_text(t, row->group);
            s2_table_text(t, row->label);
            s2_table_text(t, c ? "Spearman" : "Pearson");
            put(t, &cell[c],
                look_up(study, "spatial_correlations", where, c ? "spearman" : "pearson"), why_not);
        }
    }
}
