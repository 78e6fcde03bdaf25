/* test_permutation.c - sign flips, Holm's correction, standard errors and smallest differences against
 * tests/data/statistics/make_permutations.py, and worked cases.
 */
#include "base/file.h"
#include "base/permutation.h"
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_VALUES 128

static double given[MAX_VALUES];
static size_t n_given, n_checked;

static void check_near(const char *what, double got, double expected)
{
    CHECK_CASE(fabs(got - expected) <= 1e-12 * (1.0 + fabs(expected)), "%s: %.17g, not %.17g", what,
               got, expected);
    n_checked++;
}

static void check_line(const char *name, const double *a, size_t n)
{
    s2_test test;
    double out[MAX_VALUES];
    if (strcmp(name, "p") == 0) {
        assert_int_equal(s2_sign_flips(given, n_given, &test), S2P_OK);
        check_near(name, test.p, a[0]);
    } else if (strcmp(name, "scipy") == 0) { /* every pattern, or as many others as it drew */
        size_t n_differ = 0;
        for (size_t i = 0; i < n_given; i++) n_differ += given[i] != 0.0;
        assert_int_equal(s2_sign_flips(given, n_given, &test), S2P_OK);
        const double chance = 4.0 * sqrt(a[0] * (1.0 - a[0]) / S2_SWAP_ROUNDS) + 2e-4;
        CHECK_CASE(fabs(test.p - a[0]) <= (n_differ <= S2_EXACT_SWAPS ? 1e-12 : chance),
                   "%.6f, SciPy %.6f", test.p, a[0]);
        n_checked++;
    } else if (strcmp(name, "adjusted") == 0) {
        assert_int_equal(s2_holm(given, n_given, out), S2P_OK);
        assert_int_equal(n, n_given);
        for (size_t i = 0; i < n; i++) check_near(name, out[i], a[i]);
    } else if (strcmp(name, "is") == 0) {
        check_near(name, s2_ratio_error(given, given + n_given / 2, n_given / 2), a[0]);
    } else if (strcmp(name, "smallest") == 0) {
        check_near(name, s2_smallest_difference(a[0] / sqrt(a[1]), 0.95, 0.8), a[2]);
        assert_true(a[3] > 0.77 && a[3] < 0.83); /* the power it was found to have */
    } else {
        memcpy(given, a, sizeof given);
        n_given = n;
    }
}

static void test_vectors(void **state)
{
    (void)state;
    s2_buffer text;
    s2_buffer_init(&text, 1 << 20);
    assert_int_equal(s2_file_read(S2_TEST_DATA "/statistics/permutations.txt", &text, NULL),
                     S2P_OK);
    s2_buffer_append(&text, "", 1);
    char *rest = NULL;
    for (char *line = strtok_r((char *)text.data, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        double a[MAX_VALUES] = { 0 };
        char *at = line + strcspn(line, " "), *end;
        size_t n = 0;
        if (*at) *at++ = '\0';
        for (; n < MAX_VALUES; n++, at = end) {
            a[n] = strtod(at, &end);
            if (end == at) break;
        }
        check_line(line, a, n);
    }
    s2_buffer_free(&text);
    assert_int_equal(n_checked, 14 + 12 + 4 + 1 + 3 + 4 + 40 + 3 + 3);
}

/* Six pictures, five won and one lost: of 64 patterns those with six, five, one and no plus. */
static void test_by_hand(void **state)
{
    (void)state;
    const double d[] = { 1, 1, -1, 1, 1, 1 };
    s2_test test;
    assert_int_equal(s2_sign_flips(d, 6, &test), S2P_OK);
    assert_true(test.p == 14.0 / 64.0 && test.statistic == 4.0 / 6.0);
    const double none[] = { 0, 0, 0 };
    assert_int_equal(s2_sign_flips(none, 3, &test), S2P_OK);
    assert_true(test.p == 1.0 && test.statistic == 0.0);
    assert_int_equal(s2_sign_flips(none, 0, &test), S2P_OK);
    assert_true(test.p == 1.0 && isnan(test.statistic));
}

/* The same pictures in another order, and seen from the other side, are as surprising. */
static void test_symmetry(void **state)
{
    (void)state;
    double d[15], back[15], minus[15];
    s2_test a, b, c;
    for (size_t i = 0; i < COUNT_OF(d); i++) {
        d[i] = sin(3.0 * (double)i + 1.0) + 0.2;
        back[COUNT_OF(d) - 1 - i] = d[i];
        minus[i] = -d[i];
    }
    assert_int_equal(s2_sign_flips(d, COUNT_OF(d), &a), S2P_OK);
    assert_int_equal(s2_sign_flips(back, COUNT_OF(d), &b), S2P_OK);
    assert_int_equal(s2_sign_flips(minus, COUNT_OF(d), &c), S2P_OK);
    assert_true(a.p == b.p && a.p == c.p && a.statistic == -c.statistic);
}

/* Thirds in single precision: three of them won and one question lost is a tie, and a picture that
 * is right in every run of both is no unit. */
static void test_rounding(void **state)
{
    (void)state;
    const double third = (double)(1.0f / 3.0f);
    double d[24] = { third, third, third, -1.0, 1.0, 1.0 };
    for (size_t i = 6; i < COUNT_OF(d); i++)
        d[i] = 1.0 - (double)(1.0f / 3.0f + 1.0f / 3.0f + 1.0f / 3.0f) + 1e-8;
    s2_test test;
    assert_int_equal(s2_sign_flips(d, COUNT_OF(d), &test), S2P_OK);
    /* Sums of the three ones are 3, 1, 1, 1 and their opposites, each with thirds that sum to 1, 1/3
     * three times, and their opposites; 2 is seen. Of 64 patterns: 3 - 1 or more, all eight with the
     * sign of the ones, twice; 1 + 1, three times, twice. */
    assert_true(fabs(test.p - (16.0 + 6.0) / 64.0) < 1e-12);
}

/* However clear, p is not 0: nobody looked at every pattern. */
static void test_never_zero(void **state)
{
    (void)state;
    double d[500];
    for (size_t i = 0; i < COUNT_OF(d); i++) d[i] = 1.0;
    s2_test test;
    assert_int_equal(s2_sign_flips(d, COUNT_OF(d), &test), S2P_OK);
    assert_true(test.p == 1.0 / (1.0 + S2_SWAP_ROUNDS));
}

/* Holm, Scandinavian Journal of Statistics 1979: .005 x 4, .01 x 3, .03 x 2, and .04 not below it. */
static void test_holm(void **state)
{
    (void)state;
    const double p[] = { 0.01, 0.04, (double)NAN, 0.03, 0.005 };
    double out[5];
    assert_int_equal(s2_holm(p, 5, out), S2P_OK);
    assert_true(fabs(out[0] - 0.03) < 1e-15 && fabs(out[4] - 0.02) < 1e-15);
    assert_true(fabs(out[3] - 0.06) < 1e-15 && fabs(out[1] - 0.06) < 1e-15);
    assert_true(isnan(out[2])); /* and it did not count */
    assert_int_equal(s2_holm(p, 0, out), S2P_OK);
}

static void test_undefined(void **state)
{
    (void)state;
    const double one = 1.0, zero[] = { 0.0, 0.0 };
    assert_true(isnan(s2_ratio_error(&one, NULL, 1)));
    assert_true(isnan(s2_ratio_error(zero, zero, 2)));
    assert_true(isnan(s2_smallest_difference(0.0, 0.95, 0.8)));
    assert_true(isnan(s2_smallest_difference((double)NAN, 0.95, 0.8)));
    assert_true(fabs(s2_smallest_difference(1.0, 0.95, 0.8) - 2.8015852181129683) < 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors),   cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_symmetry),  cmocka_unit_test(test_never_zero),
        cmocka_unit_test(test_rounding),  cmocka_unit_test(test_holm),
        cmocka_unit_test(test_undefined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
