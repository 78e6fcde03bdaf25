/* test_shrink.c - the method `resize`: grids worked by hand, the same bits as the smaller picture asked for
 * directly, counts, caches, several pictures, towers that have one size.
 */
#include "tiny_run.h"
#include "tiny_tiles.h"

#include "engine/vision/shrink.h"

static const char *folder;
static answer a, b;

/* sqrt(budget / tokens) of each side, rounded down or up: the most tokens that fit, then the least stretched. */
static void test_grids(void **state)
{
    (void)state;
    static const struct {
        s2p_grid whole;
        int32_t budget;
        s2p_grid shrunk;
    } cases[] = {
        { { 24, 24 }, 64, { 8, 8 } },    /* exact */
        { { 24, 24 }, 256, { 16, 16 } }, /* exact */
        { { 24, 24 }, 63, { 7, 8 } },    /* 7.94: 8 x 8 does not fit, 7 x 8 = 8 x 7, the first */
        { { 17, 23 }, 64, { 7, 9 } },    /* 6.88 x 9.31: 6 x 9 = 54; 7 x 9 = 63 is more */
        { { 7, 9 }, 5, { 2, 2 } },       /* 1.97 x 2.54: 2 x 3 = 6 is too much */
        { { 1, 40 }, 10, { 1, 10 } },    /* 0.5 x 20: a side is at least 1 */
        { { 40, 1 }, 7, { 7, 1 } },      { { 3, 3 }, 1, { 1, 1 } },
        { { 5, 5 }, 24, { 4, 5 } }, /* 4.9: 5 x 5 does not fit */
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const s2p_grid expected = cases[i].shrunk;
        const s2p_grid got = s2v_shrunk_grid(cases[i].whole, cases[i].budget);
        CHECK_CASE(got.rows == expected.rows && got.cols == expected.cols, "%zu: %dx%d", i,
                   got.rows, got.cols);
    }
    uint32_t seed = 11;
    for (int i = 0; i < 20000; i++) { /* never more than the budget, nor than the picture had */
        const s2p_grid whole = { 1 + (int32_t)(next_random(&seed) % 90u),
                                 1 + (int32_t)(next_random(&seed) % 90u) };
        const int32_t n = whole.rows * whole.cols;
        if (n < 2) continue;
        const int32_t budget = 1 + (int32_t)(next_random(&seed) % (uint32_t)(n - 1));
        const s2p_grid got = s2v_shrunk_grid(whole, budget);
        CHECK_CASE(got.rows >= 1 && got.cols >= 1 && got.rows <= whole.rows &&
                       got.cols <= whole.cols && got.rows * got.cols <= budget,
                   "%dx%d, %d: %dx%d", whole.rows, whole.cols, budget, got.rows, got.cols);
    }
}

/* 5 of 9x7 tokens: the picture at 2x2 tokens, asked for with all of them. */
static void test_is_the_smaller_picture(void **state)
{
    (void)state;
    tiny_write_plain(folder);
    s2v_engine *engine = tiny_open_caching();
    const s2v_session_options options = tiny_session_options();
    s2v_session *s = tiny_session(engine, &options);
    question q = one_picture("full", 64);
    q.size[0].width = q.size[0].height = 2 * TINY_TOKEN_SIDE;
    ask(s, &q, &a);
    for (int again = 0; again < 2; again++) { /* and from the cache */
        q = one_picture("resize", 5);
        s2v_session_reset(s);
        ask(s, &q, &b);
        assert_same_answer(&a, &b);
        assert_memory_equal(a.first, b.first, sizeof a.first);
        assert_int_equal(b.stats.image_tokens_full, 63);
        assert_int_equal(b.stats.tower_tokens, 4);
        assert_int_equal(b.stats.image_tokens, 4);
        assert_true(b.stats.flops == a.stats.flops);
        assert_true(b.stats.kv_visual_bytes == a.stats.kv_visual_bytes);
        if (again == 0) assert_int_equal(b.stats.tower_runs, 0); /* that of `full` */
    }
    s2v_session_free(s);
    s2v_engine_close(engine);
}

/* What is counted and estimated before is what runs; percentages are of the whole picture; a budget of all
 * tokens is the whole picture. */
static void test_counts(void **state)
{
    (void)state;
    tiny_write_plain(folder);
    s2v_engine *engine = tiny_open();
    const s2v_session_options options = tiny_session_options();
    s2v_session *s = tiny_session(engine, &options);
    for (int32_t budget = 1; budget <= 70; budget += budget < 8 ? 1 : 9) {
        question q = one_picture("resize", budget);
        const s2v_prompt prompt = prompt_of(&q);
        s2v_count count;
        s2p_error error = { S2P_OK, "" };
        assert_int_equal(s2v_engine_count(engine, &prompt, &q.prune, &count, &error), S2P_OK);
        s2v_session_reset(s);
        prefill_only(s, &q, &a);
        assert_int_equal(count.image_tokens, a.stats.image_tokens);
        assert_int_equal(count.image_tokens_full, a.stats.image_tokens_full);
        assert_in_range(a.stats.image_tokens, 1, budget < 63 ? budget : 63);
        if (budget >= 63) assert_int_equal(a.stats.image_tokens, 63);
    }
    question q = one_picture("resize", 0);
    q.prune.budget.percent = 8.0; /* 5 of 63 */
    s2v_session_reset(s);
    prefill_only(s, &q, &a);
    assert_int_equal(a.stats.image_tokens, 4);

    q = one_picture("resize", 0);
    s2p_error error = { S2P_OK, "" };
    s2v_session_reset(s);
    assert_int_equal(prefill(s, &q, NULL, &error), S2P_EBUDGET);
    assert_string_equal(error.message, "budget 0 keeps nothing; the least is 1");

    static const s2v_budget each[] = { { 5, 0.0 },
                                       { 20, 0.0 } }; /* each picture by its own budget */
    q = one_picture("resize", 1);
    q.raw = "<image> world <image> bcd";
    q.n_images = 2;
    q.image[1] = q.image[0];
    q.size[1] = q.size[0];
    q.prune.image_budget = each;
    s2v_session_reset(s);
    prefill_only(s, &q, &a);
    assert_int_equal(a.n_kept[0], 4);
    assert_int_equal(a.n_kept[1], 20); /* 4 x 5 */
    s2v_session_free(s);
    s2v_engine_close(engine);
}

/* Tiles are left out where the whole picture alone fits; less than that there is not. */
static void test_one_size(void **state)
{
    (void)state;
    static uint8_t pixels[240 * 160 * 3];
    static tiny_file text, mmproj;
    tiles_words(&tiny_words);
    llava_text(&text);
    internvl_mmproj(&mmproj);
    tiny_write_pair(folder, "internvl", &text, &mmproj);
    s2v_engine *engine = tiny_open();
    const s2v_session_options options = tiny_session_options();
    s2v_session *s = tiny_session(engine, &options);
    question q = { .raw = "hello <image> bcd", .n_images = 1 };
    q.image[0] = make_picture(pixels, 240, 130, 9);
    s2v_image_options_init(&q.size[0]);
    q.size[0].framing = S2V_FRAMING_ANYRES;
    s2v_prune_options_init(&q.prune);
    q.prune.method = "resize";
    q.prune.budget.tokens = TILE_TOKENS;
    prefill_only(s, &q, &a);
    assert_int_equal(a.stats.image_tokens, TILE_TOKENS);
    assert_true(a.stats.image_tokens_full > TILE_TOKENS);
    q.prune.budget.tokens = TILE_TOKENS - 1;
    s2p_error error = { S2P_OK, "" };
    s2v_session_reset(s);
    assert_int_equal(prefill(s, &q, NULL, &error), S2P_EUNSUPPORTED);
    assert_non_null(strstr(error.message, "method 'resize' needs a tower that takes smaller"));
    s2v_session_free(s);
    s2v_engine_close(engine);
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    folder = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grids),
        cmocka_unit_test(test_is_the_smaller_picture),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_one_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
