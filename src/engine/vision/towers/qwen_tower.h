/* qwen_tower.h - the vision towers of the Qwen-VL family: s2v_model.own of such a model.
 *
 * They share patches of two frames, 2 x 2 patches merged into a token and a rotation in two dimensions.
 * They differ in norms, feed-forward part and windows: qwen_kind.
 */
#ifndef S2_ENGINE_QWEN_TOWER_H
#define S2_ENGINE_QWEN_TOWER_H

#include "engine/vision/towers/tower.h"

typedef struct qwen_kind {
    s2v_decoder_style text;
    s2v_norm norm;
    s2v_activation activation; /* of the feed-forward part; S2V_SWIGLU: with a gate */
    bool has_windows;          /* but for every n_wa_pattern-th block */
    bool
        has_positions; /* learned ones, interpolated, in addition to RoPE; then patches have a bias, q, k
                           and v are one matrix, and blocks may have a merger of their own (deepstack) */
    int32_t min_pixels; /* of a picture, if the file does not give it */
} qwen_kind;

typedef struct qwen_deepstack { /* a block's output, merged for the decoder */
    int32_t block;
    struct ggml_tensor *norm, *norm_bias; /* over the patches of a token together */
    s2v_merger merger;
} qwen_deepstack;

typedef struct qwen_block {
    s2v_block base;
    struct ggml_tensor *norm1_bias, *norm2_bias; /* NULL with RMS norms */
    struct ggml_tensor *gate, *gate_bias;        /* NULL without a gate */
    s2v_packed_block packed; /* instead of all of these, on the tower's own kernels */
} qwen_block;

typedef struct qwen_tower {
    qwen_kind kind;
    int32_t window;     /* tokens per window side; 0: no windows */
    int32_t full_every; /* block i attends to everything if (i + 1) % full_every == 0 */
    s2v_heads heads;
    struct ggml_tensor *patch_embd; /* F32 [patch_row, n_embd] */
    struct ggml_tensor *post_norm, *post_norm_bias;
    int32_t position_side;                          /* learned positions per side, or 0 */
    struct ggml_tensor *patch_bias, *position_embd; /* [n_embd, side * side] */
    s2v_merger merger;
    int32_t n_deepstack;
    qwen_deepstack deepstack[S2V_MAX_DEEPSTACK];
    qwen_block block[]; /* [n_blocks] */
} qwen_tower;

/* A decoder with M-RoPE and a tower of this kind; otherwise as s2v_arch.load. */
s2p_status s2v_qwen_load(s2v_model *model, s2v_loader *loader, s2v_gguf *text, s2v_gguf *mmproj,
                         int32_t gpu_layers, const qwen_kind *kind, s2p_error *error);

/* As s2v_arch.vision. */
struct ggml_tensor *s2v_qwen_vision(s2v_graph *graph, const s2v_model *model,
                                    const s2v_frame *frame, int32_t view,
                                    s2v_tower_request *request);

#endif /* S2_ENGINE_QWEN_TOWER_H */
