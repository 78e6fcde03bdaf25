/* qwen_frame.h - the tower's input for Qwen2-VL and Qwen2.5-VL. */
#ifndef S2_ENGINE_QWEN_FRAME_H
#define S2_ENGINE_QWEN_FRAME_H

#include "engine/vision/arch.h"

s2p_status s2v_qwen_frame(const s2v_model *model, const s2p_image *image,
                          const s2v_image_options *options, s2v_framing usual, s2v_frame *out,
                          s2p_error *error);

#endif /* S2_ENGINE_QWEN_FRAME_H */
