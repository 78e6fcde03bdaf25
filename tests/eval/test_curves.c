/* test_curves.c - accuracy by budget as a drawing: points, axes, legend, worked out by hand.
 *
 * Ten pictures with one question each. Five of ten right is 50 % with Wilson's interval 23.7 to 76.3,
 * so the axis goes from 20 to 80 over 226 pixels that end at y = 260: 50 % is y = 147. Across, the
 * smallest count is at x = 56 and the largest at x = 436 of the panel, on a scale of doublings.
 */
#include "check.h"
#include "failing_malloc.h"

#include "eval/report/documents.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 10, MOST = 12 };

static s2e_set set;
static float scores[MOST][SAMPLES];
static s2e_result made[MOST];
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
    for (int k = 0; k < SAMPLES; k++) scores[i][k] = k < n_right ? 1.0f : 0.0f;
    for (int p = 0; p < S2E_N_PROTOCOLS; p++) made[i].score[p] = scores[i];
}

static s2e_results results_of(int32_t n_tasks, int32_t n_columns)
{
    s2e_results results = { .n_tasks = n_tasks };
    for (int32_t t = 0; t < n_tasks; t++)
        results.task[t] = (s2e_task_results){
            .task = s2e_task_find("pope"), .set = &set, .result = made, .n_results = n_columns
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

/* Columns in any order: the line goes from few tokens to many. */
static void test_one_method(void **state)
{
    (void)state;
    column(0, "s2prune", 256, 5);
    column(1, "s2prune", 64, 5);
    column(2, "s2prune", 128, 5);
    const char *svg = draw(1, 3);
    expect(svg, "d=\"M56.0 147.0L246.0 147.0L436.0 147.0\"");
    assert_int_equal(count(svg, "<circle "), 3);
    expect(svg, "<title>s2prune, 64 tokens: 50.0 [23.7, 76.3]</title>");
    expect(svg, ">64</text>");
    expect(svg, ">128</text>");
    expect(svg, ">256</text>");
    for (int v = 20; v <= 80; v += 20) { /* sixty points: every twenty */
        char text[32];
        (void)snprintf(text, sizeof text, "text-anchor=\"end\">%d</text>", v);
        expect(svg, text);
    }
    assert_null(strstr(svg, "text-anchor=\"end\">30</text>"));
    assert_int_equal(count(svg, "class=\"f\""), 0); /* no column keeps every token */
    expect(svg, "viewBox=\"0 0 460 338\"");         /* a panel, a row of the legend, 20 */
}

/* More right is higher up; methods stand four pixels apart and have a colour each. */
static void test_two_methods(void **state)
{
    (void)state;
    column(0, "s2prune", 64, 5);
    column(1, "random", 64, 2);
    column(2, "s2prune", 128, 5);
    column(3, "random", 128, 2);
    column(4, "full", 0, 8);
    const char *svg = draw(1, 5);
    expect(svg,
           "#0072b2\"><path fill=\"none\" stroke-dasharray=\"\" stroke-width=\"2\" d=\"M54.0 ");
    expect(svg,
           "#d55e00\"><path fill=\"none\" stroke-dasharray=\"\" stroke-width=\"2\" d=\"M58.0 ");
    const char *first = strstr(svg, "d=\"M54.0 "), *second = strstr(svg, "d=\"M58.0 ");
    assert_true(strtod(first + 9, NULL) < strtod(second + 9, NULL));
    assert_int_equal(count(svg, "<g stroke="), 2); /* the one that keeps all is no curve */
    assert_int_equal(count(svg, "class=\"f\""), 1);
    expect(svg, ">all tokens</text>");
    assert_int_equal(count(svg, "class=\"n\">s2prune</text>"), 1); /* the legend */
    assert_int_equal(count(svg, "class=\"n\">random</text>"), 1);
    assert_int_equal(count(svg, "class=\"n\">full</text>"), 0);
}

/* All right: the interval ends at 100, and so does the axis; the top is y = 34. */
static void test_ends_of_the_axis(void **state)
{
    (void)state;
    column(0, "s2prune", 64, 10);
    const char *svg = draw(1, 1);
    expect(svg, "cy=\"34.0\"");
    expect(svg, "text-anchor=\"end\">100</text>");
    expect(svg, "d=\"M56.0 34.0\""); /* one budget alone */
    column(0, "s2prune", 64, 0);
    svg = draw(1, 1);
    expect(svg, "cy=\"260.0\"");
    expect(svg, "text-anchor=\"end\">0</text>");
}

/* Budgets whose numbers would touch are written once; the points are all there. */
static void test_close_budgets(void **state)
{
    (void)state;
    column(0, "s2prune", 64, 5);
    column(1, "s2prune", 65, 5);
    column(2, "s2prune", 512, 5);
    const char *svg = draw(1, 3);
    assert_int_equal(count(svg, "<circle "), 3);
    expect(svg, ">64</text>");
    assert_int_equal(count(svg, ">65</text>"), 0);
    expect(svg, ">512</text>");
}

/* After eight colours the same ones come back dashed; the legend has a new row. */
static void test_many_methods(void **state)
{
    (void)state;
    for (int i = 0; i < 9; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "m%d", i);
        column(i, name, 64, 5);
    }
    const char *svg = draw(1, 9);
    assert_int_equal(count(svg, "<g stroke="), 9);
    assert_int_equal(count(svg, "<g stroke=\"#0072b2\""), 2);
    assert_int_equal(count(svg, "stroke-dasharray=\"6 3\""), 2); /* the curve and its legend */
    expect(svg, "viewBox=\"0 0 460 374\""); /* three rows of three: (460 - 46) / 130 */
}

/* Tasks stand two by two. */
static void test_panels(void **state)
{
    (void)state;
    column(0, "s2prune", 64, 5);
    column(1, "s2prune", 128, 5);
    const char *svg = draw(3, 2);
    expect(svg, "d=\"M56.0 147.0L436.0 147.0\"");
    expect(svg, "d=\"M516.0 147.0L896.0 147.0\"");
    expect(svg, "d=\"M56.0 447.0L436.0 447.0\"");
    assert_int_equal(count(svg, "class=\"t\""), 3);
    assert_int_equal(count(svg, "visual tokens kept</text>"), 3);
    expect(svg, "viewBox=\"0 0 920 638\"");
}

/* Nothing pruned, and nothing at all: an empty drawing, still a whole document. */
static void test_nothing(void **state)
{
    (void)state;
    column(0, "full", 0, 5);
    const char *svg = draw(1, 1);
    assert_int_equal(count(svg, "<circle "), 0);
    assert_int_equal(count(svg, "class=\"t\""), 0);
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
    };
    return cmocka_run_group_tests(tests, make_set, free_set);
}
