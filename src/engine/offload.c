/* offload.c - what fits on the device, counted before anything is moved.
 *
 * A load that stops before its data are moved costs nothing and knows every byte (loader.c), so
 * the largest number of layers is found by trying. Attention is the one operation a device may
 * lack for a size of head; without it every layer would cross to the CPU and back.
 */
#include "engine/offload.h"

#include "engine/backend/reserve.h"
#include "engine/decoder/past.h"
#include "engine/vision/arch.h"

#include <stdio.h>

#define GIB (1024.0 * 1024.0 * 1024.0)
#define LARGEST_PICTURE 5120 /* patches: 1280 tokens of four */

static void note(const s2v_engine_options *options, const char *text)
{
    if (options->note) options->note(text, options->user);
}

uint64_t s2v_offload_free(const s2v_engine *engine, uint64_t taken)
{
    size_t available = 0, total = 0;
    ggml_backend_dev_memory(engine->devices.main, &available, &total);
    const uint64_t most = engine->options.max_device_memory;
    const uint64_t left = taken < most ? most - taken : 1;
    if (most > 0 && (total == 0 || available > left)) return left;
    return total > 0 && available == 0 ? 1 : available;
}

/* --- attention ------------------------------------------------------------------- */

/* Says so where the device lacks it, and whether to go on there all the same. */
static bool is_worth_it(const s2v_engine *engine, const s2v_engine_options *options,
                        const s2v_model *model)
{
    const s2v_decoder_params *p = &model->decoder.p;
    ggml_backend_dev_t device = engine->devices.main;
    const struct ggml_init_params params = { ggml_tensor_overhead() * 8, NULL, true };
    struct ggml_context *ctx = s2v_context_open(params);
    bool can_attend = false;
    if (ctx) {
        struct ggml_tensor *q =
            ggml_new_tensor_3d(ctx, GGML_TYPE_F32, p->head_dim, 256, p->n_heads);
        struct ggml_tensor *k =
            ggml_new_tensor_3d(ctx, GGML_TYPE_F16, p->head_dim, 256, p->n_kv_heads);
        struct ggml_tensor *v =
            ggml_new_tensor_3d(ctx, GGML_TYPE_F16, p->head_dim, 256, p->n_kv_heads);
        struct ggml_tensor *out = ggml_flash_attn_ext(ctx, q, k, v, NULL, 1.0f, 0.0f, 0.0f);
        (void)ggml_prec_set_acc(out, GGML_PREC_F32);
        can_attend = ggml_backend_dev_supports_op(device, out);
        ggml_free(ctx);
    }
    if (can_attend) return true;
    const bool is_asked = options->device || options->rpc_server;
    char text[200];
    (void)snprintf(
        text, sizeof text, "%s has no attention for heads of %d values: %s",
        ggml_backend_dev_name(device), p->head_dim,
        is_asked ? "the CPU computes the attention of its layers, which is slower than not using it"
                 : "the CPU is used instead");
    note(options, text);
    return is_asked;
}

/* --- memory ---------------------------------------------------------------------- */

/* Of the weights alone; *model is the caller's to free. */
static s2p_status try_load(s2v_engine *engine, const s2v_tower_choice *choice, s2v_offload offload,
                           s2v_model *model, uint64_t *n_bytes, s2p_error *error)
{
    s2v_loader loader;
    *model = (s2v_model){ .arch = engine->model.arch };
    TRY(s2v_loader_init(&loader, &engine->devices, error));
    loader.kernels = choice->kernels;
    loader.quant_kernels = choice->quant_kernels;
    loader.tower_on_device = offload.tower;
    const s2p_status st =
        model->arch->load(model, &loader, engine->text, engine->mmproj, offload.n_layers, error);
    *n_bytes = s2v_loader_device_bytes(&loader);
    s2v_loader_abandon(&loader);
    return st;
}

/* Weights, and a session of the usual size: its past, one layer of it unrounded while a prompt runs, the
 * feed-forward part, rows, mask and logits; the tower's rows. */
static s2p_status needed_for(s2v_engine *engine, const s2v_tower_choice *choice,
                             s2v_offload offload, uint64_t *n_bytes, s2p_error *error)
{
    static const s2v_kv_types halves = { GGML_TYPE_F16, GGML_TYPE_F16 },
                              floats = { GGML_TYPE_F32, GGML_TYPE_F32 };
    const uint64_t batch = S2V_USUAL_BATCH, context = S2V_USUAL_CONTEXT, patches = LARGEST_PICTURE;
    s2v_model model;
    const s2p_status st = try_load(engine, choice, offload, &model, n_bytes, error);
    if (st == S2P_OK && offload.n_layers > 0) {
        const s2v_decoder_params *p = &model.decoder.p;
        *n_bytes += s2v_past_bytes(&model.decoder, p->n_layers - offload.n_layers, p->n_layers,
                                   S2V_USUAL_CONTEXT, halves) +
                    s2v_past_layer_bytes(&model.decoder, S2V_USUAL_CONTEXT, floats);
        const uint64_t ff = 2 * (uint64_t)p->n_ff, width = (uint64_t)p->n_embd;
        const uint64_t middle = p->n_experts > 0 ? (ff + width) * (uint64_t)p->n_experts_used : ff;
        *n_bytes +=
            4 * batch * (middle + 6 * width) + 2 * batch * context + 4 * (uint64_t)p->n_vocab;
    }
    const s2v_tower *v = &model.tower;
    if (st == S2P_OK && offload.tower)
        *n_bytes += 4 * patches * (2 * (uint64_t)v->n_ff + 6 * (uint64_t)v->n_embd);
    s2v_model_free(&model);
    return st;
}

static s2p_status make_fit(s2v_engine *engine, const s2v_engine_options *options,
                           const s2v_tower_choice *choice, s2p_error *error)
{
    const char *name = ggml_backend_dev_name(engine->devices.main);
    const uint64_t available = s2v_offload_free(engine, 0);
    const s2v_offload asked = engine->offload;
    uint64_t needed;
    TRY(needed_for(engine, choice, asked, &needed, error));
    if (available == 0 || needed <= available) return S2P_OK;

    /* The most layers that fit in addition to the tower; the tower stays off the device if it does not fit. */
    s2v_offload *fits = &engine->offload;
    int32_t low = -1, high = fits->n_layers; /* low fits, high does not */
    while (high - low > 1) {
        const int32_t middle = low + (high - low) / 2;
        uint64_t tried;
        TRY(needed_for(engine, choice, (s2v_offload){ middle, fits->tower }, &tried, error));
        if (tried <= available)
            low = middle;
        else
            high = middle;
    }
    fits->n_layers = low < 0 ? 0 : low;
    if (low < 0) fits->tower = false;
    const char *tower = fits->tower ? " and the tower" : asked.tower ? " without the tower" : "";
    if (options->gpu_layers >= 0)
        return s2_fail(error, S2P_ENOMEM,
                       "%d layers%s need %.2f GiB on %s, %.2f GiB are free: %d%s would fit",
                       asked.n_layers, asked.tower ? " and the tower" : "", (double)needed / GIB,
                       name, (double)available / GIB, fits->n_layers, tower);
    char text[200];
    (void)snprintf(text, sizeof text,
                   "%s has %.2f GiB free, all %d layers need %.2f GiB: %d of them%s are on it",
                   name, (double)available / GIB, asked.n_layers, (double)needed / GIB,
                   fits->n_layers, tower);
    note(options, text);
    return S2P_OK;
}

/* --- choosing ------------------------------------------------------------------ */

s2p_status s2v_offload_choose(s2v_engine *engine, const s2v_engine_options *options,
                              const s2v_tower_choice *choice, s2p_error *error)
{
    s2v_devices *devices = &engine->devices;
    engine->offload = (s2v_offload){ .n_layers = 0 };
    if (devices->main == devices->cpu) return S2P_OK;
    s2v_model model;
    uint64_t n_bytes;
    const s2v_offload all = { .n_layers = -1, .tower = !options->tower_on_cpu };
    const s2p_status st = try_load(engine, choice, all, &model, &n_bytes, error);
    const int32_t n_layers = model.decoder.p.n_layers, n = options->gpu_layers;
    const bool is_used = st == S2P_OK && is_worth_it(engine, options, &model);
    s2v_model_free(&model);
    if (st != S2P_OK) return st;
    if (!is_used) {
        s2v_devices_stay(devices);
        return S2P_OK;
    }
    engine->offload = (s2v_offload){ n < 0 || n > n_layers ? n_layers : n, all.tower };
    return make_fit(engine, options, choice, error);
}
