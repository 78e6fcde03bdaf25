/* test_estimate.c - memory counted before it is taken: the sum of its parts, each of them what is taken
 * then; and what does not fit is refused with numbers.
 */
#include "tiny_llava.h"

#include "engine/prompt/steps.h"
#include "engine/session/memory.h"

#define N_CTX 256

static const char *folder;

/* Weights, cache and the graphs of a full context, counted and then looked at. */
static void check_pair(s2v_kv_type type, s2v_kv_type value_type, int plain, int32_t n_batch)
{
    const s2v_engine_options options = tiny_options();
    s2v_session_options with = tiny_session_options();
    s2v_memory m, text_alone;
    s2p_error error = { S2P_OK, "" };
    with.n_ctx = N_CTX;
    with.n_batch = n_batch;
    with.kv_type = type;
    with.kv_type_v = value_type;
    with.plain_attention = plain;
    CHECK_CASE(s2v_engine_estimate(&options, &with, 200 * 200, &m, &error) == S2P_OK, "%s",
               error.message);
    assert_int_equal(s2v_engine_estimate(&options, &with, 0, &text_alone, NULL), S2P_OK);
    assert_true(m.program > 0 && m.available > m.total && m.prefixes == 0);
    assert_int_equal(m.total, m.program + m.weights + m.tower + m.kv + m.compute);

    s2v_engine *engine = tiny_open_as(&options);
    s2v_engine_info info;
    s2v_engine_get_info(engine, &info);
    assert_int_equal(m.weights, info.weight_bytes + s2v_weights_mapped_bytes(engine->weights));
    assert_true(m.tower > 0);
    assert_int_equal(m.tower, s2v_weights_tower_bytes(engine->weights));
    assert_int_equal(m.kv,
                     s2v_past_bytes(&engine->model.decoder, 0, engine->model.decoder.p.n_layers,
                                    N_CTX, s2v_kv_types_of(type, value_type)));
    s2v_session *session = tiny_session(engine, &with);
    char text[2 * N_CTX] = "";
    for (size_t i = 0; i < 2 * N_CTX - 20; i++) text[i] = "abcd"[i % 4]; /* two a token */
    const question q = { .raw = text };
    static answer a;
    prefill_only(session, &q, &a);
    const int32_t n = a.stats.prompt_tokens;
    CHECK_CASE(n > n_batch && n <= N_CTX, "%d tokens", n);
    const uint64_t graph =
        ggml_backend_sched_get_buffer_size(session->graph.sched, session->backends.backend[0]);
    const uint64_t counted = text_alone.compute;
    CHECK_CASE(graph > 0 && graph <= counted && 4 * graph > counted,
               "the graph took %llu bytes, %llu were counted", (unsigned long long)graph,
               (unsigned long long)counted);
    s2v_session_free(session);
    s2v_engine_close(engine);
}

static void what_is_counted_is_taken(void **state)
{
    (void)state;
    tiny_write_plain(folder);
    check_pair(S2V_KV_F16, S2V_KV_SAME, 0, 64);
    check_pair(S2V_KV_F32, S2V_KV_SAME, 0, 128);
    check_pair(S2V_KV_F32, S2V_KV_F16, 0, 64);
    check_pair(S2V_KV_F16, S2V_KV_SAME, 1, 128);
    llava_text(&tiny_text_file);
    llava_mmproj(&tiny_mmproj_file);
    tiny_write_pair(folder, "llava", &tiny_text_file, &tiny_mmproj_file);
    check_pair(S2V_KV_F16, S2V_KV_SAME, 0, 64);
}

static void more_takes_more(void **state)
{
    (void)state;
    tiny_write_plain(folder);
    s2v_engine_options options = tiny_options();
    s2v_session_options with;
    s2v_session_options_init(&with);
    with.n_ctx = 512;
    s2v_memory small, m;
    assert_int_equal(s2v_engine_estimate(&options, &with, 0, &small, NULL), S2P_OK);
    assert_int_equal(small.tower, 0); /* no picture */
    assert_int_equal(s2v_engine_estimate(&options, &with, 1000 * 1000, &m, NULL), S2P_OK);
    assert_true(m.tower > 0 && m.compute > small.compute && m.kv == small.kv);
    with.n_ctx = 1024;
    assert_int_equal(s2v_engine_estimate(&options, &with, 0, &m, NULL), S2P_OK);
    assert_int_equal(m.kv, 2 * small.kv);
    with.n_ctx = 0; /* the defaults */
    s2v_memory usual;
    assert_int_equal(s2v_engine_estimate(&options, &with, 0, &m, NULL), S2P_OK);
    assert_int_equal(s2v_engine_estimate(&options, NULL, 0, &usual, NULL), S2P_OK);
    assert_true(m.kv == 8 * small.kv && usual.kv == m.kv && usual.compute == m.compute);
    options.cache_bytes = 12345;
    options.max_memory = 777;
    assert_int_equal(s2v_engine_estimate(&options, NULL, 0, &m, NULL), S2P_OK);
    assert_true(m.prefixes == 12345 && m.available == 777);
    with.no_cache = 1;
    assert_int_equal(s2v_engine_estimate(&options, &with, 0, &m, NULL), S2P_OK);
    assert_int_equal(m.prefixes, 0);
}

/* A prompt longer than the context: the cache is that of the context, and what reaches the first layer
 * counts beside it. */
static void a_prompt(void **state)
{
    (void)state;
    tiny_write_plain(folder);
    const s2v_engine_options options = tiny_options();
    s2v_session_options with = tiny_session_options();
    with.n_ctx = 128;
    with.n_batch = 64;
    question q = one_picture("s2prune", 18);
    q.n_images = 3;
    q.raw = "<image> and <image> and <image> aaaa bcd";
    for (int i = 1; i < 3; i++) {
        q.image[i] = q.image[0];
        q.size[i] = q.size[0];
    }
    const s2v_prompt prompt = prompt_of(&q);
    s2v_memory plain, m, whole, late;
    s2p_error error = { S2P_OK, "" };
    const int64_t n_pixels = (int64_t)q.size[0].width * q.size[0].height;
    assert_int_equal(s2v_engine_estimate(&options, &with, n_pixels, &plain, NULL), S2P_OK);
    CHECK_CASE(s2v_engine_estimate_prompt(&options, &with, &prompt, &q.prune, &m, &error) == S2P_OK,
               "%s", error.message);
    assert_true(m.kv == plain.kv && m.compute > plain.compute);

    /* One layer that sees all of it, and three. */
    s2v_engine *engine;
    assert_int_equal(s2v_engine_outline(&engine, &options, NULL), S2P_OK);
    s2v_count count;
    assert_int_equal(s2v_engine_count(engine, &prompt, &q.prune, &count, NULL), S2P_OK);
    const int32_t n_rows = count.text_tokens + count.image_tokens_full;
    const int32_t one[TINY_LAYERS] = { n_rows }, three[TINY_LAYERS] = { n_rows, n_rows, n_rows };
    s2v_estimated e = { .n_rows = n_rows, .reaches = one };
    assert_int_equal(s2v_memory_estimate(engine, &with, &e, &m, NULL), S2P_OK);
    e.reaches = three;
    assert_int_equal(s2v_memory_estimate(engine, &with, &e, &late, NULL), S2P_OK);
    const s2v_kv_types floats = s2v_kv_types_of(S2V_KV_F32, S2V_KV_SAME);
    assert_true(n_rows > with.n_ctx);
    assert_int_equal(late.compute - m.compute,
                     2 * s2v_past_layer_bytes(&engine->model.decoder, n_rows, floats));
    with.n_ctx = 0; /* as large as the prompt needs it, and never below the usual size */
    assert_int_equal(s2v_engine_estimate_prompt(&options, &with, &prompt, NULL, &whole, NULL),
                     S2P_OK);
    assert_int_equal(whole.kv, 32 * plain.kv);
    s2v_engine_close(engine);
}

static void refusals(void **state)
{
    (void)state;
    tiny_write_plain(folder);
    s2v_engine_options options = tiny_options();
    s2v_session_options with;
    s2v_session_options_init(&with);
    with.n_ctx = -1;
    s2v_memory m;
    s2p_error error;
    assert_int_equal(s2v_engine_estimate(&options, &with, 0, &m, &error), S2P_EINVAL);
    s2v_engine *engine = tiny_open();
    s2v_session *session;
    with.n_ctx = 1 << 20;
    with.n_batch = 1 << 16; /* what they see takes 128 GiB, twice */
    assert_int_equal(s2v_session_create(&session, engine, &with, &error), S2P_ENOMEM);
    assert_null(session);
    CHECK_CASE(strstr(error.message, "1048576 tokens") && strstr(error.message, "65536 rows") &&
                   strstr(error.message, "available"),
               "%s", error.message);
    s2v_engine_close(engine);
    options.model_path = "/nowhere.gguf";
    assert_int_equal(s2v_engine_estimate(&options, NULL, 0, &m, &error), S2P_EIO);
}

/* max_memory is what the engine may take: weights, cache and every session together. */
static void limit_of_all_sessions(void **state)
{
    (void)state;
    tiny_write_plain(folder);
    s2v_engine_options options = tiny_options();
    s2v_session_options with = tiny_session_options();
    s2v_memory m;
    s2p_error error = { S2P_OK, "" };
    with.n_batch = 64;
    assert_int_equal(s2v_engine_estimate(&options, &with, 0, &m, NULL), S2P_OK);
    const uint64_t each = m.kv + m.compute;

    options.max_memory = m.weights + each / 2;
    s2v_engine *engine = tiny_open_as(&options);
    s2v_session *session, *second;
    assert_int_equal(s2v_session_create(&session, engine, &with, &error), S2P_ENOMEM);
    assert_null(session);
    CHECK_CASE(strstr(error.message, "1024 tokens") && strstr(error.message, "are allowed"), "%s",
               error.message);
    s2v_engine_close(engine);

    options.max_memory = m.weights + each + each / 2;
    engine = tiny_open_as(&options);
    for (int i = 0; i < 3; i++) { /* what a session took comes back with it */
        session = tiny_session(engine, &with);
        assert_int_equal(s2v_session_create(&second, engine, &with, &error), S2P_ENOMEM);
        assert_null(second);
        s2v_session_free(session);
    }
    s2v_engine_close(engine);
    options.max_memory = m.weights + 2 * each;
    engine = tiny_open_as(&options);
    session = tiny_session(engine, &with);
    second = tiny_session(engine, &with);
    s2v_session_free(second);
    s2v_session_free(session);
    s2v_engine_close(engine);
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    folder = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_counted_is_taken),
        cmocka_unit_test(more_takes_more),
        cmocka_unit_test(a_prompt),
        cmocka_unit_test(refusals),
        cmocka_unit_test(limit_of_all_sessions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
