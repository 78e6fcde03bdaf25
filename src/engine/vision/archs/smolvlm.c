/* smolvlm.c - SmolVLM and SmolVLM2: SigLIP on tiles with text between them, one matrix, the Llama decoder.
 *
 * Text "llama", mmproj "clip" with projector "idefics3". What Hugging Face computes:
 *   - Lanczos to the longest side (clip.vision.preproc_image_size), again to multiples of a tile, and
 *     once more to a single view, which comes last; where that is one tile, or without tiles, the view
 *     alone
 *   - the norm behind the last block, 4 x 4 patches (3 x 3 in the 2.2B) as one token, a matrix
 * llama.cpp resizes from the source, bicubic and padded, so its answers differ.
 */
#include "engine/vision/towers/vit_tiles.h"

#include <math.h>

#define MOST_TILES 8 /* along the longer side */

static const vit_marks marks = {
    .before_tile = "<fake_token_around_image>",
    .names_tiles = true,
    .after_line = "\n",
    .before_whole = "\n<fake_token_around_image><global-img>",
    .before_single = "<fake_token_around_image><global-img>",
    .after_whole = "<fake_token_around_image>",
};

static s2p_status smolvlm_load(s2v_model *model, s2v_loader *l, s2v_gguf *text, s2v_gguf *mmproj,
                               int32_t gpu_layers, s2p_error *error)
{
    l->file = text;
    /* llama.cpp's converter reorders the rows of q and k in Llama files for this rotation. */
    static const s2v_decoder_style style = { .prefix = "llama", .rotates_neighbours = true };
    TRY(s2v_decoder_load(&model->decoder, l, &style, gpu_layers));
    if (model->decoder.p.n_planes > 1)
        return s2_fail(error, S2P_EFORMAT, "the model has a list 'llama.rope.dimension_sections'");
    static const vit_style siglip = {
        .title = "SigLIP",
        .has_patch_bias = true,
        .is_merged = true,
        .activation = S2V_GELU_TANH,
        .projector = { .norm = "v.post_ln", .norms_patches = true, .first = "mm.model.fc" }
    };
    TRY(s2v_vit_load(model, l, mmproj, &siglip, error));
    vit_tower *own = model->own;
    return s2v_tower_option(mmproj, "preproc_image_size", own->image, MOST_TILES * own->image,
                            4 * own->image, &own->longest, error);
}

/* With tiles, pruned or not, as Hugging Face does. */
static s2v_framing smolvlm_usual_framing(int32_t n_images, bool is_pruned)
{
    (void)n_images;
    (void)is_pruned;
    return S2V_FRAMING_ANYRES;
}

/* The picture in each of the sizes of `step`, one made from the other. */
static s2p_status resize_steps(const s2p_image *image, const s2_size *step, int32_t n,
                               s2_resize how, s2_image *out, s2p_error *error)
{
    s2_image last = { .pixels = NULL };
    for (int32_t i = 0; i < n; i++) {
        s2_image next = { .pixels = NULL };
        const s2p_status st =
            s2_image_resize_with(i ? &last.view : image, step[i].width, step[i].height,
                                 S2_FILTER_LANCZOS, how, &next, error);
        s2_image_free(&last);
        if (st != S2P_OK) return st;
        last = next;
    }
    *out = last;
    return S2P_OK;
}

static s2p_status smolvlm_frame(const s2v_model *model, const s2p_image *image,
                                const s2v_image_options *options, s2v_framing usual, s2v_frame *out,
                                s2p_error *error)
{
    const vit_tower *own = model->own;
    const int32_t tile = own->image;
    s2v_image_options o = *options;
    s2_image tiled = { .pixels = NULL }, whole = { .pixels = NULL };
    s2_size tiles, fitted, size;
    bool is_whole;
    if (o.framing == S2V_FRAMING_AUTO) o.framing = usual;
    TRY(s2v_vit_tiles_asked(model, &o, &is_whole, &tiles, error));
    int32_t longest = own->longest;
    if (o.max_pixels > 0)
        longest = tile * (int32_t)fmax(fmin(sqrt((double)o.max_pixels) / tile, MOST_TILES), 1.0);
    if (s2_longest_side_tiles((s2_size){ image->width, image->height }, tile, longest, &fitted,
                              &size) != S2P_OK)
        return s2_fail(error, S2P_EUNSUPPORTED, "a picture of %dx%d pixels cannot be tiled",
                       image->width, image->height);
    if (tiles.width > 0) size = (s2_size){ tiles.width * tile, tiles.height * tile };
    if (is_whole) size = (s2_size){ tile, tile };
    vit_tiling tiling = { .rows = size.height / tile,
                          .cols = size.width / tile,
                          .framing = o.framing,
                          .size = size,
                          .marks = &marks };
    s2p_status st = S2P_OK;
    if (image->pixels) {
        const s2_size steps[] = { fitted, size, { tile, tile } };
        st = resize_steps(image, steps, 2, (s2_resize)o.resize, &tiled, error);
        if (st == S2P_OK)
            st = resize_steps(&tiled.view, steps + 2, 1, (s2_resize)o.resize, &whole, error);
        tiling.tiled = &tiled.view;
        tiling.whole = &whole.view;
    }
    if (st == S2P_OK) st = s2v_vit_tiles_frame(model, &tiling, out, error);
    s2_image_free(&tiled);
    s2_image_free(&whole);
    return st;
}

const s2v_arch s2v_arch_smolvlm = {
    .title = "SmolVLM",
    .name = "llama",
    .projector = "idefics3",
    .chat_format = "smolvlm",
    .load = smolvlm_load,
    .usual_framing = smolvlm_usual_framing,
    .frame = smolvlm_frame,
    .vision = s2v_vit_vision,
    .positions = s2v_positions_plain,
    .layers = s2v_draw_layers,
    .head = s2v_draw_head,
};
