/* test_engine_prefix_changes.c - whatever changes the prompt before the question is a new prefix; methods
 * that see the question run the whole prompt each time; refusals and cancelled prompts leave the cache right.
 */
#include "prefix_questions.h"

/* --- what makes another prefix --------------------------------------------------------- */

static question *changed_question(question *q, int which)
{
    static uint8_t pixels[WIDTH * HEIGHT * 3];
    static const s2v_budget budget[2] = { { .tokens = 9 }, { .tokens = 10 } };
    static const int32_t side[2] = { 0, 1 };
    s2p_image swapped;
    switch (which) {
    case 0: /* one value of one pixel, which the tower sees or not: structure is measured on it */
        memcpy(pixels, q->image[0].pixels, sizeof pixels);
        pixels[(300 * WIDTH + 100) * 3] ^= 1;
        q->image[0].pixels = pixels;
        break;
    case 1:
        q->prune.budget.tokens = 10;
        break;
    case 2:
        q->prune.budget.percent = 50.0;
        break;
    case 3:
        q->prune.method = "random";
        break;
    case 4: /* the method draws, so its seed matters */
        q->prune.choice.selector = "random";
        q->prune.choice.seed = 4;
        break;
    case 5:
        q->prune.choice.side = 2;
        break;
    case 6:
        q->prune.choice.allocator = "fft";
        break;
    case 7:
        q->prune.choice.selector = "norm";
        break;
    case 8:
        q->prune.published = 1;
        break;
    case 9:
        q->prune.image_budget = budget;
        break;
    case 10:
        q->prune.image_side = side;
        break;
    case 11: /* pictures change places */
        swapped = q->image[0];
        q->image[0] = q->image[1];
        q->image[1] = swapped;
        break;
    case 12: /* the second is another one */
        q->image[1] = make_picture(pixels, WIDTH - 140, HEIGHT, 99);
        break;
    case 13: /* as many tokens, one of them another */
        q->raw = "user<image> world <image> aaaa bcd";
        break;
    case 14: /* the same tokens, a picture elsewhere */
        q->raw = "hello world<image> <image> aaaa bcd";
        break;
    case 15:
        q->size[1].width = 6 * TINY_TOKEN_SIDE;
        q->size[1].height = 6 * TINY_TOKEN_SIDE;
        break;
    case 16:
        q->size[0].structure_from_resized = 1;
        break;
    case 17:
        q->n_images = 1;
        q->raw = "hello<image> world aaaa bcd";
        break;
    default:
        return NULL;
    }
    return q;
}

/* Each change alone is a miss; then both are remembered. */
static void test_changes(void **state)
{
    (void)state;
    s2v_session *session = open_keeping(QWEN);
    const question first = ask_about(QWEN, 2, "s2prune", 9);
    assert_miss(session, &first);
    for (int which = 0;; which++) {
        question q = first;
        if (!changed_question(&q, which)) break;
        assert_hit(session, &first);
        assert_miss(session, &q);
        assert_hit(session, &q);
        assert_hit(session, &first);
    }
    s2v_session_free(session);
}

/* A seed is a change only where something is drawn. */
static void test_seeds(void **state)
{
    (void)state;
    s2v_session *session = open_keeping(QWEN);
    question q = ask_about(QWEN, 2, "s2prune", 9);
    assert_miss(session, &q);
    q.prune.choice.seed = 4;
    assert_hit(session, &q);
    q.prune.method = "random";
    assert_miss(session, &q);
    q.prune.choice.seed = 5;
    assert_miss(session, &q);
    assert_hit(session, &q);
    s2v_session_free(session);
}

/* A pixel the tower does not see after its rounding is no change where nobody measures it. */
static void test_unseen_pixel(void **state)
{
    (void)state;
    s2v_session *session = open_keeping(QWEN);
    const question first = ask_about(QWEN, 2, "random", 9);
    question q = first;
    assert_miss(session, &first);
    assert_hit(session, changed_question(&q, 0));
    assert_miss(session, changed_question(&q, 12));
    q.prune.method = "uniform"; /* which reads no more than the other */
    assert_miss(session, &q);
    s2v_session_free(session);
}

static void test_llava_changes(void **state)
{
    (void)state;
    s2v_session *session = open_keeping(LLAVA);
    question q = ask_about(LLAVA, 1, "random", 9);
    assert_miss(session, &q);
    q.size[0].no_newline = 1; /* one row less, all else is the same */
    assert_miss(session, &q);
    q = ask_about(LLAVA, 1, "s2prune", 9);
    assert_miss(session, &q);
    q.size[0].framing = S2V_FRAMING_SQUARE;
    assert_miss(session, &q);
    q.size[0].framing = S2V_FRAMING_ANYRES;
    assert_miss(session, &q);
    q.size[0].no_newline = 1;
    assert_miss(session, &q);
    assert_hit(session, &q);
    q = ask_about(LLAVA, 2, "s2prune", 9); /* nothing but pictures between tokens */
    q.raw = "hello<image> world<image> aaaa";
    assert_miss(session, &q);
    q.raw = "hello world<image><image> aaaa";
    assert_miss(session, &q);
    s2v_session_free(session);
}

/* The same with messages: the system prompt is part of the prefix, the question is not. */
static void test_messages(void **state)
{
    (void)state;
    static const char *const system[] = { NULL, NULL, "hello", "hello", "world", NULL };
    static const char *const text[] = { "aaaa", "bcd?", "aaaa", "user", "user", "user" };
    static const bool is_hit[] = { false, true, false, true, false, true };
    const question q = ask_about(QWEN, 1, "s2prune", 9);
    s2v_session_options options = keeping(S2V_KV_F16, 0);
    s2v_session *session = open_new(QWEN, &options);
    options.no_cache = 1;
    s2v_session *scratch = tiny_session(engines[QWEN], &options);
    for (size_t i = 0; i < COUNT_OF(text); i++) {
        const s2v_message messages[] = { { S2V_SYSTEM, system[i], 0 }, { S2V_USER, text[i], 1 } };
        const int first = system[i] ? 0 : 1;
        const s2v_prompt prompt = { .size = sizeof(s2v_prompt),
                                    .messages = messages + first,
                                    .n_messages = (size_t)(2 - first),
                                    .images = q.image,
                                    .n_images = 1,
                                    .image_options = q.size };
        s2v_stats stats;
        s2v_session_reset(session);
        s2v_session_reset(scratch);
        assert_int_equal(s2v_session_prefill(session, &prompt, &q.prune, &stats, NULL), S2P_OK);
        assert_int_equal(s2v_session_prefill(scratch, &prompt, &q.prune, NULL, NULL), S2P_OK);
        CHECK_CASE((stats.cached_tokens > 0) == is_hit[i], "%zu", i);
        generate(session, &got);
        generate(scratch, &expected);
        assert_memory_equal(got.last, expected.last, sizeof got.last);
        assert_memory_equal(got.token, expected.token, sizeof got.token);
    }
    s2v_session_free(scratch);
    s2v_session_free(session);
}

/* --- refusals and failures ----------------------------------------------------------------- */

/* Such a prompt runs whole each time, but for the tower. */
static void assert_never_kept(s2v_session *session, const question *q)
{
    assert_miss(session, q);
    const uint64_t stored = count_cache(session).stored;
    assert_miss(session, q);
    assert_int_equal(got.stats.tower_runs, 0);
    assert_int_equal(count_cache(session).stored, stored);
}

static void test_methods_that_see_the_question(void **state)
{
    (void)state;
    for (int model = 0; model < N_MODELS; model++) {
        s2v_session *session = open_keeping(model);
        const question first = ask_about(model, 1, "s2prune", 9);
        assert_miss(session, &first);
        assert_hit(session, &first);
        int n = 0;
        for (size_t m = 0; s2p_method_at(m); m++) {
            if (!s2p_method_about(s2p_method_at(m))->sees_question) continue;
            const question q = ask_about(model, 1, s2p_method_about(s2p_method_at(m))->name, 9);
            assert_never_kept(session, &q);
            n++;
        }
        assert_true(n >= 8);
        static const char *const selectors[] = { "query-all", "query-last" };
        for (size_t i = 0; i < COUNT_OF(selectors); i++) {
            question q = ask_about(model, 1, "s2prune", 9);
            q.prune.choice.selector = selectors[i];
            assert_never_kept(session, &q);
        }
        assert_hit(session, &first);
        s2v_session_free(session);
    }
}

/* The prefix outlives a refusal. */
static void test_refusals(void **state)
{
    (void)state;
    for (int model = 0; model < N_MODELS; model++) {
        s2v_session *session = open_keeping(model);
        const question first = ask_about(model, 1, "s2prune", 9);
        assert_miss(session, &first);
        question q = ask_about(model, 1, "s2prune", 9);
        q.raw = "no picture here";
        s2v_session_reset(session);
        assert_int_equal(prefill(session, &q, NULL, NULL), S2P_EINVAL);
        assert_hit(session, &first);
        s2v_session_free(session);
    }
}

/* Wherever a prefill stops, the next one is right. */
static void test_cancelling(void **state)
{
    (void)state;
    const s2v_session_options options = keeping(S2V_KV_F16, 20);
    s2v_session *session = open_new(QWEN, &options);
    question first = ask_about(QWEN, 1, "s2prune", 9), other = ask_about(QWEN, 1, "v2drop", 9);
    other.raw = one_raw[2];
    int n_cancelled[2] = { 0, 0 };
    for (int is_hit = 0; is_hit < 2; is_hit++) {
        const question *q = is_hit ? &first : &other;
        for (int i = 0;; i += 9) { /* of a call in every half of a layer and a block */
            s2v_cache_clear(session->engine->cache);
            s2v_session_reset(session);
            prefill_only(session, &first, &got);
            s2v_session_reset(session);
            steps_left = i;
            const s2p_status st = prefill(session, q, NULL, NULL);
            const bool is_over = steps_left >= 0;
            steps_left = -1;
            assert_int_equal(st, is_over ? S2P_OK : S2P_ECANCELLED);
            if (is_over) break;
            n_cancelled[is_hit]++;
            s2v_cache_clear(session->engine->cache);
            assert_int_equal(count_cache(session).bytes, 0); /* nor does it hold memory */
            assert_miss(session, &first);
            assert_hit(session, &first);
        }
    }
    assert_true(n_cancelled[0] > n_cancelled[1] && n_cancelled[1] >= 2);
    s2v_session_free(session);
}

/* A prompt that does not fit is refused with the prefix as without it. */
static void test_context(void **state)
{
    (void)state;
    s2v_session_options options = keeping(S2V_KV_F16, 0);
    question q = ask_about(QWEN, 1, "s2prune", 9);
    s2v_session *session = open_new(QWEN, &options);
    q.raw = one_raw[1];
    prefill_only(session, &q, &got);
    s2v_session_free(session);
    options.n_ctx = got.stats.prompt_tokens;
    session = tiny_session(engines[QWEN], &options);
    prefill_only(session, &q, &got);
    s2v_session_reset(session);
    q.raw = one_raw[0];
    assert_int_equal(prefill(session, &q, NULL, NULL), S2P_ELIMIT);
    q.raw = one_raw[1];
    prefill_only(session, &q, &got);
    assert_true(got.stats.cached_tokens > 0);
    s2v_session_free(session);
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    folder = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_changes),      cmocka_unit_test(test_seeds),
        cmocka_unit_test(test_unseen_pixel), cmocka_unit_test(test_llava_changes),
        cmocka_unit_test(test_messages),     cmocka_unit_test(test_methods_that_see_the_question),
        cmocka_unit_test(test_refusals),     cmocka_unit_test(test_cancelling),
        cmocka_unit_test(test_context),
    };
    return cmocka_run_group_tests(tests, open_engines, close_engines);
}
