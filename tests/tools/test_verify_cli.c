/* test_verify_cli.c - `s2prune verify`: passes, failures, and the program it needs. */
#include "program_runs.h"

static void test_verify(void **state)
{
    (void)state;
    const outcome *o = run("verify " GOLDENS "/methods --only s2prune");
    CHECK_CASE(o->code == 0, "%s", o->out);
    assert_non_null(strstr(o->out, "\n4 passed, 0 failed\n"));
    o = run("verify " GOLDENS "/algo --only alloc");
    assert_int_equal(o->code, 0);
    assert_non_null(strstr(o->out, "ok   algo/alloc.json"));
    assert_non_null(strstr(o->out, "ok   algo/alloc.txt"));
    assert_non_null(strstr(o->out, "\n2 passed, 0 failed\n"));
    o = run("verify " GOLDENS "/algo --only nothing-like-it");
    assert_int_equal(o->code, 3);
    assert_non_null(strstr(o->err, "nothing to check"));
    json_t *report = run_json("verify " GOLDENS "/algo/map.txt -o json");
    assert_int_equal(number(report, "passed"), 1);
    assert_int_equal(number(report, "failed"), 0);
    json_decref(report);
}

static void test_verify_elsewhere(void **state)
{
    (void)state;
    const outcome *o = run_with("rm -rf away && mkdir -p away/s2prune && cp " GOLDENS
                                "/methods/s2prune/cases.json away/s2prune/mine.json &&",
                                "verify away --arrays " GOLDENS "/methods");
    CHECK_CASE(o->code == 0, "%s%s", o->out, o->err);
    assert_non_null(strstr(o->out, "ok   away/s2prune/mine.json"));
    o = run("verify away"); /* without the arrays nothing can be said */
    assert_int_equal(o->code, 3);
    assert_non_null(strstr(o->out, "0 passed, 1 failed"));
}

/* One digit changed in a copy: exit 1, the file, the step. Cut in half: malformed, exit 3. */
static void test_verify_can_fail(void **state)
{
    (void)state;
    const outcome *o = run_with("rm -rf bad && mkdir bad && sed 's/^o 1 /o 2 /' " GOLDENS
                                "/algo/alloc.txt > bad/alloc.txt &&",
                                "verify bad");
    CHECK_CASE(o->code == 1, "%d %s%s", o->code, o->out, o->err);
    assert_non_null(strstr(o->out, "FAIL bad/alloc.txt"));
    assert_non_null(strstr(o->out, "budgets: expected 2 at 0, got 1"));
    assert_non_null(strstr(o->out, "0 passed, 1 failed"));

    o = run_with("rm -rf bad && mkdir bad && head -c 5000 " GOLDENS
                 "/algo/map.json > bad/map.json; head -c "
                 "1000 " GOLDENS "/algo/cells.json > bad/cells.json;",
                 "verify bad");
    CHECK_CASE(o->code == 3, "%d %s%s", o->code, o->out, o->err);
    assert_non_null(strstr(o->out, "FAIL bad/cells.json"));
    assert_non_null(strstr(o->out, "malformed"));

    o = run_with("rm -rf bad && mkdir bad && echo '{\"a\":1}' > bad/other.json &&", "verify bad");
    assert_int_equal(o->code, 3); /* nothing to check is not a pass */
    assert_non_null(strstr(o->out, "0 passed, 0 failed, 1 skipped"));
}

/* The checks are a program of their own: without it, one sentence, and no code of a comparison. */
static void test_verify_is_missing(void **state)
{
    (void)state;
    char command[2048];
    (void)snprintf(command, sizeof command,
                   "cd '%s' && rm -rf alone && mkdir alone && cp '%s' alone/s2prune && "
                   "alone/s2prune verify " GOLDENS " 2> alone/err",
                   folder, program);
    const int status = system(command);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    s2_buffer text;
    s2_buffer_init(&text, 1 << 16);
    (void)snprintf(command, sizeof command, "%s/alone/err", folder);
    assert_int_equal(s2_file_read(command, &text, NULL), S2P_OK);
    s2_buffer_append(&text, "", 1);
    assert_non_null(strstr((const char *)text.data, "error: cannot run '"));
    assert_non_null(strstr((const char *)text.data,
                           "/alone/s2prune-verify': No such file or directory; install "
                           "s2prune-verify next to s2prune\n"));
    s2_buffer_free(&text);
    (void)snprintf(command, sizeof command, "'%s/alone/s2prune' verify --help > '%s/alone/help'",
                   folder, folder);
    assert_int_equal(system(command), 0);
}

int main(int argc, char **argv)
{
    if (argc != 3) return 2;
    program = argv[1];
    folder = argv[2];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_verify),
        cmocka_unit_test(test_verify_elsewhere),
        cmocka_unit_test(test_verify_can_fail),
        cmocka_unit_test(test_verify_is_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
