/* memory.c - draw the largest graphs, ask the scheduler for their size, compare with what is free.
 *
 * To estimate, they are drawn over weights and a past that are only outlines. The tower's graph is freed
 * before the decoder's is made, so the larger of the two counts. What is measured is what the graphs of a
 * full context take; a shorter conversation takes less.
 */
#include "engine/session/memory.h"

#include "engine/offload.h"
#include "engine/vision/arch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GIB (1024.0 * 1024.0 * 1024.0)
#define LARGEST_SIDE 1008 /* pixels; what is larger is reduced to 1280 tokens */
#define MOST_PIXELS 16384 /* of a side in an estimate; a picture is reduced long before */

/* --- options ---------------------------------------------------------------------------- */

s2p_status s2v_session_settle(s2v_session_options *o, s2p_error *error)
{
    if (o->n_ctx < 0 || o->n_ctx > (1 << 20))
        return s2_fail(error, S2P_EINVAL, "a context of %d tokens is outside 1 to %d", o->n_ctx,
                       1 << 20);
    if (o->n_batch < 0 || o->n_batch > (1 << 16))
        return s2_fail(error, S2P_EINVAL, "a batch of %d rows is outside 1 to %d", o->n_batch,
                       1 << 16);
    if ((unsigned)o->kv_type > S2V_KV_Q8_0)
        return s2_fail(error, S2P_EINVAL, "unknown cache type %d", (int)o->kv_type);
    if ((unsigned)(o->kv_type_v - S2V_KV_SAME) > S2V_KV_Q8_0 - S2V_KV_SAME)
        return s2_fail(error, S2P_EINVAL, "unknown cache type of values %d", (int)o->kv_type_v);
    if (o->n_ctx == 0) o->n_ctx = S2V_USUAL_CONTEXT;
    if (o->n_batch == 0) o->n_batch = S2V_USUAL_BATCH;
    if (o->n_batch > o->n_ctx) o->n_batch = o->n_ctx;
    return S2P_OK;
}

/* --- the device ------------------------------------------------------------------------- */

/* Weights of one decoder layer. */
static uint64_t layer_bytes(const s2v_layer *l)
{
    struct ggml_tensor *matrix[S2V_LAYER_MATRICES];
    const int32_t n_matrices = s2v_layer_matrices(l, matrix);
    uint64_t n = 0;
    for (int32_t i = 0; i < n_matrices; i++) n += ggml_nbytes(matrix[i]);
    return n;
}

static uint64_t cache_bytes_of_layer(const s2v_session *s, s2v_kv_types type)
{
    const s2v_decoder *decoder = &s->engine->model.decoder;
    return s2v_past_layer_bytes(decoder, s->options.n_ctx, type);
}

/* `needed` more bytes are there; the sentence says how many layers would leave room for them. */
static s2p_status check_room(const s2v_session *s, uint64_t taken, uint64_t needed,
                             uint64_t per_layer, const char *what, s2p_error *error)
{
    const s2v_engine *engine = s->engine;
    const uint64_t available =
        s2v_offload_free(engine, s2v_weights_device_bytes(engine->weights) + taken);
    if (available == 0 || needed <= available) return S2P_OK;
    const uint64_t too_many = (needed - available + per_layer - 1) / per_layer;
    const int32_t n = engine->offload.n_layers;
    return s2_fail(
        error, S2P_ENOMEM,
        "%s of a session of %d tokens needs %.2f GiB on %s, %.2f GiB are free: %d of its "
        "%d layers would leave room, or a smaller context",
        what, s->options.n_ctx, (double)needed / GIB, ggml_backend_dev_name(engine->devices.main),
        (double)available / GIB, too_many < (uint64_t)n ? n - (int32_t)too_many : 0, n);
}

s2p_status s2v_reserve_cache(const s2v_session *s, s2v_kv_types type, s2p_error *error)
{
    const s2v_decoder *decoder = &s->engine->model.decoder;
    const int32_t n = s->engine->offload.n_layers;
    if (n == 0) return S2P_OK;
    const uint64_t each = cache_bytes_of_layer(s, type);
    const uint64_t per_layer = each + layer_bytes(&decoder->layers[decoder->p.n_layers - 1]);
    return check_room(s, 0, each * (uint64_t)n, per_layer, "the cache", error);
}

/* A batch of rows that sees the whole context. */
s2p_status s2v_reserve_draw(s2v_session *s, s2p_error *error)
{
    s2v_graph *graph = &s->graph;
    const s2v_model *model = &s->engine->model;
    const s2v_decoder_params *p = &model->decoder.p;
    const int32_t n = s->options.n_batch, n_past = s->options.n_ctx - n;
    TRY(s2v_graph_begin(graph, error));
    s2v_span span = { .n = n, .last_row_only = false };
    span.pos = s2v_graph_input(graph, GGML_TYPE_I32, (int64_t)p->n_planes * n, 1, NULL);
    if (n > 1) span.mask = s2v_graph_input(graph, GGML_TYPE_F16, n_past + n, n, NULL);
    s2v_past_append(&s->past, 0, p->n_layers, n_past);
    struct ggml_tensor *h = s2v_graph_input(graph, GGML_TYPE_F32, p->n_embd, n, NULL);
    struct ggml_tensor *deepstack[S2V_MAX_DEEPSTACK];
    for (int32_t i = 0; i < p->n_deepstack; i++) deepstack[i] = h; /* no memory of the graph's */
    if (p->n_deepstack > 0) span.deepstack = deepstack;
    h = model->arch->layers(graph, &model->decoder, &s->past, h, &span, 0, p->n_layers);
    ggml_set_output(h);
    s2v_graph_expand(graph, h);
    h = ggml_view_2d(graph->ctx, h, h->ne[0], 1, h->nb[1], (size_t)(n - 1) * h->nb[1]);
    s2v_graph_expand(graph, model->arch->head(graph, &model->decoder, h));
    s2v_past_clear(&s->past);
    return S2P_OK;
}

s2p_status s2v_reserve_tower(const s2v_session *s, int32_t side, s2v_tower_needs *out,
                             s2p_error *error)
{
    const s2v_model *model = &s->engine->model;
    const size_t n_pixels = 3 * (size_t)side * (size_t)side;
    uint8_t *pixels = malloc(n_pixels);
    if (!pixels) return s2_fail_memory(error, n_pixels, "the largest picture");
    memset(pixels, 128, n_pixels);
    const s2p_image image = { side, side, (ptrdiff_t)3 * side, pixels };
    const s2v_image_options as_it_is = { .size = sizeof(s2v_image_options),
                                         .framing = S2V_FRAMING_AUTO };
    s2v_frame frame = { .patches = NULL };
    s2v_graph graph = { .sched = NULL };
    s2v_tower_request request = { .n = 0 };
    s2p_status st = model->arch->frame(model, &image, &as_it_is, S2V_FRAMING_BASE, &frame, error);
    if (st == S2P_OK) st = s2v_graph_init(&graph, &s->backends, s2v_tower_nodes(model), error);
    if (st == S2P_OK) st = s2v_graph_begin(&graph, error);
    if (st == S2P_OK) {
        struct ggml_tensor *seen = model->arch->vision(&graph, model, &frame, 0, &request);
        ggml_set_output(seen);
        s2v_graph_expand(&graph, seen);
        const size_t n = (size_t)frame.n_views * (size_t)frame.n_patches;
        out->here = s2v_graph_host_bytes(&graph);
        out->device = s2v_graph_device_bytes(&graph);
        out->frame = n * (size_t)model->tower.patch_row * sizeof *frame.patches + n_pixels;
    }
    s2v_graph_free(&graph);
    s2v_frame_free(&frame);
    free(pixels);
    return st;
}

s2p_status s2v_reserve_graphs(s2v_session *s, s2p_error *error)
{
    const s2v_engine *engine = s->engine;
    const s2v_decoder *decoder = &engine->model.decoder;
    const uint64_t each = cache_bytes_of_layer(s, s->past.type);
    const uint64_t per_layer = each + layer_bytes(&decoder->layers[decoder->p.n_layers - 1]);
    const uint64_t taken = each * (uint64_t)engine->offload.n_layers;
    uint64_t layers = 0, held = 0;
    s2v_tower_needs tower = { .device = 0 };
    if (engine->offload.tower) TRY(s2v_reserve_tower(s, LARGEST_SIDE, &tower, error));
    if (engine->offload.n_layers > 0) {
        TRY(s2v_reserve_draw(s, error));
        layers = s2v_graph_device_bytes(&s->graph);
        held = s2v_unrounded_bytes(decoder, s->options.n_ctx, s->past.type);
    }
    /* The tower's scratch goes before the unrounded keys and values come. */
    const uint64_t needed = layers + (tower.device > held ? tower.device : held);
    if (needed > 0) TRY(check_room(s, taken, needed, per_layer, "the scratch", error));
    return layers > 0 ? s2v_graph_reserve(&s->graph, error) : S2P_OK;
}

/* --- this machine ----------------------------------------------------------------------- */

/* Bytes of a decoder's graph, its rows and masks; the session's cache is an outline meanwhile. */
static s2p_status measure_decoder(s2v_session *s, s2v_kv_types type, s2v_memory *out,
                                  s2p_error *error)
{
    const s2v_decoder *decoder = &s->engine->model.decoder;
    const uint64_t n_ctx = (uint64_t)s->options.n_ctx, n_batch = (uint64_t)s->options.n_batch;
    TRY(s2v_past_outline(&s->past, decoder, &s->engine->devices, s->options.n_ctx, type, error));
    s->past.is_plain = s->options.plain_attention;
    const s2p_status st = s2v_reserve_draw(s, error);
    if (st == S2P_OK) out->compute = s2v_graph_host_bytes(&s->graph);
    s2v_past_free(&s->past);
    const uint64_t n_rows = n_ctx * (uint64_t)(1 + decoder->p.n_deepstack); /* of a prompt */
    out->compute += n_rows * (uint64_t)decoder->p.n_embd * sizeof(float) +
                    n_batch * n_ctx * sizeof(ggml_fp16_t) + /* what they see */
                    (uint64_t)decoder->p.n_vocab * sizeof(float);
    out->kv =
        s2v_past_layer_bytes(decoder, s->options.n_ctx, type) * (uint64_t)decoder->first_on_device;
    if (decoder->first_on_device > 0)
        out->compute += s2v_unrounded_bytes(decoder, s->options.n_ctx, type);
    return st;
}

s2p_status s2v_memory_take(s2v_session *s, s2v_kv_types type, s2p_error *error)
{
    s2v_engine *engine = s->engine;
    s2v_memory needs = { .total = 0 };
    TRY(measure_decoder(s, type, &needs, error));
    const uint64_t needed = needs.kv + needs.compute;
    const uint64_t taken = atomic_fetch_add(&engine->session_bytes, needed);
    s->taken_bytes = needed;

    /* What may still be taken: of the system, and with a limit of that; 0: not known. */
    const uint64_t most = engine->options.max_memory;
    uint64_t left = s2v_memory_available();
    if (most > 0) {
        const s2v_weights *w = engine->weights;
        const uint64_t others = taken + s2v_weights_bytes(w) - s2v_weights_device_bytes(w) +
                                engine->options.cache_bytes;
        const uint64_t allowed = most > others ? most - others : 1;
        if (left == 0 || allowed < left) left = allowed;
    }
    if (left == 0 || needed <= left) return S2P_OK;
    s2v_memory_give_back(s);
    char limit[120] = "";
    if (most > 0)
        (void)snprintf(
            limit, sizeof limit,
            " (%.3f GiB are allowed, less weights, cache and %.3f GiB of other sessions)",
            (double)most / GIB, (double)taken / GIB);
    return s2_fail(
        error, S2P_ENOMEM,
        "a context of %d tokens needs %.3f GiB, and %.3f GiB to compute %d rows at once; "
        "%.3f GiB are available%s: use a smaller context or a smaller batch",
        s->options.n_ctx, (double)needs.kv / GIB, (double)needs.compute / GIB, s->options.n_batch,
        left == 1 ? 0.0 : (double)left / GIB, limit);
}

void s2v_memory_give_back(s2v_session *s)
{
    atomic_fetch_sub(&s->engine->session_bytes, s->taken_bytes);
    s->taken_bytes = 0;
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

    /* The session is an outline as well: backends and nodes of a graph, and no memory. */
    s2v_session_options *o = &s.options;
    s2p_status st = s2v_session_settle(o, error);
    if (st == S2P_OK) st = s2v_backends_open(&s.backends, &s.engine->devices, o->n_threads, error);
    if (st == S2P_OK)
        st = s2v_graph_init(&s.graph, &s.backends, s2v_session_nodes(s.engine), error);
    if (st == S2P_OK)
        st = measure_decoder(&s, s2v_kv_types_of(o->kv_type, o->kv_type_v), out, error);
    if (st == S2P_OK && picture_pixels > 0) {
        const double side = ceil(sqrt((double)picture_pixels));
        s2v_tower_needs tower = { .here = 0 };
        st = s2v_reserve_tower(&s, side < MOST_PIXELS ? (int32_t)side : MOST_PIXELS, &tower, error);
        if (tower.here > out->compute) out->compute = tower.here;
        out->compute += tower.frame;
        if (!s.engine->offload.tower) out->tower = s2v_weights_tower_bytes(w);
    }
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
