/* test_structure.c - from pixels to moments and scores (App. A.2). */
#include "check.h"
#include "prune/structure.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* --- A second implementation: the whole picture in memory, one pixel at a time -------------- */

/* i * n / k rounded half to even, in integers. */
static int32_t divide_rounded(int64_t numerator, int64_t k)
{
    const int64_t q = numerator / k, twice = 2 * (numerator % k);
    return (int32_t)(twice > k || (twice == k && q % 2) ? q + 1 : q);
}

static int32_t pixel_edge(int32_t i, int32_t side, int32_t n_tokens, int32_t n_pixels)
{
    const int32_t token = divide_rounded((int64_t)i * n_tokens, side);
    return divide_rounded((int64_t)token * n_pixels, n_tokens);
}

static int gray_at(const s2p_image *image, int32_t x, int32_t y)
{
    x = x < 0 ? 0 : x < image->width ? x : image->width - 1;
    y = y < 0 ? 0 : y < image->height ? y : image->height - 1;
    const uint8_t *p = image->pixels + y * image->stride + 3 * x;
    return (19595 * p[0] + 38470 * p[1] + 7471 * p[2] + 32768) / 65536;
}

static int laplacian_at(const s2p_image *image, int32_t x, int32_t y)
{
    return gray_at(image, x, y - 1) + gray_at(image, x, y + 1) + gray_at(image, x - 1, y) +
           gray_at(image, x + 1, y) - 4 * gray_at(image, x, y);
}

static s2p_moments naive(const s2p_image *image, s2p_grid grid, int32_t side, int32_t region,
                         s2p_measure measure)
{
    const int32_t r = region / side, c = region % side;
    s2p_moments m = { 0 };
    for (int32_t y = pixel_edge(r, side, grid.rows, image->height);
         y < pixel_edge(r + 1, side, grid.rows, image->height); y++) {
        for (int32_t x = pixel_edge(c, side, grid.cols, image->width);
             x < pixel_edge(c + 1, side, grid.cols, image->width); x++) {
            const int v =
                measure == S2P_MEASURE_LAPLACIAN ? laplacian_at(image, x, y) : gray_at(image, x, y);
            m.count++;
            m.sum += v;
            m.sum_sq += v * v;
        }
    }
    return m;
}

/* --- Tests ---------------------------------------------------------------------------------- */

static s2p_image gray_3x3(uint8_t pixels[27], const uint8_t level[9])
{
    for (int i = 0; i < 27; i++) pixels[i] = level[i / 3]; /* the weights add up to 65536 */
    return (s2p_image){ 3, 3, 9, pixels };
}

static void worked_by_hand(void **state)
{
    (void)state;
    const s2p_grid grid = { 3, 3 };
    uint8_t pixels[27];
    s2p_moments m[9];

    /* One bright pixel in the middle: -40 there, +10 at its four neighbours. */
    s2p_image image = gray_3x3(pixels, (const uint8_t[9]){ 0, 0, 0, 0, 10, 0, 0, 0, 0 });
    assert_int_equal(s2p_laplacian(&image, grid, 1, m), S2P_OK);
    assert_int_equal(m[0].count, 9);
    assert_int_equal(m[0].sum, 0);
    assert_int_equal(m[0].sum_sq, 40 * 40 + 4 * 10 * 10);
    assert_true(s2p_variance(m[0]) == 2000.0 / 9.0);

    /* In a corner, where the border repeats it twice: 10 + 10 - 40 there, +10 at two neighbours. */
    image = gray_3x3(pixels, (const uint8_t[9]){ 10, 0, 0, 0, 0, 0, 0, 0, 0 });
    assert_int_equal(s2p_laplacian(&image, grid, 3, m), S2P_OK);
    const int want[9] = { -20, 10, 0, 10, 0, 0, 0, 0, 0 };
    for (int i = 0; i < 9; i++) {
        assert_int_equal(m[i].count, 1);
        assert_int_equal(m[i].sum, want[i]);
        assert_int_equal(m[i].sum_sq, want[i] * want[i]);
    }
    assert_int_equal(s2p_intensity(&image, grid, 3, m), S2P_OK);
    assert_int_equal(m[0].sum, 10);
    assert_int_equal(m[1].sum, 0);
    assert_int_equal(m[0].sum_sq, 100);

    /* A ramp has no curvature except at the two borders it meets. */
    image = gray_3x3(pixels, (const uint8_t[9]){ 1, 2, 3, 1, 2, 3, 1, 2, 3 });
    assert_int_equal(s2p_laplacian(&image, grid, 3, m), S2P_OK);
    for (int i = 0; i < 9; i++) assert_int_equal(m[i].sum, 1 - i % 3);
}

/* Random pictures with padded rows against the second implementation, on every table, with one
 * scratch for all of them. The last row is not padded: its end is the end of the allocation. */
static void equals_the_second_implementation(void **state)
{
    (void)state;
    uint32_t seed = 3;
    s2p_rows rows = { 0 };
    for (int turn = 0; turn < 400; turn++) {
        const int32_t width = 3 + random_below(&seed, turn % 4 ? 90 : 700);
        const int32_t height = 3 + random_below(&seed, 60);
        const ptrdiff_t stride = 3 * width + random_below(&seed, 9);
        const size_t n_bytes = (size_t)(stride * (height - 1) + 3 * width);
        uint8_t *pixels = malloc(n_bytes);
        assert_non_null(pixels);
        const int kind = random_below(&seed, 3);
        for (size_t i = 0; i < n_bytes; i++)
            pixels[i] = (uint8_t)(kind == 0   ? next_random(&seed)
                                  : kind == 1 ? (next_random(&seed) & 1) * 255
                                              : i / 7);
        const s2p_image image = { width, height, stride, pixels };
        const s2p_grid grid = { 1 + random_below(&seed, 30), 1 + random_below(&seed, 30) };
        const int32_t shorter = grid.rows < grid.cols ? grid.rows : grid.cols;
        const int32_t side = 1 + random_below(&seed, shorter);
        const s2p_measure measure = turn % 5 ? S2P_MEASURE_LAPLACIAN : S2P_MEASURE_INTENSITY;
        bool is_full = true; /* every region has a pixel */
        for (int32_t i = 0; i < side * side && is_full; i++)
            is_full = naive(&image, grid, side, i, measure).count > 0;

        static s2p_moments got[30 * 30];
        for (size_t k = 0; s2p_kernels_at(k); k++) {
            const s2p_status status =
                s2p_measure_regions(&image, grid, side, measure, s2p_kernels_at(k), &rows, got);
            assert_int_equal(status, is_full ? S2P_OK : S2P_EUNSUPPORTED);
            for (int32_t i = 0; i < side * side && is_full; i++) {
                const s2p_moments want = naive(&image, grid, side, i, measure);
                CHECK_CASE(memcmp(&got[i], &want, sizeof want) == 0,
                           "turn %d, %s, %dx%d pixels, %dx%d tokens, side %d, region %d", turn,
                           s2p_kernels_at(k)->name, width, height, grid.cols, grid.rows, side, i);
            }
        }
        free(pixels);
    }
    s2p_rows_free(&rows);
}

static void refusals(void **state)
{
    (void)state;
    static uint8_t pixels[3 * 16 * 16];
    static s2p_moments m[16 * 16];
    const s2p_grid grid = { 4, 5 };
    const s2p_image good = { 16, 16, 48, pixels };
    s2p_image bad = good;
    assert_int_equal(s2p_laplacian(&good, grid, 4, m), S2P_OK);
    assert_int_equal(s2p_laplacian(NULL, grid, 4, m), S2P_EINVAL);
    assert_int_equal(s2p_laplacian(&good, grid, 4, NULL), S2P_EINVAL);
    assert_int_equal(s2p_laplacian(&good, grid, 0, m), S2P_EINVAL);
    assert_int_equal(s2p_laplacian(&good, grid, 5, m), S2P_EINVAL);
    assert_int_equal(s2p_laplacian(&good, (s2p_grid){ 0, 4 }, 1, m), S2P_EINVAL);
    assert_int_equal(s2p_laplacian(&good, (s2p_grid){ 4, -4 }, 1, m), S2P_EINVAL);
    assert_int_equal(s2p_laplacian(&good, (s2p_grid){ 1, 4097 }, 1, m), S2P_EINVAL);
    assert_int_equal(s2p_laplacian(&good, (s2p_grid){ 4096, 4096 }, 1, m), S2P_EINVAL);
    bad.pixels = NULL;
    assert_int_equal(s2p_laplacian(&bad, grid, 4, m), S2P_EINVAL);
    bad = (s2p_image){ 16, 16, 47, pixels };
    assert_int_equal(s2p_laplacian(&bad, grid, 4, m), S2P_EINVAL);
    bad = (s2p_image){ 2, 16, 48, pixels };
    assert_int_equal(s2p_laplacian(&bad, grid, 1, m), S2P_EUNSUPPORTED);
    bad = (s2p_image){ 16, 2, 48, pixels };
    assert_int_equal(s2p_laplacian(&bad, grid, 1, m), S2P_EUNSUPPORTED);
    bad = (s2p_image){ -1, INT32_MIN, 48, pixels };
    assert_int_equal(s2p_laplacian(&bad, grid, 1, m), S2P_EUNSUPPORTED);
    bad = (s2p_image){ (1 << 20) + 1, 16, 1 << 23, pixels };
    assert_int_equal(s2p_laplacian(&bad, grid, 1, m), S2P_ELIMIT);
    bad = (s2p_image){ 16, INT32_MAX, 48, pixels };
    assert_int_equal(s2p_laplacian(&bad, grid, 1, m), S2P_ELIMIT);
    /* 17 regions across 16 pixels; 16 across 16 of 5 tokens each are fine. */
    assert_int_equal(s2p_laplacian(&good, (s2p_grid){ 20, 20 }, 17, m), S2P_EUNSUPPORTED);
    assert_int_equal(s2p_laplacian(&good, (s2p_grid){ 80, 80 }, 16, m), S2P_OK);
    assert_int_equal(s2p_intensity(&bad, grid, 1, m), S2P_ELIMIT);
}

static void variance_is_exact(void **state)
{
    (void)state;
    assert_true(s2p_variance((s2p_moments){ 0, 0, 0 }) == 0.0);
    assert_true(s2p_variance((s2p_moments){ 4, 8, 16 }) == 0.0);        /* 2 2 2 2 */
    assert_true(s2p_variance((s2p_moments){ 4, 0, 16 }) == 4.0);        /* 2 2 -2 -2 */
    assert_true(s2p_variance((s2p_moments){ 3, -6, 14 }) == 2.0 / 3.0); /* -1 -2 -3 */
    assert_true(s2p_variance((s2p_moments){ 1, 5, 25 }) == 0.0);
    /* 2^40 pixels, half of them 1019 and half 1020: far beyond 64 bits, variance 1/4. */
    const int64_t n = (int64_t)1 << 40, half = n / 2;
    assert_true(s2p_variance((s2p_moments){ n, half * 2039, half * (1019 * 1019 + 1020 * 1020) }) ==
                0.25);
    assert_true(
        s2p_variance((s2p_moments){ n, -half * 2039, half * (1019 * 1019 + 1020 * 1020) }) == 0.25);
    /* Sums no numbers have. */
    assert_true(s2p_variance((s2p_moments){ 2, 10, 1 }) == 0.0);
    assert_true(s2p_variance((s2p_moments){ -2, 10, 1 }) == 0.0);
    assert_true(s2p_variance((s2p_moments){ 2, INT64_MIN, INT64_MAX }) == 0.0);
}

__extension__ typedef unsigned __int128 uint128;

/* Regions of any size against the compiler's own 128-bit integers. */
static void variance_equals_128_bits(void **state)
{
    (void)state;
    uint32_t seed = 11;
    for (int turn = 0; turn < 20000; turn++) {
        const int bits = 1 + random_below(&seed, 40);
        const uint64_t wide = (uint64_t)next_random(&seed) << 24 | next_random(&seed);
        const uint64_t n = 1 + wide % ((uint64_t)1 << bits);
        const uint64_t mean = (uint64_t)random_below(&seed, 1000);
        const uint64_t sum = n * mean + wide % n;
        const uint64_t sum_sq = (uint64_t)((uint128)sum * sum / n) + 1 + next_random(&seed) % 4096;
        const uint128 above = (uint128)n * sum_sq - (uint128)sum * sum;
        const double want = (double)above / (double)((uint128)n * n);
        const int64_t sign = turn % 2 ? -1 : 1;
        const double got =
            s2p_variance((s2p_moments){ (int64_t)n, sign * (int64_t)sum, (int64_t)sum_sq });
        CHECK_CASE(got == want, "turn %d: %a, not %a", turn, got, want);
    }
}

static void normalise(void **state)
{
    (void)state;
    float score[4];
    assert_int_equal(s2p_normalise((const float[]){ 3, 1, 2, 5 }, 4, score), S2P_OK);
    assert_memory_equal(score, ((const float[]){ 0.5f, 0, 0.25f, 1 }), sizeof score);
    assert_int_equal(s2p_normalise((const float[]){ 7, 7 }, 2, score), S2P_OK);
    assert_true(score[0] == 0.0f && score[1] == 0.0f);
    /* A range of 2^-25 is below the floor of 2^-23. */
    assert_int_equal(s2p_normalise((const float[]){ 0, 0x1p-25f }, 2, score), S2P_OK);
    assert_true(score[0] == 0.0f && score[1] == 0.25f);
    /* float32 throughout: the difference is rounded before the division. */
    const float raw[3] = { 0.1f, 16777216.0f, 3.3f };
    assert_int_equal(s2p_normalise(raw, 3, score), S2P_OK);
    const volatile float top = raw[2] - raw[0], range = raw[1] - raw[0];
    assert_true(score[2] == top / range);
    float in_place[2] = { 4, 2 };
    assert_int_equal(s2p_normalise(in_place, 2, in_place), S2P_OK);
    assert_true(in_place[0] == 1.0f && in_place[1] == 0.0f);

    assert_int_equal(s2p_normalise(NULL, 2, score), S2P_EINVAL);
    assert_int_equal(s2p_normalise(raw, 3, NULL), S2P_EINVAL);
    assert_int_equal(s2p_normalise(raw, 0, score), S2P_EINVAL);
    assert_int_equal(s2p_normalise((const float[]){ 1, NAN }, 2, score), S2P_EINVAL);
    assert_int_equal(s2p_normalise((const float[]){ -INFINITY, 1 }, 2, score), S2P_EINVAL);
    assert_int_equal(s2p_normalise((const float[]){ -3e38f, 3e38f }, 2, score), S2P_EINVAL);
}

static void heterogeneity(void **state)
{
    (void)state;
    assert_true(s2p_heterogeneity((const float[]){ 5, 5, 5 }, 3) == 0.0);
    assert_true(s2p_heterogeneity((const float[]){ 0, 0 }, 2) == 0.0);
    assert_true(fabs(s2p_heterogeneity((const float[]){ 1, 3 }, 2) - 0.5) < 1e-12);
    assert_true(fabs(s2p_heterogeneity((const float[]){ 2, 4, 4, 4, 5, 5, 7, 9 }, 8) - 0.4) <
                1e-12);
    assert_true(s2p_heterogeneity(NULL, 3) == 0.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worked_by_hand),
        cmocka_unit_test(equals_the_second_implementation),
        cmocka_unit_test(refusals),
        cmocka_unit_test(variance_is_exact),
        cmocka_unit_test(variance_equals_128_bits),
        cmocka_unit_test(normalise),
        cmocka_unit_test(heterogeneity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
