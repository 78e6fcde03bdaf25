/* qwen2_5_vl.h - sizes and weights of Qwen2.5-VL's tower: s2v_model.own of such a model. */
#ifndef S2_ENGINE_QWEN2_5_VL_H
#define S2_ENGINE_QWEN2_5_VL_H

#include "engine/vision/archs/tower.h"

typedef struct qwen_block {
    s2v_block base;
    struct ggml_tensor *gate, *gate_bias;
    s2v_packed_block packed; /* instead of all of these, on the tower's own kernels */
} qwen_block;

typedef struct qwen_tower {
    int32_t window;     /* tokens per window side */
    int32_t full_every; /* block i attends everywhere when (i + 1) % full_every == 0 */
    s2v_heads heads;
    struct ggml_tensor *patch_embd; /* F32 [patch_row, n_embd] */
    struct ggml_tensor *post_norm;
    s2v_merger merger;
    qwen_block block[]; /* [n_blocks] */
} qwen_tower;

#endif /* S2_ENGINE_QWEN2_5_VL_H */
