/* test_plan.c - the whole method through the public door: promises, choices, refusals. */
#include "check.h"
#include "picture.h"
#include "s2prune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 24, N = SIDE * SIDE, DIM = 16, QUERIES = 3, PX = 150 };

typedef struct fixture {
    uint8_t pixels[PX * PX * 3];
    float erc[N], hidden[N * DIM], feature[N * DIM], attn[QUERIES * N];
    s2p_image image;
    s2p_view view;
    s2p_plan *plan;
} fixture;

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    if (!f) return -1;
    uint32_t s = 5;
    f->image = make_picture(f->pixels, PX, PX, 11);
    for (int32_t i = 0; i < N; i++) f->erc[i] = (float)next_random(&s) / (1 << 24);
    for (int32_t i = 0; i < N * DIM; i++) {
        f->hidden[i] = (float)random_below(&s, 2000) / 1000.0f - 1.0f;
        f->feature[i] = (float)random_below(&s, 2000) / 1000.0f - 1.0f;
    }
    for (int32_t i = 0; i < QUERIES * N; i++) f->attn[i] = (float)random_below(&s, 1000) / 1000.0f;
    f->view = (s2p_view){ .image = &f->image,
                          .signal = { [S2P_ERC] = { f->erc, { N } },
                                      [S2P_HIDDEN] = { f->hidden, { N, DIM } },
                                      [S2P_FEATURE] = { f->feature, { N, DIM } },
                                      [S2P_QUERY_ATTN] = { f->attn, { QUERIES, N } } } };
    *state = f;
    return s2p_plan_create(&f->plan, (s2p_grid){ SIDE, SIDE }) == S2P_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    s2p_plan_free(f->plan);
    free(f);
    return 0;
}

/* The view with another budget and another choice (NULL: the paper's). */
static s2p_status prune(const s2p_view *view, int32_t budget, const s2p_choice *choice,
                        s2p_plan *plan, s2p_error *error)
{
    s2p_view asked = *view;
    asked.budget = budget;
    if (choice) asked.choice = *choice;
    return s2p_prune(&asked, plan, error);
}

/* Exactly `budget` rows, strictly ascending, in range; one in each cell; order is a permutation. */
static void check_promises(const s2p_plan *plan, int32_t budget)
{
    int32_t n, n_order;
    const int32_t *keep = s2p_plan_keep(plan, &n), *order = s2p_plan_order(plan, &n_order);
    const s2p_layout layout = s2p_plan_layout(plan);
    assert_int_equal(n, budget);
    assert_int_equal(n_order, budget);
    assert_int_equal(layout.budget, budget);
    int32_t sum = 0, sum_order = 0;
    for (int32_t i = 0; i < n; i++) {
        assert_in_range(keep[i], 0, N - 1);
        if (i) assert_true(keep[i - 1] < keep[i]);
        sum += keep[i];
        sum_order += order[i];
        const int32_t row = order[i] / SIDE, col = order[i] % SIDE;
        const s2p_rect cell = layout.cell[i];
        assert_true(cell.row0 <= row && row < cell.row1 && cell.col0 <= col && col < cell.col1);
    }
    assert_int_equal(sum, sum_order);
    int32_t shares = 0;
    for (int32_t g = 0; g < layout.side * layout.side; g++) shares += layout.share[g];
    assert_int_equal(shares, budget);
}

static void test_every_choice_keeps_the_promises(void **state)
{
    fixture *f = *state;
    for (size_t a = 0; s2p_allocator_name(a); a++)
        for (size_t s = 0; s2p_selector_name(s); s++)
            for (int32_t budget = 25; budget <= N; budget += budget < 100 ? 13 : 119) {
                const s2p_choice choice = { 5, s2p_allocator_name(a), s2p_selector_name(s), 3 };
                s2p_error error = { 0 };
                CHECK_CASE(prune(&f->view, budget, &choice, f->plan, &error) == S2P_OK,
                           "%s %s %d: %s", choice.allocator, choice.selector, budget,
                           error.message);
                check_promises(f->plan, budget);
            }
}

/* The one call equals the steps, taken one by one. */
static void test_equals_the_steps(void **state)
{
    fixture *f = *state;
    const s2p_grid grid = { SIDE, SIDE };
    assert_int_equal(s2p_s2prune(&f->image, 64, 0, f->erc, f->plan), S2P_OK);

    s2p_rect regions[25], cells[64];
    s2p_moments moments[25];
    float raw[25], score[25];
    double wide[25];
    int32_t capacity[25], share[25], pick[64], n = 0;
    assert_int_equal(s2p_coarse_side(grid, 64), 5);
    assert_int_equal(s2p_partition(grid, 5, regions), S2P_OK);
    assert_int_equal(s2p_laplacian(&f->image, grid, 5, moments), S2P_OK);
    for (int32_t g = 0; g < 25; g++) {
        raw[g] = (float)s2p_variance(moments[g]);
        capacity[g] = (regions[g].row1 - regions[g].row0) * (regions[g].col1 - regions[g].col0);
    }
    assert_int_equal(s2p_normalise(raw, 25, score), S2P_OK);
    for (int32_t g = 0; g < 25; g++) wide[g] = (double)score[g];
    assert_int_equal(s2p_budget(wide, capacity, 25, 64, share), S2P_OK);
    for (int32_t g = 0; g < 25; n += share[g++])
        assert_int_equal(s2p_cells(regions[g], share[g], cells + n), S2P_OK);
    assert_int_equal(s2p_select(grid, cells, 64, f->erc, pick), S2P_OK);
    s2p_sort(pick, 64);

    int32_t n_keep;
    const int32_t *keep = s2p_plan_keep(f->plan, &n_keep);
    assert_int_equal(n_keep, 64);
    assert_memory_equal(keep, pick, sizeof pick);
    const s2p_layout layout = s2p_plan_layout(f->plan);
    assert_memory_equal(layout.share, share, sizeof share);
    assert_memory_equal(layout.raw, raw, sizeof raw);
    assert_true(layout.share[4] > layout.share[20]); /* noise top right, a ramp bottom left */
}

static void test_selectors_look_at_the_right_thing(void **state)
{
    fixture *f = *state;
    int32_t n;
    memset(f->hidden, 0, sizeof f->hidden);
    f->hidden[300 * DIM + 3] = -9.0f; /* largest norm, negative value */
    memset(f->attn, 0, sizeof f->attn);
    f->attn[0 * N + 100] = 0.9f;             /* an early question token */
    f->attn[(QUERIES - 1) * N + 200] = 0.5f; /* the last one */
    static const struct {
        const char *selector;
        int32_t expect;
    } cases[] = {
        { "norm", 300 }, { "query-all", 100 }, { "query-last", 200 }, { "centre", 11 * SIDE + 11 }
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const s2p_choice choice = { 1, "uniform", cases[i].selector, 0 };
        assert_int_equal(prune(&f->view, 1, &choice, f->plan, NULL), S2P_OK);
        CHECK_CASE(s2p_plan_keep(f->plan, &n)[0] == cases[i].expect, "%s", cases[i].selector);
    }
}

static void test_allocators_share_as_documented(void **state)
{
    fixture *f = *state;
    s2p_choice choice = { 5, "uniform", "centre", 0 };
    assert_int_equal(prune(&f->view, 64, &choice, f->plan, NULL), S2P_OK);
    s2p_layout layout = s2p_plan_layout(f->plan);
    for (int32_t g = 0; g < 25; g++) assert_int_equal(layout.share[g], g < 14 ? 3 : 2);

    /* random: another seed, another draw; the same seed, the same. */
    int32_t first[25], second[25];
    choice.allocator = "random";
    assert_int_equal(prune(&f->view, 64, &choice, f->plan, NULL), S2P_OK);
    memcpy(first, s2p_plan_layout(f->plan).share, sizeof first);
    assert_int_equal(prune(&f->view, 64, &choice, f->plan, NULL), S2P_OK);
    assert_memory_equal(first, s2p_plan_layout(f->plan).share, sizeof first);
    choice.seed = 1;
    assert_int_equal(prune(&f->view, 64, &choice, f->plan, NULL), S2P_OK);
    memcpy(second, s2p_plan_layout(f->plan).share, sizeof second);
    assert_memory_not_equal(first, second, sizeof first);

    /* erank: one direction has rank 1, orthonormal rows have the rank of their count. */
    memset(f->feature, 0, sizeof f->feature);
    for (int32_t i = 0; i < N; i++) {
        const int32_t row = i / SIDE, col = i % SIDE;
        const int in_first = row < 4 && col < 4; /* region 0 of 6x6 */
        f->feature[i * DIM + (in_first ? row * 4 + col : 0)] = 2.0f;
    }
    choice = (s2p_choice){ 6, "erank", "centre", 0 };
    assert_int_equal(prune(&f->view, 64, &choice, f->plan, NULL), S2P_OK);
    layout = s2p_plan_layout(f->plan);
    assert_true(fabs((double)layout.raw[0] - 16.0) < 1e-5);
    for (int32_t g = 1; g < 36; g++) assert_true(fabs((double)layout.raw[g] - 1.0) < 1e-5);
    assert_int_equal(layout.share[0], 16); /* all it can hold */
}

/* More tokens than dimensions: most eigenvalues are rounding, and the rank is still right. */
static void test_erank_of_low_rank(void **state)
{
    enum { TOKENS = 24 * 6, WIDE = 83 };
    (void)state;
    static float feature[TOKENS * WIDE];
    s2p_plan *plan;
    assert_int_equal(s2p_plan_create(&plan, (s2p_grid){ 24, 6 }), S2P_OK);
    for (int32_t rank = 1; rank <= WIDE; rank += 41) {
        for (int32_t i = 0; i < TOKENS; i++)
            for (int32_t k = 0; k < WIDE; k++) feature[i * WIDE + k] = i % rank == k ? 1.0f : 0.0f;
        const s2p_view view = { .signal = { [S2P_FEATURE] = { feature, { TOKENS, WIDE } } } };
        const s2p_choice choice = { .side = 1, .allocator = "erank", .selector = "centre" };
        assert_int_equal(prune(&view, 10, &choice, plan, NULL), S2P_OK);
        const double got = (double)s2p_plan_layout(plan).raw[0];
        assert_true(got > 0.97 * rank && got < 1.001 * rank); /* not all multiplicities equal */
    }
    uint32_t s = 3;
    for (int32_t i = 0; i < TOKENS * WIDE; i++)
        feature[i] = (float)random_below(&s, 2001) / 1000.0f - 1.0f;
    const s2p_view view = { .signal = { [S2P_FEATURE] = { feature, { TOKENS, WIDE } } } };
    const s2p_choice choice = { .side = 1, .allocator = "erank", .selector = "centre" };
    assert_int_equal(prune(&view, 10, &choice, plan, NULL), S2P_OK);
    assert_true(s2p_plan_layout(plan).raw[0] > 60.0f && s2p_plan_layout(plan).raw[0] < 84.0f);
    s2p_plan_free(plan);
}

static void test_plan_without_scores_has_cells_only(void **state)
{
    fixture *f = *state;
    int32_t n;
    const s2p_view pixels = { .image = &f->image };
    assert_int_equal(prune(&pixels, 64, NULL, f->plan, NULL), S2P_OK);
    assert_int_equal(s2p_plan_layout(f->plan).budget, 64);
    s2p_plan_keep(f->plan, &n);
    assert_int_equal(n, 0);
}

static void test_refusals(void **state)
{
    fixture *f = *state;
    s2p_error error;
    int32_t n;
    const s2p_choice five = { .side = 5 };
    assert_int_equal(prune(&f->view, 24, &five, f->plan, &error), S2P_EBUDGET);
    assert_non_null(strstr(error.message, "24"));
    assert_int_equal(error.status, S2P_EBUDGET);
    assert_int_equal(prune(&f->view, N + 1, &five, f->plan, &error), S2P_EBUDGET);
    assert_int_equal(prune(&f->view, 0, NULL, f->plan, &error), S2P_EBUDGET);

    s2p_choice bad = { .side = 25 };
    assert_int_equal(prune(&f->view, 64, &bad, f->plan, &error), S2P_EINVAL);
    bad = (s2p_choice){ .side = -1 };
    assert_int_equal(prune(&f->view, 64, &bad, f->plan, &error), S2P_EINVAL);
    bad = (s2p_choice){ .allocator = "lapacian" };
    assert_int_equal(prune(&f->view, 64, &bad, f->plan, &error), S2P_EINVAL);
    bad = (s2p_choice){ .selector = "" };
    assert_int_equal(prune(&f->view, 64, &bad, f->plan, &error), S2P_EINVAL);
    const s2p_view nothing = { 0 };
    assert_int_equal(prune(&nothing, 64, NULL, f->plan, &error), S2P_EINVAL);
    assert_non_null(strstr(error.message, "picture"));

    f->erc[17] = NAN;
    assert_int_equal(s2p_s2prune(&f->image, 64, 0, f->erc, f->plan), S2P_EINVAL);
    s2p_plan_keep(f->plan, &n);
    assert_int_equal(n, 0); /* a failed call leaves nothing behind */
    assert_int_equal(s2p_plan_layout(f->plan).side, 0);
    f->erc[17] = 0;

    const s2p_image tiny = { 2, 40, 6, f->pixels }, few = { 20, 20, 60, f->pixels };
    assert_int_equal(s2p_s2prune(&tiny, 64, 0, f->erc, f->plan), S2P_EUNSUPPORTED);
    assert_int_equal(s2p_s2prune(&few, 64, 0, f->erc, f->plan), S2P_OK);
    const s2p_image few_columns = { 3, 40, 9, f->pixels }; /* 5 regions, 3 columns of pixels */
    assert_int_equal(s2p_s2prune(&few_columns, 64, 0, f->erc, f->plan), S2P_EUNSUPPORTED);
    assert_int_equal(s2p_s2prune(NULL, 64, 0, f->erc, f->plan), S2P_EINVAL);

    s2p_plan *none = f->plan;
    assert_int_equal(s2p_plan_create(&none, (s2p_grid){ 0, 5 }), S2P_EINVAL);
    assert_null(none);
    assert_int_equal(s2p_plan_create(&none, (s2p_grid){ 4096, 4096 }), S2P_EINVAL);
    s2p_plan_free(NULL);
}

static void test_odd_grids(void **state)
{
    fixture *f = *state;
    static const s2p_grid grids[] = { { 1, 1 },   { 1, 40 },  { 11, 15 },
                                      { 18, 32 }, { 27, 27 }, { 40, 2 } };
    for (size_t i = 0; i < COUNT_OF(grids); i++) {
        s2p_plan *plan;
        const int32_t n_tokens = grids[i].rows * grids[i].cols;
        float *erc = calloc((size_t)n_tokens, sizeof *erc);
        assert_non_null(erc);
        assert_int_equal(s2p_plan_create(&plan, grids[i]), S2P_OK);
        for (int32_t budget = 1; budget <= n_tokens; budget++) {
            assert_int_equal(s2p_s2prune(&f->image, budget, 0, erc, plan), S2P_OK);
            int32_t n;
            const int32_t *keep = s2p_plan_keep(plan, &n);
            assert_int_equal(n, budget);
            for (int32_t k = 1; k < n; k++) assert_true(keep[k - 1] < keep[k]);
        }
        s2p_plan_free(plan);
        free(erc);
    }
}

static void test_words(void **state)
{
    (void)state;
    assert_string_equal(s2p_version(), "0.1.0");
    for (int i = S2P_OK; i <= S2P_ECANCELLED; i++)
        assert_string_not_equal(s2p_status_text((s2p_status)i), "unknown status");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_every_choice_keeps_the_promises, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_equals_the_steps, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_selectors_look_at_the_right_thing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_allocators_share_as_documented, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_plan_without_scores_has_cells_only, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refusals, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_odd_grids, set_up, tear_down),
        cmocka_unit_test(test_erank_of_low_rank),
        cmocka_unit_test(test_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
