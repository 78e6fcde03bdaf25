/* gemma_3.c - Gemma 3: SigLIP on 64 x 64 patches, their means over 4 x 4, and a decoder with windows.
 *
 * Text "gemma3", mmproj "clip" with projector "gemma3". What Hugging Face computes:
 *   - bilinear to 896 x 896 pixels, whatever the picture's shape; llama.cpp pads instead, so its answers
 *     differ
 *   - the norm behind the last block, the mean of 4 x 4 patches, an RMS norm, a matrix: 256 tokens
 *   - embeddings of text are multiplied by the root of their width, rows of pictures are not
 *   - five of six layers see a window of positions, with a RoPE of their own; the sixth sees everything,
 *     with positions divided by 8
 *   - rows of one picture see each other in both directions, in every layer, whatever the window
 * A window counts positions of the whole prompt. Removing rows is then the same as masking them.
 */
#include "engine/vision/towers/llava_frame.h"

static s2p_status gemma_3_load(s2v_model *model, s2v_loader *l, s2v_gguf *text, s2v_gguf *mmproj,
                               int32_t gpu_layers, s2p_error *error)
{
    l->file = text;
    /* No key says which layers have windows, nor how the 27B scales its scores: as in llama.cpp. */
    static const s2v_decoder_style style = { .prefix = "gemma3",
                                             .has_head_norms = true,
                                             .has_post_norms = true,
                                             .is_gelu = true,
                                             .scales_text = true,
                                             .window_period = 6,
                                             .deepest = 62 };
    TRY(s2v_decoder_load(&model->decoder, l, &style, gpu_layers));
    if (model->decoder.p.n_planes > 1)
        return s2_fail(error, S2P_EFORMAT, "the model has a list 'gemma3.rope.dimension_sections'");
    static const vit_style siglip = { .title = "SigLIP",
                                      .has_patch_bias = true,
                                      .is_merged = true,
                                      .usual_merge = 4,
                                      .activation = S2V_GELU_TANH,
                                      .projector = { .norm = "v.post_ln",
                                                     .norms_patches = true,
                                                     .first = "mm.input_projection",
                                                     .pooled_norm = "mm.soft_emb_norm" } };
    TRY(s2v_vit_load(model, l, mmproj, &siglip, error));
    vit_tower *own = model->own;
    own->filter = S2_FILTER_BILINEAR;
    model->decoder.p.n_together = own->side * own->side;
    return S2P_OK;
}

const s2v_arch s2v_arch_gemma_3 = {
    .title = "Gemma 3",
    .name = "gemma3",
    .projector = "gemma3",
    .chat_format = "gemma",
    .load = gemma_3_load,
    .frame = s2v_llava_frame,
    .measured = s2v_llava_measured,
    .vision = s2v_vit_vision,
    .positions = s2v_positions_plain,
    .layers = s2v_draw_layers,
    .head = s2v_draw_head,
};
