/* cost.c - the formulas of the paper's efficiency table, and the sizes of published models. */
#include "analyze/cost.h"

#include <string.h>

/* Qwen2.5-VL's tower: 32 blocks of 1280, four of them on the whole picture, windows of 8 x 8 patches. */
#define QWEN_TOWER(ff, out)                        \
    {                                              \
        32, 1280, ff, 3, 4, 64, 4, out, 5120, 0, 0 \
    }
/* Qwen2-VL's: the same blocks without gate and windows. */
#define QWEN2_TOWER(out)                              \
    {                                                 \
        32, 1280, 5120, 2, 32, 64, 4, out, 5120, 0, 0 \
    }
/* Qwen3-VL's two, with three blocks merged besides the last. */
#define QWEN3_SMALL_TOWER(out)                        \
    {                                                 \
        24, 1024, 4096, 2, 24, 64, 4, out, 4096, 3, 0 \
    }
#define QWEN3_TOWER(out)                              \
    {                                                 \
        27, 1152, 4304, 2, 27, 64, 4, out, 4608, 3, 0 \
    }
/* SigLIP so400m without its last block, as LLaVA-OneVision reads it. */
#define SIGLIP_TOWER(out)                             \
    {                                                 \
        26, 1152, 4304, 2, 26, 729, 1, out, out, 0, 0 \
    }

/* CLIP's without its last block, as LLaVA-1.5 reads it. */
#define CLIP_TOWER(out)                               \
    {                                                 \
        23, 1024, 4096, 2, 23, 576, 1, out, out, 0, 0 \
    }
/* InternViT-300M: every tile by itself. */
#define INTERNVIT_TOWER(out)                          \
    {                                                 \
        24, 1024, 4096, 2, 0, 1024, 4, out, out, 0, 0 \
    }
/* SmolVLM's two, tile by tile; the projector is one matrix, so nothing comes after its width. */
#define SMOL_TOWER(out)                             \
    {                                               \
        12, 768, 3072, 2, 0, 1024, 16, 0, out, 0, 0 \
    }
#define SMOL_LARGE_TOWER(out)                      \
    {                                              \
        27, 1152, 4304, 2, 0, 729, 9, 0, out, 0, 0 \
    }
/* SigLIP's 4,096 patches, of which the mean of 16 is a token; one matrix. */
#define GEMMA_TOWER(out)                              \
    {                                                 \
        27, 1152, 4304, 2, 27, 4096, 16, 0, out, 0, 1 \
    }

/* From the config.json of the published checkpoints. Qwen2-VL 2B's are those of mllm's
 * configuration_qwen2vl.hpp, Qwen3-VL 32B's those that converters of MiniMax-H3, whose text encoder it is, check
 * it for; other Qwen2-VL's as copied by their quantized and fine-tuned descendants. */
/* clang-format off */
static const s2_model_size sizes[] = {
    { "qwen2.5-vl-3b",         36, 2048,  256, 11008, 576, QWEN_TOWER(3420, 2048), 0, 0 },
    { "qwen2.5-vl-7b",         28, 3584,  512, 18944, 576, QWEN_TOWER(3420, 3584), 0, 0 },
    { "qwen2.5-vl-32b",        64, 5120, 1024, 27648, 576, QWEN_TOWER(3456, 5120), 0, 0 },
    { "qwen2.5-vl-72b",        80, 8192, 1024, 29568, 576, QWEN_TOWER(3456, 8192), 0, 0 },
    { "llava-onevision-0.5b",  24,  896,  128,  4864, 729, SIGLIP_TOWER(896), 0, 0 },
    { "llava-onevision-7b",    28, 3584,  512, 18944, 729, SIGLIP_TOWER(3584), 0, 0 },
    { "llava-onevision-72b",   80, 8192, 1024, 29568, 729, SIGLIP_TOWER(8192), 0, 0 },
    { "qwen2-vl-2b",           28, 1536,  256,  8960, 576, QWEN2_TOWER(1536), 0, 0 },
    { "qwen2-vl-7b",           28, 3584,  512, 18944, 576, QWEN2_TOWER(3584), 0, 0 },
    { "qwen2-vl-72b",          80, 8192, 1024, 29568, 576, QWEN2_TOWER(8192), 0, 0 },
    { "qwen3-vl-2b",           28, 2048, 1024,  6144, 441, QWEN3_SMALL_TOWER(2048), 0, 0 },
    { "qwen3-vl-4b",           36, 2560, 1024,  9728, 441, QWEN3_SMALL_TOWER(2560), 4096, 0 },
    { "qwen3-vl-8b",           36, 4096, 1024, 12288, 441, QWEN3_TOWER(4096), 0, 0 },
    { "qwen3-vl-32b",          64, 5120, 1024, 25600, 441, QWEN3_TOWER(5120), 8192, 0 },
    /* the feed-forward width is that of the 8 experts a row uses */
    { "qwen3-vl-30b-a3b",      48, 2048,  512,  6144, 441, QWEN3_TOWER(2048), 4096, 128 },
    { "llava-1.5-7b",          32, 4096, 4096, 11008, 576, CLIP_TOWER(4096), 0, 0 },
    { "llava-1.5-13b",         40, 5120, 5120, 13824, 576, CLIP_TOWER(5120), 0, 0 },
    /* 672x672 is four tiles and a thumbnail, or 16 tiles and the whole picture */
    { "internvl3-1b",          24,  896,  128,  4864, 1280, INTERNVIT_TOWER(896), 0, 0 },
    { "internvl3-2b",          28, 1536,  256,  8960, 1280, INTERNVIT_TOWER(1536), 0, 0 },
    { "internvl3-8b",          28, 3584,  512, 18944, 1280, INTERNVIT_TOWER(3584), 0, 0 },
    { "internvl3-14b",         48, 5120, 1024, 13824, 1280, INTERNVIT_TOWER(5120), 0, 0 },
    { "internvl3.5-1b",        28, 1024, 1024,  3072, 1280, INTERNVIT_TOWER(1024), 2048, 0 },
    { "internvl3.5-2b",        28, 2048, 1024,  6144, 1280, INTERNVIT_TOWER(2048), 0, 0 },
    { "internvl3.5-4b",        36, 2560, 1024,  9728, 1280, INTERNVIT_TOWER(2560), 4096, 0 },
    { "internvl3.5-8b",        36, 4096, 1024, 12288, 1280, INTERNVIT_TOWER(4096), 0, 0 },
    { "internvl3.5-14b",       40, 5120, 1024, 17408, 1280, INTERNVIT_TOWER(5120), 0, 0 },
    { "internvl3.5-30b-a3b",   48, 2048,  512,  6144, 1280, INTERNVIT_TOWER(2048), 4096, 128 },
    { "smolvlm2-256m",         30,  576,  192,  1536, 1088, SMOL_TOWER(576), 0, 0 },
    { "smolvlm2-500m",         32,  960,  320,  2560, 1088, SMOL_TOWER(960), 0, 0 },
    { "smolvlm2-2.2b",         24, 2048, 2048,  8192, 1377, SMOL_LARGE_TOWER(2048), 0, 0 },
    { "gemma-3-4b",            34, 2560, 1024, 10240,  256, GEMMA_TOWER(2560), 2048, 0 },
    { "gemma-3-12b",           48, 3840, 2048, 15360,  256, GEMMA_TOWER(3840), 4096, 0 },
    { "gemma-3-27b",           62, 5376, 2048, 21504,  256, GEMMA_TOWER(5376), 4096, 0 },
};
/* clang-format on */

const s2_model_size *s2_model_size_at(size_t index)
{
    return index < sizeof sizes / sizeof *sizes ? &sizes[index] : NULL;
}

const s2_model_size *s2_model_size_find(const char *name)
{
    for (size_t i = 0; s2_model_size_at(i); i++)
        if (strcmp(sizes[i].name, name) == 0) return &sizes[i];
    return NULL;
}

s2_text_mix s2_text_mix_pope(void)
{
    return (s2_text_mix){ 3, { 39.0, 40.0, 41.0 }, { 2325.0, 636.0, 39.0 } };
}

s2_text_mix s2_text_mix_of(double tokens) { return (s2_text_mix){ 1, { tokens }, { 1.0 } }; }

double s2_text_mix_mean(const s2_text_mix *mix)
{
    double sum = 0.0, total = 0.0;
    for (int32_t i = 0; i < mix->n; i++) {
        sum += mix->weight[i] * mix->tokens[i];
        total += mix->weight[i];
    }
    return sum / total;
}

double s2_layer_flops(const s2_model_size *size, double n)
{
    const double d = size->n_embd, d_kv = size->n_kv_embd, m = size->n_ff;
    const double d_q = size->n_q_embd > 0 ? size->n_q_embd : d;
    const double products = 2.0 * d * d_q + 2.0 * d * d_kv + 3.0 * d * m + d * size->n_experts;
    return 2.0 * n * products + 4.0 * n * n * d_q;
}

double s2_prefill_flops(const s2_model_size *size, int32_t visual, int32_t kept, int32_t n_full,
                        const s2_text_mix *mix)
{
    double sum = 0.0, total = 0.0;
    for (int32_t i = 0; i < mix->n; i++) {
        const double t = mix->tokens[i];
        sum += mix->weight[i] * (n_full * s2_layer_flops(size, visual + t) +
                                 (size->n_layers - n_full) * s2_layer_flops(size, kept + t));
        total += mix->weight[i];
    }
    return sum / total;
}

double s2_visual_kv_bytes(const s2_model_size *size, int32_t visual, int32_t kept, int32_t n_full)
{
    const double tokens = (double)n_full * visual + (double)(size->n_layers - n_full) * kept;
    return 2.0 * 2.0 * size->n_kv_embd * tokens;
}

int32_t s2_full_layers(const s2p_method *method, int32_t n_layers)
{
    if (s2p_method_about(method)->resizes) return 0;
    if (s2p_method_about(method)->keeps_all) return n_layers;
    if (s2p_method_about(method)->n_stages > 1) return -1;
    const int32_t n = s2p_method_about(method)->after[0] + 1;
    return n < n_layers ? n : n_layers;
}

int32_t s2_published_tokens(const s2p_method *method, int32_t budget)
{
    static const char *const own_counts[] = { "v2drop", "feather-full", "holov", "prumerge+",
                                              "sparsevlm" };
    if (strcmp(s2p_method_about(method)->name, "dart") == 0)
        return 4 + 8 * (budget / 8); /* pivots and their shares */
    for (size_t i = 0; i < sizeof own_counts / sizeof *own_counts; i++)
        if (strcmp(s2p_method_about(method)->name, own_counts[i]) == 0) return -1;
    return budget;
}
