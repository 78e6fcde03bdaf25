/* test_engine_families.c - sessions of every family: forked, saved and restored, remembered, joined.
 *
 * Two pictures of different shape, so that grids are not square and tiles differ; the same bits
 * whichever way a conversation got there. What a family adds to a prompt (rows for later layers, tiles,
 * text between them) must survive each of these ways.
 */
#include "tiny_families.h"

#include <unistd.h>

static const char *folder;
static tiny_file text_file, mmproj_file;
static answer expected, got; /* too large for a stack */
static tiny_family family;

static void write_family(void)
{
    tiny_family_files(family, &text_file, &mmproj_file);
    tiny_write_pair(folder, tiny_family_name[family], &text_file, &mmproj_file);
}

/* Two pictures, one wide and one high, each with a budget below what any family has of them. */
static question two_pictures(const char *method)
{
    static uint8_t wide[180 * 70 * 3], high[60 * 170 * 3];
    question q = { .raw = "hello <image> world <image> aaaa bcd", .n_images = 2 };
    q.image[0] = make_picture(wide, 180, 70, 5);
    q.image[1] = make_picture(high, 60, 170, 6);
    for (int i = 0; i < MAX_QUESTION_IMAGES; i++) s2v_image_options_init(&q.size[i]);
    if (tiny_family_has_size(family)) {
        q.size[0].width = 7 * TINY_TOKEN_SIDE;
        q.size[0].height = 3 * TINY_TOKEN_SIDE;
        q.size[1].width = 2 * TINY_TOKEN_SIDE;
        q.size[1].height = 6 * TINY_TOKEN_SIDE;
    }
    s2v_prune_options_init(&q.prune);
    q.prune.method = method;
    q.prune.budget.tokens = 4;
    return q;
}

static bool has_small_heads(void) { return family == TINY_QWEN3_VL || family == TINY_QWEN3_VL_MOE; }

static s2v_session_options options_of(int i)
{
    static const s2v_kv_type types[] = { S2V_KV_F32, S2V_KV_F16, S2V_KV_Q8_0 };
    s2v_session_options o = tiny_session_options();
    o.kv_type = types[i % (has_small_heads() ? 2 : 3)]; /* heads of 16 are no block */
    o.n_ctx = 400;
    if (i % 2) o.n_batch = 13; /* rows of one picture in several pieces */
    return o;
}

static const char *const methods[] = { "s2prune", "full", "fastv", "random", "visionzip" };

static void say(s2v_session *session, int n)
{
    char text[256];
    int done;
    for (int i = 0; i < n; i++)
        assert_int_equal(s2v_session_next(session, text, sizeof text, &done, NULL), S2P_OK);
}

/* The rest of `expected` after three tokens, and another turn with a picture. */
static void assert_goes_on(s2v_session *session, const question *turn, answer *after, bool is_first)
{
    size_t n;
    say(session, MAX_ANSWER - 3);
    const int32_t *tokens = s2v_session_tokens(session, &n);
    assert_int_equal(n, MAX_ANSWER);
    assert_memory_equal(tokens, expected.token, sizeof expected.token);
    assert_memory_equal(s2v_session_logits(session), expected.last, sizeof expected.last);
    static answer turned;
    ask(session, turn, &turned);
    if (is_first)
        *after = turned;
    else
        assert_same_bits(after, &turned);
    s2v_session_free(session);
}

static void test_forked_and_restored(void **state)
{
    (void)state;
    static answer after;
    s2v_engine *engine = tiny_open();
    char path[600];
    (void)snprintf(path, sizeof path, "%s/%s.session", folder, tiny_family_name[family]);
    for (int i = 0; i < (int)COUNT_OF(methods); i++) {
        s2p_error error = { S2P_OK, "" };
        const question q = two_pictures(methods[i]);
        question turn = two_pictures(methods[(i + 1) % 2]);
        turn.raw = "bcd <image> hello";
        turn.image[0] = q.image[1];
        turn.size[0] = q.size[1];
        turn.n_images = 1;
        const s2v_session_options o = options_of(i);
        s2v_session *session = tiny_session(engine, &o), *forked;
        s2v_session *restored = tiny_session(engine, &o);
        ask(session, &q, &expected);
        s2v_session_reset(session);
        assert_int_equal(prefill(session, &q, NULL, NULL), S2P_OK);
        say(session, 3);
        CHECK_CASE(s2v_session_fork(&forked, session, NULL, &error) == S2P_OK, "%s", error.message);
        CHECK_CASE(s2v_session_save(session, path, &error) == S2P_OK, "%s", error.message);
        CHECK_CASE(s2v_session_restore(restored, path, &error) == S2P_OK, "%s", error.message);
        assert_int_equal(s2v_session_length(restored), s2v_session_length(session));
        assert_goes_on(session, &turn, &after, true);
        assert_goes_on(forked, &turn, &after, false);
        assert_goes_on(restored, &turn, &after, false);
    }
    s2v_engine_close(engine);
}

/* A second question about the same pictures, and the same question again, from what is remembered. */
static void test_prefix_cache(void **state)
{
    (void)state;
    s2v_engine *plain = tiny_open(), *caching = tiny_open_caching();
    for (int i = 0; i < (int)COUNT_OF(methods); i++) {
        const s2v_session_options o = options_of(i);
        const question q = two_pictures(methods[i]);
        for (int round = 0; round < 3; round++) {
            question next = q;
            if (round == 1) next.raw = "hello <image> world <image> and bcd aaaa bcd";
            s2v_session *a = tiny_session(plain, &o), *b = tiny_session(caching, &o);
            ask(a, &next, &expected);
            ask(b, &next, &got);
            assert_same_answer(&expected, &got);
            assert_same_bits(&expected, &got);
            s2v_session_free(a);
            s2v_session_free(b);
        }
    }
    s2v_cache_stats stats;
    s2v_engine_get_cache_stats(caching, &stats);
    CHECK_CASE(stats.hits >= 2 * COUNT_OF(methods), "%s: %llu hits", tiny_family_name[family],
               (unsigned long long)stats.hits);
    s2v_engine_close(plain);
    s2v_engine_close(caching);
}

/* The methods that are about the tower: smaller pictures, and tokens that never enter it. Refused where
 * the tower has one size. */
static void test_tower_of_any_size(void **state)
{
    (void)state;
    const bool has_size = tiny_family_has_size(family);
    s2v_engine *engine = tiny_open();
    const s2v_session_options o = options_of(1);
    s2p_error error = { S2P_OK, "" };
    for (int i = 0; i < 2; i++) {
        question q = two_pictures(i == 0 ? "resize" : "s2prune");
        q.size[0].before_tower = q.size[1].before_tower = i;
        if (i == 0) q.prune.budget.tokens = 1;
        s2v_session *session = tiny_session(engine, &o);
        const s2p_status st = prefill(session, &q, NULL, &error);
        CHECK_CASE(st == (has_size ? S2P_OK : S2P_EUNSUPPORTED), "%s, %d: %d %s",
                   tiny_family_name[family], i, (int)st, error.message);
        CHECK_CASE(has_size ||
                       strstr(error.message, i ? "fixed number of patches" : "always makes"),
                   "%s, %d: %s", tiny_family_name[family], i, error.message);
        s2v_session_free(session);
    }
    s2v_engine_close(engine);
}

/* The same text model, to the byte: what a conversation has computed is as good there. */
static bool has_same_text(tiny_family a, tiny_family b)
{
    static const int text[] = { 0, 1, 0, 2, 3, 1, 4, 3, 5, 6, 7, 8, 9 };
    return text[a] == text[b];
}

/* A session of one family is not one of another, though widths and layers are the same. */
static void test_session_of_another_family(void **state)
{
    (void)state;
    char path[600];
    s2p_error error = { S2P_OK, "" };
    const tiny_family own = family;
    (void)snprintf(path, sizeof path, "%s/%s.session", folder, tiny_family_name[own]);
    const s2v_session_options o = tiny_session_options();
    s2v_engine *engine = tiny_open();
    s2v_session *session = tiny_session(engine, &o);
    const question q = two_pictures("s2prune");
    assert_int_equal(prefill(session, &q, NULL, NULL), S2P_OK);
    assert_int_equal(s2v_session_save(session, path, &error), S2P_OK);
    s2v_session_free(session);
    s2v_engine_close(engine);
    for (int i = 0; i < N_TINY_FAMILIES; i++) {
        family = (tiny_family)i;
        write_family();
        engine = tiny_open();
        session = tiny_session(engine, &o);
        const s2p_status st = s2v_session_restore(session, path, &error);
        CHECK_CASE(st == (has_same_text(family, own) ? S2P_OK : S2P_EFORMAT), "%s as %s: %d %s",
                   tiny_family_name[own], tiny_family_name[i], (int)st, error.message);
        if (st != S2P_OK) assert_int_equal(s2v_session_length(session), 0);
        s2v_session_free(session);
        s2v_engine_close(engine);
    }
    family = own;
    write_family();
    (void)unlink(path);
}

static int write_state(void **state)
{
    (void)state;
    write_family();
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    folder = argv[1];
    int failed = 0;
    for (int i = 0; i < N_TINY_FAMILIES; i++) {
        family = (tiny_family)i;
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_forked_and_restored),
            cmocka_unit_test(test_prefix_cache),
            cmocka_unit_test(test_tower_of_any_size),
            cmocka_unit_test(test_session_of_another_family),
        };
        failed += cmocka_run_group_tests_name(tiny_family_name[i], tests, write_state, NULL);
    }
    return failed;
}
