/* test_alloc_fail.c - fail the 1st, 2nd, ... allocation of every call; expect a clean refusal. */
#include "failing_malloc.h"
#include "method_signals.h"
#include "picture.h"

enum { PX = 60, DIM = 4 };
static uint8_t pixels[PX * PX * 3];
static float erc[576], feature[576 * DIM];
static method_signals recorded;
static int32_t alive[SIGNAL_TOKENS];

/* Every method, as it is by default and as published, at every stage. */
static s2p_status run_methods(const s2p_image *image)
{
    const s2p_grid grid = { 6, 10 };
    s2p_plan *plan = NULL;
    s2p_status st = s2p_plan_create(&plan, grid);
    for (size_t i = 0; st == S2P_OK && s2p_method_at(i); i++)
        for (int32_t mode = 0; st == S2P_OK && mode < 2; mode++) {
            s2p_view view = view_of_signals(&recorded, image, 60, 30);
            view.mode = (s2p_mode)mode;
            st = run_stages(s2p_method_at(i), view, plan, alive, NULL);
            if (st == S2P_EUNSUPPORTED && mode == S2P_MODE_PUBLISHED) st = S2P_OK;
        }
    s2p_plan_free(plan);
    return st;
}

/* Every public function that can allocate, once. */
static s2p_status run_everything(const s2p_image *image)
{
    const s2p_grid grid = { 24, 24 };
    const double score[2] = { 0, 1 };
    const int32_t capacity[2] = { 4, 4 };
    int32_t out[2];
    s2p_moments moments[25];
    s2p_plan *plan = NULL;

    s2p_status st = s2p_budget(score, capacity, 2, 5, out);
    if (st == S2P_OK) st = s2p_laplacian(image, grid, 5, moments);
    if (st == S2P_OK) st = s2p_intensity(image, grid, 5, moments);
    if (st == S2P_OK) st = s2p_plan_create(&plan, grid);
    s2p_view view = {
        .budget = 64,
        .image = image,
        .signal = { [S2P_ERC] = { erc, { 576 } }, [S2P_FEATURE] = { feature, { 576, DIM } } }
    };
    for (size_t a = 0; st == S2P_OK && s2p_allocator_name(a); a++) {
        view.choice.allocator = s2p_allocator_name(a);
        st = s2p_prune(&view, plan, NULL);
    }
    s2p_plan_free(plan);
    return st == S2P_OK ? run_methods(image) : st;
}

static void test_each_in_turn(void **state)
{
    (void)state;
    const s2p_image image = make_picture(pixels, PX, PX, 1);
    fill_signals(&recorded, 4);
    int n = 0;
    s2p_status st;
    do {
        allocations_left = n++;
        st = run_everything(&image);
        assert_true(st == S2P_OK || st == S2P_ENOMEM);
        assert_true(n < 10000);
    } while (st != S2P_OK);
    allocations_left = -1;
    assert_true(n > 6); /* budget takes two, the two pixel passes and the plan at least one each */
}

/* After set-up, pruning allocates nothing (erank, an ablation, aside). */
static void test_none_after_set_up(void **state)
{
    (void)state;
    const s2p_image image = make_picture(pixels, PX, PX, 1);
    s2p_plan *plan;
    assert_int_equal(s2p_plan_create(&plan, (s2p_grid){ 24, 24 }), S2P_OK);
    assert_int_equal(s2p_s2prune(&image, 192, 0, erc, plan), S2P_OK);
    allocations_seen = 0;
    for (int32_t budget = 81; budget <= 576; budget++)
        assert_int_equal(s2p_s2prune(&image, budget, 9, erc, plan), S2P_OK);
    assert_int_equal(allocations_seen, 0);
    s2p_plan_free(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_in_turn),
        cmocka_unit_test(test_none_after_set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
