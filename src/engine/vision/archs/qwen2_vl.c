/* qwen2_vl.c - Qwen2-VL: a ViT without windows, otherwise as Qwen2.5-VL.
 *
 * Text "qwen2vl", mmproj "clip" with projector "qwen2vl_merger". What differs from Qwen2.5-VL is the
 * tower: LayerNorm with biases, a feed-forward part without a gate and with quick GELU, attention over
 * the whole picture in every block. clip.vision.feed_forward_length is not the width of that part
 * (llama.cpp's converter writes the tower's output width, its predecessor 0), so the width is read
 * from the tensor.
 */
#include "engine/vision/towers/qwen_frame.h"

static s2p_status qwen2_load(s2v_model *model, s2v_loader *loader, s2v_gguf *text, s2v_gguf *mmproj,
                             int32_t gpu_layers, s2p_error *error)
{
    static const qwen_kind kind = { .text = { .prefix = "qwen2vl", .has_biases = true },
                                    .norm = S2V_NORM_LAYER,
                                    .activation = S2V_GELU_QUICK,
                                    .min_pixels = 56 * 56 };
    bool is_gelu = false, is_silu = false;
    (void)s2v_gguf_bool(mmproj, "clip.use_gelu", &is_gelu);
    (void)s2v_gguf_bool(mmproj, "clip.use_silu", &is_silu);
    if (is_gelu || is_silu)
        return s2_fail(
            error, S2P_EUNSUPPORTED,
            "clip.use_%s is true: Qwen2-VL's tower has quick GELU, which both keys leave "
            "false",
            is_gelu ? "gelu" : "silu");
    return s2v_qwen_load(model, loader, text, mmproj, gpu_layers, &kind, error);
}

const s2v_arch s2v_arch_qwen2_vl = {
    .title = "Qwen2-VL",
    .name = "qwen2vl",
    .projector = "qwen2vl_merger",
    .chat_format = "qwen2-vl",
    .skips_tokens = true,
    .any_size = true,
    .load = qwen2_load,
    .frame = s2v_qwen_frame,
    .vision = s2v_qwen_vision,
    .positions = s2v_mrope,
    .layers = s2v_draw_layers,
    .head = s2v_draw_head,
};
