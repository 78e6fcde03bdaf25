/* test_engine_memory.c - allocations of our own code: none per token, and each one may fail.
 *
 * Only our own are counted by `n_ours`; what ggml takes shows in what the heap has in use.
 */
#include "base/sanitizer.h"
#include "counted_malloc.h"
#include "tiny_run.h"

#include <malloc.h>

static const char *folder;

static int write_files(void **state)
{
    (void)state;
    tiny_write_plain(folder);
    return 0;
}

/* --- counting --------------------------------------------------------------------- */

static void say_one(s2v_session *session)
{
    char text[64];
    int done;
    s2p_error error = { S2P_OK, "" };
    const s2p_status st = s2v_session_next(session, text, sizeof text, &done, &error);
    CHECK_CASE(st == S2P_OK, "%s", error.message);
}

/* From the first token to the last the context has room for. */
static void test_no_allocation_per_token(void **state)
{
    (void)state;
    s2v_engine *engine = tiny_open();
    for (int is_drawn = 0; is_drawn < 2; is_drawn++) {
        s2v_session_options o = tiny_session_options();
        o.n_ctx = 600;
        o.sampling.temperature = is_drawn ? 0.8f : 0.0f;
        o.sampling.top_k = is_drawn ? 40 : 0;
        o.sampling.top_p = is_drawn ? 0.9f : 1.0f;
        o.sampling.repeat_penalty = is_drawn ? 1.2f : 1.0f;
        s2v_session *session = tiny_session(engine, &o);
        const question q = one_picture("s2prune", 18);
        answer *a = malloc(sizeof *a);
        assert_non_null(a);
        n_ours = 0;
        prefill_only(session, &q, a);
        assert_true(n_ours > 0); /* the counter counts */
        n_ours = 0;
        const int32_t n = 600 - a->stats.prompt_tokens + 1;
        for (int32_t i = 0; i < n; i++) say_one(session);
        assert_int_equal(n_ours, 0);
        free(a);
        s2v_session_free(session);
    }
    s2v_engine_close(engine);
}

/* Bytes in use, in the heap and mapped by it; what the heap keeps back in case is not in use, and
 * depends on the threads of the day. 0: this C library does not say. */
static size_t bytes_in_use(void)
{
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
#else
    return 0;
#endif
}

/* Conversations of a small picture and three tokens, again and again. */
static void converse(s2v_session *session, int n)
{
    s2p_error error = { S2P_OK, "" };
    static const char *const methods[] = { "s2prune", NULL, "random" };
    for (int i = 0; i < n; i++) {
        question q = one_picture(methods[i % 3], 3 + i % 10);
        q.size[0].width = q.size[0].height = 4 * TINY_TOKEN_SIDE;
        const s2p_status st = prefill(session, &q, NULL, &error);
        CHECK_CASE(st == S2P_OK, "%s", error.message);
        for (int t = 0; t < 3; t++) say_one(session);
        s2v_session_reset(session);
    }
}

/* The address sanitizer keeps what is freed for a while, so there it says nothing. */
static bool can_measure(void) { return !S2_HAS_SANITIZER && bytes_in_use() > 0; }

static void test_memory_stays(void **state)
{
    (void)state;
    if (!can_measure()) skip();
    s2v_engine *engine = tiny_open();
    const s2v_session_options o = tiny_session_options();
    s2v_session *session = tiny_session(engine, &o);
    converse(session, 10);
    const size_t before = bytes_in_use();
    converse(session, 990);
    const size_t after = bytes_in_use();
    CHECK_CASE(after <= before + (1 << 16), "%zu bytes, then %zu", before, after);
    s2v_session_free(session);
    s2v_engine_close(engine);
}

/* Sessions and engines leave nothing behind. */
static void test_sessions_leave_nothing(void **state)
{
    (void)state;
    if (!can_measure()) skip();
    const s2v_session_options o = tiny_session_options();
    size_t before = 0;
    for (int i = 0; i < 50; i++) {
        s2v_engine *engine = tiny_open();
        for (int k = 0; k < 5; k++) {
            s2v_session *session = tiny_session(engine, &o);
            converse(session, 1);
            s2v_session_free(session);
        }
        s2v_engine_close(engine);
        if (i == 25) before = bytes_in_use();
    }
    const size_t after = bytes_in_use();
    CHECK_CASE(after <= before + (1 << 16), "%zu bytes, then %zu", before, after);
}

/* --- failing ---------------------------------------------------------------------- */

/* A whole conversation; the status of the first step that failed. */
static s2p_status run_all(const question *q, s2p_error *error)
{
    const s2v_engine_options options = tiny_options();
    const s2v_session_options o = tiny_session_options();
    s2v_engine *engine;
    s2v_session *session = NULL;
    s2p_status st = s2v_engine_open(&engine, &options, error);
    assert_true((st == S2P_OK) == (engine != NULL));
    if (st == S2P_OK) st = s2v_session_create(&session, engine, &o, error);
    assert_true((st == S2P_OK) == (session != NULL));
    for (int turn = 0; st == S2P_OK && turn < 2; turn++) {
        st = prefill(session, q, NULL, error);
        for (int i = 0; st == S2P_OK && i < 3; i++) {
            char text[64];
            int done;
            st = s2v_session_next(session, text, sizeof text, &done, error);
        }
    }
    if (st != S2P_OK && session) { /* the session is still good */
        left = -1;
        assert_int_equal(prefill(session, q, NULL, error), S2P_OK);
    }
    s2v_session_free(session);
    s2v_engine_close(engine);
    return st;
}

static void test_every_allocation_fails(void **state)
{
    (void)state;
    question q = one_picture("s2prune", 18);
    q.size[0].structure_from_resized = 1; /* one more picture to make */
    s2p_error error = { S2P_OK, "" };
    n_ours = 0;
    assert_int_equal(run_all(&q, &error), S2P_OK);
    const int n = n_ours;
    CHECK_CASE(n > 50, "%d allocations", n);
    for (int i = 0; i < n; i++) {
        error = (s2p_error){ S2P_OK, "" };
        left = i;
        const s2p_status st = run_all(&q, &error);
        left = -1;
        CHECK_CASE(st == S2P_ENOMEM, "allocation %d of %d: %d %s", i, n, (int)st, error.message);
    }
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    folder = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_allocation_per_token),
        cmocka_unit_test(test_memory_stays),
        cmocka_unit_test(test_sessions_leave_nothing),
        cmocka_unit_test(test_every_allocation_fails),
    };
    return cmocka_run_group_tests(tests, write_files, NULL);
}
