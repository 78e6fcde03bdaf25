/* reserve.c - draw the largest graphs, ask the scheduler for their size, compare with what is free.
 */
#include "engine/session/reserve.h"

#include "engine/offload.h"
#include "engine/vision/arch.h"

#include <stdlib.h>
#include <string.h>

#define GIB (1024.0 * 1024.0 * 1024.0)
#define LARGEST_SIDE 1008 /* pixels; what is larger is reduced to 1280 tokens */

/* Weights of one decoder layer. */
static uint64_t layer_bytes(const s2v_layer *l)
{
    const struct ggml_tensor *const matrix[] = {
        l->q, l->k, l->v, l->out, l->gate, l->up, l->down
    };
    uint64_t n = 0;
    for (size_t i = 0; i < sizeof matrix / sizeof *matrix; i++) n += ggml_nbytes(matrix[i]);
    return n;
}

static uint64_t cache_bytes_of_layer(const s2v_session *s, s2v_kv_types type)
{
    const s2v_decoder *decoder = &s->engine->model.decoder;
    return s2v_kv_bytes(decoder, s->options.n_ctx, type) / (uint64_t)decoder->p.n_layers;
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
    for (int32_t i = 0; i < p->n_layers; i++) s->kv.n_slots[i] = n_past;
    struct ggml_tensor *h = s2v_graph_input(graph, GGML_TYPE_F32, p->n_embd, n, NULL);
    h = model->arch->layers(graph, &model->decoder, &s->kv, h, &span, 0, p->n_layers);
    ggml_set_output(h);
    s2v_graph_expand(graph, h);
    h = ggml_view_2d(graph->ctx, h, h->ne[0], 1, h->nb[1], (size_t)(n - 1) * h->nb[1]);
    s2v_graph_expand(graph, model->arch->head(graph, &model->decoder, h));
    s2v_kv_clear(&s->kv);
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
    const uint64_t each = cache_bytes_of_layer(s, s->kv.type);
    const uint64_t per_layer = each + layer_bytes(&decoder->layers[decoder->p.n_layers - 1]);
    const uint64_t taken = each * (uint64_t)engine->offload.n_layers;
    uint64_t layers = 0, held = 0;
    s2v_tower_needs tower = { .device = 0 };
    if (engine->offload.tower) TRY(s2v_reserve_tower(s, LARGEST_SIDE, &tower, error));
    if (engine->offload.n_layers > 0) {
        TRY(s2v_reserve_draw(s, error));
        layers = s2v_graph_device_bytes(&s->graph);
        held = s2v_unrounded_bytes(decoder, s->options.n_ctx, s->kv.type);
    }
    /* The tower's scratch goes before the unrounded keys and values come. */
    const uint64_t needed = layers + (tower.device > held ? tower.device : held);
    if (needed > 0) TRY(check_room(s, taken, needed, per_layer, "the scratch", error));
    return layers > 0 ? s2v_graph_reserve(&s->graph, error) : S2P_OK;
}
