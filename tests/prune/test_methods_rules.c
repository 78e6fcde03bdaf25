/* test_methods_rules.c - published methods on examples worked by hand, and their guards.
 *
 * That they equal the authors' code is what the goldens show; here each rule stands alone.
 */
#include "check.h"
#include "prune/methods/dart.h"
#include "prune/methods/prumerge.h"
#include "prune/ranking.h"

#include <math.h>
#include <string.h>

static s2p_plan *plan;
static s2p_error error;

/* Run on a row of n tokens; the plan is freed by the next call. */
static s2p_status run_on(s2p_grid grid, const char *method, const s2p_view *view)
{
    s2p_plan_free(plan);
    assert_int_equal(s2p_plan_create(&plan, grid), S2P_OK);
    error = (s2p_error){ S2P_OK, "" };
    return s2p_method_run(s2p_method_find(method), view, plan, &error);
}

static void set_parameter(const char *method, s2p_view *view, s2p_parameters *parameters,
                          const char *name, const char *value)
{
    const s2p_method *m = s2p_method_find(method);
    if (!view->parameters) s2p_parameters_init(m, parameters);
    view->parameters = parameters;
    assert_int_equal(s2p_parameters_set(m, parameters, name, value, &error), S2P_OK);
}

static void expect_order(const int32_t *expected, int32_t n_expected)
{
    int32_t n;
    const int32_t *order = s2p_plan_order(plan, &n);
    assert_int_equal(n, n_expected);
    assert_memory_equal(order, expected, (size_t)n * sizeof *order);
}

#define EXPECT_ORDER(...)                                      \
    do {                                                       \
        static const int32_t expected_[] = __VA_ARGS__;        \
        expect_order(expected_, (int32_t)COUNT_OF(expected_)); \
    } while (0)

static void expect_merge(int32_t i, int32_t into, int32_t from, double weight)
{
    int32_t n;
    const s2p_merge *merge = s2p_plan_merges(plan, &n);
    assert_true(i < n);
    CHECK_CASE(merge[i].into == into && merge[i].from == from &&
                   fabs(merge[i].weight - weight) < 1e-5,
               "%d: %d %d %g", i, merge[i].into, merge[i].from, merge[i].weight);
}

static int32_t n_merges(void)
{
    int32_t n;
    (void)s2p_plan_merges(plan, &n);
    return n;
}

/* --- arithmetic -------------------------------------------------------------------- */

static void test_ranking(void **state)
{
    (void)state;
    int32_t out[5];
    const double tied[5] = { 1, 3, 2, 3, 2 };
    assert_int_equal(s2p_rank(tied, 5, 4, out), S2P_OK);
    static const int32_t expected[4] = { 1, 3, 2, 4 }; /* of equals the lower index */
    assert_memory_equal(out, expected, sizeof expected);
    const double broken[2] = { 0, NAN };
    assert_int_equal(s2p_rank(broken, 2, 1, out), S2P_EINVAL);
    const float a[11] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 };
    assert_true(s2p_dot(a, a, 11) == 506.0);
    const float zero[2] = { 0, 0 }, x[2] = { 3, 4 };
    assert_true(s2p_cosine(zero, 0.0, x, 5.0, 2) == 0.0);
}

static void test_stage_budgets(void **state)
{
    (void)state;
    s2p_plan_free(plan);
    assert_int_equal(s2p_plan_create(&plan, (s2p_grid){ 24, 24 }), S2P_OK);
    s2p_view view = { .budget = 64 };
    static const int32_t expected[3] = { 277, 133, 64 }; /* 576 (1/9)^(1/3), ^(2/3), ^1 */
    for (view.stage = 0; view.stage < 3; view.stage++)
        assert_int_equal(s2p_stage_budget(&view, plan, 3), expected[view.stage]);
    view.stage = 0;
    view.alive = (const int32_t[]){ 5, 9 };
    view.n_alive = 2;
    assert_int_equal(s2p_stage_budget(&view, plan, 3), 2); /* never more than there are */
}

static void test_cosine_tables_have_a_limit(void **state)
{
    (void)state;
    static const float x[1] = { 1 };
    double *pair;
    assert_int_equal(s2p_cosines(x, 1 << 20, 1, &pair, &error), S2P_ELIMIT);
    assert_null(pair);
}

/* --- attention ----------------------------------------------------------------------- */

static void test_fastv_looks_at_the_last_row(void **state)
{
    (void)state;
    const float attn[4] = { .1f, .4f, .2f, .4f };
    const s2p_view view = { .budget = 3, .signal = { [S2P_LAST_ATTN] = { attn, { 4 } } } };
    assert_int_equal(run_on((s2p_grid){ 2, 2 }, "fastv", &view), S2P_OK);
    EXPECT_ORDER({ 1, 3, 2 });
}

/* Two query heads on one key head: the first points at token 0, the second, stronger, at 2. */
static void test_feather_shares_keys(void **state)
{
    (void)state;
    const float query[3 * 2] = { 1, 0, 0, 3 }, key[2 * 3 * 2] = { 1, 0, 0, 0, 0, 1 };
    s2p_view view = {
        .budget = 2,
        .signal = { [S2P_LAST_QUERY] = { query, { 2, 2 } }, [S2P_PLAIN_KEY] = { key, { 1, 3, 2 } } }
    };
    assert_int_equal(run_on((s2p_grid){ 1, 3 }, "feather", &view), S2P_OK);
    EXPECT_ORDER({ 2, 0 });
    view.signal[S2P_LAST_QUERY].shape[0] = 3; /* no whole number of heads to a key */
    view.signal[S2P_PLAIN_KEY].shape[0] = 2;
    assert_int_equal(run_on((s2p_grid){ 1, 1 }, "feather", &view), S2P_OK); /* all is kept anyway */
    view.budget = 1;
    assert_int_equal(run_on((s2p_grid){ 1, 3 }, "feather", &view), S2P_EINVAL);
    assert_string_equal(error.message, "3 query heads cannot share 2 key heads");
}

/* A 4x4 grid: rows and columns 0 and 3 of the lattice stay first. Scores rise with the index. */
static void test_feather_keeps_a_lattice(void **state)
{
    (void)state;
    const float query[1] = { 1 };
    float key[16];
    for (int32_t i = 0; i < 16; i++) key[i] = (float)i / 10.0f;
    s2p_view view = { .budget = 2,
                      .signal = { [S2P_LAST_QUERY] = { query, { 1, 1 } },
                                  [S2P_PLAIN_KEY] = { key, { 1, 16, 1 } } } };
    assert_int_equal(run_on((s2p_grid){ 4, 4 }, "feather-full", &view), S2P_OK);
    EXPECT_ORDER({ 15, 12, 3, 0, 14, 13 }); /* sqrt(16 * 2) rounded: 6 */
    view.mode = S2P_MODE_PUBLISHED;
    assert_int_equal(run_on((s2p_grid){ 4, 4 }, "feather-full", &view), S2P_OK);
    EXPECT_ORDER({ 15, 14, 13, 12, 3, 0 }); /* the best floor(0.3 * 16) = 4, and the lattice */
}

static void test_euti_weighs_by_size(void **state)
{
    (void)state;
    const float query[1] = { 0 }, key[3] = { 1, 2, 3 }; /* attention is the same for all */
    const float hidden[3 * 2] = { 3, 4, 1, 0, 0, 6 };
    const s2p_view view = { .budget = 2,
                            .signal = { [S2P_HIDDEN] = { hidden, { 3, 2 } },
                                        [S2P_MEAN_QUERY] = { query, { 1, 1 } },
                                        [S2P_PLAIN_KEY] = { key, { 1, 3, 1 } } } };
    assert_int_equal(run_on((s2p_grid){ 1, 3 }, "euti", &view), S2P_OK);
    EXPECT_ORDER({ 2, 0 });
}

/* --- DART ------------------------------------------------------------------------------ */

/* As CPython 3 prints list(set(...)). */
static void test_python_set_order(void **state)
{
    (void)state;
    static const struct {
        int32_t n, value[8], order[8];
    } cases[] = {
        { 3, { 5, 3, 1 }, { 1, 3, 5 } },
        { 4, { 8, 0, 16, 24 }, { 8, 0, 16, 24 } },
        { 4, { 1000000, 999999, 17, 49 }, { 1000000, 17, 49, 999999 } },
        { 5, { 40, 8, 72, 104, 7 }, { 7, 40, 8, 72, 104 } },
        { 8, { 444, 23, 106, 125, 611, 613, 599, 602 }, { 611, 613, 599, 106, 23, 602, 444, 125 } },
        { 8, { 31, 63, 95, 127, 30, 62, 94, 126 }, { 95, 62, 94, 126, 31, 63, 30, 127 } },
        { 8, { 0, 32, 64, 96, 128, 160, 192, 224 }, { 0, 32, 64, 96, 128, 160, 192, 224 } },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        int32_t order[8];
        s2p_python_set_order(cases[i].value, cases[i].n, order);
        CHECK_CASE(memcmp(order, cases[i].order, (size_t)cases[i].n * sizeof *order) == 0, "%zu",
                   i);
    }
}

/* 20 visual rows from row 1 on, n_after rows of text behind. */
static s2p_view dart_view(int32_t n_after, int32_t budget)
{
    static float key[40], normed[40 * 2];
    for (int32_t i = 0; i < 40; i++) {
        key[i] = (float)((i * 7) % 40);
        normed[2 * i] = (float)cos(i);
        normed[2 * i + 1] = (float)sin(i);
    }
    return (s2p_view){ .budget = budget,
                       .first_row = 1,
                       .signal = { [S2P_ROTATED_KEY] = { key, { 1, 21 + n_after, 1 } },
                                   [S2P_NORMED] = { normed, { 21 + n_after, 2 } } } };
}

static void test_dart_counts(void **state)
{
    (void)state;
    int32_t n;
    for (int32_t n_after = 0; n_after < 8; n_after++) {
        for (int32_t budget = 1; budget < 20; budget++) {
            const s2p_view view = dart_view(n_after, budget);
            assert_int_equal(run_on((s2p_grid){ 4, 5 }, "dart", &view), S2P_OK);
            (void)s2p_plan_keep(plan, &n);
            assert_int_equal(n, budget);
        }
        s2p_view view = dart_view(n_after, 15);
        view.mode = S2P_MODE_PUBLISHED;
        const s2p_status st = run_on((s2p_grid){ 4, 5 }, "dart", &view);
        assert_int_equal(st, n_after < 4 ? S2P_EUNSUPPORTED : S2P_OK);
        (void)s2p_plan_keep(plan, &n);
        assert_int_equal(n, n_after < 4 ? 0 : 12); /* 4 + 8 floor(15 / 8) */
    }
    s2p_view view = dart_view(4, 7); /* nothing for a pivot */
    view.mode = S2P_MODE_PUBLISHED;
    assert_int_equal(run_on((s2p_grid){ 4, 5 }, "dart", &view), S2P_EUNSUPPORTED);
    view = dart_view(4, 7);
    view.signal[S2P_ROTATED_KEY].shape[1] = 20; /* the picture does not fit */
    view.signal[S2P_NORMED].shape[0] = 20;
    assert_int_equal(run_on((s2p_grid){ 4, 5 }, "dart", &view), S2P_EINVAL);
}

/* Six tokens, nothing behind: the four largest keys are pivots, and row 0, the first of them in the
 * order of a set, takes its opposite. */
static void test_dart_takes_the_least_alike(void **state)
{
    (void)state;
    const float key[6] = { 7, 9, -8, 6, 1, 2 };
    const float normed[6 * 2] = { 1, 0, 0, 1, 0, 1, 0, 1, 1, .1f, -1, 0 };
    const s2p_view view = {
        .budget = 5,
        .signal = { [S2P_ROTATED_KEY] = { key, { 1, 6, 1 } }, [S2P_NORMED] = { normed, { 6, 2 } } }
    };
    s2p_pivots p;
    assert_int_equal(s2p_dart_pivots(&view, 6, &p, NULL), S2P_OK);
    static const int32_t expected[4] = { 1, 2, 0, 3 };
    assert_memory_equal(p.visual, expected, sizeof expected);
    assert_int_equal(p.n_text, 0);
    assert_int_equal(run_on((s2p_grid){ 2, 3 }, "dart", &view), S2P_OK);
    EXPECT_ORDER({ 1, 2, 0, 3, 5 });
}

/* --- features -------------------------------------------------------------------------- */

/* Three alike and one alone; the alone one has one link, so its norm is shared by nobody. */
static void test_gprune(void **state)
{
    (void)state;
    const float feature[4 * 2] = { 1, 0, 2, 0, 3, 0, 0, 2 };
    s2p_view view = { .budget = 1, .signal = { [S2P_FEATURE] = { feature, { 4, 2 } } } };
    assert_int_equal(run_on((s2p_grid){ 2, 2 }, "gprune", &view), S2P_OK);
    EXPECT_ORDER({ 3 }); /* 2 against (1 + 2 + 3) / 3 / 3 */
    const float zero[4 * 2] = { 0, 0, 1, 0, 1, 0, 1, 0 };
    view.signal[S2P_FEATURE].data = zero;
    view.budget = 3;
    assert_int_equal(run_on((s2p_grid){ 2, 2 }, "gprune", &view), S2P_OK);
    EXPECT_ORDER({ 1, 2, 3 }); /* the zero vector counts n links and hands on nothing */
}

static void test_divprune(void **state)
{
    (void)state;
    /* Angles 0, 10, 90 and 180 degrees: 180 is farthest from its nearest, then 0, then 90. */
    const float feature[4 * 2] = { 1, 0, .985f, .174f, 0, 1, -1, 0 };
    s2p_view view = { .budget = 3, .signal = { [S2P_FEATURE] = { feature, { 4, 2 } } } };
    assert_int_equal(run_on((s2p_grid){ 1, 4 }, "divprune", &view), S2P_OK);
    EXPECT_ORDER({ 3, 0, 2 });
    const float same[4 * 2] = { 1, 1, 1, 1, 1, 1, 1, 1 };
    view.signal[S2P_FEATURE].data = same;
    assert_int_equal(run_on((s2p_grid){ 1, 4 }, "divprune", &view), S2P_OK);
    EXPECT_ORDER({ 0, 1, 2 }); /* copies: never the same token twice */
}

static void test_cdpruner(void **state)
{
    (void)state;
    const float feature[4 * 2] = { 1, 0, 1, 0, 0, 1, 0, 1 }, text[2] = { 1, 0 };
    const float aligned[4 * 2] = { 1, 0, 1, .5f, 0, 1, .2f, 1 };
    s2p_view view = { .budget = 2,
                      .signal = { [S2P_FEATURE] = { feature, { 4, 2 } },
                                  [S2P_TEXT] = { text, { 1, 2 } },
                                  [S2P_ALIGNED] = { aligned, { 4, 2 } } } };
    assert_int_equal(run_on((s2p_grid){ 1, 4 }, "cdpruner", &view), S2P_OK);
    EXPECT_ORDER({ 0, 3 }); /* the most relevant, then the better of the other pair */
    view.budget = 3;        /* rank 2: the third has no gain and comes by relevance */
    assert_int_equal(run_on((s2p_grid){ 1, 4 }, "cdpruner", &view), S2P_OK);
    EXPECT_ORDER({ 0, 3, 1 });
    view.mode = S2P_MODE_PUBLISHED; /* the other sign */
    view.budget = 2;
    assert_int_equal(run_on((s2p_grid){ 1, 4 }, "cdpruner", &view), S2P_OK);
    EXPECT_ORDER({ 2, 1 });
    view.signal[S2P_ALIGNED].data = NULL;
    view.signal[S2P_TEXT].shape[1] = 1;
    assert_int_equal(run_on((s2p_grid){ 1, 4 }, "cdpruner", &view), S2P_EINVAL);
}

static void test_gridprune_follows_the_question(void **state)
{
    (void)state;
    /* 2x4 tokens, two zones of 2x2; all of the right one is like the question. */
    const float feature[8 * 1] = { -1, -1, 1, 1, -1, -1, 1, 1 }, text[1] = { 2 };
    const float attn[8] = { .1f, .9f, .2f, .3f, .1f, .1f, .4f, .1f };
    const s2p_view view = {
        .budget = 4,
        .signal = { [S2P_FEATURE] = { feature, { 8, 1 } },
                    [S2P_VISION_ATTN] = { attn, { 1, 8 } },
                    [S2P_TEXT] = { text, { 1, 1 } } },
    };
    assert_int_equal(run_on((s2p_grid){ 2, 4 }, "gridprune", &view), S2P_OK);
    /* softmax(-1, 1) = 0.12, 0.88: 0.48 and 3.52 of 4; the larger remainder is the right zone's. */
    EXPECT_ORDER({ 6, 3, 2, 7 });

    /* One zone, the same attention everywhere: relevance decides inside too. */
    const float mixed[4 * 2] = { 0, 1, 1, 1, 1, 0, -1, 0 }, right[2] = { 1, 0 };
    const float flat[4] = { .1f, .1f, .1f, .1f };
    const s2p_view inside = { .budget = 2,
                              .signal = { [S2P_FEATURE] = { mixed, { 4, 2 } },
                                          [S2P_VISION_ATTN] = { flat, { 1, 4 } },
                                          [S2P_TEXT] = { right, { 1, 2 } } } };
    assert_int_equal(run_on((s2p_grid){ 2, 2 }, "gridprune", &inside), S2P_OK);
    EXPECT_ORDER({ 2, 1 });
}

/* --- the tower's attention ---------------------------------------------------------------- */

static void test_visionzip_merges(void **state)
{
    (void)state;
    const float attn[6] = { .1f, .9f, .1f, .1f, .1f, .1f };
    const float key[6 * 2] = { 1, 0, 5, 5, 1, .1f, 0, 1, .1f, 1, .9f, 0 };
    s2p_view view = {
        .budget = 3,
        .mode = S2P_MODE_PUBLISHED,
        .signal = { [S2P_VISION_ATTN] = { attn, { 1, 6 } }, [S2P_VISION_KEY] = { key, { 6, 2 } } },
    };
    s2p_parameters given;
    set_parameter("visionzip", &view, &given, "dominant", "1");
    set_parameter("visionzip", &view, &given, "contextual", "2");
    assert_int_equal(run_on((s2p_grid){ 2, 3 }, "visionzip", &view), S2P_OK);
    EXPECT_ORDER({ 1, 0, 3 }); /* the rest is 0 2 3 4 5, a step of 2: targets 0 and 3 */
    assert_int_equal(n_merges(), 3);
    expect_merge(0, 0, 2, 0.5); /* 2 and 5 go to 0, their mean on top of it */
    expect_merge(1, 3, 4, 1.0);
    expect_merge(2, 0, 5, 0.5);
    set_parameter("visionzip", &view, &given, "dominant", "5"); /* 5 + 2 of 6 */
    assert_int_equal(run_on((s2p_grid){ 2, 3 }, "visionzip", &view), S2P_EBUDGET);
    view.mode = S2P_MODE_DEFAULT; /* exactly the budget, or a refusal */
    set_parameter("visionzip", &view, &given, "dominant", "2");
    assert_int_equal(run_on((s2p_grid){ 2, 3 }, "visionzip", &view), S2P_EBUDGET);
}

/* Attention falls with the index: dominants are 0, 1, ..., and the first target comes right after.
 */
static void test_visionzip_splits_as_its_authors(void **state)
{
    (void)state;
    static float attn[576], key[576];
    for (int32_t i = 0; i < 576; i++) {
        attn[i] = (float)(576 - i);
        key[i] = 1.0f;
    }
    static const struct {
        int32_t budget, dominant, step;
    } cases[] = {
        { 192, 162, 13 }, { 128, 108, 23 }, { 80, 67, 39 }, { 64, 54, 52 }, { 32, 27, 109 }
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const s2p_view view = { .budget = cases[i].budget,
                                .signal = { [S2P_VISION_ATTN] = { attn, { 1, 576 } },
                                            [S2P_VISION_KEY] = { key, { 576, 1 } } } };
        assert_int_equal(run_on((s2p_grid){ 24, 24 }, "visionzip", &view), S2P_OK);
        int32_t n;
        const int32_t *order = s2p_plan_order(plan, &n), d = cases[i].dominant;
        assert_int_equal(n, cases[i].budget);
        assert_int_equal(order[d - 1], d - 1);
        assert_int_equal(order[d], d);
        assert_int_equal(order[d + 1], d + cases[i].step);
        assert_int_equal(n_merges(), 576 - n);
    }
}

static void test_v2drop_as_published(void **state)
{
    (void)state;
    static float erc[9] = { 1, 9, 2, 8, 3, 7, 4, 6, 5 };
    static const int32_t left[] = { 1, 3, 5, 7 };
    s2p_view view = { .budget = 5,
                      .mode = S2P_MODE_PUBLISHED,
                      .signal = { [S2P_ERC] = { erc, { 9 } } } };
    assert_int_equal(run_on((s2p_grid){ 3, 3 }, "v2drop", &view), S2P_OK);
    EXPECT_ORDER({ 1, 3, 5, 7 }); /* half of nine */
    view.alive = left;            /* fewer than the budget already, and it goes on */
    view.n_alive = 4;
    view.signal[S2P_ERC].shape[0] = 4;
    view.stage = 1;
    assert_int_equal(run_on((s2p_grid){ 3, 3 }, "v2drop", &view), S2P_OK);
    EXPECT_ORDER({ 3, 7 }); /* rows 1 and 3 of those left have 9 and 8 */
    view.stage = 2;
    assert_int_equal(run_on((s2p_grid){ 3, 3 }, "v2drop", &view), S2P_OK);
    EXPECT_ORDER({ 3 });
}

static void test_vispruner_pairs(void **state)
{
    (void)state;
    /* By attention 0 1 2 3 4 5; after the first, 1 3 5 meet 2 4. */
    const float attn[6] = { 9, 8, 7, 6, 5, 4 };
    const float feature[6 * 2] = { 1, 1, 1, 0, 1, .1f, 0, 1, 0, 1, -1, 0 };
    s2p_view view = {
        .budget = 3,
        .signal = { [S2P_FEATURE] = { feature, { 6, 2 } }, [S2P_VISION_ATTN] = { attn, { 1, 6 } } }
    };
    view.mode = S2P_MODE_PUBLISHED; /* 5 left beside 1: no pairs */
    assert_int_equal(run_on((s2p_grid){ 2, 3 }, "vispruner", &view), S2P_EUNSUPPORTED);
    s2p_parameters given;
    set_parameter("vispruner", &view, &given, "n_important", "2");
    /* 2 4 meet 3 5: 4 equals 3, and must go first */
    view.budget = 5;
    assert_int_equal(run_on((s2p_grid){ 2, 3 }, "vispruner", &view), S2P_OK);
    EXPECT_ORDER({ 0, 1, 2, 3, 5 });
    set_parameter("vispruner", &view, &given, "n_important", "6");
    assert_int_equal(run_on((s2p_grid){ 2, 3 }, "vispruner", &view), S2P_EBUDGET);
}

/* Two runs of four; all attention is in the second, whose quota is more than it has. */
static void test_holov_overflow(void **state)
{
    (void)state;
    const float attn[8] = { 0, 0, 0, 0, .1f, .3f, .2f, .4f };
    float feature[8 * 2];
    for (int32_t i = 0; i < 16; i++) feature[i] = (float)(i % 5) + 1.0f;
    s2p_view view = {
        .budget = 6,
        .signal = { [S2P_FEATURE] = { feature, { 8, 2 } }, [S2P_VISION_ATTN] = { attn, { 1, 8 } } }
    };
    s2p_parameters given;
    set_parameter("holov", &view, &given, "num_crops", "2");
    assert_int_equal(run_on((s2p_grid){ 2, 4 }, "holov", &view), S2P_OK);
    EXPECT_ORDER({ 0, 1, 4, 5, 6, 7 });
    assert_int_equal(s2p_plan_blanks(plan), 0);
    view.mode = S2P_MODE_PUBLISHED;
    assert_int_equal(run_on((s2p_grid){ 2, 4 }, "holov", &view), S2P_OK);
    EXPECT_ORDER({ 4, 5, 6, 7 }); /* a run kept whole stays in raster order */
    assert_int_equal(s2p_plan_blanks(plan), 2);
    view.budget = 3;
    assert_int_equal(run_on((s2p_grid){ 2, 4 }, "holov", &view), S2P_OK);
    EXPECT_ORDER({ 7, 5, 6 });
    set_parameter("holov", &view, &given, "num_crops", "9");
    assert_int_equal(run_on((s2p_grid){ 2, 4 }, "holov", &view), S2P_EINVAL);
    const float below[8] = { 0, 0, -1, 0, 0, 0, 0, 0 };
    view.parameters = NULL;
    view.signal[S2P_VISION_ATTN].data = below;
    assert_int_equal(run_on((s2p_grid){ 2, 4 }, "holov", &view), S2P_EINVAL);
    assert_string_equal(error.message, "holov: attention of token 2 is below zero");
}

static void test_prumerge(void **state)
{
    (void)state;
    const double sorted[8] = { 1, 1, 1, 1, 1, 1, 1, 9 };
    assert_true(s2p_outlier_ratio(sorted, 8) == 1.0 / 8.0);
    const float flat[8] = { 1, 1, 1, 1, 1, 1, 1, 1 };
    const float attn[8] = { .1f, .1f, .1f, .1f, .1f, .9f, .1f, .1f };
    const float key[8] = { 1, 1, 1, 1, 1, 1, 1, 1 };
    s2p_view view = {
        .budget = 3,
        .mode = S2P_MODE_PUBLISHED,
        .signal = { [S2P_VISION_ATTN] = { attn, { 1, 8 } }, [S2P_VISION_KEY] = { key, { 8, 1 } } },
    };
    assert_int_equal(run_on((s2p_grid){ 2, 4 }, "prumerge+", &view), S2P_OK);
    /* One outlier of 8: a step of floor(8 / 3) = 2 over 0..6, then a row for 1 3 7. */
    EXPECT_ORDER({ 5, 0, 2, 4, 6, 1 });
    assert_int_equal(n_merges(), 5 * 7 + 3);
    expect_merge(0, 5, 0, .1);
    expect_merge(35, 1, 1, .1 - 1.0);
    expect_merge(36, 1, 3, .1);
    view.signal[S2P_VISION_ATTN].data = flat;
    assert_int_equal(run_on((s2p_grid){ 2, 4 }, "prumerge+", &view), S2P_EUNSUPPORTED);
    view.mode = S2P_MODE_DEFAULT;
    assert_int_equal(run_on((s2p_grid){ 2, 4 }, "prumerge+", &view), S2P_OK);
    EXPECT_ORDER({ 0, 4, 1 }); /* the first by attention, the middle of 1..7, a row for the rest */
}

/* --- SparseVLM ------------------------------------------------------------------------------ */

static void test_sparsevlm(void **state)
{
    (void)state;
    float feature[24], hidden[24], attn[2 * 24];
    for (int32_t i = 0; i < 24; i++) {
        feature[i] = 1.0f; /* points at the second text token, which alone is a rater */
        hidden[i] = i < 12 ? (float)i * .01f : 5.0f + (float)i * .01f;
        attn[i] = (float)i;
        attn[24 + i] = (float)(24 - i);
    }
    const float text[2] = { 0, 1 };
    s2p_view view = { .budget = 5,
                      .stage = 2,
                      .signal = { [S2P_FEATURE] = { feature, { 24, 1 } },
                                  [S2P_HIDDEN] = { hidden, { 24, 1 } },
                                  [S2P_QUERY_ATTN] = { attn, { 2, 24 } },
                                  [S2P_TEXT] = { text, { 2, 1 } } } };
    assert_int_equal(run_on((s2p_grid){ 4, 6 }, "sparsevlm", &view), S2P_OK);
    /* 4 kept by the rater, 20 dropped, 7 recycled (4..10) into one cluster. Density looks at one
     * neighbour, the token itself, so all are equal and the first is the centre. */
    EXPECT_ORDER({ 0, 1, 2, 3, 4 });
    assert_int_equal(n_merges(), 7);
    expect_merge(0, 4, 4, 1.0 / 7.0 - 1.0);
    expect_merge(3, 4, 7, 1.0 / 7.0);
    s2p_parameters given;
    set_parameter("sparsevlm", &view, &given, "recycle_ratio", "0.2"); /* 5 of the 20 */
    assert_int_equal(run_on((s2p_grid){ 4, 6 }, "sparsevlm", &view), S2P_OK);
    EXPECT_ORDER({ 0, 1, 2, 3, 4 });
    assert_int_equal(n_merges(), 5);
    set_parameter("sparsevlm", &view, &given, "recycle_ratio", "1"); /* all: 2 kept, 22 in 3 */
    assert_int_equal(run_on((s2p_grid){ 4, 6 }, "sparsevlm", &view), S2P_OK);
    assert_int_equal(n_merges(), 22);
    int32_t n_kept;
    (void)s2p_plan_keep(plan, &n_kept);
    assert_int_equal(n_kept, 5);
    view.parameters = NULL;
    view.signal[S2P_QUERY_ATTN].shape[0] = 1; /* rows of attention without an embedding each */
    assert_int_equal(run_on((s2p_grid){ 4, 6 }, "sparsevlm", &view), S2P_EINVAL);
    view.signal[S2P_QUERY_ATTN].shape[0] = 2;
    view.mode = S2P_MODE_PUBLISHED;
    assert_int_equal(run_on((s2p_grid){ 4, 6 }, "sparsevlm", &view), S2P_EUNSUPPORTED);
    assert_string_equal(error.message, "sparsevlm as published keeps 192, 128 or 64 tokens, not 5");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranking),
        cmocka_unit_test(test_stage_budgets),
        cmocka_unit_test(test_cosine_tables_have_a_limit),
        cmocka_unit_test(test_fastv_looks_at_the_last_row),
        cmocka_unit_test(test_feather_shares_keys),
        cmocka_unit_test(test_feather_keeps_a_lattice),
        cmocka_unit_test(test_euti_weighs_by_size),
        cmocka_unit_test(test_python_set_order),
        cmocka_unit_test(test_dart_counts),
        cmocka_unit_test(test_dart_takes_the_least_alike),
        cmocka_unit_test(test_gprune),
        cmocka_unit_test(test_divprune),
        cmocka_unit_test(test_cdpruner),
        cmocka_unit_test(test_gridprune_follows_the_question),
        cmocka_unit_test(test_visionzip_merges),
        cmocka_unit_test(test_visionzip_splits_as_its_authors),
        cmocka_unit_test(test_v2drop_as_published),
        cmocka_unit_test(test_vispruner_pairs),
        cmocka_unit_test(test_holov_overflow),
        cmocka_unit_test(test_prumerge),
        cmocka_unit_test(test_sparsevlm),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    s2p_plan_free(plan);
    return failed;
}
