/* tiny_run.h - open the tiny pair, ask it something, remember the answer.
 *
 * The first argument of a test program is a folder of its own to write in.
 */
#ifndef TESTS_TINY_RUN_H
#define TESTS_TINY_RUN_H

#include "check.h"

#include "engine/prompt/steps.h"
#include "engine/prompt/trace.h"
#include "tiny_model.h"
#include "picture.h"

#define MAX_ANSWER 16

static char tiny_model_path[512], tiny_mmproj_path[512];
static vocabulary tiny_words;
static tiny_file tiny_text_file, tiny_mmproj_file;

/* Write the two files of the tables as a pair of this name; they are opened from now on. */
static inline void tiny_write_pair(const char *folder, const char *name, const tiny_file *text,
                                   const tiny_file *mmproj)
{
    (void)snprintf(tiny_model_path, sizeof tiny_model_path, "%s/%s.gguf", folder, name);
    (void)snprintf(tiny_mmproj_path, sizeof tiny_mmproj_path, "%s/mmproj-%s.gguf", folder, name);
    tiny_write(text, tiny_model_path);
    tiny_write(mmproj, tiny_mmproj_path);
}

/* The pair as it should be. */
static inline void tiny_write_plain(const char *folder)
{
    vocabulary_init(&tiny_words);
    tiny_text(&tiny_text_file, &tiny_words, TINY_LAYERS);
    tiny_mmproj(&tiny_mmproj_file, TINY_BLOCKS);
    tiny_write_pair(folder, "plain", &tiny_text_file, &tiny_mmproj_file);
}

static inline s2v_engine_options tiny_options(void)
{
    s2v_engine_options options;
    s2v_engine_options_init(&options);
    options.model_path = tiny_model_path;
    options.mmproj_path = tiny_mmproj_path;
    options.n_threads = 1; /* for a model this small threads mostly wait; engine_same has more */
    return options;
}

static inline s2v_engine *tiny_open_as(const s2v_engine_options *options)
{
    s2v_engine *engine;
    s2p_error error = { S2P_OK, "" };
    CHECK_CASE(s2v_engine_open(&engine, options, &error) == S2P_OK, "%s", error.message);
    return engine;
}

static inline s2v_engine *tiny_open(void)
{
    const s2v_engine_options options = tiny_options();
    return tiny_open_as(&options);
}

/* One that remembers. */
static inline s2v_engine *tiny_open_caching(void)
{
    s2v_engine_options options = tiny_options();
    options.cache_bytes = (uint64_t)64 << 20;
    return tiny_open_as(&options);
}

static inline s2v_session_options tiny_session_options(void)
{
    s2v_session_options options;
    s2v_session_options_init(&options);
    options.n_ctx = 1024;
    options.kv_type = S2V_KV_F32;
    options.sampling.ignore_eos = 1;
    return options;
}

static inline s2v_session *tiny_session(s2v_engine *engine, const s2v_session_options *options)
{
    s2v_session *session;
    s2p_error error = { S2P_OK, "" };
    CHECK_CASE(s2v_session_create(&session, engine, options, &error) == S2P_OK, "%s",
               error.message);
    return session;
}

/* --- a question ------------------------------------------------------------------ */

#define MAX_QUESTION_IMAGES 4

typedef struct question {
    const char *raw;
    s2p_image image[MAX_QUESTION_IMAGES];
    s2v_image_options size[MAX_QUESTION_IMAGES];
    int32_t n_images;
    int32_t n_answer;
    s2v_prune_options prune;
} question;

/* One picture of 9x7 tokens, `method` with `budget` tokens of its 63. */
static inline question one_picture(const char *method, int32_t budget)
{
    static uint8_t pixels[180 * 140 * 3];
    question q = { .raw = "hello world <image> aaaa bcd", .n_images = 1 };
    q.image[0] = make_picture(pixels, 180, 140, 5);
    for (int i = 0; i < MAX_QUESTION_IMAGES; i++) s2v_image_options_init(&q.size[i]);
    q.size[0] = (s2v_image_options){ .size = sizeof(s2v_image_options),
                                     .width = 9 * TINY_TOKEN_SIDE,
                                     .height = 7 * TINY_TOKEN_SIDE };
    s2v_prune_options_init(&q.prune);
    q.prune.method = method;
    q.prune.budget.tokens = budget;
    return q;
}

/* Borrows from the question. */
static inline s2v_prompt prompt_of(const question *q)
{
    return (s2v_prompt){ .size = sizeof(s2v_prompt),
                         .raw = q->raw,
                         .images = q->image,
                         .n_images = q->n_images,
                         .image_options = q->size,
                         .n_answer = q->n_answer };
}

static inline s2p_status prefill(s2v_session *session, const question *q, s2v_stats *stats,
                                 s2p_error *error)
{
    const s2v_prompt prompt = prompt_of(q);
    return s2v_session_prefill(session, &prompt, q->prune.size > 0 ? &q->prune : NULL, stats,
                               error);
}

/* --- an answer ------------------------------------------------------------------- */

typedef struct answer {
    s2v_stats stats;
    int32_t kept[MAX_QUESTION_IMAGES][1024], n_kept[MAX_QUESTION_IMAGES];
    float first[N_VOCABULARY], last[N_VOCABULARY]; /* logits after the prompt, before the end */
    int32_t token[MAX_ANSWER];
    float margin; /* between the best two logits, the smallest of the answer */
    char text[1024];
} answer;

static inline float margin_of(const float *logits)
{
    float best = -INFINITY, second = -INFINITY;
    for (int32_t i = 0; i < N_VOCABULARY; i++) {
        if (logits[i] > best) {
            second = best;
            best = logits[i];
        } else if (logits[i] > second) {
            second = logits[i];
        }
    }
    return best - second;
}

static inline void generate(s2v_session *session, answer *a)
{
    s2p_error error = { S2P_OK, "" };
    size_t n_text = 0, n;
    a->margin = INFINITY;
    for (int i = 0; i < MAX_ANSWER; i++) {
        int done;
        const s2p_status st =
            s2v_session_next(session, a->text + n_text, sizeof a->text - n_text, &done, &error);
        CHECK_CASE(st == S2P_OK && !done, "token %d: %s", i, error.message);
        n_text += strlen(a->text + n_text);
        a->margin = fminf(a->margin, margin_of(s2v_session_logits(session)));
    }
    const int32_t *tokens = s2v_session_tokens(session, &n);
    assert_int_equal(n, MAX_ANSWER);
    memcpy(a->token, tokens, sizeof a->token);
    memcpy(a->last, s2v_session_logits(session), sizeof a->last);
}

/* What a prefill of n_images pictures has left. */
static inline void take_prefill(const s2v_session *session, const s2v_stats *stats,
                                int32_t n_images, answer *a)
{
    memset(a, 0, sizeof *a);
    a->stats = *stats;
    memcpy(a->first, s2v_session_logits(session), sizeof a->first);
    for (int32_t i = 0; i < n_images; i++) {
        const int32_t *kept = s2p_plan_keep(s2v_session_plan(session, i), &a->n_kept[i]);
        memcpy(a->kept[i], kept, (size_t)a->n_kept[i] * sizeof *kept);
    }
}

static inline void prefill_only(s2v_session *session, const question *q, answer *a)
{
    s2p_error error = { S2P_OK, "" };
    s2v_stats stats;
    CHECK_CASE(prefill(session, q, &stats, &error) == S2P_OK, "%s", error.message);
    take_prefill(session, &stats, q->n_images, a);
}

static inline void ask(s2v_session *session, const question *q, answer *a)
{
    prefill_only(session, q, a);
    generate(session, a);
}

/* --- comparing ------------------------------------------------------------------- */

/* Largest difference relative to max(1, largest expected). */
static inline double distance(const float *expected, const float *got)
{
    double worst = 0.0, largest = 1.0;
    for (int32_t i = 0; i < N_VOCABULARY; i++) {
        const double difference = fabs((double)expected[i] - (double)got[i]);
        if (!(difference <= worst)) worst = difference; /* NaN sticks */
        largest = fmax(largest, fabs((double)expected[i]));
    }
    return worst / largest;
}

/* The same tokens kept, the same tokens said. */
static inline void assert_same_answer(const answer *a, const answer *b)
{
    assert_memory_equal(a->n_kept, b->n_kept, sizeof a->n_kept);
    assert_memory_equal(a->kept, b->kept, sizeof a->kept);
    assert_memory_equal(a->token, b->token, sizeof a->token);
    assert_string_equal(a->text, b->text);
}

static inline void assert_same_bits(const answer *a, const answer *b)
{
    assert_memory_equal(a->first, b->first, sizeof a->first);
    assert_memory_equal(a->last, b->last, sizeof a->last);
    assert_memory_equal(a->token, b->token, sizeof a->token);
}

#endif /* TESTS_TINY_RUN_H */
