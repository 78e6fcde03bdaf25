/* internvl.c - InternVL3 and 3.5: InternViT on tiles, a projector with a norm, the Qwen2 or Qwen3 decoder.
 *
 * Text "qwen2" (InternVL3), "qwen3" or "qwen3moe" (3.5), mmproj "clip" with projector "internvl". What Hugging Face
 * computes:
 *   - the picture is stretched to the arrangement of at most 12 tiles whose ratio is nearest to its own,
 *     and once more to a single view, which comes last; one tile is that view alone
 *   - the class row comes first and is left out after the last block; 2 x 2 patches are a token
 * llama.cpp chooses other tiles and pads them, so its answers differ.
 */
#include "engine/vision/towers/vit_tiles.h"

#define USUAL_TILES 12 /* where the mmproj does not say */
#define MOST_TILES 64

static s2p_status load(s2v_model *model, s2v_loader *l, s2v_gguf *text, s2v_gguf *mmproj,
                       const s2v_decoder_style *style, int32_t gpu_layers, s2p_error *error)
{
    if (s2v_gguf_find_tensor(mmproj, "v.blk.0.attn_q_norm.weight"))
        return s2_fail(error, S2P_EUNSUPPORTED,
                       "the mmproj has InternViT-6B, whose norms of queries and keys are missing "
                       "here; models of up to 14B have InternViT-300M");
    l->file = text;
    TRY(s2v_decoder_load(&model->decoder, l, style, gpu_layers));
    if (model->decoder.p.n_planes > 1)
        return s2_fail(error, S2P_EFORMAT, "the model has a list '%s.rope.dimension_sections'",
                       style->prefix);
    static const vit_style internvit = { .title = "InternViT",
                                         .has_class_row = true,
                                         .has_patch_bias = true,
                                         .has_layer_scale = true,
                                         .is_merged = true,
                                         .activation = S2V_GELU_ERF,
                                         .projector = { .norm = "mm.model.mlp.0",
                                                        .norm_eps = 1e-5f,
                                                        .first = "mm.model.mlp.1",
                                                        .second = "mm.model.mlp.3" } };
    TRY(s2v_vit_load(model, l, mmproj, &internvit, error));
    vit_tower *own = model->own;
    TRY(s2v_tower_option(mmproj, "preproc_max_tiles", 1, MOST_TILES, USUAL_TILES, &own->max_tiles,
                         error));
    return s2v_tower_option(mmproj, "preproc_min_tiles", 1, own->max_tiles, 1, &own->min_tiles,
                            error);
}

static s2p_status load_qwen2(s2v_model *model, s2v_loader *l, s2v_gguf *text, s2v_gguf *mmproj,
                             int32_t gpu_layers, s2p_error *error)
{
    static const s2v_decoder_style style = { .prefix = "qwen2", .has_biases = true };
    return load(model, l, text, mmproj, &style, gpu_layers, error);
}

static s2p_status load_qwen3(s2v_model *model, s2v_loader *l, s2v_gguf *text, s2v_gguf *mmproj,
                             int32_t gpu_layers, s2p_error *error)
{
    static const s2v_decoder_style style = { .prefix = "qwen3", .has_head_norms = true };
    return load(model, l, text, mmproj, &style, gpu_layers, error);
}

static s2p_status load_qwen3_moe(s2v_model *model, s2v_loader *l, s2v_gguf *text, s2v_gguf *mmproj,
                                 int32_t gpu_layers, s2p_error *error)
{
    static const s2v_decoder_style style = { .prefix = "qwen3moe",
                                             .has_head_norms = true,
                                             .has_experts = true };
    return load(model, l, text, mmproj, &style, gpu_layers, error);
}

/* With tiles, pruned or not, as Hugging Face does. */
static s2v_framing usual_framing(int32_t n_images, bool is_pruned)
{
    (void)n_images;
    (void)is_pruned;
    return S2V_FRAMING_ANYRES;
}

static s2p_status frame(const s2v_model *model, const s2p_image *image,
                        const s2v_image_options *options, s2v_framing usual, s2v_frame *out,
                        s2p_error *error)
{
    const vit_tower *own = model->own;
    const int32_t tile = own->image;
    const s2_resize how = (s2_resize)options->resize;
    s2v_image_options o = *options;
    s2_image tiled = { .pixels = NULL }, whole = { .pixels = NULL };
    s2_size tiles;
    bool is_whole;
    if (o.framing == S2V_FRAMING_AUTO) o.framing = usual;
    TRY(s2v_vit_tiles_asked(model, &o, &is_whole, &tiles, error));
    if (!is_whole && tiles.width == 0) {
        int64_t most = own->max_tiles;
        if (o.max_pixels > 0) most = o.max_pixels / ((int64_t)tile * tile);
        if (most > MOST_TILES) most = MOST_TILES;
        tiles = s2_nearest_tiles((s2_size){ image->width, image->height }, tile, own->min_tiles,
                                 most > 1 ? (int32_t)most : 1);
    }
    if (is_whole) tiles = (s2_size){ 1, 1 };
    vit_tiling tiling = { .rows = tiles.height,
                          .cols = tiles.width,
                          .framing = o.framing,
                          .size = { tiles.width * tile, tiles.height * tile } };
    s2p_status st = S2P_OK;
    if (image->pixels && tiles.width * tiles.height > 1) {
        st = s2_image_resize_as(image, tiling.size.width, tiling.size.height, how, &tiled, error);
        tiling.tiled = &tiled.view;
    }
    if (image->pixels && st == S2P_OK) {
        st = s2_image_resize_as(image, tile, tile, how, &whole, error);
        tiling.whole = &whole.view;
    }
    if (st == S2P_OK) st = s2v_vit_tiles_frame(model, &tiling, out, error);
    s2_image_free(&tiled);
    s2_image_free(&whole);
    return st;
}

const s2v_arch s2v_arch_internvl3 = {
    .title = "InternVL3",
    .name = "qwen2",
    .projector = "internvl",
    .chat_format = "internvl",
    .has_class_row = true,
    .load = load_qwen2,
    .usual_framing = usual_framing,
    .frame = frame,
    .vision = s2v_vit_vision,
    .positions = s2v_positions_plain,
    .layers = s2v_draw_layers,
    .head = s2v_draw_head,
};

const s2v_arch s2v_arch_internvl3_5 = {
    .title = "InternVL3.5",
    .name = "qwen3",
    .projector = "internvl",
    .chat_format = "internvl",
    .has_class_row = true,
    .load = load_qwen3,
    .usual_framing = usual_framing,
    .frame = frame,
    .vision = s2v_vit_vision,
    .positions = s2v_positions_plain,
    .layers = s2v_draw_layers,
    .head = s2v_draw_head,
};

const s2v_arch s2v_arch_internvl3_5_moe = {
    .title = "InternVL3.5 MoE",
    .name = "qwen3moe",
    .projector = "internvl",
    .chat_format = "internvl",
    .has_class_row = true,
    .load = load_qwen3_moe,
    .usual_framing = usual_framing,
    .frame = frame,
    .vision = s2v_vit_vision,
    .positions = s2v_positions_plain,
    .layers = s2v_draw_layers,
    .head = s2v_draw_head,
};
