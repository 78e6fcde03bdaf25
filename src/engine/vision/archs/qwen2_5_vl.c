/* qwen2_5_vl.c - Qwen2.5-VL: a windowed ViT, a 2x2 merger, the Qwen2 decoder with M-RoPE.
 *
 * Keys and names as llama.cpp writes them (text "qwen2vl", mmproj "clip" with
 * projector "qwen2.5vl_merger").
 */
#include "engine/vision/towers/qwen_frame.h"

static s2p_status qwen2_5_load(s2v_model *model, s2v_loader *loader, s2v_gguf *text,
                               s2v_gguf *mmproj, int32_t gpu_layers, s2p_error *error)
{
    static const qwen_kind kind = { .text = { .prefix = "qwen2vl", .has_biases = true },
                                    .norm = S2V_NORM_RMS,
                                    .activation = S2V_SWIGLU,
                                    .has_windows = true,
                                    .min_pixels = 56 * 56 };
    return s2v_qwen_load(model, loader, text, mmproj, gpu_layers, &kind, error);
}

const s2v_arch s2v_arch_qwen2_5_vl = {
    .title = "Qwen2.5-VL",
    .name = "qwen2vl",
    .projector = "qwen2.5vl_merger",
    .chat_format = "qwen2-vl",
    .skips_tokens = true,
    .any_size = true,
    .load = qwen2_5_load,
    .frame = s2v_qwen_frame,
    .vision = s2v_qwen_vision,
    .positions = s2v_mrope,
    .layers = s2v_draw_layers,
    .head = s2v_draw_head,
};
