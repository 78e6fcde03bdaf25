/* test_compare.c - a comparison without a model: figures worked by hand, the rule for right
 * answers.
 */
#include "check.h"

#include "compare/compare.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define NEAR(a, b) (fabs((a) - (b)) < 1e-9)

/* --- figures ------------------------------------------------------------------------- */

static s2a_part part_of(int32_t rows, int32_t cols, int32_t *keep, int32_t n)
{
    return (s2a_part){ .grid = { rows, cols }, .keep = keep, .n_keep = n };
}

static compare_row row_of(s2a_part *part, int32_t n_parts)
{
    return (compare_row){ .setting.method = "s2prune",
                          .answer = { .part = part, .n_parts = n_parts } };
}

static void test_shares(void **state)
{
    (void)state;
    static int32_t all[24 * 24];
    for (int32_t i = 0; i < 24 * 24; i++) all[i] = i;
    static const struct {
        const char *rule;
        int32_t rows, cols, n, keep[4];
        double edge, center;
    } cases[] = {
        { "8x8: (0,0) (1,1) at the edge, (2,2) (5,5) in the center",
          8,
          8,
          4,
          { 0, 9, 18, 45 },
          .5,
          .5 },
        { "8x8: (2,6) (6,2) at the edge, one row or column is enough", 8, 8, 2, { 22, 50 }, 1, 0 },
        { "12x12: (2,2) is neither: the center begins at 3", 12, 12, 2, { 26, 39 }, 0, .5 },
        { "12x12: (8,8) is the last of the center, (9,9) neither", 12, 12, 2, { 104, 117 }, 0, .5 },
        { "10x10: 10 / 4 = 2, so rows 2 to 7", 10, 10, 4, { 22, 72, 77, 78 }, .25, .75 },
        { "24x8: rows and columns have their own bounds",
          24,
          8,
          2,
          { 5 * 8 + 3, 6 * 8 + 3 },
          0,
          .5 },
        { "4x6: all at the edge, and the middle in the center too", 4, 6, 2, { 0, 7 }, 1, .5 },
        { "3x3: all of both", 3, 3, 1, { 8 }, 1, 1 },
        { "1x1", 1, 1, 1, { 0 }, 1, 1 },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        int32_t keep[4];
        memcpy(keep, cases[i].keep, sizeof keep);
        s2a_part part = part_of(cases[i].rows, cases[i].cols, keep, cases[i].n);
        const compare_row row = row_of(&part, 1);
        CHECK_CASE(NEAR(s2_compare_edge(&row), cases[i].edge), "%s: edge %f", cases[i].rule,
                   s2_compare_edge(&row));
        CHECK_CASE(NEAR(s2_compare_center(&row), cases[i].center), "%s: center %f", cases[i].rule,
                   s2_compare_center(&row));
    }
    /* What the paper expects of a method without bias, 24x24. */
    s2a_part parts[2] = { part_of(24, 24, all, 576), part_of(3, 3, all, 9) };
    const compare_row full = row_of(parts, 1), both = row_of(parts, 2), none = row_of(parts, 0);
    assert_true(NEAR(s2_compare_edge(&full), 176.0 / 576) && NEAR(s2_compare_center(&full), .25));
    assert_true(NEAR(s2_compare_edge(&both), (176.0 + 9) / 585)); /* pictures count together */
    assert_true(NEAR(s2_compare_center(&both), (144.0 + 9) / 585));
    assert_true(s2_compare_edge(&none) < 0 && s2_compare_center(&none) < 0);
    compare_row failed = full;
    failed.error.status = S2P_EINVAL;
    assert_true(s2_compare_edge(&failed) < 0);
}

static void test_iou(void **state)
{
    (void)state;
    int32_t a[] = { 1, 3, 5 }, b[] = { 3, 5, 7, 9 }, c[] = { 0, 2 };
    s2a_part pa[2] = { part_of(4, 4, a, 3), part_of(2, 2, c, 1) };
    s2a_part pb[2] = { part_of(4, 4, b, 4), part_of(2, 2, c + 1, 1) };
    const compare_row ra = row_of(pa, 1), rb = row_of(pb, 1);
    assert_true(NEAR(s2_compare_iou(&ra, &rb), 2.0 / 5)); /* {3,5} of {1,3,5,7,9} */
    assert_true(NEAR(s2_compare_iou(&rb, &ra), 2.0 / 5));
    assert_true(NEAR(s2_compare_iou(&ra, &ra), 1.0));
    const compare_row both_a = row_of(pa, 2), both_b = row_of(pb, 2);
    assert_true(NEAR(s2_compare_iou(&both_a, &both_b), 2.0 / 7)); /* {0} and {2} add two */
    assert_true(s2_compare_iou(&ra, &both_b) < 0);                /* not the same pictures */
    s2a_part other = part_of(4, 5, a, 3);
    const compare_row elsewhere = row_of(&other, 1);
    assert_true(s2_compare_iou(&ra, &elsewhere) < 0); /* nor the same grid */
    compare_row failed = ra;
    failed.error.status = S2P_EINVAL;
    assert_true(s2_compare_iou(&ra, &failed) < 0 && s2_compare_iou(&failed, &failed) < 0);
}

/* Seeded sets, counted the slow way. */
static void test_iou_property(void **state)
{
    (void)state;
    uint32_t seed = 11;
    for (int round = 0; round < 500; round++) {
        int32_t keep[2][40], n[2] = { 0, 0 }, n_common = 0, n_all = 0;
        for (int32_t token = 0; token < 40; token++) {
            const bool in[2] = { random_below(&seed, 3) == 0, random_below(&seed, 2) == 0 };
            for (int k = 0; k < 2; k++)
                if (in[k]) keep[k][n[k]++] = token;
            n_common += in[0] && in[1];
            n_all += in[0] || in[1];
        }
        s2a_part p[2] = { part_of(5, 8, keep[0], n[0]), part_of(5, 8, keep[1], n[1]) };
        const compare_row a = row_of(&p[0], 1), b = row_of(&p[1], 1);
        const double expected = n_all > 0 ? (double)n_common / n_all : -1.0;
        assert_true(NEAR(s2_compare_iou(&a, &b), expected));
    }
}

static void test_right_answers(void **state)
{
    (void)state;
    static const struct {
        const char *answer, *expect;
        bool is_right;
    } cases[] = {
        { "yes", "yes", true },
        { "Yes, there is a fork.", "yes", true },
        { "YES", "Yes", true },
        { "(yes)", "yes", true },
        { "It is a\nyes", " yes ", true },
        { "yesterday", "yes", false },
        { "eyes", "yes", false },
        { "eyes, yes", "yes", true },
        { "no", "yes", false },
        { "", "yes", false },
        { "yes", "", false },
        { "yes", "  ", false },
        { "42", "42", true },
        { "142", "42", false },
        { "42nd", "42", false },
        { "4.2", "4", true },
        { "two dogs and a cat", "dogs and a", true },
        { "two dogs and a cat", "dogs and c", false },
        { "50% of it", "50%", true },
        { "50%x", "50%", true }, /* ends in a sign: nothing to be whole */
        { "caf\xC3\xA9s", "caf\xC3\xA9", false },
        { "un caf\xC3\xA9!", "CAF\xC3\xA9", true },
        { "\xC3\xA9yes", "yes", false }, /* a letter of another alphabet is a letter */
        { "\xE2\x80\x9Cyes\xE2\x80\x9D", "yes", true }, /* typographic quotes are none */
        { "\xE7\xAD\x94\xE6\xA1\x88\xE6\x98\xAFyes\xE3\x80\x82", "yes",
          true }, /* Chinese around it */
        { "\xE6\x98\xAF\xE7\x9A\x84", "\xE6\x98\xAF", true },
        { "yes\xFF", "yes", true }, /* not UTF-8: no letter */
        { "xyes yes", "yes", true },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        CHECK_CASE(s2_compare_is_right(cases[i].answer, cases[i].expect) == cases[i].is_right,
                   "'%s' for '%s'", cases[i].answer, cases[i].expect);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shares),
        cmocka_unit_test(test_iou),
        cmocka_unit_test(test_iou_property),
        cmocka_unit_test(test_right_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
