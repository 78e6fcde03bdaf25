/* test_engine_own_method.c - a method of the caller through a session: like a built-in one when it
 * keeps the same tokens, refused with a sentence when it misbehaves, and never mixed up in the cache.
 */
#include "tiny_run.h"

static const char *folder;

typedef struct list {
    int32_t token[64], n;
    s2p_status status;
    int n_calls;
    int32_t stage[4], n_alive[4];
    bool has_features;
} list;

static s2p_status keep_list(const s2p_view *view, s2p_grid grid, int32_t *keep, int32_t *n_keep,
                            void *user, s2p_error *error)
{
    list *l = user;
    (void)error;
    assert_int_equal(grid.rows * grid.cols, 63);
    l->stage[l->n_calls % 4] = view->stage;
    l->n_alive[l->n_calls % 4] = view->alive ? view->n_alive : -1;
    l->n_calls++;
    l->has_features = view->signal[S2P_FEATURE].data != NULL;
    if (l->n > 0) { /* else the first of those alive, as many as asked for */
        memcpy(keep, l->token, (size_t)l->n * sizeof *keep);
        *n_keep = l->n;
    } else {
        for (int32_t i = 0; i < *n_keep; i++) keep[i] = view->alive ? view->alive[i] : i;
    }
    return l->status;
}

static s2p_method *make(const char *name, list *l)
{
    s2p_method_definition d;
    s2p_method *method;
    s2p_method_definition_init(&d);
    d.name = name;
    d.needs = S2P_NEED_FEATURE;
    d.function = keep_list;
    d.user = l;
    assert_int_equal(s2p_method_make(&method, &d, NULL), S2P_OK);
    return method;
}

static void test_like_built_in(void **state)
{
    (void)state;
    static answer a, b;
    s2v_engine *engine = tiny_open_caching();
    const s2v_session_options options = tiny_session_options();
    s2v_session *session = tiny_session(engine, &options);
    question q = one_picture("divprune", 16);
    ask(session, &q, &a);
    list l = { .n = a.n_kept[0] };
    memcpy(l.token, a.kept[0], (size_t)l.n * sizeof *l.token);
    s2p_method *method = make("mine", &l);
    q.prune.method = NULL;
    q.prune.own_method = method;
    for (int i = 0; i < 2; i++) { /* and again, from the engine's cache: pictures only */
        s2v_session_reset(session);
        ask(session, &q, &b);
        assert_same_answer(&a, &b);
        assert_same_bits(&a, &b);
        assert_int_equal(l.n_calls, i + 1);
        assert_true(b.stats.cached_tokens == 0 && b.stats.tower_runs == 0 && l.has_features);
    }

    /* Another method of the same name is another method. */
    list other = { .n = 0 };
    s2p_method *second = make("mine", &other);
    q.prune.own_method = second;
    s2v_session_reset(session);
    ask(session, &q, &b);
    for (int32_t i = 0; i < 16; i++) assert_int_equal(b.kept[0][i], i);
    s2v_count count;
    const s2v_prompt prompt = prompt_of(&q);
    assert_int_equal(s2v_engine_count(engine, &prompt, &q.prune, &count, NULL), S2P_OK);
    assert_int_equal(count.image_tokens, 16);
    s2v_session_free(session);
    s2v_engine_close(engine);
    s2p_method_free(second);
    s2p_method_free(method);
}

static void test_stages(void **state)
{
    (void)state;
    static answer a;
    list l = { .n = 0 };
    s2p_method_definition d;
    s2p_method *method;
    s2p_method_definition_init(&d);
    d.name = "two-stages";
    d.n_stages = 2;
    d.after[0] = S2P_BEFORE_DECODER;
    d.after[1] = 0;
    d.function = keep_list;
    d.user = &l;
    assert_int_equal(s2p_method_make(&method, &d, NULL), S2P_OK);
    s2v_engine *engine = tiny_open();
    const s2v_session_options options = tiny_session_options();
    s2v_session *session = tiny_session(engine, &options);
    question q = one_picture(NULL, 16);
    q.prune.own_method = method;
    ask(session, &q, &a);
    assert_int_equal(a.n_kept[0], 16);
    assert_int_equal(l.n_calls, 2);
    assert_true(l.stage[0] == 0 && l.stage[1] == 1 && l.n_alive[1] == 32); /* sqrt(63 * 16) */
    s2v_session_free(session);
    s2v_engine_close(engine);
    s2p_method_free(method);
}

static void test_misbehaves(void **state)
{
    (void)state;
    static const struct {
        list l;
        s2p_status status;
        const char *sentence;
    } cases[] = {
        { { .token = { 1, 2, 2 }, .n = 3 }, S2P_EINVAL, "method 'bad' kept token 2 twice" },
        { { .token = { 1, 2, 63 }, .n = 3 }, S2P_EINVAL, "kept token 63 of a grid of 63" },
        { { .token = { -7, 2, 3 }, .n = 3 }, S2P_EINVAL, "kept token -7 of a grid of 63" },
        { { .token = { 1, 2 }, .n = 2 }, S2P_EINVAL, "method 'bad' kept 2 tokens, not 3" },
        { { .token = { 1, 2, 3, 4 }, .n = 4 }, S2P_EINVAL, "method 'bad' kept 4 tokens, not 3" },
        { { .n = 0, .status = S2P_EUNSUPPORTED }, S2P_EUNSUPPORTED, "method 'bad': " },
    };
    s2v_engine *engine = tiny_open_caching();
    const s2v_session_options options = tiny_session_options();
    s2v_session *session = tiny_session(engine, &options);
    static answer before, after;
    const question good = one_picture("divprune", 3);
    ask(session, &good, &before);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        list l = cases[i].l;
        s2p_method *method = make("bad", &l);
        s2p_error error = { S2P_OK, "" };
        question q = one_picture(NULL, 3);
        q.prune.own_method = method;
        s2v_session_reset(session);
        CHECK_CASE(prefill(session, &q, NULL, &error) == cases[i].status, "%zu: %s", i,
                   error.message);
        CHECK_CASE(strstr(error.message, cases[i].sentence), "%zu: %s", i, error.message);
        q.prune.method = "divprune";
        assert_int_equal(prefill(session, &q, NULL, &error), S2P_EINVAL); /* which of the two? */
        s2p_method_free(method);
    }
    s2v_session_reset(session);
    ask(session, &good, &after);
    assert_same_bits(&before, &after);
    s2v_session_free(session);
    s2v_engine_close(engine);
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    folder = argv[1];
    tiny_write_plain(folder);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_like_built_in),
        cmocka_unit_test(test_stages),
        cmocka_unit_test(test_misbehaves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
