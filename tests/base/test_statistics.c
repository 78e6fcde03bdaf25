/* test_statistics.c - every answer of NumPy and SciPy in tests/data/statistics, and what is not
 * defined.
 */
#include "base/file.h"
#include "base/statistics.h"
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_VALUES 100

static double x[MAX_VALUES], y[MAX_VALUES];
static size_t n_values, n_checked;

static void check_near(const char *what, double got, double expected, double tolerance)
{
    CHECK_CASE(fabs(got - expected) <= tolerance * (1.0 + fabs(expected)), "%s: %.17g, not %.17g",
               what, got, expected);
    n_checked++;
}

static size_t read_numbers(const char *text, double *out)
{
    size_t n = 0;
    for (char *end; n < MAX_VALUES; n++, text = end) {
        const double value = strtod(text, &end);
        if (end == text) break;
        out[n] = value;
    }
    return n;
}

static void check_bootstrap(const char *name, const double *a)
{
    double value[MAX_VALUES], weight[MAX_VALUES];
    const int is_weighted = strcmp(name, "weighted") == 0;
    const int is_difference = strcmp(name, "difference") == 0;
    s2_interval got;
    for (size_t i = 0; i < n_values; i++) {
        weight[i] = (double)(i % 5 + 1);
        value[i] = is_weighted ? x[i] * weight[i] : is_difference ? x[i] - y[i] : x[i];
    }
    const uint64_t seed = is_weighted ? 11 : is_difference ? 1 : 7;
    assert_int_equal(
        s2_bootstrap(value, is_weighted ? weight : NULL, n_values, 500, seed, a[0], &got), S2P_OK);
    check_near(name, got.low, a[1], 1e-12);
    check_near(name, got.high, a[2], 1e-12);
}

static void check_quantiles(const double *a)
{
    static const double q[] = { 0.0, 0.025, 0.25, 0.5, 0.75, 0.975, 1.0 };
    double sorted[MAX_VALUES];
    memcpy(sorted, x, sizeof sorted);
    s2_sort_numbers(sorted, n_values);
    for (size_t i = 0; i < COUNT_OF(q); i++)
        check_near("quantile", s2_quantile(sorted, n_values, q[i]), a[i], 1e-12);
}

/* A line of the file: a name and the numbers a. */
static void check_line(const char *name, const double *a)
{
    double rank[MAX_VALUES], rho;
    s2_test test;
    if (strcmp(name, "mean") == 0) {
        check_near(name, s2_mean(x, n_values), a[0], 1e-12);
    } else if (strcmp(name, "deviation") == 0) {
        check_near(name, s2_deviation(x, n_values), a[0], 1e-12);
    } else if (strcmp(name, "quantiles") == 0) {
        check_quantiles(a);
    } else if (strcmp(name, "ranks") == 0) {
        assert_int_equal(s2_ranks(x, n_values, rank), S2P_OK);
        for (size_t i = 0; i < n_values; i++) check_near(name, rank[i], a[i], 0.0);
    } else if (strcmp(name, "pearson") == 0) {
        check_near(name, s2_pearson(x, y, n_values), a[0], 1e-12);
    } else if (strcmp(name, "spearman") == 0) {
        assert_int_equal(s2_spearman(x, y, n_values, &rho), S2P_OK);
        check_near(name, rho, a[0], 1e-12);
    } else if (strcmp(name, "t") == 0) {
        test = s2_paired_t(x, y, n_values);
        check_near(name, test.statistic, a[0], 1e-10);
        check_near(name, test.p, a[1], 1e-10);
    } else if (strcmp(name, "wilcoxon") == 0) {
        assert_int_equal(s2_wilcoxon(x, y, n_values, &test), S2P_OK);
        check_near(name, test.statistic, a[0], 1e-12);
        check_near(name, test.p, a[1], 1e-10);
    } else if (strcmp(name, "wilson") == 0) {
        const s2_interval got = s2_wilson(a[0], a[1], a[2]);
        check_near(name, got.low, a[3], 1e-10);
        check_near(name, got.high, a[4], 1e-10);
    } else {
        check_bootstrap(name, a);
    }
}

static void test_vectors(void **state)
{
    (void)state;
    s2_buffer text;
    s2_buffer_init(&text, 1 << 20);
    assert_int_equal(s2_file_read(S2_TEST_DATA "/statistics/vectors.txt", &text, NULL), S2P_OK);
    s2_buffer_append(&text, "", 1);
    char name[32];
    for (char *line = (char *)text.data; *line;) {
        char *end = strchr(line, '\n');
        double a[MAX_VALUES] = { 0 };
        if (end) *end = '\0';
        const size_t length = strcspn(line, " ");
        (void)snprintf(name, sizeof name, "%.*s", (int)length, line);
        const size_t n = read_numbers(line + length, a);
        if (strcmp(name, "x") == 0 || strcmp(name, "y") == 0) {
            n_values = n;
            memcpy(name[0] == 'x' ? x : y, a, sizeof a);
        } else if (strcmp(name, "#") != 0 && strcmp(name, "pair") != 0) {
            check_line(name, a);
        }
        line = end ? end + 1 : line + strlen(line);
    }
    s2_buffer_free(&text);
    assert_true(n_checked > 300);
}

static void test_undefined(void **state)
{
    (void)state;
    const double flat[3] = { 2.0, 2.0, 2.0 }, rising[3] = { 1.0, 2.0, 3.0 };
    double rho = 0.0;
    s2_test test;
    s2_interval interval;
    assert_true(isnan(s2_mean(flat, 0)));
    assert_true(isnan(s2_deviation(flat, 1)));
    assert_true(isnan(s2_pearson(flat, rising, 3)));
    assert_int_equal(s2_spearman(flat, rising, 3, &rho), S2P_OK);
    assert_true(isnan(rho));
    assert_true(isnan(s2_paired_t(rising, rising, 3).p));
    assert_int_equal(s2_wilcoxon(rising, rising, 3, &test), S2P_OK);
    assert_true(isnan(test.p));
    assert_true(isnan(s2_wilson(0.0, 0.0, 0.95).low));
    assert_int_equal(s2_bootstrap(flat, NULL, 0, 10, 1, 0.95, &interval), S2P_EINVAL);
    assert_int_equal(s2_bootstrap(flat, NULL, 3, 0, 1, 0.95, &interval), S2P_EINVAL);
    assert_int_equal(s2_bootstrap(flat, NULL, 3, 10, 1, 0.95, &interval), S2P_OK);
    assert_true(interval.low == 2.0 && interval.high == 2.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_undefined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
