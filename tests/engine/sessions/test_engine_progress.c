/* test_engine_progress.c - a prefill that is watched gives the same bits, can be stopped at every
 * call, and leaves room for other sessions in between.
 */
#include "tiny_llava.h"

static const char *folder;
static answer alone, watched, other; /* too large for a stack */

static void write_llava(void)
{
    vocabulary_init(&tiny_words);
    llava_text(&tiny_text_file);
    llava_mmproj(&tiny_mmproj_file);
    tiny_write_pair(folder, "llava", &tiny_text_file, &tiny_mmproj_file);
}

/* --- who watches ------------------------------------------------------------------------- */

typedef struct watcher {
    int n_calls, cancel_at; /* 0: never */
    int n_of[3];            /* calls of each step */
    int step;
    double done;
    s2v_session *own, *neighbour; /* the one watched; one that runs meanwhile, or NULL */
    bool prefills;                /* and starts anew each time */
    question neighbour_asks;
    int n_neighbour; /* tokens it made */
} watcher;

static int watch(const char *step, double done, void *user)
{
    static const char *const names[] = { "picture", "tower", "layers" };
    watcher *w = user;
    int i = 0;
    while (i < 3 && strcmp(step, names[i]) != 0) i++;
    CHECK_CASE(i < 3 && i >= w->step, "%s after %s", step, names[w->step]);
    if (i > w->step) w->done = 0.0;
    CHECK_CASE(done >= w->done && done <= 1.0, "%s: %g after %g", step, done, w->done);
    w->step = i;
    w->done = done;
    w->n_of[i]++;
    w->n_calls++;
    char text[64];
    int is_done;
    assert_int_equal(s2v_session_next(w->own, text, sizeof text, &is_done, NULL), S2P_EINVAL);
    assert_int_equal(prefill(w->own, &w->neighbour_asks, NULL, NULL), S2P_EINVAL);
    if (w->neighbour && w->prefills) {
        ask(w->neighbour, &w->neighbour_asks, &other);
        s2v_session_reset(w->neighbour);
        w->n_neighbour++;
    } else if (w->neighbour && w->n_neighbour < MAX_ANSWER) {
        const size_t at = strlen(other.text);
        assert_int_equal(
            s2v_session_next(w->neighbour, other.text + at, sizeof other.text - at, &is_done, NULL),
            S2P_OK);
        w->n_neighbour++;
    }
    return w->n_calls == w->cancel_at;
}

static void prefill_watched(s2v_session *session, const question *q, watcher *w)
{
    w->own = session;
    s2v_session_set_progress(session, watch, w);
    s2v_session_reset(session);
    prefill_only(session, q, &watched);
    assert_int_equal(w->step, 2);
    assert_true(w->done == 1.0);
    s2v_session_set_progress(session, NULL, NULL);
    generate(session, &watched);
}

/* --- the same ------------------------------------------------------------------------------ */

static void check_method(s2v_engine *engine, const question *q, s2v_kv_type type, int32_t n_batch,
                         int n_blocks)
{
    s2v_session_options options = tiny_session_options();
    options.kv_type = type;
    options.n_batch = n_batch;
    options.n_threads = 1;
    s2v_session *session = tiny_session(engine, &options);
    ask(session, q, &alone);
    watcher w = { .n_calls = 0 };
    prefill_watched(session, q, &w);
    assert_same_answer(&alone, &watched);
    assert_same_bits(&alone, &watched);
    assert_int_equal(w.n_of[0], q->n_images);
    CHECK_CASE(w.n_of[1] == 2 * n_blocks + q->n_images, "%d calls of the tower", w.n_of[1]);
    assert_true(w.n_of[2] >= 2 * TINY_LAYERS);
    s2v_session_free(session);
}

static void test_same_bits(void **state)
{
    (void)state;
    static const char *const methods[] = { NULL, "s2prune", "fastv", "feather", "visionzip" };
    for (int with_ggml = 0; with_ggml < 2; with_ggml++) {
        tiny_write_plain(folder);
        s2v_engine_options options = tiny_options();
        if (with_ggml) options.kernels = "ggml";
        s2v_engine *engine;
        assert_int_equal(s2v_engine_open(&engine, &options, NULL), S2P_OK);
        for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
            const question q = one_picture(methods[m], 18);
            check_method(engine, &q, m % 2 ? S2V_KV_F16 : S2V_KV_F32, m == 1 ? 20 : 0, TINY_BLOCKS);
        }
        s2v_engine_close(engine);

        write_llava();
        assert_int_equal(s2v_engine_open(&engine, &options, NULL), S2P_OK);
        const question q = llava_question(NULL, 0, 150, 110, S2V_FRAMING_BASE);
        check_method(engine, &q, S2V_KV_F16, 0, LLAVA_BLOCKS);
        s2v_engine_close(engine);
    }
}

/* --- stopping ------------------------------------------------------------------------------ */

static void test_cancelling(void **state)
{
    (void)state;
    tiny_write_plain(folder);
    s2v_session_options options = tiny_session_options();
    options.n_threads = 1;
    options.n_batch = 40;
    const question q = one_picture("s2prune", 18);
    s2v_engine *engine = tiny_open();
    s2v_session *session = tiny_session(engine, &options);
    ask(session, &q, &alone);
    for (int at = 1;; at++) {
        s2v_engine *fresh = at < 8 ? tiny_open() : engine;
        s2v_session *stopped = tiny_session(fresh, &options);
        watcher w = { .cancel_at = at, .own = stopped };
        s2v_session_set_progress(stopped, watch, &w);
        s2p_error error = { S2P_OK, "" };
        const s2p_status st = prefill(stopped, &q, NULL, &error);
        if (st != S2P_OK) {
            assert_int_equal(st, S2P_ECANCELLED);
            assert_int_equal(w.n_calls, at); /* not once more */
            assert_int_equal(s2v_session_length(stopped), 0);
            int done;
            assert_int_equal(s2v_session_next(stopped, NULL, 0, &done, NULL), S2P_EINVAL);
        }
        watcher again = { .n_calls = 0 };
        prefill_watched(stopped, &q, &again);
        assert_same_bits(&alone, &watched);
        s2v_session_free(stopped);
        if (fresh != engine) s2v_engine_close(fresh);
        if (st == S2P_OK) {
            assert_int_equal(w.n_calls, at - 1);
            CHECK_CASE(at > 12, "%d calls", at);
            break;
        }
    }
    s2v_session_free(session);
    s2v_engine_close(engine);
}

/* --- meanwhile ------------------------------------------------------------------------------ */

static void test_neighbours(void **state)
{
    (void)state;
    tiny_write_plain(folder);
    s2v_session_options options = tiny_session_options();
    options.kv_type = S2V_KV_F16;
    const question q = one_picture("s2prune", 18), short_one = one_picture(NULL, 0);
    static answer neighbour_alone;
    s2v_engine *engine = tiny_open();
    s2v_session *session = tiny_session(engine, &options);
    ask(session, &q, &alone);
    s2v_session_reset(session);
    ask(session, &short_one, &neighbour_alone);
    s2v_session_free(session);

    /* It goes on with its answer. */
    session = tiny_session(engine, &options);
    s2v_session *neighbour = tiny_session(engine, &options);
    prefill_only(neighbour, &short_one, &other);
    watcher w = { .neighbour = neighbour, .neighbour_asks = short_one };
    prefill_watched(session, &q, &w);
    assert_same_bits(&alone, &watched);
    size_t n;
    const int32_t *tokens = s2v_session_tokens(neighbour, &n);
    assert_true(n >= 8);
    assert_memory_equal(tokens, neighbour_alone.token, n * sizeof *tokens);
    s2v_session_free(session);
    s2v_session_free(neighbour);
    s2v_engine_close(engine);

    /* It begins, picture and all, in a pause of the first one's tower. */
    engine = tiny_open();
    session = tiny_session(engine, &options);
    neighbour = tiny_session(engine, &options);
    watcher starts = { .neighbour = neighbour, .prefills = true, .neighbour_asks = short_one };
    prefill_watched(session, &q, &starts);
    assert_same_bits(&alone, &watched);
    assert_same_bits(&neighbour_alone, &other);
    s2v_session_free(session);
    s2v_session_free(neighbour);
    s2v_engine_close(engine);
}

int main(int argc, char **argv)
{
    assert_true(argc > 1);
    folder = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_bits),
        cmocka_unit_test(test_cancelling),
        cmocka_unit_test(test_neighbours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
