/* test_table.c - one table in every form, with names that need quoting. */
#include "analyze/table.h"
#include "check.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

static void make(s2_table *t)
{
    s2_table_init(t, "efficiency");
    s2_table_column(t, "method", "method", S2_TEXT_COLUMN);
    s2_table_column(t, "flops_t", "FLOPs (T)", 2);
    s2_table_column(t, "ms", "ms", 1);
    s2_table_detail(t, "iqr", 1);
    s2_table_text(t, "a \"b\", 'c' <d>");
    s2_table_number(t, 9.625); /* a half: people round it up */
    s2_table_shown(t, 20.04, "20 \xC2\xB1 1");
    s2_table_number(t, 0.5);
    s2_table_text(t, "full");
    s2_table_number(t, (double)NAN);
    s2_table_number(t, 7.25);
    s2_table_number(t, (double)INFINITY);
}

static void check_form(s2_table_format format, const char *expected)
{
    s2_table t;
    s2_buffer out;
    make(&t);
    s2_buffer_init(&out, 1 << 16);
    assert_int_equal(s2_table_write(&t, format, &out), S2P_OK);
    s2_buffer_append(&out, "", 1);
    assert_string_equal((const char *)out.data, expected);
    s2_buffer_free(&out);
    s2_table_free(&t);
}

/* What rounds to zero has no sign. */
static void test_zero(void **state)
{
    (void)state;
    s2_table t;
    s2_buffer out;
    s2_table_init(&t, "gain");
    s2_table_column(&t, "gain", "gain", 1);
    s2_table_number(&t, -0.04);
    s2_table_number(&t, -0.06);
    s2_buffer_init(&out, 1 << 10);
    assert_int_equal(s2_table_write(&t, S2_TABLE_MARKDOWN, &out), S2P_OK);
    s2_buffer_append(&out, "", 1);
    assert_string_equal((const char *)out.data, "| gain |\n|---:|\n| 0.0 |\n| -0.1 |\n");
    s2_buffer_free(&out);
    s2_table_free(&t);
}

static void test_forms(void **state)
{
    (void)state;
    check_form(S2_TABLE_TEXT, "method          FLOPs (T)      ms\n"
                              "a \"b\", 'c' <d>       9.63  20 \xC2\xB1 1\n"
                              "full                          7.3\n");
    check_form(S2_TABLE_MARKDOWN, "| method | FLOPs (T) | ms |\n"
                                  "|---|---:|---:|\n"
                                  "| a \"b\", 'c' <d> | 9.63 | 20 \xC2\xB1 1 |\n"
                                  "| full |  | 7.3 |\n");
    check_form(S2_TABLE_CSV, "method,flops_t,ms,iqr\n"
                             "\"a \"\"b\"\", 'c' <d>\",9.625,20.04,0.5\n"
                             "full,,7.25,\n");
    check_form(S2_TABLE_JSONL,
               "{\"method\":\"a \\\"b\\\", 'c' <d>\",\"flops_t\":9.625,\"ms\":20.04,\"iqr\":0.5}\n"
               "{\"method\":\"full\",\"flops_t\":null,\"ms\":7.25,\"iqr\":null}\n");
    check_form(S2_TABLE_SQL, "CREATE TABLE IF NOT EXISTS efficiency (method TEXT, flops_t REAL, ms "
                             "REAL, iqr REAL);\n"
                             "INSERT INTO efficiency VALUES ('a \"b\", ''c'' <d>', 9.625, 20.04, "
                             "0.5);\n"
                             "INSERT INTO efficiency VALUES ('full', NULL, 7.25, NULL);\n");
}

static void test_json_is_json(void **state)
{
    (void)state;
    s2_table t;
    s2_buffer out;
    make(&t);
    s2_buffer_init(&out, 1 << 16);
    assert_int_equal(s2_table_write(&t, S2_TABLE_JSON, &out), S2P_OK);
    json_t *root = json_loadb((const char *)out.data, out.size, 0, NULL);
    assert_int_equal(json_array_size(root), 2);
    const json_t *first = json_array_get(root, 0);
    assert_string_equal(json_string_value(json_object_get(first, "method")), "a \"b\", 'c' <d>");
    assert_true(json_real_value(json_object_get(first, "ms")) == 20.04);
    json_decref(root);
    s2_buffer_free(&out);
    s2_table_free(&t);
}

static void test_html_is_escaped(void **state)
{
    (void)state;
    s2_table t;
    s2_buffer out;
    make(&t);
    s2_buffer_init(&out, 1 << 16);
    assert_int_equal(s2_table_write(&t, S2_TABLE_HTML, &out), S2P_OK);
    s2_buffer_append(&out, "", 1);
    assert_non_null(strstr((const char *)out.data, "&lt;d&gt;"));
    assert_null(strstr((const char *)out.data, "<d>"));
    assert_null(strstr((const char *)out.data, "iqr"));
    s2_buffer_free(&out);
    s2_table_free(&t);
}

static void test_too_many_columns(void **state)
{
    (void)state;
    s2_table t;
    s2_buffer out;
    s2_table_init(&t, "wide");
    for (int i = 0; i <= S2_MAX_COLUMNS; i++) s2_table_column(&t, "k", "k", 0);
    s2_buffer_init(&out, 1 << 16);
    assert_int_equal(s2_table_write(&t, S2_TABLE_CSV, &out), S2P_ELIMIT);
    s2_buffer_free(&out);
    s2_table_free(&t);
}

static void test_marks(void **state)
{
    static const char *const expected[] = { [S2_TABLE_TEXT] = "a  b\n1  2\n",
                                            [S2_TABLE_MARKDOWN] =
                                                "| a | b |\n|---:|---:|\n| **1** | <u>2</u> |\n",
                                            [S2_TABLE_CSV] = "a,b\n1,2\n" };
    (void)state;
    for (int format = S2_TABLE_TEXT; format <= S2_TABLE_CSV; format++) {
        s2_table t;
        s2_buffer out;
        s2_table_init(&t, "t");
        s2_table_mark(&t, S2_CELL_BEST); /* there is no cell yet */
        s2_table_column(&t, "a", "a", 0);
        s2_table_column(&t, "b", "b", 0);
        s2_table_number(&t, 1.0);
        s2_table_mark(&t, S2_CELL_BEST);
        s2_table_number(&t, 2.0);
        s2_table_mark(&t, S2_CELL_SECOND);
        s2_buffer_init(&out, 1 << 16);
        assert_int_equal(s2_table_write(&t, (s2_table_format)format, &out), S2P_OK);
        s2_buffer_append(&out, "", 1);
        assert_string_equal((const char *)out.data, expected[format]);
        s2_buffer_free(&out);
        s2_table_free(&t);
    }
}

/* Columns that do not fit stand below, behind the leading one; a column is never cut. */
static void test_narrow(void **state)
{
    (void)state;
    static const struct {
        int32_t width;
        const char *expected;
    } cases[] = {
        { 0, "name  first  second  third\nx         1       2      3\n" },
        { 26, "name  first  second  third\nx         1       2      3\n" },
        { 25, "name  first  second\nx         1       2\n\nname  third\nx         3\n" },
        { 5,
          "name  first\nx         1\n\nname  second\nx          2\n\nname  third\nx         3\n" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        s2_table t;
        s2_buffer out;
        s2_table_init(&t, "t");
        s2_table_column(&t, "name", "name", S2_TEXT_COLUMN);
        s2_table_column(&t, "first", "first", 0);
        s2_table_detail(&t, "detail", 0);
        s2_table_column(&t, "second", "second", 0);
        s2_table_column(&t, "third", "third", 0);
        s2_table_detail(&t, "last", 0);
        s2_table_text(&t, "x");
        for (int k = 0; k < 5; k++) s2_table_number(&t, (double[]){ 1.0, 9.0, 2.0, 3.0, 9.0 }[k]);
        t.n_leading = 1;
        t.max_width = cases[i].width;
        s2_buffer_init(&out, 1 << 16);
        assert_int_equal(s2_table_write(&t, S2_TABLE_TEXT, &out), S2P_OK);
        s2_buffer_append(&out, "", 1);
        assert_string_equal((const char *)out.data, cases[i].expected);
        s2_buffer_free(&out);
        s2_table_free(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_zero),
        cmocka_unit_test(test_marks),
        cmocka_unit_test(test_json_is_json),
        cmocka_unit_test(test_narrow),
        cmocka_unit_test(test_html_is_escaped),
        cmocka_unit_test(test_too_many_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
