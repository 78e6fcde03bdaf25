/* test_engine_caches.c - what a method sees does not depend on the type of the cache: every number
 * it is shown is the same bit for bit, however the prompt is cut; and so is what it keeps when the
 * pictures come from the prefix.
 */
#include "tiny_run.h"

#include "prune/signals.h"

#define MAX_SEEN ((size_t)64 << 20)

typedef struct cache_types { /* as in the options of a session */
    s2v_kv_type k;
    s2v_kv_type v;
} cache_types;

static const cache_types types[] = { { S2V_KV_F32, S2V_KV_SAME },  { S2V_KV_F16, S2V_KV_SAME },
                                     { S2V_KV_Q8_0, S2V_KV_SAME }, { S2V_KV_Q8_0, S2V_KV_F16 },
                                     { S2V_KV_F16, S2V_KV_F32 },   { S2V_KV_F32, S2V_KV_Q8_0 } };

static s2v_session_options with_cache(cache_types type)
{
    s2v_session_options options = tiny_session_options();
    options.kv_type = type.k;
    options.kv_type_v = type.v;
    return options;
}

static const char *folder;
static s2v_engine *engine;

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

static question two_pictures(const char *method, int32_t budget)
{
    static uint8_t pixels[120 * 160 * 3];
    question q = one_picture(method, budget);
    q.raw = "hello <image> aaaa <image> bcd world user";
    q.image[1] = make_picture(pixels, 120, 160, 9);
    q.size[1] = (s2v_image_options){ .size = sizeof(s2v_image_options),
                                     .width = 6 * TINY_TOKEN_SIDE,
                                     .height = 8 * TINY_TOKEN_SIDE };
    q.n_images = 2;
    return q;
}

/* Every signal of the view, and what was kept. */
static void remember(const s2v_selection *choice, void *user)
{
    s2_buffer *seen = user;
    for (size_t id = 0; id < S2P_N_SIGNALS; id++) {
        const s2p_signal *signal = &choice->view->signal[id];
        size_t n = signal->data != NULL;
        for (size_t d = 0; s2p_signal_at(id)->shape[d]; d++) n *= (size_t)signal->shape[d];
        if (n > 0) s2_buffer_append(seen, signal->data, n * sizeof *signal->data);
    }
    int32_t n_kept;
    const int32_t *kept = s2p_plan_keep(choice->plan, &n_kept);
    s2_buffer_append(seen, kept, (size_t)n_kept * sizeof *kept);
}

static void look(cache_types type, int32_t n_batch, const question *q, s2_buffer *seen)
{
    s2v_session_options options = with_cache(type);
    options.n_batch = n_batch;
    s2v_session *session = tiny_session(engine, &options);
    s2p_error error = { S2P_OK, "" };
    s2_buffer_init(seen, MAX_SEEN);
    s2v_session_set_recorder(session, remember, seen);
    CHECK_CASE(prefill(session, q, NULL, &error) == S2P_OK, "%s", error.message);
    assert_null(session->unrounded.buffer); /* gone with the prefill */
    assert_int_equal(session->unrounded.n_layers, 0);
    assert_int_equal(seen->status, S2P_OK);
    s2v_session_free(session);
}

static bool reads_layers(const s2p_method *method)
{
    return s2p_method_about(method)->after[s2p_method_about(method)->n_stages - 1] >= 0;
}

/* In one chunk and in several; the question apart, or all at once where it is short. */
static void test_methods_see_the_same(void **state)
{
    (void)state;
    static const int32_t batches[] = { 0, 40, 7 };
    int n = 0;
    for (size_t m = 0; s2p_method_at(m); m++) {
        const s2p_method *method = s2p_method_at(m);
        if (!reads_layers(method)) continue;
        for (size_t b = 0; b < COUNT_OF(batches); b++) {
            const question q = b == 1 ? one_picture(s2p_method_about(method)->name, 11)
                                      : two_pictures(s2p_method_about(method)->name, 9);
            s2_buffer exact, seen;
            look(types[0], batches[b], &q, &exact);
            assert_true(exact.size > 0);
            for (size_t t = 1; t < COUNT_OF(types); t++) {
                look(types[t], batches[b], &q, &seen);
                CHECK_CASE(seen.size == exact.size &&
                               memcmp(seen.data, exact.data, exact.size) == 0,
                           "%s sees something else with cache %d, batch %d",
                           s2p_method_about(method)->name, (int)t, batches[b]);
                s2_buffer_free(&seen);
            }
            s2_buffer_free(&exact);
            n++;
        }
    }
    assert_true(n >= 3 * 9);
}

/* Selectors that ask the question as well. */
static void test_selectors_see_the_same(void **state)
{
    (void)state;
    static const char *const selectors[] = { "erc", "norm", "query-all", "query-last" };
    for (size_t i = 0; i < COUNT_OF(selectors); i++) {
        question q = two_pictures("s2prune", 12);
        q.prune.choice.selector = selectors[i];
        s2_buffer exact, seen;
        look(types[0], 0, &q, &exact);
        for (size_t t = 1; t < COUNT_OF(types); t++) {
            look(types[t], 0, &q, &seen);
            CHECK_CASE(seen.size == exact.size && memcmp(seen.data, exact.data, exact.size) == 0,
                       "%s sees something else with cache %d", selectors[i], (int)t);
            s2_buffer_free(&seen);
        }
        s2_buffer_free(&exact);
    }
}

/* Asked again, the pictures come from the prefix: the same tokens, with each type. */
static void test_prefix_keeps_the_same(void **state)
{
    (void)state;
    static answer first, again, exact;
    for (size_t t = 0; t < COUNT_OF(types); t++) {
        const s2v_session_options options = with_cache(types[t]);
        s2v_session *session = tiny_session(engine, &options);
        question q = two_pictures("s2prune", 12);
        prefill_only(session, &q, &first);
        s2v_session_reset(session);
        q.raw = "hello <image> aaaa <image> user user bcd";
        prefill_only(session, &q, &again);
        assert_true(again.stats.cached_tokens > 0);
        if (t == 0) exact = first;
        for (int i = 0; i < 2; i++) {
            assert_int_equal(first.n_kept[i], exact.n_kept[i]);
            assert_int_equal(again.n_kept[i], exact.n_kept[i]);
            const size_t n_bytes = (size_t)exact.n_kept[i] * sizeof exact.kept[i][0];
            assert_memory_equal(first.kept[i], exact.kept[i], n_bytes);
            assert_memory_equal(again.kept[i], exact.kept[i], n_bytes);
        }
        s2v_session_free(session);
    }
}

/* --- a later turn ------------------------------------------------------------------------ */

typedef struct turn { /* the second, and what was held while it ran */
    s2v_session *session;
    float erc[63];
    bool is_kept[63];
    size_t n_held;
} turn;

static void watch(const s2v_selection *choice, void *user)
{
    turn *t = user;
    const s2p_signal *erc = &choice->view->signal[S2P_ERC];
    if (erc->data && erc->shape[0] == (int32_t)COUNT_OF(t->erc))
        memcpy(t->erc, erc->data, sizeof t->erc);
    const ggml_backend_buffer_t buffer = t->session->unrounded.buffer;
    t->n_held = buffer ? ggml_backend_buffer_get_size(buffer) : 0;
}

static void take_two_turns(cache_types type, uint32_t seed, turn *t)
{
    static answer a;
    static uint8_t pixels[180 * 140 * 3];
    question q = one_picture("s2prune", 12);
    s2v_session_options options = with_cache(type);
    options.n_ctx = 160; /* about what two turns take */
    t->session = tiny_session(engine, &options);
    prefill_only(t->session, &q, &a);
    q.image[0] = make_picture(pixels, 180, 140, seed);
    s2v_session_set_recorder(t->session, watch, t);
    prefill_only(t->session, &q, &a);
    memset(t->is_kept, 0, sizeof t->is_kept);
    for (int32_t i = 0; i < a.n_kept[0]; i++) t->is_kept[a.kept[0][i]] = true;
    const uint64_t counted =
        s2v_unrounded_bytes(&engine->model.decoder, options.n_ctx, t->session->past.type);
    CHECK_CASE(t->n_held <= counted && (t->n_held > 0) == (type.k != S2V_KV_F32 || type.v > 0),
               "%zu bytes held, %llu counted", t->n_held, (unsigned long long)counted);
    s2v_session_free(t->session);
}

/* It attends to the first as the cache rounded it, so a token may be chosen instead of another; but
 * only where ERC tells the two apart by less than the cache rounds. */
static void test_later_picture(void **state)
{
    (void)state;
    static turn exact, other;
    static const double gaps[] = { 0.0, 1e-4, 1e-2, 1e-2, 1e-4, 1e-2 }; /* relative */
    for (uint32_t seed = 20; seed < 36; seed++) {
        take_two_turns(types[0], seed, &exact);
        for (size_t t = 1; t < COUNT_OF(types); t++) {
            take_two_turns(types[t], seed, &other);
            double off = 0.0, low = INFINITY, high = 0.0; /* ERC of tokens only one of them keeps */
            for (size_t i = 0; i < COUNT_OF(exact.erc); i++) {
                const double erc = (double)exact.erc[i];
                off = fmax(off, fabs((double)other.erc[i] - erc) / erc);
                if (exact.is_kept[i] == other.is_kept[i]) continue;
                low = fmin(low, erc);
                high = fmax(high, erc);
            }
            CHECK_CASE(off > 0.0 && off <= gaps[t], "picture %u, cache %d: ERC is off by %g", seed,
                       (int)t, off);
            CHECK_CASE(high - low <= 2.0 * gaps[t] * high,
                       "picture %u, cache %d: tokens of ERC %g and %g changed places", seed, (int)t,
                       low, high);
        }
    }
}

/* What the cache made of the first turn is all that may differ. */
static void test_later_turn(void **state)
{
    (void)state;
    static const char *const methods[] = { "s2prune", "fastv" };
    static answer first, one, two;
    for (size_t m = 0; m < COUNT_OF(methods); m++) {
        const question q = one_picture(methods[m], 12);
        for (int is_cut = 0; is_cut < 2; is_cut++) {
            s2v_session_options options = tiny_session_options();
            options.kv_type = S2V_KV_F16;
            options.n_batch = is_cut ? 9 : 0;
            s2v_session *session = tiny_session(engine, &options);
            prefill_only(session, &q, &first);
            prefill_only(session, &q, is_cut ? &two : &one);
            s2v_session_free(session);
        }
        assert_int_equal(one.n_kept[0], two.n_kept[0]);
        assert_memory_equal(one.kept[0], two.kept[0],
                            (size_t)one.n_kept[0] * sizeof one.kept[0][0]);
        CHECK_CASE(distance(one.first, two.first) <= 1e-3, "%g", distance(one.first, two.first));
    }
}

/* In steps instead of fused, the sums are in another order and nothing else; a prefix, and rows of
 * several conversations together, equal the run alone bit for bit. */
static void test_plain_attention(void **state)
{
    (void)state;
    static const char *const methods[] = { "s2prune", "fastv", NULL };
    static answer fused, plain, again;
    for (size_t t = 0; t < COUNT_OF(types); t++)
        for (size_t m = 0; m < COUNT_OF(methods); m++) {
            const question q = two_pictures(methods[m], 12);
            s2v_session_options options = with_cache(types[t]);
            options.n_batch = m == 1 ? 9 : 0;
            s2v_session *session = tiny_session(engine, &options);
            ask(session, &q, &fused);
            s2v_session_free(session);
            options.plain_attention = 1;
            session = tiny_session(engine, &options);
            ask(session, &q, &plain);
            assert_int_equal(plain.stats.cached_tokens, 0); /* not what the other remembered */
            s2v_session_reset(session);
            ask(session, &q, &again);
            assert_memory_equal(again.first, plain.first, sizeof plain.first);
            s2v_session_free(session);
            const double off = distance(plain.first, fused.first);
            CHECK_CASE(off > 0.0 && off <= (t == 0 ? 1e-5 : 1e-2), "cache %d, %s: %g", (int)t,
                       methods[m] ? methods[m] : "full", off);
        }
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    folder = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_methods_see_the_same),
        cmocka_unit_test(test_selectors_see_the_same),
        cmocka_unit_test(test_prefix_keeps_the_same),
        cmocka_unit_test(test_later_picture),
        cmocka_unit_test(test_later_turn),
        cmocka_unit_test(test_plain_attention),
    };
    return cmocka_run_group_tests(tests, open_engine, close_engine);
}
