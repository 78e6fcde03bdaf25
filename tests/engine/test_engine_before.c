/* test_engine_before.c - tokens that never enter the tower: every method after it, caches, several
 * pictures, both kinds of kernels, refusals. Goldens of PixelPrune are in `s2prune verify`.
 */
#include "tiny_llava.h"
#include "tiny_qwen3.h"
#include "tiny_run.h"

enum { ROWS = 7, COLS = 9, TOKENS = ROWS * COLS };
static const char *folder;
static answer a, b, c;
static uint8_t page_pixels[2][TOKENS * TINY_TOKEN_SIDE * TINY_TOKEN_SIDE * 3];

typedef enum family { QWEN2_5, QWEN2, QWEN3, N_FAMILIES } family;

static void write_family(family f)
{
    vocabulary_init(&tiny_words);
    if (f == QWEN3) {
        qwen3_text(&tiny_text_file, TINY_LAYERS);
        qwen3_mmproj(&tiny_mmproj_file, 6);
    } else {
        tiny_text(&tiny_text_file, &tiny_words, TINY_LAYERS);
        (f == QWEN2 ? qwen2_mmproj : tiny_mmproj)(&tiny_mmproj_file, TINY_BLOCKS);
    }
    static const char *const names[] = { "before-2_5", "before-2", "before-3" };
    tiny_write_pair(folder, names[f], &tiny_text_file, &tiny_mmproj_file);
}

/* A page: white, with a few words. Every token is drawn, so that nothing is resized. */
static s2p_image draw_page(int32_t which)
{
    const int32_t width = COLS * TINY_TOKEN_SIDE, height = ROWS * TINY_TOKEN_SIDE;
    uint8_t *pixels = page_pixels[which];
    uint32_t seed = 3 + (uint32_t)which;
    memset(pixels, 255, sizeof page_pixels[which]);
    for (int32_t line = 1; line < ROWS; line += 2)
        for (int32_t y = 0; y < 14; y++)
            for (int32_t x = 40; x < 150 + 20 * line - 60 * which; x++)
                for (int32_t k = 0; k < 3; k++)
                    pixels[((line * TINY_TOKEN_SIDE + y) * width + x) * 3 + k] =
                        next_random(&seed) % 3u ? 255 : 0;
    return (s2p_image){ width, height, (ptrdiff_t)3 * width, pixels };
}

static question page_question(const char *method, int32_t budget)
{
    question q = one_picture(method, budget);
    q.image[0] = draw_page(0);
    q.size[0].before_tower = 1;
    return q;
}

static bool has_entered(const s2v_session *s, int32_t picture, int32_t token)
{
    int32_t n;
    const int32_t *entered = s2v_session_tower_tokens(s, picture, &n);
    for (int32_t i = 0; i < n; i++)
        if (entered[i] == token) return true;
    return !entered;
}

/* --- every method ------------------------------------------------------------------- */

static void test_every_method(void **state)
{
    (void)state;
    static const int32_t budgets[] = { 5, 17, TOKENS };
    for (int32_t f = 0; f < N_FAMILIES; f++) {
        write_family((family)f);
        s2v_engine *engine = tiny_open();
        const s2v_session_options options = tiny_session_options();
        s2v_session *s = tiny_session(engine, &options);
        for (size_t i = 0; s2p_method_at(i); i++)
            for (size_t k = 0; k < COUNT_OF(budgets); k++) {
                const char *name = s2p_method_about(s2p_method_at(i))->name;
                const question q = page_question(name, budgets[k]);
                s2v_session_reset(s);
                prefill_only(s, &q, &a);
                const int32_t n = a.stats.tower_tokens;
                assert_int_equal(a.stats.image_tokens_full, TOKENS);
                if (s2p_method_about(s2p_method_at(i))->resizes) { /* of the smaller picture */
                    assert_int_equal(a.stats.image_tokens, n);
                    assert_in_range(n, 1, budgets[k]);
                    continue;
                }
                assert_in_range(n, 10, TOKENS - 10);
                const bool keeps_all = s2p_method_about(s2p_method_at(i))->keeps_all;
                CHECK_CASE(a.stats.image_tokens == (keeps_all || budgets[k] > n ? n : budgets[k]),
                           "%s: %d of %d", name, a.stats.image_tokens, n);
                for (int32_t t = 0; t < a.n_kept[0]; t++)
                    CHECK_CASE(has_entered(s, 0, a.kept[0][t]), "%s kept %d", name, a.kept[0][t]);
            }
        s2v_session_free(s);
        s2v_engine_close(engine);
    }
}

/* --- the same as without ------------------------------------------------------------ */

/* A noisy photograph loses nothing, bit for bit; positions after a page are those of the whole grid. */
static void test_photograph(void **state)
{
    (void)state;
    for (int32_t f = 0; f < N_FAMILIES; f++) {
        write_family((family)f);
        s2v_engine *engine = tiny_open();
        const s2v_session_options options = tiny_session_options();
        s2v_session *s = tiny_session(engine, &options);
        question q = one_picture("s2prune", 20);
        ask(s, &q, &a);
        const int32_t next = s->next_pos;
        q.size[0].before_tower = 1;
        s2v_session_reset(s);
        ask(s, &q, &b);
        assert_same_bits(&a, &b);
        assert_same_answer(&a, &b);
        assert_int_equal(b.stats.tower_tokens, TOKENS);
        int32_t n;
        assert_null(s2v_session_tower_tokens(s, 0, &n));
        q = page_question("s2prune", 10);
        s2v_session_reset(s);
        ask(s, &q, &b);
        assert_int_equal(s->next_pos, next);
        assert_non_null(s2v_session_tower_tokens(s, 0, &n));
        assert_int_equal(n, b.stats.tower_tokens);
        s2v_session_free(s);
        s2v_engine_close(engine);
    }
}

/* Our kernels and ggml's operators, on windows of every length. */
static void test_kernels(void **state)
{
    (void)state;
    for (int32_t f = 0; f < N_FAMILIES; f++) {
        write_family((family)f);
        for (int32_t method = 0; method < 2; method++) {
            const question q = page_question(method ? "s2prune" : "full", 12);
            for (int32_t pass = 0; pass < 2; pass++) {
                s2v_engine_options options = tiny_options();
                options.kernels = pass ? "ggml" : NULL;
                s2v_engine *engine = tiny_open_as(&options);
                const s2v_session_options session = tiny_session_options();
                s2v_session *s = tiny_session(engine, &session);
                ask(s, &q, pass ? &b : &a);
                s2v_session_free(s);
                s2v_engine_close(engine);
            }
            assert_same_answer(&a, &b);
            CHECK_CASE(distance(a.first, b.first) <= 1e-4, "family %d: %g", f,
                       distance(a.first, b.first));
        }
    }
}

/* --- caches ------------------------------------------------------------------------ */

/* The second question comes from the caches, another threshold does not. */
static void test_caches(void **state)
{
    (void)state;
    for (int32_t f = 0; f < N_FAMILIES; f++) {
        write_family((family)f);
        s2v_engine *engine = tiny_open_caching();
        s2v_session_options options = tiny_session_options();
        s2v_session *s = tiny_session(engine, &options);
        question q = page_question("s2prune", 12);
        ask(s, &q, &a);
        s2v_session_reset(s);
        ask(s, &q, &b); /* the whole prompt */
        assert_true(b.stats.cached_tokens > 0);
        assert_int_equal(b.stats.tower_runs, 0);
        assert_int_equal(b.stats.tower_tokens, a.stats.tower_tokens);
        assert_same_bits(&a, &b);
        assert_same_answer(&a, &b);
        q.prune.method = "visionzip"; /* the tower's rows; its attention has to be made once */
        s2v_session_reset(s);
        ask(s, &q, &b);
        s2v_session_reset(s);
        ask(s, &q, &c);
        assert_same_bits(&b, &c);

        q = page_question("s2prune", 12);
        q.size[0].pixelprune.threshold = 1.0; /* one token stands for all */
        s2v_session_reset(s);
        ask(s, &q, &b);
        assert_int_equal(b.stats.tower_tokens, 1);
        assert_int_equal(b.stats.tower_runs, 1);
        assert_int_equal(b.stats.image_tokens, 1);
        q.size[0].before_tower = 0;
        s2v_session_reset(s);
        ask(s, &q, &b);
        assert_int_equal(b.stats.tower_tokens, TOKENS);
        assert_int_equal(b.stats.tower_runs, 1);
        q = page_question("s2prune", 12); /* and back */
        s2v_session_reset(s);
        ask(s, &q, &b);
        assert_same_bits(&a, &b);
        s2v_session_free(s);
        options.no_cache = 1;
        s = tiny_session(engine, &options);
        ask(s, &q, &b);
        assert_int_equal(b.stats.tower_runs, 1);
        assert_same_bits(&a, &b);
        s2v_session_free(s);
        s2v_engine_close(engine);
    }
}

/* --- several pictures --------------------------------------------------------------- */

/* Each picture for itself: a page, a photograph, another page. */
static void test_several(void **state)
{
    (void)state;
    write_family(QWEN2_5);
    s2v_engine *engine = tiny_open_caching();
    const s2v_session_options options = tiny_session_options();
    s2v_session *s = tiny_session(engine, &options);
    question q = page_question("s2prune", 9);
    const question photo = one_picture("s2prune", 9);
    q.raw = "hello <image> and <image> and <image> aaaa";
    q.n_images = 3;
    q.image[1] = photo.image[0];
    q.image[2] = draw_page(1);
    q.size[1] = q.size[2] = q.size[0];
    int32_t n[3];
    for (int32_t pass = 0; pass < 2; pass++) {
        s2v_session_reset(s);
        ask(s, &q, pass ? &b : &a);
        for (int32_t i = 0; i < 3; i++) {
            const int32_t *entered = s2v_session_tower_tokens(s, i, &n[i]);
            assert_true((entered == NULL) == (i == 1));
            assert_int_equal((pass ? b : a).n_kept[i], 9);
        }
        assert_int_equal((pass ? b : a).stats.tower_tokens, n[0] + TOKENS + n[2]);
    }
    assert_same_bits(&a, &b);
    assert_int_not_equal(n[0], n[2]);
    assert_null(s2v_session_tower_tokens(s, 3, &n[0]));
    s2v_session_free(s);
    s2v_engine_close(engine);
}

/* --- budgets and refusals ------------------------------------------------------------ */

static void test_percent_is_of_all_tokens(void **state)
{
    (void)state;
    write_family(QWEN2_5);
    s2v_engine *engine = tiny_open();
    const s2v_session_options options = tiny_session_options();
    s2v_session *s = tiny_session(engine, &options);
    question q = page_question("s2prune", 0);
    q.prune.budget = (s2v_budget){ .percent = 20.0 };
    ask(s, &q, &a);
    assert_int_equal(a.stats.image_tokens, 13); /* rint(0.2 * 63) */
    const s2v_prompt prompt = prompt_of(&q);
    s2v_count count;
    assert_int_equal(s2v_engine_count(engine, &prompt, &q.prune, &count, NULL), S2P_OK);
    assert_int_equal(count.image_tokens_full, TOKENS);
    assert_int_equal(count.image_tokens, -1);
    s2v_session_free(s);
    s2v_engine_close(engine);
}

static void test_chosen_tokens(void **state)
{
    (void)state;
    write_family(QWEN2_5);
    s2v_engine *engine = tiny_open();
    const s2v_session_options options = tiny_session_options();
    s2v_session *s = tiny_session(engine, &options);
    question q = page_question("s2prune", 3);
    ask(s, &q, &a);
    int32_t n, missing = 0;
    const int32_t *entered = s2v_session_tower_tokens(s, 0, &n);
    const int32_t keep[] = { entered[0], entered[n / 2], entered[n - 1] };
    while (has_entered(s, 0, missing)) missing++;
    q.prune.keep = keep;
    q.prune.n_keep = 3;
    s2v_session_reset(s);
    ask(s, &q, &b);
    assert_int_equal(b.n_kept[0], 3);
    assert_memory_equal(b.kept[0], keep, sizeof keep);
    q.prune.keep = &missing;
    q.prune.n_keep = 1;
    s2v_session_reset(s);
    s2p_error error = { S2P_OK, "" };
    assert_int_equal(prefill(s, &q, NULL, &error), S2P_EINVAL);
    assert_non_null(strstr(error.message, "did not enter the tower"));
    s2v_session_free(s);
    s2v_engine_close(engine);
}

static void test_refusals(void **state)
{
    (void)state;
    s2p_error error = { S2P_OK, "" };
    write_family(QWEN2_5);
    s2v_engine *engine = tiny_open();
    const s2v_session_options options = tiny_session_options();
    s2v_session *s = tiny_session(engine, &options);
    question q = page_question("full", 3);
    q.size[0].pixelprune.threshold = 2.0;
    assert_int_equal(prefill(s, &q, NULL, &error), S2P_EINVAL);
    assert_non_null(strstr(error.message, "PixelPrune with threshold 2"));
    s2v_session_free(s);
    s2v_engine_close(engine);

    llava_text_of(&tiny_text_file, TINY_LAYERS);
    llava_mmproj(&tiny_mmproj_file);
    tiny_write_pair(folder, "before-llava", &tiny_text_file, &tiny_mmproj_file);
    engine = tiny_open();
    s = tiny_session(engine, &options);
    q = page_question("full", 3);
    q.size[0].width = q.size[0].height = 0;
    assert_int_equal(prefill(s, &q, NULL, &error), S2P_EUNSUPPORTED);
    assert_non_null(strstr(error.message, "LLaVA-OneVision has a tower with a fixed number"));
    s2v_session_free(s);
    s2v_engine_close(engine);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_method),  cmocka_unit_test(test_photograph),
        cmocka_unit_test(test_kernels),       cmocka_unit_test(test_caches),
        cmocka_unit_test(test_several),       cmocka_unit_test(test_percent_is_of_all_tokens),
        cmocka_unit_test(test_chosen_tokens), cmocka_unit_test(test_refusals),
    };
    if (argc < 2) return 1;
    folder = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
