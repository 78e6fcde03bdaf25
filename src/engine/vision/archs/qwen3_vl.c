/* qwen3_vl.c - Qwen3-VL, and Qwen3.5, 3.6 and 3.8 after it: a ViT with interpolated positions and deepstack, the Qwen3 decoder.
 *
 * Text "qwen3vl", or "qwen3vlmoe" with experts (30B-A3B, 235B-A22B), mmproj "clip" with projector "qwen3vl_merger". The tower is Qwen2-VL's with learned
 * positions besides the rotation, tanh GELU, and queries, keys and values in one matrix. The outputs of
 * a few of its blocks are merged too and added to the picture's rows after the first decoder layers.
 * The decoder has heads with norms, no biases, and M-RoPE in turns.
 *
 * Text "qwen35" or "qwen35moe" has the same tower without deepstack, and a decoder of which every fourth
 * layer attends: with a gate for what comes out, and a quarter of each head turned. The layers between are
 * gated delta nets (decoder/delta.c).
 */
#include "engine/vision/towers/qwen_frame.h"

static s2p_status load(s2v_model *model, s2v_loader *loader, s2v_gguf *text, s2v_gguf *mmproj,
                       int32_t gpu_layers, const char *prefix, bool has_experts,
                       bool has_delta_nets, s2p_error *error)
{
    const qwen_kind kind = { .text = { .prefix = prefix,
                                       .has_head_norms = true,
                                       .is_interleaved = true,
                                       .has_deepstack = !has_delta_nets,
                                       .has_experts = has_experts,
                                       .has_delta_nets = has_delta_nets },
                             .norm = S2V_NORM_LAYER,
                             .activation = S2V_GELU_TANH,
                             .has_positions = true,
                             .min_pixels = 256 * 256 };
    return s2v_qwen_load(model, loader, text, mmproj, gpu_layers, &kind, error);
}

static s2p_status qwen3_load(s2v_model *model, s2v_loader *loader, s2v_gguf *text, s2v_gguf *mmproj,
                             int32_t gpu_layers, s2p_error *error)
{
    return load(model, loader, text, mmproj, gpu_layers, "qwen3vl", false, false, error);
}

static s2p_status qwen3_moe_load(s2v_model *model, s2v_loader *loader, s2v_gguf *text,
                                 s2v_gguf *mmproj, int32_t gpu_layers, s2p_error *error)
{
    return load(model, loader, text, mmproj, gpu_layers, "qwen3vlmoe", true, false, error);
}

const s2v_arch s2v_arch_qwen3_vl = {
    .title = "Qwen3-VL",
    .name = "qwen3vl",
    .projector = "qwen3vl_merger",
    .chat_format = "qwen3-vl",
    .skips_tokens = true,
    .any_size = true,
    .load = qwen3_load,
    .frame = s2v_qwen_frame,
    .vision = s2v_qwen_vision,
    .positions = s2v_mrope,
    .layers = s2v_draw_layers,
    .head = s2v_draw_head,
};

const s2v_arch s2v_arch_qwen3_vl_moe = {
    .title = "Qwen3-VL MoE",
    .name = "qwen3vlmoe",
    .projector = "qwen3vl_merger",
    .chat_format = "qwen3-vl",
    .skips_tokens = true,
    .any_size = true,
    .load = qwen3_moe_load,
    .frame = s2v_qwen_frame,
    .vision = s2v_qwen_vision,
    .positions = s2v_mrope,
    .layers = s2v_draw_layers,
    .head = s2v_draw_head,
};

static s2p_status qwen3_5_load(s2v_model *model, s2v_loader *loader, s2v_gguf *text,
                               s2v_gguf *mmproj, int32_t gpu_layers, s2p_error *error)
{
    return load(model, loader, text, mmproj, gpu_layers, "qwen35", false, true, error);
}

static s2p_status qwen3_5_moe_load(s2v_model *model, s2v_loader *loader, s2v_gguf *text,
                                   s2v_gguf *mmproj, int32_t gpu_layers, s2p_error *error)
{
    return load(model, loader, text, mmproj, gpu_layers, "qwen35moe", true, true, error);
}

const s2v_arch s2v_arch_qwen3_5 = {
    .title = "Qwen3.5",
    .name = "qwen35",
    .projector = "qwen3vl_merger",
    .chat_format = "qwen3.5",
    .skips_tokens = true,
    .any_size = true,
    .load = qwen3_5_load,
    .frame = s2v_qwen_frame,
    .vision = s2v_qwen_vision,
    .positions = s2v_mrope,
    .layers = s2v_draw_layers,
    .head = s2v_draw_head,
};

const s2v_arch s2v_arch_qwen3_5_moe = {
    .title = "Qwen3.5 MoE",
    .name = "qwen35moe",
    .projector = "qwen3vl_merger",
    .chat_format = "qwen3.5",
    .skips_tokens = true,
    .any_size = true,
    .load = qwen3_5_moe_load,
    .frame = s2v_qwen_frame,
    .vision = s2v_qwen_vision,
    .positions = s2v_mrope,
    .layers = s2v_draw_layers,
    .head = s2v_draw_head,
};
