/* test_own.c - methods file: and exec: as methods: what they keep, whose fault a failure is, and when
 * a process is over. Argument: a folder to write to.
 */
#include "ask/own.h"
#include "base/file.h"
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HELLO "echo '{\"schema\":\"s2prune.exec/1\",\"name\":\"mine\"}'; "

static const char *folder;
static s2p_error error;
static int32_t kept[16], n_kept;

static char *write_file(const char *name, const char *text)
{
    static char method[4096];
    (void)snprintf(method, sizeof method, "file:%s/%s", folder, name);
    assert_int_equal(s2_file_write(method + 5, text, strlen(text), &error), S2P_OK);
    return method;
}

static s2a_own *open_own(s2a_owns *owns, const char *text)
{
    s2a_own *own = NULL;
    const s2p_status st = s2a_owns_open(owns, "--method", text, strlen(text), &own, &error);
    CHECK_CASE(st == S2P_OK, "%s: %s", text, error.message);
    return own;
}

/* Of a 4x4 grid; the result is in kept. */
static s2p_status run(s2a_own *own, const char *id, int32_t budget, s2p_mode mode, int16_t picture)
{
    s2p_plan *plan;
    const s2p_view view = { .budget = budget, .mode = mode, .picture = picture };
    const s2a_sample sample = { "pope", id };
    error = (s2p_error){ S2P_OK, "" };
    s2a_own_begin(own, &sample);
    assert_int_equal(s2p_plan_create(&plan, (s2p_grid){ 4, 4 }), S2P_OK);
    const s2p_status st = s2p_method_run(s2a_own_method(own), &view, plan, &error);
    const int32_t *keep = s2p_plan_keep(plan, &n_kept);
    memcpy(kept, keep, (size_t)n_kept * sizeof *keep);
    s2p_plan_free(plan);
    return st;
}

static void expect_fault(s2a_own *own, const char *id, int32_t budget, const char *sentence)
{
    CHECK_CASE(run(own, id, budget, S2P_MODE_DEFAULT, 0) != S2P_OK, "%s", id);
    CHECK_CASE(s2a_own_fault(own) == S2A_FAULT_SAMPLE, "%s", error.message);
    CHECK_CASE(strstr(error.message, sentence), "%s: %s", id, error.message);
}

static void test_file(void **state)
{
    (void)state;
    s2a_owns owns = { .n = 0 };
    s2a_own *own =
        open_own(&owns, write_file("Kept (1).jsonl", "{\"id\":\"a\",\"kept\":[0,3,15]}\n"
                                                     "{\"id\":\"a\",\"kept\":[7],\"picture\":2}\n"
                                                     "{\"id\":\"far\",\"kept\":[0,3,16]}\n"));
    const s2p_method_info *about = s2p_method_about(s2a_own_method(own));
    assert_string_equal(about->name, "file:kept__1_.jsonl");
    assert_true(about->needs == 0 && about->after[0] == S2P_BEFORE_DECODER && about->n_stages == 1);
    assert_true(strncmp(s2a_own_identity(own), "sha256:", 7) == 0);
    assert_int_equal(strlen(s2a_own_identity(own)), 7 + 64);
    assert_int_equal(run(own, "a", 3, S2P_MODE_DEFAULT, 0), S2P_OK);
    assert_true(n_kept == 3 && kept[0] == 0 && kept[1] == 3 && kept[2] == 15);
    assert_int_equal(s2a_own_fault(own), S2A_FAULT_NONE);
    assert_int_equal(run(own, "a", 1, S2P_MODE_DEFAULT, 2), S2P_OK);
    assert_true(n_kept == 1 && kept[0] == 7);
    assert_int_equal(run(own, "a", 5, S2P_MODE_PUBLISHED, 0), S2P_OK); /* its own count */
    assert_int_equal(n_kept, 3);
    expect_fault(own, "b", 3, "file:kept__1_.jsonl: no line for sample 'b', picture 0, 3 tokens");
    expect_fault(own, "a", 4,
                 "3 tokens for sample 'a', but the budget is 4; use --mode published to");
    expect_fault(own, "far", 3, "line 3 keeps token 16; the grid of sample 'far' is 4x4");
    assert_int_equal(run(own, "b", 16, S2P_MODE_DEFAULT, 0),
                     S2P_OK); /* all stay: nobody is asked */

    s2a_setting setting = { .budget = { .tokens = 3 } };
    assert_int_equal(s2a_own_check(own, &setting, &error), S2P_OK);
    setting.budget.tokens = 64;
    assert_int_equal(s2a_own_check(own, &setting, &error), S2P_EBUDGET);
    assert_non_null(strstr(error.message, "keeps 64 tokens (the first keeps 3): give that budget"));
    setting.published = true;
    assert_int_equal(s2a_own_check(own, &setting, &error), S2P_OK);
    s2a_owns_close(&owns);
}

static void test_opening(void **state)
{
    (void)state;
    static const struct {
        const char *text, *sentence;
    } cases[] = {
        { "file:", "--method 'file:' needs a name: file:PATH or exec:COMMAND" },
        { "file:/no/such/file", "--method: " },
        { "exec:", "it needs a command" },
        { "exec:  ", "it needs a command" },
        { "exec:exit 4", "--method: exec:exit 4: it exited with status 4 before it answered" },
        { "exec:echo hi", "exec:echo hi: its greeting: not valid JSON" },
        { "exec:sleep 100", "exec:sleep 100: it gave no answer within 0.3 seconds" },
        { "mine", "needs a name" },
    };
    s2a_owns owns = { .options.timeout_ms = 300 };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        s2a_own *own = (s2a_own *)&owns;
        CHECK_CASE(s2a_owns_open(&owns, "--method", cases[i].text, strlen(cases[i].text), &own,
                                 &error) != S2P_OK,
                   "%s", cases[i].text);
        CHECK_CASE(!own && owns.n == 0, "%s", cases[i].text);
        CHECK_CASE(strstr(error.message, cases[i].sentence), "%s: %s", cases[i].text,
                   error.message);
    }
    /* One text, one method; one name, one text. */
    owns.options.timeout_ms = 1e5;
    s2a_own *first = open_own(&owns, "exec:" HELLO "cat >/dev/null"), *other;
    assert_true(open_own(&owns, "exec:" HELLO "cat >/dev/null") == first && owns.n == 1);
    assert_int_equal(s2a_owns_open(&owns, "--methods", "exec:" HELLO "cat",
                                   strlen("exec:" HELLO "cat"), &other, &error),
                     S2P_EINVAL);
    assert_string_equal(error.message, "--methods: two methods are called 'exec:mine'; rename one");
    assert_string_equal(s2a_own_identity(first),
                        "command=" HELLO "cat >/dev/null hello=name=mine needs= after=-1 draws=0 "
                        "sees_question=0 prunes_cache=0");
    s2a_owns_close(&owns);
}

/* A request to the server names no file and no program. */
static void test_not_from_requests(void **state)
{
    (void)state;
    static const char *const methods[] = { "exec:touch /tmp/x", "file:/etc/passwd", "EXEC:true" };
    const s2a_setting usual = { .method = "s2prune" };
    for (size_t i = 0; i < COUNT_OF(methods); i++) {
        s2a_prune_request request;
        char param[S2_JSON_PARAM];
        json_t *object = json_pack("{s:s,s:i}", "method", methods[i], "budget", 64);
        CHECK_CASE(s2a_prune_read(object, "prune.", NULL, &usual, NULL, &request, param, &error) ==
                       S2P_EINVAL,
                   "%s", methods[i]);
        CHECK_CASE(strstr(error.message, "methods 'file:' and 'exec:' are only for the commands"),
                   "%s", error.message);
        s2a_prune_request_free(&request);
        json_decref(object);
        s2a_setting setting = usual;
        const s2a_own_opener none = s2a_owns_opener(NULL);
        assert_int_equal(
            s2a_method_use("--methods", methods[i], strlen(methods[i]), none, &setting, &error),
            S2P_EINVAL);
        assert_null(setting.own);
    }
}

/* A process with a good answer, a refusal, wrong counts and tokens: it goes on. */
static void test_process_goes_on(void **state)
{
    (void)state;
    s2a_owns owns = { .options.timeout_ms = 1e5 };
    s2a_own *own = open_own(
        &owns, "exec:" HELLO "while read x; do case $x in "
               "*'\"id\":\"good\"'*) echo '{\"keep\":[9,1]}';; "
               "*'\"id\":\"scores\"'*) echo '{\"scores\":[0,0,0,0,0,0,0,0,0,0,0,0,0,0,5,1]}';; "
               "*'\"id\":\"few\"'*) echo '{\"keep\":[9]}';; "
               "*'\"id\":\"far\"'*) echo '{\"keep\":[9,16]}';; "
               "*'\"id\":\"twice\"'*) echo '{\"keep\":[9,9]}';; "
               "*) echo '{\"error\":\"unknown sample\"}';; esac; done");
    expect_fault(own, "few", 2, "exec:mine: 1 tokens for sample 'few', but the budget is 2");
    expect_fault(own, "far", 2, "exec:mine: token 16 for sample 'far', whose grid is 4x4");
    expect_fault(own, "twice", 2, "exec:mine: token 9 twice for sample 'twice'");
    for (int i = 0; i < 2 * S2A_OWN_TRIES; i++) /* never over: it speaks */
        expect_fault(own, "other", 2, "exec:mine: it reported an error: unknown sample");
    assert_int_equal(run(own, "good", 2, S2P_MODE_DEFAULT, 0), S2P_OK);
    assert_true(n_kept == 2 && kept[0] == 1 && kept[1] == 9);
    assert_int_equal(run(own, "few", 2, S2P_MODE_PUBLISHED, 0), S2P_OK);
    assert_int_equal(n_kept, 1);
    assert_int_equal(run(own, "scores", 3, S2P_MODE_DEFAULT, 0), S2P_OK);
    assert_true(n_kept == 3 && kept[0] == 0 && kept[1] == 14 && kept[2] == 15);
    s2a_owns_close(&owns);
}

/* It dies on "bad": the sample fails and the next one has a new process; after four in a row it is
 * over, and may be tried again. */
static void test_process_dies(void **state)
{
    (void)state;
    s2a_owns owns = { .options.timeout_ms = 1e5 };
    s2a_own *own = open_own(&owns, "exec:" HELLO "while read x; do case $x in "
                                   "*good*) echo '{\"keep\":[9,1]}';; *) exit 5;; esac; done");
    for (int round = 0; round < 3; round++) {
        for (int i = 1; i < S2A_OWN_TRIES; i++)
            expect_fault(own, "bad", 2, "exec:mine: it exited with status 5 before it answered");
        assert_int_equal(run(own, "good", 2, S2P_MODE_DEFAULT, 0), S2P_OK);
    }
    for (int i = 1; i < S2A_OWN_TRIES; i++) expect_fault(own, "bad", 2, "it exited with status 5");
    assert_int_equal(run(own, "bad", 2, S2P_MODE_DEFAULT, 0), S2P_EFORMAT);
    assert_int_equal(s2a_own_fault(own), S2A_FAULT_OVER);
    assert_string_equal(error.message,
                        "exec:mine failed 4 times in a row (fix it and repeat the command "
                        "to continue); the last error: it exited with status 5 before it "
                        "answered");
    assert_int_equal(run(own, "good", 2, S2P_MODE_DEFAULT, 0), S2P_OK);
    assert_int_equal(s2a_own_fault(own), S2A_FAULT_NONE);
    s2a_owns_close(&owns);
}

/* A new process with another hello is another method. */
static void test_process_changes(void **state)
{
    (void)state;
    s2a_owns owns = { .options.timeout_ms = 1e5 };
    char text[8192];
    (void)snprintf(
        text, sizeof text,
        "exec:n=$(cat '%s/n' 2>/dev/null); echo x > '%s/n'; echo "
        "\"{\\\"schema\\\":\\\"s2prune.exec/1\\\",\\\"name\\\":\\\"mine$n\\\"}\"; read y",
        folder, folder);
    char counter[4096];
    (void)snprintf(counter, sizeof counter, "%s/n", folder);
    (void)remove(counter);
    s2a_own *own = open_own(&owns, text);
    expect_fault(own, "a", 2, "it exited with status 0");
    expect_fault(own, "a", 2, "exec:mine: its greeting differs from the previous one");
    s2a_owns_close(&owns);
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    folder = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_file),
        cmocka_unit_test(test_opening),
        cmocka_unit_test(test_process_goes_on),
        cmocka_unit_test(test_process_dies),
        cmocka_unit_test(test_process_changes),
        cmocka_unit_test(test_not_from_requests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
