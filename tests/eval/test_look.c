/* test_look.c - one look for each method; text that fits; labels that do not touch. */
#include "check.h"

#include "eval/figure/charts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_same(s2_look a, s2_look b)
{
    return a.colour == b.colour && a.mark == b.mark && a.dash == b.dash;
}

/* Every method of the program can be told from every other, by name and by title. */
static void test_methods(void **state)
{
    (void)state;
    for (size_t i = 0; s2p_method_at(i); i++) {
        const s2p_method_info *about = s2p_method_about(s2p_method_at(i));
        bool is_known;
        const s2_look look = s2_look_of(about->name, &is_known);
        char title[S2_TITLE_SIZE];
        CHECK_CASE(is_known, "%s", about->name);
        assert_true(look.colour >= 0 && look.colour < S2_LOOK_COLOURS);
        assert_true(look.is_ours == (strcmp(about->name, "s2prune") == 0));
        CHECK_CASE(is_same(look, s2_look_of(about->title, &is_known)) && is_known, "%s",
                   about->title);
        assert_string_equal(s2_title_of(about->name, title), about->title);
        assert_string_equal(s2_title_of(about->title, title), about->title);
        for (size_t k = 0; k < i; k++) {
            const char *other = s2p_method_about(s2p_method_at(k))->name;
            CHECK_CASE(!is_same(look, s2_look_of(other, NULL)), "%s and %s look alike", about->name,
                       other);
        }
    }
}

/* Controls are gray, the method of the paper has a colour of its own. */
static void test_families(void **state)
{
    (void)state;
    static const char *const controls[] = { "random", "uniform", "equal-density",
                                            "resize", "pool",    "by area" };
    for (size_t i = 0; i < 4; i++) {
        bool is_known;
        assert_int_equal(s2_look_of(controls[i], &is_known).colour, 1);
        assert_true(is_known);
    }
    for (size_t i = 0; s2p_method_at(i); i++) {
        const char *name = s2p_method_about(s2p_method_at(i))->name;
        if (strcmp(name, "s2prune") != 0) assert_true(s2_look_of(name, NULL).colour != 0);
    }
}

/* A variant and a method of one's own keep their look, whatever else there is; other words have none. */
static void test_variants(void **state)
{
    (void)state;
    bool is_known;
    char title[S2_TITLE_SIZE];
    const s2_look look = s2_look_of("s2prune[K=10]", &is_known);
    assert_true(is_known && !look.is_ours && look.dash > 0);
    assert_true(is_same(look, s2_look_of("s2prune[K=10]", NULL)));
    (void)s2_look_of("file:kept.jsonl", &is_known);
    assert_true(is_known);
    (void)s2_look_of("B = 64", &is_known);
    assert_false(is_known);
    assert_string_equal(s2_title_of("fastv[published]", title), "FastV [published]");
    assert_string_equal(s2_title_of("file:a", title), "file:a");
    assert_string_equal(s2_look_cite("fastv[published]"), "chen2024fastv");
    assert_string_equal(s2_look_cite("FastV [published]"), "chen2024fastv");
    assert_string_equal(s2_look_cite("VisionZip"), "yang2025visionzip");
    assert_null(s2_look_cite("random"));
    assert_null(s2_look_cite("exec:rm"));
    for (int32_t i = 0; i < 40; i++)
        for (int32_t k = 0; k < i; k++) assert_false(is_same(s2_look_at(i), s2_look_at(k)));
}

static double luminance(const char *hex)
{
    double value = 0.0;
    static const double weight[3] = { 0.2126, 0.7152, 0.0722 };
    for (int c = 0; c < 3; c++) {
        const char digits[3] = { hex[1 + 2 * c], hex[2 + 2 * c], '\0' };
        const double v = (double)strtol(digits, NULL, 16) / 255.0;
        value += weight[c] * (v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4));
    }
    return value;
}

/* Lines are seen on their paper: a contrast of three to one, as WCAG asks of graphics. */
static void test_contrast(void **state)
{
    (void)state;
    for (int32_t i = 0; i < S2_LOOK_COLOURS; i++) {
        const double on_white = 1.05 / (luminance(s2_look_hex(i, false)) + 0.05);
        const double on_black =
            (luminance(s2_look_hex(i, true)) + 0.05) / (luminance("#16181d") + 0.05);
        CHECK_CASE(on_white >= 3.0, "%s on white: %.2f", s2_look_hex(i, false), on_white);
        CHECK_CASE(on_black >= 4.5, "%s on dark: %.2f", s2_look_hex(i, true), on_black);
    }
}

/* Two that want one place stand half a step to either side; at an edge both move inwards. */
static void test_spread(void **state)
{
    (void)state;
    static const double same[] = { 50.0, 50.0 }, edge[] = { 0.0, 1.0, 60.0 },
                        wide[] = { 10.0, 30.0, 90.0 };
    double at[3];
    assert_int_equal(s2_spread_labels(same, 2, 10.0, 0.0, 100.0, at), S2P_OK);
    assert_true(at[0] == 45.0 && at[1] == 55.0);
    assert_int_equal(s2_spread_labels(edge, 3, 10.0, 0.0, 100.0, at), S2P_OK);
    assert_true(at[0] == 0.0 && at[1] == 10.0 && at[2] == 60.0);
    assert_int_equal(s2_spread_labels(wide, 3, 10.0, 0.0, 100.0, at), S2P_OK);
    assert_true(at[0] == 10.0 && at[1] == 30.0 && at[2] == 90.0);
}

/* However the ends lie, labels stay in order, apart, and inside. */
static void test_spread_promises(void **state)
{
    (void)state;
    enum { MOST = 21 };
    uint32_t seed = 1;
    for (int round = 0; round < 500; round++) {
        double wanted[MOST], at[MOST];
        for (int i = 0; i < MOST; i++) {
            seed = seed * 1664525u + 1013904223u;
            wanted[i] = seed % 7 == 0 ? 100.0 : (double)(seed >> 8 & 1023) / 1023.0 * 300.0;
        }
        assert_int_equal(s2_spread_labels(wanted, MOST, 10.0, 0.0, 300.0, at), S2P_OK);
        for (int i = 0; i < MOST; i++) {
            assert_true(at[i] >= -1e-6 && at[i] <= 300.0 + 1e-6);
            for (int k = 0; k < MOST; k++) {
                if (k != i) assert_true(fabs(at[i] - at[k]) >= 10.0 - 1e-6);
                if (wanted[i] < wanted[k]) assert_true(at[i] < at[k]);
            }
        }
    }
}

/* Words wrap between words; Chinese anywhere; nothing is cut inside a character. */
static void test_lines(void **state)
{
    (void)state;
    size_t next;
    assert_int_equal(s2_text_fit("one two", 1000.0, 10.0, &next), 7);
    assert_int_equal(next, 7);
    const double two = s2_text_width("one two", 10.0);
    assert_int_equal(s2_text_fit("one two three", two + 1.0, 10.0, &next), 7);
    assert_int_equal(next, 8); /* the space is left out */
    assert_int_equal(s2_text_fit("one\ntwo", 1000.0, 10.0, &next), 3);
    assert_int_equal(next, 4);
    const char *chinese =
        "\xE5\x9B\xBE\xE7\x89\x87\xE4\xB8\xAD"; /* three characters of a square each */
    assert_int_equal(s2_text_fit(chinese, 22.0, 10.0, &next), 6);
    assert_int_equal(next, 6);
    assert_int_equal(s2_text_fit("Ueberlang", 1.0, 10.0, &next), 1); /* at least one character */
    assert_true(s2_text_width("W", 10.0) > s2_text_width("i", 10.0));
    assert_true(s2_plot_paragraph(NULL, 0, 0, 50.0, 3, S2_LETTERS_PLAIN,
                                  "many words that need more than three lines of fifty pixels") ==
                3);
}

/* Markup, controls and broken bytes in a name end as text. */
static void test_hostile_text(void **state)
{
    (void)state;
    s2_buffer out;
    s2_plot plot;
    s2_buffer_init(&out, 1 << 20);
    s2_plot_begin(&plot, &out, S2_PLOT_COLUMN, 100.0, "</title><script>", "a & b\x01");
    (void)s2_plot_paragraph(&plot, 0, 0, 300.0, 3, S2_LETTERS_GOOD,
                            "<script>alert(1)</script> \xFF&");
    s2_plot_end(&plot);
    s2_buffer_append(&out, "", 1);
    const char *svg = (const char *)out.data;
    assert_null(strstr(svg, "<script"));
    assert_non_null(strstr(svg, "&lt;script&gt;alert(1)&lt;/script&gt;"));
    assert_non_null(strstr(svg, "width=\"3.3in\""));
    assert_null(strchr(svg, '\x01'));
    assert_null(strchr(svg, '\xFF'));
    s2_buffer_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_methods),  cmocka_unit_test(test_families),
        cmocka_unit_test(test_variants), cmocka_unit_test(test_contrast),
        cmocka_unit_test(test_spread),   cmocka_unit_test(test_spread_promises),
        cmocka_unit_test(test_lines),    cmocka_unit_test(test_hostile_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
