/* llava_onevision.c - LLaVA-OneVision: SigLIP, a two-layer projector, the Qwen2 decoder.
 *
 * Text "qwen2", mmproj "clip" with projector "mlp", names as llama.cpp reads them.
 * What Hugging Face computes, and where ggml's usual way would differ:
 *   - the output of the last block goes to the projector, post_layernorm is not
 *     applied; clip.vision.feature_layer says so, and its absence means the same
 *   - the tower's GELU is the tanh form, computed here in F32 (ggml_gelu reads a
 *     table of halves); the projector's is the erf form
 *   - patches go through one F32 product, not through a convolution in halves
 * SigLIP's heads have 72 values. ggml's fast attention wants values (not queries and
 * keys) in multiples of the vector width, 16 floats at most: zeros fill them up to
 * 80 and are cut off again. Doing it here costs a copy; zeros in the weights would
 * cost more arithmetic. Other devices want keys and values of one size: they get 72.
 */
#include "engine/vision/archs/llava_onevision.h"

#include "engine/decoder/draw.h"
#include "engine/vision/archs/llava_frame.h"

#include <math.h>
#include <stdlib.h>

#define TILES 6 /* 1 to 6 tiles along each side */

/* --- loading ----------------------------------------------------------------------- */

/* Blocks to run: the layer whose output is taken, counted from 1. */
static s2p_status read_feature_layer(s2v_tower *v, const s2v_gguf *file, s2p_error *error)
{
    const s2v_gguf_key *key = s2v_gguf_find_key(file, "clip.vision.feature_layer");
    if (!key) return S2P_OK;
    int64_t layer;
    if (key->count != 1 || !s2v_gguf_item_int(key, 0, &layer) || layer < 1 || layer > v->n_blocks)
        return s2_fail(error, S2P_EUNSUPPORTED,
                       "clip.vision.feature_layer is not one layer from 1 to %d", v->n_blocks);
    v->n_blocks = (int32_t)layer;
    return S2P_OK;
}

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

s2p_status s2v_llava_load_tower(s2v_model *model, s2v_loader *l, s2v_gguf *mmproj, bool is_clip,
                                s2p_error *error)
{
    s2v_tower *v = &model->tower;
    int32_t image;
    bool is_gelu = !is_clip;
    l->file = mmproj;
    v->on_device = l->on_device = l->tower_on_device;
    TRY(s2v_tower_keys(v, mmproj, error));
    TRY(s2v_key_int(mmproj, "clip.vision", "image_size", v->patch, 4096, &image, error));
    TRY(read_feature_layer(v, mmproj, error));
    (void)s2v_gguf_bool(mmproj, "clip.use_gelu", &is_gelu);
    if ((s2v_gguf_find_tensor(mmproj, "v.class_embd") != NULL) != is_clip || is_gelu == is_clip)
        return s2_fail(error, S2P_EUNSUPPORTED, "the tower is not a %s, which %s has",
                       is_clip ? "CLIP" : "SigLIP", model->arch->title);
    v->has_class_row = is_clip;
    const s2v_gguf_tensor *last = s2v_gguf_find_tensor(mmproj, "mm.2.weight");
    if (is_clip && last && last->ne[1] <= 1 << 17)
        v->n_out = (int32_t)last->ne[1]; /* the key has another width in files in circulation */
    v->merge = 1;
    const int32_t side = image / v->patch;
    if (side > 256)
        return s2_fail(error, S2P_EUNSUPPORTED, "a view of %dx%d tokens is too large", side, side);
    TRY(s2v_tower_fits(model, error));
    const bool is_swapped = s2v_tower_has_swapped_ffn(mmproj, v->n_embd);
    const char *wide = is_swapped ? "v.blk.0.ffn_down.weight" : "v.blk.0.ffn_up.weight";
    TRY(s2v_tower_ffn_width(v, mmproj, wide, error));

    llava_tower *own = calloc(1, sizeof *own + (size_t)v->n_blocks * sizeof *own->block);
    if (!own) return s2_fail_memory(error, sizeof *own->block, "the vision blocks");
    model->own = own;
    own->image = image;
    own->side = side;
    own->has_tiles = !is_clip && has_usual_tiles(mmproj, image);
    own->activation = is_clip ? S2V_GELU_QUICK : S2V_GELU_TANH;

    const int64_t kernel[4] = { v->patch, v->patch, 3, v->n_embd };
    const int64_t n = v->n_embd, n_rows = (int64_t)side * side + is_clip;
    own->patch_embd = s2v_loader_sum(l, "v.patch_embd.weight", NULL, kernel, v->patch_row);
    if (is_clip) {
        own->class_embd = s2v_loader_get(l, "v.class_embd", -1, S2V_USE_VECTOR, n, 1);
        own->pre_norm = s2v_loader_get(l, "v.pre_ln.weight", -1, S2V_USE_VECTOR, n, 1);
        own->pre_norm_bias = s2v_loader_get(l, "v.pre_ln.bias", -1, S2V_USE_VECTOR, n, 1);
    } else {
        own->patch_bias = s2v_loader_get(l, "v.patch_embd.bias", -1, S2V_USE_VECTOR, n, 1);
    }
    own->pos_embd = s2v_loader_get(l, "v.position_embd.weight", -1, S2V_USE_ROWS, n, n_rows);
    own->heads = (s2v_heads){ l->kernels, v->n_heads, v->head_dim, 0.0f };
    own->whole = (s2v_windows){ .count = { 1 }, .patches = { (int32_t)n_rows } };
    v->kernels = s2v_tower_kernels(v, l);
    for (int32_t i = 0; v->kernels && i < v->n_blocks; i++)
        s2v_tower_load_packed(&own->block[i].packed, l, v, i, is_swapped, S2V_NORM_LAYER,
                              own->activation);
    for (int32_t i = 0; !v->kernels && i < v->n_blocks; i++) {
        llava_block *b = &own->block[i];
        s2v_tower_load_block(&b->base, l, v, i, is_swapped);
        b->norm1_bias = s2v_loader_get(l, "v.blk.%d.ln1.bias", i, S2V_USE_VECTOR, n, 1);
        b->norm2_bias = s2v_loader_get(l, "v.blk.%d.ln2.bias", i, S2V_USE_VECTOR, n, 1);
    }
    if (v->kernels)
        s2v_tower_load_packed_merger(&own->merger, l, n, v->n_out, v->n_out);
    else
        s2v_tower_load_merger(&own->merger, l, n, v->n_out, v->n_out);
    v->newline = s2v_loader_try(l, "v.image_newline", -1, S2V_USE_VECTOR, v->n_out, 1);
    if (!v->newline) /* its name in old files */
        v->newline = s2v_loader_try(l, "model.image_newline", -1, S2V_USE_VECTOR, v->n_out, 1);
    return l->status;
}

static s2p_status llava_load(s2v_model *model, s2v_loader *l, s2v_gguf *text, s2v_gguf *mmproj,
                             int32_t gpu_layers, s2p_error *error)
{
    l->file = text;
    static const s2v_decoder_style style = { .prefix = "qwen2", .has_biases = true };
    TRY(s2v_decoder_load(&model->decoder, l, &style, gpu_layers));
    if (model->decoder.p.n_planes > 1)
        return s2_fail(error, S2P_EFORMAT, "the model has a list 'qwen2.rope.dimension_sections'");
    return s2v_llava_load_tower(model, l, mmproj, false, error);
}

/* --- framing ----------------------------------------------------------------------- */

/* A pruned picture is seen as the paper does, an unpruned one as Hugging Face does by default, and
 * several pictures as Hugging Face does, pruned or not. */
static s2v_framing llava_usual_framing(int32_t n_images, bool is_pruned)
{
    if (n_images > 1) return S2V_FRAMING_SQUARE;
    return is_pruned ? S2V_FRAMING_BASE : S2V_FRAMING_ANYRES;
}

/* --- the tower --------------------------------------------------------------------- */

static struct ggml_tensor *layer_norm(struct ggml_context *ctx, struct ggml_tensor *x,
                                      struct ggml_tensor *weight, struct ggml_tensor *bias,
                                      float eps)
{
    return ggml_add(ctx, ggml_mul(ctx, ggml_norm(ctx, x, eps), weight), bias);
}

/* x sigmoid(1.702 x) */
static struct ggml_tensor *gelu_quick(struct ggml_context *ctx, struct ggml_tensor *x)
{
    return ggml_scale(ctx, ggml_silu(ctx, ggml_scale(ctx, x, 1.702f)), 1.0f / 1.702f);
}

/* Rows as heads, `missing` zeros added to each: [head, patches, heads]. */
static struct ggml_tensor *as_heads(struct ggml_context *ctx, const s2v_tower *v,
                                    struct ggml_tensor *x, int32_t missing)
{
    x = ggml_reshape_3d(ctx, x, v->head_dim, v->n_heads, x->ne[1]);
    if (missing > 0) x = ggml_pad(ctx, x, missing, 0, 0, 0);
    return ggml_permute(ctx, x, 0, 2, 1, 3);
}

static struct ggml_tensor *llava_attention(struct ggml_context *ctx, const s2v_tower *v,
                                           const s2v_block *b, int32_t i, struct ggml_tensor *x,
                                           s2v_tower_request *request)
{
    const int32_t missing = v->on_device ? 0 : s2v_round_up(v->head_dim, 16) - v->head_dim;
    struct ggml_tensor *q = s2v_draw_linear(ctx, b->q, b->q_bias, x);
    struct ggml_tensor *k = s2v_draw_linear(ctx, b->k, b->k_bias, x);
    struct ggml_tensor *val = as_heads(ctx, v, s2v_draw_linear(ctx, b->v, b->v_bias, x), missing);
    s2v_tower_show(request, i, NULL, q, k, NULL);
    const float scale = 1.0f / sqrtf((float)v->head_dim);
    struct ggml_tensor *out = ggml_flash_attn_ext(
        ctx, as_heads(ctx, v, q, 0), as_heads(ctx, v, k, 0), val, NULL, scale, 0.0f, 0.0f);
    if (missing > 0)
        out = ggml_cont(ctx, ggml_view_3d(ctx, out, v->head_dim, out->ne[1], out->ne[2], out->nb[1],
                                          out->nb[2], 0));
    out = ggml_reshape_2d(ctx, out, v->n_embd, x->ne[1]);
    return s2v_draw_linear(ctx, b->out, b->out_bias, out);
}

/* The patches, behind the class row. */
static struct ggml_tensor *without_class(struct ggml_context *ctx, const s2v_tower *v,
                                         struct ggml_tensor *h)
{
    if (!v->has_class_row) return h;
    return ggml_cont(ctx, ggml_view_2d(ctx, h, h->ne[0], h->ne[1] - 1, h->nb[1], h->nb[1]));
}

struct ggml_tensor *s2v_llava_vision(s2v_graph *graph, const s2v_model *model, const s2v_frame *f,
                                     int32_t view, s2v_tower_request *request)
{
    struct ggml_context *ctx = graph->ctx;
    const s2v_tower *v = &model->tower;
    const llava_tower *own = model->own;
    const float *patches = f->patches + (ptrdiff_t)view * f->n_patches * v->patch_row;
    struct ggml_tensor *h =
        s2v_graph_input(graph, GGML_TYPE_F32, v->patch_row, f->n_patches, patches);
    struct ggml_tensor *pos = own->pos_embd;
    if (pos->type != GGML_TYPE_F32) pos = ggml_cast(ctx, pos, GGML_TYPE_F32);
    if (v->has_class_row) {
        h = ggml_concat(ctx, own->class_embd, ggml_mul_mat(ctx, own->patch_embd, h), 1);
        h = layer_norm(ctx, ggml_add(ctx, h, pos), own->pre_norm, own->pre_norm_bias, v->eps);
    } else {
        h = ggml_add(ctx, s2v_draw_linear(ctx, own->patch_embd, own->patch_bias, h), pos);
    }
    if (v->kernels) {
        const s2v_packed_block *first = &own->block[0].packed;
        struct ggml_tensor *scratch = s2v_tower_draw_scratch(
            graph, h, first, &own->merger, &own->heads, f->n_patches + v->has_class_row);
        struct ggml_tensor *start = s2v_node_starts(ctx, h, &own->whole);
        for (int32_t i = 0; i < v->n_blocks; i++)
            h = s2v_tower_draw_packed(graph, &own->block[i].packed, &own->heads, i, h, NULL, start,
                                      scratch, NULL, request);
        h = without_class(ctx, v, h);
        h = s2v_node_product(graph, &own->merger.first, h, NULL, scratch);
        return s2v_node_product(graph, &own->merger.second, h, NULL, scratch);
    }
    for (int32_t i = 0; i < v->n_blocks; i++) {
        const llava_block *b = &own->block[i];
        struct ggml_tensor *x = layer_norm(ctx, h, b->base.norm1, b->norm1_bias, v->eps);
        h = ggml_add(ctx, h, llava_attention(ctx, v, &b->base, i, x, request));
        s2v_graph_pause(graph, h);
        x = layer_norm(ctx, h, b->base.norm2, b->norm2_bias, v->eps);
        x = s2v_draw_linear(ctx, b->base.up, b->base.up_bias, x);
        x = v->has_class_row ? gelu_quick(ctx, x) : s2v_tower_gelu_tanh(ctx, x);
        h = ggml_add(ctx, h, s2v_draw_linear(ctx, b->base.down, b->base.down_bias, x));
        s2v_graph_pause(graph, h);
    }
    return s2v_tower_draw_merger(ctx, &own->merger, without_class(ctx, v, h));
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
    .vision = s2v_llava_vision,
    .positions = s2v_positions_plain,
    .layers = s2v_draw_layers,
    .head = s2v_draw_head,
};
