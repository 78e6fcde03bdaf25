/* test_compare_cli.c - `s2prune compare` on the bundled model, as a user runs it; and its session,
 * where the tower must run once.
 *
 * Arguments: a folder, the program, the source tree.
 */
#include "check.h"

#include "base/file.h"
#include "base/json.h"
#include "image/image.h"
#include "s2vlm.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_ARGUMENTS 48

static const char *folder, *program, *source;
static char picture_path[1024], other_path[1024];

typedef struct outcome {
    int code;
    char out[1 << 18], err[4096];
} outcome;

static outcome last; /* too large for a stack */

static char *in_folder(const char *name)
{
    static char path[4][1024];
    static int next;
    char *out = path[next++ % 4];
    (void)snprintf(out, sizeof path[0], "%s/%s", folder, name);
    return out;
}

static void slurp(const char *path, char *text, size_t capacity)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    text[fread(text, 1, capacity - 1, file)] = '\0';
    (void)fclose(file);
}

/* `s2prune COMMAND -q -i PICTURE` with more arguments, up to a NULL. */
static const outcome *run_with(const char *command, const char *const *more)
{
    const char *argv[MAX_ARGUMENTS + 1] = { program, command, "-q", "-i", picture_path };
    int n = 5;
    for (; *more && n < MAX_ARGUMENTS; more++) argv[n++] = *more;
    const char *out = in_folder("out"), *err = in_folder("err");
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const int fd[3] = { open("/dev/null", O_RDONLY),
                            open(out, O_WRONLY | O_CREAT | O_TRUNC, 0600),
                            open(err, O_WRONLY | O_CREAT | O_TRUNC, 0600) };
        for (int i = 0; i < 3; i++)
            if (dup2(fd[i], i) < 0) _exit(126);
        char *copy[MAX_ARGUMENTS + 1] = { NULL }; /* execv wants them writable */
        for (int i = 0; i < n; i++) copy[i] = strdup(argv[i]);
        (void)execv(copy[0], copy);
        _exit(127);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    CHECK_CASE(WIFEXITED(status), "%s: signal %d", command, WTERMSIG(status));
    last.code = WEXITSTATUS(status);
    slurp(out, last.out, sizeof last.out);
    slurp(err, last.err, sizeof last.err);
    return &last;
}

#define COMPARE(...) run_with("compare", (const char *const[]){ __VA_ARGS__, NULL })
#define RUN(...) run_with("run", (const char *const[]){ __VA_ARGS__, NULL })
#define WORD "-p", "Read the word."
#define FOUR "--methods", "full,random,uniform,s2prune"

static json_t *parse(const outcome *o, int code)
{
    json_t *root = NULL;
    s2p_error error = { S2P_OK, "" };
    CHECK_CASE(o->code == code, "exit %d: %s", o->code, o->err);
    CHECK_CASE(s2_json_parse(o->out, strlen(o->out), "stdout", &root, &error) == S2P_OK, "%s",
               error.message);
    return root;
}

static int make_paths(void **state)
{
    (void)state;
    (void)snprintf(picture_path, sizeof picture_path, "%s/data/synth/images/0000.jpg", source);
    (void)snprintf(other_path, sizeof other_path, "%s/data/synth/images/0007.jpg", source);
    return 0;
}

/* --- formats ------------------------------------------------------------------------- */

static size_t count(const char *text, const char *word)
{
    size_t n = 0;
    for (const char *p = text; (p = strstr(p, word)); p += strlen(word)) n++;
    return n;
}

/* Everything the schema names, with figures that fit each other. */
static void test_json(void **state)
{
    (void)state;
    json_t *root =
        parse(COMPARE(WORD, FOUR, "--budgets", "32,10%", "--expect", "books", "-o", "json"), 0);
    assert_string_equal(s2_json_string(root, "schema"), "s2prune.compare/1");
    assert_string_equal(s2_json_string(root, "reference"), "s2prune");
    assert_string_equal(s2_json_string(root, "question"), "Read the word.");
    const json_t *rows = json_object_get(root, "rows"), *matrix = json_object_get(root, "iou");
    static const int32_t kept[] = { 576, 32, 32, 32, 58, 58, 58 };
    assert_int_equal(json_array_size(rows), COUNT_OF(kept));
    assert_int_equal(json_array_size(matrix), COUNT_OF(kept));
    for (size_t i = 0; i < COUNT_OF(kept); i++) {
        const json_t *row = json_array_get(rows, i);
        const json_t *part = json_array_get(json_object_get(row, "images"), 0);
        assert_int_equal(json_integer_value(json_object_get(row, "kept")), kept[i]);
        assert_int_equal(json_array_size(json_object_get(part, "kept")), kept[i]);
        assert_true(json_is_boolean(json_object_get(row, "ok")));
        assert_true(json_is_object(json_object_get(row, "kv")));
        const double edge = json_real_value(json_object_get(row, "edge_share"));
        const double center = json_real_value(json_object_get(row, "center_share"));
        assert_true(edge >= 0 && center >= 0 && edge + center <= 1.0 + 1e-9);
        const bool is_reference = strcmp(s2_json_string(row, "method"), "s2prune") == 0;
        assert_true(json_is_null(json_object_get(row, "iou")) == (is_reference || i == 0));
        if (!is_reference && i > 0) /* the column is one of the matrix: that of its own budget */
            assert_true(json_real_value(json_object_get(row, "iou")) ==
                        json_real_value(json_array_get(json_array_get(matrix, i), i < 4 ? 3 : 6)));
        for (size_t k = 0; k < COUNT_OF(kept); k++)
            assert_true(json_real_value(json_array_get(json_array_get(matrix, i), k)) ==
                        json_real_value(json_array_get(json_array_get(matrix, k), i)));
    }
    const json_t *full = json_array_get(rows, 0);
    assert_string_equal(s2_json_string(full, "text"), "BOOKS");
    assert_true(json_is_true(json_object_get(full, "ok")));
    assert_int_equal(
        json_integer_value(json_object_get(json_object_get(full, "kv"), "visual_bytes")),
        18 * json_integer_value(
                 json_object_get(json_object_get(json_array_get(rows, 1), "kv"), "visual_bytes")));
    json_decref(root);
}

/* A row is what `run` gives on its own. */
static void test_same_as_run(void **state)
{
    (void)state;
    static const char *const methods[] = { "full", "random", "s2prune" };
    json_t *root = parse(COMPARE("-p", "What number is written?", "--methods",
                                 "full,random,s2prune", "--budget", "48", "-s", "7", "-o", "json"),
                         0);
    for (size_t i = 0; i < COUNT_OF(methods); i++) {
        json_t *alone = parse(RUN("-p", "What number is written?", "--method", methods[i],
                                  "--budget", "48", "-s", "7", "-o", "json"),
                              0);
        const json_t *row = json_array_get(json_object_get(root, "rows"), i);
        const json_t *image =
            json_array_get(json_object_get(json_object_get(alone, "prune"), "images"), 0);
        assert_true(json_equal(json_object_get(row, "tokens"), json_object_get(alone, "tokens")));
        assert_true(json_equal(json_object_get(row, "text"), json_object_get(alone, "text")));
        assert_true(
            json_equal(json_object_get(json_array_get(json_object_get(row, "images"), 0), "kept"),
                       json_object_get(image, "kept")));
        json_decref(alone);
    }
    json_decref(root);
}

static void test_tables(void **state)
{
    (void)state;
    const outcome *o = COMPARE(WORD, FOUR, "--budgets", "32,64", "--expect", "BOOKS");
    CHECK_CASE(o->code == 0 && o->err[0] == '\0', "%d %s", o->code, o->err);
    assert_non_null(strstr(o->out, "\nmethod   budget  kept  answer  ok"));
    assert_int_equal(count(o->out, "\ns2prune "), 2);
    assert_int_equal(count(o->out, "\nfull "), 1);
    assert_non_null(strstr(o->out, "once, shared by all rows"));
    o = COMPARE(WORD, FOUR, "--budgets", "32,64", "-o", "md");
    assert_int_equal(o->code, 0);
    assert_int_equal(count(o->out, "\n| "), 8);
    assert_null(strstr(o->out, "| ok |")); /* nothing was expected */
    o = COMPARE(WORD, FOUR, "--budgets", "32,64", "-o", "csv", "--reference", "uniform");
    assert_int_equal(o->code, 0);
    assert_int_equal(count(o->out, "\n"), 8);
    assert_ptr_equal(strstr(o->out, "method,budget,kept,"), o->out);
}

static void test_every_method(void **state)
{
    (void)state;
    size_t n = 0;
    while (s2v_method_name(n)) n++;
    const outcome *o = COMPARE(WORD, "--methods", "all", "--budget", "64", "-o", "json");
    json_t *root = parse(o, o->code);
    assert_int_equal(o->code, 0);
    size_t i;
    const json_t *row;
    assert_int_equal(json_array_size(json_object_get(root, "rows")), n);
    json_array_foreach(json_object_get(root, "rows"), i, row)
    {
        CHECK_CASE(json_is_false(json_object_get(row, "failed")), "%s: %s",
                   s2_json_string(row, "method"), s2_json_string(row, "error"));
        assert_int_equal(json_integer_value(json_object_get(row, "kept")), i == 0 ? 576 : 64);
    }
    json_decref(root);
}

static void test_several_pictures(void **state)
{
    (void)state;
    json_t *root = parse(COMPARE("-i", other_path, WORD, "--methods", "uniform,s2prune", "--budget",
                                 "32", "-o", "json", "--png", in_folder("two.png")),
                         0);
    assert_int_equal(json_array_size(json_object_get(root, "images")), 2);
    const json_t *row = json_array_get(json_object_get(root, "rows"), 1);
    assert_int_equal(json_array_size(json_object_get(row, "images")), 2);
    assert_int_equal(json_integer_value(json_object_get(row, "kept")), 64);
    json_decref(root);
}

/* --- files ----------------------------------------------------------------------------- */

static void test_files(void **state)
{
    (void)state;
    const char *png = in_folder("sheet.png"), *html = in_folder("page.html");
    assert_int_equal(s2_file_write(png, "old", 3, NULL), S2P_OK); /* is replaced */
    const outcome *o = COMPARE(WORD, FOUR, "--budgets", "32,64", "--png", png, "--html", html);
    CHECK_CASE(o->code == 0, "%s", o->err);
    s2_image sheet;
    assert_int_equal(s2_image_load(png, S2_PIXELS_REFERENCE, NULL, &sheet, NULL), S2P_OK);
    assert_true(sheet.view.width > 3 * 320 && sheet.view.height > 320);
    s2_image_free(&sheet);
    s2_buffer page;
    s2_buffer_init(&page, 64 << 20);
    assert_int_equal(s2_file_read(html, &page, NULL), S2P_OK);
    s2_buffer_append(&page, "", 1);
    const char *text = (const char *)page.data;
    assert_ptr_equal(strstr(text, "<!doctype html>"), text);
    assert_int_equal(count(text, "<article "), 7);
    assert_int_equal(count(text, "data:image/png;base64,"), 1);
    assert_non_null(strstr(text, "</html>\n"));
    assert_null(strstr(text, source)); /* no folder of this machine */
    assert_non_null(strstr(text, "0000.jpg"));
    s2_buffer_free(&page);
}

/* The table is there all the same, nothing half-written is left. */
static void test_unwritable(void **state)
{
    (void)state;
    const outcome *o = COMPARE(WORD, "--methods", "uniform", "--png", "/nowhere/sheet.png");
    assert_int_equal(o->code, 1);
    assert_non_null(strstr(o->err, "/nowhere/sheet.png"));
    assert_non_null(strstr(o->out, "\nuniform "));
    o = COMPARE(WORD, "--methods", "uniform", "--html", "/dev/full");
    assert_int_equal(o->code, 4);
    assert_non_null(strstr(o->out, "\nuniform "));
}

/* --- what goes wrong ----------------------------------------------------------------------- */

static void check_mistake(const outcome *o, int code, const char *sentence)
{
    CHECK_CASE(o->code == code, "%s: exit %d, %s", sentence, o->code, o->err);
    CHECK_CASE(strncmp(o->err, "error: ", 7) == 0 && strstr(o->err, sentence), "%s: %s", sentence,
               o->err);
    const char *end = strchr(o->err, '\n'); /* one line, whatever happened */
    CHECK_CASE(end && end[1] == '\0', "%s: %s", sentence, o->err);
    CHECK_CASE(o->out[0] == '\0', "%s: wrote %s", sentence, o->out);
}

#define LONG_32 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define LONG_64 LONG_32 LONG_32
#define LONG_100 LONG_64 LONG_32 "aaaa"

static void test_mistakes(void **state)
{
    (void)state;
    check_mistake(COMPARE("-o", "text"), 2, "compare needs a question: -p TEXT or -f FILE");
    check_mistake(COMPARE(WORD, "-f", "x"), 2, "-p and -f cannot be combined");
    check_mistake(COMPARE(WORD, "--methods", "full,s2prnue"), 2, "(did you mean 's2prune'?)");
    check_mistake(COMPARE(WORD, "--methods", "full,full"), 2, "names 'full' twice");
    check_mistake(COMPARE(WORD, "--methods", ""), 2, "--methods is empty");
    check_mistake(COMPARE(WORD, "--methods", "full,"), 2, "--methods has an empty name");
    check_mistake(COMPARE(WORD, "--methods", LONG_64), 2, "unknown method 'aaaaaaaa");
    check_mistake(COMPARE(WORD, "--methods", "full," LONG_100 ",random"), 2,
                  "unknown method 'aaaa");
    check_mistake(COMPARE(WORD, "--set", "per_pivot=2"), 2, "--set 'per_pivot=2': no ");
    check_mistake(COMPARE(WORD, "--methods", "full,dart", "--set", "per_pivt=2"), 2,
                  "no such parameter; there are dart.per_pivot");
    check_mistake(COMPARE(WORD, "--methods", "full,dart", "--set", "dart.per_pivot=x"), 2,
                  "--set ");
    check_mistake(COMPARE(WORD, "--budget", "0"), 2, "--budget '0'");
    check_mistake(COMPARE(WORD, "--budgets", "64,0"), 2, "--budgets '0'");
    check_mistake(COMPARE(WORD, "--budgets", "64,64"), 2, "--budgets names 64 twice");
    check_mistake(COMPARE(WORD, "--budget", "64", "--budgets", "64"), 2, "cannot be combined");
    check_mistake(COMPARE(WORD, "--reference", "fastv", FOUR), 2,
                  "--reference 'fastv' is not one of the --methods");
    check_mistake(COMPARE(WORD, "--expect", " "), 2, "--expect is empty");
    check_mistake(COMPARE(WORD, "-o", "xml"), 2, "'xml' is not one of text, md, json, csv");
    check_mistake(COMPARE(WORD, "-i", "/nowhere/p.png"), 3, "/nowhere/p.png");
    check_mistake(COMPARE(WORD, "-m", "x.gguf"), 3, "-m 'x.gguf': No such file");
    check_mistake(COMPARE(WORD, "-m", "/dev/null"), 2, "-m needs the other file");
    check_mistake(COMPARE("-p", "caf\xE9"), 3, "UTF-8"); /* said once, not once a row */
    check_mistake(COMPARE(WORD, "-c", "20"), 3, "more than the context of 20");
    const char *page = in_folder("none.html");
    (void)unlink(page);
    check_mistake(
        COMPARE(WORD, "--methods", "s2prune", "--budget", "64", "--grid", "9", "--html", page), 2,
        "81");
    assert_int_not_equal(access(page, F_OK), 0); /* nothing worked: nothing is written */
}

/* One method cannot: its row says why, the others stand, the exit code tells. */
static void test_one_fails(void **state)
{
    (void)state;
    const char *png = in_folder("failed.png"), *html = in_folder("failed.html");
    const outcome *o = COMPARE(WORD, FOUR, "--budget", "64", "--grid", "9", "--png", png, "--html",
                               html, "-o", "json");
    json_t *root = parse(o, 5);
    assert_string_equal(last.err, "");
    const json_t *rows = json_object_get(root, "rows");
    assert_int_equal(json_array_size(rows), 4);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(json_is_true(json_object_get(json_array_get(rows, i), "failed")), i == 3);
    assert_non_null(strstr(s2_json_string(json_array_get(rows, 3), "error"), "81"));
    json_decref(root);
    assert_int_equal(access(png, R_OK) + access(html, R_OK), 0);
    o = COMPARE(WORD, FOUR, "--budget", "64", "--grid", "9");
    assert_int_equal(o->code, 5);
    assert_non_null(strstr(o->out, "\ns2prune[K=9] 64 failed: "));
    assert_non_null(strstr(o->out, "(failed)"));
}

/* The tower runs before the first row and never again, whatever a method asks of it: what is left of
 * its time in a row is the time to find what it made. A method that shows it smaller pictures needs it for
 * these. */
static void test_tower_runs_once(void **state)
{
    (void)state;
    json_t *root = parse(COMPARE(WORD, "-i", other_path, "--methods", "all", "--budget", "32", "-n",
                                 "4", "-o", "json"),
                         0);
    const json_t *rows = json_object_get(root, "rows");
    size_t n = 0;
    while (s2v_method_name(n)) n++;
    assert_int_equal(json_array_size(rows), n);
    for (size_t i = 0; i < n; i++) { /* it ran before the first row */
        const json_t *row = json_array_get(rows, i);
        const json_int_t kept = json_integer_value(json_object_get(row, "kept"));
        const bool resizes = s2p_method_about(s2p_method_find(s2v_method_name(i)))->resizes;
        assert_int_equal(json_integer_value(json_object_get(row, "tower_runs")), resizes ? 2 : 0);
        if (resizes)
            assert_in_range(kept, 2, 64);
        else
            assert_int_equal(kept, i == 0 ? 2 * 576 : 64);
    }
    json_decref(root);
}

int main(int argc, char **argv)
{
    if (argc != 4) return 2;
    folder = argv[1];
    program = argv[2];
    source = argv[3];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_same_as_run),
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_every_method),
        cmocka_unit_test(test_several_pictures),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_unwritable),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_one_fails),
        cmocka_unit_test(test_tower_runs_once),
    };
    return cmocka_run_group_tests(tests, make_paths, NULL);
}
