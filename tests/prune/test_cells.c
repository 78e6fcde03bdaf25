/* test_cells.c - Algorithm S3 and the selection inside its cells. */
#include "check.h"
#include "s2prune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int32_t area(s2p_rect r) { return (r.row1 - r.row0) * (r.col1 - r.col0); }

/* The algorithm as the paper states it: search, split, insert. Slow and plain. */
static void cells_by_the_book(s2p_rect region, int32_t n_cells, s2p_rect *cells)
{
    cells[0] = region;
    for (int32_t n = 1; n < n_cells; n++) {
        int32_t big = 0;
        for (int32_t i = 1; i < n; i++)
            if (area(cells[i]) > area(cells[big])) big = i;
        s2p_rect first = cells[big], second = first;
        const int32_t height = first.row1 - first.row0, width = first.col1 - first.col0;
        if (height >= width && height > 1)
            first.row1 = second.row0 = first.row0 + height / 2;
        else
            first.col1 = second.col0 = first.col0 + width / 2;
        memmove(cells + big + 2, cells + big + 1, (size_t)(n - big - 1) * sizeof *cells);
        cells[big] = first;
        cells[big + 1] = second;
    }
}

static void test_worked(void **state)
{
    (void)state;
    s2p_rect out[5];
    /* 4 rows x 5 columns in 5: columns first (wider), odd length puts the short half first, then
     * the two largest (2x3 cells come before none) split by rows, and so on. */
    const s2p_rect expect[5] = {
        { 2, 3, 4, 5 }, { 4, 3, 6, 5 }, { 2, 5, 4, 6 }, { 2, 6, 4, 8 }, { 4, 5, 6, 8 }
    };
    assert_int_equal(s2p_cells((s2p_rect){ 2, 3, 6, 8 }, 5, out), S2P_OK);
    assert_memory_equal(out, expect, sizeof expect);

    /* A square splits along rows. */
    assert_int_equal(s2p_cells((s2p_rect){ 0, 0, 2, 2 }, 2, out), S2P_OK);
    const s2p_rect rows[2] = { { 0, 0, 1, 2 }, { 1, 0, 2, 2 } };
    assert_memory_equal(out, rows, sizeof rows);
}

static void test_equals_the_book(void **state)
{
    (void)state;
    static s2p_rect ours[40 * 40], book[40 * 40];
    for (int32_t h = 1; h <= 12; h++)
        for (int32_t w = 1; w <= 12; w++)
            for (int32_t n = 1; n <= h * w; n++) {
                const s2p_rect region = { 3, 1, 3 + h, 1 + w };
                assert_int_equal(s2p_cells(region, n, ours), S2P_OK);
                cells_by_the_book(region, n, book);
                CHECK_CASE(memcmp(ours, book, (size_t)n * sizeof *ours) == 0, "%dx%d in %d", h, w,
                           n);
            }
    uint32_t s = 1;
    for (int32_t round = 0; round < 200; round++) {
        const int32_t h = 1 + random_below(&s, 40), w = 1 + random_below(&s, 40);
        const int32_t n = 1 + random_below(&s, h * w);
        const s2p_rect region = { 0, 0, h, w };
        assert_int_equal(s2p_cells(region, n, ours), S2P_OK);
        cells_by_the_book(region, n, book);
        CHECK_CASE(memcmp(ours, book, (size_t)n * sizeof *ours) == 0, "%dx%d in %d", h, w, n);
    }
}

static void test_disjoint_and_covering(void **state)
{
    (void)state;
    static s2p_rect cells[64 * 64];
    static uint8_t seen[64 * 64];
    uint32_t s = 7;
    for (int32_t round = 0; round < 300; round++) {
        const int32_t h = 1 + random_below(&s, 64), w = 1 + random_below(&s, 64);
        const int32_t n = 1 + random_below(&s, h * w);
        assert_int_equal(s2p_cells((s2p_rect){ 0, 0, h, w }, n, cells), S2P_OK);
        memset(seen, 0, sizeof seen);
        int32_t covered = 0;
        for (int32_t i = 0; i < n; i++) {
            assert_true(area(cells[i]) >= 1);
            for (int32_t r = cells[i].row0; r < cells[i].row1; r++)
                for (int32_t c = cells[i].col0; c < cells[i].col1; c++) {
                    assert_int_equal(seen[r * w + c]++, 0);
                    covered++;
                }
        }
        assert_int_equal(covered, h * w);
    }
}

static void test_largest_grid_is_quick(void **state)
{
    (void)state; /* quadratic work would take hours here */
    s2p_rect *cells = malloc(sizeof *cells * S2P_MAX_TOKENS);
    assert_non_null(cells);
    assert_int_equal(s2p_cells((s2p_rect){ 0, 0, 1024, 1024 }, S2P_MAX_TOKENS, cells), S2P_OK);
    assert_int_equal(area(cells[S2P_MAX_TOKENS - 1]), 1);
    free(cells);
}

static void test_select(void **state)
{
    (void)state;
    const s2p_grid grid = { 2, 4 };
    const s2p_rect cells[2] = { { 0, 2, 2, 4 }, { 0, 0, 2, 2 } };
    const float score[8] = { 1, 5, 2, 2, 5, 0, 2, 1 };
    int32_t pick[2];
    assert_int_equal(s2p_select(grid, cells, 2, score, pick), S2P_OK);
    assert_int_equal(pick[0], 2); /* 2, 3 and 6 tie: the first in row-major order */
    assert_int_equal(pick[1], 1); /* 1 and 4 tie */
    s2p_sort(pick, 2);
    assert_int_equal(pick[0], 1);

    float bad[8];
    const float values[] = { NAN, INFINITY, -INFINITY };
    for (size_t i = 0; i < COUNT_OF(values); i++) {
        memcpy(bad, score, sizeof bad);
        bad[7] = values[i];
        assert_int_equal(s2p_select(grid, cells, 2, bad, pick), S2P_EINVAL);
    }
    const s2p_rect outside = { 0, 2, 3, 4 }, empty = { 1, 1, 1, 2 }, negative = { -1, 0, 1, 1 };
    assert_int_equal(s2p_select(grid, &outside, 1, score, pick), S2P_EINVAL);
    assert_int_equal(s2p_select(grid, &empty, 1, score, pick), S2P_EINVAL);
    assert_int_equal(s2p_select(grid, &negative, 1, score, pick), S2P_EINVAL);
    assert_int_equal(s2p_select(grid, cells, 0, score, pick), S2P_EINVAL);
}

static void test_sort(void **state)
{
    (void)state;
    for (uint32_t seed = 0; seed < 500; seed++) {
        uint32_t s = seed;
        int32_t token[100];
        int64_t before = 0, after = 0;
        const int32_t n = random_below(&s, 101);
        for (int32_t i = 0; i < n; i++) before += token[i] = random_below(&s, 60) - 30;
        s2p_sort(token, n);
        for (int32_t i = 0; i < n; i++) after += token[i];
        for (int32_t i = 1; i < n; i++) assert_true(token[i - 1] <= token[i]);
        assert_int_equal(before, after);
    }
}

static void test_refusals(void **state)
{
    (void)state;
    s2p_rect cells[8];
    assert_int_equal(s2p_cells((s2p_rect){ 0, 0, 2, 2 }, 0, cells), S2P_EBUDGET);
    assert_int_equal(s2p_cells((s2p_rect){ 0, 0, 2, 2 }, 5, cells), S2P_EBUDGET);
    assert_int_equal(s2p_cells((s2p_rect){ 2, 0, 2, 2 }, 1, cells), S2P_EINVAL);
    assert_int_equal(s2p_cells((s2p_rect){ 3, 0, 2, 2 }, 1, cells), S2P_EINVAL);
    assert_int_equal(s2p_cells((s2p_rect){ -1, 0, 2, 2 }, 1, cells), S2P_EINVAL);
    assert_int_equal(s2p_cells((s2p_rect){ 0, 0, INT32_MAX, INT32_MAX }, 1, cells), S2P_EINVAL);
    assert_int_equal(s2p_cells((s2p_rect){ 0, 0, 2, 2 }, 1, NULL), S2P_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_worked),
        cmocka_unit_test(test_equals_the_book),
        cmocka_unit_test(test_disjoint_and_covering),
        cmocka_unit_test(test_largest_grid_is_quick),
        cmocka_unit_test(test_select),
        cmocka_unit_test(test_sort),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
