/* test_engine_room.c - the context counts what stays.
 *
 * A prompt that is longer than the context before it is pruned answers, bit for bit, as in a context
 * that holds all of it: every method, both architectures, several chunks, later turns, the prefix cache,
 * forks and files. What does not fit is refused with a size that does. A context whose size was left
 * open grows.
 */
#include "method_scenes.h"

#define N_ANSWER MAX_ANSWER
#define BATCH 16 /* a context is not smaller than this here: the chunks are the same */

static const s2v_kv_type types[] = { S2V_KV_F16, S2V_KV_F32 };

static s2v_session_options context_of(int32_t n_ctx, s2v_kv_type type)
{
    s2v_session_options o = tiny_session_options();
    o.n_ctx = n_ctx;
    o.n_batch = BATCH;
    o.kv_type = type;
    o.n_threads = 1;
    o.no_cache = 1;
    return o;
}

static int32_t budgets_of(const question *q) { return q->n_images * q->prune.budget.tokens; }

/* Rows in wider memory; what was lent has been given back everywhere else. */
static int32_t count_wider(const s2v_session *s)
{
    int32_t n = 0;
    for (int32_t i = 0; i < s->past.n_layers; i++) {
        const s2v_slots *slots = &s->past.layer[i];
        assert_true((slots->buffer != NULL) ==
                    (slots->n > s->past.n_ctx || slots->k->ne[1] > s->past.n_ctx));
        n += slots->buffer != NULL;
    }
    return n;
}

/* Two turns about the same pictures in a large context, and in one that just holds what stays. */
static void check_method(const pair *p, const scene *sc, const char *method, s2v_kv_type type)
{
    static answer whole[2], small[2];
    question q = scene_question(sc, method, 9);
    s2v_session_options o = context_of(1024, type);
    s2v_session *s = tiny_session(p->engine, &o);
    for (int turn = 0; turn < 2; turn++) ask(s, &q, &whole[turn]);
    const int32_t n = s2v_session_length(s);
    s2v_session_free(s);

    o.n_ctx = n; /* the last token picked needs no slot */
    s = tiny_session(p->engine, &o);
    for (int turn = 0; turn < 2; turn++) {
        ask(s, &q, &small[turn]);
        CHECK_CASE(memcmp(whole[turn].first, small[turn].first, sizeof whole[turn].first) == 0,
                   "%s, %s, turn %d", method, sc->name, turn);
        assert_same_answer(&whole[turn], &small[turn]);
        assert_same_bits(&whole[turn], &small[turn]);
    }
    /* Methods that leave early layers whole keep their rows; the others have given the memory back. */
    const s2p_method_info *about = s2p_method_about(s2p_method_find(method));
    const bool leaves_whole = !about->prunes_cache && about->after[0] != S2P_BEFORE_DECODER;
    CHECK_CASE((count_wider(s) > 0) == (leaves_whole && !about->keeps_all), "%s", method);
    s2v_session_reset(s);
    assert_int_equal(count_wider(s), 0);
    ask(s, &q, &small[0]);
    assert_same_bits(&whole[0], &small[0]);
    s2v_session_free(s);
}

static void every_method(void **state)
{
    (void)state;
    const size_t used[] = { 1, 4, 6 };
    for (size_t i = 0; i < COUNT_OF(used); i++) {
        const scene *sc = &scenes[used[i]];
        for (size_t m = 0; s2p_method_at(m); m++) {
            const s2p_method_info *about = s2p_method_about(s2p_method_at(m));
            if (about->keeps_all) continue;
            check_method(&pairs[2 + sc->is_llava], sc, about->name, types[m % 2]);
        }
    }
    for (size_t t = 0; t < COUNT_OF(types); t++) {
        check_method(&pairs[0], &scenes[4], "s2prune", types[t]);
        check_method(&pairs[2], &scenes[4], "sparsevlm", types[t]);
        check_method(&pairs[2], &scenes[4], "feather-8", types[t]);
    }
}

/* One token less is refused before anything runs; the size named is enough. */
static void refusals(void **state)
{
    (void)state;
    const question q = scene_question(&scenes[1], "s2prune", 18);
    s2v_session_options o = context_of(512, S2V_KV_F16);
    s2v_session *s = tiny_session(pairs[0].engine, &o);
    static answer a;
    prefill_only(s, &q, &a);
    const int32_t n = a.stats.prompt_tokens;
    assert_int_equal(n, a.stats.text_tokens + budgets_of(&q));
    s2v_session_free(s);

    o.n_ctx = n - 1;
    s = tiny_session(pairs[0].engine, &o);
    s2v_stats stats;
    s2p_error error;
    assert_int_equal(prefill(s, &q, &stats, &error), S2P_ELIMIT);
    assert_true(stats.tower_runs == 0 && stats.image_tokens == 18 && stats.image_tokens_full == 63);
    char said[128];
    (void)snprintf(said, sizeof said, "%d tokens of the prompt are more than the context of %d", n,
                   n - 1);
    CHECK_CASE(strstr(error.message, said) != NULL, "%s", error.message);
    const char *option = strstr(error.message, "-c ");
    assert_non_null(option);
    s2v_session_free(s);
    o.n_ctx = atoi(option + 3);
    s = tiny_session(pairs[0].engine, &o);
    assert_int_equal(prefill(s, &q, &stats, &error), S2P_OK);
    s2v_session_free(s);

    /* Memory for the rows before they are pruned is counted as well, and given back. */
    tiny_text(&tiny_text_file, &tiny_words, TINY_LAYERS);
    tiny_mmproj(&tiny_mmproj_file, TINY_BLOCKS);
    tiny_write_pair(folder, "limited", &tiny_text_file, &tiny_mmproj_file);
    s2v_engine_options options = tiny_options();
    s2v_memory m;
    o.n_ctx = n;
    assert_int_equal(s2v_engine_estimate(&options, &o, 0, &m, NULL), S2P_OK);
    s2v_engine_info info;
    s2v_engine_get_info(pairs[0].engine, &info); /* of the same model */
    options.max_memory = info.weight_bytes + m.kv + m.compute + 1024;
    s2v_engine *engine = tiny_open_as(&options);
    s = tiny_session(engine, &o);
    assert_int_equal(prefill(s, &q, &stats, &error), S2P_ENOMEM);
    CHECK_CASE(strstr(error.message, "until they are pruned") != NULL, "%s", error.message);
    assert_int_equal(engine->session_bytes, s->taken_bytes);
    assert_int_equal(prefill(s, &(question){ .raw = "hello" }, NULL, &error), S2P_OK);
    s2v_session_free(s);
    assert_int_equal(engine->session_bytes, 0);
    s2v_engine_close(engine);
}

/* A question about known pictures: the layers the question sees whole are wider again, for a while. */
static void recalled(void **state)
{
    (void)state;
    static answer large, small;
    for (size_t i = 0; s2p_method_at(i); i++) {
        const pair *p = &pairs[2];
        const s2p_method *method = s2p_method_at(i);
        if (s2p_method_about(method)->keeps_all || s2p_method_sees_question(method, NULL)) continue;
        question q = scene_question(&scenes[1], s2p_method_about(method)->name, 9);
        s2v_cache_clear(p->engine->cache);
        s2v_session_options o = context_of(512, types[i % 2]);
        o.no_cache = 0;
        s2v_session *s = tiny_session(p->engine, &o);
        ask(s, &q, &large);
        q.raw = questions[0][1];
        s2v_session_reset(s);
        ask(s, &q, &large);
        o.n_ctx = s2v_session_length(s);
        s2v_session_free(s);
        s = tiny_session(p->engine, &o);
        ask(s, &q, &small);
        assert_true(small.stats.cached_tokens > 0 && small.stats.tower_runs == 0);
        assert_same_bits(&large, &small);
        s2v_session_reset(s);

        /* And together with another one. */
        s2v_session *other = tiny_session(p->engine, &o);
        const s2v_prompt prompt = prompt_of(&q);
        s2v_ask asks[2] = { { .session = s, .prompt = &prompt, .prune = &q.prune },
                            { .session = other, .prompt = &prompt, .prune = &q.prune } };
        for (size_t at = 0, n_ran; at < 2; at += n_ran)
            assert_int_equal(s2v_prefill_many(asks + at, 2 - at, &n_ran, NULL), S2P_OK);
        for (int k = 0; k < 2; k++) {
            CHECK_CASE(asks[k].status == S2P_OK, "%s", asks[k].error.message);
            assert_true(distance(large.first, s2v_session_logits(asks[k].session)) < 1e-4);
        }
        s2v_session_free(other);
        s2v_session_free(s);
    }
}

/* Forks and files of a conversation whose early layers were left whole. */
static void copies(void **state)
{
    (void)state;
    static answer a, b;
    const question q = scene_question(&scenes[1], "fastv", 9);
    s2v_session_options o = context_of(0, S2V_KV_F16);
    o.n_ctx = 40;
    s2v_session *s = tiny_session(pairs[0].engine, &o), *fork;
    prefill_only(s, &q, &a);
    assert_true(count_wider(s) == 2 && s2v_past_length(&s->past, 0) > 40);
    s2p_error error;
    assert_int_equal(s2v_session_fork(&fork, s, NULL, &error), S2P_OK);
    char path[600];
    (void)snprintf(path, sizeof path, "%s/talk", folder);
    assert_int_equal(s2v_session_save(s, path, &error), S2P_OK);
    generate(s, &a);
    generate(fork, &b);
    assert_memory_equal(a.token, b.token, sizeof a.token);
    assert_memory_equal(a.last, b.last, sizeof a.last);
    CHECK_CASE(s2v_session_restore(fork, path, &error) == S2P_OK, "%s", error.message);
    generate(fork, &b);
    assert_memory_equal(a.last, b.last, sizeof a.last);
    s2v_session_free(fork);
    o.n_ctx = s2v_session_length(s) - 1;
    assert_int_equal(s2v_session_fork(&fork, s, &o, &error), S2P_ELIMIT);
    s2v_session_free(s);
}

/* Text that needs more than the usual context; the answer then more than that. */
static void growing(void **state)
{
    (void)state;
    tiny_text(&tiny_text_file, &tiny_words, TINY_LAYERS);
    tiny_mmproj(&tiny_mmproj_file, TINY_BLOCKS);
    tiny_find_key(&tiny_text_file, "qwen2vl.context_length")->value[0] = 6 * 1024;
    tiny_write_pair(folder, "long", &tiny_text_file, &tiny_mmproj_file);
    s2v_engine *engine = tiny_open();
    s2v_session_options o = context_of(0, S2V_KV_F16);
    o.n_batch = 512;
    static char text[16384];
    static answer a, b;
    question q = { .raw = text };
    size_t n_bytes = 0;
    size_t n_tokens = 0;
    while (n_tokens < 5110) { /* just below five steps */
        for (int i = 0; i < 8; i++) text[n_bytes++] = "abcd"[i % 4];
        assert_int_equal(s2v_engine_tokenize(engine, text, n_bytes, 0, NULL, 0, &n_tokens, NULL),
                         S2P_OK);
    }
    s2v_session *s = tiny_session(engine, &o);
    assert_int_equal(s->options.n_ctx, 4096);
    ask(s, &(question){ .raw = "hello" }, &a); /* an earlier turn moves along */
    ask(s, &q, &a);
    CHECK_CASE(s->past.n_ctx == 6 * 1024 && s->options.n_ctx == s->past.n_ctx, "%d tokens: %d",
               (int)n_tokens, s->past.n_ctx);
    assert_int_equal(engine->session_bytes, s->taken_bytes);
    o.n_ctx = 6 * 1024;
    s2v_session *fixed = tiny_session(engine, &o);
    ask(fixed, &(question){ .raw = "hello" }, &b);
    ask(fixed, &q, &b);
    assert_same_bits(&a, &b);
    s2v_session_free(fixed);

    /* Not beyond what the model was trained with; what stood is still there. */
    s2p_error error;
    const int32_t n = s2v_session_length(s);
    assert_int_equal(prefill(s, &q, NULL, &error), S2P_ELIMIT);
    CHECK_CASE(strstr(error.message, "trained with") && strstr(error.message, "-c 10"), "%s",
               error.message);
    assert_int_equal(s2v_session_length(s), n);
    s2v_session_free(s);

    /* Token by token over the edge. */
    o.n_ctx = 0;
    s = tiny_session(engine, &o);
    text[2 * 4080] = '\0';
    prefill_only(s, &q, &a);
    int done;
    char said[64];
    while (s2v_session_length(s) < 4200)
        assert_int_equal(s2v_session_next(s, said, sizeof said, &done, &error), S2P_OK);
    assert_true(s->past.n_ctx > 4096 && s->generated.capacity == (size_t)s->past.n_ctx);
    s2v_session_free(s);
    s2v_engine_close(engine);
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    folder = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_method), cmocka_unit_test(refusals), cmocka_unit_test(recalled),
        cmocka_unit_test(copies),       cmocka_unit_test(growing),
    };
    return cmocka_run_group_tests(tests, open_pairs, close_pairs);
}
