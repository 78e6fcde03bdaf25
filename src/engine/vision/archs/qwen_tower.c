/* qwen_tower.c - load and draw a vision tower of the Qwen-VL family.
 *
 * Two things are done at load time for speed: the feed-forward width is padded to a
 * multiple of 32 (3420 -> 3424), and the two temporal kernels of the patch embedding,
 * which see the same pixels of a still picture, are added into one F32 matrix.
 */
#include "engine/vision/archs/qwen_tower.h"

#include "engine/decoder/draw.h"
#include "engine/vision/archs/qwen_frame.h"

#include <math.h>
#include <stdlib.h>

#define ROPE_BASE 10000.0f
#define USUAL_TOKENS 1280 /* of a picture, at most, unless asked otherwise */

s2p_status s2v_qwen_load(s2v_model *model, s2v_loader *l, s2v_gguf *text, s2v_gguf *mmproj,
                         int32_t gpu_layers, const qwen_kind *kind, s2p_error *error)
{
    l->file = text;
    TRY(s2v_decoder_load(&model->decoder, l, "qwen2vl", gpu_layers));
    if (model->decoder.p.n_planes == 1)
        return s2_fail(error, S2P_EFORMAT,
                       "the model has no list 'qwen2vl.rope.dimension_sections'");

    s2v_tower *v = &model->tower;
    int32_t full_every = 1, window = 0, low, high;
    l->file = mmproj;
    v->on_device = l->on_device = l->tower_on_device;
    TRY(s2v_tower_keys(v, mmproj, error));
    if (kind->has_windows) {
        TRY(s2v_key_int(mmproj, "clip.vision", "n_wa_pattern", 1, S2V_MAX_LAYERS, &full_every,
                        error));
        TRY(s2v_tower_option(mmproj, "window_size", v->patch, 4096, 112, &window, error));
    }
    TRY(s2v_tower_option(mmproj, "spatial_merge_size", 2, 2, 2, &v->merge, error));
    TRY(s2v_tower_option(mmproj, "image_min_pixels", 1, 1 << 30, 56 * 56, &low, error));
    TRY(s2v_tower_option(mmproj, "image_max_pixels", 1, 1 << 30, 0, &high, error));
    TRY(s2v_tower_fits(model, error));
    const bool is_swapped = s2v_tower_has_swapped_ffn(mmproj, v->n_embd);
    const bool has_gate = kind->activation == S2V_SWIGLU, has_bias = kind->norm == S2V_NORM_LAYER;
    const char *const up = is_swapped ? "v.blk.0.ffn_down.weight" : "v.blk.0.ffn_up.weight";
    TRY(s2v_tower_ffn_width(v, mmproj, has_gate ? "v.blk.0.ffn_gate.weight" : up, error));

    qwen_tower *own = calloc(1, sizeof *own + (size_t)v->n_blocks * sizeof *own->block);
    if (!own) return s2_fail_memory(error, sizeof *own->block, "the vision blocks");
    model->own = own;
    const int32_t unit = v->patch * v->merge;
    own->kind = *kind;
    if (kind->has_windows) own->window = window / unit > 0 ? window / unit : 1;
    own->full_every = full_every;
    /* Published files allow 16,384 tokens for a picture, which nobody waits for unasked. */
    const int64_t usual = USUAL_TOKENS * (int64_t)unit * unit;
    v->min_pixels = low;
    v->file_max_pixels = high;
    v->max_pixels = high > 0 && high < usual ? high : usual;
    if (high > 0 && v->max_pixels < low) v->max_pixels = high;

    const int64_t kernel[4] = { v->patch, v->patch, 3, v->n_embd };
    own->patch_embd =
        s2v_loader_sum(l, "v.patch_embd.weight", "v.patch_embd.weight.1", kernel, v->patch_row);
    const int64_t n = v->n_embd, ff = v->n_ff, pad = s2v_round_up(v->n_ff, 32);
    const int64_t wide = n * v->merge * v->merge;
    own->post_norm = s2v_loader_get(l, "v.post_ln.weight", -1, S2V_USE_VECTOR, n, 1);
    if (has_bias)
        own->post_norm_bias = s2v_loader_get(l, "v.post_ln.bias", -1, S2V_USE_VECTOR, n, 1);
    own->heads = (s2v_heads){ l->kernels, v->n_heads, v->head_dim, ROPE_BASE };
    v->kernels = s2v_tower_kernels(v, l);
    if (v->kernels) {
        for (int32_t i = 0; i < v->n_blocks; i++)
            s2v_tower_load_packed(&own->block[i].packed, l, v, i, is_swapped, kind->norm,
                                  kind->activation);
        own->merger.first = (s2v_linear){ .norm = kind->norm,
                                          .norm_width = v->n_embd,
                                          .norm_weight = own->post_norm,
                                          .norm_bias = own->post_norm_bias,
                                          .eps = v->eps };
        s2v_tower_load_packed_merger(&own->merger, l, wide, wide, v->n_out);
        return l->status;
    }
    for (int32_t i = 0; i < v->n_blocks; i++) {
        qwen_block *b = &own->block[i];
        s2v_tower_load_block(&b->base, l, v, i, is_swapped);
        if (has_bias) {
            b->norm1_bias = s2v_loader_get(l, "v.blk.%d.ln1.bias", i, S2V_USE_VECTOR, n, 1);
            b->norm2_bias = s2v_loader_get(l, "v.blk.%d.ln2.bias", i, S2V_USE_VECTOR, n, 1);
        }
        if (!has_gate) continue;
        b->gate = s2v_loader_padded(l, "v.blk.%d.ffn_gate.weight", i, n, ff, n, pad);
        b->gate_bias = s2v_loader_padded(l, "v.blk.%d.ffn_gate.bias", i, ff, 1, pad, 1);
    }
    s2v_tower_load_merger(&own->merger, l, wide, wide, v->n_out);
    return l->status;
}

/* --- the tower ---------------------------------------------------------------- */

/* Rows [first, first + length * count) as `count` sequences: [head_dim, length, heads, count]. */
static struct ggml_tensor *as_batch(struct ggml_context *ctx, struct ggml_tensor *x, int64_t first,
                                    int64_t length, int64_t count)
{
    struct ggml_tensor *view =
        ggml_view_4d(ctx, x, x->ne[0], x->ne[1], length, count, x->nb[1], x->nb[2],
                     (size_t)length * x->nb[2], (size_t)first * x->nb[2]);
    return ggml_permute(ctx, view, 0, 2, 1, 3);
}

static struct ggml_tensor *attend_batch(struct ggml_context *ctx, const s2v_tower *v,
                                        struct ggml_tensor *q, struct ggml_tensor *k,
                                        struct ggml_tensor *val, int64_t first, int64_t length,
                                        int64_t count)
{
    struct ggml_tensor *out = ggml_flash_attn_ext(ctx, as_batch(ctx, q, first, length, count),
                                                  as_batch(ctx, k, first, length, count),
                                                  as_batch(ctx, val, first, length, count), NULL,
                                                  1.0f / sqrtf((float)v->head_dim), 0.0f, 0.0f);
    return ggml_reshape_2d(ctx, out, v->n_embd, length * count);
}

/* windows: NULL where every patch sees every other. */
static struct ggml_tensor *qwen_attention(struct ggml_context *ctx, const s2v_tower *v,
                                          const s2v_block *b, int32_t i, struct ggml_tensor *x,
                                          struct ggml_tensor *pos, const s2v_windows *windows,
                                          s2v_tower_request *request)
{
    const int64_t n_patches = x->ne[1];
    int sections[4] = { v->head_dim / 4, v->head_dim / 4, v->head_dim / 4, v->head_dim / 4 };
    struct ggml_tensor *q = s2v_draw_linear(ctx, b->q, b->q_bias, x);
    struct ggml_tensor *k = s2v_draw_linear(ctx, b->k, b->k_bias, x);
    struct ggml_tensor *val = s2v_draw_linear(ctx, b->v, b->v_bias, x);
    struct ggml_tensor *plain_k = k;
    q = ggml_reshape_3d(ctx, q, v->head_dim, v->n_heads, n_patches);
    k = ggml_reshape_3d(ctx, k, v->head_dim, v->n_heads, n_patches);
    val = ggml_reshape_3d(ctx, val, v->head_dim, v->n_heads, n_patches);
    q = ggml_rope_multi(ctx, q, pos, NULL, v->head_dim / 2, sections, GGML_ROPE_TYPE_VISION, 32768,
                        ROPE_BASE, 1.0f, 0.0f, 1.0f, 32.0f, 1.0f);
    k = ggml_rope_multi(ctx, k, pos, NULL, v->head_dim / 2, sections, GGML_ROPE_TYPE_VISION, 32768,
                        ROPE_BASE, 1.0f, 0.0f, 1.0f, 32.0f, 1.0f);
    s2v_tower_show(request, i, windows, q, k, plain_k);

    struct ggml_tensor *out = NULL;
    if (!windows) out = attend_batch(ctx, v, q, k, val, 0, n_patches, 1);
    int64_t first = 0;
    for (int32_t kind = 0; windows && kind < S2V_WINDOW_KINDS; kind++) {
        const int64_t length = windows->patches[kind], count = windows->count[kind];
        if (count == 0) continue;
        struct ggml_tensor *part = attend_batch(ctx, v, q, k, val, first, length, count);
        out = out ? ggml_concat(ctx, out, part, 1) : part;
        first += length * count;
    }
    return s2v_draw_linear(ctx, b->out, b->out_bias, out);
}

/* Blocks and merger on packed weights. */
static struct ggml_tensor *qwen_packed(s2v_graph *graph, const s2v_model *model, const s2v_frame *f,
                                       struct ggml_tensor *h, struct ggml_tensor *pos,
                                       s2v_tower_request *request)
{
    struct ggml_context *ctx = graph->ctx;
    const s2v_tower *v = &model->tower;
    const qwen_tower *own = model->own;
    const qwen_order *order = f->own;
    struct ggml_tensor *scratch = s2v_tower_draw_scratch(graph, pos, &own->block[0].packed,
                                                         &own->merger, &own->heads, f->n_patches);
    struct ggml_tensor *turn = s2v_node_rotation(ctx, &own->heads, pos);
    struct ggml_tensor *inside = s2v_node_starts(ctx, pos, &order->windows);
    struct ggml_tensor *everywhere = s2v_node_starts(ctx, pos, &order->whole);
    for (int32_t i = 0; i < v->n_blocks; i++) {
        const bool is_full = (i + 1) % own->full_every == 0;
        h = s2v_tower_draw_packed(graph, &own->block[i].packed, &own->heads, i, h, turn,
                                  is_full ? everywhere : inside, scratch,
                                  is_full ? NULL : &order->windows, request);
    }
    const int64_t per_token = (int64_t)v->merge * v->merge;
    h = ggml_reshape_2d(ctx, h, v->n_embd * per_token, f->n_patches / per_token);
    h = s2v_node_product(graph, &own->merger.first, h, NULL, scratch);
    return s2v_node_product(graph, &own->merger.second, h, NULL, scratch);
}

/* bias: NULL with an RMS norm. */
static struct ggml_tensor *draw_norm(struct ggml_context *ctx, struct ggml_tensor *x,
                                     struct ggml_tensor *weight, struct ggml_tensor *bias,
                                     float eps)
{
    if (!bias) return s2v_draw_rms_norm(ctx, x, weight, eps);
    return ggml_add(ctx, ggml_mul(ctx, ggml_norm(ctx, x, eps), weight), bias);
}

/* ggml_gelu_quick reads a table of halves; x sigmoid(1.702 x) = silu(1.702 x) / 1.702 does not. */
static struct ggml_tensor *draw_feed_forward(struct ggml_context *ctx, const qwen_block *b,
                                             struct ggml_tensor *x)
{
    const float slope = 1.702f;
    struct ggml_tensor *up = s2v_draw_linear(ctx, b->base.up, b->base.up_bias, x);
    if (b->gate)
        x = ggml_swiglu_split(ctx, s2v_draw_linear(ctx, b->gate, b->gate_bias, x), up);
    else
        x = ggml_scale(ctx, ggml_silu(ctx, ggml_scale(ctx, up, slope)), 1.0f / slope);
    return s2v_draw_linear(ctx, b->base.down, b->base.down_bias, x);
}

struct ggml_tensor *s2v_qwen_vision(s2v_graph *graph, const s2v_model *model, const s2v_frame *f,
                                    int32_t view, s2v_tower_request *request)
{
    (void)view; /* there is one */
    struct ggml_context *ctx = graph->ctx;
    const s2v_tower *v = &model->tower;
    const qwen_tower *own = model->own;
    const qwen_order *order = f->own;
    request->raster = qwen_raster(f);
    struct ggml_tensor *patches =
        s2v_graph_input(graph, GGML_TYPE_F32, v->patch_row, f->n_patches, f->patches);
    struct ggml_tensor *pos =
        s2v_graph_input(graph, GGML_TYPE_I32, 4 * (int64_t)f->n_patches, 1, qwen_positions(f));
    struct ggml_tensor *raster =
        s2v_graph_input(graph, GGML_TYPE_I32, f->n_rows, 1, request->raster);

    struct ggml_tensor *h = ggml_mul_mat(ctx, own->patch_embd, patches);
    if (v->kernels)
        return ggml_get_rows(ctx, qwen_packed(graph, model, f, h, pos, request), raster);
    for (int32_t i = 0; i < v->n_blocks; i++) {
        const qwen_block *b = &own->block[i];
        const bool is_full = (i + 1) % own->full_every == 0;
        struct ggml_tensor *x = draw_norm(ctx, h, b->base.norm1, b->norm1_bias, v->eps);
        x = qwen_attention(ctx, v, &b->base, i, x, pos, is_full ? NULL : &order->windows, request);
        h = ggml_add(ctx, h, x);
        s2v_graph_pause(graph, h);
        x = draw_norm(ctx, h, b->base.norm2, b->norm2_bias, v->eps);
        h = ggml_add(ctx, h, draw_feed_forward(ctx, b, x));
        s2v_graph_pause(graph, h);
    }

    const int64_t per_token = (int64_t)v->merge * v->merge;
    h = draw_norm(ctx, h, own->post_norm, own->post_norm_bias, v->eps);
    h = ggml_reshape_2d(ctx, h, v->n_embd * per_token, f->n_patches / per_token);
    return ggml_get_rows(ctx, s2v_tower_draw_merger(ctx, &own->merger, h), raster);
}
