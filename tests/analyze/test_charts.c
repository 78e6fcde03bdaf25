/* test_charts.c - whole figures: what is drawn where, worked out by hand. */
#include "analyze/charts.h"
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static s2_study study;

typedef void (*chart_function)(s2_study *study, const s2_chart *chart);

/* The SVG of a chart; lives until the next one. */
static const char *draw(chart_function function, const s2_chart *chart)
{
    s2_study_free(&study);
    study = (s2_study){ .n = 0 };
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

/* One panel is 520 wide at 66: the middle of doublings is its middle, 326. The values 10, 20, 30 make
 * an axis from 10 to 30 over 280 pixels from y = 30. */
static void test_line(void **state)
{
    (void)state;
    static const double y[] = { 10.0, 20.0, 30.0 };
    s2_chart chart = lines_of(y);
    const char *svg = draw(s2_chart_lines, &chart);
    expect(svg, "L326.0 170.0L"); /* the middle */
    expect(svg, " 310.0L326.0");  /* the first is at the bottom, 30 + 280 */
    expect(svg, " 30.0\"/>");     /* the last at the top */
    assert_int_equal(count(svg, "class=\"mark s0 f0\""), 3 + 1); /* the last is the legend's */
    assert_int_equal(count(svg, "class=\"title\""), 0);          /* one panel has no title */
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
    const double share = (128.0 - 64.0 + 9.6) / (192.0 + 2 * 9.6); /* 5 % on either side */
    char at[32];
    (void)snprintf(at, sizeof at, "L%.1f 170.0L", 66.0 + 520.0 * share);
    expect(svg, at);
}

/* Two series at one place stand four pixels apart, each with its own colour. */
static void test_series(void **state)
{
    (void)state;
    static const double y[] = { 10.0, 20.0, 30.0, 30.0, 20.0, 10.0 };
    s2_chart chart = lines_of(y);
    chart.n_series = 2;
    const char *svg = draw(s2_chart_lines, &chart);
    expect(svg, "L324.0 170.0L");
    expect(svg, "L328.0 170.0L");
    assert_int_equal(count(svg, "class=\"mark s1 f1\""), 3 + 1);
    expect(svg, ">one</text>");
    expect(svg, ">two</text>");
}

/* What is not there is left out, and the line goes on behind it. */
static void test_holes(void **state)
{
    (void)state;
    const double y[] = { 10.0, (double)NAN, 30.0 };
    const s2_chart chart = lines_of(y);
    const char *svg = draw(s2_chart_lines, &chart);
    assert_int_equal(count(svg, "class=\"mark s0 f0\""), 2 + 1);
    assert_null(strstr(svg, "L326.0"));
    const double nothing[] = { (double)NAN, (double)NAN, (double)NAN };
    const s2_chart empty = lines_of(nothing);
    svg = draw(s2_chart_lines, &empty);
    assert_int_equal(count(svg, "class=\"mark s0 f0\""), 1); /* the legend's alone */
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
    assert_int_equal(count(svg, "class=\"s0\" fill=\"none\""), 3);
    expect(svg, "L326.0 170.0L"); /* 20 to 80: 50 is the middle */
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
    expect(svg, " 30.0\"/>"); /* 100 is the top */
    chart.low = y;
    chart.high = high;
    svg = draw(s2_chart_lines, &chart);
    assert_null(strstr(svg, ">102</text>"));
    assert_null(strstr(svg, ">105</text>"));
}

/* Three panels to a row. Only the first of a row names the axis up; the lowest of each column names
 * the axis across. */
static void test_panels(void **state)
{
    (void)state;
    static const double y[] = { 10, 20, 30, 10, 20, 30, 10, 20, 30, 10, 20, 30 };
    s2_chart chart = lines_of(y);
    chart.n_panels = 4;
    const char *svg = draw(s2_chart_lines, &chart);
    assert_int_equal(count(svg, "class=\"title\""), 4);
    for (size_t i = 0; i < 4; i++) {
        char title[32];
        (void)snprintf(title, sizeof title, ">%s</text>", words[i]);
        expect(svg, title);
    }
    assert_int_equal(count(svg, ">%</text>"), 2);
    assert_int_equal(count(svg, ">tokens</text>"), 3); /* below the fourth, the second, the third */
    expect(svg, "width=\"924\"");                      /* 24 + 3 * (230 + 70) */
}

static void test_one_point(void **state)
{
    (void)state;
    static const double y[] = { 50.0 };
    s2_chart chart = lines_of(y);
    chart.n_points = 1;
    const char *svg = draw(s2_chart_lines, &chart);
    expect(svg, "d=\"M326.0 "); /* in the middle of its panel */
    chart.is_log = false;
    svg = draw(s2_chart_lines, &chart);
    expect(svg, "d=\"M326.0 ");
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

/* Two groups of two: 420 wide, the plot 330 from 68, a group 165. A bar is 0.41 of that; 0 to 40 over
 * 230 pixels from y = 24. */
static void test_bars(void **state)
{
    (void)state;
    static const double y[] = { 10.0, 20.0, 30.0, 40.0 };
    const s2_chart chart = bars_of(y, 2, 2);
    const char *svg = draw(s2_chart_bars, &chart);
    assert_int_equal(count(svg, "<rect class=\"f0\""), 2 + 1); /* and one of the legend */
    assert_int_equal(count(svg, "<rect class=\"f1\""), 2 + 1);
    const double width = 0.41 * 165.0;
    char bar[160];
    (void)snprintf(bar, sizeof bar,
                   "<rect class=\"f0\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>",
                   68.0 + 82.5 - 0.41 * 165.0 + 0.04 * width, 24.0 + 230.0 * 0.75, 0.92 * width,
                   230.0 * 0.25);
    expect(svg, bar);
    (void)snprintf(bar, sizeof bar, "y=\"24.0\" width=\"%.1f\" height=\"230.0\"/>", 0.92 * width);
    expect(svg, bar); /* the largest fills the panel */
    expect(svg, "<title>a &lt; b</title>");
    expect(svg, "&amp; more</desc>");
}

/* Bars begin at zero, below it too; what is not finite has none. */
static void test_bars_around_zero(void **state)
{
    (void)state;
    const double y[] = { -20.0, 20.0, (double)NAN, 10.0 };
    const s2_chart chart = bars_of(y, 1, 4);
    const char *svg = draw(s2_chart_bars, &chart);
    assert_int_equal(count(svg, "<rect class=\"f0\""), 3 + 1);
    const double middle = 24.0 + 115.0;
    char line[160];
    (void)snprintf(line, sizeof line, "<line class=\"axis\" x1=\"68.0\" y1=\"%.1f\" x2=", middle);
    expect(svg, line); /* zero is a line of its own */
    (void)snprintf(line, sizeof line, "y=\"%.1f\"", middle);
    expect(svg, line); /* the bar below it hangs from there */
    static const double below[] = { -5.0, -10.0 };
    const s2_chart negative = bars_of(below, 1, 2);
    svg = draw(s2_chart_bars, &negative);
    expect(svg, ">0</text>");
    assert_int_equal(count(svg, "y=\"24.0\""), 2); /* both hang from the top */
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
    assert_true(high_height > low_height + 50.0);
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
        cmocka_unit_test(test_line),
        cmocka_unit_test(test_series),
        cmocka_unit_test(test_holes),
        cmocka_unit_test(test_intervals),
        cmocka_unit_test(test_percent),
        cmocka_unit_test(test_panels),
        cmocka_unit_test(test_one_point),
        cmocka_unit_test(test_bars),
        cmocka_unit_test(test_bars_around_zero),
        cmocka_unit_test(test_long_names),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
