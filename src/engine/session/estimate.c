/* estimate.c - draw the largest graphs over weights and a cache that are only outlines, and add up.
 *
 * The tower's graph is gone before the decoder's is made, so the larger of the two counts. What is
 * measured is what the graphs of a full context take; a shorter conversation takes less.
 */
#include "engine/session/estimate.h"

#include "engine/offload.h"
#include "engine/session/reserve.h"

#include <math.h>

#define GIB (1024.0 * 1024.0 * 1024.0)
#define LARGEST_SIDE 16384 /* pixels; a picture is reduced long before */

/* Bytes of a decoder's graph, its rows and masks; the session's cache is an outline meanwhile. */
static s2p_status measure_decoder(s2v_session *s, s2v_kv_types type, s2v_memory *out,
                                  s2p_error *error)
{
    const s2v_decoder *decoder = &s->engine->model.decoder;
    const uint64_t n_ctx = (uint64_t)s->options.n_ctx, n_batch = (uint64_t)s->options.n_batch;
    TRY(s2v_kv_outline(&s->kv, decoder, &s->engine->devices, s->options.n_ctx, type, error));
    s->kv.is_plain = s->options.plain_attention;
    const s2p_status st = s2v_reserve_draw(s, error);
    if (st == S2P_OK) out->compute = s2v_graph_host_bytes(&s->graph);
    s2v_kv_free(&s->kv);
    out->compute += n_ctx * (uint64_t)decoder->p.n_embd * sizeof(float) + /* rows of a prompt */
                    n_batch * n_ctx * sizeof(ggml_fp16_t) +               /* what they see */
                    (uint64_t)decoder->p.n_vocab * sizeof(float);
    out->kv = s2v_kv_bytes(decoder, s->options.n_ctx, type) / (uint64_t)decoder->p.n_layers *
              (uint64_t)decoder->first_on_device;
    if (decoder->first_on_device > 0)
        out->compute += s2v_unrounded_bytes(decoder, s->options.n_ctx, type);
    return st;
}

s2p_status s2v_estimate_check(s2v_session *s, s2v_kv_types type, s2p_error *error)
{
    const uint64_t available = s2v_memory_available();
    s2v_memory needs = { .total = 0 };
    TRY(measure_decoder(s, type, &needs, error));
    if (available == 0 || needs.kv + needs.compute <= available) return S2P_OK;
    return s2_fail(
        error, S2P_ENOMEM,
        "a context of %d tokens needs %.2f GiB, and %.2f GiB to compute %d rows at once; "
        "%.2f GiB are available: use a smaller context or a smaller batch",
        s->options.n_ctx, (double)needs.kv / GIB, (double)needs.compute / GIB, s->options.n_batch,
        (double)available / GIB);
}

/* The session is the engine's outline too: backends and nodes of a graph, and no memory. */
static s2p_status measure_session(s2v_session *s, int64_t picture_pixels, s2v_memory *out,
                                  s2p_error *error)
{
    s2v_session_options *o = &s->options;
    if ((unsigned)o->kv_type > S2V_KV_Q8_0 ||
        (unsigned)(o->kv_type_v - S2V_KV_SAME) > S2V_KV_Q8_0 - S2V_KV_SAME || o->n_ctx < 0 ||
        o->n_ctx > (1 << 20) || o->n_batch < 0 || o->n_batch > (1 << 16))
        return s2_fail(error, S2P_EINVAL, "no session has %d tokens, %d rows and cache type %d",
                       o->n_ctx, o->n_batch, (int)o->kv_type);
    if (o->n_ctx == 0) o->n_ctx = S2V_USUAL_CONTEXT;
    if (o->n_batch == 0) o->n_batch = S2V_USUAL_BATCH;
    if (o->n_batch > o->n_ctx) o->n_batch = o->n_ctx;
    TRY(s2v_backends_open(&s->backends, &s->engine->devices, o->n_threads, error));
    TRY(s2v_graph_init(&s->graph, &s->backends, s2v_session_nodes(s->engine), error));
    TRY(measure_decoder(s, s2v_kv_types_of(o->kv_type, o->kv_type_v), out, error));
    if (picture_pixels <= 0) return S2P_OK;
    const double side = ceil(sqrt((double)picture_pixels));
    s2v_tower_needs tower = { .here = 0 };
    TRY(s2v_reserve_tower(s, side < LARGEST_SIDE ? (int32_t)side : LARGEST_SIDE, &tower, error));
    if (tower.here > out->compute) out->compute = tower.here;
    out->compute += tower.frame;
    if (!s->engine->offload.tower) out->tower = s2v_weights_tower_bytes(s->engine->weights);
    return S2P_OK;
}

s2p_status s2v_engine_estimate(const s2v_engine_options *options,
                               const s2v_session_options *session, int64_t picture_pixels,
                               s2v_memory *out, s2p_error *error)
{
    *out = (s2v_memory){ .total = 0 };
    s2v_session s = { .engine = NULL };
    TRY(s2v_session_options_read(&s.options, session, error));
    TRY(s2v_engine_outline(&s.engine, options, error));
    const s2v_weights *w = s.engine->weights;
    out->weights = s2v_weights_bytes(w) - s2v_weights_device_bytes(w) + s2v_weights_mapped_bytes(w);
    const s2p_status st = measure_session(&s, picture_pixels, out, error);
    out->program = s2v_memory_resident();
    out->prefixes = s.options.no_cache ? 0 : s.engine->options.cache_bytes;
    out->total = out->program + out->weights + out->tower + out->kv + out->compute + out->prefixes;
    out->available = s.engine->options.max_memory;
    if (out->available == 0 && s2v_memory_available() > 0)
        out->available = s2v_memory_available() + out->program;
    s2v_graph_free(&s.graph);
    s2v_backends_close(&s.backends);
    s2v_engine_close(s.engine);
    return st;
}
