/* device_checks.h - what must hold on any device that is not the CPU's own memory: an RPC server in
 * every run of the tests, Vulkan on a software driver in `make test-devices`.
 */
#ifndef TESTS_DEVICE_CHECKS_H
#define TESTS_DEVICE_CHECKS_H

#include "tiny_run.h"

typedef struct device_case {
    const char *device, *rpc; /* one of them */
    double tolerance;         /* of logits, relative to the largest */
    size_t n_types;           /* of caches: 2 where one of Q8_0 with a head of 32 is refused */
    size_t every;             /* so many-th method with a number of layers; 1: all of them */
} device_case;

static char device_note[512]; /* the last one */

static inline void keep_note(const char *text, void *user)
{
    (void)user;
    (void)snprintf(device_note, sizeof device_note, "%s", text);
}

static inline s2v_engine_options on_device(const device_case *d)
{
    s2v_engine_options options = tiny_options();
    options.device = d->device;
    options.rpc_server = d->rpc;
    options.note = keep_note;
    return options;
}

static inline s2v_engine *open_on(const s2v_engine_options *options)
{
    s2v_engine *engine;
    s2p_error error = { S2P_OK, "" };
    const s2p_status st = s2v_engine_open(&engine, options, &error);
    CHECK_CASE(st == S2P_OK, "%s", error.message);
    return engine;
}

static inline void ask_once(s2v_engine *engine, const question *q, s2v_kv_type kv_type, answer *a)
{
    s2v_session_options o = tiny_session_options();
    o.kv_type = kv_type;
    s2v_session *session = tiny_session(engine, &o);
    ask(session, q, a);
    s2v_session_free(session);
}

/* What a cache rounds may fall to the other side. */
static inline void check_same(const device_case *d, s2v_kv_type type, const answer *here,
                              const answer *there, const char *what, int32_t n_layers)
{
    const double off = distance(here->first, there->first);
    const double allowed = d->tolerance * (type == S2V_KV_F32 ? 1.0 : 50.0);
    CHECK_CASE(memcmp(here->kept, there->kept, sizeof here->kept) == 0, "%s, %d layers: kept", what,
               n_layers);
    CHECK_CASE(off <= allowed, "%s, %d layers: off by %g", what, n_layers, off);
    if (here->margin > 4.0f * (float)allowed) /* a tie may fall either way */
        CHECK_CASE(memcmp(here->token, there->token, sizeof here->token) == 0,
                   "%s, %d layers: tokens", what, n_layers);
}

/* Every method there is, with every number of layers, every cache that fits, the tower here and
 * there. */
static inline void check_methods(const device_case *d)
{
    static answer here, there;
    static const s2v_kv_type types[] = { S2V_KV_F32, S2V_KV_F16, S2V_KV_Q8_0 };
    s2v_engine_options cpu = tiny_options();
    cpu.device = "CPU";
    s2v_engine *engine = open_on(&cpu);
    for (int32_t layers = 0; layers <= TINY_LAYERS; layers++) {
        s2v_engine_options options = on_device(d);
        options.gpu_layers = layers;
        options.tower_on_cpu = layers % 2;
        s2v_engine *split = open_on(&options);
        s2v_engine_info info;
        s2v_engine_get_info(split, &info);
        assert_int_equal(info.device_layers, layers);
        assert_int_equal(info.device_tower, !options.tower_on_cpu);
        assert_null(
            split->devices.products); /* the kernels read weights in this machine's memory */
        assert_string_equal(info.kernels, options.tower_on_cpu ? s2v_kernels_usual(0) : "ggml");
        assert_true(info.device_bytes > 0 || (layers == 0 && options.tower_on_cpu));
        const char *method;
        for (size_t m = (size_t)layers % d->every; (method = s2v_method_name(m)); m += d->every) {
            const question q = one_picture(method, 18);
            const s2v_kv_type type = types[(m + (size_t)layers) % d->n_types];
            ask_once(engine, &q, type, &here);
            ask_once(split, &q, type, &there);
            check_same(d, type, &here, &there, method, layers);
        }
        s2v_engine_close(split);
    }
    s2v_engine_close(engine);
}

/* Two pictures; the same again from the prefix cache; another turn behind them. */
static inline void check_pictures(const device_case *d)
{
    static answer here, there, again;
    static uint8_t pixels[2][180 * 140 * 3];
    s2v_engine_options options = on_device(d), cpu = tiny_options();
    cpu.device = "CPU";
    s2v_engine *on_cpu = open_on(&cpu), *engine = open_on(&options);
    question q = one_picture("s2prune", 18);
    q.raw = "hello <image> world <image> aaaa bcd";
    q.n_images = 2;
    for (uint32_t i = 0; i < 2; i++) q.image[i] = make_picture(pixels[i], 180, 140, 5 + i);
    q.size[1] = q.size[0];
    ask_once(on_cpu, &q, S2V_KV_F16, &here);
    ask_once(engine, &q, S2V_KV_F16, &there);
    check_same(d, S2V_KV_F16, &here, &there, "two pictures", TINY_LAYERS);

    s2v_engine_close(engine);
    options.cache_bytes = (uint64_t)64 << 20;
    engine = open_on(&options);
    s2v_session_options o = tiny_session_options();
    o.keep_attention = 1;
    s2v_session *session = tiny_session(engine, &o);
    ask(session, &q, &there);
    s2v_session_reset(session);
    ask(session, &q, &again);
    CHECK_CASE(again.stats.cached_tokens > 0, "the prefix was not found again");
    check_same(d, S2V_KV_F32, &there, &again, "prefix", TINY_LAYERS);
    s2v_session_free(session);
    s2v_engine_close(engine);
    s2v_engine_close(on_cpu);
}

/* Too little memory: refused with numbers when layers were asked for, fewer of them with a note
 * when not, and refused when a session starts. */
static inline void check_memory(const device_case *d)
{
    s2v_engine_options options = on_device(d);
    s2v_engine *engine = open_on(&options);
    s2v_engine_info info;
    s2v_engine_get_info(engine, &info);
    assert_true(info.device_bytes > 0);
    s2v_engine_close(engine);

    int32_t fewest = TINY_LAYERS, most = 0;
    s2p_error error;
    for (uint64_t room = (uint64_t)64 << 20; room >= 1024; room -= room / 16) {
        options = on_device(d);
        options.max_device_memory = room;
        device_note[0] = '\0';
        engine = open_on(&options);
        s2v_engine_get_info(engine, &info);
        const bool is_whole = info.device_layers == TINY_LAYERS && info.device_tower;
        CHECK_CASE(is_whole == !device_note[0], "%d layers, note '%s'", info.device_layers,
                   device_note);
        CHECK_CASE(is_whole || strstr(device_note, info.device), "note '%s'", device_note);
        if (info.device_layers < fewest) fewest = info.device_layers;
        if (info.device_layers > most) most = info.device_layers;
        CHECK_CASE(info.device_bytes <= room, "%llu of %llu bytes",
                   (unsigned long long)info.device_bytes, (unsigned long long)room);
        s2v_engine_close(engine);
        if (is_whole) continue;
        options.gpu_layers = TINY_LAYERS;
        error.message[0] = '\0';
        CHECK_CASE(s2v_engine_open(&engine, &options, &error) == S2P_ENOMEM, "%s", error.message);
        CHECK_CASE(strstr(error.message, info.device) && strstr(error.message, "would fit"), "%s",
                   error.message);
    }
    assert_int_equal(most, TINY_LAYERS);
    assert_int_equal(fewest, 0);

    options = on_device(d);
    options.gpu_layers = TINY_LAYERS;
    options.max_device_memory = (uint64_t)64 << 20;
    engine = open_on(&options);
    s2v_session_options o = tiny_session_options();
    s2v_session *session = tiny_session(engine, &o);
    s2v_session_free(session);
    o.n_ctx = 1 << 18;
    CHECK_CASE(s2v_session_create(&session, engine, &o, &error) == S2P_ENOMEM, "a large cache");
    CHECK_CASE(strstr(error.message, "the cache") && strstr(error.message, info.device), "%s",
               error.message);
    o.n_ctx = 32768;
    o.n_batch = 16384;
    CHECK_CASE(s2v_session_create(&session, engine, &o, &error) == S2P_ENOMEM, "a large batch");
    CHECK_CASE(strstr(error.message, "the scratch") && strstr(error.message, info.device), "%s",
               error.message);
    s2v_engine_close(engine);
}

/* The least memory of the device a session starts with. */
static inline uint64_t least_memory(s2v_engine *engine, const s2v_session_options *o)
{
    uint64_t low = 1, high = (uint64_t)1 << 32;
    while (high - low > 1) {
        s2v_session *session;
        engine->options.max_device_memory = low + (high - low) / 2;
        const s2p_status st = s2v_session_create(&session, engine, o, NULL);
        s2v_session_free(session);
        *(st == S2P_OK ? &high : &low) = engine->options.max_device_memory;
    }
    engine->options.max_device_memory = 0;
    return high;
}

/* Beside its cache a session counts the layer whose keys and values are held unrounded while a
 * prompt runs; where the cache is F32 there is none. */
static inline void check_unrounded(const device_case *d)
{
    s2v_engine_options options = on_device(d);
    options.tower_on_cpu = 1; /* else its memory hides it */
    s2v_engine *engine = open_on(&options);
    const s2v_decoder *decoder = &engine->model.decoder;
    s2v_session_options o = tiny_session_options();
    o.n_ctx = 8192;
    o.n_batch = 64;
    uint64_t beside[2];
    for (int i = 0; i < 2; i++) {
        o.kv_type = i ? S2V_KV_F16 : S2V_KV_F32;
        beside[i] = least_memory(engine, &o) -
                    s2v_past_bytes(decoder, 0, decoder->p.n_layers, o.n_ctx,
                                   s2v_kv_types_of(i ? S2V_KV_F16 : S2V_KV_F32, S2V_KV_SAME));
    }
    const uint64_t held =
        s2v_unrounded_bytes(decoder, o.n_ctx, s2v_kv_types_of(S2V_KV_F16, S2V_KV_SAME));
    CHECK_CASE(held > 0 && beside[1] >= beside[0] + held - held / 8,
               "beside the cache %llu and %llu bytes, %llu of them held",
               (unsigned long long)beside[0], (unsigned long long)beside[1],
               (unsigned long long)held);
    s2v_engine_close(engine);
}

/* With everything on the device: pixels and ids up, ERC and logits down, and next to nothing
 * else. */
static inline void check_traffic(const device_case *d)
{
    static answer a;
    const s2v_engine_options options = on_device(d);
    s2v_engine *engine = open_on(&options);
    const s2v_session_options o = tiny_session_options();
    s2v_session *session = tiny_session(engine, &o);
    const question q = one_picture("s2prune", 18);
    uint64_t up[3], down[3];
    s2v_session_get_traffic(session, &up[0], &down[0]);
    prefill_only(session, &q, &a);
    s2v_session_get_traffic(session, &up[1], &down[1]);
    generate(session, &a);
    s2v_session_get_traffic(session, &up[2], &down[2]);

    const uint64_t tokens = 9 * 7, patches = 4 * tokens, rows = tokens + 64;
    const uint64_t row = 4 * (uint64_t)session->engine->model.tower.patch_row;
    const uint64_t most_up = patches * row         /* pixels */
                             + patches * 4 * 4     /* their positions */
                             + tokens * 4          /* and order */
                             + rows * 2 * 4 * 4    /* positions of rows, twice */
                             + rows * rows * 2 * 2 /* masks */
                             + rows * 4;           /* ids and what is kept */
    const uint64_t most_down = rows * 4 /* ERC */ + 4 * N_VOCABULARY;
    const uint64_t n = MAX_ANSWER - 1; /* the first token comes with the prompt */
    (void)printf("          prompt: %llu bytes up (at most %llu), %llu down (at most %llu)\n",
                 (unsigned long long)(up[1] - up[0]), (unsigned long long)most_up,
                 (unsigned long long)(down[1] - down[0]), (unsigned long long)most_down);
    (void)printf("          token: %llu bytes up, %llu down (logits: %d)\n",
                 (unsigned long long)((up[2] - up[1]) / n),
                 (unsigned long long)((down[2] - down[1]) / n), 4 * N_VOCABULARY);
    assert_true(up[1] - up[0] >= patches * row && up[1] - up[0] <= most_up);
    assert_true(down[1] - down[0] >= tokens * 4 && down[1] - down[0] <= most_down);
    assert_true((up[2] - up[1]) / n <= 64); /* an id and its position */
    assert_int_equal(down[2] - down[1], n * 4 * N_VOCABULARY);
    s2v_session_free(session);
    s2v_engine_close(engine);
}

#endif /* TESTS_DEVICE_CHECKS_H */
