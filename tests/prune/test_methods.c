/* test_methods.c - promises every method in the table keeps, whoever wrote it. */
#include "method_signals.h"
#include "picture.h"

#include <math.h>
#include <string.h>

enum { PX = 90 };
static uint8_t pixels[PX * PX * 3];
static method_signals signals;
static int32_t alive[SIGNAL_TOKENS];

static void test_table(void **state)
{
    (void)state;
    for (size_t i = 0; s2p_method_at(i); i++) {
        const s2p_method *m = s2p_method_at(i);
        assert_true(s2p_method_about(m)->name && s2p_method_about(m)->source && m->select);
        assert_in_range(s2p_method_about(m)->n_stages, 1, S2P_MAX_STAGES);
        for (int32_t s = 0; s < s2p_method_about(m)->n_stages; s++)
            assert_true(s2p_method_about(m)->after[s] >=
                        (s ? s2p_method_about(m)->after[s - 1] + 1 : S2P_BEFORE_DECODER));
        assert_ptr_equal(s2p_method_find(s2p_method_about(m)->name),
                         m); /* also catches duplicate names */
    }
    assert_null(s2p_method_find("no-such-method"));
}

/* Rows taken in are tokens, into rows that stay, and only where the method says that it merges. */
static void check_merges(const s2p_method *m, const s2p_plan *plan, int32_t n_tokens)
{
    int32_t n, n_merges;
    const int32_t *keep = s2p_plan_keep(plan, &n);
    const s2p_merge *merge = s2p_plan_merges(plan, &n_merges);
    CHECK_CASE(s2p_method_about(m)->merges || n_merges == 0, "%s", s2p_method_about(m)->name);
    for (int32_t i = 0; i < n_merges; i++) {
        int32_t at = 0;
        while (at < n && keep[at] != merge[i].into) at++;
        CHECK_CASE(at < n && merge[i].from >= 0 && merge[i].from < n_tokens, "%s",
                   s2p_method_about(m)->name);
        assert_true(isfinite(merge[i].weight));
    }
}

/* Exactly the budget, ascending, in range, twice the same. */
static void check_promises(const s2p_method *m, s2p_image *image, s2p_plan *plan, s2p_grid grid,
                           int32_t budget)
{
    static int32_t first[SIGNAL_TOKENS];
    const int32_t n_tokens = s2p_tokens(grid);
    const s2p_view view = view_of_signals(&signals, image, n_tokens, budget);
    const int keeps_all = budget >= n_tokens || s2p_method_about(m)->keeps_all;
    for (int32_t again = 0; again < 2; again++) {
        s2p_error error = { S2P_OK, "" };
        int32_t n;
        const s2p_status st = run_stages(m, view, plan, alive, &error);
        CHECK_CASE(st == S2P_OK, "%s %d: %s", s2p_method_about(m)->name, budget, error.message);
        const int32_t *keep = s2p_plan_keep(plan, &n);
        CHECK_CASE(n == (keeps_all ? n_tokens : budget), "%s %d of %d kept %d",
                   s2p_method_about(m)->name, budget, n_tokens, n);
        for (int32_t k = 0; k < n; k++)
            CHECK_CASE(keep[k] >= (k ? keep[k - 1] + 1 : 0) && keep[k] < n_tokens, "%s %d",
                       s2p_method_about(m)->name, budget);
        CHECK_CASE(!again || memcmp(first, keep, (size_t)n * sizeof *keep) == 0, "%s %d",
                   s2p_method_about(m)->name, budget);
        memcpy(first, keep, (size_t)n * sizeof *keep);
        assert_int_equal(s2p_plan_blanks(plan), 0);
        check_merges(m, plan, n_tokens);
    }
}

static void test_promises(void **state)
{
    (void)state;
    static const s2p_grid grids[] = { { 24, 24 }, { 11, 15 }, { 1, 7 }, { 40, 3 }, { 1, 1 } };
    s2p_image image = make_picture(pixels, PX, PX, 3);
    for (size_t g = 0; g < COUNT_OF(grids); g++) {
        s2p_plan *plan;
        assert_int_equal(s2p_plan_create(&plan, grids[g]), S2P_OK);
        const int32_t n_tokens = s2p_tokens(grids[g]), step = n_tokens > 200 ? 37 : 1;
        for (size_t i = 0; s2p_method_at(i); i++) {
            fill_signals(&signals, (uint32_t)(100 * g + i));
            for (int32_t budget = 1; budget <= n_tokens + 1; budget += step)
                check_promises(s2p_method_at(i), &image, plan, grids[g], budget);
        }
        s2p_plan_free(plan);
    }
}

/* Signals without any order in them: all zero, or all the same. */
static void test_flat_signals(void **state)
{
    (void)state;
    const s2p_grid grid = { 6, 9 };
    s2p_image image = make_picture(pixels, PX, PX, 3);
    s2p_plan *plan;
    assert_int_equal(s2p_plan_create(&plan, grid), S2P_OK);
    for (int32_t value = 0; value < 2; value++) {
        for (int32_t i = 0; i < SIGNAL_COUNT; i++)
            signals.plain[i] = signals.shifted[i] = signals.positive[i] = (float)value;
        for (size_t i = 0; s2p_method_at(i); i++)
            for (int32_t budget = 1; budget < 54; budget += 4)
                check_promises(s2p_method_at(i), &image, plan, grid, budget);
    }
    s2p_plan_free(plan);
}

/* What the authors' code does may be another number of rows, or a refusal; never anything else. */
static void test_published(void **state)
{
    (void)state;
    static const s2p_grid grids[] = { { 24, 24 }, { 7, 11 }, { 1, 5 } };
    s2p_image image = make_picture(pixels, PX, PX, 3);
    for (size_t g = 0; g < COUNT_OF(grids); g++) {
        s2p_plan *plan;
        const int32_t n_tokens = s2p_tokens(grids[g]);
        assert_int_equal(s2p_plan_create(&plan, grids[g]), S2P_OK);
        for (size_t i = 0; s2p_method_at(i); i++)
            for (int32_t budget = 1; budget <= n_tokens; budget += n_tokens > 100 ? 63 : 3) {
                const s2p_method *m = s2p_method_at(i);
                fill_signals(&signals, (uint32_t)budget);
                s2p_view view = view_of_signals(&signals, &image, n_tokens, budget);
                view.mode = S2P_MODE_PUBLISHED;
                s2p_error error = { S2P_OK, "" };
                const s2p_status st = run_stages(m, view, plan, alive, &error);
                CHECK_CASE(st == S2P_OK || st == S2P_EUNSUPPORTED, "%s %d: %s",
                           s2p_method_about(m)->name, budget, error.message);
                int32_t n;
                const int32_t *keep = s2p_plan_keep(plan, &n);
                assert_true((st == S2P_OK) == (n > 0));
                for (int32_t k = 0; k < n; k++)
                    assert_in_range(keep[k], k ? keep[k - 1] + 1 : 0, n_tokens - 1);
                if (budget == n_tokens) assert_int_equal(n, n_tokens);
                check_merges(m, plan, n_tokens);
            }
        s2p_plan_free(plan);
    }
}

/* A question a method does not see cannot change what it keeps. */
static void test_question_is_seen_by_those_who_say_so(void **state)
{
    (void)state;
    const s2p_grid grid = { 24, 24 };
    static method_signals other;
    static int32_t kept[64];
    s2p_image image = make_picture(pixels, PX, PX, 3);
    s2p_plan *plan;
    assert_int_equal(s2p_plan_create(&plan, grid), S2P_OK);
    fill_signals(&signals, 5);
    fill_signals(&other, 6);
    for (size_t i = 0; s2p_method_at(i); i++) {
        const s2p_method *m = s2p_method_at(i);
        if (s2p_method_about(m)->keeps_all) continue;
        int32_t n;
        s2p_view view = view_of_signals(&signals, &image, 576, 64);
        assert_int_equal(run_stages(m, view, plan, alive, NULL), S2P_OK);
        memcpy(kept, s2p_plan_keep(plan, &n), sizeof kept);
        view.signal[S2P_QUERY_ATTN].data = other.positive;
        view.signal[S2P_LAST_ATTN].data = other.positive;
        view.signal[S2P_TEXT].data = other.plain;
        view.signal[S2P_LAST_QUERY].data = other.plain;
        view.signal[S2P_ROTATED_KEY].data = other.plain;
        assert_int_equal(run_stages(m, view, plan, alive, NULL), S2P_OK);
        const int same = memcmp(kept, s2p_plan_keep(plan, &n), sizeof kept) == 0;
        CHECK_CASE(same == !s2p_method_about(m)->sees_question, "%s", s2p_method_about(m)->name);
    }
    s2p_plan_free(plan);
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

/* Six of 2x5: Algorithm S3 halves 2x5 into 2x2 and 2x3, and goes on with the largest cell. By hand, for
 * B = 2: tokens 0, 1, 5, 6 become token 0; 2, 3, 4, 7, 8, 9 become token 3, the middle of 2x3. */
static void test_pool_is_the_mean_of_each_cell(void **state)
{
    (void)state;
    static const int32_t cell_of[10] = { 0, 0, 1, 1, 1, 0, 0, 1, 1, 1 }, stays[2] = { 0, 3 };
    s2p_plan *plan;
    int32_t n, n_merges;
    assert_int_equal(s2p_plan_create(&plan, (s2p_grid){ 2, 5 }), S2P_OK);
    s2p_view view = { .budget = 2 };
    assert_int_equal(s2p_method_run(s2p_method_find("pool"), &view, plan, NULL), S2P_OK);
    const int32_t *keep = s2p_plan_keep(plan, &n);
    assert_int_equal(n, 2);
    assert_memory_equal(keep, stays, sizeof stays);
    double weight[10] = { 0 };
    const s2p_merge *merge = s2p_plan_merges(plan, &n_merges);
    for (int32_t i = 0; i < n_merges; i++) {
        assert_int_equal(merge[i].into, stays[cell_of[merge[i].from]]);
        weight[merge[i].from] += merge[i].weight;
    }
    for (int32_t t = 0; t < 10; t++) { /* what stays counts once by itself */
        const double all = weight[t] + (t == stays[cell_of[t]]);
        assert_true(fabs(all - (cell_of[t] ? 1.0 / 6.0 : 0.25)) < 1e-15);
    }
    /* token 1 never entered the tower: the mean is of three */
    static const int32_t there[] = { 0, 2, 3, 4, 5, 6, 7, 8, 9 };
    view.alive = there;
    view.n_alive = 9;
    assert_int_equal(s2p_method_run(s2p_method_find("pool"), &view, plan, NULL), S2P_OK);
    merge = s2p_plan_merges(plan, &n_merges);
    for (int32_t i = 0; i < n_merges; i++)
        if (merge[i].from == 6 && merge[i].into == 0)
            assert_true(fabs(merge[i].weight - 1.0 / 3.0) < 1e-15);
    s2p_plan_free(plan);
}

/* The engine shows a smaller picture; the method itself keeps all tokens of it. */
static void test_resize_keeps_what_comes(void **state)
{
    (void)state;
    s2p_plan *plan;
    int32_t n;
    assert_int_equal(s2p_plan_create(&plan, (s2p_grid){ 3, 4 }), S2P_OK);
    const s2p_view view = { .budget = 5 };
    assert_true(s2p_method_about(s2p_method_find("resize"))->resizes);
    assert_int_equal(s2p_method_run(s2p_method_find("resize"), &view, plan, NULL), S2P_OK);
    (void)s2p_plan_keep(plan, &n);
    assert_int_equal(n, 12);
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
    s2p_view view = { .budget = 64, .image = &image };
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

/* Each signal in turn taken away, or with one value that is no number. */
static void test_bad_signals_are_refused(void **state)
{
    (void)state;
    const s2p_grid grid = { 6, 6 };
    s2p_plan *plan;
    s2p_error error;
    static method_signals broken;
    fill_signals(&signals, 1);
    fill_signals(&broken, 1);
    broken.plain[7] = broken.shifted[15] = NAN;
    broken.positive[3] = INFINITY;
    assert_int_equal(s2p_plan_create(&plan, grid), S2P_OK);
    for (size_t i = 0; s2p_method_at(i); i++) {
        const s2p_method *m = s2p_method_at(i);
        if (s2p_method_about(m)->needs == 0) continue;
        const s2p_view nothing = { .budget = 9 };
        assert_int_equal(s2p_method_run(m, &nothing, plan, &error), S2P_EINVAL);
        assert_non_null(strstr(error.message, " needs "));
        const s2p_view view = view_of_signals(&broken, NULL, 36, 9);
        CHECK_CASE(s2p_method_run(m, &view, plan, &error) == S2P_EINVAL, "%s",
                   s2p_method_about(m)->name);
        CHECK_CASE(strstr(error.message, "is not finite"), "%s: %s", s2p_method_about(m)->name,
                   error.message);
        int32_t n;
        (void)s2p_plan_keep(plan, &n);
        assert_int_equal(n, 0);
    }
    s2p_plan_free(plan);
}

/* Rows of a later stage, or those that entered the tower: ascending and in range. */
static void test_rows_alive_are_checked(void **state)
{
    (void)state;
    static const int32_t good[] = { 1, 4, 9, 20 }, twice[] = { 1, 4, 4, 20 },
                         far[] = { 1, 4, 9, 36 };
    s2p_plan *plan;
    assert_int_equal(s2p_plan_create(&plan, (s2p_grid){ 6, 6 }), S2P_OK);
    fill_signals(&signals, 1);
    s2p_view view = view_of_signals(&signals, NULL, 36, 2);
    view.alive = good;
    set_rows(&view, 4);
    assert_int_equal(s2p_method_run(s2p_method_find("fastv"), &view, plan, NULL), S2P_OK);
    view.stage = 1; /* it has one stage */
    assert_int_equal(s2p_method_run(s2p_method_find("fastv"), &view, plan, NULL), S2P_EINVAL);
    const s2p_method *m = s2p_method_find("v2drop");
    view.stage = 2;
    assert_int_equal(s2p_method_run(m, &view, plan, NULL), S2P_OK);
    view.stage = 3;
    assert_int_equal(s2p_method_run(m, &view, plan, NULL), S2P_EINVAL);
    view.stage = 1;
    view.alive = twice;
    assert_int_equal(s2p_method_run(m, &view, plan, NULL), S2P_EINVAL);
    view.alive = far;
    assert_int_equal(s2p_method_run(m, &view, plan, NULL), S2P_EINVAL);
    view.alive = good;
    view.n_alive = 0;
    assert_int_equal(s2p_method_run(m, &view, plan, NULL), S2P_EINVAL);
    s2p_plan_free(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_promises),
        cmocka_unit_test(test_flat_signals),
        cmocka_unit_test(test_published),
        cmocka_unit_test(test_question_is_seen_by_those_who_say_so),
        cmocka_unit_test(test_uniform_lattice),
        cmocka_unit_test(test_pool_is_the_mean_of_each_cell),
        cmocka_unit_test(test_resize_keeps_what_comes),
        cmocka_unit_test(test_random_is_fair_and_seeded),
        cmocka_unit_test(test_missing_signals_are_named),
        cmocka_unit_test(test_bad_signals_are_refused),
        cmocka_unit_test(test_rows_alive_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
