/* qwen_tower.c - load and draw a vision tower of the Qwen-VL family.
 *
 * Two things are done at load time for speed: the feed-forward width is padded to a
 * multiple of 32 (3420 -> 3424), and the two temporal kernels of the patch embedding,
 * which see the same pixels of a still picture, are added into one F32 matrix.
 */
#include "engine/vision/towers/qwen_tower.h"

#include "engine/decoder/draw.h"
#include "engine/vision/towers/qwen_frame.h"

#include <math.h>
#include <stdlib.h>

#define ROPE_BASE 10000.0f
#define USUAL_TOKENS 1280 /* of a picture, at most, unless asked otherwise */

/* A square of learned positions. */
static s2p_status load_positions(qwen_tower *own, const s2v_tower *v, s2v_loader *l,
                                 const s2v_gguf *mmproj, s2p_error *error)
{
    static const char name[] = "v.position_embd.weight";
    const s2v_gguf_tensor *table = s2v_gguf_find_tensor(mmproj, name);
    int32_t side = 1;
    while (table && side < 1024 && (int64_t)side * side < table->ne[1]) side++;
    if (!table || (int64_t)side * side != table->ne[1])
        return s2_fail(error, S2P_EFORMAT, "%s is not a square of positions", name);
    own->position_side = side;
    own->position_embd = s2v_loader_get(l, name, -1, S2V_USE_ROWS, v->n_embd, (int64_t)side * side);
    own->patch_bias = s2v_loader_get(l, "v.patch_embd.bias", -1, S2V_USE_VECTOR, v->n_embd, 1);
    return S2P_OK;
}

/* The mergers of the blocks the decoder's first layers take rows from. */
static s2p_status load_deepstack(qwen_tower *own, const s2v_model *model, s2v_loader *l,
                                 const s2v_gguf *mmproj, s2p_error *error)
{
    static const char key_name[] = "clip.vision.is_deepstack_layers";
    static const char *const first[] = { "v.deepstack.%d.fc1.weight" };
    static const char *const first_bias[] = { "v.deepstack.%d.fc1.bias" };
    static const char *const second[] = { "v.deepstack.%d.fc2.weight" };
    static const char *const second_bias[] = { "v.deepstack.%d.fc2.bias" };
    const s2v_tower *v = &model->tower;
    const int64_t wide = (int64_t)v->n_embd * v->merge * v->merge;
    const s2v_gguf_key *key = s2v_gguf_find_key(mmproj, key_name);
    int32_t n = 0;
    if (!key) return s2_fail(error, S2P_EFORMAT, "the model has no list '%s'", key_name);
    for (int32_t i = 0; i < v->n_blocks; i++) {
        bool is_one = false;
        if ((key->count != (uint64_t)v->n_blocks || !s2v_gguf_item_bool(key, (uint64_t)i, &is_one)))
            return s2_fail(error, S2P_EFORMAT,
                           "%s is not a list of %d booleans, one for each block", key_name,
                           v->n_blocks);
        if (!is_one) continue;
        if (n < S2V_MAX_DEEPSTACK) own->deepstack[n].block = i;
        n++;
    }
    if (n != model->decoder.p.n_deepstack)
        return s2_fail(error, S2P_EUNSUPPORTED,
                       "%s names %d blocks, the model takes rows of %d: pass the two files "
                       "published together",
                       key_name, n, model->decoder.p.n_deepstack);
    own->n_deepstack = n;
    for (int32_t j = 0; j < n; j++) {
        qwen_deepstack *d = &own->deepstack[j];
        s2v_merger *m = &d->merger;
        const int32_t i = d->block;
        d->norm = s2v_loader_get(l, "v.deepstack.%d.norm.weight", i, S2V_USE_VECTOR, wide, 1);
        d->norm_bias = s2v_loader_get(l, "v.deepstack.%d.norm.bias", i, S2V_USE_VECTOR, wide, 1);
        if (v->kernels) {
            m->first = (s2v_linear){ .norm = S2V_NORM_LAYER,
                                     .norm_weight = d->norm,
                                     .norm_bias = d->norm_bias,
                                     .eps = v->eps,
                                     .activation = S2V_GELU_ERF };
            s2v_linear_load(&m->first, l, first, first_bias, 1, i, wide, wide);
            s2v_linear_load(&m->second, l, second, second_bias, 1, i, wide, v->n_out);
            continue;
        }
        m->mm0 = s2v_loader_get(l, first[0], i, S2V_USE_MATRIX, wide, wide);
        m->mm0_bias = s2v_loader_get(l, first_bias[0], i, S2V_USE_VECTOR, wide, 1);
        m->mm2 = s2v_loader_get(l, second[0], i, S2V_USE_MATRIX, wide, v->n_out);
        m->mm2_bias = s2v_loader_get(l, second_bias[0], i, S2V_USE_VECTOR, v->n_out, 1);
    }
    return S2P_OK;
}

s2p_status s2v_qwen_load(s2v_model *model, s2v_loader *l, s2v_gguf *text, s2v_gguf *mmproj,
                         int32_t gpu_layers, const qwen_kind *kind, s2p_error *error)
{
    l->file = text;
    TRY(s2v_decoder_load(&model->decoder, l, &kind->text, gpu_layers));
    if (model->decoder.p.n_planes == 1)
        return s2_fail(error, S2P_EFORMAT, "the model has no list '%s.rope.dimension_sections'",
                       kind->text.prefix);

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
    TRY(s2v_tower_option(mmproj, "image_min_pixels", 1, 1 << 30, kind->min_pixels, &low, error));
    TRY(s2v_tower_option(mmproj, "image_max_pixels", 1, 1 << 30, 0, &high, error));
    TRY(s2v_tower_fits(model, error));
    const bool is_swapped = s2v_tower_has_swapped_ffn(mmproj, v->n_embd);
    const bool has_gate = kind->activation == S2V_SWIGLU, has_bias = kind->norm == S2V_NORM_LAYER;
    const char *const up = is_swapped ? "v.blk.0.ffn_down.weight" : "v.blk.0.ffn_up.weight";
    TRY(s2v_tower_ffn_width(v, mmproj, has_gate ? "v.blk.0.ffn_gate.weight" : up, error));

    qwen_tower *own = calloc(1, sizeof *own + (size_t)v->n_blocks * sizeof *own->block);
    if (!own) return s2_fail_memory(error, sizeof *own->block, "the vision blocks");
    model->own = own;
    v->is_fused = kind->has_positions;
    const int32_t unit = v->patch * v->merge;
    own->kind = *kind;
    if (kind->has_windows) own->window = window / unit > 0 ? window / unit : 1;
    own->full_every = full_every;
    /* Published files allow 16,384 tokens for a picture, which is too slow as a default. */
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
    if (kind->has_positions) {
        if (!s2v_loader_packs(l, "v.deepstack.")) v->kernels = NULL;
        TRY(load_positions(own, v, l, mmproj, error));
        TRY(load_deepstack(own, model, l, mmproj, error));
    }
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
    struct ggml_tensor *q, *k, *val;
    if (b->qkv) {
        struct ggml_tensor *part[3], *all = s2v_draw_linear(ctx, b->qkv, b->qkv_bias, x);
        for (size_t p = 0; p < 3; p++)
            part[p] = ggml_cont(ctx, ggml_view_2d(ctx, all, v->n_embd, n_patches, all->nb[1],
                                                  p * (size_t)v->n_embd * sizeof(float)));
        q = part[0], k = part[1], val = part[2];
    } else {
        q = s2v_draw_linear(ctx, b->q, b->q_bias, x);
        k = s2v_draw_linear(ctx, b->k, b->k_bias, x);
        val = s2v_draw_linear(ctx, b->v, b->v_bias, x);
    }
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

/* bias: NULL with an RMS norm. */
static struct ggml_tensor *draw_norm(struct ggml_context *ctx, struct ggml_tensor *x,
                                     struct ggml_tensor *weight, struct ggml_tensor *bias,
                                     float eps)
{
    if (!bias) return s2v_draw_rms_norm(ctx, x, weight, eps);
    return ggml_add(ctx, ggml_mul(ctx, ggml_norm(ctx, x, eps), weight), bias);
}

/* The learned positions around each patch, by their shares: [n_embd, n_patches]. */
static struct ggml_tensor *draw_positions(s2v_graph *graph, const qwen_tower *own,
                                          const s2v_frame *f)
{
    struct ggml_context *ctx = graph->ctx;
    struct ggml_tensor *sum = NULL;
    for (ptrdiff_t k = 0; k < 4; k++) {
        struct ggml_tensor *tap =
            s2v_graph_input(graph, GGML_TYPE_I32, f->n_patches, 1, qwen_taps(f) + k * f->n_patches);
        struct ggml_tensor *share = s2v_graph_input(graph, GGML_TYPE_F32, 1, f->n_patches,
                                                    qwen_tap_weights(f) + k * f->n_patches);
        struct ggml_tensor *part =
            ggml_mul(ctx, ggml_get_rows(ctx, own->position_embd, tap), share);
        sum = sum ? ggml_add(ctx, sum, part) : part;
    }
    return sum;
}

/* What decoder layers add of block i's output h, if they do. scratch: NULL on ggml's operators. */
static void draw_deepstack(s2v_graph *graph, const s2v_model *model, const s2v_frame *f, int32_t i,
                           struct ggml_tensor *h, struct ggml_tensor *raster,
                           struct ggml_tensor *scratch, s2v_tower_request *request)
{
    struct ggml_context *ctx = graph->ctx;
    const s2v_tower *v = &model->tower;
    const qwen_tower *own = model->own;
    const int64_t per_token = (int64_t)v->merge * v->merge;
    for (int32_t j = 0; j < own->n_deepstack; j++) {
        const qwen_deepstack *d = &own->deepstack[j];
        if (d->block != i) continue;
        struct ggml_tensor *x =
            ggml_reshape_2d(ctx, h, v->n_embd * per_token, f->n_patches / per_token);
        if (scratch) {
            x = s2v_node_product(graph, &d->merger.first, x, NULL, scratch);
            x = s2v_node_product(graph, &d->merger.second, x, NULL, scratch);
        } else {
            x = s2v_tower_draw_merger(ctx, &d->merger,
                                      draw_norm(ctx, x, d->norm, d->norm_bias, v->eps));
        }
        request->deepstack[j] = ggml_get_rows(ctx, x, raster);
        ggml_set_output(request->deepstack[j]);
        s2v_graph_expand(graph, request->deepstack[j]);
    }
}

static size_t larger(size_t a, size_t b) { return a > b ? a : b; }

/* Blocks and merger on packed weights. */
static struct ggml_tensor *qwen_packed(s2v_graph *graph, const s2v_model *model, const s2v_frame *f,
                                       struct ggml_tensor *h, struct ggml_tensor *pos,
                                       struct ggml_tensor *raster, s2v_tower_request *request)
{
    struct ggml_context *ctx = graph->ctx;
    const s2v_tower *v = &model->tower;
    const qwen_tower *own = model->own;
    const qwen_order *order = f->own;
    size_t n_scratch = s2v_tower_merger_scratch(&own->merger, &own->heads, f->n_patches);
    for (int32_t i = 0; i < own->n_deepstack; i++)
        n_scratch = larger(n_scratch, s2v_tower_merger_scratch(&own->deepstack[i].merger,
                                                               &own->heads, f->n_patches));
    for (int32_t i = 0; i < v->n_blocks; i++)
        n_scratch = larger(
            n_scratch, s2v_tower_block_scratch(&own->block[i].packed, &own->heads, f->n_patches));
    struct ggml_tensor *scratch = s2v_node_scratch(graph, pos, n_scratch);
    struct ggml_tensor *turn = s2v_node_rotation(ctx, &own->heads, pos);
    struct ggml_tensor *inside = s2v_node_starts(ctx, pos, &order->windows);
    struct ggml_tensor *everywhere = s2v_node_starts(ctx, pos, &order->whole);
    for (int32_t i = 0; i < v->n_blocks; i++) {
        const bool is_full = (i + 1) % own->full_every == 0;
        h = s2v_tower_draw_packed(graph, &own->block[i].packed, &own->heads, i, h, turn,
                                  is_full ? everywhere : inside, scratch,
                                  is_full ? NULL : &order->windows, request);
        s2v_tower_show_stage(request, graph, "vis.block", i, h);
        draw_deepstack(graph, model, f, i, h, raster, scratch, request);
    }
    const int64_t per_token = (int64_t)v->merge * v->merge;
    h = ggml_reshape_2d(ctx, h, v->n_embd * per_token, f->n_patches / per_token);
    h = s2v_node_product(graph, &own->merger.first, h, NULL, scratch);
    return s2v_node_product(graph, &own->merger.second, h, NULL, scratch);
}

/* ggml_gelu_quick reads a table of halves; x sigmoid(1.702 x) = silu(1.702 x) / 1.702 does not. */
static struct ggml_tensor *draw_feed_forward(struct ggml_context *ctx, const qwen_block *b,
                                             s2v_activation activation, struct ggml_tensor *x)
{
    const float slope = 1.702f;
    struct ggml_tensor *up = s2v_draw_linear(ctx, b->base.up, b->base.up_bias, x);
    if (b->gate)
        x = ggml_swiglu_split(ctx, s2v_draw_linear(ctx, b->gate, b->gate_bias, x), up);
    else if (activation == S2V_GELU_TANH)
        x = s2v_tower_gelu_tanh(ctx, up);
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
    if (own->position_side > 0) h = ggml_add(ctx, h, own->patch_bias);
    s2v_tower_show_stage(request, graph, "vis.patch_embed", 0, h);
    if (own->position_side > 0) {
        h = ggml_add(ctx, h, draw_positions(graph, own, f));
        s2v_tower_show_stage(request, graph, "vis.embed", 0, h);
    }
    if (v->kernels)
        return ggml_get_rows(ctx, qwen_packed(graph, model, f, h, pos, raster, request), raster);
    for (int32_t i = 0; i < v->n_blocks; i++) {
        const qwen_block *b = &own->block[i];
        const bool is_full = (i + 1) % own->full_every == 0;
        struct ggml_tensor *x = draw_norm(ctx, h, b->base.norm1, b->norm1_bias, v->eps);
        x = qwen_attention(ctx, v, &b->base, i, x, pos, is_full ? NULL : &order->windows, request);
        h = ggml_add(ctx, h, x);
        s2v_graph_pause(graph, h);
        x = draw_norm(ctx, h, b->base.norm2, b->norm2_bias, v->eps);
        h = ggml_add(ctx, h, draw_feed_forward(ctx, b, own->kind.activation, x));
        s2v_graph_pause(graph, h);
        s2v_tower_show_stage(request, graph, "vis.block", i, h);
        draw_deepstack(graph, model, f, i, h, raster, NULL, request);
    }

    const int64_t per_token = (int64_t)v->merge * v->merge;
    h = draw_norm(ctx, h, own->post_norm, own->post_norm_bias, v->eps);
    h = ggml_reshape_2d(ctx, h, v->n_embd * per_token, f->n_patches / per_token);
    return ggml_get_rows(ctx, s2v_tower_draw_merger(ctx, &own->merger, h), raster);
}
