/* test_methods_top.c - the scores of Figure 2 under one rule: the B highest of the whole picture.
 *
 * Each score on an example worked by hand, then what all of them promise on seeded input.
 */
#include "check.h"
#include "prune/ranking.h"

#include <math.h>
#include <string.h>

enum { SIDE = 12, TOKENS = SIDE * SIDE, HEADS = 4, KEY_HEADS = 2, WIDTH = 8 };

static const char *const tops[] = { "erc-top", "fastv-top", "feather-top", "feather-top-8",
                                    "visionzip-top" };

static s2p_plan *plan;
static s2p_error error;

static const int32_t *run_on(s2p_grid grid, const char *method, const s2p_view *view, int32_t *n)
{
    s2p_plan_free(plan);
    assert_int_equal(s2p_plan_create(&plan, grid), S2P_OK);
    const s2p_status st = s2p_method_run(s2p_method_find(method), view, plan, &error);
    CHECK_CASE(st == S2P_OK, "%s: %s", method, error.message);
    return s2p_plan_order(plan, n);
}

#define EXPECT_ORDER(grid, method, view, ...)                     \
    do {                                                          \
        static const int32_t expected_[] = __VA_ARGS__;           \
        int32_t n_;                                               \
        const int32_t *order_ = run_on(grid, method, view, &n_);  \
        assert_int_equal(n_, COUNT_OF(expected_));                \
        assert_memory_equal(order_, expected_, sizeof expected_); \
    } while (0)

/* --- worked by hand ------------------------------------------------------------------ */

/* Three tokens share the highest value: the first two in row-major order stay. */
static void test_ties_go_to_the_lower_token(void **state)
{
    (void)state;
    const float attn[6] = { .1f, .3f, .2f, .3f, .3f, .05f };
    s2p_view view = { .budget = 2, .signal = { [S2P_LAST_ATTN] = { attn, { 6 } } } };
    EXPECT_ORDER(((s2p_grid){ 2, 3 }), "fastv-top", &view, { 1, 3 });
    view.budget = 4;
    EXPECT_ORDER(((s2p_grid){ 2, 3 }), "fastv-top", &view, { 1, 3, 4, 2 });
}

/* One head of width 1: softmax(-1, 2, 0, 2) keeps the order of the products. A second query head on
 * the same key turns it: mean of softmax(-1, 2, 0, 2) and softmax(4, -8, 0, -8) is highest at 0. */
static void test_feather_top_is_a_mean_over_heads(void **state)
{
    (void)state;
    const float query[2] = { 1, -4 }, key[4] = { -1, 2, 0, 2 };
    s2p_view view = {
        .budget = 3,
        .signal = { [S2P_LAST_QUERY] = { query, { 1, 1 } }, [S2P_PLAIN_KEY] = { key, { 1, 4, 1 } } }
    };
    EXPECT_ORDER(((s2p_grid){ 2, 2 }), "feather-top", &view, { 1, 3, 2 });
    view.signal[S2P_LAST_QUERY].shape[0] = 2;
    EXPECT_ORDER(((s2p_grid){ 2, 2 }), "feather-top", &view, { 0, 1, 3 });
    EXPECT_ORDER(((s2p_grid){ 2, 2 }), "feather-top-8", &view, { 0, 1, 3 });
}

/* Means of two heads: .3 .25 .25 .4 .1 .35. Four of six: VisionZip would merge with one of them. */
static void test_visionzip_top_has_no_contextual_tokens(void **state)
{
    (void)state;
    const float attn[2 * 6] = { .6f, 0, .5f, .1f, .1f, .3f, 0, .5f, 0, .7f, .1f, .4f };
    const float key[6] = { 1, 2, 3, 4, 5, 6 };
    const s2p_view view = {
        .budget = 4,
        .signal = { [S2P_VISION_ATTN] = { attn, { 2, 6 } }, [S2P_VISION_KEY] = { key, { 6, 1 } } }
    };
    int32_t n_merges;
    EXPECT_ORDER(((s2p_grid){ 2, 3 }), "visionzip-top", &view, { 3, 5, 0, 1 });
    (void)s2p_plan_merges(plan, &n_merges);
    assert_int_equal(n_merges, 0);
    EXPECT_ORDER(((s2p_grid){ 2, 3 }), "visionzip", &view, { 3, 5, 0, 1 }); /* 1 is a target here */
    (void)s2p_plan_merges(plan, &n_merges);
    assert_true(n_merges > 0);
}

static void test_layers(void **state)
{
    (void)state;
    static const int32_t after[COUNT_OF(tops)] = { 0, 1, 2, 7, S2P_BEFORE_DECODER };
    for (size_t i = 0; i < COUNT_OF(tops); i++) {
        const s2p_method_info *about = s2p_method_about(s2p_method_find(tops[i]));
        assert_int_equal(about->n_stages, 1);
        assert_int_equal(about->after[0], after[i]);
        assert_false(about->merges);
        assert_null(about->published);
    }
}

/* --- promises ------------------------------------------------------------------------ */

static float erc[TOKENS], last[TOKENS], query[HEADS * WIDTH], key[KEY_HEADS * TOKENS * WIDTH],
    tower[HEADS * TOKENS], tower_key[TOKENS * WIDTH];

/* Few distinct values: there are ties, also at the last place. */
static void fill(float *x, size_t n, uint32_t *seed, uint32_t levels)
{
    for (size_t i = 0; i < n; i++) {
        *seed = *seed * 1664525u + 1013904223u;
        x[i] = (float)((*seed >> 16) % levels) / (float)levels;
    }
}

static s2p_view seeded(uint32_t seed, int32_t budget)
{
    fill(erc, TOKENS, &seed, 16);
    fill(last, TOKENS, &seed, 16);
    fill(query, HEADS * WIDTH, &seed, 1000);
    fill(key, KEY_HEADS * TOKENS * WIDTH, &seed, 1000);
    fill(tower, HEADS * TOKENS, &seed, 8);
    fill(tower_key, TOKENS * WIDTH, &seed, 1000);
    return (s2p_view){ .budget = budget,
                       .signal = { [S2P_ERC] = { erc, { TOKENS } },
                                   [S2P_LAST_ATTN] = { last, { TOKENS } },
                                   [S2P_LAST_QUERY] = { query, { HEADS, WIDTH } },
                                   [S2P_PLAIN_KEY] = { key, { KEY_HEADS, TOKENS, WIDTH } },
                                   [S2P_VISION_ATTN] = { tower, { HEADS, TOKENS } },
                                   [S2P_VISION_KEY] = { tower_key, { TOKENS, WIDTH } } } };
}

/* The score of token i, from its definition and from nothing of the library. */
static double score_of(const char *method, int32_t i)
{
    double sum = 0.0;
    if (strcmp(method, "erc-top") == 0) return (double)erc[i];
    if (strcmp(method, "fastv-top") == 0) return (double)last[i];
    for (int32_t h = 0; h < HEADS; h++) {
        if (strcmp(method, "visionzip-top") == 0) {
            sum += (double)tower[h * TOKENS + i];
            continue;
        }
        const float *keys = key + h / (HEADS / KEY_HEADS) * TOKENS * WIDTH;
        double whole = 0.0, own = 0.0;
        for (int32_t k = 0; k < TOKENS; k++) {
            double dot = 0.0;
            for (int32_t d = 0; d < WIDTH; d++)
                dot += (double)query[h * WIDTH + d] * (double)keys[k * WIDTH + d];
            whole += exp(dot / sqrt(WIDTH));
            if (k == i) own = exp(dot / sqrt(WIDTH));
        }
        sum += own / whole;
    }
    return sum / HEADS;
}

/* As many tokens come before token i as have a higher score, or an equal one and a lower index. */
static void test_keeps_the_highest_of_the_picture(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= 8; seed++) {
        s2p_view view = seeded(seed, 1 + (int32_t)(seed * 37 % (TOKENS - 1)));
        for (size_t m = 0; m < COUNT_OF(tops); m++) {
            double score[TOKENS];
            int32_t n;
            const int32_t *order = run_on((s2p_grid){ SIDE, SIDE }, tops[m], &view, &n);
            assert_int_equal(n, view.budget);
            for (int32_t i = 0; i < TOKENS; i++) score[i] = score_of(tops[m], i);
            for (int32_t k = 0; k < n; k++) {
                int32_t before = 0;
                for (int32_t i = 0; i < TOKENS; i++)
                    before +=
                        score[i] > score[order[k]] || (score[i] == score[order[k]] && i < order[k]);
                CHECK_CASE(before == k, "%s, seed %u: token %d is number %d, not %d", tops[m], seed,
                           order[k], before, k);
            }
        }
    }
}

/* The same tokens, whatever the mode; a larger budget keeps them all. */
static void test_modes_and_budgets(void **state)
{
    (void)state;
    for (size_t m = 0; m < COUNT_OF(tops); m++) {
        int32_t small[TOKENS], n, n_more;
        s2p_view view = seeded(5, 20);
        memcpy(small, run_on((s2p_grid){ SIDE, SIDE }, tops[m], &view, &n), 20 * sizeof *small);
        view.mode = S2P_MODE_PUBLISHED;
        assert_memory_equal(run_on((s2p_grid){ SIDE, SIDE }, tops[m], &view, &n), small,
                            20 * sizeof *small);
        view.budget = 90;
        assert_memory_equal(run_on((s2p_grid){ SIDE, SIDE }, tops[m], &view, &n_more), small,
                            20 * sizeof *small);
        assert_int_equal(n_more, 90);
    }
}

/* FastV, FEATHER's criterion and VisionZip's dominant tokens are these rankings. */
static void test_agree_with_the_methods_they_are_named_after(void **state)
{
    (void)state;
    static const char *const pairs[][2] = { { "fastv", "fastv-top" },
                                            { "feather", "feather-top" },
                                            { "feather-8", "feather-top-8" },
                                            { "visionzip", "visionzip-top" } };
    const s2p_view view = seeded(9, 64);
    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        int32_t own[TOKENS], n;
        memcpy(own, run_on((s2p_grid){ SIDE, SIDE }, pairs[i][0], &view, &n), 64 * sizeof *own);
        const size_t n_same = strcmp(pairs[i][0], "visionzip") == 0 ? 54 : 64; /* 54 dominant */
        assert_memory_equal(run_on((s2p_grid){ SIDE, SIDE }, pairs[i][1], &view, &n), own,
                            n_same * sizeof *own);
    }
    s2p_plan_free(plan);
    plan = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ties_go_to_the_lower_token),
        cmocka_unit_test(test_feather_top_is_a_mean_over_heads),
        cmocka_unit_test(test_visionzip_top_has_no_contextual_tokens),
        cmocka_unit_test(test_layers),
        cmocka_unit_test(test_keeps_the_highest_of_the_picture),
        cmocka_unit_test(test_modes_and_budgets),
        cmocka_unit_test(test_agree_with_the_methods_they_are_named_after),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
