/* qwen2_5_vl.c - Qwen2.5-VL: a windowed ViT, a 2x2 merger, the Qwen2 decoder with M-RoPE.
 *
 * Keys and names as llama.cpp writes them (text "qwen2vl", mmproj "clip" with
 * projector "qwen2.5vl_merger"). Two things are done at load time for speed: the
 * feed-forward width is padded to a multiple of 32 (3420 -> 3424), and the two
 * temporal kernels of the patch embedding, which see the same pixels of a still
 * picture, are added into one F32 matrix.
 */
#include "engine/vision/archs/qwen_frame.h"

#include "engine/vision/archs/tower.h"
#include "engine/model/draw.h"

#include <math.h>
#include <stdlib.h>

static s2p_status read_vision(s2v_vision *v, const s2v_gguf *file, s2p_error *error)
{
    TRY(s2v_tower_keys(v, file, error));
    TRY(s2v_key_int(file, "clip.vision", "n_wa_pattern", 1, S2V_MAX_LAYERS, &v->full_every, error));
    int32_t window, low, high;
    TRY(s2v_tower_option(file, "spatial_merge_size", 2, 2, 2, &v->merge, error));
    TRY(s2v_tower_option(file, "window_size", v->patch, 4096, 112, &window, error));
    TRY(s2v_tower_option(file, "image_min_pixels", 1, 1 << 30, 56 * 56, &low, error));
    TRY(s2v_tower_option(file, "image_max_pixels", 1, 1 << 30, 1280 * 28 * 28, &high, error));
    v->min_pixels = low;
    v->max_pixels = high;
    v->window = window / (v->patch * v->merge) > 0 ? window / (v->patch * v->merge) : 1;
    return S2P_OK;
}

static void load_block(s2v_block *b, s2v_loader *l, const s2v_vision *v, int32_t i, bool is_swapped)
{
    const int64_t n = v->n_embd, ff = v->n_ff, pad = s2v_round_up(v->n_ff, 32);
    s2v_tower_load_block(b, l, v, i, is_swapped);
    b->gate = s2v_loader_padded(l, "v.blk.%d.ffn_gate.weight", i, n, ff, n, pad);
    b->gate_bias = s2v_loader_padded(l, "v.blk.%d.ffn_gate.bias", i, ff, 1, pad, 1);
}

static s2p_status load_vision(s2v_vision *v, s2v_loader *l)
{
    const int64_t kernel[4] = { v->patch, v->patch, 3, v->n_embd };
    const int64_t wide = (int64_t)v->n_embd * v->merge * v->merge;
    const s2v_gguf_tensor *gate = s2v_gguf_find_tensor(l->file, "v.blk.0.ffn_gate.weight");
    if (!gate || gate->ne[1] > (1 << 20))
        return s2_fail(l->error, S2P_EFORMAT, "the mmproj has no tensor 'v.blk.0.ffn_gate.weight'");
    v->n_ff = (int32_t)gate->ne[1]; /* the key is 0 in files of the old converter */
    v->blocks = calloc((size_t)v->n_blocks, sizeof *v->blocks);
    if (!v->blocks) return s2_fail_memory(l->error, sizeof *v->blocks, "the vision blocks");

    v->patch_embd =
        s2v_loader_sum(l, "v.patch_embd.weight", "v.patch_embd.weight.1", kernel, v->patch_row);
    const bool is_swapped = s2v_tower_has_swapped_ffn(l->file, v->n_embd);
    for (int32_t i = 0; i < v->n_blocks; i++) load_block(&v->blocks[i], l, v, i, is_swapped);
    v->post_norm = s2v_loader_get(l, "v.post_ln.weight", -1, S2V_USE_VECTOR, v->n_embd, 1);
    v->mm0 = s2v_loader_get(l, "mm.0.weight", -1, S2V_USE_MATRIX, wide, wide);
    v->mm0_bias = s2v_loader_get(l, "mm.0.bias", -1, S2V_USE_VECTOR, wide, 1);
    v->mm2 = s2v_loader_get(l, "mm.2.weight", -1, S2V_USE_MATRIX, wide, v->n_out);
    v->mm2_bias = s2v_loader_get(l, "mm.2.bias", -1, S2V_USE_VECTOR, v->n_out, 1);
    return l->status;
}

static s2p_status qwen_load(s2v_model *model, s2v_loader *loader, s2v_gguf *text, s2v_gguf *mmproj,
                            int32_t gpu_layers, s2p_error *error)
{
    loader->file = text;
    TRY(s2v_decoder_load(&model->decoder, loader, "qwen2vl", gpu_layers));
    if (model->decoder.p.sections[0] == 0)
        return s2_fail(error, S2P_EFORMAT,
                       "the model has no list 'qwen2vl.rope.dimension_sections'");
    TRY(read_vision(&model->vision, mmproj, error));
    TRY(s2v_tower_fits(model, error));
    loader->file = mmproj;
    return load_vision(&model->vision, loader);
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

static struct ggml_tensor *attend(struct ggml_context *ctx, const s2v_vision *v,
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

static struct ggml_tensor *attention(struct ggml_context *ctx, const s2v_vision *v, int32_t i,
                                     struct ggml_tensor *x, struct ggml_tensor *pos,
                                     const s2v_frame *f, s2v_peeks *peeks)
{
    const s2v_block *b = &v->blocks[i];
    const bool is_full = (i + 1) % v->full_every == 0;
    int sections[4] = { v->head_dim / 4, v->head_dim / 4, v->head_dim / 4, v->head_dim / 4 };
    struct ggml_tensor *q = s2v_draw_linear(ctx, b->q, b->q_bias, x);
    struct ggml_tensor *k = s2v_draw_linear(ctx, b->k, b->k_bias, x);
    struct ggml_tensor *val = s2v_draw_linear(ctx, b->v, b->v_bias, x);
    struct ggml_tensor *plain_k = k;
    q = ggml_reshape_3d(ctx, q, v->head_dim, v->n_heads, f->n_patches);
    k = ggml_reshape_3d(ctx, k, v->head_dim, v->n_heads, f->n_patches);
    val = ggml_reshape_3d(ctx, val, v->head_dim, v->n_heads, f->n_patches);
    q = ggml_rope_multi(ctx, q, pos, NULL, v->head_dim / 2, sections, GGML_ROPE_TYPE_VISION, 32768,
                        10000.0f, 1.0f, 0.0f, 1.0f, 32.0f, 1.0f);
    k = ggml_rope_multi(ctx, k, pos, NULL, v->head_dim / 2, sections, GGML_ROPE_TYPE_VISION, 32768,
                        10000.0f, 1.0f, 0.0f, 1.0f, 32.0f, 1.0f);
    s2v_tower_show(peeks, i, is_full, q, k, plain_k);

    struct ggml_tensor *out = NULL;
    if (is_full) {
        out = attend(ctx, v, q, k, val, 0, f->n_patches, 1);
    } else {
        int64_t first = 0;
        for (int32_t kind = 0; kind < S2V_WINDOW_KINDS; kind++) {
            const int64_t length = f->window_patches[kind], count = f->n_windows[kind];
            if (count == 0) continue;
            struct ggml_tensor *part = attend(ctx, v, q, k, val, first, length, count);
            out = out ? ggml_concat(ctx, out, part, 1) : part;
            first += length * count;
        }
    }
    return s2v_draw_linear(ctx, b->out, b->out_bias, out);
}

static struct ggml_tensor *qwen_vision(s2v_graph *graph, const s2v_model *model, const s2v_frame *f,
                                       int32_t view, s2v_peeks *peeks)
{
    (void)view; /* there is one */
    struct ggml_context *ctx = graph->ctx;
    const s2v_vision *v = &model->vision;
    struct ggml_tensor *patches =
        s2v_graph_input(graph, GGML_TYPE_F32, v->patch_row, f->n_patches, f->patches);
    struct ggml_tensor *pos =
        s2v_graph_input(graph, GGML_TYPE_I32, 4 * (int64_t)f->n_patches, 1, f->pos);
    struct ggml_tensor *raster = s2v_graph_input(graph, GGML_TYPE_I32, f->n_rows, 1, f->raster);

    struct ggml_tensor *h = ggml_mul_mat(ctx, v->patch_embd, patches);
    for (int32_t i = 0; i < v->n_blocks; i++) {
        const s2v_block *b = &v->blocks[i];
        struct ggml_tensor *x = s2v_draw_rms_norm(ctx, h, b->norm1, v->eps);
        h = ggml_add(ctx, h, attention(ctx, v, i, x, pos, f, peeks));
        x = s2v_draw_rms_norm(ctx, h, b->norm2, v->eps);
        struct ggml_tensor *gate = s2v_draw_linear(ctx, b->gate, b->gate_bias, x);
        struct ggml_tensor *up = s2v_draw_linear(ctx, b->up, b->up_bias, x);
        x = s2v_draw_linear(ctx, b->down, b->down_bias, ggml_swiglu_split(ctx, gate, up));
        h = ggml_add(ctx, h, x);
    }

    const int64_t per_token = (int64_t)v->merge * v->merge;
    h = s2v_draw_rms_norm(ctx, h, v->post_norm, v->eps);
    h = ggml_reshape_2d(ctx, h, v->n_embd * per_token, f->n_patches / per_token);
    h = ggml_gelu_erf(ctx, s2v_draw_linear(ctx, v->mm0, v->mm0_bias, h));
    h = s2v_draw_linear(ctx, v->mm2, v->mm2_bias, h);
    return ggml_get_rows(ctx, h, raster);
}

const s2v_arch arch_qwen2_5_vl = {
    .title = "Qwen2.5-VL",
    .name = "qwen2vl",
    .projector = "qwen2.5vl_merger",
    .template_name = "qwen2-vl",
    .load = qwen_load,
    .frame = s2v_qwen_frame,
    .vision = qwen_vision,
};
