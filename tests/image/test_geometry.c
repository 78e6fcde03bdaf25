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

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(smart_resize),
                                        cmocka_unit_test(half_to_even), cmocka_unit_test(anyres),
                                        cmocka_unit_test(anyres_bounds) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
