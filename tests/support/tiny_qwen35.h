/* tiny_qwen35.h - a Qwen3.5 pair with seeded random weights.
 *
 * The decoder of tiny_qwen3.h with heads of 32, of which 16 values turn, a gate behind attention, and every
 * second layer a gated delta net instead: 2 key heads and 6 value heads of 8. The tower is that of
 * tiny_qwen3.h without deepstack.
 */
#ifndef TESTS_TINY_QWEN35_H
#define TESTS_TINY_QWEN35_H

#include "tiny_qwen3.h"

enum {
    QWEN35_HEAD = 32, /* a block of Q8_0 */
    QWEN35_KEY_HEADS = 2,
    QWEN35_VALUE_HEADS = 6,
    QWEN35_STATE = 8,
    QWEN35_VALUES = QWEN35_VALUE_HEADS * QWEN35_STATE,
    QWEN35_CHANNELS = 2 * QWEN35_KEY_HEADS * QWEN35_STATE + QWEN35_VALUES,
    QWEN35_LAYERS = 6
};

static inline void qwen35_drop(tiny_file *f, const char *pattern, int i)
{
    char name[64];
    (void)snprintf(name, sizeof name, "blk.%d.%s", i, pattern);
    tiny_drop_tensor(f, (size_t)(tiny_find_tensor(f, name) - f->tensor));
}

static inline void qwen35_delta_net(tiny_file *f, int i)
{
    static const char *const dropped[] = { "attn_q.weight",      "attn_k.weight",
                                           "attn_v.weight",      "attn_output.weight",
                                           "attn_q_norm.weight", "attn_k_norm.weight" };
    for (size_t k = 0; k < sizeof dropped / sizeof *dropped; k++) qwen35_drop(f, dropped[k], i);
    tiny_add_tensor(f, "blk.%d.attn_qkv.weight", i, TINY_WIDTH, QWEN35_CHANNELS)->spread = 0.5f;
    tiny_add_tensor(f, "blk.%d.attn_gate.weight", i, TINY_WIDTH, QWEN35_VALUES);
    tiny_add_tensor(f, "blk.%d.ssm_alpha.weight", i, TINY_WIDTH, QWEN35_VALUE_HEADS);
    tiny_add_tensor(f, "blk.%d.ssm_beta.weight", i, TINY_WIDTH, QWEN35_VALUE_HEADS);
    tiny_add_tensor(f, "blk.%d.ssm_conv1d.weight", i, 4, QWEN35_CHANNELS)->spread = 0.7f;
    tiny_add_tensor(f, "blk.%d.ssm_dt.bias", i, QWEN35_VALUE_HEADS, 0);
    tiny_add_tensor(f, "blk.%d.ssm_a", i, QWEN35_VALUE_HEADS, 0)->centre = -0.5f;
    tiny_add_tensor(f, "blk.%d.ssm_norm.weight", i, QWEN35_STATE, 0);
    tiny_add_tensor(f, "blk.%d.ssm_out.weight", i, QWEN35_VALUES, TINY_WIDTH);
}

static inline void qwen35_text(tiny_file *f, int n_layers)
{
    qwen3_text(f, n_layers);
    tiny_find_key(f, "general.architecture")->text = "qwen35";
    tiny_drop_key(f, (size_t)(tiny_find_key(f, "qwen3vl.n_deepstack_layers") - f->key));
    for (size_t i = 0; i < f->n_keys; i++) {
        char rest[64];
        if (strncmp(f->key[i].name, "qwen3vl.", 8) != 0) continue;
        (void)snprintf(rest, sizeof rest, "%s", f->key[i].name + 8);
        (void)snprintf(f->key[i].name, sizeof f->key[i].name, "qwen35.%.50s", rest);
    }
    tiny_key *sections = tiny_find_key(f, "qwen35.rope.dimension_sections");
    memcpy(sections->value, (const double[]){ 3, 3, 2, 0 }, 4 * sizeof(double));
    tiny_find_key(f, "qwen35.attention.key_length")->value[0] = QWEN35_HEAD;
    tiny_number(f, "qwen35.rope.dimension_count", U32, 16);
    tiny_number(f, "qwen35.full_attention_interval", U32, 2);
    tiny_number(f, "qwen35.ssm.conv_kernel", U32, 4);
    tiny_number(f, "qwen35.ssm.state_size", U32, QWEN35_STATE);
    tiny_number(f, "qwen35.ssm.group_count", U32, QWEN35_KEY_HEADS);
    tiny_number(f, "qwen35.ssm.time_step_rank", U32, QWEN35_VALUE_HEADS);
    tiny_number(f, "qwen35.ssm.inner_size", U32, QWEN35_VALUES);
    for (int i = 0; i < n_layers; i++) {
        char name[64];
        (void)snprintf(name, sizeof name, "blk.%d.ffn_norm.weight", i);
        tiny_tensor *norm = tiny_find_tensor(f, name);
        (void)snprintf(norm->name, sizeof norm->name, "blk.%d.post_attention_norm.weight", i);
        if (i % 2 == 0) {
            qwen35_delta_net(f, i);
            continue;
        }
        static const struct {
            const char *part;
            int dim, size;
        } sizes[] = {
            { "attn_q.weight", 1, 4 * QWEN35_HEAD },  { "attn_k.weight", 1, QWEN35_HEAD },
            { "attn_v.weight", 1, QWEN35_HEAD },      { "attn_output.weight", 0, 2 * QWEN35_HEAD },
            { "attn_q_norm.weight", 0, QWEN35_HEAD }, { "attn_k_norm.weight", 0, QWEN35_HEAD }
        };
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            (void)snprintf(name, sizeof name, "blk.%d.%s", i, sizes[k].part);
            tiny_find_tensor(f, name)->ne[sizes[k].dim] = (uint64_t)sizes[k].size;
        }
    }
}

/* At least three blocks. */
static inline void qwen35_mmproj(tiny_file *f, int n_blocks)
{
    static const char *const parts[] = { "norm.weight", "norm.bias",  "fc1.weight",
                                         "fc1.bias",    "fc2.weight", "fc2.bias" };
    qwen3_mmproj(f, n_blocks);
    for (int i = 0; i < 2 * QWEN3_DEEPSTACK; i += 2)
        for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
            char name[64];
            (void)snprintf(name, sizeof name, "v.deepstack.%d.%s", i, parts[k]);
            tiny_drop_tensor(f, (size_t)(tiny_find_tensor(f, name) - f->tensor));
        }
    memset(tiny_find_key(f, "clip.vision.is_deepstack_layers")->value, 0,
           (size_t)n_blocks * sizeof(double));
}

#endif /* TESTS_TINY_QWEN35_H */
