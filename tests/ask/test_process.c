/* test_process.c - processes that answer, hang, die, flood, and what is left of them: nothing. */
#include "ask/process.h"
#include "check.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LIMIT 1000

static s2p_error error;
static char notes[1 << 16];
static int n_notes;
static bool is_cancelled;

static void note(const char *text, void *user)
{
    (void)user;
    const size_t n = strlen(notes);
    (void)snprintf(notes + n, sizeof notes - n, "%s\n", text);
    n_notes++;
}

static bool cancelled(void *user)
{
    (void)user;
    return is_cancelled;
}

static s2a_process *start(const char *command, double timeout_ms)
{
    const s2a_process_options options = {
        .command = command, .timeout_ms = timeout_ms, .note = note, .cancelled = cancelled
    };
    s2a_process *p = NULL;
    notes[0] = '\0';
    n_notes = 0;
    error = (s2p_error){ S2P_OK, "" };
    assert_int_equal(s2a_process_start(&options, &p, &error), S2P_OK);
    return p;
}

/* The line is NUL-terminated for the test. */
static s2p_status ask(s2a_process *p, const char *text, s2_buffer *line)
{
    const s2a_piece piece[2] = { { text, strlen(text) }, { "\n", 1 } };
    s2_buffer_free(line);
    s2_buffer_init(line, 4 * LIMIT);
    const s2p_status st = s2a_process_ask(p, piece, text[0] ? 2 : 0, LIMIT, line, &error);
    if (st == S2P_OK) s2_buffer_append(line, "", 1);
    return st;
}

static void wait_ms(long ms)
{
    const struct timespec time = { .tv_nsec = ms * 1000000 };
    (void)nanosleep(&time, NULL);
}

static void assert_no_children(void)
{
    errno = 0;
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no zombie, nothing running */
    assert_int_equal(errno, ECHILD);
}

static void test_answers_in_turn(void **state)
{
    (void)state;
    s2_buffer line = { .data = NULL };
    s2a_process *p =
        start("echo hello; while read x; do echo \"got $x\"; echo note $x >&2; done", 1e5);
    assert_int_equal(ask(p, "", &line), S2P_OK);
    assert_string_equal((const char *)line.data, "hello");
    for (int i = 0; i < 50; i++) {
        char text[16], expected[32];
        (void)snprintf(text, sizeof text, "%d", i);
        (void)snprintf(expected, sizeof expected, "got %d", i);
        CHECK_CASE(ask(p, text, &line) == S2P_OK, "%s", error.message);
        assert_string_equal((const char *)line.data, expected);
    }
    s2a_process_end(p);
    assert_int_equal(n_notes, 50);
    assert_non_null(strstr(notes, "note 49\n"));
    assert_no_children();
    s2_buffer_free(&line);
}

/* More than any pipe holds, both ways: nobody waits for the other for ever. */
static void test_large_requests(void **state)
{
    (void)state;
    enum { N = 8 << 20 };
    char *bytes = calloc(1, N);
    s2_buffer line = { .data = NULL };
    s2_buffer_init(&line, 4 * LIMIT);
    s2a_process *p = start("head -c 8388608 | wc -c; sleep 100", 1e5);
    assert_non_null(bytes);
    assert_int_equal(s2a_process_ask(p, &(s2a_piece){ bytes, N }, 1, LIMIT, &line, &error), S2P_OK);
    assert_memory_equal(line.data, "8388608", 7);
    s2a_process_end(p);
    assert_no_children();
    s2_buffer_free(&line);
    free(bytes);
}

static void test_misbehaves(void **state)
{
    (void)state;
    static const struct {
        const char *command, *sentence;
        double timeout_ms;
    } cases[] = {
        { "sleep 100", "it gave no answer within 0.2 seconds", 200 },
        { "printf half; sleep 100", "it gave no answer within 0.2 seconds", 200 },
        { "exec 0<&-; exit 0", "it exited with status 0 before it answered", 1e5 },
        { "exit 3", "it exited with status 3 before it answered", 1e5 },
        { "echo oops >&2; exit 3", "before it answered; its last line on standard error: oops",
          1e5 },
        { "echo Traceback >&2; echo 'No module named numpy' >&2; exit 1",
          "its last line on standard error: No module named numpy", 1e5 },
        { "kill -9 $$", "it was killed by signal 9", 1e5 },
        { "exec 2>/dev/null; /no/such/program", "its command was not found (status 127)", 1e5 },
        { "exec 1>&-; sleep 100", "it closed its output and was killed", 1e5 },
        { "yes | tr -d '\\n'", "it wrote more than 1000 bytes without the end of a line", 1e5 },
        { "yes", "it wrote more than one line for an answer", 1e5 },
        { "read x; printf 'one\\ntwo\\n'; sleep 100", "it wrote more than one line", 1e5 },
        { "yes >&2", "it gave no answer within 0.2 seconds", 200 },
        { "trap '' TERM INT HUP; while :; do sleep 1; done", "it gave no answer", 200 },
    };
    s2_buffer line = { .data = NULL };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        s2a_process *p = start(cases[i].command, cases[i].timeout_ms);
        CHECK_CASE(ask(p, "question", &line) == S2P_EIO, "%s", cases[i].command);
        CHECK_CASE(strstr(error.message, cases[i].sentence), "%s: %s", cases[i].command,
                   error.message);
        CHECK_CASE(ask(p, "again", &line) == S2P_EIO, "%s", cases[i].command); /* it is over */
        assert_string_equal(error.message, "it is not running");
        s2a_process_end(p);
        assert_no_children();
        CHECK_CASE(n_notes <= 101, "%s: %d notes", cases[i].command, n_notes);
    }
    s2_buffer_free(&line);
}

/* A line that nobody asked for is not the answer to the next question. */
static void test_speaks_unasked(void **state)
{
    (void)state;
    s2_buffer line = { .data = NULL };
    s2a_process *p =
        start("echo one; read x; echo two; sleep 0.1; echo three; read y; echo four", 1e5);
    assert_int_equal(ask(p, "", &line), S2P_OK);
    assert_int_equal(ask(p, "x", &line), S2P_OK);
    assert_string_equal((const char *)line.data, "two");
    s2p_status st = S2P_OK; /* `three` may come before the question, or as its answer */
    wait_ms(300);
    for (int i = 0; i < 3 && st == S2P_OK; i++) st = ask(p, "y", &line);
    assert_int_equal(st, S2P_EIO);
    assert_non_null(strstr(error.message, "it wrote "));
    s2a_process_end(p);
    assert_no_children();
    s2_buffer_free(&line);
}

static void test_cancelled(void **state)
{
    (void)state;
    s2_buffer line = { .data = NULL };
    is_cancelled = true;
    s2a_process *p = start("sleep 100", 1e5);
    assert_int_equal(ask(p, "x", &line), S2P_ECANCELLED);
    is_cancelled = false;
    s2a_process_end(p);
    assert_no_children();
    s2_buffer_free(&line);
}

/* Whatever it started ends with it, also when it ended by itself. */
static void test_its_children(void **state)
{
    (void)state;
    static const char *const commands[] = {
        "sleep 100 >/dev/null 2>&1 & echo $!; read x; sleep 100",
        "sleep 100 >/dev/null 2>&1 & echo $!; exit 0"
    };
    for (size_t i = 0; i < COUNT_OF(commands); i++) {
        s2_buffer line = { .data = NULL };
        s2a_process *p = start(commands[i], 1e5);
        assert_int_equal(ask(p, "", &line), S2P_OK);
        const pid_t child = (pid_t)strtol((const char *)line.data, NULL, 10);
        assert_true(child > 1);
        s2a_process_end(p);
        assert_no_children();
        bool is_gone = false; /* whoever adopted it may take a moment */
        for (int k = 0; k < 5000 && !is_gone; k++) {
            char path[64], text[256] = "";
            (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)child);
            FILE *file = fopen(path, "r");
            if (file && !fgets(text, sizeof text, file)) text[0] = '\0';
            is_gone = !file || strstr(text, ") Z ");
            if (file) (void)fclose(file);
            if (!is_gone) wait_ms(1);
        }
        CHECK_CASE(is_gone, "%s", commands[i]);
        s2_buffer_free(&line);
    }
    s2a_process_end(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers_in_turn), cmocka_unit_test(test_large_requests),
        cmocka_unit_test(test_misbehaves),      cmocka_unit_test(test_speaks_unasked),
        cmocka_unit_test(test_cancelled),       cmocka_unit_test(test_its_children),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
