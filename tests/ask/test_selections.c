/* test_selections.c - the file of a method file:PATH: what a line says, which line counts, refusals. */
#include "ask/selections.h"
#include "check.h"

#include <string.h>

static s2p_error error;

static s2a_selections *parse(const char *text)
{
    s2a_selections *s = NULL;
    const s2p_status st = s2a_selections_parse(text, strlen(text), "kept.jsonl", &s, &error);
    CHECK_CASE(st == S2P_OK, "%s: %s", text, error.message);
    return s;
}

static void test_lines(void **state)
{
    (void)state;
    s2a_selections *s =
        parse("{\"id\": \"a\", \"kept\": [1, 5, 9]}\r\n"
              "\n   \n"
              "{\"id\":\"b/2\",\"kept\":[0],\"picture\":1,\"part\":1,\"budget\":1}");
    const s2a_selection *line = s2a_selections_find(s, "pope", "a", 0, 0, 64);
    assert_non_null(line);
    assert_int_equal(line->n_kept, 3);
    assert_int_equal(line->line, 1);
    static const int32_t kept[3] = { 1, 5, 9 };
    assert_memory_equal(line->kept, kept, sizeof kept);
    assert_null(s2a_selections_find(s, "pope", "a", 1, 0, 64));
    assert_null(s2a_selections_find(s, "pope", "A", 0, 0, 64));
    assert_null(s2a_selections_find(s, "pope", "b/2", 0, 0, 1));
    assert_null(s2a_selections_find(s, "pope", "b/2", 1, 1, 2));
    line = s2a_selections_find(s, "pope", "b/2", 1, 1, 1);
    assert_true(line && line->line == 4 && line->n_kept == 1);
    int32_t other;
    assert_true(s2a_selections_have(s, 1, &other) && s2a_selections_have(s, 3, &other));
    assert_false(s2a_selections_have(s, 2, &other));
    assert_int_equal(other, 3);
    s2a_selections_free(s);
    s2a_selections_free(NULL);
}

/* The id before "*", then the task, then the budget. Each line keeps its own number as its token. */
static void test_the_most_specific_line(void **state)
{
    (void)state;
    s2a_selections *s = parse("{\"id\":\"*\",\"kept\":[1]}\n"
                              "{\"id\":\"*\",\"kept\":[2],\"budget\":8}\n"
                              "{\"id\":\"*\",\"kept\":[3],\"task\":\"pope\"}\n"
                              "{\"id\":\"a\",\"kept\":[4]}\n"
                              "{\"id\":\"a\",\"kept\":[5],\"budget\":8}\n"
                              "{\"id\":\"a\",\"kept\":[6],\"task\":\"pope\"}\n"
                              "{\"id\":\"a\",\"kept\":[7],\"task\":\"pope\",\"budget\":8}\n");
    static const struct {
        const char *task, *id;
        int32_t budget, line;
    } cases[] = {
        { "pope", "a", 8, 7 }, { "pope", "a", 9, 6 }, { "mme", "a", 8, 5 }, { "mme", "a", 9, 4 },
        { "pope", "b", 8, 3 }, { "pope", "b", 9, 3 }, { "mme", "b", 8, 2 }, { "mme", "b", 9, 1 },
        { "", "", 8, 2 },      { "", "a", 1, 4 },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const s2a_selection *line =
            s2a_selections_find(s, cases[i].task, cases[i].id, 0, 0, cases[i].budget);
        CHECK_CASE(line && line->line == cases[i].line && line->kept[0] == cases[i].line, "%zu", i);
    }
    s2a_selections_free(s);
}

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *sentence;
    } cases[] = {
        { "", "kept.jsonl is empty; a line looks like {\"id\": \"SAMPLE\", \"kept\": [0, 1, 2]}" },
        { "\n\n", "is empty" },
        { "{\"id\":\"a\",\"kept\":[1]}\nnot json\n", "kept.jsonl, line 2: not valid JSON" },
        { "[1]", "line 1: it is not a JSON object" },
        { "{\"id\":\"a\"}", "line 1: it needs both id and kept" },
        { "{\"kept\":[1]}", "line 1: it needs both id and kept" },
        { "{\"id\":7,\"kept\":[1]}", "id must be a string" },
        { "{\"id\":\"\",\"kept\":[1]}", "id has 0 bytes" },
        { "{\"id\":\"a\",\"kept\":[]}", "kept has 0 items" },
        { "{\"id\":\"a\",\"kept\":7}", "kept must be a list" },
        { "{\"id\":\"a\",\"kept\":[1.5]}", "kept must be a list of whole numbers" },
        { "{\"id\":\"a\",\"kept\":[\"1\"]}", "kept must be a list of whole numbers" },
        { "{\"id\":\"a\",\"kept\":[9999999999]}", "kept must be a list of whole numbers" },
        { "{\"id\":\"a\",\"kept\":[-1]}", "there is no token -1" },
        { "{\"id\":\"a\",\"kept\":[1048576]}", "there is no token 1048576" },
        { "{\"id\":\"a\",\"kept\":[2,1]}", "kept must ascend, and 1 follows 2" },
        { "{\"id\":\"a\",\"kept\":[2,2]}", "kept must ascend, and 2 follows 2" },
        { "{\"id\":\"a\",\"keep\":[1]}", "keep is not known; there are id, kept, budget" },
        { "{\"id\":\"a\",\"kept\":[1],\"budget\":0}", "budget is 0; it must be from 1" },
        { "{\"id\":\"a\",\"kept\":[1],\"part\":2}", "part is 2; it must be from 0 to 1" },
        { "{\"id\":\"a\",\"kept\":[1],\"id\":\"b\"}", "line 1: not valid JSON" },
        { "{\"id\":\"a\",\"kept\":[1]}\n\n{\"kept\":[2],\"id\":\"a\"}",
          "lines 1 and 3 are for the same sample 'a'" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        s2a_selections *s = (s2a_selections *)&error;
        error = (s2p_error){ S2P_OK, "" };
        const s2p_status st =
            s2a_selections_parse(cases[i].text, strlen(cases[i].text), "kept.jsonl", &s, &error);
        CHECK_CASE(st == S2P_EFORMAT && !s, "%zu: %s", i, cases[i].text);
        CHECK_CASE(strstr(error.message, cases[i].sentence), "%zu: %s", i, error.message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_the_most_specific_line),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
