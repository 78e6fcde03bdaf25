/* test_printed.c - the paper's tables as data: complete, and consistent with what is computed from them. */
#include "check.h"
#include "paper/printed.h"

#include <math.h>
#include <string.h>

/* As many cells in every row as its table has columns, at most one best value of a group. */
static void test_rows_are_complete(void **state)
{
    (void)state;
    int32_t n_cells = 0;
    for (size_t i = 0; s2_printed_at(i); i++) {
        const s2_printed_table *t = s2_printed_at(i);
        char column[24];
        int32_t n = 0;
        while (s2_printed_column(t, n, column)) n++;
        assert_true(t->n_rows <= S2_PRINTED_ROWS && n <= S2_PRINTED_COLUMNS);
        for (int32_t r = 0; r < t->n_rows; r++) {
            s2_printed_cell cell[S2_PRINTED_COLUMNS];
            assert_int_equal(s2_printed_cells(&t->row[r], cell), n);
            for (int32_t c = 0; c < n; c++) assert_true(cell[c].value > 0.0 && cell[c].half > 0.0);
            n_cells += n;
        }
    }
    assert_int_equal(n_cells, 25 * 12 + 13 * 6 + 5 * 4 + 5 * 5 + 12 * 2 + 9 * 12 + 7 * 6);
}

static void test_cells(void **state)
{
    (void)state;
    const s2_printed_row row = { "128", "a", "A", "51.3 *2101.9 _2168 0.9604" };
    s2_printed_cell cell[S2_PRINTED_COLUMNS];
    assert_int_equal(s2_printed_cells(&row, cell), 4);
    assert_true(cell[0].value == 51.3 && cell[0].mark == S2E_PLAIN);
    assert_true(cell[1].value == 2101.9 && cell[1].mark == S2E_BEST);
    assert_true(cell[2].value == 2168.0 && cell[2].mark == S2E_SECOND);
    assert_true(fabs(cell[0].half - 0.05) < 1e-12 && fabs(cell[2].half - 0.5) < 1e-12 &&
                fabs(cell[3].half - 0.00005) < 1e-12);
}

/* Every mean and every mark of the paper follows from its cells, or may have before they were rounded. */
static void test_means_and_marks(void **state)
{
    (void)state;
    int32_t n_rounded_means = 0, n_rounded_marks = 0;
    for (size_t i = 0; s2_printed_at(i); i++) {
        const s2_printed_table *t = s2_printed_at(i);
        s2_printed_checked checked[S2_PRINTED_ROWS];
        s2_printed_check(t, checked);
        for (int32_t r = 0; r < t->n_rows; r++) {
            assert_int_not_equal(checked[r].acc_verdict, S2_PRINTED_AGAINST);
            assert_int_not_equal(checked[r].rel_verdict, S2_PRINTED_AGAINST);
            n_rounded_means += (checked[r].acc_verdict == S2_PRINTED_ROUNDED) +
                               (checked[r].rel_verdict == S2_PRINTED_ROUNDED);
            for (int32_t c = 0; c < S2_PRINTED_COLUMNS; c++) {
                assert_int_not_equal(checked[r].mark_verdict[c], S2_PRINTED_AGAINST);
                n_rounded_marks += checked[r].mark_verdict[c] == S2_PRINTED_ROUNDED;
                /* ties of digits that are not printed are in the table of grids alone */
                assert_true(checked[r].mark_verdict[c] == S2_PRINTED_SAME ||
                            strcmp(t->name, "table_s3") == 0);
            }
        }
    }
    assert_int_equal(n_rounded_means,
                     7); /* GridPrune's 54.4 at 32 tokens is one: its cells give 54.34 */
    assert_int_equal(n_rounded_marks, 6);
}

/* By hand: GridPrune at 32 tokens. */
static void test_one_mean(void **state)
{
    (void)state;
    const s2_printed_table *t = s2_printed_find("table1");
    const s2_printed_row *row = s2_printed_row_find(t, "32", "gridprune");
    s2_printed_checked checked[S2_PRINTED_ROWS];
    s2_printed_check(t, checked);
    const s2_printed_checked *mine = &checked[row - t->row];
    const double sum = 45.4 + 80.1 + 43.8 + 27.2 + 45.4 + 61.6 + 1646.1 / 28.0 + 80.2 + 80.3 + 20.6;
    assert_true(fabs(mine->acc - sum / 10.0) < 1e-9);
    assert_int_equal(mine->acc_verdict, S2_PRINTED_ROUNDED);
    assert_int_equal(mine->rel_verdict, S2_PRINTED_SAME);
}

/* A wrong mean and a wrong mark are found: the check can fail. */
static void test_contradictions_are_found(void **state)
{
    (void)state;
    static const s2_printed_row rows[] = { { "-", "full", "", "50.0 50.0 50.0 100.0" },
                                           { "64", "a", "", "*40.0 20.0 *31.0 60.0" },
                                           { "64", "b", "", "41.0 _10.0 25.5 51.0" },
                                           { "64", "c", "", "10.0 10.0 10.0 20.0" } };
    const s2_printed_table t = {
        .columns = "x,y,acc,rel", .n_benchmarks = 2, .row = rows, .n_rows = 4
    };
    s2_printed_checked checked[S2_PRINTED_ROWS];
    s2_printed_check(&t, checked);
    assert_int_equal(checked[1].acc_verdict, S2_PRINTED_AGAINST); /* 30.0 */
    assert_int_equal(checked[1].rel_verdict, S2_PRINTED_SAME);
    assert_int_equal(checked[2].acc_verdict, S2_PRINTED_SAME);
    assert_int_equal(checked[1].mark_verdict[0], S2_PRINTED_AGAINST); /* 41 is more */
    assert_int_equal(checked[2].mark_verdict[0], S2_PRINTED_AGAINST);
    assert_int_equal(checked[2].mark[0], S2E_BEST);
    assert_int_equal(checked[2].mark_verdict[1], S2_PRINTED_SAME);
    assert_int_equal(checked[3].mark_verdict[1],
                     S2_PRINTED_ROUNDED); /* 10.0 twice, one underlined */
}

static const s2_table *table_named(const s2_study *study, const char *name)
{
    for (int32_t i = 0; i < study->n; i++)
        if (study->item[i]->kind == S2_STUDY_TABLE && strcmp(study->item[i]->name, name) == 0)
            return &study->item[i]->table;
    fail_msg("no table %s", name);
    return NULL;
}

static void test_the_contradictions(void **state)
{
    (void)state;
    s2_study study = { .n = 0 };
    s2_printed_report(&study);
    assert_int_equal(study.status, S2P_OK);
    const s2_table *against = table_named(&study, "paper_contradictions");
    const s2_table *claims = table_named(&study, "paper_claims");
    assert_int_equal(s2_table_n_rows(against), 4);
    assert_string_equal(s2_table_cell(against, 0, 1)->text,
                        "Section 5.2: first on MMB-CN at 64 tokens");
    assert_string_equal(s2_table_cell(against, 1, 0)->text, "Table 1, 128 tokens, DART");
    assert_string_equal(s2_table_cell(against, 2, 0)->text, "Table 1, 64 tokens, DART");
    assert_string_equal(s2_table_cell(against, 3, 1)->text,
                        "accuracy: Full 71.3; VisPruner 60.4; S2Prune 62.3");
    assert_string_equal(s2_table_cell(against, 3, 2)->text,
                        "their F1 needs at least 80.8; 66.0; 66.3 on as many yes as no");
    int32_t n_against = 0;
    for (int32_t i = 0; i < s2_table_n_rows(claims); i++)
        n_against += strcmp(s2_table_cell(claims, i, 5)->text, "holds") != 0;
    assert_int_equal(n_against, 1);
    s2_study_free(&study);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_are_complete),        cmocka_unit_test(test_cells),
        cmocka_unit_test(test_means_and_marks),          cmocka_unit_test(test_one_mean),
        cmocka_unit_test(test_contradictions_are_found), cmocka_unit_test(test_the_contradictions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
