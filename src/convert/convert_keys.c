/* convert_keys.c - the keys of the two files, with llama.cpp's names and in its order. */
#include "convert/convert_internal.h"

#include <math.h>
#include <stdio.h>

#define QUANTIZATION_VERSION 2u

/* "3.1B", "723K": at least two digits. */
static void put_size_label(uint64_t n_values, s2v_gguf_writer *writer)
{
    static const struct {
        double unit;
        const char *letter;
    } units[] = { { 1e12, "T" }, { 1e9, "B" }, { 1e6, "M" }, { 1e3, "K" } };
    size_t i = 0;
    while (i < 3 && (double)n_values <= units[i].unit) i++;
    const double scaled = (double)n_values / units[i].unit, whole = nearbyint(scaled);
    const int decimals = whole >= 10.0 ? 0 : whole >= 1.0 ? 1 : 2;
    char text[32];
    (void)snprintf(text, sizeof text, "%.*f%s", decimals, scaled, units[i].letter);
    s2v_gguf_put_text(writer, "general.size_label", text);
}

static void put_u32(s2v_gguf_writer *writer, const char *prefix, const char *key, int32_t value)
{
    char name[96];
    (void)snprintf(name, sizeof name, "%s.%s", prefix, key);
    s2v_gguf_put_u32(writer, name, (uint32_t)value);
}

static void put_f32(s2v_gguf_writer *writer, const char *prefix, const char *key, float value)
{
    char name[96];
    (void)snprintf(name, sizeof name, "%s.%s", prefix, key);
    s2v_gguf_put_f32(writer, name, value);
}

void s2v_text_keys_put(const s2v_numbers *n, const s2v_key_facts *facts, s2v_gguf_writer *writer)
{
    const bool is_qwen = n->family != S2V_LLAVA_ONEVISION;
    const char *arch = is_qwen ? "qwen2vl" : "qwen2";
    s2v_gguf_put_text(writer, "general.architecture", arch);
    s2v_gguf_put_text(writer, "general.type", "model");
    s2v_gguf_put_text(writer, "general.name", facts->name);
    put_size_label(facts->n_values, writer);
    put_u32(writer, arch, "block_count", n->n_layers);
    put_u32(writer, arch, "context_length", n->n_ctx);
    put_u32(writer, arch, "embedding_length", n->n_embd);
    put_u32(writer, arch, "feed_forward_length", n->n_ff);
    put_u32(writer, arch, "attention.head_count", n->n_head);
    put_u32(writer, arch, "attention.head_count_kv", n->n_head_kv);
    if (is_qwen) s2v_gguf_put_i32s(writer, "qwen2vl.rope.dimension_sections", n->sections, 4);
    put_f32(writer, arch, "rope.freq_base", n->rope_theta);
    put_f32(writer, arch, "attention.layer_norm_rms_epsilon", n->rms_eps);
    s2v_gguf_put_u32(writer, "general.file_type", facts->file_type);
    s2v_gguf_put_u32(writer, "general.quantization_version", QUANTIZATION_VERSION);
}

static void put_qwen_vision(const s2v_numbers *n, const s2v_key_facts *facts, s2v_gguf_writer *w)
{
    static const char prefix[] = "clip.vision";
    const bool is_old = n->family == S2V_QWEN2_VL;
    put_size_label(facts->n_values, w);
    s2v_gguf_put_u32(w, "general.file_type", facts->file_type);
    s2v_gguf_put_bool(w, "clip.has_vision_encoder", true);
    put_u32(w, prefix, "projection_dim", n->n_embd);
    put_u32(w, prefix, "image_size", n->v_image);
    put_u32(w, prefix, "patch_size", n->v_patch);
    put_u32(w, prefix, "embedding_length", n->v_embd);
    put_u32(w, prefix, "feed_forward_length", n->v_ff);
    put_u32(w, prefix, "block_count", n->v_layers);
    put_u32(w, prefix, "attention.head_count", n->v_head);
    s2v_gguf_put_f32s(w, "clip.vision.image_mean", n->mean, 3);
    s2v_gguf_put_f32s(w, "clip.vision.image_std", n->std, 3);
    s2v_gguf_put_text(w, "clip.projector_type", is_old ? "qwen2vl_merger" : "qwen2.5vl_merger");
    if (!is_old) {
        s2v_gguf_put_bool(w, "clip.use_silu", true);
        put_u32(w, prefix, "n_wa_pattern", n->v_full);
    }
    put_f32(w, prefix, "attention.layer_norm_epsilon", n->v_eps);
    s2v_gguf_put_u32(w, "general.quantization_version", QUANTIZATION_VERSION);
}

static void put_llava_vision(const s2v_numbers *n, const s2v_key_facts *facts, s2v_gguf_writer *w)
{
    static const char prefix[] = "clip.vision";
    s2v_gguf_put_u32(w, "general.file_type", facts->file_type);
    s2v_gguf_put_bool(w, "clip.has_vision_encoder", true);
    s2v_gguf_put_bool(w, "clip.has_llava_projector", true);
    s2v_gguf_put_text(w, "clip.projector_type", "mlp");
    s2v_gguf_put_bool(w, "clip.use_gelu", true);
    put_u32(w, prefix, "image_size", n->v_image);
    put_u32(w, prefix, "patch_size", n->v_patch);
    put_u32(w, prefix, "embedding_length", n->v_embd);
    put_u32(w, prefix, "feed_forward_length", n->v_ff);
    put_u32(w, prefix, "projection_dim", n->n_embd);
    put_u32(w, prefix, "block_count", n->v_layers);
    put_u32(w, prefix, "attention.head_count", n->v_head);
    put_f32(w, prefix, "attention.layer_norm_epsilon", n->v_eps);
    s2v_gguf_put_f32s(w, "clip.vision.image_mean", n->mean, 3);
    s2v_gguf_put_f32s(w, "clip.vision.image_std", n->std, 3);
    s2v_gguf_put_i32s(w, "clip.vision.feature_layer", &n->v_feature, 1);
    s2v_gguf_put_text(w, "clip.vision.mm_patch_merge_type", "flat");
}

void s2v_vision_keys_put(const s2v_numbers *n, const s2v_key_facts *facts, s2v_gguf_writer *writer)
{
    s2v_gguf_put_text(writer, "general.architecture", "clip");
    s2v_gguf_put_text(writer, "general.type", "mmproj");
    s2v_gguf_put_text(writer, "general.name", facts->name);
    if (n->family == S2V_LLAVA_ONEVISION)
        put_llava_vision(n, facts, writer);
    else
        put_qwen_vision(n, facts, writer);
}
