/* test_engine_prefix_memory.c - every allocation of our own code fails once while a prefix is made
 * and used: the answer is right or there is a typed error, and the next answer is right.
 */
#include "counted_malloc.h"
#include "tiny_run.h"

static const char *folder;
static s2v_engine *engine;
static answer expected[2], got; /* too large for a stack */
static question questions[2];

static int open_engine(void **state)
{
    (void)state;
    tiny_write_plain(folder);
    engine = tiny_open_caching();
    return 0;
}

static int close_engine(void **state)
{
    (void)state;
    s2v_engine_close(engine);
    return 0;
}

static void ask_right(s2v_session *session, int which, bool is_hit)
{
    s2v_session_reset(session);
    ask(session, &questions[which], &got);
    assert_same_answer(&expected[which], &got);
    assert_same_bits(&expected[which], &got);
    assert_true((got.stats.cached_tokens > 0) == is_hit);
}

/* Allocation i fails while question `which` is asked. Whether it was answered all the same. */
static bool ask_failing(s2v_session *session, int which, int i)
{
    s2p_error error = { S2P_OK, "" };
    s2v_session_reset(session);
    left = i;
    const s2p_status st = prefill(session, &questions[which], NULL, &error);
    assert_int_equal(left, -1); /* it was reached */
    CHECK_CASE(st == S2P_OK || (st == S2P_ENOMEM && error.message[0]), "allocation %d: %d %s", i,
               (int)st, error.message);
    if (st != S2P_OK) return false;
    generate(session, &got);
    assert_memory_equal(expected[which].token, got.token, sizeof got.token);
    assert_memory_equal(expected[which].last, got.last, sizeof got.last);
    return true;
}

static int count_allocations(s2v_session *session, int which)
{
    s2v_session_reset(session);
    n_ours = 0;
    prefill_only(session, &questions[which], &got);
    return n_ours;
}

static void check_method(const char *method, int n_forgiven)
{
    s2v_session_options options = tiny_session_options();
    options.no_cache = 1;
    for (int i = 0; i < 2; i++) {
        questions[i] = one_picture(method, 18);
        if (i == 1) questions[i].raw = "hello world <image>user aaaa bcd 0123";
        s2v_session *scratch = tiny_session(engine, &options);
        ask(scratch, &questions[i], &expected[i]);
        s2v_session_free(scratch);
    }
    options.no_cache = 0;
    s2v_session *session = tiny_session(engine, &options);
    for (int i = 0; i < 2; i++) { /* what the session grows once, it has then */
        s2v_session_reset(session);
        s2v_cache_clear(engine->cache);
        prefill_only(session, &questions[i], &got);
    }
    s2v_cache_clear(engine->cache);
    const int n_first = count_allocations(session, 0), n_second = count_allocations(session, 1);
    assert_true(n_first > n_second && n_second > 5);

    int n_right = 0;
    for (int i = 0; i < n_first; i++) { /* remembering is optional, answering is not */
        s2v_cache_clear(engine->cache);
        n_right += ask_failing(session, 0, i);
        s2v_cache_clear(engine->cache);
        s2v_cache_stats stats;
        s2v_engine_get_cache_stats(engine, &stats);
        assert_int_equal(stats.bytes, 0); /* nothing is in use that nobody will release */
        ask_right(session, 1, false);
        ask_right(session, 0, true);
    }
    assert_int_equal(n_right, n_forgiven);
    for (int i = 0; i < n_second; i++) {
        assert_false(ask_failing(session, 1, i));
        ask_right(session, 0, true);
        ask_right(session, 1, true);
    }
    s2v_session_free(session);
}

static void test_every_allocation_fails(void **state)
{
    (void)state;
    /* the picture's block; tables of layers for slots before and for those left; blocks of both. A
     * block takes two. */
    check_method("s2prune", 2 + 1 + 1 + 2 + 2);
    check_method("random", 2 + 1 + 1 + 2);
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    folder = argv[1];
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_every_allocation_fails) };
    return cmocka_run_group_tests(tests, open_engine, close_engine);
}
