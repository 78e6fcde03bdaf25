/* test_select_cli.c - `s2prune select` on recorded arrays and on the goldens of published methods. */
#include "program_runs.h"

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
    { "fastv-top", "fastv", { "input" }, { "B", "image_start", "n_after" }, "keep", "selected" },
    { "feather-top", "feather", { "q_last", "k_img" }, { "B" }, "keep", "selected" },
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

/* VisionZip's dominant tokens are the whole of visionzip-top, which needs no keys. */
static void test_select_visionzip_top(void **state)
{
    (void)state;
    json_t *cases = NULL;
    assert_int_equal(
        s2_json_read_file(GOLDENS "/methods/visionzip_qwen/cases.json", 1 << 24, &cases, NULL),
        S2P_OK);
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *c = json_array_get(cases, i);
        char line[1024];
        (void)snprintf(line, sizeof line,
                       "select --method visionzip-top -o json --set N=%d --budget %d --in "
                       "score=" GOLDENS "/methods/%s",
                       (int)number(c, "N"), (int)number(c, "dominant"), s2_json_string(c, "score"));
        json_t *chosen = run_json(line);
        CHECK_CASE(json_equal(json_object_get(chosen, "keep"), json_object_get(c, "dominant_idx")),
                   "%s", line);
        assert_int_equal(json_array_size(json_object_get(chosen, "merge")), 0);
        json_decref(chosen);
    }
    json_decref(cases);
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

int main(int argc, char **argv)
{
    if (argc != 3) return 2;
    program = argv[1];
    folder = argv[2];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_select),
        cmocka_unit_test(test_select_methods),
        cmocka_unit_test(test_select_erc_from_states),
        cmocka_unit_test(test_select_published),
        cmocka_unit_test(test_select_visionzip_top),
        cmocka_unit_test(test_select_stages),
    };
    return cmocka_run_group_tests(tests, make_files, NULL);
}
