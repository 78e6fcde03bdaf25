/* test_plan_cli.c - `s2prune plan` as a user runs it: JSON, text, pictures. */
#include "program_runs.h"

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

int main(int argc, char **argv)
{
    if (argc != 3) return 2;
    program = argv[1];
    folder = argv[2];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plan_json), cmocka_unit_test(test_plan_keeps),
        cmocka_unit_test(test_plan_text), cmocka_unit_test(test_plan_sources),
        cmocka_unit_test(test_overlays),
    };
    return cmocka_run_group_tests(tests, make_files, NULL);
}
