/* test_analyze_memory.c - every analysis with its 1st, 2nd, ... allocation failing: a status, or a study
 * that says so, and nothing worse.
 */
#include "analyze/analyses.h"
#include "check.h"
#include "failing_malloc.h"

#include <stdio.h>
#include <string.h>

#define MOST_ALLOCATIONS 20000

static s2a_setting setting_of(const char *method, int32_t budget, const char *selector)
{
    s2a_setting s = { .budget = { .tokens = budget }, .choice = { .selector = selector } };
    s2a_setting_use(&s, method);
    return s;
}

static s2p_status make(s2_trials *t)
{
    static const int32_t kept[] = { 3, 9, 20, 33 };
    const s2a_setting settings[] = { setting_of("full", 0, NULL), setting_of("random", 4, NULL),
                                     setting_of("equal-density", 4, NULL),
                                     setting_of("s2prune", 4, "centre"),
                                     setting_of("s2prune", 4, NULL) };
    const s2p_grid grid = { 6, 6 };
    *t = (s2_trials){ .n_pictures = 0 };
    s2p_status st = S2P_OK;
    for (int i = 0; i < 3 && st == S2P_OK; i++) {
        st = s2_trials_add_picture(t, "p", i, NULL);
        if (st == S2P_OK)
            t->picture[i].structure =
                (s2_trial_structure){ 1.0 + i, grid, s2p_coarse_side(grid, 4) };
        if (st == S2P_OK) st = s2_trials_add_question(t, "q", "yes", i ? "a" : "b", i, NULL);
    }
    if (st == S2P_OK) st = s2_trials_set(t, settings, 5, NULL);
    for (int32_t s = 0; s < 5; s++)
        for (int32_t q = 0; q < 3 && st == S2P_OK; q++)
            st = s2_trial_fill(t, s, q, (float)((s + q) % 2), "yes", grid, kept, 4, NULL);
    return st;
}

typedef s2p_status (*analysis)(const s2_trials *trials, s2_study *study, s2p_error *error);

static const analysis all[] = { s2_analyze_spatial,  s2_analyze_budget, s2_analyze_retention,
                                s2_analyze_ablation, s2_analyze_grid,   s2_analyze_heterogeneity,
                                s2_analyze_overlap };

/* One analysis and its page; true: it went through. */
static bool run(analysis analyze, const s2_trials *t)
{
    s2p_error error = { S2P_OK, "" };
    s2_study study = { .n = 0 };
    s2_buffer page;
    s2_buffer_init(&page, 1 << 24);
    s2p_status st = analyze(t, &study, &error);
    if (st == S2P_OK) st = s2_study_html(&study, "title", "settings", &page);
    const bool has_said_so = st == S2P_OK || st == S2P_ENOMEM;
    s2_buffer_free(&page);
    s2_study_free(&study);
    assert_true(has_said_so);
    return st == S2P_OK;
}

static void test_analyses(void **state)
{
    (void)state;
    s2_trials t;
    allocations_left = -1;
    assert_int_equal(make(&t), S2P_OK);
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        allocations_seen = 0;
        assert_true(run(all[i], &t));
        const int n = allocations_seen;
        const int step = n > 40 ? n / 40 : 1; /* the first thirty, then a sample of the rest */
        for (int fail = 0; fail < n; fail += fail < 30 ? 1 : step) {
            allocations_left = fail;
            (void)run(all[i], &t);
            allocations_left = -1;
        }
    }
    s2_trials_free(&t);
}

static void test_trials(void **state)
{
    (void)state;
    for (int fail = 0;; fail++) {
        s2_trials t;
        allocations_left = fail;
        const s2p_status st = make(&t);
        allocations_left = -1;
        s2_trials_free(&t);
        if (st == S2P_OK) break;
        assert_int_equal(st, S2P_ENOMEM);
        assert_true(fail < MOST_ALLOCATIONS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_trials),
                                        cmocka_unit_test(test_analyses) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
