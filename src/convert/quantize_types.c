/* quantize_types.c - llama.cpp's usual choices, for the models this project knows.
 *
 * Matrices are quantized; norms, biases, position and patch embeddings are not. In the _M mixtures
 * the values of attention and the way down of the feed-forward get six bits in the first and last
 * eighth of the layers and in every third between. The output matrix gets six bits (or stays at
 * eight). Rows that do not divide into the blocks of a type get the next one that fits. Of a delta
 * net the kernel of the convolution, the decay and its bias are kept as they are; the rest are
 * matrices, and the joint one of queries, keys and values counts as values.
 */
#include "convert/quantize_types.h"

#include <stdio.h>
#include <string.h>

static const s2v_quant_kind kinds[] = {
    { "Q4_0", S2V_TENSOR_Q4_0, 2, false },   { "Q4_K_M", S2V_TENSOR_Q4_K, 15, true },
    { "Q5_K_M", S2V_TENSOR_Q5_K, 17, true }, { "Q6_K", S2V_TENSOR_Q6_K, 18, false },
    { "Q8_0", S2V_TENSOR_Q8_0, 7, false },   { "F16", S2V_TENSOR_F16, 1, false },
    { "BF16", S2V_TENSOR_BF16, 32, false },
};

const s2v_quant_kind *s2v_quant_kind_at(size_t index)
{
    return index < sizeof kinds / sizeof *kinds ? &kinds[index] : NULL;
}

static const char *const architectures[] = { "qwen2vl", "qwen2",      "qwen3vl",  "qwen3",
                                             "llama",   "qwen3vlmoe", "qwen3moe", "gemma3",
                                             "qwen35",  "qwen35moe" };
#define N_ARCHITECTURES (sizeof architectures / sizeof *architectures)

const char *s2v_quant_architecture(size_t index)
{
    return index < N_ARCHITECTURES ? architectures[index] : NULL;
}

/* --- names ----------------------------------------------------------------------------------- */

static bool contains(s2v_text name, const char *part)
{
    const size_t n = strlen(part);
    for (size_t i = 0; i + n <= name.size; i++)
        if (memcmp(name.data + i, part, n) == 0) return true;
    return false;
}

static bool ends_with(s2v_text name, const char *part)
{
    const size_t n = strlen(part);
    return name.size >= n && memcmp(name.data + name.size - n, part, n) == 0;
}

int32_t s2v_quant_layer(s2v_text name)
{
    if (name.size < 6 || memcmp(name.data, "blk.", 4) != 0) return -1;
    int32_t layer = 0;
    size_t i = 4;
    for (; i < name.size && name.data[i] >= '0' && name.data[i] <= '9'; i++) {
        if (layer > 100000) return -1;
        layer = 10 * layer + (name.data[i] - '0');
    }
    return i > 4 && i < name.size && name.data[i] == '.' ? layer : -1;
}

int s2v_quant_compare(const s2v_gguf_tensor *a, const s2v_gguf_tensor *b)
{
    const int32_t x = s2v_quant_layer(a->name), y = s2v_quant_layer(b->name);
    if (x != y) return x < y ? -1 : 1;
    const size_t n = a->name.size < b->name.size ? a->name.size : b->name.size;
    const int order = memcmp(a->name.data, b->name.data, n);
    if (order != 0) return order;
    return (a->name.size > b->name.size) - (a->name.size < b->name.size);
}

/* --- rules ----------------------------------------------------------------------------------- */

static bool is_value(s2v_text name)
{
    return contains(name, "attn_v.weight") || contains(name, "attn_qkv.weight");
}

int32_t s2v_quantize_n_dims(const s2v_gguf_tensor *tensor)
{
    int32_t n = S2V_GGUF_MAX_DIMS;
    while (n > 1 && tensor->ne[n - 1] == 1) n--;
    return n;
}

static bool is_quantised(const s2v_gguf_tensor *tensor)
{
    static const char *const kept[] = { "_norm.weight", ".position_embd", ".patch_embd",
                                        ".rel_pos",     ".patch_merger",  ".ffn_gate_inp.",
                                        "ssm_conv1d" };
    if (s2v_quantize_n_dims(tensor) < 2 || !ends_with(tensor->name, "weight")) return false;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (contains(tensor->name, kept[i])) return false;
    return true;
}

/* First and last eighth of n, and every third between. */
static bool is_important(int32_t i, int32_t n)
{
    return i < n / 8 || i >= 7 * n / 8 || (i - n / 8) % 3 == 2;
}

static s2v_tensor_type choose_mixed(s2v_quant_chooser *c, const s2v_gguf_tensor *tensor)
{
    const s2v_tensor_type usual = c->kind->type;
    const s2v_text name = tensor->name;
    if (s2v_text_is(name, "output.weight") ||
        (c->is_tied && s2v_text_is(name, "token_embd.weight"))) {
        if (tensor->ne[0] % s2v_gguf_block(usual) != 0) return S2V_TENSOR_Q8_0;
        return usual == S2V_TENSOR_Q8_0 ? usual : S2V_TENSOR_Q6_K;
    }
    if (s2v_text_is(name, "token_embd.weight")) return usual;
    if (is_value(name)) {
        s2v_tensor_type type = usual;
        if (c->kind->is_mixed && is_important(c->i_value, c->n_value)) type = S2V_TENSOR_Q6_K;
        if (c->is_80_layer_qwen2 && type == S2V_TENSOR_Q4_K) type = S2V_TENSOR_Q5_K;
        if (c->n_experts == 8) type = S2V_TENSOR_Q8_0;
        c->i_value++;
        return type;
    }
    if (contains(name, "attn_k.weight")) return c->n_experts == 8 ? S2V_TENSOR_Q8_0 : usual;
    if (contains(name, "attn_output.weight"))
        return c->n_experts == 8 && c->kind->is_mixed && usual == S2V_TENSOR_Q4_K ? S2V_TENSOR_Q5_K
                                                                                  : usual;
    if (contains(name,
                 "ffn_down")) { /* of a layer with experts there may be two: its number counts */
        const int32_t layer = c->n_experts > 1 ? s2v_quant_layer(name) : c->i_down;
        const bool more = c->kind->is_mixed && is_important(layer, c->n_layers);
        c->i_down++;
        return more ? S2V_TENSOR_Q6_K : usual;
    }
    return usual;
}

static s2v_tensor_type fit(s2v_quant_chooser *c, const s2v_gguf_tensor *tensor,
                           s2v_tensor_type type)
{
    if (tensor->ne[0] % s2v_gguf_block(type) == 0) return type;
    c->n_fallback++;
    if (type == S2V_TENSOR_Q4_K) type = S2V_TENSOR_Q5_0;
    if (type == S2V_TENSOR_Q5_K) type = S2V_TENSOR_Q5_1;
    if (type == S2V_TENSOR_Q6_K) type = S2V_TENSOR_Q8_0;
    return tensor->ne[0] % s2v_gguf_block(type) == 0 ? type : S2V_TENSOR_F16;
}

s2v_tensor_type s2v_quant_choose(s2v_quant_chooser *chooser, const s2v_gguf_tensor *tensor)
{
    if (!is_quantised(tensor)) return (s2v_tensor_type)tensor->type;
    if (s2v_gguf_block(chooser->kind->type) == 1) return chooser->kind->type;
    return fit(chooser, tensor, choose_mixed(chooser, tensor));
}

void s2v_quant_chooser_init(s2v_quant_chooser *chooser, const s2v_quant_kind *kind,
                            const s2v_gguf *file)
{
    *chooser = (s2v_quant_chooser){ .kind = kind, .is_tied = true };
    for (size_t i = 0; i < s2v_gguf_n_tensors(file); i++) {
        const s2v_text name = s2v_gguf_tensor_at(file, i)->name;
        if (s2v_text_is(name, "output.weight")) chooser->is_tied = false;
        if (is_value(name)) chooser->n_value++;
    }
    s2v_text arch = { "", 0 };
    int64_t n_layers = 0, n_experts = 0;
    (void)s2v_gguf_string(file, "general.architecture", &arch);
    for (size_t i = 0; i < N_ARCHITECTURES; i++) {
        char key[64];
        (void)snprintf(key, sizeof key, "%s.block_count", architectures[i]);
        if (!s2v_text_is(arch, architectures[i])) continue;
        (void)s2v_gguf_int(file, key, &n_layers);
        (void)snprintf(key, sizeof key, "%s.expert_count", architectures[i]);
        (void)s2v_gguf_int(file, key, &n_experts);
    }
    chooser->n_experts = n_experts > 0 && n_experts < 65536 ? (int32_t)n_experts : 0;
    chooser->n_layers = n_layers > 0 && n_layers < 4096 ? (int32_t)n_layers : 0;
    chooser->is_80_layer_qwen2 = s2v_text_is(arch, "qwen2") && n_layers == 80;
}
