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

s2p_status s2v_session_settle(s2v_session_options *o, const s2v_engine *engine, s2p_error *error)
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
    const int32_t together = engine->model.decoder.p.n_together;
    if (o->n_batch < together) o->n_batch = together;
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

/* Of the layers on the device. */
static uint64_t cache_on_device(const s2v_session *s, s2v_kv_types type)
{
    const s2v_decoder *decoder = &s->engine->model.decoder;
    const int32_t n_layers = decoder->p.n_layers;
    return s2v_past_bytes(decoder, n_layers - s->engine->offload.n_layers, n_layers,
                          s->options.n_ctx, type);
}

/* What leaving a layer on the CPU gives back, about: it and its cache. */
static uint64_t device_layer(const s2v_session *s, s2v_kv_types type)
{
    const s2v_decoder *decoder = &s->engine->model.decoder;
    const int32_t n = decoder->p.n_layers;
    return s2v_past_bytes(decoder, n - 1, n, s->options.n_ctx, type) +
           layer_bytes(&decoder->layers[n - 1]);
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
    return s2_fail(error, S2P_ENOMEM,
                   "%s of a session of %d tokens needs %.2f GiB on %s, but %.2f GiB are free: put "
                   "%d of its %d layers there, or use a smaller context",
                   what, s->options.n_ctx, (double)needed / GIB,
                   ggml_backend_dev_name(engine->devices.main), (double)available / GIB,
                   too_many < (uint64_t)n ? n - (int32_t)too_many : 0, n);
}

s2p_status s2v_reserve_cache(const s2v_session *s, s2v_kv_types type, s2p_error *error)
{
    if (s->engine->offload.n_layers == 0) return S2P_OK;
    return check_room(s, 0, cache_on_device(s, type), device_layer(s, type), "the cache", error);
}

/* A batch of rows that sees n_slots with itself, drawn into the session's graph. */
static s2p_status draw_largest(s2v_session *s, int32_t n_slots, s2p_error *error)
{
    s2v_graph *graph = &s->graph;
    const s2v_model *model = &s->engine->model;
    const s2v_decoder_params *p = &model->decoder.p;
    const int32_t n = s->options.n_batch, n_past = n_slots - n;
    struct ggml_tensor *window_mask[S2V_MAX_LAYERS];
    TRY(s2v_graph_begin(graph, error));
    s2v_span span = { .n = n, .last_row_only = false };
    span.pos = s2v_graph_input(graph, GGML_TYPE_I32, (int64_t)p->n_planes * n, 1, NULL);
    if (n > 1) span.mask = s2v_graph_input(graph, GGML_TYPE_F16, n_past + n, n, NULL);
    if (p->window > 0 && n > 1) {
        struct ggml_tensor *mask = s2v_graph_input(graph, GGML_TYPE_F16, n_past + n, n, NULL);
        for (int32_t i = 0; i < p->n_layers; i++) window_mask[i] = mask;
        span.window_mask = window_mask;
    }
    s2v_past_append(&s->past, 0, p->n_layers, n_past, NULL);
    struct ggml_tensor *h = s2v_graph_input(graph, GGML_TYPE_F32, p->n_embd, n, NULL);
    struct ggml_tensor *deepstack[S2V_MAX_DEEPSTACK];
    for (int32_t i = 0; i < p->n_deepstack; i++) deepstack[i] = h; /* no memory of the graph's */
    if (p->n_deepstack > 0) span.deepstack = deepstack;
    h = model->arch->layers(graph, &model->decoder, &s->past, h, &span, 0, p->n_layers);
    ggml_set_output(h);
    s2v_graph_expand(graph, h);
    h = ggml_view_2d(graph->ctx, h, h->ne[0], 1, h->nb[1], (size_t)(n - 1) * h->nb[1]);
    s2v_graph_expand(graph, model->arch->head(graph, &model->decoder, h));
    return S2P_OK;
}

typedef struct graph_bytes { /* of this machine, of the device */
    uint64_t here, device;
} graph_bytes;

/* The largest graph over n_slots slots; `takes`: and its memory is taken. The session's past is an outline
 * meanwhile. */
static s2p_status measure_largest(s2v_session *s, s2v_kv_types type, int32_t n_slots, bool takes,
                                  graph_bytes *out, s2p_error *error)
{
    const s2v_engine *engine = s->engine;
    const s2v_past own = s->past;
    if (n_slots < s->options.n_batch) n_slots = s->options.n_batch; /* a whole picture */
    s2p_status st =
        s2v_past_outline(&s->past, &engine->model.decoder, &engine->devices, n_slots, type, error);
    if (st == S2P_OK) {
        s->past.is_plain = s->options.plain_attention;
        st = draw_largest(s, n_slots, error);
        if (st == S2P_OK) out->here = s2v_graph_host_bytes(&s->graph);
        if (st == S2P_OK) out->device = s2v_graph_device_bytes(&s->graph);
        if (st == S2P_OK && takes && out->device > 0) st = s2v_graph_reserve(&s->graph, error);
        s2v_past_free(&s->past);
    }
    s->past = own;
    return st;
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

s2p_status s2v_reserve_graphs(s2v_session *s, s2v_kv_types type, s2p_error *error)
{
    const s2v_engine *engine = s->engine;
    const s2v_decoder *decoder = &engine->model.decoder;
    const uint64_t per_layer = device_layer(s, type), taken = cache_on_device(s, type);
    const bool has_layers = engine->offload.n_layers > 0;
    uint64_t held = 0;
    graph_bytes layers = { .device = 0 };
    s2v_tower_needs tower = { .device = 0 };
    if (engine->offload.tower) TRY(s2v_reserve_tower(s, LARGEST_SIDE, &tower, error));
    if (has_layers) {
        TRY(measure_largest(s, type, s->options.n_ctx, false, &layers, error));
        held = s2v_unrounded_bytes(decoder, s->options.n_ctx, type);
    }
    /* The tower's scratch goes before the unrounded keys and values come. */
    const uint64_t needed = layers.device + (tower.device > held ? tower.device : held);
    if (needed > 0) TRY(check_room(s, taken, needed, per_layer, "the scratch", error));
    s->device_bytes = layers.device + held;
    return has_layers ? measure_largest(s, type, s->options.n_ctx, true, &layers, error) : S2P_OK;
}

/* --- this machine ----------------------------------------------------------------------- */

typedef struct decoder_needs {
    uint64_t rows, graph; /* of a prompt; of what runs over them, and the unrounded layer */
    uint64_t device;
} decoder_needs;

/* Bytes while rows run that see n_slots slots. */
static s2p_status measure_decoder(s2v_session *s, s2v_kv_types type, int32_t n_slots,
                                  decoder_needs *out, s2p_error *error)
{
    const s2v_decoder *decoder = &s->engine->model.decoder;
    const uint64_t n = (uint64_t)n_slots, n_batch = (uint64_t)s->options.n_batch;
    const uint64_t held = s2v_unrounded_bytes(decoder, n_slots, type);
    graph_bytes graph = { .here = 0 };
    TRY(measure_largest(s, type, n_slots, false, &graph, error));
    out->rows =
        n * (uint64_t)(1 + decoder->p.n_deepstack) * (uint64_t)decoder->p.n_embd * sizeof(float);
    const uint64_t n_masks = decoder->p.window > 0 ? 2 : 1;
    out->graph = graph.here + n_masks * n_batch * n * sizeof(ggml_fp16_t) + /* what they see */
                 (uint64_t)decoder->p.n_vocab * sizeof(float);
    if (decoder->first_on_device > 0) out->graph += held;
    out->device = s->engine->offload.n_layers > 0 ? graph.device + held : 0;
    return S2P_OK;
}

static uint64_t kv_bytes(const s2v_session *s, s2v_kv_types type)
{
    const s2v_decoder *decoder = &s->engine->model.decoder;
    return s2v_past_bytes(decoder, 0, decoder->first_on_device, s->options.n_ctx, type);
}

/* What may still be taken: of the system, and with a limit of that; 0: not known. taken: by sessions. */
static uint64_t bytes_left(const s2v_engine *engine, uint64_t taken)
{
    const uint64_t most = engine->options.max_memory;
    const uint64_t left = s2v_memory_available(engine->memory_fd);
    if (most == 0) return left;
    const s2v_weights *w = engine->weights;
    const uint64_t others =
        taken + s2v_weights_bytes(w) - s2v_weights_device_bytes(w) + engine->options.cache_bytes;
    const uint64_t allowed = most > others ? most - others : 1;
    return left == 0 || allowed < left ? allowed : left;
}

#define LIMIT_TEXT 120

/* With a limit: how much is left for others. */
static const char *limit_text(const s2v_engine *engine, uint64_t taken, char text[LIMIT_TEXT])
{
    text[0] = '\0';
    if (engine->options.max_memory > 0)
        (void)snprintf(
            text, LIMIT_TEXT,
            " (%.3f GiB are allowed, less weights, cache and %.3f GiB of other sessions)",
            (double)engine->options.max_memory / GIB, (double)taken / GIB);
    return text;
}

static double gib_left(uint64_t left) { return left == 1 ? 0.0 : (double)left / GIB; }

s2p_status s2v_memory_take(s2v_session *s, s2v_kv_types type, s2p_error *error)
{
    s2v_engine *engine = s->engine;
    decoder_needs needs = { .rows = 0 };
    TRY(measure_decoder(s, type, s->options.n_ctx, &needs, error));
    const uint64_t kv = kv_bytes(s, type), compute = needs.rows + needs.graph;
    const uint64_t needed = kv + compute;
    const uint64_t taken = atomic_fetch_add(&engine->session_bytes, needed);
    s->taken_bytes = needed;
    s->compute_bytes = compute;
    const uint64_t left = bytes_left(engine, taken);
    if (left == 0 || needed <= left) return S2P_OK;
    s2v_memory_give_back(s);
    char limit[LIMIT_TEXT];
    return s2_fail(
        error, S2P_ENOMEM,
        "a context of %d tokens needs %.3f GiB, and %.3f GiB to compute %d rows at once; "
        "%.3f GiB are available%s: use a smaller context or a smaller batch",
        s->options.n_ctx, (double)kv / GIB, (double)compute / GIB, s->options.n_batch,
        gib_left(left), limit_text(engine, taken, limit));
}

void s2v_memory_give_back(s2v_session *s)
{
    atomic_fetch_sub(&s->engine->session_bytes, s->taken_bytes + s->prompt_bytes);
    s->taken_bytes = s->prompt_bytes = 0;
}

s2p_status s2v_memory_grow(s2v_session *s, int32_t n_ctx, s2p_error *error)
{
    s2v_engine *engine = s->engine;
    const int32_t before = s->options.n_ctx;
    const s2v_kv_types type = s->past.type;
    decoder_needs needs = { .rows = 0 };
    TRY(measure_decoder(s, type, n_ctx, &needs, error));
    s->options.n_ctx = n_ctx;
    const uint64_t kv = kv_bytes(s, type), had = s->taken_bytes;
    uint64_t compute = needs.rows + needs.graph;
    if (compute < s->compute_bytes) compute = s->compute_bytes;
    const uint64_t more = kv + compute - s->compute_bytes; /* in addition to its old cache */
    const uint64_t taken = atomic_fetch_add(&engine->session_bytes, more);
    const uint64_t left = bytes_left(engine, taken);
    s2p_status st = S2P_OK;
    char limit[LIMIT_TEXT];
    if (left > 0 && more > left)
        st = s2_fail(error, S2P_ENOMEM,
                     "the context has to grow to %d tokens, which takes %.3f GiB; %.3f GiB are "
                     "available%s: use fewer pictures, a smaller budget or -c %d",
                     n_ctx, (double)more / GIB, gib_left(left), limit_text(engine, taken, limit),
                     before);
    if (st == S2P_OK) st = s2v_reserve_cache(s, type, error);
    if (st == S2P_OK) st = s2v_reserve_graphs(s, type, error);
    atomic_fetch_sub(&engine->session_bytes, st == S2P_OK ? had - s->compute_bytes : more);
    if (st != S2P_OK) {
        s->options.n_ctx = before;
        return st;
    }
    s->taken_bytes = kv + compute;
    s->compute_bytes = compute;
    return S2P_OK;
}

s2p_status s2v_memory_take_prompt(s2v_session *s, const s2v_reach *reach, s2p_error *error)
{
    s2v_engine *engine = s->engine;
    if (reach->longest <= s->options.n_ctx) return S2P_OK;
    decoder_needs needs = { .rows = 0 };
    TRY(measure_decoder(s, s->past.type, (int32_t)reach->longest, &needs, error));
    const uint64_t compute = needs.rows + needs.graph;
    const uint64_t grown = compute > s->compute_bytes ? compute - s->compute_bytes : 0;
    const uint64_t more = grown + reach->wider_here;
    /* Of a new session nothing is in memory yet, and it has to fit as well. */
    const bool is_new = s2v_past_length(&s->past, s->past.n_layers - 1) == 0;
    const uint64_t own = is_new ? s->taken_bytes : 0;
    const uint64_t taken = atomic_fetch_add(&engine->session_bytes, more) - own;
    const uint64_t left = bytes_left(engine, taken);
    char limit[LIMIT_TEXT];
    s2p_status st = S2P_OK;
    if (left > 0 && own + more > left)
        st = s2_fail(error, S2P_ENOMEM,
                     "the %d tokens of the prompt take %.3f GiB until they are pruned, in addition "
                     "to a context of %d; %.3f GiB are available%s: use fewer or smaller pictures "
                     "(--max-pixels)",
                     reach->n_rows, (double)more / GIB, s->options.n_ctx, gib_left(left),
                     limit_text(engine, taken, limit));
    const uint64_t on_device =
        reach->wider_device + (needs.device > s->device_bytes ? needs.device - s->device_bytes : 0);
    if (st == S2P_OK && on_device > 0) {
        st = check_room(s, s->device_bytes + cache_on_device(s, s->past.type), on_device,
                        device_layer(s, s->past.type), "the prompt", error);
    }
    if (st != S2P_OK) {
        atomic_fetch_sub(&engine->session_bytes, more);
        return st;
    }
    s->prompt_bytes += reach->wider_here; /* graphs and rows keep their memory */
    s->taken_bytes += grown;
    s->compute_bytes += grown;
    if (needs.device > s->device_bytes) s->device_bytes = needs.device;
    return S2P_OK;
}

void s2v_memory_end_prompt(s2v_session *s)
{
    uint64_t kept = 0; /* by layers that are left whole */
    for (int32_t i = 0; i < s->engine->model.decoder.first_on_device; i++)
        kept += s2v_past_wider_held(&s->past, i);
    if (kept > s->prompt_bytes) kept = s->prompt_bytes;
    atomic_fetch_sub(&s->engine->session_bytes, s->prompt_bytes - kept);
    s->prompt_bytes = kept;
}

s2p_status s2v_memory_estimate(s2v_engine *engine, const s2v_session_options *session,
                               const s2v_estimated *e, s2v_memory *out, s2p_error *error)
{
    s2v_session s = { .engine = engine, .options = *session };
    const s2v_weights *w = engine->weights;
    *out = (s2v_memory){ .total = 0 };
    out->weights = s2v_weights_bytes(w) - s2v_weights_device_bytes(w) + s2v_weights_mapped_bytes(w);

    /* The session is an outline as well: backends and nodes of a graph, and no memory. */
    s2v_session_options *o = &s.options;
    s2p_status st = s2v_session_settle(o, engine, error);
    if (st == S2P_OK) st = s2v_backends_open(&s.backends, &engine->devices, o->n_threads, error);
    if (st == S2P_OK) st = s2v_graph_init(&s.graph, &s.backends, s2v_session_nodes(engine), error);
    decoder_needs decoder = { .rows = 0 };
    const s2v_kv_types type = s2v_kv_types_of(o->kv_type, o->kv_type_v);
    const int32_t longest = e->n_rows > o->n_ctx ? e->n_rows : o->n_ctx;
    if (st == S2P_OK) st = measure_decoder(&s, type, longest, &decoder, error);
    if (st == S2P_OK) out->kv = kv_bytes(&s, type);
    for (int32_t i = 0; st == S2P_OK && i < engine->model.decoder.first_on_device; i++)
        if (e->reaches && e->reaches[i] > o->n_ctx)
            decoder.graph += s2v_attends(&engine->model.decoder.p, i)
                                 ? s2v_past_layer_bytes(&engine->model.decoder, e->reaches[i], type)
                                 : 0;
    out->compute = decoder.rows + decoder.graph;
    if (st == S2P_OK && e->picture_pixels > 0) {
        const double side = ceil(sqrt((double)e->picture_pixels));
        s2v_tower_needs tower = { .here = 0 };
        st = s2v_reserve_tower(&s, side < MOST_PIXELS ? (int32_t)side : MOST_PIXELS, &tower, error);
        /* One after the other: the tower's graph is freed before the decoder's. */
        if (tower.here > decoder.graph) out->compute = decoder.rows + tower.here;
        out->compute += tower.frame + e->other_frames;
        if (!engine->offload.tower) out->tower = s2v_weights_tower_bytes(w);
    }
    out->program = s2v_memory_resident();
    out->prefixes = o->no_cache ? 0 : engine->options.cache_bytes;
    out->total = out->program + out->weights + out->tower + out->kv + out->compute + out->prefixes;
    out->available = engine->options.max_memory;
    const uint64_t available = s2v_memory_available(engine->memory_fd);
    if (out->available == 0 && available > 0) out->available = available + out->program;
    s2v_graph_free(&s.graph);
    s2v_backends_close(&s.backends);
    return st;
}

s2p_status s2v_engine_estimate(const s2v_engine_options *options,
                               const s2v_session_options *session, int64_t picture_pixels,
                               s2v_memory *out, s2p_error *error)
{
    *out = (s2v_memory){ .total = 0 };
    s2v_session_options read;
    s2v_engine *engine;
    TRY(s2v_session_options_read(&read, session, error));
    TRY(s2v_engine_outline(&engine, options, error));
    const s2v_estimated one = { .picture_pixels = picture_pixels };
    const s2p_status st = s2v_memory_estimate(engine, &read, &one, out, error);
    s2v_engine_close(engine);
    return st;
}
