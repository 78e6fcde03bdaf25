/* llava_frame.h - the tower's input for LLaVA-1.5, LLaVA-OneVision and Gemma 3: one view, or one and its
 * tiles. */
#ifndef S2_ENGINE_LLAVA_FRAME_H
#define S2_ENGINE_LLAVA_FRAME_H

#include "engine/vision/towers/vit_tower.h"

s2p_status s2v_llava_frame(const s2v_model *model, const s2p_image *image,
                           const s2v_image_options *options, s2v_framing usual, s2v_frame *out,
                           s2p_error *error);

/* S2V_FRAMING_SQUARE: the picture in the middle of a square of the tower's mean color.
 * S2V_FRAMING_CROP: the largest square in its middle. As s2v_arch.measured. */
s2p_status s2v_llava_measured(const s2v_model *model, s2v_framing framing, const s2p_image *source,
                              s2_size *size, s2_image *out, s2p_error *error);

#endif /* S2_ENGINE_LLAVA_FRAME_H */
