/* engine.c - open a model: two validated files, one architecture, weights in their places. */
#include "engine/engine.h"
#include "engine/options.h"

#include "engine/identity.h"
#include "engine/offload.h"
#include "engine/weights/pair.h"
#include "engine/vision/tower_choice.h"
#include "engine/vision/arch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GIB (1024.0 * 1024.0 * 1024.0)
#define USUAL_FOLDER_BYTES ((uint64_t)4 << 30)

static s2v_text text_key(const s2v_gguf *file, const char *key)
{
    s2v_text text = { "", 0 };
    if (!s2v_gguf_string(file, key, &text)) text = (s2v_text){ "", 0 };
    return text;
}

static s2p_status find_arch(s2v_engine *engine, s2p_error *error)
{
    const s2v_text name = text_key(engine->text, "general.architecture");
    const s2v_text kind = text_key(engine->mmproj, "general.architecture");
    s2v_text projector = text_key(engine->mmproj, "clip.projector_type");
    if (projector.size == 0) projector = text_key(engine->mmproj, "clip.vision.projector_type");
    const bool is_vision = kind.size == 4 && memcmp(kind.data, "clip", 4) == 0;
    const bool is_no_text = name.size == 4 && memcmp(name.data, "clip", 4) == 0;
    if (is_vision && is_no_text)
        return s2_fail(error, S2P_EFORMAT,
                       "the file given as the model is a vision part (mmproj): give the language "
                       "part that it was published with");
    if (!is_vision && is_no_text)
        return s2_fail(
            error, S2P_EFORMAT,
            "the two files are swapped: the one given as the model is a vision part, the "
            "one given as the mmproj a '%.*s'",
            (int)(kind.size < 40 ? kind.size : 40), kind.data);
    if (!is_vision)
        return s2_fail(error, S2P_EFORMAT, "the mmproj's architecture is '%.*s', expected 'clip'",
                       (int)(kind.size < 40 ? kind.size : 40), kind.data);
    engine->model.arch = s2v_arch_find(name, projector);
    return engine->model.arch ? S2P_OK : s2v_arch_refuse(name, projector, engine->mmproj, error);
}

/* What the tower's products run on: for quantized matrices, for the others, or for both. */
static void name_kernels(s2v_engine *engine, const s2v_loader *loader)
{
    const bool has_quants = loader->n_quantized > 0;
    const bool has_floats = loader->n_quantized < loader->n_matrices;
    const s2v_kernels *floats = engine->model.tower.kernels, *quants = loader->quant_kernels;
    if (!floats) {
        (void)snprintf(engine->tower_kernels, sizeof engine->tower_kernels, "ggml");
        return;
    }
    engine->tower_rounds = (has_quants && quants->precision != S2V_PRECISION_F32) ||
                           (has_floats && floats->precision != S2V_PRECISION_F32);
    if (has_quants && has_floats && floats != quants)
        (void)snprintf(engine->tower_kernels, sizeof engine->tower_kernels, "%s+%s", quants->name,
                       floats->name);
    else
        (void)snprintf(engine->tower_kernels, sizeof engine->tower_kernels, "%s",
                       has_quants ? quants->name : floats->name);
}

static s2p_status load_weights(s2v_engine *engine, const s2v_tower_choice *tower, bool is_outline,
                               s2p_error *error)
{
    s2v_loader loader;
    s2p_status st = s2v_loader_init(&loader, &engine->devices, error);
    if (st != S2P_OK) return st;
    loader.kernels = tower->kernels;
    loader.quant_kernels = tower->quant_kernels;
    loader.tower_on_device = engine->offload.tower;
    st = engine->model.arch->load(&engine->model, &loader, engine->text, engine->mmproj,
                                  engine->offload.n_layers, error);
    const uint64_t n_here = s2v_loader_bytes(&loader) - s2v_loader_device_bytes(&loader);
    if (st == S2P_OK && is_outline) st = s2v_loader_outline(&loader);
    const uint64_t most = engine->options.max_memory;
    const uint64_t available = most > 0 ? most : s2v_memory_available(engine->memory_fd);
    if (st == S2P_OK && !is_outline && available > 0 && n_here > available)
        st = s2_fail(
            error, S2P_ENOMEM,
            "the weights need %.1f GiB, but %.1f GiB are available: use a smaller quantization",
            (double)n_here / GIB, (double)available / GIB);
    if (st == S2P_OK && !is_outline)
        st = s2v_loader_finish(&loader, engine->options.progress, engine->options.user);
    if (st != S2P_OK) {
        s2v_loader_abandon(&loader);
        return st;
    }
    engine->weights = loader.weights;
    name_kernels(engine, &loader);
    s2v_gguf_release_pages(engine->text); /* what was repacked need not stay in memory twice */
    if (engine->options.pictures_soon && !is_outline)
        s2v_gguf_want_pages(engine->mmproj);
    else
        s2v_gguf_release_pages(engine->mmproj);
    return S2P_OK;
}

static s2p_status open_engine(s2v_engine *engine, const s2v_engine_options *options,
                              bool is_outline, s2p_error *error)
{
    if (!options->model_path || !options->mmproj_path)
        return s2_fail(error, S2P_EINVAL, "a model and an mmproj are both needed");
    TRY(s2v_gguf_open(&engine->text, options->model_path, error));
    TRY(s2v_gguf_open(&engine->mmproj, options->mmproj_path, error));
    TRY(find_arch(engine, error));
    char sentence[S2V_PAIR_SENTENCE];
    if (options->note && !s2v_pair_agrees(engine->text, engine->mmproj, sentence))
        options->note(sentence, options->user);
    TRY(s2v_tokenizer_create(&engine->tokenizer, engine->text, error));
    engine->model.tokenizer = engine->tokenizer;
    TRY(s2v_devices_open(&engine->devices, options->device, options->rpc_server, options->n_threads,
                         error));
    s2v_tower_choice tower;
    TRY(s2v_tower_choose(&tower, options, engine->mmproj, error));
    TRY(s2v_offload_choose(engine, options, &tower, error));
    TRY(load_weights(engine, &tower, is_outline, error));
    TRY(s2v_tower_check(&tower, options, engine->model.tower.kernels, error));

    if (!is_outline && options->cache_bytes == 0 && options->cache_dir)
        return s2_fail(error, S2P_EINVAL, "a cache folder needs a cache in memory above it");
    if (!is_outline && options->cache_bytes > 0) {
        const s2v_cache_options cache = {
            .max_bytes = options->cache_bytes,
            .folder = options->cache_dir,
            .max_folder_bytes =
                options->cache_dir_bytes ? options->cache_dir_bytes : USUAL_FOLDER_BYTES,
            .note = options->note,
            .user = options->user,
        };
        TRY(s2v_identity_make(engine, options->model_path, options->mmproj_path, error));
        TRY(s2v_cache_create(&engine->cache, &cache, error));
    }
    const s2v_gguf *const files[2] = { engine->text, engine->mmproj };
    for (int f = 0; f < 2; f++)
        for (size_t i = 0; i < s2v_gguf_n_tensors(files[f]); i++) {
            const s2v_gguf_tensor *t = s2v_gguf_tensor_at(files[f], i);
            engine->n_parameters += (uint64_t)(t->ne[0] * t->ne[1] * t->ne[2] * t->ne[3]);
        }
    const s2v_text name = text_key(engine->text, "general.name");
    const size_t n = name.size < sizeof engine->name - 1 ? name.size : sizeof engine->name - 1;
    for (size_t i = 0; i < n; i++) /* a free text: printable or nothing */
        engine->name[i] = name.data[i] >= ' ' && name.data[i] <= '~' ? name.data[i] : '?';
    return S2P_OK;
}

static s2p_status make_engine(s2v_engine **out, const s2v_engine_options *options, bool is_outline,
                              s2p_error *error)
{
    *out = NULL;
    s2v_engine_options read;
    TRY(s2v_engine_options_read(&read, options, error));
    s2v_engine *engine = calloc(1, sizeof *engine);
    if (!engine) return s2_fail_memory(error, sizeof *engine, "the engine");
    engine->options = read;
    engine->memory_fd = s2v_memory_open();
    const s2p_status st = open_engine(engine, &read, is_outline, error);
    engine->options.model_path = engine->options.mmproj_path = NULL; /* were borrowed */
    engine->options.device = engine->options.rpc_server = NULL;
    engine->options.tower = engine->options.kernels = engine->options.cache_dir = NULL;
    if (st != S2P_OK) {
        s2v_engine_close(engine);
        return st;
    }
    *out = engine;
    return S2P_OK;
}

s2p_status s2v_engine_open(s2v_engine **out, const s2v_engine_options *options, s2p_error *error)
{
    return make_engine(out, options, false, error);
}

s2p_status s2v_engine_outline(s2v_engine **out, const s2v_engine_options *options, s2p_error *error)
{
    return make_engine(out, options, true, error);
}

void s2v_engine_close(s2v_engine *engine)
{
    if (!engine) return;
    s2c_vocabulary_free(atomic_load(&engine->vocabulary));
    s2v_cache_free(engine->cache);
    s2v_weights_free(engine->weights);
    s2v_model_free(&engine->model);
    s2v_tokenizer_free(engine->tokenizer);
    s2v_gguf_close(engine->mmproj);
    s2v_gguf_close(engine->text);
    if (engine->memory_fd >= 0) close(engine->memory_fd);
    free(engine);
}

void s2v_engine_get_info(const s2v_engine *engine, s2v_engine_info *info)
{
    const s2v_decoder_params *p = &engine->model.decoder.p;
    const s2v_tower *v = &engine->model.tower;
    *info = (s2v_engine_info){
        .name = engine->name,
        .architecture = engine->model.arch->name,
        .device = ggml_backend_dev_name(engine->devices.main),
        .template_name = engine->model.arch->chat_format,
        .tower_rounds = engine->tower_rounds,
        .kernels = engine->tower_kernels,
        .n_layers = p->n_layers,
        .n_embd = p->n_embd,
        .n_heads = p->n_heads,
        .n_kv_heads = p->n_kv_heads,
        .n_vocab = p->n_vocab,
        .n_ctx_train = p->n_ctx_train,
        .n_vision_blocks = v->n_blocks,
        .n_vision_embd = v->n_embd,
        .patch_size = v->patch,
        .merge_size = v->merge,
        .max_pixels = v->max_pixels,
        .file_max_pixels = v->file_max_pixels,
        .n_parameters = engine->n_parameters,
        .model_bytes = s2v_gguf_n_bytes(engine->text) + s2v_gguf_n_bytes(engine->mmproj),
        .weight_bytes = s2v_weights_bytes(engine->weights),
        .device_bytes = s2v_weights_device_bytes(engine->weights),
        .device_layers = engine->offload.n_layers,
        .device_tower = engine->offload.tower,
    };
}

void s2v_engine_get_cache_stats(const s2v_engine *engine, s2v_cache_stats *out)
{
    *out = (s2v_cache_stats){ .bytes = 0 };
    if (engine->cache) s2v_cache_count(engine->cache, out);
}

void s2v_engine_forget(s2v_engine *engine) { s2v_cache_clear(engine->cache); }

s2v_framing s2v_engine_usual_framing(const s2v_engine *engine, int32_t n_images, int is_pruned)
{
    const s2v_arch *arch = engine->model.arch;
    return arch->usual_framing ? arch->usual_framing(n_images, is_pruned != 0) : S2V_FRAMING_BASE;
}
