/* vit_tower.c - towers with learned positions, on our kernels or on ggml's operators.
 *
 * What Hugging Face computes, and where ggml's usual way would differ:
 *   - GELU is computed here in F32 (ggml_gelu reads a table of halves); the projector's is the erf form
 *   - patches go through one F32 product, not through a convolution in halves
 *   - where several patches are a token they are side by side, so that joining them costs nothing;
 *     positions are taken in that order
 * SigLIP's heads have 72 values. ggml's fast attention wants values (not queries and
 * keys) in multiples of the vector width, 16 floats at most: zeros fill them up to
 * 80 and are cut off again. Doing it here costs a copy; zeros in the weights would
 * cost more arithmetic. Other devices want keys and values of one size: they get 72.
 */
#include "engine/vision/towers/vit_tower.h"

#include "engine/decoder/draw.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

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

/* Names of a projector's tensors; is_bias: ".bias", otherwise ".weight". */
static const char *tensor_name(char out[64], const char *name, bool is_bias)
{
    (void)snprintf(out, 64, "%s.%s", name, is_bias ? "bias" : "weight");
    return out;
}

static void load_projector(vit_tower *own, s2v_loader *l, const s2v_tower *v)
{
    const vit_projector *p = &own->style.projector;
    const int64_t wide = (int64_t)v->n_embd * v->merge * v->merge;
    const int64_t normed = p->norms_patches ? v->n_embd : wide;
    const int64_t hidden = v->n_out;
    s2v_merger *m = &own->merger;
    char weight[64], bias[64];
    if (p->norm) {
        own->merger_norm =
            s2v_loader_get(l, tensor_name(weight, p->norm, false), -1, S2V_USE_VECTOR, normed, 1);
        own->merger_norm_bias =
            s2v_loader_get(l, tensor_name(bias, p->norm, true), -1, S2V_USE_VECTOR, normed, 1);
    }
    if (p->pooled_norm) {
        own->pooled_norm = s2v_loader_get(l, tensor_name(weight, p->pooled_norm, false), -1,
                                          S2V_USE_VECTOR, v->n_embd, 1);
        own->pooled = s2v_loader_get(l, tensor_name(weight, p->first, false), -1, S2V_USE_ROWS,
                                     v->n_out, v->n_embd);
        return;
    }
    const char *const first[] = { tensor_name(weight, p->first, false) };
    const char *const first_bias[] = { tensor_name(bias, p->first, true) };
    if (v->kernels) {
        m->first = (s2v_linear){ .norm = p->norm ? S2V_NORM_LAYER : S2V_NORM_NONE,
                                 .norm_width = (int32_t)normed,
                                 .norm_weight = own->merger_norm,
                                 .norm_bias = own->merger_norm_bias,
                                 .eps = p->norm_eps > 0.0f ? p->norm_eps : v->eps,
                                 .activation = p->second ? S2V_GELU_ERF : S2V_LINEAR };
        s2v_linear_load(&m->first, l, first, p->second ? first_bias : NULL, 1, -1, wide, hidden);
    } else {
        m->mm0 = s2v_loader_get(l, first[0], -1, S2V_USE_MATRIX, wide, hidden);
        if (p->second)
            m->mm0_bias = s2v_loader_get(l, first_bias[0], -1, S2V_USE_VECTOR, hidden, 1);
    }
    if (!p->second) return;
    const char *const second[] = { tensor_name(weight, p->second, false) };
    const char *const second_bias[] = { tensor_name(bias, p->second, true) };
    if (v->kernels) {
        s2v_linear_load(&m->second, l, second, second_bias, 1, -1, hidden, v->n_out);
        return;
    }
    m->mm2 = s2v_loader_get(l, second[0], -1, S2V_USE_MATRIX, hidden, v->n_out);
    m->mm2_bias = s2v_loader_get(l, second_bias[0], -1, S2V_USE_VECTOR, v->n_out, 1);
}

/* Where the rows of a view stand in the table of positions, which goes line by line. */
static void list_order(vit_tower *own, const s2v_tower *v)
{
    const int32_t merge = v->merge, first = v->has_class_row, per_token = merge * merge;
    if (merge == 1) return;
    own->order = (int32_t *)(void *)(own->block + v->n_blocks);
    for (int32_t i = 0; i < own->patches * own->patches; i++) {
        const int32_t t = i / per_token, k = i % per_token;
        const int32_t y = t / own->side * merge + k / merge, x = t % own->side * merge + k % merge;
        own->order[first + i] = first + y * own->patches + x;
    }
}

s2p_status s2v_vit_load(s2v_model *model, s2v_loader *l, s2v_gguf *mmproj, const vit_style *style,
                        s2p_error *error)
{
    s2v_tower *v = &model->tower;
    int32_t image;
    bool is_gelu = !style->is_quick;
    l->file = mmproj;
    v->on_device = l->on_device = l->tower_on_device;
    TRY(s2v_tower_keys(v, mmproj, error));
    TRY(s2v_key_int(mmproj, "clip.vision", "image_size", v->patch, 4096, &image, error));
    TRY(read_feature_layer(v, mmproj, error));
    (void)s2v_gguf_bool(mmproj, "clip.use_gelu", &is_gelu);
    if ((s2v_gguf_find_tensor(mmproj, "v.class_embd") != NULL) != style->has_class_row ||
        (s2v_gguf_find_tensor(mmproj, "v.blk.0.ls1.weight") != NULL) != style->has_layer_scale ||
        is_gelu == style->is_quick)
        return s2_fail(error, S2P_EUNSUPPORTED,
                       "the mmproj has another tower than %s, which %s has", style->title,
                       model->arch->title);
    v->has_class_row = style->has_class_row;
    const s2v_gguf_tensor *last = s2v_gguf_find_tensor(mmproj, "mm.2.weight");
    if (style->is_quick && last && last->ne[1] <= 1 << 17)
        v->n_out = (int32_t)last->ne[1]; /* the key has another width in files in circulation */
    v->merge = 1;
    if (style->is_merged)
        TRY(style->usual_merge > 0 ? s2v_tower_option(mmproj, "projector.scale_factor", 1, 16,
                                                      style->usual_merge, &v->merge, error)
                                   : s2v_key_int(mmproj, "clip.vision", "projector.scale_factor", 1,
                                                 16, &v->merge, error));
    const int32_t patches = image / v->patch;
    if (patches > 256)
        return s2_fail(error, S2P_EUNSUPPORTED, "a view of %dx%d patches is too large", patches,
                       patches);
    if (patches % v->merge != 0)
        return s2_fail(error, S2P_EFORMAT, "a view of %dx%d patches has no tokens of %dx%d",
                       patches, patches, v->merge, v->merge);
    TRY(s2v_tower_fits(model, error));
    const bool is_swapped = s2v_tower_has_swapped_ffn(mmproj, v->n_embd);
    const char *wide = is_swapped ? "v.blk.0.ffn_down.weight" : "v.blk.0.ffn_up.weight";
    TRY(s2v_tower_ffn_width(v, mmproj, wide, error));

    const int64_t n = v->n_embd, n_rows = (int64_t)patches * patches + style->has_class_row;
    const size_t n_bytes = sizeof(vit_tower) + (size_t)v->n_blocks * sizeof(vit_block) +
                           (size_t)n_rows * sizeof(int32_t);
    vit_tower *own = calloc(1, n_bytes);
    if (!own) return s2_fail_memory(error, n_bytes, "the vision blocks");
    model->own = own;
    own->image = image;
    own->patches = patches;
    own->side = patches / v->merge;
    own->style = *style;
    list_order(own, v);

    const int64_t kernel[4] = { v->patch, v->patch, 3, v->n_embd };
    own->patch_embd = s2v_loader_sum(l, "v.patch_embd.weight", NULL, kernel, v->patch_row);
    if (style->has_class_row)
        own->class_embd = s2v_loader_get(l, "v.class_embd", -1, S2V_USE_VECTOR, n, 1);
    if (style->has_pre_norm) {
        own->pre_norm = s2v_loader_get(l, "v.pre_ln.weight", -1, S2V_USE_VECTOR, n, 1);
        own->pre_norm_bias = s2v_loader_get(l, "v.pre_ln.bias", -1, S2V_USE_VECTOR, n, 1);
    }
    if (style->has_patch_bias)
        own->patch_bias = s2v_loader_get(l, "v.patch_embd.bias", -1, S2V_USE_VECTOR, n, 1);
    own->pos_embd = s2v_loader_get(l, "v.position_embd.weight", -1, S2V_USE_ROWS, n, n_rows);
    own->heads = (s2v_heads){ l->kernels, v->n_heads, v->head_dim, 0.0f };
    own->whole = (s2v_windows){ .count = { 1 }, .patches = { (int32_t)n_rows } };
    v->kernels = s2v_tower_kernels(v, l);
    for (int32_t i = 0; i < v->n_blocks; i++) {
        vit_block *b = &own->block[i];
        if (style->has_layer_scale) {
            b->scale1 = s2v_loader_get(l, "v.blk.%d.ls1.weight", i, S2V_USE_VECTOR, n, 1);
            b->scale2 = s2v_loader_get(l, "v.blk.%d.ls2.weight", i, S2V_USE_VECTOR, n, 1);
        }
        if (v->kernels) {
            s2v_tower_load_packed(&b->packed, l, v, i, is_swapped, S2V_NORM_LAYER,
                                  style->activation);
            b->packed.scale1 = b->scale1;
            b->packed.scale2 = b->scale2;
            continue;
        }
        s2v_tower_load_block(&b->base, l, v, i, is_swapped);
        b->norm1_bias = s2v_loader_get(l, "v.blk.%d.ln1.bias", i, S2V_USE_VECTOR, n, 1);
        b->norm2_bias = s2v_loader_get(l, "v.blk.%d.ln2.bias", i, S2V_USE_VECTOR, n, 1);
    }
    load_projector(own, l, v);
    v->newline = s2v_loader_try(l, "v.image_newline", -1, S2V_USE_VECTOR, v->n_out, 1);
    if (!v->newline) /* its name in old files */
        v->newline = s2v_loader_try(l, "model.image_newline", -1, S2V_USE_VECTOR, v->n_out, 1);
    return l->status;
}

/* --- patches ----------------------------------------------------------------------- */

s2p_status s2v_vit_reserve(const s2v_tower *v, s2v_frame *f, s2p_error *error)
{
    const size_t n = (size_t)f->n_views * (size_t)f->n_patches * (size_t)v->patch_row;
    f->patches = calloc(n, sizeof *f->patches); /* the padding of a row stays zero */
    return f->patches ? S2P_OK : s2_fail_memory(error, n * sizeof *f->patches, "patches");
}

void s2v_vit_cut_view(const s2v_model *model, const s2p_image *image, int32_t top, int32_t left,
                      float *patches)
{
    const s2v_tower *v = &model->tower;
    const vit_tower *own = model->own;
    const s2v_levels level = s2v_tower_levels(v);
    const int32_t first = v->has_class_row, n = own->patches;
    for (int32_t i = 0; i < n * n; i++, patches += v->patch_row) {
        const int32_t at = own->order ? own->order[first + i] - first : i;
        s2v_tower_cut_patch(v, &level, image, top + at / n * v->patch, left + at % n * v->patch,
                            patches);
    }
}

/* --- the tower --------------------------------------------------------------------- */

static struct ggml_tensor *layer_norm(struct ggml_context *ctx, struct ggml_tensor *x,
                                      struct ggml_tensor *weight, struct ggml_tensor *bias,
                                      float eps)
{
    return ggml_add(ctx, ggml_mul(ctx, ggml_norm(ctx, x, eps), weight), bias);
}

/* ggml_gelu and ggml_gelu_quick read tables of halves; quick GELU is x sigmoid(1.702 x). */
static struct ggml_tensor *activate(struct ggml_context *ctx, s2v_activation activation,
                                    struct ggml_tensor *x)
{
    if (activation == S2V_GELU_TANH) return s2v_tower_gelu_tanh(ctx, x);
    if (activation == S2V_GELU_ERF) return ggml_gelu_erf(ctx, x);
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

static struct ggml_tensor *vit_attention(struct ggml_context *ctx, const s2v_tower *v,
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

/* x, and what is added to it: after the layer scale, where there is one. */
static struct ggml_tensor *add_scaled(struct ggml_context *ctx, struct ggml_tensor *x,
                                      struct ggml_tensor *scale, struct ggml_tensor *added)
{
    return ggml_add(ctx, x, scale ? ggml_mul(ctx, added, scale) : added);
}

/* Class row, patches and positions. */
static struct ggml_tensor *draw_input(s2v_graph *graph, const s2v_model *model, const s2v_frame *f,
                                      int32_t view)
{
    struct ggml_context *ctx = graph->ctx;
    const s2v_tower *v = &model->tower;
    const vit_tower *own = model->own;
    const float *patches = f->patches + (ptrdiff_t)view * f->n_patches * v->patch_row;
    struct ggml_tensor *h =
        s2v_graph_input(graph, GGML_TYPE_F32, v->patch_row, f->n_patches, patches);
    struct ggml_tensor *pos = own->pos_embd;
    if (own->order)
        pos = ggml_get_rows(
            ctx, pos,
            s2v_graph_input(graph, GGML_TYPE_I32, f->n_patches + v->has_class_row, 1, own->order));
    else if (pos->type != GGML_TYPE_F32)
        pos = ggml_cast(ctx, pos, GGML_TYPE_F32);
    h = ggml_mul_mat(ctx, own->patch_embd, h);
    if (own->patch_bias) h = ggml_add(ctx, h, own->patch_bias);
    if (v->has_class_row) h = ggml_concat(ctx, own->class_embd, h, 1);
    h = ggml_add(ctx, h, pos);
    if (own->pre_norm) h = layer_norm(ctx, h, own->pre_norm, own->pre_norm_bias, v->eps);
    return h;
}

/* The patches of a token side by side in one row. */
static struct ggml_tensor *join_patches(struct ggml_context *ctx, const s2v_tower *v,
                                        struct ggml_tensor *h)
{
    const int64_t per_token = (int64_t)v->merge * v->merge;
    return per_token == 1 ? h : ggml_reshape_2d(ctx, h, h->ne[0] * per_token, h->ne[1] / per_token);
}

/* The norm behind the blocks, or before the projector, of rows that it is meant for. */
static struct ggml_tensor *norm_patches(struct ggml_context *ctx, const s2v_tower *v,
                                        const vit_tower *own, struct ggml_tensor *h)
{
    const float eps = own->style.projector.norm_eps;
    return layer_norm(ctx, h, own->merger_norm, own->merger_norm_bias, eps > 0.0f ? eps : v->eps);
}

/* The norm of each patch, the mean of a token's patches, its norm, the matrix. */
static struct ggml_tensor *draw_pooled(s2v_graph *graph, const s2v_tower *v, const vit_tower *own,
                                       struct ggml_tensor *h, s2v_tower_request *request)
{
    struct ggml_context *ctx = graph->ctx;
    const int64_t n = v->n_embd, per_token = (int64_t)v->merge * v->merge;
    h = norm_patches(ctx, v, own, h);
    s2v_tower_show_stage(request, graph, "vis.post_layernorm", 0, h);
    h = ggml_reshape_3d(ctx, h, n, per_token, h->ne[1] / per_token);
    h = ggml_mean(ctx, ggml_cont(ctx, ggml_permute(ctx, h, 1, 0, 2, 3)));
    h = ggml_reshape_2d(ctx, h, n, h->ne[2]);
    h = s2v_draw_rms_norm(ctx, h, own->pooled_norm, v->eps);
    struct ggml_tensor *matrix = own->pooled;
    if (matrix->type != GGML_TYPE_F32) matrix = ggml_cast(ctx, matrix, GGML_TYPE_F32);
    return ggml_mul_mat(ctx, ggml_cont(ctx, ggml_transpose(ctx, matrix)), h);
}

static struct ggml_tensor *draw_packed(s2v_graph *graph, const s2v_model *model, const s2v_frame *f,
                                       struct ggml_tensor *h, s2v_tower_request *request)
{
    struct ggml_context *ctx = graph->ctx;
    const s2v_tower *v = &model->tower;
    const vit_tower *own = model->own;
    const int32_t n_rows = f->n_patches + v->has_class_row;
    const bool is_pooled = own->style.projector.pooled_norm != NULL;
    size_t n_scratch = is_pooled ? 0 : s2v_tower_merger_scratch(&own->merger, &own->heads, n_rows);
    for (int32_t i = 0; i < v->n_blocks; i++) {
        const size_t n = s2v_tower_block_scratch(&own->block[i].packed, &own->heads, n_rows);
        if (n > n_scratch) n_scratch = n;
    }
    struct ggml_tensor *scratch = s2v_node_scratch(graph, h, n_scratch);
    struct ggml_tensor *start = s2v_node_starts(ctx, h, &own->whole);
    for (int32_t i = 0; i < v->n_blocks; i++) {
        h = s2v_tower_draw_packed(graph, &own->block[i].packed, &own->heads, i, h, NULL, start,
                                  scratch, NULL, request);
        s2v_tower_show_stage(request, graph, "vis.block", i, h);
    }
    if (is_pooled) return draw_pooled(graph, v, own, h, request);
    h = without_class(ctx, v, h);
    if (request->stage && own->style.projector.norms_patches)
        s2v_tower_show_stage(request, graph, "vis.post_layernorm", 0, norm_patches(ctx, v, own, h));
    h = join_patches(ctx, v, h);
    h = s2v_node_product(graph, &own->merger.first, h, NULL, scratch);
    return own->style.projector.second
               ? s2v_node_product(graph, &own->merger.second, h, NULL, scratch)
               : h;
}

struct ggml_tensor *s2v_vit_vision(s2v_graph *graph, const s2v_model *model, const s2v_frame *f,
                                   int32_t view, s2v_tower_request *request)
{
    struct ggml_context *ctx = graph->ctx;
    const s2v_tower *v = &model->tower;
    const vit_tower *own = model->own;
    const vit_projector *p = &own->style.projector;
    struct ggml_tensor *h = draw_input(graph, model, f, view);
    s2v_tower_show_stage(request, graph, own->pre_norm ? "vis.pre_ln" : "vis.embed", 0, h);
    if (v->kernels) return draw_packed(graph, model, f, h, request);
    for (int32_t i = 0; i < v->n_blocks; i++) {
        const vit_block *b = &own->block[i];
        struct ggml_tensor *x = layer_norm(ctx, h, b->base.norm1, b->norm1_bias, v->eps);
        h = add_scaled(ctx, h, b->scale1, vit_attention(ctx, v, &b->base, i, x, request));
        s2v_graph_pause(graph, h);
        x = layer_norm(ctx, h, b->base.norm2, b->norm2_bias, v->eps);
        x = s2v_draw_linear(ctx, b->base.up, b->base.up_bias, x);
        x = activate(ctx, own->style.activation, x);
        x = s2v_draw_linear(ctx, b->base.down, b->base.down_bias, x);
        h = add_scaled(ctx, h, b->scale2, x);
        s2v_graph_pause(graph, h);
        s2v_tower_show_stage(request, graph, "vis.block", i, h);
    }
    if (p->pooled_norm) return draw_pooled(graph, v, own, h, request);
    h = without_class(ctx, v, h);
    if (!p->norms_patches) h = join_patches(ctx, v, h);
    if (p->norm) h = norm_patches(ctx, v, own, h);
    if (p->norms_patches) {
        s2v_tower_show_stage(request, graph, "vis.post_layernorm", 0, h);
        h = join_patches(ctx, v, h);
    }
    if (p->second) return s2v_tower_draw_merger(ctx, &own->merger, h);
    return ggml_mul_mat(ctx, own->merger.mm0, h);
}
