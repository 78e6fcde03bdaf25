/* test_engine_same.c - the engine equals itself: however a prompt is cut, threaded, batched, pruned
 * by removal or by masking, the same tokens come out.
 */
#include "tiny_run.h"

#include "engine/session/answer.h"

#define N_TOKENS 63 /* of one_picture */

/* One of each kind: keep all, before the decoder, after layer 0, with and without scores. */
static const char *const methods[] = { "full", "random", "uniform", "s2prune", "equal-density" };

static const char *folder;
static s2v_engine *engine;
static answer a, b, c; /* too large for a stack */

static int open_engine(void **state)
{
    (void)state;
    tiny_write_plain(folder);
    engine = tiny_open();
    return 0;
}

static int close_engine(void **state)
{
    (void)state;
    s2v_engine_close(engine);
    return 0;
}

/* A fresh session for one question. */
static void ask_once(const s2v_session_options *options, const question *q, answer *out)
{
    s2v_session *session = tiny_session(engine, options);
    ask(session, q, out);
    s2v_session_free(session);
}

/* Margins far above rounding, so that equal tokens are no luck. */
static void assert_clear(const answer *x)
{
    CHECK_CASE(x->margin > 1e-4f, "margin %g", (double)x->margin);
}

/* --- pruning ---------------------------------------------------------------------- */

static void test_whole_budget_is_no_pruning(void **state)
{
    (void)state;
    const s2v_session_options options = tiny_session_options();
    question q = one_picture(NULL, 0);
    ask_once(&options, &q, &a);
    assert_int_equal(a.n_kept[0], N_TOKENS);
    static const int32_t budgets[] = { N_TOKENS, N_TOKENS + 1, 100000 };
    for (size_t m = 0; m < COUNT_OF(methods); m++)
        for (size_t i = 0; i < COUNT_OF(budgets); i++) {
            q = one_picture(methods[m], budgets[i]);
            ask_once(&options, &q, &b);
            assert_same_answer(&a, &b);
            assert_same_bits(&a, &b);
        }
    static const double percents[] = { 100.0, 250.0, 1e300, INFINITY };
    for (size_t i = 0; i < COUNT_OF(percents); i++) {
        q = one_picture("s2prune", 1);
        q.prune.budget.percent = percents[i];
        ask_once(&options, &q, &b);
        assert_same_bits(&a, &b);
    }
}

static void test_methods_keep_what_they_should(void **state)
{
    (void)state;
    const s2v_session_options options = tiny_session_options();
    static const int32_t budgets[] = { 1, 2, 16, 33, 62 };
    for (size_t m = 0; m < COUNT_OF(methods); m++)
        for (size_t i = 0; i < COUNT_OF(budgets); i++) {
            const char *name = methods[m];
            const question q = one_picture(name, budgets[i]);
            ask_once(&options, &q, &a);
            const int32_t expected = strcmp(name, "full") == 0 ? N_TOKENS : budgets[i];
            CHECK_CASE(a.n_kept[0] == expected, "%s kept %d", name, a.n_kept[0]);
            assert_int_equal(a.stats.image_tokens, expected);
            assert_int_equal(a.stats.image_tokens_full, N_TOKENS);
            for (int32_t k = 0; k < expected; k++) {
                assert_in_range(a.kept[0][k], 0, N_TOKENS - 1);
                assert_true(k == 0 || a.kept[0][k] > a.kept[0][k - 1]);
            }
        }
    question q = one_picture("s2prune", 1);
    q.prune.budget.percent = 25.0; /* of 63: 15.75 */
    ask_once(&options, &q, &a);
    assert_int_equal(a.n_kept[0], 16);
    q.prune.budget.percent = 0.01;
    ask_once(&options, &q, &a);
    assert_int_equal(a.n_kept[0], 1);
}

/* Pruning changes the answer; else the other tests would prove nothing. */
static void test_pruning_matters(void **state)
{
    (void)state;
    const s2v_session_options options = tiny_session_options();
    question q = one_picture(NULL, 0);
    ask_once(&options, &q, &a);
    q = one_picture("s2prune", 9);
    ask_once(&options, &q, &b);
    q = one_picture("random", 9);
    ask_once(&options, &q, &c);
    assert_true(distance(a.first, b.first) > 1e-2);
    assert_true(distance(b.first, c.first) > 1e-2);
    assert_memory_not_equal(b.kept, c.kept, sizeof b.kept);
}

static void test_removal_is_masking(void **state)
{
    (void)state;
    static const int32_t budgets[] = { 1, 9, 30, 62 }, batches[] = { 1024, 13 };
    for (size_t m = 0; m < COUNT_OF(methods); m++)
        for (size_t i = 0; i < COUNT_OF(budgets); i++) {
            const question q = one_picture(methods[m], budgets[i]);
            s2v_session_options options = tiny_session_options();
            options.n_batch = batches[i % 2];
            s2v_session *removes = tiny_session(engine, &options);
            s2v_session *masks = tiny_session(engine, &options);
            masks->trace.masks = true;
            prefill_only(removes, &q, &a);
            prefill_only(masks, &q, &b);
            assert_memory_equal(a.kept, b.kept, sizeof a.kept);
            CHECK_CASE(distance(a.first, b.first) <= 1e-5, "%s, %d tokens: %g", methods[m],
                       budgets[i], distance(a.first, b.first));
            s2v_session_free(masks);
            s2v_session_free(removes);
        }
}

/* Heads whose width is a key of the file and not n_embd / n_heads: removing is still masking, and other
 * matrices are refused. */
static void test_wide_heads(void **state)
{
    (void)state;
    static tiny_file wide;
    const uint64_t head = TINY_WIDTH, heads = 2 * head;
    char plain_model[sizeof tiny_model_path], plain_mmproj[sizeof tiny_mmproj_path];
    memcpy(plain_model, tiny_model_path, sizeof plain_model);
    memcpy(plain_mmproj, tiny_mmproj_path, sizeof plain_mmproj);
    wide = tiny_text_file;
    tiny_number(&wide, "qwen2vl.attention.key_length", U32, (double)head);
    memcpy(tiny_find_key(&wide, "qwen2vl.rope.dimension_sections")->value,
           (const double[]){ 8, 12, 12, 0 }, 4 * sizeof(double));
    for (size_t i = 0; i < wide.n_tensors; i++) {
        tiny_tensor *t = &wide.tensor[i];
        if (strstr(t->name, "attn_q.weight")) t->ne[1] = heads;
        if (strstr(t->name, "attn_k.weight") || strstr(t->name, "attn_v.weight")) t->ne[1] = head;
        if (strstr(t->name, "attn_q.bias")) t->ne[0] = heads;
        if (strstr(t->name, "attn_k.bias") || strstr(t->name, "attn_v.bias")) t->ne[0] = head;
        if (strstr(t->name, "attn_output.weight")) t->ne[0] = heads;
    }
    tiny_write_pair(folder, "wide", &wide, &tiny_mmproj_file);
    s2v_engine *of_wide = tiny_open();
    const s2v_session_options options = tiny_session_options();
    s2v_session *removes = tiny_session(of_wide, &options),
                *masks = tiny_session(of_wide, &options);
    const question q = one_picture("s2prune", 9);
    masks->trace.masks = true;
    ask(removes, &q, &a);
    prefill_only(masks, &q, &b);
    assert_memory_equal(a.kept, b.kept, sizeof a.kept);
    CHECK_CASE(distance(a.first, b.first) <= 1e-5, "%g", distance(a.first, b.first));
    s2v_session_free(masks);
    s2v_session_free(removes);
    s2v_engine_close(of_wide);

    tiny_find_key(&wide, "qwen2vl.attention.key_length")->value[0] = (double)head / 2;
    memcpy(tiny_find_key(&wide, "qwen2vl.rope.dimension_sections")->value,
           (const double[]){ 4, 6, 6, 0 }, 4 * sizeof(double));
    tiny_write_pair(folder, "wide", &wide, &tiny_mmproj_file);
    const s2v_engine_options narrow = tiny_options();
    s2p_error error;
    assert_int_equal(s2v_engine_open(&of_wide, &narrow, &error), S2P_EFORMAT);
    assert_non_null(strstr(error.message, "blk.0.attn_q.weight"));
    memcpy(tiny_model_path, plain_model, sizeof plain_model);
    memcpy(tiny_mmproj_path, plain_mmproj, sizeof plain_mmproj);
}

/* Rows of the first layer's cache, bytes as they are. */
static uint8_t *cache_rows(const s2v_session *session, const struct ggml_tensor *cache)
{
    const size_t n = (size_t)s2v_past_length(&session->past, 0) * cache->nb[1];
    uint8_t *bytes = malloc(n);
    assert_non_null(bytes);
    ggml_backend_tensor_get(cache, bytes, 0, n);
    return bytes;
}

/* Compaction moves rows and nothing else: positions, and the cache in every type, bit for bit. */
static void test_compaction_moves_rows(void **state)
{
    (void)state;
    static const s2v_kv_type types[] = { S2V_KV_F32, S2V_KV_F16, S2V_KV_Q8_0 };
    for (size_t t = 0; t < COUNT_OF(types); t++) {
        s2v_session_options options = tiny_session_options();
        options.kv_type = types[t];
        s2v_session *full = tiny_session(engine, &options),
                    *pruned = tiny_session(engine, &options);
        question q = one_picture(NULL, 0);
        prefill_only(full, &q, &a);
        q = one_picture("s2prune", 20);
        prefill_only(pruned, &q, &b);
        assert_int_equal(full->next_pos, pruned->next_pos);
        assert_int_equal(full->next_pos, a.stats.text_tokens + 9); /* the longer side of 9x7 */

        uint8_t *before[2] = { cache_rows(full, full->past.layer[0].k),
                               cache_rows(full, full->past.layer[0].v) };
        uint8_t *after[2] = { cache_rows(pruned, pruned->past.layer[0].k),
                              cache_rows(pruned, pruned->past.layer[0].v) };
        const size_t width = full->past.layer[0].k->nb[1];
        int32_t row = 0, seen = 0, at = 0; /* in the pruned prompt; pictures' rows before; kept */
        for (int32_t i = 0; i < full->rows.n; i++) {
            if (full->rows.unit[i] == 0) {
                const int32_t token = seen++;
                if (at == b.n_kept[0] || b.kept[0][at] != token) continue;
                at++;
            }
            for (int plane = 0; plane < 3; plane++)
                assert_int_equal(full->rows.pos[plane][i], pruned->rows.pos[plane][row]);
            for (int k = 0; k < 2; k++)
                assert_memory_equal(before[k] + (size_t)i * width, after[k] + (size_t)row * width,
                                    width);
            row++;
        }
        assert_int_equal(row, pruned->rows.n);
        for (int32_t i = 0; i < TINY_LAYERS; i++)
            assert_int_equal(s2v_past_length(&pruned->past, i), row);
        for (int k = 0; k < 2; k++) {
            free(before[k]);
            free(after[k]);
        }
        s2v_session_free(pruned);
        s2v_session_free(full);
    }
}

static void test_accounting(void **state)
{
    (void)state;
    static const struct {
        s2v_kv_type type;
        uint64_t row; /* bytes of a key and a value of 32 numbers */
    } cases[] = { { S2V_KV_F32, 256 }, { S2V_KV_F16, 128 }, { S2V_KV_Q8_0, 68 } };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        s2v_session_options options = tiny_session_options();
        options.kv_type = cases[i].type;
        const question q = one_picture("s2prune", 20);
        ask_once(&options, &q, &a);
        const s2v_stats *t = &a.stats;
        assert_int_equal(t->prompt_tokens, t->text_tokens + 20);
        assert_int_equal(t->kv_visual_bytes, cases[i].row * 20 * TINY_LAYERS);
        assert_int_equal(t->kv_total_bytes,
                         cases[i].row * (uint64_t)t->prompt_tokens * TINY_LAYERS);
        assert_int_equal(t->kv_visual_bytes_paper, 4 * 32 * (N_TOKENS + 3 * 20));
        const double n = t->text_tokens + N_TOKENS, kept = t->prompt_tokens;
        const double row = 2.0 * (2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 96);
        const double flops = row * n + 4 * n * n * 64 + 3 * (row * kept + 4 * kept * kept * 64);
        assert_true(fabs(t->flops - flops) < 1.0);
        for (int32_t v = 0; v < N_VOCABULARY; v++) assert_true(isfinite(a.last[v]));
    }
}

/* --- cutting the work --------------------------------------------------------------- */

static void test_threads(void **state)
{
    (void)state;
    static const int32_t threads[] = { 1, 2, 3 }, budgets[] = { 9, 25, 100 };
    for (size_t i = 0; i < COUNT_OF(budgets); i++)
        for (size_t t = 0; t < COUNT_OF(threads); t++) {
            s2v_session_options options = tiny_session_options();
            options.n_threads = threads[t];
            const question q = one_picture("s2prune", budgets[i]);
            ask_once(&options, &q, t == 0 ? &a : &b);
            assert_clear(&a);
            if (t > 0) assert_same_answer(&a, &b);
            if (t > 0) assert_true(distance(a.first, b.first) <= 1e-5);
        }
}

static void test_batches(void **state)
{
    (void)state;
    static const int32_t batches[] = { 1024, 1, 7, 64, 80 }; /* the prompt has 80 rows or so */
    for (int is_pruned = 0; is_pruned < 2; is_pruned++)
        for (size_t i = 0; i < COUNT_OF(batches); i++) {
            s2v_session_options options = tiny_session_options();
            options.n_batch = batches[i];
            const question q = one_picture(is_pruned ? "s2prune" : NULL, 18);
            ask_once(&options, &q, i == 0 ? &a : &b);
            if (i == 0) continue;
            assert_clear(&a);
            assert_same_answer(&a, &b);
            CHECK_CASE(distance(a.first, b.first) <= 1e-4 && distance(a.last, b.last) <= 1e-4,
                       "batch %d: %g", batches[i], distance(a.last, b.last));
        }
}

/* A prompt in two parts is the prompt; a token that waits to be computed comes between them. */
static void test_two_prefills_are_one(void **state)
{
    (void)state;
    const s2v_session_options options = tiny_session_options();
    s2v_session *parts = tiny_session(engine, &options), *whole = tiny_session(engine, &options);
    question first = one_picture(NULL, 0), rest = { .raw = " bcd user" };
    first.raw = "hello world <image> aaaa";
    prefill_only(parts, &first, &a);
    prefill_only(parts, &rest, &a);
    generate(parts, &a);
    question both = first;
    both.raw = "hello world <image> aaaa bcd user";
    prefill_only(whole, &both, &b);
    generate(whole, &b);
    assert_clear(&b);
    assert_true(distance(b.first, a.first) <= 1e-5);
    assert_memory_equal(a.token, b.token, sizeof a.token);
    assert_int_equal(parts->next_pos, whole->next_pos);

    s2v_session_reset(parts);
    s2v_session_reset(whole);
    s2p_error error = { S2P_OK, "" };
    char text[64];
    int done;
    prefill_only(parts, &first, &a);
    assert_int_equal(s2v_session_next(parts, text, sizeof text, &done, &error), S2P_OK);
    prefill_only(whole, &first, &b);
    assert_int_equal(s2v_run_token(whole, parts->pending, &error), S2P_OK);
    prefill_only(parts, &rest, &a);
    prefill_only(whole, &rest, &b);
    assert_int_equal(a.stats.text_tokens, b.stats.text_tokens + 1);
    assert_true(distance(b.first, a.first) <= 1e-5);
    assert_int_equal(parts->next_pos, whole->next_pos);
    s2v_session_free(whole);
    s2v_session_free(parts);
}

/* Two pictures in two turns, each pruned on its own, equal the two in one prompt as far as the
 * first is concerned; the cache holds exactly what was kept. */
static void test_next_turn_prunes_too(void **state)
{
    (void)state;
    const s2v_session_options options = tiny_session_options();
    s2v_session *session = tiny_session(engine, &options);
    const question q = one_picture("s2prune", 12);
    ask(session, &q, &a);
    ask(session, &q, &b);
    assert_int_equal(b.n_kept[0], 12);
    assert_int_equal(b.stats.text_tokens,
                     a.stats.text_tokens + 1); /* the last token of the answer */
    const int32_t slots = a.stats.prompt_tokens + MAX_ANSWER - 1 + b.stats.prompt_tokens;
    for (int32_t i = 0; i < TINY_LAYERS; i++)
        assert_int_equal(s2v_past_length(&session->past, i), slots + MAX_ANSWER - 1);
    assert_int_equal(b.stats.kv_total_bytes, (uint64_t)slots * 256 * TINY_LAYERS);
    s2v_session_free(session);
}

/* --- sharing ------------------------------------------------------------------------ */

static void test_sessions_do_not_meet(void **state)
{
    (void)state;
    const s2v_session_options options = tiny_session_options();
    const question first = one_picture("s2prune", 12);
    question second = one_picture("random", 30);
    second.raw = "<image>user cde";
    ask_once(&options, &first, &a);
    ask_once(&options, &second, &b);

    s2v_session *session[2] = { tiny_session(engine, &options), tiny_session(engine, &options) };
    s2p_error error = { S2P_OK, "" };
    int32_t token[2][MAX_ANSWER];
    prefill_only(session[0], &first, &c);
    prefill_only(session[1], &second, &c);
    for (int i = 0; i < MAX_ANSWER; i++)
        for (int s = 0; s < 2; s++) {
            size_t n;
            int done;
            char text[64];
            assert_int_equal(s2v_session_next(session[s], text, sizeof text, &done, &error),
                             S2P_OK);
            token[s][i] = s2v_session_tokens(session[s], &n)[i];
            assert_int_equal(n, i + 1);
        }
    assert_memory_equal(token[0], a.token, sizeof a.token);
    assert_memory_equal(token[1], b.token, sizeof b.token);
    s2v_session_free(session[0]);
    s2v_session_free(session[1]);
}

static void test_reset_forgets(void **state)
{
    (void)state;
    const s2v_session_options options = tiny_session_options();
    s2v_session *session = tiny_session(engine, &options);
    const question q = one_picture("s2prune", 12);
    question other = one_picture("uniform", 40);
    other.raw = "<image>aaaaaaaa";
    ask(session, &q, &a);
    ask(session, &other, &b);
    s2v_session_reset(session);
    ask(session, &q, &b);
    assert_same_answer(&a, &b);
    assert_same_bits(&a, &b);

    s2v_session_free(session);
}

/* A prompt that is refused before anything ran leaves the conversation as it was. */
static void test_refused_turn(void **state)
{
    (void)state;
    const s2v_session_options options = tiny_session_options();
    s2v_session *session = tiny_session(engine, &options);
    const question q = one_picture("s2prune", 12);
    question other = one_picture("uniform", 40), bad = q;
    other.raw = "<image>aaaaaaaa";
    bad.raw = "no picture here";
    ask(session, &q, &b);
    ask(session, &other, &a);
    s2v_session_reset(session);
    ask(session, &q, &b);
    const int32_t length = s2v_session_length(session);
    s2p_error error = { S2P_OK, "" };
    assert_int_equal(prefill(session, &bad, NULL, &error), S2P_EINVAL);
    assert_int_equal(s2v_session_length(session), length);
    assert_non_null(s2v_session_plan(session, 0)); /* and what was kept can still be shown */
    ask(session, &other, &b);
    assert_same_answer(&a, &b);
    assert_same_bits(&a, &b);
    s2v_session_free(session);
}

/* --- several pictures ---------------------------------------------------------------- */

static void test_several_pictures(void **state)
{
    (void)state;
    static uint8_t pixels[4][200 * 160 * 3];
    static const int32_t rows[4] = { 7, 5, 4, 10 }, cols[4] = { 9, 5, 11, 3 };
    static const s2v_budget budget[4] = { { 20, 0.0 }, { 9, 0.0 }, { 44, 0.0 }, { 1, 0.0 } };
    static const int32_t side[4] = { 3, 2, 4, 1 };
    static const char *const raw[5] = { "", "<image> aaaa", "a<image>b<image> aaaa",
                                        "<image><image> hello <image> aaaa",
                                        "hello<image> world<image><image>user<image> aaaa" };
    const s2v_session_options options = tiny_session_options();
    for (int32_t n = 1; n <= 4; n++) {
        question q = one_picture("s2prune", 1);
        q.raw = raw[n];
        q.n_images = n;
        q.prune.image_budget = budget;
        q.prune.image_side = side;
        for (int32_t i = 0; i < n; i++) {
            q.image[i] = make_picture(pixels[i], 200 - 13 * i, 160 - 7 * i, (uint32_t)i + 1);
            q.size[i] = (s2v_image_options){ .size = sizeof(s2v_image_options),
                                             .width = cols[i] * TINY_TOKEN_SIDE,
                                             .height = rows[i] * TINY_TOKEN_SIDE };
        }
        ask_once(&options, &q, &a);
        int32_t kept = 0;
        for (int32_t i = 0; i < n; i++) {
            assert_int_equal(a.n_kept[i], budget[i].tokens);
            kept += budget[i].tokens;
        }
        assert_int_equal(a.stats.image_tokens, kept);

        s2v_session *masks = tiny_session(engine, &options); /* each picture's rows, not others' */
        masks->trace.masks = true;
        prefill_only(masks, &q, &b);
        assert_true(distance(a.first, b.first) <= 1e-5);
        s2v_session_free(masks);
    }
}

/* --- other files ---------------------------------------------------------------------- */

static void set_type(tiny_file *file, uint32_t type)
{
    for (size_t i = 0; i < file->n_tensors; i++) {
        tiny_tensor *t = &file->tensor[i];
        const bool is_patch = strncmp(t->name, "v.patch_embd", 12) == 0; /* floats only */
        if (t->n_dims > 1 && !is_patch &&
            t->ne[0] % (uint64_t)ggml_blck_size((enum ggml_type)type) == 0)
            t->type = type;
    }
}

/* Rows of 44 cannot be quantised, 44 rows can: such a mixture is what real files have. */
static void test_weight_types(void **state)
{
    (void)state;
    const s2v_session_options options = tiny_session_options();
    const question q = one_picture("s2prune", 18);
    ask_once(&options, &q, &a);
    static const struct {
        uint32_t type;
        double far;
    } cases[] = {
        { GGML_TYPE_F16, 0.02 },
        { GGML_TYPE_BF16, 0.2 },
        { GGML_TYPE_Q8_0, 0.2 },
        { GGML_TYPE_Q4_0, 1.0 },
    };
    s2v_engine *plain = engine;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        tiny_text(&tiny_text_file, &tiny_words, TINY_LAYERS);
        tiny_mmproj(&tiny_mmproj_file, TINY_BLOCKS);
        set_type(&tiny_text_file, cases[i].type);
        set_type(&tiny_mmproj_file, cases[i].type);
        tiny_write_pair(folder, "type", &tiny_text_file, &tiny_mmproj_file);
        engine = tiny_open();
        ask_once(&options, &q, &b);
        CHECK_CASE(distance(a.first, b.first) < cases[i].far, "type %u: %g", cases[i].type,
                   distance(a.first, b.first));
        s2v_engine_close(engine);
    }
    engine = plain;
}

/* A tower of 200 blocks with all kinds of windows, and one without an output matrix. */
static void test_odd_models(void **state)
{
    (void)state;
    const s2v_session_options options = tiny_session_options();
    const question q = one_picture("s2prune", 18);
    s2v_engine *plain = engine;
    tiny_text(&tiny_text_file, &tiny_words, 2);
    tiny_mmproj(&tiny_mmproj_file, 200);
    tiny_file *text = &tiny_text_file;
    assert_string_equal(text->tensor[text->n_tensors - 1].name, "output.weight");
    tiny_drop_tensor(text, text->n_tensors - 1); /* tied to the embedding */
    tiny_write_pair(folder, "odd", text, &tiny_mmproj_file);
    engine = tiny_open();
    ask_once(&options, &q, &a);
    s2v_engine_info info;
    s2v_engine_get_info(engine, &info);
    assert_int_equal(info.n_vision_blocks, 200);
    assert_int_equal(info.n_layers, 2);
    s2v_engine_close(engine);
    engine = plain;
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    folder = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_budget_is_no_pruning),
        cmocka_unit_test(test_methods_keep_what_they_should),
        cmocka_unit_test(test_pruning_matters),
        cmocka_unit_test(test_removal_is_masking),
        cmocka_unit_test(test_wide_heads),
        cmocka_unit_test(test_compaction_moves_rows),
        cmocka_unit_test(test_accounting),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_batches),
        cmocka_unit_test(test_two_prefills_are_one),
        cmocka_unit_test(test_next_turn_prunes_too),
        cmocka_unit_test(test_sessions_do_not_meet),
        cmocka_unit_test(test_reset_forgets),
        cmocka_unit_test(test_refused_turn),
        cmocka_unit_test(test_several_pictures),
        cmocka_unit_test(test_weight_types),
        cmocka_unit_test(test_odd_models),
    };
    return cmocka_run_group_tests(tests, open_engine, close_engine);
}
