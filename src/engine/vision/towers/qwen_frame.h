/* qwen_frame.h - the tower's input for the Qwen-VL family, and the order of its patches. */
#ifndef S2_ENGINE_QWEN_FRAME_H
#define S2_ENGINE_QWEN_FRAME_H

#include "engine/vision/towers/qwen_tower.h"

typedef struct qwen_order { /* s2v_frame.own */
    s2v_windows windows;    /* those of a kind side by side */
    s2v_windows whole;      /* all patches as one */
    int32_t list[]; /* positions, then raster, then for learned positions rows and weights */
} qwen_order;

/* [4][n_patches] row, column, row, column of each patch. */
static inline const int32_t *qwen_positions(const s2v_frame *frame)
{
    return ((const qwen_order *)frame->own)->list;
}

/* [n_rows] the place of each present token, in raster order, in the tower's order. */
static inline const int32_t *qwen_raster(const s2v_frame *frame)
{
    return qwen_positions(frame) + 4 * (ptrdiff_t)frame->n_patches;
}

/* [4][n_patches] the learned positions each patch is interpolated from. */
static inline const int32_t *qwen_taps(const s2v_frame *frame)
{
    return qwen_raster(frame) + frame->n_rows;
}

/* [4][n_patches] floats: the weight of each. */
static inline const int32_t *qwen_tap_weights(const s2v_frame *frame)
{
    return qwen_taps(frame) + 4 * (ptrdiff_t)frame->n_patches;
}

s2p_status s2v_qwen_frame(const s2v_model *model, const s2p_image *image,
                          const s2v_image_options *options, s2v_framing usual, s2v_frame *out,
                          s2p_error *error);

#endif /* S2_ENGINE_QWEN_FRAME_H */
