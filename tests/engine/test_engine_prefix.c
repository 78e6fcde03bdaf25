/* test_engine_prefix.c - another question about the same pictures equals a run from scratch, bit
 * for bit; anything else about the prompt is no such question; methods that see the question run
 * the whole prompt each time.
 *
 * Equal means: logits, tokens, kept sets, every byte of the cache, every count of the statistics.
 */
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

static int count_step(const char *step, double done, void *user)
{
    (void)user;
    /* What was remembered is not touched yet, or what will be is complete. */
    if (strcmp(step, "picture") == 0 || done == 1.0) return 0;
    return steps_left >= 0 && steps_left-- == 0;
}

static int open_engines(void **state)
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

static int close_engines(void **state)
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
static question ask_about(int model, int32_t n_images, const char *method, int32_t budget)
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

static const char *question_text(const question *q, int which)
{
    return q->n_images == 1 ? one_raw[which] : two_raw[which];
}

static s2v_session_options keeping(s2v_kv_type type, int32_t n_batch)
{
    s2v_session_options options = tiny_session_options();
    options.kv_type = type;
    options.n_batch = n_batch;
    return options;
}

/* Nothing is remembered yet. */
static s2v_session *open_new(int model, const s2v_session_options *options)
{
    s2v_cache_clear(engines[model]->cache);
    return tiny_session(engines[model], options);
}

static s2v_session *open_keeping(int model)
{
    const s2v_session_options options = keeping(S2V_KV_F16, 0);
    return open_new(model, &options);
}

static s2v_cache_stats count_cache(const s2v_session *session)
{
    s2v_cache_stats stats;
    s2v_engine_get_cache_stats(session->engine, &stats);
    assert_true(stats.bytes <= stats.limit);
    return stats;
}

/* --- comparing ----------------------------------------------------------------------- */

static void assert_same_counts(const s2v_stats *a, const s2v_stats *b)
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

static void assert_same_slots(struct ggml_tensor *a, struct ggml_tensor *b, int32_t n)
{
    const size_t n_bytes = (size_t)n * a->nb[1];
    uint8_t *bytes = malloc(2 * n_bytes);
    assert_non_null(bytes);
    ggml_backend_tensor_get(a, bytes, 0, n_bytes);
    ggml_backend_tensor_get(b, bytes + n_bytes, 0, n_bytes);
    assert_memory_equal(bytes, bytes + n_bytes, n_bytes);
    free(bytes);
}

static void assert_same_cache(const s2v_session *a, const s2v_session *b)
{
    assert_int_equal(a->next_pos, b->next_pos);
    for (int32_t i = 0; i < N_LAYERS; i++) {
        assert_int_equal(s2v_past_length(&a->past, i), s2v_past_length(&b->past, i));
        assert_same_slots(a->past.layer[i].k, b->past.layer[i].k, s2v_past_length(&a->past, i));
        assert_same_slots(a->past.layer[i].v, b->past.layer[i].v, s2v_past_length(&a->past, i));
    }
}

/* Ask a session that has forgotten its conversation, and one that never had another. */
static void assert_as_from_scratch(s2v_session *session, const question *q)
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

static void assert_hit(s2v_session *session, const question *q)
{
    assert_as_from_scratch(session, q);
    assert_true(got.stats.cached_tokens > 0);
    assert_int_equal(got.stats.cached_tokens, got.stats.prompt_tokens - session->rows.n_tail);
    assert_int_equal(session->rows.n, session->rows.n_tail); /* nothing else ran */
    assert_true(got.stats.vision_ms == 0.0);
}

static void assert_miss(s2v_session *session, const question *q)
{
    assert_as_from_scratch(session, q);
    assert_int_equal(got.stats.cached_tokens, 0);
}

/* --- equal to a run from scratch ----------------------------------------------------- */

/* Three questions of different lengths, and the first once more. */
static void check_questions(int model, const s2v_session_options *options, question *q)
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

/* The kinds: all tokens; before the decoder; after layer 0, cache pruned; in stages, cache whole;
 * merging. Every cache and several batches. */
static void test_caches_and_batches(void **state)
{
    (void)state;
    static const char *const methods[] = { "full", "random", "s2prune", "v2drop", "visionzip" };
    static const s2v_kv_type types[] = { S2V_KV_F16, S2V_KV_F32, S2V_KV_Q8_0 };
    static const int32_t batches[] = { 0, 13, 1 };
    for (int model = 0; model < N_MODELS; model++)
        for (size_t m = 0; m < COUNT_OF(methods); m++)
            for (size_t i = 0; i < COUNT_OF(types) * COUNT_OF(batches); i++) {
                if (batches[i / 3] == 1 && i % 3 != m % 3) continue; /* slow */
                s2v_session_options options = keeping(types[i % 3], batches[i / 3]);
                if (i % 2) options.kv_type_v = types[(i + m) % 3];
                options.plain_attention = i == 4;
                if (i == 0 && m == 2) options.n_threads = 2;
                question q = ask_about(model, 1 + (int32_t)(m + i) % 2, methods[m], 9);
                check_questions(model, &options, &q);
            }
}

/* Every method that may, as ours and as its authors', one picture and two. */
static void test_every_method(void **state)
{
    (void)state;
    static const s2v_kv_type types[] = { S2V_KV_F16, S2V_KV_F32, S2V_KV_Q8_0 };
    int n = 0;
    for (size_t m = 0; s2p_method_at(m); m++) {
        const s2p_method *method = s2p_method_at(m);
        if (method->sees_question) continue;
        for (int i = 0; i < 2 * N_MODELS; i++) {
            const int model = i % 2;
            question q = ask_about(model, 1 + i / 2, method->name, 11);
            /* a tower of random weights has no outliers, which PruMerge+ looks for */
            q.prune.published = method->published && (i + (int)m) % 3 == 0 &&
                                strcmp(method->name, "prumerge+") != 0;
            const s2v_session_options options = keeping(types[(m + (size_t)i) % 3], i ? 64 : 0);
            check_questions(model, &options, &q);
            n++;
        }
    }
    assert_true(n >= 4 * 12);
}

static void test_s2prune_choices(void **state)
{
    (void)state;
    for (size_t a = 0; s2p_allocator_name(a); a++)
        for (size_t i = 0; s2p_selector_name(i); i++) {
            const int model = (int)(a + i) % 2;
            question q = ask_about(model, 1, "s2prune", 9);
            q.prune.choice.allocator = s2p_allocator_name(a);
            q.prune.choice.selector = s2p_selector_name(i);
            if (strncmp(q.prune.choice.selector, "query", 5) == 0) continue;
            const s2v_session_options options = keeping(S2V_KV_F16, a % 2 ? 17 : 0);
            check_questions(model, &options, &q);
        }
}

/* LLaVA-OneVision's views, with newlines among the rows. */
static void test_views(void **state)
{
    (void)state;
    static const s2v_framing views[] = { S2V_FRAMING_BASE, S2V_FRAMING_ANYRES, S2V_FRAMING_SQUARE };
    for (size_t i = 0; i < COUNT_OF(views); i++) {
        question q = ask_about(LLAVA, 1, "s2prune", 7);
        q.size[0].framing = views[i];
        const s2v_session_options options = keeping(S2V_KV_F16, 0);
        check_questions(LLAVA, &options, &q);
    }
}

/* Budgets of all and more: nothing leaves, slots are there once. Smaller ones: those of layer 0 before
 * and after. */
static void test_budgets(void **state)
{
    (void)state;
    static const int32_t budgets[] = { 1, 62, 63, 1000 };
    for (size_t i = 0; i < COUNT_OF(budgets); i++) {
        s2v_session *session = open_keeping(QWEN);
        question q = ask_about(QWEN, 1, "s2prune", budgets[i]);
        const uint64_t stored = count_cache(session).stored, before = count_cache(session).bytes;
        assert_miss(session, &q);
        const s2v_cache_stats stats = count_cache(session);
        assert_int_equal(stats.stored, stored + 2); /* the picture and the prefix */
        const size_t slot = 2 * session->past.layer[0].k->nb[1];
        const size_t n_left = (size_t)(got.stats.prompt_tokens - session->rows.n_tail);
        const size_t n_ran = n_left + (size_t)(63 - got.stats.image_tokens);
        const size_t n_slots = N_LAYERS * n_left + (n_ran == n_left ? 0 : n_ran);
        const size_t n_picture = 63 * TINY_WIDTH * sizeof(float);
        const uint64_t n = stats.bytes - before - n_slots * slot - n_picture;
        CHECK_CASE(n < 8192, "%llu bytes besides", (unsigned long long)n); /* heads and the plan */
        q.raw = one_raw[2];
        assert_hit(session, &q);
        assert_int_equal(count_cache(session).bytes, stats.bytes);
        s2v_session_free(session);
    }
}

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
    case 4:
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

/* --- conversations ----------------------------------------------------------------------- */

/* Later turns stand behind the prefix: other pictures, failures. They see it as it was. */
static void test_later_turns(void **state)
{
    (void)state;
    for (int model = 0; model < N_MODELS; model++) {
        s2v_session_options options = keeping(S2V_KV_F16, 0);
        s2v_session *session = open_new(model, &options);
        options.no_cache = 1;
        s2v_session *scratch = tiny_session(engines[model], &options);
        question first = ask_about(model, 2, "s2prune", 9);
        question later = ask_about(model, 1, "uniform", 5);
        assert_miss(session, &first);
        for (int i = 0; i < 3; i++) {
            first.raw = two_raw[i];
            assert_hit(session, &first);
            s2v_session_reset(scratch);
            ask(scratch, &first, &expected);
            const int32_t n_before = s2v_past_length(&session->past, N_LAYERS - 1);
            ask(session, &later, &got);
            ask(scratch, &later, &expected);
            assert_same_answer(&expected, &got);
            assert_same_bits(&expected, &got);
            assert_same_cache(scratch, session);
            assert_int_equal(got.stats.cached_tokens, n_before); /* the first turn, pruned */
            assert_int_equal(expected.stats.cached_tokens, n_before);
            question bad = later; /* in the middle of the second turn */
            bad.prune.budget.tokens = 0;
            if (i == 1) assert_int_equal(prefill(session, &bad, NULL, NULL), S2P_EBUDGET);
        }
        s2v_session_free(scratch);
        s2v_session_free(session);
    }
}

/* What starts another conversation leaves the prefix alone. */
static void test_other_conversations(void **state)
{
    (void)state;
    s2v_session *session = open_keeping(LLAVA);
    const question first = ask_about(LLAVA, 1, "s2prune", 9);
    question text = { .raw = "hello world aaaa" }, ends = first;
    ends.raw = "hello world <image>"; /* no question at all */
    assert_miss(session, &first);
    assert_hit(session, &first);
    assert_miss(session, &text);
    assert_miss(session, &text);
    assert_hit(session, &first);
    assert_miss(session, &ends);
    assert_miss(session, &ends);
    assert_hit(session, &first);
    s2v_session_free(session);
}

static void ignore_trace(const char *name, int32_t index, const float *data, int32_t rows,
                         int32_t cols, void *user)
{
    (void)name, (void)index, (void)data, (void)cols;
    *(int32_t *)user += rows;
}

static void ignore_choice(const s2v_selection *choice, void *user)
{
    (void)choice;
    ++*(int32_t *)user;
}

/* Who watches a prefill wants to see all of it. */
static void test_watched_runs_are_whole(void **state)
{
    (void)state;
    int32_t n_seen = 0;
    s2v_session *session = open_keeping(QWEN);
    const question q = ask_about(QWEN, 1, "s2prune", 9);
    assert_miss(session, &q);
    s2v_session_set_trace(session, ignore_trace, &n_seen);
    s2v_session_reset(session);
    prefill_only(session, &q, &got);
    assert_int_equal(got.stats.cached_tokens, 0);
    assert_true(n_seen > 63);
    s2v_session_set_trace(session, NULL, NULL);
    assert_hit(session, &q);
    n_seen = 0;
    s2v_session_set_recorder(session, ignore_choice, &n_seen);
    assert_miss(session, &q);
    assert_int_equal(n_seen, 1);
    s2v_session_set_recorder(session, NULL, NULL);
    assert_hit(session, &q);
    s2v_session_free(session);
}

/* Who asks for it neither looks up nor stores, and every method runs. */
static void test_off(void **state)
{
    (void)state;
    s2v_session_options options = keeping(S2V_KV_F16, 0);
    options.no_cache = 1;
    s2v_session *session = open_new(QWEN, &options);
    const s2v_cache_stats before = count_cache(session);
    question q = ask_about(QWEN, 1, "s2prune", 9);
    assert_miss(session, &q);
    assert_miss(session, &q);
    q.prune.method = "fastv";
    assert_miss(session, &q);
    s2v_cache_stats after = count_cache(session);
    assert_memory_equal(&before, &after, sizeof after);
    s2v_session_free(session);

    options.no_cache = 0;
    options.pictures_only = 1; /* for who measures the rest */
    session = open_new(QWEN, &options);
    q.prune.method = "s2prune";
    assert_miss(session, &q);
    assert_int_equal(got.stats.tower_runs, 1);
    assert_miss(session, &q);
    assert_int_equal(got.stats.tower_runs, 0);
    after = count_cache(session);
    assert_int_equal(after.stored, before.stored + 1);
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
            if (!s2p_method_at(m)->sees_question) continue;
            const question q = ask_about(model, 1, s2p_method_at(m)->name, 9);
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
    options.n_ctx = got.stats.text_tokens + got.stats.image_tokens_full;
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
        cmocka_unit_test(test_caches_and_batches),
        cmocka_unit_test(test_every_method),
        cmocka_unit_test(test_s2prune_choices),
        cmocka_unit_test(test_views),
        cmocka_unit_test(test_budgets),
        cmocka_unit_test(test_changes),
        cmocka_unit_test(test_unseen_pixel),
        cmocka_unit_test(test_llava_changes),
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_later_turns),
        cmocka_unit_test(test_other_conversations),
        cmocka_unit_test(test_watched_runs_are_whole),
        cmocka_unit_test(test_off),
        cmocka_unit_test(test_methods_that_see_the_question),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_cancelling),
        cmocka_unit_test(test_context),
    };
    return cmocka_run_group_tests(tests, open_engines, close_engines);
}
