/* test_engine_prefix.c - another question about the same pictures equals a run from scratch, bit for bit;
 * conversations go on behind the prefix.
 */
#include "prefix_questions.h"

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
        if (s2p_method_about(method)->sees_question) continue;
        if (s2p_method_about(method)->resizes) continue; /* test_shrink */
        for (int i = 0; i < 2 * N_MODELS; i++) {
            const int model = i % 2;
            question q = ask_about(model, 1 + i / 2, s2p_method_about(method)->name, 11);
            /* a tower of random weights has no outliers, which PruMerge+ looks for; VisPruner cannot
             * pair an odd number of tokens */
            q.prune.published = s2p_method_about(method)->published && (i + (int)m) % 3 == 0 &&
                                strcmp(s2p_method_about(method)->name, "prumerge+") != 0 &&
                                strcmp(s2p_method_about(method)->name, "vispruner") != 0;
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
        cmocka_unit_test(test_later_turns),
        cmocka_unit_test(test_other_conversations),
        cmocka_unit_test(test_watched_runs_are_whole),
        cmocka_unit_test(test_off),
    };
    return cmocka_run_group_tests(tests, open_engines, close_engines);
}
