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
 * cost more arithmetic.
 */
#include "engine/vision/archs/llava_frame.h"
#include "engine/vision/archs/tower.h"
#include "engine/model/draw.h"

#include <math.h>
#include <stdlib.h>

#define TILES 6 /* 1 to 6 tiles along each side */

/* --- loading ----------------------------------------------------------------------- */

/* Blocks to run: the layer whose output is taken, counted from 1. */
static s2p_status read_feature_layer(s2v_vision *v, const s2v_gguf *file, s2p_error *error)
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
static bool has_usual_tiles(const s2v_vision *v, const s2v_gguf *file)
{
    const s2v_gguf_key *key = s2v_gguf_find_key(file, "clip.vision.image_grid_pinpoints");
    if (!key) return true;
    if (key->count != 2 * TILES * TILES) return false;
    for (int64_t i = 0; i < TILES * TILES; i++) {
        int64_t height, width;
        if (!s2v_gguf_item_int(key, (uint64_t)(2 * i), &height) ||
            !s2v_gguf_item_int(key, (uint64_t)(2 * i + 1), &width) ||
            height != v->image * (i / TILES + 1) || width != v->image * (i % TILES + 1))
            return false;
    }
    return true;
}

static s2p_status read_vision(s2v_vision *v, const s2v_gguf *file, s2p_error *error)
{
    TRY(s2v_tower_keys(v, file, error));
    TRY(s2v_key_int(file, "clip.vision", "image_size", v->patch, 4096, &v->image, error));
    TRY(read_feature_layer(v, file, error));
    bool is_gelu;
    if (s2v_gguf_find_tensor(file, "v.class_embd") ||
        (s2v_gguf_bool(file, "clip.use_gelu", &is_gelu) && !is_gelu))
        return s2_fail(error, S2P_EUNSUPPORTED,
                       "the tower is not a SigLIP, which LLaVA-OneVision has");
    v->merge = 1;
    v->side = v->image / v->patch;
    v->has_tiles = has_usual_tiles(v, file);
    if (v->side > 256)
        return s2_fail(error, S2P_EUNSUPPORTED, "a view of %dx%d tokens is too large", v->side,
                       v->side);
    return S2P_OK;
}

static void load_block(s2v_block *b, s2v_loader *l, const s2v_vision *v, int32_t i, bool is_swapped)
{
    const int64_t n = v->n_embd;
    s2v_tower_load_block(b, l, v, i, is_swapped);
    b->norm1_bias = s2v_loader_get(l, "v.blk.%d.ln1.bias", i, S2V_USE_VECTOR, n, 1);
    b->norm2_bias = s2v_loader_get(l, "v.blk.%d.ln2.bias", i, S2V_USE_VECTOR, n, 1);
}

static s2p_status load_vision(s2v_vision *v, s2v_loader *l)
{
    const int64_t kernel[4] = { v->patch, v->patch, 3, v->n_embd };
    const bool is_swapped = s2v_tower_has_swapped_ffn(l->file, v->n_embd);
    const char *wide = is_swapped ? "v.blk.0.ffn_down.weight" : "v.blk.0.ffn_up.weight";
    const s2v_gguf_tensor *up = s2v_gguf_find_tensor(l->file, wide);
    if (!up || up->ne[1] > (1 << 20))
        return s2_fail(l->error, S2P_EFORMAT, "the mmproj has no tensor '%s'", wide);
    v->n_ff = (int32_t)up->ne[1];
    v->blocks = calloc((size_t)v->n_blocks, sizeof *v->blocks);
    if (!v->blocks) return s2_fail_memory(l->error, sizeof *v->blocks, "the vision blocks");

    const int64_t n = v->n_embd, out = v->n_out, n_patches = (int64_t)v->side * v->side;
    v->patch_embd = s2v_loader_sum(l, "v.patch_embd.weight", NULL, kernel, v->patch_row);
    v->patch_bias = s2v_loader_get(l, "v.patch_embd.bias", -1, S2V_USE_VECTOR, n, 1);
    v->pos_embd = s2v_loader_get(l, "v.position_embd.weight", -1, S2V_USE_ROWS, n, n_patches);
    for (int32_t i = 0; i < v->n_blocks; i++) load_block(&v->blocks[i], l, v, i, is_swapped);
    v->mm0 = s2v_loader_get(l, "mm.0.weight", -1, S2V_USE_MATRIX, n, out);
    v->mm0_bias = s2v_loader_get(l, "mm.0.bias", -1, S2V_USE_VECTOR, out, 1);
    v->mm2 = s2v_loader_get(l, "mm.2.weight", -1, S2V_USE_MATRIX, out, out);
    v->mm2_bias = s2v_loader_get(l, "mm.2.bias", -1, S2V_USE_VECTOR, out, 1);
    v->newline = s2v_loader_try(l, "v.image_newline", -1, S2V_USE_VECTOR, out, 1);
    if (!v->newline) /* its name in old files */
        v->newline = s2v_loader_try(l, "model.image_newline", -1, S2V_USE_VECTOR, out, 1);
    return l->status;
}

static s2p_status llava_load(s2v_model *model, s2v_loader *loader, s2v_gguf *text, s2v_gguf *mmproj,
                             int32_t gpu_layers, s2p_error *error)
{
    loader->file = text;
    TRY(s2v_decoder_load(&model->decoder, loader, "qwen2", gpu_layers));
    if (model->decoder.p.sections[0] != 0)
        return s2_fail(error, S2P_EFORMAT, "the model has a list 'qwen2.rope.dimension_sections'");
    TRY(read_vision(&model->vision, mmproj, error));
    TRY(s2v_tower_fits(model, error));
    loader->file = mmproj;
    return load_vision(&model->vision, loader);
}

/* --- the tower --------------------------------------------------------------------- */

static struct ggml_tensor *norm(struct ggml_context *ctx, struct ggml_tensor *x,
                                struct ggml_tensor *weight, struct ggml_tensor *bias, float eps)
{
    return ggml_add(ctx, ggml_mul(ctx, ggml_norm(ctx, x, eps), weight), bias);
}

/* 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) = x sigmoid(z) = silu(z) / t, where z = x t and
 * t = 2 sqrt(2/pi) (1 + 0.044715 x^2), never 0. */
static struct ggml_tensor *gelu_tanh(struct ggml_context *ctx, struct ggml_tensor *x)
{
    const float slope = 1.5957691216057308f;
    struct ggml_tensor *t = ggml_scale_bias(ctx, ggml_sqr(ctx, x), slope * 0.044715f, slope);
    return ggml_div(ctx, ggml_silu(ctx, ggml_mul(ctx, x, t)), t);
}

/* Rows as heads, `missing` zeros added to each: [head, patches, heads]. */
static struct ggml_tensor *heads(struct ggml_context *ctx, const s2v_vision *v,
                                 struct ggml_tensor *x, int32_t missing)
{
    x = ggml_reshape_3d(ctx, x, v->head_dim, v->n_heads, x->ne[1]);
    if (missing > 0) x = ggml_pad(ctx, x, missing, 0, 0, 0);
    return ggml_permute(ctx, x, 0, 2, 1, 3);
}

static struct ggml_tensor *attention(struct ggml_context *ctx, const s2v_vision *v, int32_t i,
                                     struct ggml_tensor *x, s2v_peeks *peeks)
{
    const s2v_block *b = &v->blocks[i];
    const int32_t missing = s2v_round_up(v->head_dim, 16) - v->head_dim;
    struct ggml_tensor *q = s2v_draw_linear(ctx, b->q, b->q_bias, x);
    struct ggml_tensor *k = s2v_draw_linear(ctx, b->k, b->k_bias, x);
    struct ggml_tensor *val = heads(ctx, v, s2v_draw_linear(ctx, b->v, b->v_bias, x), missing);
    s2v_tower_show(peeks, i, true, q, k, NULL);
    const float scale = 1.0f / sqrtf((float)v->head_dim);
    struct ggml_tensor *out = ggml_flash_attn_ext(ctx, heads(ctx, v, q, 0), heads(ctx, v, k, 0),
                                                  val, NULL, scale, 0.0f, 0.0f);
    if (missing > 0)
        out = ggml_cont(ctx, ggml_view_3d(ctx, out, v->head_dim, out->ne[1], out->ne[2], out->nb[1],
                                          out->nb[2], 0));
    out = ggml_reshape_2d(ctx, out, v->n_embd, x->ne[1]);
    return s2v_draw_linear(ctx, b->out, b->out_bias, out);
}

static struct ggml_tensor *llava_vision(s2v_graph *graph, const s2v_model *model,
                                        const s2v_frame *f, int32_t view, s2v_peeks *peeks)
{
    struct ggml_context *ctx = graph->ctx;
    const s2v_vision *v = &model->vision;
    const float *patches = f->patches + (ptrdiff_t)view * f->n_patches * v->patch_row;
    struct ggml_tensor *h =
        s2v_graph_input(graph, GGML_TYPE_F32, v->patch_row, f->n_patches, patches);
    struct ggml_tensor *pos = v->pos_embd;
    if (pos->type != GGML_TYPE_F32) pos = ggml_cast(ctx, pos, GGML_TYPE_F32);
    h = ggml_add(ctx, s2v_draw_linear(ctx, v->patch_embd, v->patch_bias, h), pos);
    for (int32_t i = 0; i < v->n_blocks; i++) {
        const s2v_block *b = &v->blocks[i];
        struct ggml_tensor *x = norm(ctx, h, b->norm1, b->norm1_bias, v->eps);
        h = ggml_add(ctx, h, attention(ctx, v, i, x, peeks));
        x = norm(ctx, h, b->norm2, b->norm2_bias, v->eps);
        x = gelu_tanh(ctx, s2v_draw_linear(ctx, b->up, b->up_bias, x));
        h = ggml_add(ctx, h, s2v_draw_linear(ctx, b->down, b->down_bias, x));
    }
    h = ggml_gelu_erf(ctx, s2v_draw_linear(ctx, v->mm0, v->mm0_bias, h));
    return s2v_draw_linear(ctx, v->mm2, v->mm2_bias, h);
}

const s2v_arch arch_llava_onevision = {
    .title = "LLaVA-OneVision",
    .name = "qwen2",
    .projector = "mlp",
    .template_name = "llava-onevision",
    .load = llava_load,
    .frame = s2v_llava_frame,
    .vision = llava_vision,
};
