/* test_engine_threads.c - threads that wait sleep; pictures that several sessions of an engine see at
 * the same time are what one alone sees. */
#define _DEFAULT_SOURCE /* getrusage's switches */
#include "tiny_run.h"

#include <pthread.h>
#include <sys/resource.h>
#include <time.h>

static const char *folder;

/* --- waiting ------------------------------------------------------------------- */

#define NAP_MS 300

static void nap_on_one(struct ggml_tensor *dst, int ith, int nth, void *user)
{
    (void)dst, (void)user;
    if (nth > 1 && ith == 0)
        (void)nanosleep(&(struct timespec){ .tv_nsec = NAP_MS * 1000000L }, NULL);
}

/* One thread of a node is late by NAP_MS. The other looks about once a millisecond while it sleeps;
 * one that spins gives its core away when it is taken from it, and never by itself. */
static void waiting_threads_sleep(void **state)
{
    (void)state;
#ifdef S2_TEST_SPINS
    skip(); /* a ggml that waits in its own way */
#endif
    s2v_devices devices;
    s2v_backends backends;
    s2v_graph graph;
    s2p_error error = { S2P_OK, "" };
    assert_int_equal(s2v_devices_open(&devices, NULL, NULL, 2, &error), S2P_OK);
    assert_int_equal(s2v_backends_open(&backends, &devices, 2, &error), S2P_OK);
    assert_int_equal(s2v_graph_init(&graph, &backends, 8, &error), S2P_OK);
    assert_int_equal(s2v_graph_begin(&graph, &error), S2P_OK);
    static const float zero[4] = { 0 };
    struct ggml_tensor *x = s2v_graph_input(&graph, GGML_TYPE_F32, 4, 1, zero);
    for (int i = 0; i < 2; i++)
        x = ggml_custom_4d(graph.ctx, GGML_TYPE_F32, 4, 1, 1, 1, &x, 1, nap_on_one,
                           GGML_N_TASKS_MAX, NULL);
    s2v_graph_expand(&graph, x);
    struct rusage before, after;
    assert_int_equal(getrusage(RUSAGE_SELF, &before), 0);
    assert_int_equal(s2v_graph_compute(&graph, &error), S2P_OK);
    assert_int_equal(getrusage(RUSAGE_SELF, &after), 0);
    const long n_sleeps = after.ru_nvcsw - before.ru_nvcsw;
    CHECK_CASE(n_sleeps > 20, "threads slept %ld times", n_sleeps);
    s2v_graph_free(&graph);
    s2v_backends_close(&backends);
}

/* --- pictures at once ------------------------------------------------------------------- */

typedef struct visit { /* one session that sees a picture */
    s2v_engine *engine;
    const question *q;
    float value[64 * TINY_WIDTH];
    int32_t n;
} visit;

static void keep_tokens(const char *name, int32_t index, const float *data, int32_t rows,
                        int32_t cols, void *user)
{
    visit *v = user;
    (void)index;
    if (strcmp(name, "vis.merged") != 0) return;
    v->n = rows * cols;
    if ((size_t)v->n <= COUNT_OF(v->value)) memcpy(v->value, data, (size_t)v->n * sizeof *data);
}

static void *see(void *user)
{
    visit *v = user;
    const s2v_session_options options = tiny_session_options();
    s2v_session *session = tiny_session(v->engine, &options);
    s2p_error error = { S2P_OK, "" };
    s2v_session_set_trace(session, keep_tokens, v);
    CHECK_CASE(prefill(session, v->q, NULL, &error) == S2P_OK, "%s", error.message);
    s2v_session_free(session);
    return NULL;
}

static bool is_same(const visit *a, const visit *b)
{
    return a->n > 0 && a->n == b->n &&
           memcmp(a->value, b->value, (size_t)a->n * sizeof *a->value) == 0;
}

static void first_pictures_at_once(void **state)
{
    (void)state;
    enum { N = 3 };
    static visit v[N];
    const question q = one_picture("s2prune", 9);
    for (int round = 0; round < 10; round++) {
        s2v_engine *engine = tiny_open();
        pthread_t thread[N];
        for (int i = 0; i < N; i++) {
            v[i] = (visit){ .engine = engine, .q = &q };
            assert_int_equal(pthread_create(&thread[i], NULL, see, &v[i]), 0);
        }
        for (int i = 0; i < N; i++) assert_int_equal(pthread_join(thread[i], NULL), 0);
        for (int i = 1; i < N; i++)
            CHECK_CASE(is_same(&v[0], &v[i]), "round %d, session %d", round, i);
        s2v_engine_close(engine);
    }
}

int main(int argc, char **argv)
{
    if (argc < 2) return 2;
    folder = argv[1];
    tiny_write_plain(folder);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waiting_threads_sleep),
        cmocka_unit_test(first_pictures_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
