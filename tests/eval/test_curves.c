/* test_curves.c - accuracy by budget as a drawing: points, axes, legend, worked out by hand.
 *
 * Ten pictures with one question each. Five of ten right is 50 % with Wilson's interval 23.7 to 76.3.
 */
#include "check.h"
#include "failing_malloc.h"

#include "eval/report/documents.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 10, MOST = 12 };

static s2e_set set;
static float scores[MOST][SAMPLES];
static s2e_result made[MOST];
static s2e_figure headline[MOST]; /* of every column */
static double counts[MOST][3 * SAMPLES];
static const char *task_name = "textvqa"; /* its number is the mean of the scores */
static s2_buffer svg_bytes;

static int make_set(void **state)
{
    (void)state;
    const char *answer = "yes", *category = "random";
    s2_buffer_init(&svg_bytes, 1 << 20);
    if (s2e_set_start(&set, "/", NULL) != S2P_OK) return -1;
    for (int i = 0; i < SAMPLES; i++) {
        char name[16];
        int32_t number;
        (void)snprintf(name, sizeof name, "%d.jpg", i);
        const s2e_picture seen = { .file = name, .heterogeneity = -1.0 };
        const s2e_sample draft = { .id = name,
                                   .question = "?",
                                   .hint = "",
                                   .answer = &answer,
                                   .n_answers = 1,
                                   .category = &category,
                                   .n_categories = 1,
                                   .group = name,
                                   .picture = &number,
                                   .n_pictures = 1 };
        if (s2e_set_add_picture(&set, name, &seen, &number, NULL) != S2P_OK) return -1;
        if (s2e_set_category(&set, category) < 0) return -1;
        if (s2e_set_add(&set, &draft, NULL, NULL) != S2P_OK) return -1;
    }
    return s2e_set_finish(&set, NULL) == S2P_OK ? 0 : -1;
}

static int free_set(void **state)
{
    (void)state;
    s2_buffer_free(&svg_bytes);
    s2e_set_free(&set);
    return 0;
}

/* Column `i`: a method that kept `tokens` (0: all of them) and had `n_right` of ten right. */
static void column(int i, const char *method, int32_t tokens, int n_right)
{
    made[i] =
        (s2e_result){ .budget = { .tokens = tokens }, .image_tokens = tokens > 0 ? tokens : 576 };
    (void)snprintf(made[i].column.method, sizeof made[i].column.method, "%s", method);
    (void)snprintf(made[i].column.label, sizeof made[i].column.label, "%s", method);
    for (int k = 0; k < SAMPLES; k++) scores[i][k] = k < n_right ? 1.0f : 0.0f;
    headline[i] = (s2e_figure){ .name = "accuracy",
                                .section = "",
                                .value = 100.0 * n_right / SAMPLES,
                                .best = 100.0,
                                .headline = true };
    for (int p = 0; p < S2E_N_PROTOCOLS; p++) {
        made[i].score[p] = scores[i];
        made[i].figures[p] = (s2e_figures){ .figure = &headline[i], .n = 1 };
    }
}

static s2e_results results_of(int32_t n_tasks, int32_t n_columns)
{
    s2e_results results = { .n_tasks = n_tasks };
    for (int32_t t = 0; t < n_tasks; t++)
        results.task[t] = (s2e_task_results){
            .task = s2e_task_find(task_name), .set = &set, .result = made, .n_results = n_columns
        };
    return results;
}

static const char *draw(int32_t n_tasks, int32_t n_columns)
{
    const s2e_results results = results_of(n_tasks, n_columns);
    s2p_error error = { S2P_OK, "" };
    svg_bytes.size = 0;
    assert_int_equal(s2e_curves_write(&results, &svg_bytes, &error), S2P_OK);
    s2_buffer_append(&svg_bytes, "", 1);
    const char *svg = (const char *)svg_bytes.data;
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

/* Columns in any order: the line goes from few tokens to many. 23.7 to 76.3 make an axis from 20 to 80
 * over 230 pixels from y = 22, where 50 is the middle. */
static void test_one_method(void **state)
{
    (void)state;
    column(0, "s2prune", 256, 5);
    column(1, "s2prune", 64, 5);
    column(2, "s2prune", 128, 5);
    const char *svg = draw(1, 3);
    const char *line = strstr(svg, "class=\"line s0 ours\"");
    assert_non_null(line);
    double x[3];
    assert_int_equal(
        sscanf(strstr(line, "d=\"M"), "d=\"M%lf 137.0L%lf 137.0L%lf 137.0\"", &x[0], &x[1], &x[2]),
        3);
    assert_true(x[0] < x[1] && fabs(x[1] - x[0] - (x[2] - x[1])) < 0.11); /* doublings */
    assert_int_equal(count(svg, "<g><title>"), 3);
    expect(svg, "<title>S\xC2\xB2Prune, 64: 50.0 [23.7, 76.3]</title>");
    expect(svg, ">64</text>");
    expect(svg, ">128</text>");
    expect(svg, ">256</text>");
    for (int v = 20; v <= 80; v += 10) {
        char text[48];
        (void)snprintf(text, sizeof text, "text-anchor=\"end\" class=\"small\">%d</text>", v);
        expect(svg, text);
    }
    assert_int_equal(count(svg, "class=\"level\""), 0); /* no column keeps every token */
    expect(svg, "width=\"6.9in\"");
    expect(svg, "prefers-color-scheme:dark");
    expect(svg, "class=\"paper\""); /* a background of its own */
}

/* More right is higher up; methods have their titles and looks. */
static void test_two_methods(void **state)
{
    (void)state;
    column(0, "s2prune", 64, 5);
    column(1, "random", 64, 2);
    column(2, "s2prune", 128, 5);
    column(3, "random", 128, 2);
    column(4, "full", 0, 8);
    const char *svg = draw(1, 5);
    const char *first = strstr(svg, "class=\"line s0 ours\" stroke-dasharray=\"none\" d=\"M");
    const char *second = strstr(svg, "class=\"line s1\" stroke-dasharray=\"2 2\" d=\"M");
    assert_non_null(first);
    assert_non_null(second);
    double x, ours, other;
    assert_int_equal(sscanf(strstr(first, "d=\"M"), "d=\"M%lf %lf", &x, &ours), 2);
    assert_int_equal(sscanf(strstr(second, "d=\"M"), "d=\"M%lf %lf", &x, &other), 2);
    assert_true(ours < other);
    assert_int_equal(count(svg, "class=\"line "), 2);   /* the one that keeps all is no curve */
    assert_int_equal(count(svg, "class=\"level\""), 2); /* its level, and the legend's */
    expect(svg, ">all tokens</text>");
    assert_int_equal(count(svg, ">S\xC2\xB2Prune</text>"), 1);
    assert_int_equal(count(svg, ">Random</text>"), 1);
    assert_int_equal(count(svg, ">full</text>"), 0);
}

/* All right: the interval ends at 100, and so does the axis. */
static void test_ends_of_the_axis(void **state)
{
    (void)state;
    column(0, "s2prune", 64, 10);
    const char *svg = draw(1, 1);
    expect(svg, "class=\"small\">100</text>");
    expect(svg, " 22.0\"/>"); /* one budget alone, at the top */
    column(0, "s2prune", 64, 0);
    svg = draw(1, 1);
    expect(svg, " 252.0\"/>");
    expect(svg, "class=\"small\">0</text>");
}

/* Budgets whose numbers would touch are written once; the points are all there. */
static void test_close_budgets(void **state)
{
    (void)state;
    column(0, "s2prune", 64, 5);
    column(1, "s2prune", 65, 5);
    column(2, "s2prune", 512, 5);
    const char *svg = draw(1, 3);
    assert_int_equal(count(svg, "<g><title>"), 3);
    expect(svg, ">64</text>");
    assert_int_equal(count(svg, ">65</text>"), 0);
    expect(svg, ">512</text>");
}

/* Nine methods have a panel each; in a page, a figure for each benchmark. */
static void test_many_methods(void **state)
{
    (void)state;
    for (int i = 0; i < 9; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "m%d", i);
        column(i, name, 64, 5);
    }
    const char *svg = draw(2, 9);
    assert_int_equal(count(svg, "class=\"line "), 2 * 9);
    assert_int_equal(count(svg, ">m3</text>"), 2);
    assert_int_equal(count(svg, "<svg "), 1);
    const s2e_results results = results_of(2, 9);
    s2p_error error = { S2P_OK, "" };
    svg_bytes.size = 0;
    assert_int_equal(s2e_curves_page(&results, &svg_bytes, &error), S2P_OK);
    s2_buffer_append(&svg_bytes, "", 1);
    svg = (const char *)svg_bytes.data;
    assert_int_equal(count(svg, "<figure>\n<svg "), 2);
    assert_int_equal(count(svg, "</svg>\n</figure>"), 2);
}

/* A panel for each task, each with its own scale and name. */
static void test_panels(void **state)
{
    (void)state;
    column(0, "s2prune", 64, 5);
    column(1, "s2prune", 128, 5);
    const char *svg = draw(3, 2);
    assert_int_equal(count(svg, "class=\"line s0 ours\""), 3 + 1); /* and the legend */
    assert_int_equal(count(svg, ">TextVQA: accuracy (%)</text>"), 3);
    assert_int_equal(count(svg, ">80</text>"), 3);
    assert_int_equal(count(svg, "visual tokens kept</text>"), 3);
}

/* POPE's number is F1, computed from counts (true yes, false yes, false no): 4 of 10 samples found, 2
 * missed, 4 rightly denied are 8 of 10 right, and 2 * 4 / (2 * 4 + 2) = 80 % F1; all "yes" on ten
 * samples of which five are, F1 = 2 * 5 / (2 * 5 + 5) = 66.7 %, with half of the answers right. */
static void test_own_metric(void **state)
{
    (void)state;
    column(0, "s2prune", 64, 5);
    column(1, "s2prune", 128, 8);
    for (int k = 0; k < SAMPLES; k++) {
        counts[0][3 * k] = k < 5;
        counts[0][3 * k + 1] = k >= 5;
        counts[1][3 * k] = k < 4;
        counts[1][3 * k + 2] = k == 4 || k == 5;
    }
    for (int i = 0; i < 2; i++) {
        headline[i].name = "F1";
        made[i].column.n_seeds = 1;
        made[i].counts = counts[i];
    }
    task_name = "pope";
    const char *svg = draw(1, 2);
    task_name = "textvqa";
    expect(svg, "POPE: F1 (%)</text>");
    expect(svg, "Prune, 64: 66.7 [");
    expect(svg, "Prune, 128: 80.0 [");
}

/* A number that is not a percentage has an axis of its own. */
static void test_other_units(void **state)
{
    (void)state;
    column(0, "s2prune", 64, 5);
    headline[0] = (s2e_figure){
        .name = "score", .section = "", .value = 500.0, .best = 1000.0, .headline = true
    };
    const char *svg = draw(1, 1);
    expect(svg, ": score (of 1000)</text>");
    expect(svg, "Prune, 64: 500.0 [236.");
    expect(svg, "text-anchor=\"end\" class=\"small\">800</text>");
}

/* Nothing pruned, and nothing at all: an empty drawing, still a whole document. */
static void test_nothing(void **state)
{
    (void)state;
    column(0, "full", 0, 5);
    const char *svg = draw(1, 1);
    assert_int_equal(count(svg, "<path "), 0);
    expect(svg, "Nothing was pruned");
    svg = draw(0, 0);
    assert_int_equal(count(svg, "<path "), 0);
}

static void test_refusals(void **state)
{
    (void)state;
    column(0, "s2prune", 64, 5);
    const s2e_results results = results_of(1, 1);
    s2p_error error = { S2P_OK, "" };
    s2_buffer small;
    s2_buffer_init(&small, 200); /* no room for the drawing */
    assert_int_equal(s2e_curves_write(&results, &small, &error), S2P_ELIMIT);
    s2_buffer_free(&small);
    s2p_status st = S2P_ENOMEM;
    int n_failed = 0;
    for (int n = 0; st == S2P_ENOMEM; n++) {
        s2_buffer out;
        s2_buffer_init(&out, 1 << 20);
        allocations_left = n;
        st = s2e_curves_write(&results, &out, &error);
        allocations_left = -1;
        n_failed += st == S2P_ENOMEM;
        s2_buffer_free(&out);
    }
    assert_int_equal(st, S2P_OK);
    assert_true(n_failed >= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_method),       cmocka_unit_test(test_two_methods),
        cmocka_unit_test(test_ends_of_the_axis), cmocka_unit_test(test_close_budgets),
        cmocka_unit_test(test_many_methods),     cmocka_unit_test(test_panels),
        cmocka_unit_test(test_nothing),          cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_own_metric),       cmocka_unit_test(test_other_units),
    };
    return cmocka_run_group_tests(tests, make_set, free_set);
}
