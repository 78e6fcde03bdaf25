/* test_cli.c - the real program, as a user or a script runs it: exit codes, streams, sentences,
 * JSON.
 *
 * The program's path is the first argument, a folder to write in the second. Every run goes through
 * a shell with both streams redirected, so pipes and devices can be part of a case.
 */
#include "check.h"

#include "base/file.h"
#include "base/json.h"
#include "base/npy.h"
#include "image/image.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define GOLDENS S2_TEST_DATA "/goldens"
#define PICTURE GOLDENS "/algo/img_rects_1017_168x168.png"
#define ERC GOLDENS "/methods/s2prune/erc_0_N576.npy"

static const char *program, *folder;

typedef struct outcome {
    int code;
    char out[1 << 18], err[4096];
} outcome;

static outcome last; /* too large for a stack */

static void slurp(const char *name, char *text, size_t capacity)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    const size_t n = fread(text, 1, capacity - 1, file);
    text[n] = '\0';
    (void)fclose(file);
}

/* Run "s2prune <arguments>" in the folder; `arguments` may redirect standard output. */
static const outcome *run_with(const char *before, const char *arguments)
{
    char line[4096];
    const int n = snprintf(line, sizeof line, "cd '%s' && { %s '%s' %s ; } >out 2>err", folder,
                           before, program, arguments);
    assert_true(n > 0 && (size_t)n < sizeof line);
    const int status = system(line);
    assert_true(WIFEXITED(status));
    last.code = WEXITSTATUS(status);
    slurp("out", last.out, sizeof last.out);
    slurp("err", last.err, sizeof last.err);
    return &last;
}

static const outcome *run(const char *arguments) { return run_with("", arguments); }

static json_t *run_json(const char *arguments)
{
    const outcome *o = run(arguments);
    CHECK_CASE(o->code == 0 && o->err[0] == '\0', "%s: %d %s", arguments, o->code, o->err);
    const size_t n = strlen(o->out);
    assert_true(n > 1 && o->out[n - 1] == '\n' && !memchr(o->out, '\n', n - 1)); /* one line */
    json_t *root = NULL;
    s2p_error error = { S2P_OK, "" };
    const s2p_status st = s2_json_parse(o->out, n, "stdout", &root, &error);
    CHECK_CASE(st == S2P_OK, "%s: %s", arguments, error.message);
    return root;
}

static int64_t number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    CHECK_CASE(json_is_integer(value), "%s", key);
    return json_integer_value(value);
}

/* --- mistakes ------------------------------------------------------------- */

typedef struct mistake {
    const char *arguments;
    int code;
    const char
        *sentence; /* the whole of standard error after "error: ", or its beginning with a '*' */
} mistake;

static void check_mistakes(const mistake *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const outcome *o = run(cases[i].arguments);
        const size_t length = strlen(cases[i].sentence);
        const bool is_open = cases[i].sentence[length - 1] == '*';
        CHECK_CASE(o->code == cases[i].code, "%s: exit %d, %s", cases[i].arguments, o->code,
                   o->err);
        CHECK_CASE(strncmp(o->err, "error: ", 7) == 0, "%s: %s", cases[i].arguments, o->err);
        CHECK_CASE(strncmp(o->err + 7, cases[i].sentence, is_open ? length - 1 : length) == 0,
                   "%s: %s", cases[i].arguments, o->err);
        const char *end = strchr(o->err, '\n'); /* one line, whatever happened */
        CHECK_CASE(end && end[1] == '\0', "%s: %s", cases[i].arguments, o->err);
        CHECK_CASE(is_open || end == o->err + 7 + length, "%s: %s", cases[i].arguments, o->err);
        CHECK_CASE(o->out[0] == '\0', "%s: wrote %s", cases[i].arguments, o->out);
    }
}

static void test_usage_mistakes(void **state)
{
    (void)state;
    static const mistake cases[] = {
        { "plna", 2, "unknown command 'plna' (did you mean 'plan'?)" },
        { "frobnicate", 2, "unknown command 'frobnicate'; see 's2prune --help'" },
        { "help verfy", 2, "unknown command 'verfy' (did you mean 'verify'?)" },
        { "plan", 2, "plan needs -i FILE; see 's2prune plan --help'" },
        { "plan --buget 5", 2, "unknown option '--buget' (did you mean '--budget'?)" },
        { "plan picture.png", 2,
          "unexpected argument 'picture.png' (did you mean '-i picture.png'?)" },
        { "plan -i " PICTURE " --budget 20 --grid 5", 2,
          "--budget 20 is less than the 25 regions of --grid 5 (every region keeps one token); use "
          "--grid 4 "
          "or --budget 25 or more" },
        { "plan -i " PICTURE " --budget 577", 2,
          "--budget 577 is more than the 576 tokens of --tokens 24x24; use --budget 576 or less" },
        { "plan -i " PICTURE " --budget 600 --grid 25 --tokens 30x24", 2,
          "--grid 25 does not fit --tokens 30x24 (every region has a row and a column of tokens); "
          "use "
          "--grid 24 or less" },
        { "plan -i " PICTURE " --tokens 4096x4096", 2,
          "--tokens 4096x4096 are 16777216 tokens; the limit is 1048576" },
        { "plan -i " PICTURE " --allocator erank", 2,
          "--allocator erank needs visual features; add --features FILE.npy" },
        { "plan -i " PICTURE " --selector query-all", 2,
          "--selector query-all needs question attention, which plan does not have; use 's2prune "
          "select' "
          "with recorded arrays" },
        { "plan -i " PICTURE " --compare-allocator uniform,ftt", 2,
          "--compare-allocator: 'ftt' is not an allocator; see 's2prune plan --help'" },
        { "plan -i " PICTURE " --compare-allocator fft -o json", 2,
          "--compare-allocator is for -o text; run plan once per allocator" },
        { "select", 2, "--method s2prune needs a picture; add --in image=FILE" },
        { "select --in image=" PICTURE, 2,
          "--method s2prune needs ERC scores; add --in erc=FILE.npy" },
        { "select --in ecr=x.npy", 2, "--in: unknown field 'ecr' (did you mean 'erc'?)" },
        { "select --in erc", 2, "--in 'erc' is not FIELD=FILE" },
        { "select --set M=4", 2, "--set: unknown field 'M'; see 's2prune select --help'" },
        { "select --method gprune", 2,
          "--method gprune needs visual features; add --in feature=FILE.npy" },
        { "select --method dart --in k=" GOLDENS "/methods/dart/k_N576_s0.npy --set image_start=15",
          2,
          "--method dart needs normed hidden states of the whole prompt; add --in "
          "normed=FILE.npy" },
        { "select --method v2drop --set layer=4 --in erc=" ERC, 2,
          "--set layer=4: v2drop does not prune after that layer" },
        { "select --set alpha=0", 2, "--set alpha '0' is not a number from *" },
        { "select --set K=many", 2, "--set K 'many' is not a whole number from 0 to 4096" },
        { "select --set N=577", 2, "--set N=577 does not fit --tokens 24x24 (576 tokens)" },
        { "select --set K=9 --set B=80", 2,
          "--budget 80 is less than the 81 regions of --grid 9 (every region keeps one token); use "
          "--grid 8 "
          "or --budget 81 or more" },
        { "verify", 2, "verify needs a folder (DIR); see 's2prune verify --help'" },
        { "completion tcsh", 2, "completion needs one of bash, zsh, fish" },
    };
    check_mistakes(cases, COUNT_OF(cases));
}

static void test_bad_input(void **state)
{
    (void)state;
    static const mistake cases[] = {
        { "plan -i nothing.png", 3, "cannot open 'nothing.png': No such file or directory" },
        { "plan -i .", 3, "cannot read '.': Is a directory" },
        { "plan -i /dev/null", 3, "cannot read image '/dev/null': *" },
        { "plan -i '" ERC "'", 3, "*" },
        { "plan -i " PICTURE " --max-image-pixels 100", 3, "cannot read image *" },
        { "plan -i " PICTURE " --erc nothing.npy", 3, "erc: cannot open 'nothing.npy': *" },
        { "plan -i " PICTURE " --erc " PICTURE, 3, "erc: *" },
        { "plan -i " PICTURE " --erc " GOLDENS "/methods/s2prune/erc_0_N729.npy", 3, "erc: '*" },
        { "plan -i " PICTURE " --erc nan.npy", 3,
          "erc: element 7 of 'nan.npy' is not a finite float32" },
        { "plan -i " PICTURE " --erc inf.npy", 3,
          "erc: element 575 of 'inf.npy' is not a finite float32" },
        { "plan -i " PICTURE " --erc int.npy", 3,
          "erc: 'int.npy' is int32 [576], expected float32 [576] for 24x24 tokens" },
        { "plan -i " PICTURE " --erc matrix.npy", 3,
          "erc: 'matrix.npy' is float32 [24][24], expected float32 [576] for 24x24 tokens" },
        { "plan -i " PICTURE " --erc lying.npy", 3, "erc: lying.npy: the shape asks for *" },
        { "plan -i tiny.png", 3,
          "a picture of 2x2 pixels is too small for 24x24 tokens in 5x5 regions" },
        { "plan -i narrow.png --grid 24 --budget 576", 3,
          "a picture of 20x20 pixels is too small*" },
        { "select --in image=" PICTURE " --in erc=matrix.npy", 3,
          "erc: 'matrix.npy' is float32 [24][24]*" },
        { "select --in image=int.npy --in erc=" ERC, 3,
          "image: 'int.npy' is int32 [576]; a picture is uint8 [height][width][3] or "
          "[height][width]" },
        { "select --selector norm --in image=" PICTURE " --in h1=" ERC, 3, "h1: '*" },
        { "select --method gprune --in feat=nan.npy", 3,
          "feat: 'nan.npy' is float32 [576], expected float32 [576][d] for 24x24 tokens" },
        { "select --method erc-top --in erc=nan.npy", 3,
          "erc: element 7 of 'nan.npy' is not a finite float32" },
        { "select --method fastv --in input=matrix.npy", 3,
          "input: rows of 24 values cannot hold 576 tokens from 0 on" },
        { "select --method sparsevlm --mode published --in vis=h0.npy --in text=h1.npy --in "
          "attn=attn.npy",
          3, "sparsevlm: *" },
        { "select --in image=" PICTURE " --in gray=" GOLDENS
          "/methods/s2prune/gray_synth0.npy --in erc=" ERC,
          3, "gray: *" },
        { "verify nothing", 3, "cannot open 'nothing': No such file or directory" },
    };
    check_mistakes(cases, COUNT_OF(cases));
}

static void test_no_arguments(void **state)
{
    (void)state;
    const outcome *o = run("");
    assert_int_equal(o->code, 2);
    assert_int_equal(o->out[0], '\0');
    assert_ptr_equal(strstr(o->err, "usage: s2prune COMMAND"), o->err);
}

static void test_help_and_version(void **state)
{
    (void)state;
    static const char *const asks[] = {
        "--help",      "-h",        "help",          "plan --help", "plan -i x --budget -h",
        "help select", "verify -h", "completion zsh"
    };
    for (size_t i = 0; i < COUNT_OF(asks); i++) {
        const outcome *o = run(asks[i]);
        CHECK_CASE(o->code == 0 && o->err[0] == '\0' && strlen(o->out) > 200, "%s: %s", asks[i],
                   o->err);
    }
    const outcome *o = run("--version");
    assert_int_equal(o->code, 0);
    assert_ptr_equal(strstr(o->out, "s2prune " S2_TEST_VERSION "\n"), o->out);
    assert_non_null(strstr(o->out, "\nggml: "));
    assert_non_null(strstr(o->out, "scalar"));
    assert_non_null(strstr(o->out, "\ntower: "));
    const char *devices = strstr(o->out, "\ndevices:  ");
    assert_non_null(devices);
    assert_non_null(strstr(devices, "CPU ("));
}

/* --- output that cannot be written ---------------------------------------- */

static void test_output_fails(void **state)
{
    (void)state;
    const outcome *o = run("plan -i " PICTURE " > /dev/full");
    assert_int_equal(o->code, 4);
    assert_string_equal(o->err,
                        "error: cannot write to standard output: No space left on device\n");
    o = run("plan -i " PICTURE " -o json >&-");
    assert_int_equal(o->code, 1);
    o = run("plan -i " PICTURE " --png /dev/full");
    assert_int_equal(o->code, 4);
    assert_int_equal(o->out[0], '\0');
    o = run("plan -i " PICTURE " --svg nowhere/x.svg");
    assert_int_equal(o->code, 1);
    assert_non_null(strstr(o->err, "nowhere/x.svg"));
    o = run("plan -i " PICTURE " 2>pipe-err | true; cat pipe-err >&2");
    assert_true(o->err[0] == '\0' || strstr(o->err, "Broken pipe"));
}

/* --- plan ----------------------------------------------------------------- */

static void check_regions(const json_t *plan, int64_t rows, int64_t cols, int64_t width,
                          int64_t height)
{
    const json_t *regions = json_object_get(plan, "regions"),
                 *cells = json_object_get(plan, "cells");
    const size_t side = (size_t)number(plan, "grid");
    int64_t tokens = 0, pixels = 0, budget = 0, covered = 0;
    double most = 0;
    assert_int_equal(json_array_size(regions), side * side);
    for (size_t g = 0; g < side * side; g++) {
        const json_t *r = json_array_get(regions, g);
        tokens += (number(r, "r1") - number(r, "r0")) * (number(r, "c1") - number(r, "c0"));
        pixels += (number(r, "y1") - number(r, "y0")) * (number(r, "x1") - number(r, "x0"));
        budget += number(r, "budget");
        const double score = json_real_value(json_object_get(r, "score"));
        const double variance = json_real_value(json_object_get(r, "var"));
        assert_true(variance == (double)(float)variance && score == (double)(float)score);
        assert_true(score >= 0.0 && score <= 1.0);
        if (score > most) most = score;
    }
    assert_int_equal(tokens, rows * cols);
    assert_int_equal(pixels, width * height);
    assert_int_equal(budget, number(plan, "budget"));
    assert_true(most == 1.0);
    assert_int_equal(json_array_size(cells), (size_t)budget);
    for (size_t i = 0; i < json_array_size(cells); i++) {
        int64_t e[4];
        assert_int_equal(json_array_size(json_array_get(cells, i)), 4);
        for (size_t k = 0; k < 4; k++)
            e[k] = json_integer_value(json_array_get(json_array_get(cells, i), k));
        covered += (e[1] - e[0]) * (e[3] - e[2]);
    }
    assert_int_equal(covered, rows * cols);
}

static void test_plan_json(void **state)
{
    (void)state;
    json_t *plan = run_json("plan -i " PICTURE " --budget 64 -o json");
    assert_string_equal(s2_json_string(plan, "schema"), "s2prune.plan/1");
    assert_int_equal(number(json_object_get(plan, "image"), "width"), 168);
    assert_int_equal(number(json_object_get(plan, "image"), "height"), 168);
    assert_int_equal(number(plan, "grid"), 5);
    check_regions(plan, 24, 24, 168, 168);
    assert_true(json_real_value(json_object_get(plan, "heterogeneity")) > 0.0);
    assert_null(json_object_get(plan, "keep")); /* only with --erc */
    assert_int_equal(json_object_size(plan), 8);
    json_decref(plan);

    plan = run_json("plan --image=" PICTURE " --tokens 18x32 --grid 9 --budget 25% -o json");
    assert_int_equal(number(plan, "budget"), 144);
    check_regions(plan, 18, 32, 168, 168);
    json_decref(plan);

    plan = run_json("plan -i " PICTURE " --budget 100% -o json");
    assert_int_equal(number(plan, "budget"), 576);
    check_regions(plan, 24, 24, 168, 168);
    json_decref(plan);
}

/* With scores the plan names the tokens, the same ones the goldens do. */
static void test_plan_keeps(void **state)
{
    (void)state;
    json_t *cases = NULL;
    assert_int_equal(
        s2_json_read_file(GOLDENS "/methods/s2prune/cases.json", 1 << 24, &cases, NULL), S2P_OK);
    for (size_t i = 0; i < json_array_size(cases); i += 7) {
        const json_t *c = json_array_get(cases, i);
        char line[2048];
        (void)snprintf(line, sizeof line,
                       "plan -i " GOLDENS "/methods/%s --erc " GOLDENS
                       "/methods/%s --tokens %dx%d --grid %d "
                       "--budget %d -o json",
                       s2_json_string(c, "image"), s2_json_string(c, "erc"), (int)number(c, "grid"),
                       (int)number(c, "grid"), (int)number(c, "K"), (int)number(c, "B"));
        json_t *plan = run_json(line);
        CHECK_CASE(json_equal(json_object_get(plan, "keep"), json_object_get(c, "selected")), "%s",
                   line);
        CHECK_CASE(json_equal(json_object_get(plan, "cells"), json_object_get(c, "cells")), "%s",
                   line);
        for (size_t g = 0; g < json_array_size(json_object_get(plan, "regions")); g++) {
            const json_t *r = json_array_get(json_object_get(plan, "regions"), g);
            CHECK_CASE(json_number_value(json_object_get(r, "var")) ==
                           json_number_value(json_array_get(json_object_get(c, "raw"), g)),
                       "%s", line);
            CHECK_CASE(json_number_value(json_object_get(r, "score")) ==
                           json_number_value(json_array_get(json_object_get(c, "norm"), g)),
                       "%s", line);
        }
        json_decref(plan);
    }
    json_decref(cases);
}

static void test_plan_text(void **state)
{
    (void)state;
    const outcome *o =
        run("plan -i " PICTURE " --budget 32 --erc " ERC " --compare-allocator uniform");
    assert_int_equal(o->code, 0);
    static const char *const parts[] = { "168x168   grid 24x24 tokens, 4x4 regions, budget 32\n",
                                         "heterogeneity H = ",
                                         "\ntokens per region\n",
                                         "  sum 32   min ",
                                         "kept 32 of 576 tokens\n",
                                         "\ntime ",
                                         "tokens per region, uniform (",
                                         "\n   2   2   2   2\n" };
    for (size_t i = 0; i < COUNT_OF(parts); i++)
        CHECK_CASE(strstr(o->out, parts[i]), "%s", parts[i]);
    assert_null(strchr(o->out, '\x1b')); /* not a terminal: no picture, no colours */
    o = run("plan -i " PICTURE " --display blocks");
    assert_non_null(strstr(o->out, "\x1b[38;2;"));
    o = run("plan -i " PICTURE " --display kitty");
    assert_non_null(strstr(o->out, "\x1b_G"));
    o = run("plan -i " PICTURE " --display ascii");
    assert_null(strchr(o->out, '\x1b'));
    assert_true(strlen(o->out) > 1000);
}

static void test_plan_sources(void **state)
{
    (void)state;
    json_t *a = run_json("plan -i - -o json < " PICTURE);
    json_t *b = run_json("plan -o json -i " PICTURE);
    assert_true(json_equal(a, b));
    json_decref(a);
    const outcome *o = run_with("S2PRUNE_BUDGET=16 LLAMA_ARG_OUTPUT=json", "plan -i " PICTURE);
    assert_int_equal(o->code, 0);
    assert_non_null(strstr(o->out, "\"budget\":16,"));
    o = run_with("S2PRUNE_BUDGET=16", "plan -o json --budget 64 -i " PICTURE);
    assert_non_null(strstr(o->out, "\"budget\":64,"));
    o = run_with("S2PRUNE_GRID=x", "plan -i " PICTURE);
    assert_int_equal(o->code, 2);
    assert_string_equal(o->err, "error: S2PRUNE_GRID 'x' is not a whole number from 0 to 4096\n");
    json_decref(b);
}

static void test_overlays(void **state)
{
    (void)state;
    const outcome *o = run("plan -i " PICTURE " --png overlay.png --svg overlay.svg");
    assert_int_equal(o->code, 0);
    char path[512];
    (void)snprintf(path, sizeof path, "%s/overlay.png", folder);
    s2_image_limits limits;
    s2_image_limits_init(&limits);
    s2_image picture;
    assert_int_equal(s2_image_load(path, S2_PIXELS_REFERENCE, &limits, &picture, NULL), S2P_OK);
    assert_true(picture.view.width >= 168 && picture.view.height >= 168);
    s2_image_free(&picture);
    (void)snprintf(path, sizeof path, "%s/overlay.svg", folder);
    s2_buffer svg;
    s2_buffer_init(&svg, 1 << 24);
    assert_int_equal(s2_file_read(path, &svg, NULL), S2P_OK);
    s2_buffer_append(&svg, "", 1);
    assert_non_null(strstr((const char *)svg.data, "<svg"));
    assert_non_null(strstr((const char *)svg.data, "</svg>"));
    s2_buffer_free(&svg);
}

/* --- select --------------------------------------------------------------- */

static void test_select(void **state)
{
    (void)state;
    json_t *cases = NULL;
    assert_int_equal(
        s2_json_read_file(GOLDENS "/methods/s2prune/cases.json", 1 << 24, &cases, NULL), S2P_OK);
    for (size_t i = 0; i < json_array_size(cases); i += 5) {
        const json_t *c = json_array_get(cases, i);
        char line[2048];
        (void)snprintf(line, sizeof line,
                       "select --method s2prune --in %s=" GOLDENS "/methods/%s --in erc=" GOLDENS
                       "/methods/%s --set grid=%d --set K=%d --set B=%d --set N=%d -o json",
                       i % 2 ? "image" : "gray", s2_json_string(c, i % 2 ? "image" : "gray"),
                       s2_json_string(c, "erc"), (int)number(c, "grid"), (int)number(c, "K"),
                       (int)number(c, "B"), (int)number(c, "N"));
        json_t *chosen = run_json(line);
        assert_string_equal(s2_json_string(chosen, "schema"), "s2prune.select/1");
        assert_string_equal(s2_json_string(chosen, "method"), "s2prune");
        assert_int_equal(number(chosen, "budget"), number(c, "B"));
        CHECK_CASE(json_equal(json_object_get(chosen, "keep"), json_object_get(c, "selected")),
                   "%s", line);
        assert_int_equal(json_array_size(json_object_get(chosen, "order")), (size_t)number(c, "B"));
        assert_int_equal(json_array_size(json_object_get(chosen, "merge")), 0);
        json_decref(chosen);
    }
    json_decref(cases);
}

/* Every method keeps exactly its budget, ascending, without repeats. */
static void test_select_methods(void **state)
{
    (void)state;
    static const struct {
        const char *arguments;
        size_t n;
    } cases[] = {
        { "--method full", 576 },
        { "--method random --seed 7 --budget 40", 40 },
        { "--method uniform --budget 64", 64 },
        { "--method equal-density --budget 11%", 63 },
        { "--budget 32 --in image=" PICTURE " --in h0=h0.npy --in h1=h1.npy", 32 },
        { "--budget 32 --in image=" PICTURE " --in h1=h1.npy --selector norm", 32 },
        { "--budget 32 --in image=" PICTURE " --in attn=attn.npy --selector query-all", 32 },
        { "--budget 32 --in image=" PICTURE " --in attn=attn.npy --selector query-last", 32 },
        { "--budget 32 --in feat=h0.npy --allocator erank --selector centre", 32 },
        { "--budget 32 --set allocator=random --set selector=random --set seed=3 --in "
          "image=" PICTURE,
          32 },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char line[1024];
        (void)snprintf(line, sizeof line, "select %s -o json", cases[i].arguments);
        json_t *chosen = run_json(line);
        const json_t *keep = json_object_get(chosen, "keep");
        CHECK_CASE(json_array_size(keep) == cases[i].n, "%s", line);
        for (size_t k = 0; k < cases[i].n; k++) {
            const int64_t token = json_integer_value(json_array_get(keep, k));
            CHECK_CASE(token >= 0 && token < 576, "%s", line);
            CHECK_CASE(k == 0 || token > json_integer_value(json_array_get(keep, k - 1)), "%s",
                       line);
        }
        json_decref(chosen);
    }
}

/* erc recorded, or made from h0 and h1: the same tokens. float64 is as good as float32. */
static void test_select_erc_from_states(void **state)
{
    (void)state;
    json_t *a =
        run_json("select --budget 32 --in image=" PICTURE " --in h0=h0.npy --in h1=h1.npy -o json");
    json_t *b = run_json("select --budget 32 --in image=" PICTURE " --in erc=erc64.npy -o json");
    assert_true(json_equal(a, b));
    json_decref(a);
    json_decref(b);
}

/* Golden cases of the published methods, field by field as their lists name them. */
static const struct published {
    const char *method, *folder, *arrays[4], *values[4], *result, *expected;
} published[] = {
    { "fastv", "fastv", { "input" }, { "B", "image_start", "n_after" }, "keep", "selected" },
    { "feather", "feather", { "q_last", "k_img" }, { "B" }, "keep", "selected" },
    { "dart", "dart", { "hidden", "k" }, { "B", "image_start", "per_pivot" }, "keep", "selected" },
    { "gprune", "gprune", { "feat" }, { "B", "iterations" }, "keep", "selected" },
    { "visionzip",
      "visionzip_qwen",
      { "hidden", "keys", "score" },
      { "dominant", "contextual" },
      "keep",
      "selected" },
    { "vispruner",
      "vispruner",
      { "feat", "attn_heads" },
      { "B", "n_important" },
      "keep",
      "selected" },
    { "holov",
      "holov",
      { "feat", "attn" },
      { "B", "num_crops" },
      "order",
      "selected_in_output_order" },
    { "cdpruner", "cdpruner", { "feat", "img_embed", "txt_embed" }, { "B" }, "keep", "selected" },
    { "divprune", "divprune", { "feat" }, { "B" }, "order", "order" },
    { "euti", "euti", { "q", "k", "hidden" }, { "B" }, "keep", "selected" },
};

static void command_for(const struct published *p, const json_t *c, const char *mode, char *line,
                        size_t capacity)
{
    size_t n = (size_t)snprintf(line, capacity, "select --method %s --mode %s -o json --set N=%d",
                                p->method, mode, (int)number(c, "N"));
    for (size_t a = 0; a < 4 && p->arrays[a]; a++)
        n += (size_t)snprintf(line + n, capacity - n, " --in %s=" GOLDENS "/methods/%s",
                              p->arrays[a], s2_json_string(c, p->arrays[a]));
    for (size_t v = 0; v < 4 && p->values[v]; v++)
        if (json_is_integer(json_object_get(c, p->values[v])))
            n += (size_t)snprintf(line + n, capacity - n, " --set %s=%d", p->values[v],
                                  (int)number(c, p->values[v]));
}

static void test_select_published(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(published); i++) {
        const struct published *p = &published[i];
        char path[1024], line[4096];
        json_t *cases = NULL;
        (void)snprintf(path, sizeof path, GOLDENS "/methods/%s/cases.json", p->folder);
        assert_int_equal(s2_json_read_file(path, 1 << 24, &cases, NULL), S2P_OK);
        const json_t *c = json_array_get(cases, 0);
        command_for(p, c, "published", line, sizeof line);
        json_t *chosen = run_json(line);
        CHECK_CASE(json_equal(json_object_get(chosen, p->result), json_object_get(c, p->expected)),
                   "%s", line);
        const bool merges = strcmp(p->method, "visionzip") == 0;
        assert_true((json_array_size(json_object_get(chosen, "merge")) > 0) == merges);
        json_decref(chosen);
        if (!merges && json_is_integer(json_object_get(c, "B"))) { /* by default exactly B */
            command_for(p, c, "default", line, sizeof line);
            chosen = run_json(line);
            CHECK_CASE(number(chosen, "budget") == number(c, "B"), "%s", line);
            json_decref(chosen);
        }
        json_decref(cases);
    }
}

/* Both stages on one recording, and one alone. */
static void test_select_stages(void **state)
{
    (void)state;
    json_t *chosen = run_json("select --method v2drop --in erc=" ERC " --budget 64 -o json");
    assert_int_equal(json_array_size(json_object_get(chosen, "stages")), 3);
    assert_int_equal(number(chosen, "budget"), 64);
    json_decref(chosen);
    chosen = run_json("select --method v2drop --mode published --in erc=" ERC
                      " --set layer=2 --budget 64 -o json");
    assert_int_equal(number(chosen, "budget"), 288);
    assert_null(json_object_get(chosen, "stages"));
    json_decref(chosen);
}

/* --- verify --------------------------------------------------------------- */

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

/* --- files the cases need ------------------------------------------------- */

static void write_array(const char *name, s2_dtype type, int32_t n_dims, int64_t a, int64_t b,
                        void *data)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    const s2_array array = { type, n_dims, { a, b, 1, 1 }, (size_t)(a * b), data };
    assert_int_equal(s2_npy_write(path, &array, NULL), S2P_OK);
}

static void write_picture(const char *name, int32_t side)
{
    static uint8_t pixels[64 * 64 * 3];
    char path[512];
    uint32_t seed = 5;
    for (size_t i = 0; i < sizeof pixels; i++) pixels[i] = (uint8_t)next_random(&seed);
    const s2p_image view = { side, side, side * 3, pixels };
    s2_buffer bytes;
    s2_buffer_init(&bytes, 1 << 20);
    assert_int_equal(s2_png_encode(&view, &bytes, NULL), S2P_OK);
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(s2_file_write(path, bytes.data, bytes.size, NULL), S2P_OK);
    s2_buffer_free(&bytes);
}

static int make_files(void **state)
{
    (void)state;
    static float values[576], h0[576 * 2], h1[576 * 2], attn[3 * 576];
    static double wide[576];
    static int32_t whole[576];
    uint32_t seed = 1;
    for (int i = 0; i < 576; i++) {
        values[i] = (float)random_below(&seed, 1000);
        h0[2 * i] = 1.0f; /* h1 - h0 = (3v, 4v): its norm is 5v exactly */
        h1[2 * i] = 1.0f + 3.0f * values[i];
        h1[2 * i + 1] = 4.0f * values[i];
        wide[i] = 5.0 * (double)values[i];
    }
    for (int i = 0; i < 3 * 576; i++) attn[i] = (float)random_below(&seed, 1000);
    write_array("h0.npy", S2_F32, 2, 576, 2, h0);
    write_array("h1.npy", S2_F32, 2, 576, 2, h1);
    write_array("attn.npy", S2_F32, 2, 3, 576, attn);
    write_array("erc64.npy", S2_F64, 1, 576, 1, wide);
    write_array("int.npy", S2_I32, 1, 576, 1, whole);
    write_array("matrix.npy", S2_F32, 2, 24, 24, values);
    values[7] = NAN;
    write_array("nan.npy", S2_F32, 1, 576, 1, values);
    values[7] = 0.0f;
    wide[575] = 1e300; /* a double that no float holds */
    write_array("inf.npy", S2_F64, 1, 576, 1, wide);
    write_picture("tiny.png", 2);
    write_picture("narrow.png", 20);

    char path[512];
    (void)snprintf(path, sizeof path, "%s/lying.npy", folder);
    s2_buffer bytes;
    s2_buffer_init(&bytes, 1 << 16);
    assert_int_equal(s2_file_read(ERC, &bytes, NULL), S2P_OK);
    assert_int_equal(s2_file_write(path, bytes.data, bytes.size - 4, NULL), S2P_OK);
    s2_buffer_free(&bytes);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 3) return 2;
    program = argv[1];
    folder = argv[2];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_usage_mistakes),
        cmocka_unit_test(test_bad_input),
        cmocka_unit_test(test_no_arguments),
        cmocka_unit_test(test_help_and_version),
        cmocka_unit_test(test_output_fails),
        cmocka_unit_test(test_plan_json),
        cmocka_unit_test(test_plan_keeps),
        cmocka_unit_test(test_plan_text),
        cmocka_unit_test(test_plan_sources),
        cmocka_unit_test(test_overlays),
        cmocka_unit_test(test_select),
        cmocka_unit_test(test_select_methods),
        cmocka_unit_test(test_select_erc_from_states),
        cmocka_unit_test(test_select_published),
        cmocka_unit_test(test_select_stages),
        cmocka_unit_test(test_verify),
        cmocka_unit_test(test_verify_elsewhere),
        cmocka_unit_test(test_verify_can_fail),
        cmocka_unit_test(test_verify_is_missing),
    };
    return cmocka_run_group_tests(tests, make_files, NULL);
}
