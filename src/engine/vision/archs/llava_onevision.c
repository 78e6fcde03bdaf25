/* llava_onevision.c - LLaVA-OneVision: SigLIP, a two-layer projector, the Qwen2 decoder.
 *
 * Text "qwen2", mmproj "clip" with projector "mlp", names as llama.cpp reads them. The output of the
 * last block goes to the projector, post_layernorm is not applied; clip.vision.feature_layer says so,
 * and its absence means the same.
 */
#include "engine/vision/towers/llava_frame.h"

#define TILES 6 /* 1 to 6 tiles along each side */

/* Height and width of every arrangement of tiles, if the file lists them, are OneVision's. */
static bool has_usual_tiles(const s2v_gguf *file, int32_t image)
{
    const s2v_gguf_key *key = s2v_gguf_find_key(file, "clip.vision.image_grid_pinpoints");
    if (!key) return true;
    if (key->count != 2 * TILES * TILES) return false;
    for (int64_t i = 0; i < TILES * TILES; i++) {
        int64_t height, width;
        if (!s2v_gguf_item_int(key, (uint64_t)(2 * i), &height) ||
            !s2v_gguf_item_int(key, (uint64_t)(2 * i + 1), &width) ||
            height != image * (i / TILES + 1) || width != image * (i % TILES + 1))
            return false;
    }
    return true;
}

static s2p_status llava_load(s2v_model *model, s2v_loader *l, s2v_gguf *text, s2v_gguf *mmproj,
                             int32_t gpu_layers, s2p_error *error)
{
    l->file = text;
    static const s2v_decoder_style style = { .prefix = "qwen2", .has_biases = true };
    TRY(s2v_decoder_load(&model->decoder, l, &style, gpu_layers));
    if (model->decoder.p.n_planes > 1)
        return s2_fail(error, S2P_EFORMAT, "the model has a list 'qwen2.rope.dimension_sections'");
    static const vit_style siglip = { .title = "SigLIP",
                                      .has_patch_bias = true,
                                      .activation = S2V_GELU_TANH,
                                      .projector = { .first = "mm.0", .second = "mm.2" } };
    TRY(s2v_vit_load(model, l, mmproj, &siglip, error));
    vit_tower *own = model->own;
    own->has_tiles = has_usual_tiles(mmproj, own->image);
    return S2P_OK;
}

/* A pruned picture is seen as the paper does, an unpruned one as Hugging Face does by default, and
 * several pictures as Hugging Face does, pruned or not. */
static s2v_framing llava_usual_framing(int32_t n_images, bool is_pruned)
{
    if (n_images > 1) return S2V_FRAMING_SQUARE;
    return is_pruned ? S2V_FRAMING_BASE : S2V_FRAMING_ANYRES;
}

const s2v_arch s2v_arch_llava_onevision = {
    .title = "LLaVA-OneVision",
    .name = "qwen2",
    .projector = "mlp",
    .chat_format = "llava-onevision",
    .load = llava_load,
    .usual_framing = llava_usual_framing,
    .frame = s2v_llava_frame,
    .measured = s2v_llava_measured,
    .vision = s2v_vit_vision,
    .positions = s2v_positions_plain,
    .layers = s2v_draw_layers,
    .head = s2v_draw_head,
};
