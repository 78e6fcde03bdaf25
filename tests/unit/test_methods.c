/* test_methods.c - promises every method in the table keeps, whoever wrote it. */
#include "check.h"
#include "picture.h"
#include "prune/method.h"

#include <string.h>

enum { PX = 90 };
static uint8_t pixels[PX * PX * 3];
static float erc[40 * 40];

static s2p_view view_of(s2p_image *image, int32_t budget)
{
    return (s2p_view){ .budget = budget, .signals = { .image = image, .erc = erc } };
}

static void test_table(void **state)
{
    (void)state;
    for (size_t i = 0; s2p_method_at(i); i++) {
        const s2p_method *m = s2p_method_at(i);
        assert_true(m->name && m->source && m->select);
        assert_in_range(m->n_stages, 1, S2P_MAX_STAGES);
        assert_ptr_equal(s2p_method_find(m->name), m); /* also catches duplicate names */
    }
    assert_null(s2p_method_find("no-such-method"));
}

static void test_promises(void **state)
{
    (void)state;
    static const s2p_grid grids[] = { { 24, 24 }, { 11, 15 }, { 1, 7 }, { 40, 3 } };
    s2p_image image = make_picture(pixels, PX, PX, 3);
    for (size_t g = 0; g < COUNT_OF(grids); g++) {
        s2p_plan *plan;
        assert_int_equal(s2p_plan_create(&plan, grids[g]), S2P_OK);
        const int32_t n_tokens = s2p_tokens(grids[g]);
        for (size_t i = 0; s2p_method_at(i); i++)
            for (int32_t budget = 1; budget <= n_tokens + 1; budget++) {
                const s2p_method *m = s2p_method_at(i);
                const s2p_view view = view_of(&image, budget);
                assert_int_equal(s2p_method_run(m, &view, plan, NULL), S2P_OK);
                int32_t n;
                const int32_t *keep = s2p_plan_keep(plan, &n);
                const int keeps_all = budget >= n_tokens || strcmp(m->name, "full") == 0;
                CHECK_CASE(n == (keeps_all ? n_tokens : budget), "%s %d", m->name, budget);
                for (int32_t k = 0; k < n; k++)
                    assert_in_range(keep[k], k ? keep[k - 1] + 1 : 0, n_tokens - 1);
            }
        s2p_plan_free(plan);
    }
}

static void test_uniform_lattice(void **state)
{
    (void)state;
    s2p_plan *plan;
    int32_t n;
    assert_int_equal(s2p_plan_create(&plan, (s2p_grid){ 24, 24 }), S2P_OK);
    s2p_view view = { .budget = 64 };
    assert_int_equal(s2p_method_run(s2p_method_find("uniform"), &view, plan, NULL), S2P_OK);
    const int32_t *keep = s2p_plan_keep(plan, &n);
    for (int32_t i = 0; i < 64; i++) /* 8x8: rows and columns 1, 4, 7, ... */
        assert_int_equal(keep[i], (1 + 3 * (i / 8)) * 24 + 1 + 3 * (i % 8));
    view.budget = 192; /* 12x16: rows 1, 3, ...; columns floor((j + 1/2) 1.5) */
    assert_int_equal(s2p_method_run(s2p_method_find("uniform"), &view, plan, NULL), S2P_OK);
    keep = s2p_plan_keep(plan, &n);
    for (int32_t i = 0; i < 192; i++)
        assert_int_equal(keep[i], (1 + 2 * (i / 16)) * 24 + (2 * (i % 16) + 1) * 24 / 32);
    s2p_plan_free(plan);
}

static void test_random_is_fair_and_seeded(void **state)
{
    (void)state;
    s2p_plan *plan;
    int32_t n, count[36] = { 0 };
    assert_int_equal(s2p_plan_create(&plan, (s2p_grid){ 6, 6 }), S2P_OK);
    for (uint64_t seed = 0; seed < 6000; seed++) {
        const s2p_view view = { .budget = 6, .choice = { .seed = seed } };
        assert_int_equal(s2p_method_run(s2p_method_find("random"), &view, plan, NULL), S2P_OK);
        const int32_t *keep = s2p_plan_keep(plan, &n);
        for (int32_t k = 0; k < n; k++) count[keep[k]]++;
    }
    for (int32_t i = 0; i < 36; i++) assert_in_range(count[i], 850, 1150); /* 1000, sd 29 */

    int32_t small[6];
    s2p_view view = { .budget = 6, .choice = { .seed = 9 } };
    assert_int_equal(s2p_method_run(s2p_method_find("random"), &view, plan, NULL), S2P_OK);
    memcpy(small, s2p_plan_order(plan, &n), sizeof small);
    view.budget = 20;
    assert_int_equal(s2p_method_run(s2p_method_find("random"), &view, plan, NULL), S2P_OK);
    assert_memory_equal(small, s2p_plan_order(plan, &n), sizeof small); /* a superset */
    s2p_plan_free(plan);
}

static void test_missing_signals_are_named(void **state)
{
    (void)state;
    s2p_plan *plan;
    s2p_error error;
    s2p_image image = make_picture(pixels, PX, PX, 3);
    assert_int_equal(s2p_plan_create(&plan, (s2p_grid){ 24, 24 }), S2P_OK);
    s2p_view view = { .budget = 64, .signals = { .image = &image } };
    const s2p_method *m = s2p_method_find("s2prune");
    assert_int_equal(s2p_method_run(m, &view, plan, &error), S2P_EINVAL);
    assert_string_equal(error.message, "method 's2prune' needs ERC scores");
    view.choice.selector = "query-last";
    assert_int_equal(s2p_method_run(m, &view, plan, &error), S2P_EINVAL);
    assert_string_equal(error.message, "method 's2prune' needs question attention");
    view.budget = 0;
    assert_int_equal(s2p_method_run(m, &view, plan, &error), S2P_EBUDGET);
    s2p_plan_free(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_promises),
        cmocka_unit_test(test_uniform_lattice),
        cmocka_unit_test(test_random_is_fair_and_seeded),
        cmocka_unit_test(test_missing_signals_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
