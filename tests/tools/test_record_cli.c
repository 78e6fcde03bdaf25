/* test_record_cli.c - `run --record` on a real model, then the command it wrote: the same tokens.
 *
 * Arguments: the program, a folder to write in, a folder of pictures, the folder of goldens. The
 * last may not be there; tiles are not tried then.
 */
#include "base/json.h"
#include "check.h"
#include "prune/method.h"
#include "s2vlm.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_LINE 16384

static const char *program, *folder, *pictures, *goldens;

/* A line of shell in which `s2prune` is the program; its output in the files out and err. */
static int run(const char *line)
{
    static char script[MAX_LINE];
    const int n = snprintf(script, sizeof script,
                           "s2prune() { '%s' \"$@\"; }; cd '%s' && { %s ; } >out 2>err", program,
                           folder, line);
    assert_true(n > 0 && (size_t)n < sizeof script);
    const int status = system(script);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static const char *said(void)
{
    static char text[2048];
    char path[512];
    (void)snprintf(path, sizeof path, "%s/err", folder);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    (void)fclose(file);
    return text;
}

static json_t *read_json(const char *name)
{
    char path[512];
    json_t *root = NULL;
    s2p_error error = { S2P_OK, "" };
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    CHECK_CASE(s2_json_read_file(path, 1 << 24, &root, &error) == S2P_OK, "%s", error.message);
    return root;
}

/* What the run says it kept of the part of a picture. */
static const json_t *kept_by_run(const json_t *run, const json_t *selection)
{
    const json_t *images = json_object_get(json_object_get(run, "prune"), "images");
    int32_t picture = -1, part = -1;
    assert_true(s2_json_int(selection, "picture", &picture) &&
                s2_json_int(selection, "part", &part));
    const json_t *image = json_array_get(images, (size_t)picture);
    if (part > 0) image = json_object_get(image, "tiles");
    return json_object_get(image, "kept");
}

/* Every command of the record gives what the record says; the last stage's what the run says. */
static void check_record(const char *method, const char *mode, int32_t n_units)
{
    const s2p_method *m = s2p_method_find(method);
    json_t *root = read_json("record/record.json"), *whole = read_json("run.json");
    const json_t *list = json_object_get(root, "selections");
    assert_int_equal(json_array_size(list), (size_t)(n_units * s2p_method_about(m)->n_stages));
    const json_t *prune = json_object_get(whole, "prune");
    assert_true(json_equal(json_object_get(root, "after"), json_object_get(prune, "after")));
    assert_int_equal(json_array_size(json_object_get(prune, "left")),
                     (size_t)s2p_method_about(m)->n_stages);
    assert_string_equal(s2_json_string(prune, "mode"), mode);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i), *kept = json_object_get(one, "kept");
        const char *command = s2_json_string(one, "command");
        CHECK_CASE(run(command) == 0, "%s: %s", command, said());
        json_t *chosen = read_json("out");
        CHECK_CASE(json_equal(json_object_get(chosen, "keep"), kept), "%s", command);
        int32_t stage = -1;
        assert_true(s2_json_int(one, "stage", &stage));
        if (stage == s2p_method_about(m)->n_stages - 1)
            CHECK_CASE(json_equal(kept_by_run(whole, one), kept), "%s: the run differs", command);
        json_decref(chosen);
    }
    json_decref(whole);
    json_decref(root);
}

static void record(const char *method, const char *mode, const char *arguments, int32_t n_units)
{
    char line[8192];
    (void)snprintf(line, sizeof line,
                   "rm -rf record && s2prune run -q -n 1 -p 'What is there?' --method '%s' "
                   "--mode %s --record record -o json %s >run.json",
                   method, mode, arguments);
    CHECK_CASE(run(line) == 0, "%s: %s", line, said());
    check_record(method, mode, n_units);
}

static void test_every_method(void **state)
{
    (void)state;
    char arguments[2048];
    (void)snprintf(arguments, sizeof arguments,
                   "-i '%s/0000.jpg' -i '%s/0003.jpg' --image-size 336x336 --budget 64", pictures,
                   pictures);
    for (size_t i = 0; s2v_method_name(i); i++)
        for (int32_t mode = 0; mode < 2; mode++)
            record(s2v_method_name(i), mode ? "published" : "default", arguments, 2);
}

/* A picture seen whole and in tiles is two grids. */
static void test_tiles(void **state)
{
    (void)state;
    char arguments[4096], model[1024];
    (void)snprintf(model, sizeof model, "%s/hf/llava_ov/gguf", goldens);
    if (access(model, R_OK) != 0) skip();
    (void)snprintf(arguments, sizeof arguments,
                   "-m '%s/tiny-llava-onevision-f32.gguf' -mm "
                   "'%s/mmproj-tiny-llava-onevision-f32.gguf' -i '%s/0000.jpg' --view anyres -c "
                   "8192 --budget 3%%",
                   model, model, pictures);
    static const char *const methods[] = { "s2prune", "fastv", "dart", "sparsevlm", "visionzip" };
    for (size_t i = 0; i < COUNT_OF(methods); i++) record(methods[i], "default", arguments, 2);
}

/* The first line of the summary is true for every kind of method. */
static void test_summary(void **state)
{
    (void)state;
    static const struct {
        const char *arguments, *line;
    } cases[] = {
        { "--method s2prune --budget 11%", "kept 63 of 576 visual tokens (s2prune, grid 5x5, after "
                                           "layer 0)\nimage " },
        { "--method s2prune --budget 600", "kept 576 of 576 visual tokens (s2prune)\nimage " },
        { "--method full", "kept 576 of 576 visual tokens (full)\nimage " },
        { "--method random", "kept 192 of 576 visual tokens (random, before the decoder)\nimage " },
        { "--method fastv", "kept 192 of 576 visual tokens (fastv, after layer 1)\nimage " },
        { "--method dart --mode published --budget 64",
          "kept 68 of 576 visual tokens (dart[published], after layer 1)\nimage " },
        { "--method sparsevlm --budget 64",
          "kept 64 of 576 visual tokens (sparsevlm, after layers 0, 1, 4)\nimage " },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char line[2048];
        (void)snprintf(line, sizeof line, "s2prune run -n 1 -p x -i '%s/0000.jpg' %s", pictures,
                       cases[i].arguments);
        CHECK_CASE(run(line) == 0, "%s: %s", line, said());
        CHECK_CASE(strstr(said(), cases[i].line), "%s: %s", line, said());
    }
}

static void test_mistakes(void **state)
{
    (void)state;
    const struct {
        const char *line;
        int code;
        const char *sentence;
    } cases[] = {
        { "rm -rf record; s2prune run -q --record record </dev/null", 2,
          "error: --record needs a question: -p TEXT" },
        { "rm -rf record; mkdir record; touch record/x; s2prune run -q -p x --record record", 2,
          "error: --record 'record' is not empty; name a new folder, or empty this one" },
        { "touch file; s2prune run -q -p x --record file/record", 4,
          "error: --record: cannot make the folder 'file/record'" },
        { "s2prune select --method v2drop --in alive=x.npy", 2,
          "error: --in alive says what an earlier stage left; add --set stage=N, N above 0" },
        { "s2prune select --method random --set stage=1", 2,
          "error: --set stage=1: random has stages 0 to 0" },
        { "s2prune select --method v2drop --set stage=4", 2,
          "error: --set stage '4' is not a whole number from 0 to 3" },
        { "s2prune eval --budgets 64,11x%", 2,
          "error: --budgets '11x%' is neither a number of tokens" },
        { "s2prune eval --mode publisht", 2, "error: --mode 'publisht' is not one of" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        CHECK_CASE(run(cases[i].line) == cases[i].code, "%s: %s", cases[i].line, said());
        CHECK_CASE(strncmp(said(), cases[i].sentence, strlen(cases[i].sentence)) == 0, "%s: %s",
                   cases[i].line, said());
    }
}

int main(int argc, char **argv)
{
    if (argc != 5) return 2;
    program = argv[1];
    folder = argv[2];
    pictures = argv[3];
    goldens = argv[4];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_method),
        cmocka_unit_test(test_tiles),
        cmocka_unit_test(test_summary),
        cmocka_unit_test(test_mistakes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
