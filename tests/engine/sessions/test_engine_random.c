/* test_engine_random.c - sessions of one engine in any order: opened, asked and advanced alone and
 * together, forked, saved, restored, cancelled, dropped.
 *
 *   test_engine_random FOLDER [operations] [threads] [seed] [gemma3 | hybrid]
 *
 * Every session knows how it came to be; now and then it is compared with a fresh one that is asked
 * the same. The engine's cache is too small for all they ask: entries come and go. When all are gone, so
 * is their memory. Threads have sessions of their own and share the
 * engine.
 */
#include "tiny_gemma.h"
#include "tiny_qwen35.h"
#include "tiny_tiles.h"

#include "base/random.h"

#include <malloc.h>
#include <pthread.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/allocator_interface.h>
#define S2_HEAP() __sanitizer_get_current_allocated_bytes()
#endif
#endif
#ifndef S2_HEAP
#define S2_HEAP() mallinfo2().uordblks
#endif

#define MOST 6 /* sessions of a thread */
#define MOST_SAID 20
#define MOST_THREADS 4
#define CACHE_BYTES 120000 /* room for some of the pictures and prompts */
#define SLACK (1 << 19)    /* bytes: freed ones that the C library counts, and ggml's own */

static const char *folder;
static int n_operations = 300, n_threads = 1;
static uint64_t first_seed = 1;
static bool is_gemma; /* windows, and pictures in one size */
static s2v_engine *engine;

typedef struct recipe { /* how a session came to be what it is */
    int question;       /* -1: it was not asked */
    int options;
    int n_said;
} recipe;

typedef struct world { /* of one thread */
    s2_random random;
    s2v_session *session[MOST];
    recipe is[MOST];
    recipe saved; /* in the file; question -1: there is none */
    char path[600];
    int n_of[11]; /* operations that did something */
    int n_calls, cancel_at;
} world;

static uint32_t pick(world *w, uint32_t n) { return s2_random_below(&w->random, n); }

/* --- what can be asked --------------------------------------------------------------------- */

#define N_QUESTIONS 6
#define N_OPTIONS 4
static question questions[N_QUESTIONS];

static void make_questions(void)
{
    static const char *const methods[N_QUESTIONS] = { "s2prune", NULL,      "fastv",
                                                      "random",  "s2prune", NULL };
    for (int i = 0; i < N_QUESTIONS; i++) {
        questions[i] = one_picture(methods[i], is_gemma ? 3 + 2 * i : 6 + 4 * i);
        if (is_gemma) s2v_image_options_init(&questions[i].size[0]);
    }
    questions[4].raw = "<image>u";
    questions[5].raw = "hello world user cde 0123456789";
    questions[5].n_images = 0;
}

static s2v_session_options options_of(int which)
{
    static const s2v_kv_type types[] = { S2V_KV_F16, S2V_KV_Q8_0, S2V_KV_F32, S2V_KV_F16 };
    s2v_session_options o = tiny_session_options();
    o.kv_type = types[which];
    o.n_ctx = 120;
    o.n_batch = which == 1 ? 25 : 0;
    o.n_threads = 1;
    if (which == 3) {
        o.kv_type_v = S2V_KV_Q8_0;
        o.sampling.temperature = 0.7f;
        o.sampling.seed = 5;
    }
    return o;
}

static void say_more(s2v_session *session, int n)
{
    char text[256];
    int done;
    for (int i = 0; i < n; i++)
        assert_int_equal(s2v_session_next(session, text, sizeof text, &done, NULL), S2P_OK);
}

/* A fresh session says the same. */
static void compare(const world *w, int i)
{
    const recipe *is = &w->is[i];
    if (is->question < 0) {
        assert_int_equal(s2v_session_length(w->session[i]), 0);
        return;
    }
    const s2v_session_options o = options_of(is->options);
    s2v_session *fresh = tiny_session(engine, &o);
    assert_int_equal(prefill(fresh, &questions[is->question], NULL, NULL), S2P_OK);
    say_more(fresh, is->n_said);
    size_t n, n_fresh;
    const int32_t *a = s2v_session_tokens(w->session[i], &n);
    const int32_t *b = s2v_session_tokens(fresh, &n_fresh);
    assert_int_equal(n, n_fresh);
    if (n > 0) assert_memory_equal(a, b, n * sizeof *a);
    assert_int_equal(s2v_session_length(w->session[i]), s2v_session_length(fresh));
    assert_true(distance(s2v_session_logits(fresh), s2v_session_logits(w->session[i])) <=
                2e-3); /* see test_engine_many */
    s2v_session_free(fresh);
}

/* --- operations ------------------------------------------------------------------------------ */

static int find(world *w, bool is_free)
{
    const int start = (int)pick(w, MOST);
    for (int k = 0; k < MOST; k++)
        if ((w->session[(start + k) % MOST] == NULL) == is_free) return (start + k) % MOST;
    return -1;
}

static bool open_one(world *w)
{
    const int i = find(w, true);
    if (i < 0) return false;
    w->is[i] = (recipe){ .question = -1, .options = (int)pick(w, N_OPTIONS) };
    const s2v_session_options o = options_of(w->is[i].options);
    w->session[i] = tiny_session(engine, &o);
    return true;
}

static bool drop_one(world *w)
{
    const int i = find(w, false);
    if (i < 0) return false;
    if (pick(w, 4) == 0) compare(w, i);
    s2v_session_free(w->session[i]);
    w->session[i] = NULL;
    return true;
}

static int count_down(const char *step, double done, void *user)
{
    (void)step, (void)done;
    world *w = user;
    return ++w->n_calls == w->cancel_at;
}

static bool ask_one(world *w, bool is_cancelled)
{
    const int i = find(w, false);
    if (i < 0) return false;
    const int q = (int)pick(w, N_QUESTIONS);
    s2v_session_reset(w->session[i]);
    w->n_calls = 0;
    w->cancel_at = is_cancelled ? 1 + (int)pick(w, 16) : 0;
    s2v_session_set_progress(w->session[i], count_down, w);
    const s2p_status st = prefill(w->session[i], &questions[q], NULL, NULL);
    const bool was_cancelled = w->cancel_at > 0 && w->n_calls >= w->cancel_at;
    assert_int_equal(st, was_cancelled ? S2P_ECANCELLED : S2P_OK);
    w->is[i].question = was_cancelled ? -1 : q;
    w->is[i].n_said = 0;
    return !is_cancelled || was_cancelled;
}

/* Those that did not go are as they were: nothing has been asked of them. */
static bool ask_many(world *w)
{
    s2v_ask asks[MOST];
    s2v_prompt prompts[MOST];
    int who[MOST], asked[MOST];
    size_t n = 0, n_ran;
    w->cancel_at = 0;
    for (int i = 0; i < MOST; i++) {
        if (!w->session[i] || pick(w, 4) == 0) continue;
        asked[n] = pick(w, 2) ? (int)pick(w, N_QUESTIONS) : 5;
        const question *q = &questions[asked[n]];
        s2v_session_reset(w->session[i]);
        w->is[i].question = -1;
        w->is[i].n_said = 0;
        prompts[n] = prompt_of(q);
        asks[n] = (s2v_ask){ .session = w->session[i], .prompt = &prompts[n], .prune = &q->prune };
        who[n++] = i;
    }
    if (n == 0) return false;
    assert_int_equal(s2v_prefill_many(asks, n, &n_ran, NULL), S2P_OK);
    assert_true(n_ran > 0);
    for (size_t k = 0; k < n_ran; k++) {
        assert_int_equal(asks[k].status, S2P_OK);
        w->is[who[k]].question = asked[k];
    }
    return n_ran > 1;
}

static bool advance_one(world *w)
{
    const int i = find(w, false);
    if (i < 0 || w->is[i].question < 0 || w->is[i].n_said > MOST_SAID) return false;
    const int n = 1 + (int)pick(w, 4);
    say_more(w->session[i], n);
    w->is[i].n_said += n;
    return true;
}

static bool advance_many(world *w)
{
    s2v_step steps[MOST];
    char text[MOST][64];
    int who[MOST];
    size_t n = 0;
    for (int i = 0; i < MOST; i++) {
        if (!w->session[i] || w->is[i].n_said > MOST_SAID || pick(w, 4) == 0) continue;
        steps[n] = (s2v_step){ .session = w->session[i], .text = text[n], .capacity = 64 };
        who[n++] = i;
    }
    if (n == 0) return false;
    assert_int_equal(s2v_decode_many(steps, n, NULL), S2P_OK);
    for (size_t k = 0; k < n; k++) {
        recipe *is = &w->is[who[k]];
        assert_int_equal(steps[k].status, is->question < 0 ? S2P_EINVAL : S2P_OK);
        is->n_said += is->question >= 0;
    }
    return n > 1;
}

static bool fork_one(world *w)
{
    const int from = find(w, false), to = find(w, true);
    if (from < 0 || to < 0) return false;
    assert_int_equal(s2v_session_fork(&w->session[to], w->session[from], NULL, NULL), S2P_OK);
    w->is[to] = w->is[from];
    return true;
}

static bool save_one(world *w)
{
    const int i = find(w, false);
    if (i < 0 || w->is[i].question < 0) return false;
    assert_int_equal(s2v_session_save(w->session[i], w->path, NULL), S2P_OK);
    w->saved = w->is[i];
    return true;
}

/* Into a session with another cache nothing comes. */
static bool restore_one(world *w)
{
    const int i = find(w, false);
    if (i < 0 || w->saved.question < 0) return false;
    const s2v_session_options own = options_of(w->is[i].options),
                              saved = options_of(w->saved.options);
    const bool fits = own.kv_type == saved.kv_type && own.kv_type_v == saved.kv_type_v;
    const bool is_same = w->is[i].options == w->saved.options; /* else it would draw otherwise */
    if (fits && !is_same) return false;
    const s2p_status st = s2v_session_restore(w->session[i], w->path, NULL);
    /* A file of a wider type may be longer than all the session could hold. */
    assert_true(fits ? st == S2P_OK : st == S2P_EFORMAT || st == S2P_ELIMIT);
    if (fits) w->is[i] = w->saved;
    return fits;
}

static bool compare_one(world *w)
{
    const int i = find(w, false);
    if (i < 0) return false;
    compare(w, i);
    return true;
}

static void run_world(world *w, int n)
{
    for (int at = 0; at < n; at++) {
        /* Some come more often than others. */
        static const int kinds[] = { 0, 0, 1, 2, 2, 2, 3, 4, 4, 5, 5, 5, 6, 7, 8, 9, 10, 10 };
        const int kind = kinds[pick(w, sizeof kinds / sizeof *kinds)];
        bool did = false;
        switch (kind) {
        case 0:
            did = open_one(w);
            break;
        case 1:
            did = drop_one(w);
            break;
        case 2:
            did = ask_one(w, false);
            break;
        case 3:
            did = ask_one(w, true);
            break;
        case 4:
            did = advance_one(w);
            break;
        case 5:
            did = advance_many(w);
            break;
        case 6:
            did = fork_one(w);
            break;
        case 7:
            did = save_one(w);
            break;
        case 8:
            did = restore_one(w);
            break;
        case 9:
            did = compare_one(w);
            break;
        default:
            did = ask_many(w);
            break;
        }
        w->n_of[kind] += did;
    }
    for (int i = 0; i < MOST; i++) {
        if (w->session[i]) compare(w, i);
        s2v_session_free(w->session[i]);
        w->session[i] = NULL;
    }
    (void)unlink(w->path);
}

/* --- all of it --------------------------------------------------------------------------------- */

static world worlds[MOST_THREADS];
static s2v_cache_stats remembered;

static void *run_thread(void *user)
{
    run_world(user, n_operations / n_threads);
    return NULL;
}

static void run_worlds(uint64_t seed, int n)
{
    pthread_t threads[MOST_THREADS];
    s2v_engine_options options = tiny_options();
    options.cache_bytes = CACHE_BYTES;
    assert_int_equal(s2v_engine_open(&engine, &options, NULL), S2P_OK);
    memset(worlds, 0, sizeof worlds);
    for (int i = 0; i < n_threads; i++) {
        worlds[i].random = (s2_random){ seed + (uint64_t)i };
        worlds[i].saved.question = -1;
        (void)snprintf(worlds[i].path, sizeof worlds[i].path, "%s/saved-%d", folder, i);
    }
    for (int i = 0; n_threads > 1 && i < n_threads; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_thread, &worlds[i]), 0);
    for (int i = 0; n_threads > 1 && i < n_threads; i++) (void)pthread_join(threads[i], NULL);
    if (n_threads == 1) run_world(&worlds[0], n);
    s2v_engine_get_cache_stats(engine, &remembered);
    s2v_engine_close(engine);
}

static void test_operations(void **state)
{
    (void)state;
    run_worlds(first_seed + 1000, 30); /* what stays for good is there now */
    const size_t before = S2_HEAP();
    run_worlds(first_seed, n_operations);
    const size_t after = S2_HEAP();
    CHECK_CASE(after <= before + SLACK, "%zu bytes before, %zu after", before, after);
    assert_true(remembered.bytes <= CACHE_BYTES && remembered.hits > 0 && remembered.evictions > 0);
    for (int i = 0; i < 10; i++)
        CHECK_CASE(worlds[0].n_of[i] > 0, "operation %d never happened", i);
}

static int number(char **argv, int argc, int i, int usual)
{
    return argc > i ? (int)strtol(argv[i], NULL, 10) : usual;
}

int main(int argc, char **argv)
{
    assert_true(argc > 1);
    folder = argv[1];
    n_operations = number(argv, argc, 2, n_operations);
    n_threads = number(argv, argc, 3, n_threads);
    first_seed = (uint64_t)number(argv, argc, 4, (int)first_seed);
    assert_true(n_threads >= 1 && n_threads <= MOST_THREADS);
    is_gemma = argc > 5 && strcmp(argv[5], "gemma3") == 0;
    tiles_words(&tiny_words);
    if (is_gemma) {
        gemma_text(&tiny_text_file);
        gemma_mmproj(&tiny_mmproj_file);
        tiny_write_pair(folder, "gemma", &tiny_text_file, &tiny_mmproj_file);
    } else if (argc > 5 && strcmp(argv[5], "hybrid") == 0) { /* states between layers that attend */
        qwen35_text(&tiny_text_file, QWEN35_LAYERS);
        qwen35_mmproj(&tiny_mmproj_file, 3);
        tiny_write_pair(folder, "hybrid", &tiny_text_file, &tiny_mmproj_file);
    } else {
        tiny_write_plain(folder);
    }
    make_questions();
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_operations) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
