/* test_pixelprune.c - which tokens never enter the tower: hand-worked cases, promises, refusals. */
#include "check.h"
#include "s2prune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SIDE = 12, UNIT = 4, MAX_TOKENS = MAX_SIDE * MAX_SIDE };
static uint8_t pixels[MAX_SIDE * MAX_SIDE * UNIT * UNIT * 3];

/* Squares of one gray level each. */
static s2p_image draw_levels(const uint8_t *level, s2p_grid grid)
{
    const int32_t width = grid.cols * UNIT;
    for (int32_t y = 0; y < grid.rows * UNIT; y++)
        for (int32_t x = 0; x < 3 * width; x++)
            pixels[y * 3 * width + x] = level[y / UNIT * grid.cols + x / 3 / UNIT];
    return (s2p_image){ width, grid.rows * UNIT, (ptrdiff_t)3 * width, pixels };
}

typedef struct worked {
    const char *rule;
    s2p_grid grid;
    uint8_t level[16];
    s2p_pixelprune options;
    int32_t keep[16], n;
} worked;

static const worked cases[] = {
    { "a flat picture is its first square", { 2, 3 }, { 7, 7, 7, 7, 7, 7 }, { 0 }, { 0 }, 1 },
    { "the first row predicts from the left", { 1, 5 }, { 1, 1, 2, 2, 1 }, { 0 }, { 0, 2, 4 }, 3 },
    { "the first column predicts from above", { 4, 1 }, { 1, 1, 2, 2 }, { 0 }, { 0, 2 }, 2 },
    /* 1 2   C is like A and not like B: B predicts, the edge goes on downwards
     * 1 2 */
    { "an edge continues downwards", { 2, 2 }, { 1, 2, 1, 2 }, { 0 }, { 0, 1 }, 2 },
    /* 1 1   C is like both: A predicts
     * 1 2 */
    { "otherwise the left one predicts", { 2, 2 }, { 1, 1, 1, 2 }, { 0 }, { 0, 3 }, 2 },
    /* 1 1   C is not like A: A predicts
     * 2 2 */
    { "a new row is inherited from the left", { 2, 2 }, { 1, 1, 2, 2 }, { 0 }, { 0, 2 }, 2 },
    { "equality of the distance counts",
      { 1, 3 },
      { 0, 51, 103 },
      { .threshold = 0.2 },
      { 0, 2 },
      2 },
    { "anchored: compared with what was kept",
      { 1, 5 },
      { 10, 12, 14, 16, 18 },
      { .threshold = 0.01 },
      { 0, 2, 4 },
      3 },
    { "sliding: a gradient vanishes",
      { 1, 5 },
      { 10, 12, 14, 16, 18 },
      { .threshold = 0.01, .sliding = 1 },
      { 0 },
      1 },
    { "raster goes across line ends",
      { 2, 2 },
      { 1, 2, 2, 1 },
      { .scan = S2P_SCAN_RASTER },
      { 0, 1, 3 },
      3 },
    { "serpentine turns",
      { 2, 2 },
      { 1, 2, 3, 2 },
      { .scan = S2P_SCAN_SERPENTINE },
      { 0, 1, 2 },
      3 },
    { "one square of each component",
      { 2, 3 },
      { 1, 1, 2, 2, 1, 2 },
      { .scan = S2P_SCAN_COMPONENTS, .skip_ratio = 1.0 },
      { 0, 2, 3 },
      3 },
    { "half of a component, evenly spaced",
      { 1, 6 },
      { 5, 5, 5, 5, 5, 5 },
      { .scan = S2P_SCAN_COMPONENTS, .skip_ratio = 0.5 },
      { 0, 2, 5 },
      3 },
};

static void test_worked(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const worked *w = &cases[i];
        const s2p_image image = draw_levels(w->level, w->grid);
        int32_t keep[16], n;
        CHECK_CASE(s2p_pixelprune_select(&image, w->grid, &w->options, keep, &n) == S2P_OK, "%s",
                   w->rule);
        CHECK_CASE(n == w->n && memcmp(keep, w->keep, (size_t)n * sizeof *keep) == 0,
                   "%s: %d kept, %d %d %d", w->rule, n, keep[0], keep[1], keep[2]);
    }
}

/* One pixel of a square, in one channel, by `by` levels: 4 x 4 x 3 values. */
static void test_metrics(void **state)
{
    (void)state;
    const s2p_grid grid = { 1, 2 };
    static const struct {
        s2p_distance metric;
        double at; /* the distance of the two squares */
    } rows[] = { { S2P_DISTANCE_MAX, 96.0 / 255 },
                 { S2P_DISTANCE_MAE, 96.0 / 48 / 255 },
                 { S2P_DISTANCE_RMSE, 13.856406460551018 / 255 } };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int32_t keep[2], n;
        const s2p_image image = draw_levels((const uint8_t[]){ 100, 100 }, grid);
        pixels[3 * UNIT + 1] = 196;
        s2p_pixelprune o = { .metric = rows[i].metric, .threshold = rows[i].at * 1.0001 };
        assert_int_equal(s2p_pixelprune_select(&image, grid, &o, keep, &n), S2P_OK);
        CHECK_CASE(n == 1, "metric %zu above", i);
        o.threshold = rows[i].at * 0.9999;
        assert_int_equal(s2p_pixelprune_select(&image, grid, &o, keep, &n), S2P_OK);
        CHECK_CASE(n == 2, "metric %zu below", i);
    }
}

static uint8_t seeded_level(uint32_t *seed, int32_t n)
{
    return (uint8_t)(100u + 3u * (next_random(seed) % (uint32_t)n));
}

static int32_t level_gap(const uint8_t *level, int32_t a, int32_t b)
{
    return abs((int32_t)level[a] - (int32_t)level[b]);
}

/* Ascending, from token 0 on; every dropped square has a kept one within the threshold; threshold 1
 * keeps one, and what is kept depends on neither stride nor metric where the threshold is 0. */
static void test_promises(void **state)
{
    (void)state;
    uint32_t seed = 5;
    for (int32_t round = 0; round < 200; round++) {
        const s2p_grid grid = { 1 + (int32_t)(next_random(&seed) % MAX_SIDE),
                                1 + (int32_t)(next_random(&seed) % MAX_SIDE) };
        const int32_t n_tokens = grid.rows * grid.cols;
        uint8_t level[MAX_TOKENS];
        for (int32_t t = 0; t < n_tokens; t++) level[t] = seeded_level(&seed, 4);
        const s2p_image image = draw_levels(level, grid);
        int32_t keep[MAX_TOKENS], exact[MAX_TOKENS], n, n_exact;
        for (int32_t scan = 0; scan <= S2P_SCAN_COMPONENTS; scan++) {
            s2p_pixelprune o = { .scan = (s2p_scan)scan,
                                 .threshold = 4.0 / 255,
                                 .skip_ratio = 0.5 };
            assert_int_equal(s2p_pixelprune_select(&image, grid, &o, keep, &n), S2P_OK);
            assert_in_range(n, 1, n_tokens);
            assert_int_equal(keep[0], 0);
            for (int32_t i = 1; i < n; i++) assert_in_range(keep[i], keep[i - 1] + 1, n_tokens - 1);
            for (int32_t t = 0; t < n_tokens && scan != S2P_SCAN_COMPONENTS; t++) {
                int32_t least = 255;
                for (int32_t i = 0; i < n; i++)
                    if (level_gap(level, t, keep[i]) < least) least = level_gap(level, t, keep[i]);
                assert_true(least <= 4);
            }
        }
        s2p_pixelprune o = { .threshold = 0.0 };
        assert_int_equal(s2p_pixelprune_select(&image, grid, &o, exact, &n_exact), S2P_OK);
        o.metric = S2P_DISTANCE_RMSE;
        o.sliding = 1;
        assert_int_equal(s2p_pixelprune_select(&image, grid, &o, keep, &n), S2P_OK);
        assert_int_equal(n, n_exact);
        assert_memory_equal(keep, exact, (size_t)n * sizeof *keep);
        o = (s2p_pixelprune){ .threshold = 1.0 };
        assert_int_equal(s2p_pixelprune_select(&image, grid, &o, keep, &n), S2P_OK);
        assert_int_equal(n, 1);
    }
}

/* A photograph with noise has no two equal squares: threshold 0 loses nothing. */
static void test_noisy_photograph(void **state)
{
    (void)state;
    const s2p_grid grid = { MAX_SIDE, MAX_SIDE };
    const int32_t side = MAX_SIDE * UNIT;
    uint32_t seed = 9;
    for (int32_t y = 0; y < side; y++)
        for (int32_t x = 0; x < 3 * side; x++) /* a soft sky, and the sensor's last bit */
            pixels[y * 3 * side + x] = (uint8_t)(200 - y / 2 + (int32_t)(next_random(&seed) % 3u));
    const s2p_image image = { side, side, (ptrdiff_t)3 * side, pixels };
    s2p_pixelprune o;
    int32_t keep[MAX_TOKENS], n;
    s2p_pixelprune_init(&o);
    assert_int_equal(s2p_pixelprune_select(&image, grid, &o, keep, &n), S2P_OK);
    assert_int_equal(n, MAX_TOKENS);
    o.threshold = 0.05; /* but a sky is a sky */
    assert_int_equal(s2p_pixelprune_select(&image, grid, &o, keep, &n), S2P_OK);
    assert_true(n < MAX_TOKENS / 2);
}

static void test_refusals(void **state)
{
    (void)state;
    const uint8_t level[4] = { 1, 2, 3, 4 };
    s2p_image image = draw_levels(level, (s2p_grid){ 2, 2 });
    s2p_pixelprune good;
    int32_t keep[16], n;
    s2p_pixelprune_init(&good);
    const s2p_pixelprune bad[] = { { .threshold = -0.1 }, { .threshold = 1.1 },
                                   { .threshold = NAN },  { .skip_ratio = 2.0 },
                                   { .scan = 9 },         { .metric = (s2p_distance)-1 } };
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        CHECK_CASE(s2p_pixelprune_select(&image, (s2p_grid){ 2, 2 }, &bad[i], keep, &n) ==
                       S2P_EINVAL,
                   "%zu", i);
    const s2p_grid grids[] = { { 0, 2 }, { 2, 3 }, { 16, 2 }, { 2, S2P_MAX_SIDE + 1 } };
    for (size_t i = 0; i < COUNT_OF(grids); i++)
        CHECK_CASE(s2p_pixelprune_select(&image, grids[i], &good, keep, &n) == S2P_EINVAL, "%zu",
                   i);
    image.stride = 3;
    assert_int_equal(s2p_pixelprune_select(&image, (s2p_grid){ 2, 2 }, &good, keep, &n),
                     S2P_EINVAL);
    assert_int_equal(n, 0);
    assert_int_equal(s2p_pixelprune_select(NULL, (s2p_grid){ 2, 2 }, &good, keep, &n), S2P_EINVAL);
    assert_int_equal(s2p_pixelprune_select(&image, (s2p_grid){ 2, 2 }, NULL, keep, &n), S2P_EINVAL);
}

static void test_text(void **state)
{
    (void)state;
    static const struct {
        const char *text, *back; /* back NULL: refused */
        s2p_distance metric;
        double threshold;
    } rows[] = {
        { "pixelprune", "pixelprune", S2P_DISTANCE_MAX, 0.0 },
        { "pixelprune:0", "pixelprune", S2P_DISTANCE_MAX, 0.0 },
        { "pixelprune:0.01", "pixelprune:0.01", S2P_DISTANCE_MAX, 0.01 },
        { "pixelprune:max:1e-2", "pixelprune:0.01", S2P_DISTANCE_MAX, 0.01 },
        { "pixelprune:mae:0.05", "pixelprune:mae:0.05", S2P_DISTANCE_MAE, 0.05 },
        { "pixelprune:rmse:1", "pixelprune:rmse:1", S2P_DISTANCE_RMSE, 1.0 },
        { "pixelprune:rmse:0.0", "pixelprune", S2P_DISTANCE_RMSE, 0.0 },
        { "", NULL, 0, 0 },
        { "pixel", NULL, 0, 0 },
        { "pixelprunes", NULL, 0, 0 },
        { "pixelprune:", NULL, 0, 0 },
        { "pixelprune:-0.1", NULL, 0, 0 },
        { "pixelprune:1.5", NULL, 0, 0 },
        { "pixelprune:nan", NULL, 0, 0 },
        { "pixelprune:0x1p-4", NULL, 0, 0 },
        { "pixelprune:mae", NULL, 0, 0 },
        { "pixelprune:mae:", NULL, 0, 0 },
        { "pixelprune:mae:0.1:0.1", NULL, 0, 0 },
        { "pixelprune:0.1 ", NULL, 0, 0 },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        s2p_pixelprune o;
        s2p_error error = { S2P_OK, "" };
        char text[S2P_PIXELPRUNE_TEXT];
        const s2p_status st = s2p_pixelprune_read(rows[i].text, strlen(rows[i].text), &o, &error);
        CHECK_CASE((st == S2P_OK) == (rows[i].back != NULL), "'%s'", rows[i].text);
        if (!rows[i].back) {
            assert_non_null(strstr(error.message, "threshold from 0 to 1"));
            continue;
        }
        CHECK_CASE(o.metric == rows[i].metric && o.threshold == rows[i].threshold, "'%s'",
                   rows[i].text);
        assert_string_equal(s2p_pixelprune_text(&o, text), rows[i].back);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_worked),   cmocka_unit_test(test_metrics),
        cmocka_unit_test(test_promises), cmocka_unit_test(test_noisy_photograph),
        cmocka_unit_test(test_refusals), cmocka_unit_test(test_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
