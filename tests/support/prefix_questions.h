/* prefix_questions.h - questions about the same pictures, and a session's answer compared with one from
 * scratch: logits, tokens, kept sets, every byte of the cache, every count of the statistics.
 */
#ifndef TESTS_PREFIX_QUESTIONS_H
#define TESTS_PREFIX_QUESTIONS_H

#include "tiny_llava.h"

#define N_LAYERS 6 /* room for a method with three stages */
#define WIDTH 500  /* of the first picture: larger than the tower sees it */
#define HEIGHT 400

enum { QWEN, LLAVA, N_MODELS };
static const char *const model_names[] = { "qwen", "llava" };

static const char *folder;
static s2v_engine *engines[N_MODELS];
static answer expected, got; /* too large for a stack */
static int steps_left = -1;  /* of the progress callback before it cancels; negative: never */

static inline int count_step(const char *step, double done, void *user)
{
    (void)user;
    /* What was remembered is not touched yet, or what will be is complete. */
    if (strcmp(step, "picture") == 0 || done == 1.0) return 0;
    return steps_left >= 0 && steps_left-- == 0;
}

static inline int open_engines(void **state)
{
    (void)state;
    s2v_engine_options options = tiny_options();
    options.progress = count_step;
    options.cache_bytes = (uint64_t)64 << 20;
    vocabulary_init(&tiny_words);
    for (int m = 0; m < N_MODELS; m++) {
        if (m == QWEN) {
            tiny_text(&tiny_text_file, &tiny_words, N_LAYERS);
            tiny_mmproj(&tiny_mmproj_file, TINY_BLOCKS);
        } else {
            llava_text_of(&tiny_text_file, N_LAYERS);
            llava_mmproj(&tiny_mmproj_file);
        }
        tiny_write_pair(folder, model_names[m], &tiny_text_file, &tiny_mmproj_file);
        s2p_error error = { S2P_OK, "" };
        CHECK_CASE(s2v_engine_open(&engines[m], &options, &error) == S2P_OK, "%s", error.message);
    }
    return 0;
}

static inline int close_engines(void **state)
{
    (void)state;
    for (int m = 0; m < N_MODELS; m++) s2v_engine_close(engines[m]);
    return 0;
}

/* --- questions ----------------------------------------------------------------------- */

/* The same start; questions shorter and longer than a tile of attention (64 rows) and a batch. */
static const char *const one_raw[] = {
    "hello world <image> aaaa bcd",
    "hello world <image>u",
    "hello world <image> user cde 0123456789 0123456789 0123456789 0123456789 0123456789 01234567",
};
static const char *const two_raw[] = {
    "hello<image> world <image> aaaa bcd",
    "hello<image> world <image>u",
    "hello<image> world <image> user cde 0123456789 0123456789 0123456789 0123456789 0123456789",
};

/* One picture, or two of which the second is smaller. */
static inline question ask_about(int model, int32_t n_images, const char *method, int32_t budget)
{
    static uint8_t pixels[2][WIDTH * HEIGHT * 3];
    question q = { .raw = n_images == 1 ? one_raw[0] : two_raw[0], .n_images = n_images };
    for (int32_t i = 0; i < n_images; i++) {
        q.image[i] = make_picture(pixels[i], WIDTH - 140 * i, HEIGHT, 5 + (uint32_t)i);
        s2v_image_options_init(&q.size[i]);
        if (model == QWEN)
            q.size[i] = (s2v_image_options){ .size = sizeof(s2v_image_options),
                                             .width = (9 - 4 * i) * TINY_TOKEN_SIDE,
                                             .height = 7 * TINY_TOKEN_SIDE };
    }
    s2v_prune_options_init(&q.prune);
    q.prune.method = method;
    q.prune.budget.tokens = budget;
    q.prune.choice.seed = 3;
    return q;
}

static inline const char *question_text(const question *q, int which)
{
    return q->n_images == 1 ? one_raw[which] : two_raw[which];
}

static inline s2v_session_options keeping(s2v_kv_type type, int32_t n_batch)
{
    s2v_session_options options = tiny_session_options();
    options.kv_type = type;
    options.n_batch = n_batch;
    return options;
}

/* Nothing is remembered yet. */
static inline s2v_session *open_new(int model, const s2v_session_options *options)
{
    s2v_cache_clear(engines[model]->cache);
    return tiny_session(engines[model], options);
}

static inline s2v_session *open_keeping(int model)
{
    const s2v_session_options options = keeping(S2V_KV_F16, 0);
    return open_new(model, &options);
}

static inline s2v_cache_stats count_cache(const s2v_session *session)
{
    s2v_cache_stats stats;
    s2v_engine_get_cache_stats(session->engine, &stats);
    assert_true(stats.bytes <= stats.limit);
    return stats;
}

/* --- comparing ----------------------------------------------------------------------- */

static inline void assert_same_counts(const s2v_stats *a, const s2v_stats *b)
{
    assert_int_equal(a->text_tokens, b->text_tokens);
    assert_int_equal(a->image_tokens_full, b->image_tokens_full);
    assert_int_equal(a->image_tokens, b->image_tokens);
    assert_int_equal(a->prompt_tokens, b->prompt_tokens);
    assert_int_equal(a->kv_visual_bytes, b->kv_visual_bytes);
    assert_int_equal(a->kv_visual_bytes_paper, b->kv_visual_bytes_paper);
    assert_int_equal(a->kv_total_bytes, b->kv_total_bytes);
    assert_true(a->flops == b->flops);
    assert_int_equal(a->n_stages, b->n_stages);
    assert_memory_equal(a->stage_after, b->stage_after, sizeof a->stage_after);
    assert_memory_equal(a->stage_tokens, b->stage_tokens, sizeof a->stage_tokens);
}

static inline void assert_same_slots(struct ggml_tensor *a, struct ggml_tensor *b, int32_t n)
{
    const size_t n_bytes = (size_t)n * a->nb[1];
    uint8_t *bytes = malloc(2 * n_bytes);
    assert_non_null(bytes);
    ggml_backend_tensor_get(a, bytes, 0, n_bytes);
    ggml_backend_tensor_get(b, bytes + n_bytes, 0, n_bytes);
    assert_memory_equal(bytes, bytes + n_bytes, n_bytes);
    free(bytes);
}

static inline void assert_same_cache(const s2v_session *a, const s2v_session *b)
{
    assert_int_equal(a->next_pos, b->next_pos);
    for (int32_t i = 0; i < N_LAYERS; i++) {
        assert_int_equal(s2v_past_length(&a->past, i), s2v_past_length(&b->past, i));
        assert_same_slots(a->past.layer[i].k, b->past.layer[i].k, s2v_past_length(&a->past, i));
        assert_same_slots(a->past.layer[i].v, b->past.layer[i].v, s2v_past_length(&a->past, i));
    }
}

/* Ask a session that has forgotten its conversation, and one that never had another. */
static inline void assert_as_from_scratch(s2v_session *session, const question *q)
{
    s2v_session_options options = session->options;
    options.no_cache = 1;
    s2v_session *scratch = tiny_session(session->engine, &options);
    ask(scratch, q, &expected);
    s2v_session_reset(session);
    ask(session, q, &got);
    assert_same_answer(&expected, &got);
    assert_same_bits(&expected, &got);
    assert_same_counts(&expected.stats, &got.stats);
    assert_same_cache(scratch, session);
    assert_int_equal(expected.stats.cached_tokens, 0);
    s2v_session_free(scratch);
}

static inline void assert_hit(s2v_session *session, const question *q)
{
    assert_as_from_scratch(session, q);
    assert_true(got.stats.cached_tokens > 0);
    assert_int_equal(got.stats.cached_tokens, got.stats.prompt_tokens - session->rows.n_tail);
    assert_int_equal(session->rows.n, session->rows.n_tail); /* nothing else ran */
    assert_true(got.stats.vision_ms == 0.0);
}

static inline void assert_miss(s2v_session *session, const question *q)
{
    assert_as_from_scratch(session, q);
    assert_int_equal(got.stats.cached_tokens, 0);
}

/* --- equal to a run from scratch ----------------------------------------------------- */

/* Three questions of different lengths, and the first once more. */
static inline void check_questions(int model, const s2v_session_options *options, question *q)
{
    s2v_session *session = open_new(model, options);
    q->raw = question_text(q, 0);
    assert_miss(session, q);
    for (int i = 1; i <= 3; i++) {
        q->raw = question_text(q, i % 3);
        assert_hit(session, q);
    }
    s2v_session_free(session);
}

#endif /* TESTS_PREFIX_QUESTIONS_H */
