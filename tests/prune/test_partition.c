/* test_partition.c - regions, their pixels, and the rule for K. */
#include "check.h"
#include "s2prune.h"

#include <string.h>

static void check_edges(int32_t n, int32_t side, const int32_t *expect)
{
    int32_t edges[32];
    assert_int_equal(s2p_edges(n, side, edges), S2P_OK);
    assert_memory_equal(edges, expect, (size_t)(side + 1) * sizeof *edges);
}

static void test_half_goes_to_even(void **state)
{
    (void)state;
    check_edges(27, 6, (const int32_t[]){ 0, 4, 9, 14, 18, 22, 27 }); /* 4.5 -> 4, 13.5 -> 14 */
    check_edges(27, 4, (const int32_t[]){ 0, 7, 14, 20, 27 });
    check_edges(24, 5, (const int32_t[]){ 0, 5, 10, 14, 19, 24 });

    /* 36 pixels under 24 tokens: token 3 starts at 4.5, token 9 at 13.5. */
    const s2p_rect px = s2p_support((s2p_rect){ 3, 9, 6, 12 }, (s2p_grid){ 24, 24 }, 36, 36);
    assert_int_equal(px.row0, 4);
    assert_int_equal(px.row1, 9);
    assert_int_equal(px.col0, 14);
    assert_int_equal(px.col1, 18);
}

static void test_regions_tile_the_grid(void **state)
{
    (void)state;
    s2p_rect regions[24 * 24];
    for (int32_t rows = 1; rows <= 32; rows++)
        for (int32_t cols = 1; cols <= 24; cols += 3)
            for (int32_t side = 1; side <= rows && side <= cols; side++) {
                assert_int_equal(s2p_partition((s2p_grid){ rows, cols }, side, regions), S2P_OK);
                int32_t tokens = 0, low = rows, high = 0;
                for (int32_t g = 0; g < side * side; g++) {
                    const s2p_rect r = regions[g];
                    const int32_t height = r.row1 - r.row0;
                    assert_true(height >= 1 && r.col1 > r.col0);
                    tokens += height * (r.col1 - r.col0);
                    if (height < low) low = height;
                    if (height > high) high = height;
                    if (g % side) assert_int_equal(r.col0, regions[g - 1].col1);
                    if (g >= side) assert_int_equal(r.row0, regions[g - side].row1);
                }
                assert_int_equal(tokens, rows * cols);
                CHECK_CASE(high - low <= 1, "%dx%d in %d", rows, cols, side);
            }
}

static void test_side_by_budget(void **state)
{
    (void)state;
    const s2p_grid qwen = { 24, 24 }, small = { 3, 40 };
    static const int32_t expect[][2] = { { 32, 4 }, { 64, 5 },  { 128, 8 }, { 192, 9 }, { 40, 4 },
                                         { 80, 6 }, { 160, 8 }, { 1, 1 },   { 0, 1 },   { -5, 1 } };
    for (size_t i = 0; i < COUNT_OF(expect); i++)
        assert_int_equal(s2p_coarse_side(qwen, expect[i][0]), expect[i][1]);
    assert_int_equal(s2p_coarse_side(small, 100), 3); /* never above the shorter side */
    for (int32_t b = 1; b <= 576; b++) { /* every budget covers the regions of its own grid */
        const int32_t side = s2p_coarse_side(qwen, b);
        assert_true(side * side <= b);
    }
}

static void test_refusals(void **state)
{
    (void)state;
    s2p_rect regions[4];
    int32_t edges[4];
    assert_int_equal(s2p_partition((s2p_grid){ 2, 3 }, 3, regions), S2P_EINVAL);
    assert_int_equal(s2p_partition((s2p_grid){ 2, 3 }, 0, regions), S2P_EINVAL);
    assert_int_equal(s2p_partition((s2p_grid){ 0, 3 }, 1, regions), S2P_EINVAL);
    assert_int_equal(s2p_partition((s2p_grid){ S2P_MAX_SIDE + 1, 3 }, 1, regions), S2P_EINVAL);
    assert_int_equal(s2p_partition((s2p_grid){ 2, 3 }, 1, NULL), S2P_EINVAL);
    assert_int_equal(s2p_edges(3, 4, edges), S2P_EINVAL);
    assert_int_equal(s2p_edges(3, 0, edges), S2P_EINVAL);
    assert_int_equal(s2p_edges(3, 2, NULL), S2P_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_half_goes_to_even),
        cmocka_unit_test(test_regions_tile_the_grid),
        cmocka_unit_test(test_side_by_budget),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
