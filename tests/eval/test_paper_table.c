/* test_paper_table.c - the paper's own cells through the table that evaluations use: Acc., Rel. and
 * marks row by row, what of the paper contradicts itself, and places by scores that show the same
 * figure.
 */
#include "base/file.h"
#include "check.h"
#include "eval/report/documents.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ROWS 32

typedef struct printed { /* a table of tests/data/paper/tables.txt */
    char name[8], method[MAX_ROWS][24], mark[MAX_ROWS][16];
    double best[S2E_MAX_TASKS], acc[MAX_ROWS], rel[MAX_ROWS];
    s2e_paper_row row[MAX_ROWS];
    s2e_paper_table table;
} printed;

static printed tables[3];
static size_t n_tables;

static void read_row(printed *t, char *line)
{
    s2e_paper_row *row = &t->row[t->table.n_rows];
    const int32_t i = t->table.n_rows++;
    char *at = strchr(line, ':');
    assert_true(at && t->table.n_rows <= MAX_ROWS);
    assert_int_equal(sscanf(line, "%d %23[^:]", &row->group, t->method[i]), 2);
    row->is_full = row->group == 0;
    at++;
    for (int32_t c = 0; c < t->table.n_tasks; c++) row->value[c] = strtod(at, &at);
    t->acc[i] = strtod(at, &at);
    t->rel[i] = strtod(at, &at);
    assert_int_equal(sscanf(at, " %15s", t->mark[i]), 1);
    assert_int_equal(strlen(t->mark[i]), t->table.n_tasks + 2);
}

static int read_tables(void **state)
{
    (void)state;
    s2_buffer text;
    s2_buffer_init(&text, 1 << 16);
    assert_int_equal(s2_file_read(S2_TEST_DATA "/paper/tables.txt", &text, NULL), S2P_OK);
    s2_buffer_append(&text, "", 1);
    char *rest = NULL;
    for (char *line = strtok_r((char *)text.data, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        if (line[0] == '#') continue;
        if (strncmp(line, "table ", 6) != 0) {
            read_row(&tables[n_tables - 1], line);
            continue;
        }
        assert_true(n_tables < COUNT_OF(tables));
        printed *t = &tables[n_tables++];
        int at = 0;
        assert_int_equal(sscanf(line, "table %7s %d%n", t->name, &t->table.n_tasks, &at), 2);
        char *next = line + at;
        for (int32_t c = 0; c < t->table.n_tasks; c++) t->best[c] = strtod(next, &next);
        t->table.row = t->row;
    }
    s2_buffer_free(&text);
    for (size_t i = 0; i < n_tables; i++)
        s2e_paper_table_complete(&tables[i].table, tables[i].best);
    return n_tables == 3 ? 0 : 1;
}

static int32_t find(const printed *t, int32_t budget, const char *method)
{
    for (int32_t i = 0; i < t->table.n_rows; i++)
        if (t->row[i].group == budget && strcmp(t->method[i], method) == 0) return i;
    fail_msg("table %s has no %s at %d", t->name, method, budget);
    return -1;
}

/* --- the paper ----------------------------------------------------------------------------- */

/* Printed aggregates that their printed cells do not round to: the authors had more digits. */
static const struct {
    const char *table, *method;
    int32_t budget;
    bool is_rel;
} other_roundings[] = {
    { "1", "DART", 128, true },      { "1", "HoloV", 128, false }, { "1", "S2Prune", 128, true },
    { "1", "GridPrune", 32, false }, { "1", "HoloV", 32, false },
};

static bool is_listed(const printed *t, int32_t row, bool is_rel)
{
    for (size_t i = 0; i < COUNT_OF(other_roundings); i++)
        if (strcmp(other_roundings[i].table, t->name) == 0 &&
            strcmp(other_roundings[i].method, t->method[row]) == 0 &&
            other_roundings[i].budget == t->row[row].group && other_roundings[i].is_rel == is_rel)
            return true;
    return false;
}

/* How far cells with half a digit more or less move the mean: of 0.05 each, and 0.5 of MME. */
static double slack_of(const printed *t, bool is_rel)
{
    double sum = 0.0;
    for (int32_t c = 0; c < t->table.n_tasks; c++) {
        const double half = t->best[c] > 100.0 ? 0.5 : 0.05;
        sum += is_rel ? 2.0 * 100.0 * half / t->row[0].value[c] : 100.0 * half / t->best[c];
    }
    return sum / t->table.n_tasks;
}

static void test_means(void **state)
{
    (void)state;
    int n_checked = 0;
    for (size_t k = 0; k < n_tables; k++) {
        const printed *t = &tables[k];
        for (int32_t i = 0; i < t->table.n_rows; i++)
            for (int rel = 0; rel < 2; rel++) {
                const double got = rel ? t->row[i].rel : t->row[i].acc;
                const double expected = rel ? t->rel[i] : t->acc[i];
                const double most = 0.05 + 1e-9 + (is_listed(t, i, rel) ? slack_of(t, rel) : 0.0);
                CHECK_CASE(fabs(got - expected) <= most, "table %s, %s at %d: %.4f, printed %.1f",
                           t->name, t->method[i], t->row[i].group, got, expected);
                /* the list has no row too many */
                CHECK_CASE(!is_listed(t, i, rel) || fabs(got - expected) > 0.0501, "%s",
                           t->method[i]);
                n_checked++;
            }
    }
    assert_int_equal(n_checked, 2 * (25 + 13 + 10));
}

/* Every mark of the three tables, Acc. and Rel. included, follows from the printed cells. */
static void test_marks(void **state)
{
    (void)state;
    static const char sign[] = { [S2E_PLAIN] = '-', [S2E_BEST] = 'b', [S2E_SECOND] = 's' };
    for (size_t k = 0; k < n_tables; k++)
        for (int32_t i = 0; i < tables[k].table.n_rows; i++)
            for (int32_t c = 0; c < tables[k].table.n_tasks + 2; c++)
                CHECK_CASE(sign[tables[k].row[i].mark[c]] == tables[k].mark[i][c],
                           "table %s, %s at %d, column %d", tables[k].name, tables[k].method[i],
                           tables[k].row[i].group, c);
}

/* The two places where the paper is not of one mind. */
static void test_contradictions(void **state)
{
    (void)state;
    const int32_t gqa = 0, pope = 5, mmb_cn = 8;
    const printed *t = &tables[0];
    const s2e_paper_row *ours = &t->row[find(t, 64, "S2Prune")];
    const s2e_paper_row *holov = &t->row[find(t, 64, "HoloV")];
    /* Sec. 5.2: "On MMB-CN, it ranks second at 128 tokens and first at 64 and 32 tokens". The table
     * has HoloV first at 64. */
    assert_true(ours->mark[mmb_cn] == S2E_SECOND && holov->mark[mmb_cn] == S2E_BEST);
    assert_true(t->row[find(t, 128, "S2Prune")].mark[mmb_cn] == S2E_SECOND);
    assert_true(t->row[find(t, 32, "S2Prune")].mark[mmb_cn] == S2E_BEST);
    /* DART at 128 tokens is below DART at 64 on GQA and, by 27 points, on POPE; and its cells give a
     * Rel. of 81.2, not 81.1. */
    const int32_t row = find(t, 128, "DART");
    const s2e_paper_row *more = &t->row[row], *fewer = &t->row[find(t, 64, "DART")];
    assert_true(more->value[gqa] < fewer->value[gqa]);
    assert_true(more->value[pope] < fewer->value[pope] - 27.0);
    assert_true(t->rel[row] == 81.1 && more->rel > 81.15);
}

/* --- places ---------------------------------------------------------------------------------- */

static void check_places(const double *value, int32_t n, const char *expected)
{
    static const char sign[] = { [S2E_PLAIN] = '-', [S2E_BEST] = 'b', [S2E_SECOND] = 's' };
    s2e_paper_row row[8] = { { .group = 0 } };
    s2e_paper_table t = { row, n, 1 };
    const double best = 100.0;
    for (int32_t i = 0; i < n; i++) row[i] = (s2e_paper_row){ .group = 7, .value = { value[i] } };
    s2e_paper_table_complete(&t, &best);
    for (int32_t i = 0; i < n; i++) {
        CHECK_CASE(sign[row[i].mark[0]] == expected[i], "%s, row %d", expected, i);
        assert_true(row[i].mark[1] == row[i].mark[0]); /* Acc. of one benchmark is its figure */
        assert_true(isnan(row[i].rel) && row[i].mark[2] == S2E_PLAIN); /* nothing to relate to */
    }
}

static void test_places(void **state)
{
    (void)state;
    check_places((double[]){ 66.61, 66.64, 66.58 }, 3, "sb-"); /* all are shown as 66.6 */
    check_places((double[]){ 70.0, 70.0, 60.0, 60.0, 50.0 }, 5, "bbss-");
    check_places((double[]){ 100.0 / 3.0, 10.0 / 0.3, 1.0 }, 3, "bbs"); /* equal but for an order */
    check_places((double[]){ 50.0, 60.0, 50.0, 70.0 }, 4, "-s-b");
    check_places((double[]){ (double)NAN, 60.0, 50.0 }, 3, "-bs");
    check_places((double[]){ (double)NAN, 60.0 }, 2, "--");
    check_places((double[]){ 60.0 }, 1, "-"); /* nobody to be before */
    check_places((double[]){ 0.0, 0.0 }, 2, "bb");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_means),
        cmocka_unit_test(test_marks),
        cmocka_unit_test(test_contradictions),
        cmocka_unit_test(test_places),
    };
    return cmocka_run_group_tests(tests, read_tables, NULL);
}
