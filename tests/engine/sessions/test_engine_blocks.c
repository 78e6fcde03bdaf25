/* test_engine_blocks.c - decoders in quantized formats: what is remembered, and what is prefilled and decoded
 * together, is what it is from scratch and alone: bit for bit where one variant of the decoder's
 * products multiplies one row and as many as there are sessions, else but for the order of some sums. */
#define TINY_WIDTH 256
#define TINY_FF 512
#include "tiny_run.h"

#include "engine/products/decoder_products.h"

#define MOST 8 /* sessions */

static const char *folder;
static answer alone[MOST], again; /* too large for a stack */

/* Formats as files mix them: of most matrices, of those that are given more bits. */
static const enum ggml_type mixtures[][2] = { { GGML_TYPE_Q4_K, GGML_TYPE_Q6_K },
                                              { GGML_TYPE_Q5_K, GGML_TYPE_Q6_K },
                                              { GGML_TYPE_Q8_0, GGML_TYPE_Q8_0 },
                                              { GGML_TYPE_Q4_0, GGML_TYPE_Q6_K },
                                              { GGML_TYPE_IQ4_XS, GGML_TYPE_Q5_K } };

static void write_blocks(const enum ggml_type mixture[2])
{
    static const char *const finer[] = { "attn_v", "ffn_down", "output.weight" };
    vocabulary_init(&tiny_words);
    tiny_text(&tiny_text_file, &tiny_words, TINY_LAYERS);
    tiny_mmproj(&tiny_mmproj_file, TINY_BLOCKS);
    for (size_t i = 0; i < tiny_text_file.n_tensors; i++) {
        tiny_tensor *t = &tiny_text_file.tensor[i];
        if (t->n_dims < 2) continue;
        t->type = mixture[0];
        for (size_t k = 0; k < COUNT_OF(finer); k++)
            if (strstr(t->name, finer[k])) t->type = mixture[1];
    }
    tiny_write_pair(folder, "blocks", &tiny_text_file, &tiny_mmproj_file);
}

static question question_of(int i)
{
    static const char *const methods[] = { "s2prune", NULL, "random" };
    static const char *const texts[] = { "hello world <image> aaaa bcd",
                                         "<image> user cde 0123456789 0123456789 0123456789" };
    question q = one_picture(methods[i % 3], 10 + 3 * i);
    q.raw = texts[i % 2];
    return q;
}

static void ask_once(s2v_engine *engine, const question *q, answer *a)
{
    const s2v_session_options options = tiny_session_options();
    s2v_session *session = tiny_session(engine, &options);
    ask(session, q, a);
    s2v_session_free(session);
}

static void remembered_is_the_same(void **state)
{
    (void)state;
    s2v_engine *engine = tiny_open(), *caching = tiny_open_caching();
    for (int i = 0; i < 6; i++) {
        const question q = question_of(i);
        ask_once(engine, &q, &alone[0]);
        for (int time = 0; time < 3; time++) {
            ask_once(caching, &q, &again);
            assert_same_answer(&alone[0], &again);
            assert_same_bits(&alone[0], &again);
        }
        assert_true(again.stats.cached_tokens > 0);
    }
    s2v_engine_close(engine);
    s2v_engine_close(caching);
}

/* Logits of one of n sessions. */
static void assert_near(const s2v_engine *engine, size_t n, const float *expected, const float *got)
{
    const double d = distance(expected, got);
    const struct ggml_tensor *gate = engine->model.decoder.layers[0].ffn.gate;
    const s2k_products *one = s2v_products_for(engine->devices.products, gate, 1);
    if (one && one == s2v_products_for(engine->devices.products, gate, (int32_t)n))
        assert_memory_equal(expected, got, N_VOCABULARY * sizeof *got);
    else /* a number of a row may be rounded the other way; ggml rounds Q5_K's and IQ4_XS's rows with
          * one step for 256 numbers, so one of them weighs more (docs/NUMERICS.md) */
        CHECK_CASE(d <= (one ? 1e-3 : 2e-2), "%zu sessions: %g", n, d);
}

static void together_is_the_same(void **state)
{
    (void)state;
    s2v_engine *engine = tiny_open();
    for (int i = 0; i < MOST; i++) {
        const question q = question_of(i);
        ask_once(engine, &q, &alone[i]);
    }
    for (int n = 2; n <= MOST; n++) {
        const s2v_session_options options = tiny_session_options();
        s2v_session *session[MOST];
        s2v_step steps[MOST];
        char text[64];
        for (int i = 0; i < n; i++) {
            const question q = question_of(i);
            session[i] = tiny_session(engine, &options);
            assert_int_equal(prefill(session[i], &q, NULL, NULL), S2P_OK);
        }
        for (int k = 0; k < MAX_ANSWER; k++) {
            for (int i = 0; i < n; i++)
                steps[i] =
                    (s2v_step){ .session = session[i], .text = text, .capacity = sizeof text };
            assert_int_equal(s2v_decode_many(steps, (size_t)n, NULL), S2P_OK);
        }
        for (int i = 0; i < n; i++) {
            size_t n_tokens;
            const int32_t *tokens = s2v_session_tokens(session[i], &n_tokens);
            const float *logits = s2v_session_logits(session[i]);
            assert_int_equal(n_tokens, MAX_ANSWER);
            CHECK_CASE(memcmp(tokens, alone[i].token, sizeof alone[i].token) == 0, "%d of %d", i,
                       n);
            assert_near(engine, (size_t)n, alone[i].last, logits);
            s2v_session_free(session[i]);
        }
    }
    s2v_engine_close(engine);
}

/* Text alone, and behind pictures the cache knows. */
static void run_prompts(s2v_engine *engine, const question *questions, size_t n)
{
    const s2v_session_options options = tiny_session_options();
    s2v_session *session[MOST];
    s2v_prompt prompts[MOST];
    s2v_ask asks[MOST];
    size_t n_ran;
    for (size_t i = 0; i < n; i++) {
        session[i] = tiny_session(engine, &options);
        prompts[i] = prompt_of(&questions[i]);
        asks[i] =
            (s2v_ask){ .session = session[i], .prompt = &prompts[i], .prune = &questions[i].prune };
    }
    assert_int_equal(s2v_prefill_many(asks, n, &n_ran, NULL), S2P_OK);
    assert_int_equal(n_ran, n);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(asks[i].status, S2P_OK);
        take_prefill(session[i], &asks[i].stats, questions[i].n_images, &again);
        generate(session[i], &again);
        assert_same_answer(&alone[i], &again);
        assert_near(engine, n, alone[i].first, again.first);
        s2v_session_free(session[i]);
    }
}

static void prompts_together_are_the_same(void **state)
{
    (void)state;
    s2v_engine *engine = tiny_open_caching();
    question questions[MOST];
    for (int i = 0; i < MOST; i++) {
        question *q = &questions[i];
        *q = question_of(1 + 2 * (i % 3));
        if (i % 3 == 2) q->n_images = 0;
        if (i % 3 == 2) q->raw = "hello world user 0123456789 0123456789 aaaa bcd";
        for (int time = 0; time < 2; time++) ask_once(engine, q, &alone[i]);
    }
    for (size_t n = 2; n <= MOST; n++) run_prompts(engine, questions, n);
    s2v_engine_close(engine);
}

int main(int argc, char **argv)
{
    if (argc < 2) return 2;
    folder = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remembered_is_the_same),
        cmocka_unit_test(together_is_the_same),
        cmocka_unit_test(prompts_together_are_the_same),
    };
    int failed = 0;
    for (size_t i = 0; i < COUNT_OF(mixtures); i++) {
        print_message("%s and %s\n", ggml_type_name(mixtures[i][0]),
                      ggml_type_name(mixtures[i][1]));
        write_blocks(mixtures[i]);
        failed += cmocka_run_group_tests(tests, NULL, NULL);
    }
    return failed;
}
