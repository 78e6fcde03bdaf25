/* test_variants.c - settings as text: every name, refusals, files, and labels in lists. */
#include "check.h"

#include "ask/variants.h"

#include <stdio.h>
#include <string.h>

static s2p_status read_variant(const char *text, s2a_variant *out, s2p_error *error)
{
    static const s2a_setting base = { .budget = { .tokens = 64 }, .choice = { .seed = 7 } };
    return s2a_variant_read("--setting", text, strlen(text), &base, out, error);
}

static void test_names(void **state)
{
    (void)state;
    static const struct {
        const char *text, *label;
        int32_t tokens;
        bool has_budget;
    } cases[] = {
        { "s2prune", "s2prune", 64, false },
        { "S2PRUNE", "s2prune", 64, false },
        { " s2prune : grid=9 ", "s2prune[K=9]", 64, false },
        { "s2prune:grid=0", "s2prune", 64, false },
        { "s2prune:allocator=uniform,selector=centre", "s2prune[uniform,centre]", 64, false },
        { "s2prune:selector=random,budget=32", "s2prune[selector=random]", 32, true },
        { "s2prune:structure=resized,image-size=336x336", "s2prune[structure=resized,336x336]", 64,
          false },
        { "s2prune:image-size=native", "s2prune[native]", 64, false },
        { "uniform:after=0", "uniform[L0]", 64, false },
        { "full:before-tower=pixelprune", "full[pixelprune]", 0, false },
        { "fastv:before-tower=pixelprune:mae:0.05,after=3", "fastv[L3,pixelprune:mae:0.05]", 64,
          false },
        { "s2prune:before-tower=none", "s2prune", 64, false },
        { "uniform:after=own", "uniform", 64, false },
        { "uniform:after=-1", "uniform", 64, false },
        { "fastv:mode=published", "fastv[published]", 64, false },
        { "sparsevlm:recycle_ratio=0.5", "sparsevlm[recycle_ratio=0.5]", 64, false },
        { "full", "full", 0, false },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char label[S2A_LABEL_SIZE];
        s2a_variant v;
        s2p_error error = { S2P_OK, "" };
        CHECK_CASE(read_variant(cases[i].text, &v, &error) == S2P_OK, "%s: %s", cases[i].text,
                   error.message);
        CHECK_CASE(strcmp(s2a_setting_label(&v.setting, label), cases[i].label) == 0, "%s: %s",
                   cases[i].text, label);
        assert_int_equal(v.setting.budget.tokens, cases[i].tokens);
        assert_int_equal(v.has_budget, cases[i].has_budget);
        assert_int_equal(v.setting.choice.seed, 7);
    }
}

static void test_refusals(void **state)
{
    (void)state;
    static const struct {
        const char *text, *sentence;
    } cases[] = {
        { "", "--setting needs a method, as in s2prune:grid=9" },
        { ":grid=9", "--setting needs a method, as in s2prune:grid=9" },
        { "s2prun:grid=9", "--setting: unknown method 's2prun' (did you mean 's2prune'?)" },
        { "s2prune:", "--setting: '' is not name=value, as in s2prune:grid=9" },
        { "s2prune:grid", "--setting: 'grid' is not name=value, as in s2prune:grid=9" },
        { "s2prune:grid=", "--setting: 'grid=' is not name=value, as in s2prune:grid=9" },
        { "s2prune:grid=9,", "--setting: '' is not name=value, as in s2prune:grid=9" },
        { "s2prune:gridd=9", "--setting: unknown name 'gridd' (did you mean 'grid'?)" },
        { "s2prune:zzzzzzzzzzzz=9",
          "--setting: unknown name 'zzzzzzzzzzzz'; for s2prune there are budget min-confidence "
          "allocator selector grid mode after positions before-tower structure image-size "
          "erc_deepstack" },
        { "s2prune:grid=9,grid=9", "--setting gives 'grid' twice" },
        { "s2prune:grid=nine", "--setting: grid 'nine' is not a whole number from 0 to 4096" },
        { "s2prune:grid=9x", "--setting: grid '9x' is not a whole number from 0 to 4096" },
        { "s2prune:allocator=none",
          "--setting: allocator 'none' is not one of laplacian uniform random fft erank" },
        { "s2prune:mode=odd", "--setting: mode 'odd' is not one of default published" },
        { "s2prune:before-tower=pixelprune:2",
          "--setting: 'pixelprune:2' is not pixelprune[:THRESHOLD] or pixelprune:METRIC:THRESHOLD, "
          "a threshold from 0 to 1 and a metric max, mae or rmse; none: every token enters the "
          "tower" },
        { "s2prune:after=x",
          "--setting: after 'x' is not a decoder layer from -1 to 1000, or own" },
        { "s2prune:budget=0", "--setting '0' is neither a number of tokens from 1 to 1048576 nor a "
                              "share like 11%; 100% "
                              "keeps all" },
        { "s2prune:image-size=big", "--setting 'big' is neither native nor WIDTHxHEIGHT" },
        { "full:budget=64", "--setting: method 'full' keeps every token; it has no budget" },
        { "fastv:allocator=uniform", "--setting: method 'fastv' does not read allocator" },
        { "fastv:grid=9", "--setting: method 'fastv' does not read grid" },
        { "equal-density:selector=erc",
          "--setting: method 'equal-density' does not read selector" },
        { "fastv:structure=resized",
          "--setting: method 'fastv' does not measure structure in this setting" },
        { "sparsevlm:recycle_ratio=2",
          "--setting recycle_ratio '2' is not a number from 1e-09 to 1" },
        { "sparsevlm:after=3", "--setting 3: method 'sparsevlm' prunes in 3 stages; only a method "
                               "of one stage can prune "
                               "after another layer" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        s2a_variant v;
        s2p_error error = { S2P_OK, "" };
        CHECK_CASE(read_variant(cases[i].text, &v, &error) != S2P_OK, "%s", cases[i].text);
        CHECK_CASE(strcmp(error.message, cases[i].sentence) == 0, "%s: %s", cases[i].text,
                   error.message);
    }
    char text[400] = "s2prune:";
    memset(text + 8, 'a', 300);
    s2a_variant v;
    assert_int_equal(read_variant(text, &v, NULL), S2P_EINVAL);
}

/* Parameters that were set for the method before stay; another method has its own. */
static void test_base(void **state)
{
    (void)state;
    s2a_setting base = { .budget = { .tokens = 64 } };
    s2a_variant v;
    char label[S2A_LABEL_SIZE];
    s2a_setting_use(&base, "gprune");
    assert_int_equal(s2a_settings_set("--set", "iterations=7", &base, 1, NULL), S2P_OK);
    assert_int_equal(s2a_variant_read("x", "gprune:temperature=1", 20, &base, &v, NULL), S2P_OK);
    assert_string_equal(s2a_setting_label(&v.setting, label), "gprune[temperature=1,iterations=7]");
    assert_int_equal(s2a_variant_read("x", "gprune:iterations=9", 19, &base, &v, NULL), S2P_OK);
    assert_string_equal(s2a_setting_label(&v.setting, label), "gprune[iterations=9]");
    assert_int_equal(s2a_variant_read("x", "fastv", 5, &base, &v, NULL), S2P_OK);
    assert_string_equal(s2a_setting_label(&v.setting, label), "fastv");
}

static void test_lines(void **state)
{
    (void)state;
    static const char text[] = "# comment\n\n  s2prune:grid=9  \r\n\t\nuniform";
    s2a_line line[S2A_MAX_SETTINGS];
    int32_t n;
    s2p_error error;
    assert_int_equal(s2a_variants_lines("v.txt", text, strlen(text), line, &n, NULL), S2P_OK);
    assert_int_equal(n, 2);
    assert_true(s2a_item_is(line[0].text, "s2prune:grid=9") && line[0].number == 3);
    assert_true(s2a_item_is(line[1].text, "uniform") && line[1].number == 5);
    assert_int_equal(s2a_variants_lines("v.txt", "# none\n", 7, line, &n, &error), S2P_EFORMAT);
    assert_string_equal(error.message,
                        "v.txt contains no setting; write one per line, such as s2prune:grid=9");
    assert_int_equal(s2a_variants_lines("v.txt", "", 0, line, &n, NULL), S2P_EFORMAT);
    assert_int_equal(s2a_variants_lines("v.txt", "a\0b", 3, line, &n, NULL), S2P_EFORMAT);
    static char many[2 * (S2A_MAX_SETTINGS + 1)];
    for (int32_t i = 0; i <= S2A_MAX_SETTINGS; i++) {
        many[2 * i] = 'x';
        many[2 * i + 1] = '\n';
    }
    assert_int_equal(s2a_variants_lines("v.txt", many, sizeof many, line, &n, &error), S2P_ELIMIT);
    static char wide[5000];
    memset(wide, 'x', sizeof wide);
    assert_int_equal(s2a_variants_lines("v.txt", wide, sizeof wide, line, &n, NULL), S2P_EFORMAT);
}

/* Commas within brackets belong to a label. */
static void test_labels_in_lists(void **state)
{
    (void)state;
    static const char *const expected[] = { "full", "s2prune[uniform,centre,K=9]", "", "a]b",
                                            "[x" };
    const char *list = "full,s2prune[uniform,centre,K=9],,a]b,[x";
    s2a_item item;
    size_t n = 0;
    /* an unbalanced one ends with the list, and never beyond it */
    while (n < 3 && s2a_next_label(&list, &item)) {
        assert_int_equal(item.n, strlen(expected[n]));
        assert_memory_equal(item.text, expected[n], item.n);
        n++;
    }
    assert_int_equal(n, 3);
    while (s2a_next_label(&list, &item)) n++;
    assert_true(n <= 5 && !list);
}

/* How a setting shows pictures that others are shown otherwise. */
static void test_pictures(void **state)
{
    (void)state;
    const s2v_image_options usual = { .width = 672, .height = 672, .max_pixels = 5 };
    s2a_setting s = { .method = "s2prune" };
    s2v_image_options image = s2a_setting_image(&s, usual);
    assert_true(image.width == 672 && image.max_pixels == 5 && !image.structure_from_resized);
    s.width = 336;
    s.height = 448;
    s.is_resized = true;
    image = s2a_setting_image(&s, usual);
    assert_true(image.width == 336 && image.height == 448 && image.structure_from_resized);
    s.width = s.height = -1;
    image = s2a_setting_image(&s, usual);
    assert_true(image.width == 0 && image.height == 0 && image.max_pixels == 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_base),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_labels_in_lists),
        cmocka_unit_test(test_pictures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
