/* test_geometry.c - target sizes against the reference's own numbers (data/image). */
#include "base/json.h"
#include "image/geometry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static json_t *load(const char *path, const json_t **cases, size_t n)
{
    json_t *root = NULL;
    s2p_error error;
    assert_int_equal(s2_json_read_file(path, 1 << 20, &root, &error), S2P_OK);
    *cases = json_object_get(root, "cases");
    assert_int_equal(json_array_size(*cases), n);
    return root;
}

static int32_t member(const json_t *object, const char *key)
{
    int32_t value = -1;
    assert_true(s2_json_int(object, key, &value));
    return value;
}

static int32_t element(const json_t *array, size_t i)
{
    return (int32_t)json_integer_value(json_array_get(array, i));
}

static void smart_resize(void **state)
{
    (void)state;
    const json_t *cases;
    json_t *root = load(S2_TEST_DATA "/image/smart_resize.json", &cases, 48);
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *c = json_array_get(cases, i), *expected = json_object_get(c, "out");
        const s2_size in = { member(c, "w"), member(c, "h") };
        s2_size out = { -1, -1 };
        const s2p_status st = s2_smart_resize(in, 28, member(c, "min"), member(c, "max"), &out);
        if (json_is_null(expected)) {
            assert_int_equal(st, S2P_EUNSUPPORTED);
            assert_int_equal(out.width, -1);
            continue;
        }
        assert_int_equal(st, S2P_OK);
        assert_int_equal(out.height, element(expected, 0));
        assert_int_equal(out.width, element(expected, 1));
    }
    json_decref(root);
}

/* 70 = 2.5 * 28 goes to even 56, 98 = 3.5 * 28 to 112; C's round would give 84. */
static void half_to_even(void **state)
{
    (void)state;
    s2_size out;
    assert_int_equal(s2_smart_resize((s2_size){ 70, 98 }, 28, 1, 1 << 20, &out), S2P_OK);
    assert_int_equal(out.width, 56);
    assert_int_equal(out.height, 112);
    assert_int_equal(s2_smart_resize((s2_size){ 672, 672 }, 28, 3136, 1003520, &out), S2P_OK);
    assert_int_equal(out.width, 672);

    assert_int_equal(s2_smart_resize((s2_size){ 0, 9 }, 28, 3136, 1003520, &out), S2P_EINVAL);
    assert_int_equal(s2_smart_resize((s2_size){ 9, 9 }, 0, 3136, 1003520, &out), S2P_EINVAL);
    assert_int_equal(s2_smart_resize((s2_size){ 9, 9 }, 28, 10, 9, &out), S2P_EINVAL);
    assert_int_equal(s2_smart_resize((s2_size){ 200, 1 }, 28, 3136, 1003520, &out), S2P_OK);
    assert_int_equal(s2_smart_resize((s2_size){ 201, 1 }, 28, 3136, 1003520, &out),
                     S2P_EUNSUPPORTED);
}

static void anyres(void **state)
{
    (void)state;
    const json_t *cases;
    json_t *root = load(S2_TEST_DATA "/image/anyres.json", &cases, 20);
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *c = json_array_get(cases, i), *best = json_object_get(c, "best");
        const s2_anyres plan = s2_anyres_plan((s2_size){ member(c, "w"), member(c, "h") }, 384, 27);
        assert_int_equal(plan.best.height, element(best, 0));
        assert_int_equal(plan.best.width, element(best, 1));
        assert_int_equal(plan.n_views, member(c, "views"));
        assert_int_equal(plan.rows * plan.cols, member(c, "unpadded"));
        assert_int_equal(plan.rows, member(c, "newlines"));
        assert_int_equal(plan.n_tokens, member(c, "total"));
    }
    json_decref(root);

    /* 1536x1000 in 4x3 tiles: 108 columns, 70 rows and one for parity; 71 * 108 / 6561 is 1.081
     * squared, more than 9 tiles but not yet shrunk. */
    const s2_anyres slack = s2_anyres_plan((s2_size){ 1536, 1000 }, 384, 27);
    assert_int_equal(slack.n_views, 13);
    assert_int_equal(slack.cols, 108);
    assert_int_equal(slack.rows, 71);
    assert_int_equal(slack.n_tokens, 729 + 71 * 108 + 71);
    assert_int_equal(s2_anyres_plan((s2_size){ 0, 5 }, 384, 27).n_views, 0);
    assert_int_equal(s2_anyres_plan((s2_size){ 5, 5 }, 0, 27).n_views, 0);
}

/* Any size gives a plan with at least one row and column, and no more than the limit of 9 tiles
 * (1.1 squared of slack before shrinking) of tokens. */
static void anyres_bounds(void **state)
{
    (void)state;
    for (int32_t w = 1; w < 4000; w += 37) {
        for (int32_t h = 1; h < 4000; h += 53) {
            const s2_anyres plan = s2_anyres_plan((s2_size){ w, h }, 384, 27);
            assert_in_range(plan.n_views, 2, 37);
            assert_in_range(plan.rows, 1, 162);
            assert_in_range(plan.cols, 1, 162);
            assert_true(plan.rows * plan.cols <= 9 * 27 * 27 * 121 / 100);
        }
    }
}

/* Recorded from transformers' get_optimal_tiled_canvas: height, width, most tiles, columns, rows. */
static void nearest_tiles(void **state)
{
    (void)state;
    static const int32_t cases[][5] = {
        { 375, 500, 12, 4, 3 },   { 375, 500, 6, 3, 2 },    { 375, 500, 4, 1, 1 },
        { 300, 431, 12, 3, 2 },   { 250, 500, 12, 2, 1 },   { 672, 672, 12, 2, 2 },
        { 672, 672, 2, 1, 1 },    { 448, 448, 12, 1, 1 },   { 100, 100, 12, 1, 1 },
        { 1000, 1000, 12, 3, 3 }, { 1000, 1000, 6, 2, 2 },  { 100, 1500, 12, 12, 1 },
        { 1500, 100, 12, 1, 12 }, { 1080, 1920, 12, 4, 2 }, { 1080, 1920, 6, 2, 1 },
        { 3000, 4000, 4, 2, 2 },  { 640, 480, 12, 3, 4 },   { 640, 480, 2, 1, 2 },
        { 900, 890, 12, 2, 2 },   { 333, 1000, 12, 3, 1 },  { 2000, 1000, 12, 2, 4 },
        { 2000, 1000, 6, 1, 2 },  { 448, 1344, 2, 2, 1 },   { 448, 1344, 12, 3, 1 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int32_t *c = cases[i];
        const s2_size tiles = s2_nearest_tiles((s2_size){ c[1], c[0] }, 448, 1, c[2]);
        assert_int_equal(tiles.width, c[3]);
        assert_int_equal(tiles.height, c[4]);
    }
    const s2_size several = s2_nearest_tiles((s2_size){ 100, 100 }, 448, 3, 12);
    assert_true(several.width == 2 && several.height == 2); /* of 3 to 12 the first square */
}

/* Recorded from transformers: height, width, longest side, then height and width after each step. */
static void longest_side_tiles(void **state)
{
    (void)state;
    static const int32_t cases[][7] = {
        { 375, 500, 2048, 1536, 2048, 1536, 2048 },   { 375, 500, 512, 384, 512, 512, 512 },
        { 300, 431, 2048, 1426, 2048, 1536, 2048 },   { 300, 431, 1024, 712, 1024, 1024, 1024 },
        { 672, 672, 1024, 1024, 1024, 1024, 1024 },   { 250, 500, 2048, 1024, 2048, 1024, 2048 },
        { 100, 1500, 2048, 136, 2048, 512, 2048 },    { 1500, 100, 512, 512, 34, 512, 512 },
        { 1080, 1920, 2048, 1152, 2048, 1536, 2048 }, { 640, 480, 1024, 1024, 768, 1024, 1024 },
        { 33, 1000, 2048, 68, 2048, 512, 2048 },      { 33, 1000, 512, 16, 512, 512, 512 },
    };
    s2_size fitted, tiled;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int32_t *c = cases[i];
        assert_int_equal(s2_longest_side_tiles((s2_size){ c[1], c[0] }, 512, c[2], &fitted, &tiled),
                         S2P_OK);
        assert_true(fitted.height == c[3] && fitted.width == c[4]);
        assert_true(tiled.height == c[5] && tiled.width == c[6]);
    }
    assert_int_equal(s2_longest_side_tiles((s2_size){ 0, 5 }, 512, 2048, &fitted, &tiled),
                     S2P_EINVAL);
    assert_int_equal(s2_longest_side_tiles((s2_size){ 1 << 20, 1 }, 512, 2048, &fitted, &tiled),
                     S2P_OK); /* a line */
    assert_true(fitted.height == 1 && tiled.height == 512 && tiled.width == 2048);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(smart_resize),  cmocka_unit_test(half_to_even),
        cmocka_unit_test(anyres),        cmocka_unit_test(anyres_bounds),
        cmocka_unit_test(nearest_tiles), cmocka_unit_test(longest_side_tiles)
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
