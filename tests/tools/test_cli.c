/* test_cli.c - the real program, as a user or a script runs it: exit codes, streams, sentences,
 * JSON. The program's path is the first argument, a folder to write in the second.
 */
#include "program_runs.h"

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
          "--grid 25 does not fit --tokens 30x24 (every region needs a row and a column of "
          "tokens); "
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
        { "completion tcsh", 2, "completion needs bash, zsh or fish" },
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
    assert_ptr_equal(strstr(o->out, "s2prune " S2_TEST_VERSION), o->out);
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

int main(int argc, char **argv)
{
    if (argc != 3) return 2;
    program = argv[1];
    folder = argv[2];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_usage_mistakes), cmocka_unit_test(test_bad_input),
        cmocka_unit_test(test_no_arguments),   cmocka_unit_test(test_help_and_version),
        cmocka_unit_test(test_output_fails),
    };
    return cmocka_run_group_tests(tests, make_files, NULL);
}
