/* paper_tables.c - rows of a printed table beside ours, and the commands for what is missing. */
#include "paper/paper_tables.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_ROWS 512

typedef struct filling {
    const s2_printed_table *printed;
    const s2_paper_scores *scores; /* may be NULL */
    s2e_paper_row *row;            /* [n_rows] */
    const s2_paper_score **of;     /* [n_rows] a score of each: its names */
    int32_t n_rows;
    int32_t task[S2_PRINTED_COLUMNS]; /* printed columns that are there, [n_tasks] */
    int32_t n_tasks;
    bool is_whole[S2_PRINTED_COLUMNS]; /* by printed column: with the paper's number of questions */
    const char *why_not;
} filling;

/* --- rows -------------------------------------------------------------------------------------------- */

static bool has_group(const s2_printed_table *printed, const char *group)
{
    for (int32_t i = 0; i < printed->n_rows; i++)
        if (strcmp(printed->row[i].group, group) == 0) return true;
    return strcmp(group, S2_PRINTED_FULL) == 0;
}

static void find_columns(filling *f)
{
    char column[24];
    for (int32_t c = 0; c < f->printed->n_benchmarks; c++) {
        bool is_there = false;
        f->is_whole[c] = true;
        (void)s2_printed_column(f->printed, c, column);
        for (int32_t i = 0; f->scores && i < f->scores->n; i++) {
            const s2_paper_score *s = &f->scores->score[i];
            if (strcmp(s->task, s2_printed_task(column)) != 0 || !has_group(f->printed, s->group))
                continue;
            /* every token alone makes no table of budgets */
            is_there = is_there || strcmp(s->group, S2_PRINTED_FULL) != 0;
            f->is_whole[c] = f->is_whole[c] && s2_paper_is_whole(s);
        }
        if (is_there) f->task[f->n_tasks++] = c;
    }
}

static int32_t column_of(const filling *f, const char *task)
{
    char column[24];
    for (int32_t k = 0; k < f->n_tasks; k++)
        if (s2_printed_column(f->printed, f->task[k], column) &&
            strcmp(s2_printed_task(column), task) == 0)
            return k;
    return -1;
}

/* The row of a setting; a new one where there is none yet. -1: too many. */
static int32_t row_of(filling *f, const s2_paper_score *score)
{
    for (int32_t i = 0; i < f->n_rows; i++)
        if (strcmp(f->of[i]->label, score->label) == 0 &&
            strcmp(f->of[i]->group, score->group) == 0)
            return i;
    if (f->n_rows == MOST_ROWS) return -1;
    s2e_paper_row *row = &f->row[f->n_rows];
    *row = (s2e_paper_row){ .is_full = strcmp(score->group, S2_PRINTED_FULL) == 0 };
    for (int32_t k = 0; k < S2E_MAX_TASKS; k++) row->value[k] = (double)NAN;
    row->group = (int32_t)strtol(score->group, NULL, 10);
    f->of[f->n_rows] = score;
    return f->n_rows++;
}

static void add_row(filling *f, const s2_paper_score *score)
{
    const int32_t row = row_of(f, score), column = column_of(f, score->task);
    if (row >= 0 && column >= 0) f->row[row].value[column] = score->value;
}

/* In the order of the paper; then what else there is at its budgets. */
static void add_rows(filling *f)
{
    const s2_printed_table *p = f->printed;
    for (int32_t i = 0; i < f->scores->n; i++)
        if (strcmp(f->scores->score[i].group, S2_PRINTED_FULL) == 0)
            add_row(f, &f->scores->score[i]);
    const char *group = NULL;
    for (int32_t r = 0; r < p->n_rows; r++) {
        const char *next = r + 1 < p->n_rows ? p->row[r + 1].group : NULL;
        for (int32_t i = 0; i < f->scores->n; i++)
            if (strcmp(f->scores->score[i].label, p->row[r].method) == 0 &&
                strcmp(f->scores->score[i].group, p->row[r].group) == 0)
                add_row(f, &f->scores->score[i]);
        group = p->row[r].group;
        if (next && strcmp(next, group) == 0) continue;
        for (int32_t i = 0; i < f->scores->n; i++) /* the others of the group, below it */
            if (strcmp(f->scores->score[i].group, group) == 0) add_row(f, &f->scores->score[i]);
    }
}

/* --- the table ------------------------------------------------------------------------------------------- */

static s2_cell_mark mark_of(s2e_mark mark)
{
    return mark == S2E_BEST ? S2_CELL_BEST : mark == S2E_SECOND ? S2_CELL_SECOND : S2_CELL_PLAIN;
}

static void put(s2_table *t, double value, s2e_mark mark)
{
    s2_table_number(t, value);
    s2_table_mark(t, mark_of(mark));
}

/* +0.3: of a difference the sign is what counts. */
static void put_difference(s2_table *t, double value)
{
    if (isnan(value))
        s2_table_number(t, value);
    else
        s2_table_shown(t, value, "%+.1f", value);
}

static void begin_row(s2_table *t, const filling *f, int32_t row, const char *whose)
{
    const bool is_full = f->row[row].is_full;
    s2_table_text(t, is_full ? "all" : f->of[row]->group);
    s2_table_text(t, is_full ? "full" : f->of[row]->title);
    s2_table_text(t, whose);
}

static void put_ours(s2_table *t, const filling *f, int32_t row)
{
    const s2e_paper_row *mine = &f->row[row];
    begin_row(t, f, row, "ours");
    for (int32_t c = 0; c < f->printed->n_benchmarks; c++) {
        int32_t k = 0;
        while (k < f->n_tasks && f->task[k] != c) k++;
        put(t, k < f->n_tasks ? mine->value[k] : (double)NAN,
            k < f->n_tasks ? mine->mark[k] : S2E_PLAIN);
    }
    put(t, mine->acc, mine->mark[f->n_tasks]);
    put(t, mine->rel, mine->mark[f->n_tasks + 1]);
}

static void put_printed(s2_table *t, const filling *f, int32_t row, const s2_printed_row *printed)
{
    s2_printed_cell cell[S2_PRINTED_COLUMNS];
    if (f->row[row].is_full)
        s2_printed_full(f->printed, cell); /* in its own order, wherever it is printed */
    else
        (void)s2_printed_cells(printed, cell);
    begin_row(t, f, row, "paper");
    for (int32_t c = 0; c < f->printed->n_benchmarks + 2; c++) {
        if (isnan(cell[c].value))
            s2_table_number(t, cell[c].value);
        else
            s2_table_shown(t, cell[c].value, "%.*f", (int)lround(-log10(2.0 * cell[c].half)),
                           cell[c].value);
        s2_table_mark(t, mark_of(cell[c].mark));
    }
    if (f->why_not) return;
    begin_row(t, f, row, "difference");
    bool is_whole = f->n_tasks == f->printed->n_benchmarks;
    for (int32_t c = 0; c < f->printed->n_benchmarks; c++) {
        int32_t k = 0;
        while (k < f->n_tasks && f->task[k] != c) k++;
        is_whole = is_whole && f->is_whole[c];
        const double difference =
            k < f->n_tasks && f->is_whole[c] ? f->row[row].value[k] - cell[c].value : (double)NAN;
        put_difference(t, difference);
    }
    const int32_t n = f->printed->n_benchmarks;
    put_difference(t, is_whole ? f->row[row].acc - cell[n].value : (double)NAN);
    put_difference(t, is_whole ? f->row[row].rel - cell[n + 1].value : (double)NAN);
}

static void write_caption(const filling *f, char *out, size_t capacity)
{
    const s2_printed_table *p = f->printed;
    char column[24];
    int n = snprintf(out, capacity, "%s (%s) with %s. ", p->title, p->about, f->scores->model);
    if (f->n_tasks < p->n_benchmarks)
        n +=
            snprintf(out + n, capacity - (size_t)n,
                     "Acc. and Rel. of our rows are means of the %d benchmarks that are there; the "
                     "paper's are of %d. ",
                     f->n_tasks, p->n_benchmarks);
    if (f->why_not) {
        (void)snprintf(out + n, capacity - (size_t)n,
                       "The printed numbers are for reference, without differences: %s.",
                       f->why_not);
        return;
    }
    n += snprintf(out + n, capacity - (size_t)n, "Differences are ours minus printed.");
    bool has_one = false;
    for (int32_t k = 0; k < f->n_tasks && n < (int)capacity; k++) {
        if (f->is_whole[f->task[k]]) continue;
        (void)s2_printed_column(p, f->task[k], column);
        n += snprintf(out + n, capacity - (size_t)n, "%s %s",
                      has_one ? ","
                              : " Not compared, because the paper has another number of questions:",
                      s2_printed_heading(column));
        has_one = true;
    }
    if (has_one && n < (int)capacity) (void)snprintf(out + n, capacity - (size_t)n, ".");
}

static void write_table(filling *f, s2_study *study)
{
    char caption[1024], column[24];
    double best[S2_PRINTED_COLUMNS];
    for (int32_t k = 0; k < f->n_tasks; k++) {
        (void)s2_printed_column(f->printed, f->task[k], column);
        best[k] = s2_printed_best(column);
    }
    s2e_paper_table made = { f->row, f->n_rows, f->n_tasks };
    s2e_paper_table_complete(&made, best);
    write_caption(f, caption, sizeof caption);
    s2_table *t = s2_study_table(study, f->printed->name, caption);
    s2_table_column(t, "tokens", "tokens", S2_TEXT_COLUMN);
    s2_table_column(t, "method", "method", S2_TEXT_COLUMN);
    s2_table_column(t, "numbers", "numbers", S2_TEXT_COLUMN);
    for (int32_t c = 0; c < f->printed->n_benchmarks + 2; c++) {
        (void)s2_printed_column(f->printed, c, column);
        s2_table_column(t, column, s2_printed_heading(column), 1);
    }
    for (int32_t i = 0; i < f->n_rows; i++) {
        const s2_printed_row *printed = s2_printed_row_find(
            f->printed, f->of[i]->group, f->row[i].is_full ? "full" : f->of[i]->label);
        if (!printed && f->row[i].is_full) /* Table S2 has it in Table 1 */
            printed = s2_printed_row_find(s2_printed_find("table1"), S2_PRINTED_FULL, "full");
        put_ours(t, f, i);
        if (printed) put_printed(t, f, i, printed);
    }
}

/* --- commands ------------------------------------------------------------------------------------------- */

/* Methods and budgets of the table as options of `eval`; then benchmarks of a list of columns. */
static void add_command(const filling *f, const char *model, const bool *wanted, s2_study *study)
{
    const s2_printed_table *p = f->printed;
    char text[1024], methods[256] = "full", budgets[64] = "", tasks[160] = "", column[24];
    bool has_variant = false;
    for (int32_t i = 0; i < p->n_rows; i++) {
        const s2_printed_row *row = &p->row[i];
        if (strcmp(row->group, S2_PRINTED_FULL) == 0) continue;
        const bool is_variant = strchr(row->method, '[') != NULL;
        has_variant = has_variant || is_variant;
        if (!is_variant && !strstr(methods, row->method)) {
            const size_t n = strlen(methods);
            (void)snprintf(methods + n, sizeof methods - n, ",%s", row->method);
        }
        const size_t n = strlen(budgets);
        if (!strstr(budgets, row->group))
            (void)snprintf(budgets + n, sizeof budgets - n, "%s%s", n ? "," : "", row->group);
    }
    for (int32_t c = 0; c < p->n_benchmarks; c++) {
        const size_t n = strlen(tasks);
        if (wanted[c] && s2_printed_column(p, c, column))
            (void)snprintf(tasks + n, sizeof tasks - n, "%s%s", n ? "," : "",
                           s2_printed_task(column));
    }
    (void)snprintf(text, sizeof text,
                   "s2prune eval -m %s.gguf -mm mmproj.gguf --preset paper --data-dir DATA --tasks "
                   "%s --methods %s --budgets %s%s --out runs/%s && s2prune paper --run runs/%s",
                   model, tasks, methods, budgets, has_variant ? " --setting s2prune:grid=10" : "",
                   p->name, p->name);
    s2_study_command(study, text);
}

s2p_status s2_paper_table_add(const s2_printed_table *printed, const s2_paper_scores *scores,
                              const char *model, s2_study *study, int32_t *n_cells,
                              s2p_error *error)
{
    filling f = { .printed = printed, .scores = scores };
    bool missing[S2_PRINTED_COLUMNS];
    int32_t n_missing = 0;
    *n_cells = 0;
    find_columns(&f);
    for (int32_t c = 0; c < printed->n_benchmarks; c++) {
        missing[c] = true;
        for (int32_t k = 0; k < f.n_tasks; k++) missing[c] = missing[c] && f.task[k] != c;
        n_missing += missing[c];
    }
    f.row = calloc(MOST_ROWS, sizeof *f.row);
    f.of = calloc(MOST_ROWS, sizeof(const s2_paper_score *));
    s2p_status st =
        f.row && f.of ? S2P_OK : s2_fail_memory(error, MOST_ROWS * sizeof *f.row, "a table");
    if (st == S2P_OK && f.n_tasks > 0) {
        f.why_not = s2_paper_why_not(printed, scores);
        add_rows(&f);
        write_table(&f, study);
        for (int32_t i = 0; i < f.n_rows; i++)
            for (int32_t k = 0; k < f.n_tasks; k++) *n_cells += !isnan(f.row[i].value[k]);
    }
    if (st == S2P_OK && n_missing > 0 && model) add_command(&f, model, missing, study);
    free(f.row);
    free((void *)f.of);
    return st;
}
