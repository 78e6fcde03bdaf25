/* convert_keys.c - the keys of the two files, with llama.cpp's names and in its order. */
#include "convert/convert_steps.h"

#include "convert/family.h"

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
    const char *arch = n->family->architecture;
    s2v_gguf_put_text(writer, "general.architecture", arch);
    s2v_gguf_put_text(writer, "general.type", "model");
    s2v_gguf_put_text(writer, "general.name", facts->name);
    put_size_label(facts->n_values, writer);
    put_u32(writer, arch, "block_count", n->n_layers);
    put_u32(writer, arch, "context_length", n->n_ctx);
    put_u32(writer, arch, "embedding_length", n->n_embd);
    if (n->n_ff > 0) put_u32(writer, arch, "feed_forward_length", n->n_ff);
    put_u32(writer, arch, "attention.head_count", n->n_head);
    put_u32(writer, arch, "attention.head_count_kv", n->n_head_kv);
    if (n->family->put_rope) n->family->put_rope(n, writer);
    put_f32(writer, arch, "rope.freq_base", n->rope_theta);
    put_f32(writer, arch, "attention.layer_norm_rms_epsilon", n->rms_eps);
    if (n->family->put_text) n->family->put_text(n, writer);
    s2v_gguf_put_u32(writer, "general.file_type", facts->file_type);
    s2v_gguf_put_u32(writer, "general.quantization_version", QUANTIZATION_VERSION);
}

void s2v_vision_keys_put(const s2v_numbers *n, const s2v_key_facts *facts, s2v_gguf_writer *writer)
{
    const bool is_bare = n->family->has_bare_header;
    s2v_gguf_put_text(writer, "general.architecture", "clip");
    s2v_gguf_put_text(writer, "general.type", "mmproj");
    s2v_gguf_put_text(writer, "general.name", facts->name);
    if (!is_bare) put_size_label(facts->n_values, writer);
    s2v_gguf_put_u32(writer, "general.file_type", facts->file_type);
    s2v_gguf_put_bool(writer, "clip.has_vision_encoder", true);
    n->family->put_vision(n, writer);
    if (!is_bare) s2v_gguf_put_u32(writer, "general.quantization_version", QUANTIZATION_VERSION);
}
