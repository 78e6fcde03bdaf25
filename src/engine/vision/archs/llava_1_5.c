/* llava_1_5.c - LLaVA-1.5: CLIP, a two-layer projector, the Llama decoder.
 *
 * Text "llama", mmproj "clip" with projector "mlp". What Hugging Face computes:
 *   - the class row comes first, then the patches; positions and a norm before the first block
 *   - the output of the second-to-last block goes to the projector without the class row; files in
 *     circulation have no block behind it
 * llama.cpp puts the class row last and runs one block less, so its answers on these files differ.
 *
 * A picture is padded to a square of the mean color, as in the papers; Hugging Face's processor
 * crops it instead (S2V_FRAMING_CROP).
 */
#include "engine/vision/towers/llava_frame.h"

static s2p_status llava_1_5_load(s2v_model *model, s2v_loader *l, s2v_gguf *text, s2v_gguf *mmproj,
                                 int32_t gpu_layers, s2p_error *error)
{
    const bool is_clip = s2v_gguf_find_tensor(mmproj, "v.class_embd") != NULL; /* or OneVision's */
    if (is_clip && (s2v_gguf_find_tensor(mmproj, "v.image_newline") ||
                    s2v_gguf_find_tensor(mmproj, "model.image_newline") ||
                    s2v_gguf_find_key(mmproj, "clip.vision.image_grid_pinpoints")))
        return s2_fail(error, S2P_EUNSUPPORTED,
                       "the mmproj is that of LLaVA-1.6, whose tiles are not supported");
    l->file = text;
    /* llama.cpp's converter reorders the rows of q and k in Llama files for this rotation. */
    static const s2v_decoder_style style = { .prefix = "llama", .rotates_neighbours = true };
    TRY(s2v_decoder_load(&model->decoder, l, &style, gpu_layers));
    if (model->decoder.p.n_planes > 1)
        return s2_fail(error, S2P_EFORMAT, "the model has a list 'llama.rope.dimension_sections'");
    static const vit_style clip = { .title = "CLIP",
                                    .has_class_row = true,
                                    .has_pre_norm = true,
                                    .is_quick = true,
                                    .activation = S2V_GELU_QUICK,
                                    .projector = { .first = "mm.0", .second = "mm.2" } };
    return s2v_vit_load(model, l, mmproj, &clip, error);
}

static s2v_framing llava_1_5_usual_framing(int32_t n_images, bool is_pruned)
{
    (void)n_images;
    (void)is_pruned;
    return S2V_FRAMING_SQUARE;
}

const s2v_arch s2v_arch_llava_1_5 = {
    .title = "LLaVA-1.5",
    .name = "llama",
    .projector = "mlp",
    .chat_format = "vicuna",
    .has_class_row = true,
    .load = llava_1_5_load,
    .usual_framing = llava_1_5_usual_framing,
    .frame = s2v_llava_frame,
    .measured = s2v_llava_measured,
    .vision = s2v_vit_vision,
    .positions = s2v_positions_plain,
    .layers = s2v_draw_layers,
    .head = s2v_draw_head,
};
