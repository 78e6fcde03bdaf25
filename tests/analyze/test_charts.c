/* test_charts.c - whole figures: what is drawn where, worked out by hand. */
#include "analyze/charts.h"
#include "check.h"
#include "eval/figure/plot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static s2_study study;
static double width; /* of the figures; 0: a page */

typedef void (*chart_function)(s2_study *study, const s2_chart *chart);

/* The SVG of a chart; lives until the next one. */
static const char *draw(chart_function function, const s2_chart *chart)
{
    s2_study_free(&study);
    study = (s2_study){ .width = width };
    function(&study, chart);
    assert_int_equal(study.status, S2P_OK);
    assert_int_equal(study.n, 1);
    s2_study_item *item = study.item[0];
    assert_int_equal(item->kind, S2_STUDY_FIGURE);
    assert_string_equal(item->name, chart->name);
    assert_int_equal(item->bytes.status, S2P_OK);
    s2_buffer_append(&item->bytes, "", 1);
    const char *svg = (const char *)item->bytes.data;
    assert_ptr_equal(strstr(svg, "<svg "), svg);
    assert_string_equal(svg + strlen(svg) - 7, "</svg>\n");
    assert_null(strstr(svg, "nan"));
    assert_null(strstr(svg, "inf"));
    return svg;
}

static int count(const char *svg, const char *what)
{
    int n = 0;
    for (const char *at = svg; (at = strstr(at, what)); at += strlen(what)) n++;
    return n;
}

static void expect(const char *svg, const char *what)
{
    CHECK_CASE(strstr(svg, what) != NULL, "%s is not in\n%s", what, svg);
}

/* --- lines ------------------------------------------------------------------------ */

static const char *const words[] = { "one", "two", "three", "four" };
static const double doubled[] = { 64.0, 128.0, 256.0 };

static s2_chart lines_of(const double *y)
{
    return (s2_chart){ .name = "budget",
                       .title = "Accuracy",
                       .caption = "by budget",
                       .across = "tokens",
                       .up = "%",
                       .n_panels = 1,
                       .panel = words,
                       .n_series = 1,
                       .series = words,
                       .n_points = 3,
                       .x = doubled,
                       .is_log = true,
                       .y = y };
}

/* A single panel of a page starts at x = 46 and y = 22 and is 230 high. Its name stands right of it: "one"
 * is 1.04 * 1.08 * (556 + 556 + 556) / 1000 * 9.4 = 17.6 wide and needs 25 more, so the axes end at
 * 619.8 and their middle is 332.9. The values 10, 20, 30 make an axis from 10 to 30. */
static void test_line(void **state)
{
    (void)state;
    static const double y[] = { 10.0, 20.0, 30.0 };
    s2_chart chart = lines_of(y);
    const char *svg = draw(s2_chart_lines, &chart);
    expect(svg, "L332.9 137.0L"); /* the middle of doublings is the middle */
    expect(svg, " 252.0L332.9");  /* the first is at the bottom, 22 + 230 */
    expect(svg, " 22.0\"/>");     /* the last at the top */
    assert_int_equal(count(svg, "class=\"mark s2 f2\""), 3 + 1); /* the last is next to the name */
    assert_int_equal(count(svg, ">one</text>"), 1);
    expect(svg, "width=\"6.9in\"");
    expect(svg, ">tokens</text>");
    expect(svg, "<title>Accuracy</title>");
    expect(svg, "<desc>by budget</desc>");
    for (size_t i = 0; i < 3; i++) {
        char tick[32];
        (void)snprintf(tick, sizeof tick, ">%g</text>", doubled[i]);
        expect(svg, tick);
    }
    chart.is_log = false; /* 64 to 256 on a plain scale: 128 is a third of the way */
    svg = draw(s2_chart_lines, &chart);
    const double share = (64.0 + 0.08 * 192.0) / (192.0 * 1.16); /* 8 % on either side */
    char at[32];
    (void)snprintf(at, sizeof at, "L%.1f 137.0L", 46.0 + 2.0 * (332.9 - 46.0) * share);
    expect(svg, at);
}

/* Methods have their own look by name or title, whatever their order; other words one by order. */
static void test_looks(void **state)
{
    (void)state;
    static const double y[] = { 10, 20, 30, 30, 20, 10 };
    static const char *const names[] = { "FastV", "s2prune" }, *const turned[] = { "s2prune",
                                                                                   "fastv" };
    s2_chart chart = lines_of(y);
    chart.n_series = 2;
    chart.series = names;
    const char *svg = draw(s2_chart_lines, &chart);
    assert_int_equal(count(svg, "class=\"line s2\" stroke-dasharray=\"none\""), 1);
    assert_int_equal(count(svg, "class=\"line s0 ours\" stroke-dasharray=\"none\""), 1);
    assert_true(strstr(svg, "line s0 ours") > strstr(svg, "line s2")); /* ours is drawn last */
    chart.series = turned;
    svg = draw(s2_chart_lines, &chart);
    assert_int_equal(count(svg, "class=\"line s2\" stroke-dasharray=\"none\""), 1);
    assert_int_equal(count(svg, "class=\"line s0 ours\" stroke-dasharray=\"none\""), 1);
    assert_true(strstr(svg, "line s0 ours") > strstr(svg, "line s2"));
}

/* What is not there is left out, and the line goes on behind it. */
static void test_holes(void **state)
{
    (void)state;
    const double y[] = { 10.0, (double)NAN, 30.0 };
    const s2_chart chart = lines_of(y);
    const char *svg = draw(s2_chart_lines, &chart);
    assert_int_equal(count(svg, "class=\"mark s2 f2\""), 2 + 1);
    assert_null(strstr(svg, "L332.9"));
    const double nothing[] = { (double)NAN, (double)NAN, (double)NAN };
    const s2_chart empty = lines_of(nothing);
    svg = draw(s2_chart_lines, &empty);
    assert_int_equal(count(svg, "class=\"mark s2 f2\""), 0); /* no line, no name at its end */
}

/* Intervals widen the axis; so does a level. */
static void test_intervals(void **state)
{
    (void)state;
    static const double y[] = { 40.0, 50.0, 60.0 }, low[] = { 20.0, 45.0, 55.0 },
                        high[] = { 45.0, 55.0, 80.0 }, level[] = { 95.0 };
    s2_chart chart = lines_of(y);
    chart.low = low;
    chart.high = high;
    const char *svg = draw(s2_chart_lines, &chart);
    assert_int_equal(count(svg, "class=\"range s2\""), 3);
    expect(svg, "L332.9 137.0L"); /* 20 to 80: 50 is the middle */
    assert_int_equal(count(svg, "class=\"level\""), 0);
    chart.level = level;
    chart.level_word = "all tokens";
    svg = draw(s2_chart_lines, &chart);
    assert_int_equal(count(svg, "class=\"level\""), 2); /* across, and in the legend */
    expect(svg, ">all tokens</text>");
    expect(svg, ">100</text>"); /* the axis reaches beyond the level */
}

/* Percent: no axis above 100, none shorter than ten points. */
static void test_percent(void **state)
{
    (void)state;
    static const double y[] = { 99.0, 99.5, 100.0 }, high[] = { 100.0, 101.0, 104.0 };
    s2_chart chart = lines_of(y);
    chart.is_percent = true;
    const char *svg = draw(s2_chart_lines, &chart);
    expect(svg, ">100</text>");
    expect(svg, ">90</text>");
    expect(svg, " 22.0\"/>"); /* 100 is the top */
    chart.low = y;
    chart.high = high;
    svg = draw(s2_chart_lines, &chart);
    assert_null(strstr(svg, ">102</text>"));
    assert_null(strstr(svg, ">105</text>"));
}

/* Three panels to a row of a page, two to a row of a column; one scale for all, and only the first of a
 * row has its numbers; the lowest of each column names the axis across. */
static void test_panels(void **state)
{
    (void)state;
    static const double y[] = { 10, 20, 30, 40, 50, 60, 10, 20, 30, 10, 20, 30 };
    s2_chart chart = lines_of(y);
    chart.n_panels = 4;
    const char *svg = draw(s2_chart_lines, &chart);
    for (size_t i = 0; i < 4; i++) {
        char title[32];
        (void)snprintf(title, sizeof title, ">%s</text>", words[i]);
        expect(svg, title);
    }
    assert_int_equal(count(svg, ">%</text>"), 2);
    assert_int_equal(count(svg, ">60</text>"), 2);     /* the scale of the second panel, twice */
    assert_int_equal(count(svg, ">tokens</text>"), 3); /* below the fourth, the second, the third */
    width = S2_PLOT_COLUMN;
    svg = draw(s2_chart_lines, &chart);
    expect(svg, "width=\"3.3in\"");
    assert_int_equal(count(svg, ">tokens</text>"), 2);
    width = 0.0;
    chart.has_own_scales = true; /* different units: each panel has its numbers */
    svg = draw(s2_chart_lines, &chart);
    assert_int_equal(count(svg, ">60</text>"), 1);
}

static void test_one_point(void **state)
{
    (void)state;
    static const double y[] = { 50.0 };
    s2_chart chart = lines_of(y);
    chart.n_points = 1;
    const char *svg = draw(s2_chart_lines, &chart);
    expect(svg, "d=\"M332.9 "); /* in the middle of its panel */
    chart.is_log = false;
    svg = draw(s2_chart_lines, &chart);
    expect(svg, "d=\"M332.9 ");
}

/* Nine lines do not fit one panel: each has its own, with the others behind it. Kinds of questions have
 * a figure for each point, on one scale. */
static void test_crowded(void **state)
{
    (void)state;
    static const char *const names[] = { "fastv", "dart",      "gprune", "visionzip", "vispruner",
                                         "holov", "gridprune", "random", "s2prune" };
    double y[2 * 9 * 3];
    for (size_t i = 0; i < sizeof y / sizeof *y; i++) y[i] = 10.0 + (double)i;
    s2_chart chart = lines_of(y);
    chart.n_series = 9;
    chart.series = names;
    const char *svg = draw(s2_chart_lines, &chart);
    assert_int_equal(count(svg, "class=\"line "), 9);
    assert_int_equal(count(svg, "class=\"back\""), 9 * 8);
    for (size_t i = 0; i < 9; i++) {
        char title[S2_TITLE_SIZE], text[S2_TITLE_SIZE + 16];
        (void)snprintf(text, sizeof text, ">%s</text>", s2_title_of(names[i], title));
        assert_int_equal(count(svg, text), 1);
    }
    chart.n_panels = 2;
    s2_study_free(&study);
    s2_chart_lines(&study, &chart);
    assert_int_equal(study.n, 1 + 3);
    assert_string_equal(study.item[1]->name, "budget_64");
    assert_string_equal(study.item[3]->name, "budget_256");
    for (int32_t i = 1; i < 4; i++) {
        s2_buffer_append(&study.item[i]->bytes, "", 1);
        svg = (const char *)study.item[i]->bytes.data;
        assert_int_equal(count(svg, ">60</text>"), 2); /* 10 to 63: both panels, all figures */
        assert_int_equal(count(svg, ">S\xC2\xB2Prune</text>"), 1);
    }
}

/* --- bars ------------------------------------------------------------------------- */

static s2_chart bars_of(const double *y, int32_t n_series, int32_t n_points)
{
    return (s2_chart){ .name = "bars",
                       .title = "a < b",
                       .caption = "\"quoted\" & more",
                       .up = "points",
                       .n_panels = 1,
                       .n_series = n_series,
                       .series = words,
                       .n_points = n_points,
                       .point = words,
                       .y = y };
}

/* Two groups of two: the plot is 608.4 wide from 46, a group 304.2. A bar is 0.41 of that; 0 to 40 over
 * 180 pixels from y = 12. */
static void test_bars(void **state)
{
    (void)state;
    static const double y[] = { 10.0, 20.0, 30.0, 40.0 };
    const s2_chart chart = bars_of(y, 2, 2);
    const char *svg = draw(s2_chart_bars, &chart);
    assert_int_equal(count(svg, "<rect class=\"f2\""), 2 + 1); /* and one of the legend */
    assert_int_equal(count(svg, "<rect class=\"f3\""), 2 + 1);
    const double bar_width = 0.41 * 304.2;
    char bar[160];
    (void)snprintf(bar, sizeof bar,
                   "<rect class=\"f2\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>",
                   46.0 + 152.1 - 0.41 * 304.2 + 0.04 * bar_width, 12.0 + 180.0 * 0.75,
                   0.92 * bar_width, 180.0 * 0.25);
    expect(svg, bar);
    (void)snprintf(bar, sizeof bar, "y=\"12.0\" width=\"%.1f\" height=\"180.0\"/>",
                   0.92 * bar_width);
    expect(svg, bar); /* the largest fills the panel */
    expect(svg, "<title>a &lt; b</title>");
    expect(svg, "&amp; more</desc>");
}

/* Two figures with one range have one axis, whatever their values. */
static void test_common_range(void **state)
{
    (void)state;
    static const double y[] = { 10.0, 20.0 }, other[] = { 3.0, 55.0 };
    s2_chart chart = bars_of(y, 1, 2), second = bars_of(other, 1, 2);
    double range[2] = { (double)NAN, (double)NAN };
    s2_chart_widen(&chart, range);
    s2_chart_widen(&second, range);
    assert_true(range[0] == 3.0 && range[1] == 55.0);
    assert_null(strstr(draw(s2_chart_bars, &chart), ">60</text>"));
    chart.range = range;
    expect(draw(s2_chart_bars, &chart), ">60</text>");
}

/* Bars begin at zero, below it too; what is not finite has none. */
static void test_bars_around_zero(void **state)
{
    (void)state;
    const double y[] = { -20.0, 20.0, (double)NAN, 10.0 };
    const s2_chart chart = bars_of(y, 1, 4);
    const char *svg = draw(s2_chart_bars, &chart);
    assert_int_equal(count(svg, "<rect class=\"f2\""), 3 + 1);
    const double middle = 12.0 + 90.0;
    char line[160];
    (void)snprintf(line, sizeof line, "<path class=\"axis\" d=\"M46.0 %.1fH", middle);
    expect(svg, line); /* zero is a line of its own */
    (void)snprintf(line, sizeof line, "y=\"%.1f\"", middle);
    expect(svg, line); /* the bar below it hangs from there */
    static const double below[] = { -5.0, -10.0 };
    const s2_chart negative = bars_of(below, 1, 2);
    svg = draw(s2_chart_bars, &negative);
    expect(svg, ">0</text>");
    assert_int_equal(count(svg, "y=\"12.0\""), 2); /* both hang from the top */
}

/* Seven bars a group are too many, and so are two of one colour: marks in a panel for each group. */
static void test_dots(void **state)
{
    (void)state;
    static const char *const same[] = { "fastv", "sparsevlm" };
    static const double y[] = { 1.0, 2.0, 3.0, 4.0 };
    s2_chart chart = bars_of(y, 2, 2);
    chart.series = same;
    const char *svg = draw(s2_chart_bars, &chart);
    assert_int_equal(count(svg, "class=\"mark s2 f2\""), 4);
    assert_int_equal(count(svg, "<rect class=\"f2\""), 0);
    assert_int_equal(count(svg, ">FastV</text>"), 1);
    assert_int_equal(count(svg, ">one</text>"), 1); /* the groups are the panels */
    expect(svg, ">points</text>");
}

/* Long names stand aslant and make the figure taller. */
static void test_long_names(void **state)
{
    (void)state;
    static const char *const names[] = { "a name that is much too long for its place beside others",
                                         "b", "c", "d" };
    static const double y[] = { 1.0, 2.0, 3.0, 4.0 };
    s2_chart chart = bars_of(y, 1, 4);
    const char *svg = draw(s2_chart_bars, &chart);
    assert_null(strstr(svg, "rotate(-40)"));
    double low_height = 0.0, high_height = 0.0;
    low_height = strtod(strstr(svg, "height=\"") + 8, NULL);
    chart.point = names;
    svg = draw(s2_chart_bars, &chart);
    assert_int_equal(count(svg, "rotate(-40)"), 4);
    high_height = strtod(strstr(svg, "height=\"") + 8, NULL);
    assert_true(high_height > low_height + 0.5); /* inches */
}

static int tear_down(void **state)
{
    (void)state;
    s2_study_free(&study);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_line),         cmocka_unit_test(test_looks),
        cmocka_unit_test(test_holes),        cmocka_unit_test(test_intervals),
        cmocka_unit_test(test_percent),      cmocka_unit_test(test_panels),
        cmocka_unit_test(test_one_point),    cmocka_unit_test(test_crowded),
        cmocka_unit_test(test_common_range), cmocka_unit_test(test_dots),
        cmocka_unit_test(test_bars),         cmocka_unit_test(test_bars_around_zero),
        cmocka_unit_test(test_long_names),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
