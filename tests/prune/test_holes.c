/* test_holes.c - grids of which some tokens never entered the tower: cells, shares, every method. */
#include "method_signals.h"
#include "picture.h"
#include "prune/holes.h"

#include <stdlib.h>
#include <string.h>

enum { PX = 96 };
static uint8_t pixels[PX * PX * 3];
static method_signals signals;
static int32_t alive[SIGNAL_TOKENS], there[SIGNAL_TOKENS];

static s2p_holes *holes_of(const int32_t *tokens, int32_t n, s2p_grid grid)
{
    const s2p_view view = { .alive = tokens, .n_alive = n };
    s2p_holes *holes = NULL;
    assert_int_equal(s2p_holes_make(&holes, &view, grid), S2P_OK);
    return holes;
}

/* Tokens at random; at least one. */
static int32_t draw_there(uint32_t *seed, int32_t n_tokens, uint32_t percent)
{
    int32_t n = 0;
    for (int32_t t = 0; t < n_tokens; t++)
        if (next_random(seed) % 100u < percent) there[n++] = t;
    if (n == 0) there[n++] = n_tokens - 1;
    return n;
}

static void test_counts(void **state)
{
    (void)state;
    /* x . x
     * . . x */
    const int32_t tokens[] = { 0, 2, 5 };
    const s2p_grid grid = { 2, 3 };
    s2p_holes *holes = holes_of(tokens, 3, grid);
    assert_int_equal(s2p_count_there(holes, (s2p_rect){ 0, 0, 2, 3 }), 3);
    assert_int_equal(s2p_count_there(holes, (s2p_rect){ 0, 1, 2, 2 }), 0);
    assert_int_equal(s2p_count_there(holes, (s2p_rect){ 0, 2, 2, 3 }), 2);
    assert_int_equal(s2p_count_there(NULL, (s2p_rect){ 0, 1, 2, 3 }), 4);
    assert_true(s2p_is_there(holes, 2) && !s2p_is_there(holes, 1) && s2p_is_there(NULL, 1));
    s2p_holes_free(holes);
    assert_null(holes_of((const int32_t[]){ 0, 1, 2, 3, 4, 5 }, 6, grid)); /* all are there */
}

static void test_refusals(void **state)
{
    (void)state;
    static const int32_t twice[] = { 1, 1 }, far[] = { 0, 6 }, below[] = { -1, 2 };
    const int32_t *const lists[] = { twice, far, below };
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        const s2p_view view = { .alive = lists[i], .n_alive = 2 };
        s2p_holes *holes;
        assert_int_equal(s2p_holes_make(&holes, &view, (s2p_grid){ 2, 3 }), S2P_EINVAL);
        assert_null(holes);
    }
}

/* The cell with most tokens is halved at the middle of its area; an empty half is cut off. */
static void test_cells_worked(void **state)
{
    (void)state;
    /* . . . x
     * . . . x
     * . . . x
     * x . . .  */
    const int32_t tokens[] = { 3, 7, 11, 12 };
    const s2p_grid grid = { 4, 4 };
    s2p_holes *holes = holes_of(tokens, 4, grid);
    s2p_rect cell[4];
    assert_int_equal(s2p_cells_there(holes, (s2p_rect){ 0, 0, 4, 4 }, 4, cell), S2P_OK);
    /* rows 0-1 | rows 2-3; the upper one first (equal, earliest): columns 0-1 are empty, then rows */
    static const s2p_rect expected[] = {
        { 0, 2, 1, 4 }, { 1, 2, 2, 4 }, { 2, 0, 4, 2 }, { 2, 2, 4, 4 }
    };
    assert_memory_equal(cell, expected, sizeof expected);
    assert_int_equal(s2p_cells_there(holes, (s2p_rect){ 0, 0, 4, 4 }, 5, cell), S2P_EBUDGET);
    assert_int_equal(s2p_cells_there(holes, (s2p_rect){ 0, 1, 4, 3 }, 1, cell), S2P_EBUDGET);
    s2p_holes_free(holes);
}

/* No cell without a token, no token in two; what no cell has is a hole. */
static void test_cells_promises(void **state)
{
    (void)state;
    uint32_t seed = 11;
    for (int32_t round = 0; round < 300; round++) {
        const s2p_grid grid = { 1 + (int32_t)(next_random(&seed) % 14),
                                1 + (int32_t)(next_random(&seed) % 14) };
        const int32_t n = draw_there(&seed, s2p_tokens(grid), 40);
        if (n == s2p_tokens(grid)) continue;
        s2p_holes *holes = holes_of(there, n, grid);
        s2p_rect cell[196];
        const int32_t n_cells = 1 + (int32_t)(next_random(&seed) % (uint32_t)n);
        const s2p_rect all = { 0, 0, grid.rows, grid.cols };
        assert_int_equal(s2p_cells_there(holes, all, n_cells, cell), S2P_OK);
        int32_t sum = 0;
        for (int32_t i = 0; i < n_cells; i++) {
            assert_true(s2p_count_there(holes, cell[i]) > 0);
            sum += s2p_count_there(holes, cell[i]);
            for (int32_t k = 0; k < i; k++)
                assert_true(cell[i].row0 >= cell[k].row1 || cell[k].row0 >= cell[i].row1 ||
                            cell[i].col0 >= cell[k].col1 || cell[k].col0 >= cell[i].col1);
        }
        assert_int_equal(sum, n);
        s2p_holes_free(holes);
    }
}

/* With every token there, given as a list, S2Prune's cells and choices are those without one. */
static void test_whole_list_is_none(void **state)
{
    (void)state;
    const s2p_grid grid = { 9, 11 };
    const s2p_image image = make_picture(pixels, PX, PX, 3);
    s2p_plan *plan, *other;
    assert_int_equal(s2p_plan_create(&plan, grid), S2P_OK);
    assert_int_equal(s2p_plan_create(&other, grid), S2P_OK);
    for (int32_t t = 0; t < 99; t++) there[t] = t;
    for (size_t i = 0; s2p_method_at(i); i++) {
        const s2p_method *m = s2p_method_at(i);
        fill_signals(&signals, (uint32_t)i);
        s2p_view view = view_of_signals(&signals, &image, 99, 30);
        assert_int_equal(run_stages(m, view, plan, alive, NULL), S2P_OK);
        view.alive = there;
        view.n_alive = 99;
        assert_int_equal(run_stages(m, view, other, alive, NULL), S2P_OK);
        int32_t n, n_other;
        const int32_t *keep = s2p_plan_keep(plan, &n), *keep_other = s2p_plan_keep(other, &n_other);
        CHECK_CASE(n == n_other && memcmp(keep, keep_other, (size_t)n * sizeof *keep) == 0, "%s",
                   s2p_method_about(m)->name);
    }
    s2p_plan_free(other);
    s2p_plan_free(plan);
}

static bool is_listed(int32_t token, const int32_t *list, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        if (list[i] == token) return true;
    return false;
}

/* Exactly the budget, or all there are; only tokens that are there, kept or merged. */
static void check_method(const s2p_method *m, const s2p_image *image, s2p_plan *plan, int32_t n,
                         int32_t budget, s2p_mode mode)
{
    const char *name = s2p_method_about(m)->name;
    s2p_view view = view_of_signals(&signals, image, n, budget);
    s2p_error error = { S2P_OK, "" };
    int32_t n_kept, n_merges;
    view.mode = mode;
    view.alive = there;
    view.n_alive = n;
    const s2p_status st = run_stages(m, view, plan, alive, &error);
    const bool is_default = mode == S2P_MODE_DEFAULT;
    CHECK_CASE(st == S2P_OK || (!is_default && st == S2P_EUNSUPPORTED), "%s, %d of %d: %s", name,
               budget, n, error.message);
    if (st != S2P_OK) return;
    const int32_t *keep = s2p_plan_keep(plan, &n_kept);
    const bool keeps_all = budget >= n || s2p_method_about(m)->keeps_all;
    CHECK_CASE(!is_default || n_kept == (keeps_all ? n : budget), "%s kept %d, not %d of %d", name,
               n_kept, budget, n);
    for (int32_t i = 0; i < n_kept; i++)
        CHECK_CASE(is_listed(keep[i], there, n), "%s kept %d, which is not there", name, keep[i]);
    const s2p_merge *merge = s2p_plan_merges(plan, &n_merges);
    for (int32_t i = 0; i < n_merges; i++)
        CHECK_CASE(is_listed(merge[i].from, there, n) && is_listed(merge[i].into, keep, n_kept),
                   "%s merged %d into %d", name, merge[i].from, merge[i].into);
}

static void test_every_method(void **state)
{
    (void)state;
    static const s2p_grid grids[] = { { 12, 10 }, { 3, 17 }, { 1, 9 } };
    const s2p_image image = make_picture(pixels, PX, PX, 3);
    uint32_t seed = 3;
    for (size_t g = 0; g < COUNT_OF(grids); g++) {
        s2p_plan *plan;
        assert_int_equal(s2p_plan_create(&plan, grids[g]), S2P_OK);
        for (uint32_t percent = 0; percent <= 90; percent += 30) {
            const int32_t n = draw_there(&seed, s2p_tokens(grids[g]), percent);
            for (size_t i = 0; s2p_method_at(i); i++) {
                fill_signals(&signals, (uint32_t)(100 * g + i));
                for (int32_t budget = 1; budget <= s2p_tokens(grids[g]) + 1; budget += 5) {
                    check_method(s2p_method_at(i), &image, plan, n, budget, S2P_MODE_DEFAULT);
                    check_method(s2p_method_at(i), &image, plan, n, budget, S2P_MODE_PUBLISHED);
                }
            }
        }
        s2p_plan_free(plan);
    }
}

/* Every allocator and selector of the scaffold. */
static void test_every_choice(void **state)
{
    (void)state;
    const s2p_grid grid = { 12, 12 };
    const s2p_image image = make_picture(pixels, PX, PX, 3);
    uint32_t seed = 21;
    s2p_plan *plan;
    assert_int_equal(s2p_plan_create(&plan, grid), S2P_OK);
    for (size_t a = 0; s2p_allocator_name(a); a++)
        for (size_t s = 0; s2p_selector_name(s); s++)
            for (int32_t round = 0; round < 4; round++) {
                const int32_t n = draw_there(&seed, 144, 35), budget = n / 2;
                fill_signals(&signals, (uint32_t)round);
                s2p_view view = view_of_signals(&signals, &image, n, budget);
                view.alive = there;
                view.n_alive = n;
                view.choice = (s2p_choice){ .allocator = s2p_allocator_name(a),
                                            .selector = s2p_selector_name(s) };
                s2p_error error = { S2P_OK, "" };
                CHECK_CASE(s2p_prune(&view, plan, &error) == S2P_OK, "%s", error.message);
                int32_t n_kept, sum = 0;
                const int32_t *keep = s2p_plan_keep(plan, &n_kept);
                const s2p_layout l = s2p_plan_layout(plan);
                s2p_holes *holes = holes_of(there, n, grid);
                assert_int_equal(n_kept, budget);
                for (int32_t g = 0; g < l.side * l.side; g++) {
                    const int32_t capacity = s2p_count_there(holes, l.region[g]);
                    assert_true(l.share[g] <= capacity && (l.share[g] > 0) == (capacity > 0));
                    sum += l.share[g];
                }
                assert_int_equal(sum, budget);
                for (int32_t i = 0; i < n_kept; i++) assert_true(s2p_is_there(holes, keep[i]));
                s2p_holes_free(holes);
            }
    s2p_plan_free(plan);
}

/* Two of nine regions have tokens: a budget of two is enough, and the best of each is kept. */
static void test_empty_regions(void **state)
{
    (void)state;
    const s2p_grid grid = { 6, 6 };
    const int32_t tokens[] = { 0, 1, 28, 29, 34, 35 };
    float erc[] = { 1, 2, 3, 9, 4, 5 };
    const s2p_image image = make_picture(pixels, PX, PX, 3);
    s2p_view view = { .budget = 2, .image = &image, .alive = tokens, .n_alive = 6 };
    s2p_plan *plan;
    int32_t n;
    view.choice.side = 3;
    view.signal[S2P_ERC] = (s2p_signal){ erc, { 6 } };
    assert_int_equal(s2p_plan_create(&plan, grid), S2P_OK);
    assert_int_equal(s2p_prune(&view, plan, NULL), S2P_OK);
    const int32_t *keep = s2p_plan_keep(plan, &n);
    assert_int_equal(n, 2);
    assert_int_equal(keep[0], 1);
    assert_int_equal(keep[1], 29);
    view.budget = 1;
    s2p_error error = { S2P_OK, "" };
    assert_int_equal(s2p_prune(&view, plan, &error), S2P_EBUDGET);
    assert_non_null(strstr(error.message, "outside 2 "));
    s2p_plan_free(plan);
}

/* Signals of all tokens that entered: one row for each, not one for each place of the grid. */
static void test_shapes(void **state)
{
    (void)state;
    const int32_t tokens[] = { 0, 3, 4 };
    const s2p_method *m = s2p_method_find("divprune");
    s2p_plan *plan;
    assert_int_equal(s2p_plan_create(&plan, (s2p_grid){ 2, 3 }), S2P_OK);
    fill_signals(&signals, 1);
    s2p_view view = view_of_signals(&signals, NULL, 6, 2);
    view.alive = tokens;
    view.n_alive = 3;
    s2p_error error = { S2P_OK, "" };
    assert_int_equal(s2p_method_run(m, &view, plan, &error), S2P_EINVAL);
    assert_non_null(strstr(error.message, "is 6, expected 3"));
    view.signal[S2P_FEATURE].shape[0] = 3;
    assert_int_equal(s2p_method_run(m, &view, plan, &error), S2P_OK);
    s2p_plan_free(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_cells_worked),
        cmocka_unit_test(test_cells_promises),
        cmocka_unit_test(test_whole_list_is_none),
        cmocka_unit_test(test_every_method),
        cmocka_unit_test(test_every_choice),
        cmocka_unit_test(test_empty_regions),
        cmocka_unit_test(test_shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
