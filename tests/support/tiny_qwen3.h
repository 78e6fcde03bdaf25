/* tiny_qwen3.h - a Qwen3-VL pair with seeded random weights.
 *
 * The decoder of tiny_model.h with heads of 16 (two are not the width of 64), norms of heads instead of
 * biases, and rows added after layers 0 and 1. The tower of tiny_qwen2.h with 5 x 5 learned positions,
 * queries, keys and values in one matrix, and mergers after blocks 0 and 2.
 */
#ifndef TESTS_TINY_QWEN3_H
#define TESTS_TINY_QWEN3_H

#include "tiny_qwen2.h"

#define QWEN3_HEAD 16
#define QWEN3_SIDE 5 /* learned positions */
#define QWEN3_DEEPSTACK 2

static inline void qwen3_text(tiny_file *f, int n_layers)
{
    static const char *const dropped[] = { "attn_q.bias", "attn_k.bias", "attn_v.bias" };
    tiny_text(f, &tiny_words, n_layers);
    tiny_find_key(f, "general.architecture")->text = "qwen3vl";
    for (size_t i = 0; i < f->n_keys; i++)
        if (strncmp(f->key[i].name, "qwen2vl.", 8) == 0) f->key[i].name[4] = '3';
    tiny_key *sections = tiny_find_key(f, "qwen3vl.rope.dimension_sections");
    memcpy(sections->value, (const double[]){ 4, 2, 2, 0 }, 4 * sizeof(double));
    tiny_number(f, "qwen3vl.attention.key_length", U32, QWEN3_HEAD);
    tiny_number(f, "qwen3vl.n_deepstack_layers", U32, QWEN3_DEEPSTACK);
    for (int i = 0; i < n_layers; i++) {
        char name[64];
        for (size_t k = 0; k < sizeof dropped / sizeof *dropped; k++) {
            (void)snprintf(name, sizeof name, "blk.%d.%s", i, dropped[k]);
            tiny_drop_tensor(f, (size_t)(tiny_find_tensor(f, name) - f->tensor));
        }
        (void)snprintf(name, sizeof name, "blk.%d.attn_q.weight", i);
        tiny_find_tensor(f, name)->ne[1] = 2 * QWEN3_HEAD;
        (void)snprintf(name, sizeof name, "blk.%d.attn_k.weight", i);
        tiny_find_tensor(f, name)->ne[1] = QWEN3_HEAD;
        (void)snprintf(name, sizeof name, "blk.%d.attn_v.weight", i);
        tiny_find_tensor(f, name)->ne[1] = QWEN3_HEAD;
        (void)snprintf(name, sizeof name, "blk.%d.attn_output.weight", i);
        tiny_find_tensor(f, name)->ne[0] = 2 * QWEN3_HEAD;
        tiny_add_tensor(f, "blk.%d.attn_q_norm.weight", i, QWEN3_HEAD, 0);
        tiny_add_tensor(f, "blk.%d.attn_k_norm.weight", i, QWEN3_HEAD, 0);
    }
}

/* At least three blocks. */
static inline void qwen3_mmproj(tiny_file *f, int n_blocks)
{
    const uint64_t n = TINY_VISION, wide = 4 * (uint64_t)TINY_VISION;
    static const char *const parts[] = { "attn_q", "attn_k", "attn_v" };
    double is_deepstack[16] = { 0 };
    qwen2_mmproj(f, n_blocks);
    tiny_find_key(f, "clip.projector_type")->text = "qwen3vl_merger";
    for (int i = 0; i < n_blocks; i++) {
        char name[64];
        for (int k = 0; k < 6; k++) {
            (void)snprintf(name, sizeof name, "v.blk.%d.%s.%s", i, parts[k / 2],
                           k % 2 ? "bias" : "weight");
            tiny_drop_tensor(f, (size_t)(tiny_find_tensor(f, name) - f->tensor));
        }
        tiny_add_tensor(f, "v.blk.%d.attn_qkv.weight", i, n, 3 * n);
        tiny_add_tensor(f, "v.blk.%d.attn_qkv.bias", i, 3 * n, 0);
    }
    tiny_add_tensor(f, "v.patch_embd.bias", 0, n, 0);
    tiny_add_tensor(f, "v.position_embd.weight", 0, n, QWEN3_SIDE * QWEN3_SIDE)->spread = 0.5f;
    for (int i = 0; i < 2 * QWEN3_DEEPSTACK; i += 2) {
        is_deepstack[i] = 1;
        tiny_add_tensor(f, "v.deepstack.%d.norm.weight", i, wide, 0);
        tiny_add_tensor(f, "v.deepstack.%d.norm.bias", i, wide, 0)->centre = 0.0f;
        tiny_add_tensor(f, "v.deepstack.%d.fc1.weight", i, wide, wide);
        tiny_add_tensor(f, "v.deepstack.%d.fc1.bias", i, wide, 0);
        tiny_add_tensor(f, "v.deepstack.%d.fc2.weight", i, wide, TINY_WIDTH);
        tiny_add_tensor(f, "v.deepstack.%d.fc2.bias", i, TINY_WIDTH, 0);
    }
    tiny_list(f, "clip.vision.is_deepstack_layers", BOOL, (uint64_t)n_blocks, is_deepstack);
}

#endif /* TESTS_TINY_QWEN3_H */
