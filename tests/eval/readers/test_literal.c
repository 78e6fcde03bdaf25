/* test_literal.c - lists as Python prints them. */
#include "check.h"
#include "table_files.h"

#include "eval/readers/literal.h"

static const struct {
    const char *text, *value; /* value NULL: no literal */
} cases[] = {
    { "[]", "[]" },
    { " [ ] ", "[]" },
    { "['a', 'b']", "[\"a\",\"b\"]" },
    { "[\"it's\", 'a \"b\"']", "[\"it's\",\"a \"b\"\"]" },
    { "['a',]", "[\"a\"]" },
    { "('a', 1)", "[\"a\",1]" },
    { "['a' 'b', 'c'\n 'd']", "[\"ab\",\"cd\"]" },
    { "['\\'', '\\\\', '\\n', '\\x41', '\\u00e9', '\\U0001F600', '\\101', '\\d']",
      "[\"'\",\"\\\",\"\n\",\"A\",\"\xC3\xA9\",\"\xF0\x9F\x98\x80\",\"A\",\"\\d\"]" },
    { "[\"\\ud83d\\ude00\", \"a\\/b\"]", "[\"\xF0\x9F\x98\x80\",\"a/b\"]" },
    { "[1, -2, 2.5, 1e3, None, True, false, null, nan]",
      "[1,-2,2.5,1000,none,true,false,none,none]" },
    { "[99999999999999999999]", "[1e+20]" },
    { "{'answer': 'x', 'n': [1, 2]}", "{answer=\"x\",n=[1,2]}" },
    { "[[1], [[2]]]", "[[1],[[2]]]" },
    { "'plain'", "\"plain\"" },
    { "[\xC3\xA9]", NULL },
    { "['a'", NULL },
    { "['a", NULL },
    { "['a\\", NULL },
    { "['a' , , 'b']", NULL },
    { "['a']]", NULL },
    { "[a]", NULL },
    { "[0x10]", NULL },
    { "['\\x4']", NULL },
    { "['\\0']", NULL },
    { "['\\ud800']", NULL },
    { "['\\ud800\\u0041']", NULL },
    { "['\xFF']", NULL },
    { "{1: 2}", NULL },
    { "{'a' 2}", NULL },
    { "", NULL },
    { "]", NULL },
};

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        s2e_arena arena;
        s2e_arena_init(&arena, 1 << 20);
        s2p_error error = { .message = "" };
        const s2e_value *value;
        const size_t n = strlen(cases[i].text);
        char *exact = malloc(n + 1); /* one byte too far is seen by the sanitizer */
        assert_non_null(exact);
        memcpy(exact, cases[i].text, n);
        exact = realloc(exact, n ? n : 1);
        const s2p_status st = s2e_literal_parse(exact, n, &arena, &value, &error);
        CHECK_CASE((st == S2P_OK) == (cases[i].value != NULL), "%s: %s", cases[i].text,
                   error.message);
        if (st == S2P_OK) {
            s2_buffer out;
            s2_buffer_init(&out, 1 << 16);
            print_value(value, &out);
            s2_buffer_append(&out, "", 1);
            assert_string_equal((char *)out.data, cases[i].value);
            s2_buffer_free(&out);
        } else {
            assert_int_equal(st, S2P_EFORMAT);
            assert_true(error.message[0] && !value);
        }
        free(exact);
        s2e_arena_free(&arena);
    }
}

/* Deep nesting and a long list: refused, and in memory that grows with the text alone. */
static void test_limits(void **state)
{
    (void)state;
    char deep[3000];
    memset(deep, '[', sizeof deep);
    s2e_arena arena;
    s2e_arena_init(&arena, 1 << 20);
    s2p_error error;
    const s2e_value *value;
    assert_int_equal(s2e_literal_parse(deep, sizeof deep, &arena, &value, &error), S2P_ELIMIT);

    s2_buffer text;
    s2_buffer_init(&text, 1 << 20);
    s2_buffer_printf(&text, "[");
    for (int i = 0; i < 2000; i++) s2_buffer_printf(&text, "'%d',", i);
    s2_buffer_printf(&text, "]");
    s2e_arena_clear(&arena);
    assert_int_equal(s2e_literal_parse((char *)text.data, text.size, &arena, &value, &error),
                     S2P_OK);
    assert_int_equal(value->n, 2000);
    assert_string_equal(value->item[1999].text, "1999");
    s2e_arena_clear(&arena);
    arena.max = 10000;
    assert_int_equal(s2e_literal_parse((char *)text.data, text.size, &arena, &value, &error),
                     S2P_ELIMIT);
    s2_buffer_free(&text);
    s2e_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_cases),
                                        cmocka_unit_test(test_limits) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
