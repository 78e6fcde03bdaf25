/* tower.c - what the architectures do alike: keys, blocks and merger of the mmproj, patches. */
#include "engine/vision/towers/tower.h"

#include "engine/decoder/draw.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void s2v_model_free(s2v_model *model)
{
    s2v_decoder_free(&model->decoder);
    free(model->own);
}

static s2p_status read_three(const s2v_gguf *file, const char *name, float out[3], s2p_error *error)
{
    const s2v_gguf_key *key = s2v_gguf_find_key(file, name);
    for (uint64_t i = 0; i < 3; i++) {
        double value;
        if (!key || key->count != 3 || !s2v_gguf_item_float(key, i, &value) || !isfinite(value))
            return s2_fail(error, S2P_EFORMAT, "the mmproj has no list of 3 numbers '%s'", name);
        out[i] = (float)value;
    }
    return S2P_OK;
}

s2p_status s2v_tower_keys(s2v_tower *v, const s2v_gguf *file, s2p_error *error)
{
    static const char prefix[] = "clip.vision";
    TRY(s2v_key_int(file, prefix, "block_count", 1, S2V_MAX_LAYERS, &v->n_blocks, error));
    TRY(s2v_key_int(file, prefix, "embedding_length", 1, 1 << 16, &v->n_embd, error));
    TRY(s2v_key_int(file, prefix, "attention.head_count", 1, 1024, &v->n_heads, error));
    TRY(s2v_key_int(file, prefix, "patch_size", 1, 64, &v->patch, error));
    TRY(s2v_key_int(file, prefix, "projection_dim", 1, 1 << 17, &v->n_out, error));
    TRY(s2v_key_float(file, prefix, "attention.layer_norm_epsilon", 0.0, 1.0, &v->eps, error));
    TRY(read_three(file, "clip.vision.image_mean", v->mean, error));
    TRY(read_three(file, "clip.vision.image_std", v->std, error));
    for (int i = 0; i < 3; i++)
        if (!(v->std[i] > 0.0f))
            return s2_fail(error, S2P_EFORMAT, "clip.vision.image_std[%d] is %g, expected above 0",
                           i, (double)v->std[i]);
    if (v->n_embd % v->n_heads != 0 || v->n_embd / v->n_heads % 4 != 0)
        return s2_fail(error, S2P_EFORMAT, "%d vision heads do not divide a width of %d",
                       v->n_heads, v->n_embd);
    v->head_dim = v->n_embd / v->n_heads;
    v->patch_values = 3 * v->patch * v->patch;
    v->patch_row = s2v_round_up(v->patch_values, 32);
    return S2P_OK;
}

s2p_status s2v_tower_option(const s2v_gguf *file, const char *key, int32_t low, int32_t high,
                            int32_t fallback, int32_t *out, s2p_error *error)
{
    char name[64];
    (void)snprintf(name, sizeof name, "clip.vision.%s", key);
    *out = fallback;
    if (!s2v_gguf_find_key(file, name)) return S2P_OK;
    return s2v_key_int(file, "clip.vision", key, low, high, out, error);
}

bool s2v_tower_has_swapped_ffn(const s2v_gguf *file, int32_t n_embd)
{
    const s2v_gguf_tensor *down = s2v_gguf_find_tensor(file, "v.blk.0.ffn_down.weight");
    return down && down->ne[0] == n_embd && down->ne[1] != n_embd;
}

s2p_status s2v_tower_ffn_width(s2v_tower *v, const s2v_gguf *file, const char *name,
                               s2p_error *error)
{
    const s2v_gguf_tensor *tensor = s2v_gguf_find_tensor(file, name);
    if (!tensor || tensor->ne[1] > (1 << 20))
        return s2_fail(error, S2P_EFORMAT, "the mmproj has no tensor '%s'", name);
    v->n_ff = (int32_t)tensor->ne[1];
    return S2P_OK;
}

s2p_status s2v_tower_fits(const s2v_model *model, s2p_error *error)
{
    if (model->tower.n_out == model->decoder.p.n_embd) return S2P_OK;
    return s2_fail(error, S2P_EFORMAT,
                   "the mmproj makes rows of %d, the model takes %d: pass the mmproj published "
                   "with the model",
                   model->tower.n_out, model->decoder.p.n_embd);
}

/* It is x sigmoid(z) = silu(z) / t, where z = x t and
 * t = 2 sqrt(2/pi) (1 + 0.044715 x^2), never 0. */
struct ggml_tensor *s2v_tower_gelu_tanh(struct ggml_context *ctx, struct ggml_tensor *x)
{
    const float slope = 1.5957691216057308f;
    struct ggml_tensor *t = ggml_scale_bias(ctx, ggml_sqr(ctx, x), slope * 0.044715f, slope);
    return ggml_div(ctx, ggml_silu(ctx, ggml_mul(ctx, x, t)), t);
}

void s2v_tower_load_block(s2v_block *b, s2v_loader *l, const s2v_tower *v, int32_t i,
                          bool is_swapped)
{
    const int64_t n = v->n_embd, ff = v->n_ff, pad = s2v_round_up(v->n_ff, 32);
    b->norm1 = s2v_loader_get(l, "v.blk.%d.ln1.weight", i, S2V_USE_VECTOR, n, 1);
    b->norm2 = s2v_loader_get(l, "v.blk.%d.ln2.weight", i, S2V_USE_VECTOR, n, 1);
    if (v->is_fused) {
        b->qkv = s2v_loader_get(l, "v.blk.%d.attn_qkv.weight", i, S2V_USE_MATRIX, n, 3 * n);
        b->qkv_bias = s2v_loader_get(l, "v.blk.%d.attn_qkv.bias", i, S2V_USE_VECTOR, 3 * n, 1);
    } else {
        b->q = s2v_loader_get(l, "v.blk.%d.attn_q.weight", i, S2V_USE_MATRIX, n, n);
        b->k = s2v_loader_get(l, "v.blk.%d.attn_k.weight", i, S2V_USE_MATRIX, n, n);
        b->v = s2v_loader_get(l, "v.blk.%d.attn_v.weight", i, S2V_USE_MATRIX, n, n);
        b->q_bias = s2v_loader_get(l, "v.blk.%d.attn_q.bias", i, S2V_USE_VECTOR, n, 1);
        b->k_bias = s2v_loader_get(l, "v.blk.%d.attn_k.bias", i, S2V_USE_VECTOR, n, 1);
        b->v_bias = s2v_loader_get(l, "v.blk.%d.attn_v.bias", i, S2V_USE_VECTOR, n, 1);
    }
    b->out = s2v_loader_get(l, "v.blk.%d.attn_out.weight", i, S2V_USE_MATRIX, n, n);
    b->out_bias = s2v_loader_get(l, "v.blk.%d.attn_out.bias", i, S2V_USE_VECTOR, n, 1);
    const char *up = is_swapped ? "v.blk.%d.ffn_down.weight" : "v.blk.%d.ffn_up.weight";
    const char *down = is_swapped ? "v.blk.%d.ffn_up.weight" : "v.blk.%d.ffn_down.weight";
    const char *up_bias = is_swapped ? "v.blk.%d.ffn_down.bias" : "v.blk.%d.ffn_up.bias";
    const char *down_bias = is_swapped ? "v.blk.%d.ffn_up.bias" : "v.blk.%d.ffn_down.bias";
    b->up = s2v_loader_padded(l, up, i, n, ff, n, pad);
    b->up_bias = s2v_loader_padded(l, up_bias, i, ff, 1, pad, 1);
    b->down = s2v_loader_padded(l, down, i, ff, n, pad, n);
    b->down_bias = s2v_loader_get(l, down_bias, i, S2V_USE_VECTOR, n, 1);
}

const s2v_kernels *s2v_tower_kernels(const s2v_tower *v, const s2v_loader *l)
{
    const bool fits =
        v->head_dim <= S2V_MAX_HEAD && s2v_loader_packs(l, "v.blk.") && s2v_loader_packs(l, "mm.");
    return fits ? l->kernels : NULL;
}

void s2v_tower_load_packed(s2v_packed_block *b, s2v_loader *l, const s2v_tower *v, int32_t i,
                           bool is_swapped, s2v_norm norm, s2v_activation activation)
{
    static const char *const qkv[] = { "v.blk.%d.attn_q.weight", "v.blk.%d.attn_k.weight",
                                       "v.blk.%d.attn_v.weight" };
    static const char *const qkv_bias[] = { "v.blk.%d.attn_q.bias", "v.blk.%d.attn_k.bias",
                                            "v.blk.%d.attn_v.bias" };
    static const char *const fused[] = { "v.blk.%d.attn_qkv.weight" };
    static const char *const fused_bias[] = { "v.blk.%d.attn_qkv.bias" };
    static const char *const out[] = { "v.blk.%d.attn_out.weight" };
    static const char *const out_bias[] = { "v.blk.%d.attn_out.bias" };
    const bool is_pair = activation == S2V_SWIGLU;
    const char *const wide = is_swapped ? "v.blk.%d.ffn_down.weight" : "v.blk.%d.ffn_up.weight";
    const char *const wide_bias = is_swapped ? "v.blk.%d.ffn_down.bias" : "v.blk.%d.ffn_up.bias";
    const char *const down = is_swapped ? "v.blk.%d.ffn_up.weight" : "v.blk.%d.ffn_down.weight";
    const char *const down_bias = is_swapped ? "v.blk.%d.ffn_up.bias" : "v.blk.%d.ffn_down.bias";
    const char *const up[] = { is_pair ? "v.blk.%d.ffn_gate.weight" : wide, wide };
    const char *const up_bias[] = { is_pair ? "v.blk.%d.ffn_gate.bias" : wide_bias, wide_bias };
    const int64_t n = v->n_embd;

    b->qkv = (s2v_linear){ .norm = norm, .eps = v->eps };
    b->qkv.norm_weight = s2v_loader_get(l, "v.blk.%d.ln1.weight", i, S2V_USE_VECTOR, n, 1);
    if (v->is_fused)
        s2v_linear_load(&b->qkv, l, fused, fused_bias, 1, i, n, 3 * n);
    else
        s2v_linear_load(&b->qkv, l, qkv, qkv_bias, 3, i, n, n);
    b->out = (s2v_linear){ .norm = S2V_NORM_NONE };
    s2v_linear_load(&b->out, l, out, out_bias, 1, i, n, n);
    b->up = (s2v_linear){ .norm = norm, .eps = v->eps, .activation = activation };
    b->up.norm_weight = s2v_loader_get(l, "v.blk.%d.ln2.weight", i, S2V_USE_VECTOR, n, 1);
    s2v_linear_load(&b->up, l, up, up_bias, 1 + is_pair, i, n, v->n_ff);
    b->down = (s2v_linear){ .norm = S2V_NORM_NONE };
    s2v_linear_load(&b->down, l, &down, &down_bias, 1, i, v->n_ff, n);
    if (norm != S2V_NORM_LAYER) return;
    b->qkv.norm_bias = s2v_loader_get(l, "v.blk.%d.ln1.bias", i, S2V_USE_VECTOR, n, 1);
    b->up.norm_bias = s2v_loader_get(l, "v.blk.%d.ln2.bias", i, S2V_USE_VECTOR, n, 1);
}

/* h, and a product of x added to it, times `scale` unless that is NULL. */
static struct ggml_tensor *add_product(s2v_graph *graph, const s2v_linear *linear,
                                       struct ggml_tensor *scale, struct ggml_tensor *x,
                                       struct ggml_tensor *h, struct ggml_tensor *scratch)
{
    if (!scale) return s2v_node_product(graph, linear, x, h, scratch);
    x = s2v_node_product(graph, linear, x, NULL, scratch);
    return s2v_node_scaled_sum(graph->ctx, h, x, scale);
}

struct ggml_tensor *s2v_tower_draw_packed(s2v_graph *graph, const s2v_packed_block *b,
                                          const s2v_heads *heads, int32_t i, struct ggml_tensor *h,
                                          struct ggml_tensor *turn, struct ggml_tensor *start,
                                          struct ggml_tensor *scratch, const s2v_windows *windows,
                                          s2v_tower_request *request)
{
    struct ggml_context *ctx = graph->ctx;
    struct ggml_tensor *qkv = s2v_node_product(graph, &b->qkv, h, NULL, scratch);
    for (int32_t r = 0; r < request->n; r++) {
        if (request->block[r].block != i) continue;
        struct ggml_tensor *q = s2v_node_part(ctx, heads, qkv, turn, 0);
        struct ggml_tensor *k = s2v_node_part(ctx, heads, qkv, turn, 1);
        struct ggml_tensor *plain_k = turn ? s2v_node_part(ctx, heads, qkv, NULL, 1) : NULL;
        s2v_tower_show(request, i, windows, q, k, plain_k);
        s2v_graph_expand(graph, q); /* nothing else of the graph reads them */
        s2v_graph_expand(graph, k);
        if (request->block[r].plain_k) s2v_graph_expand(graph, plain_k);
    }
    struct ggml_tensor *x = s2v_node_attention(graph, heads, qkv, turn, start, scratch);
    h = add_product(graph, &b->out, b->scale1, x, h, scratch);
    s2v_graph_pause(graph, h);
    x = s2v_node_product(graph, &b->up, h, NULL, scratch);
    h = add_product(graph, &b->down, b->scale2, x, h, scratch);
    s2v_graph_pause(graph, h);
    return h;
}

size_t s2v_tower_block_scratch(const s2v_packed_block *b, const s2v_heads *heads, int32_t n_rows)
{
    const s2v_linear *const products[] = { &b->qkv, &b->out, &b->up, &b->down };
    return s2v_tower_scratch(products, 4, heads, n_rows);
}

size_t s2v_tower_merger_scratch(const s2v_merger *merger, const s2v_heads *heads, int32_t n_rows)
{
    const s2v_linear *const last = merger->second.kernels ? &merger->second : &merger->first;
    const s2v_linear *const products[] = { &merger->first, last };
    return s2v_tower_scratch(products, 2, heads, n_rows);
}

void s2v_tower_load_packed_merger(s2v_merger *m, s2v_loader *l, int64_t wide, int64_t hidden,
                                  int64_t n_out)
{
    static const char *const first[] = { "mm.0.weight" }, *const first_bias[] = { "mm.0.bias" };
    static const char *const second[] = { "mm.2.weight" }, *const second_bias[] = { "mm.2.bias" };
    m->first.activation = S2V_GELU_ERF;
    s2v_linear_load(&m->first, l, first, first_bias, 1, -1, wide, hidden);
    s2v_linear_load(&m->second, l, second, second_bias, 1, -1, hidden, n_out);
}

void s2v_tower_load_merger(s2v_merger *m, s2v_loader *l, int64_t wide, int64_t hidden,
                           int64_t n_out)
{
    m->mm0 = s2v_loader_get(l, "mm.0.weight", -1, S2V_USE_MATRIX, wide, hidden);
    m->mm0_bias = s2v_loader_get(l, "mm.0.bias", -1, S2V_USE_VECTOR, hidden, 1);
    m->mm2 = s2v_loader_get(l, "mm.2.weight", -1, S2V_USE_MATRIX, hidden, n_out);
    m->mm2_bias = s2v_loader_get(l, "mm.2.bias", -1, S2V_USE_VECTOR, n_out, 1);
}

struct ggml_tensor *s2v_tower_draw_merger(struct ggml_context *ctx, const s2v_merger *m,
                                          struct ggml_tensor *h)
{
    h = ggml_gelu_erf(ctx, s2v_draw_linear(ctx, m->mm0, m->mm0_bias, h));
    return s2v_draw_linear(ctx, m->mm2, m->mm2_bias, h);
}

s2v_levels s2v_tower_levels(const s2v_tower *v)
{
    s2v_levels level;
    for (int32_t ch = 0; ch < 3; ch++)
        for (int32_t b = 0; b < 256; b++)
            level.of[ch][b] = ((float)b * (1.0f / 255.0f) - v->mean[ch]) / v->std[ch];
    return level;
}

void s2v_tower_cut_patch(const s2v_tower *v, const s2v_levels *level, const s2p_image *image,
                         int32_t top, int32_t left, float *out)
{
    const int32_t patch = v->patch;
    for (int32_t y = 0; y < patch; y++) {
        const uint8_t *pixel = image->pixels + (top + y) * image->stride + (ptrdiff_t)left * 3;
        for (int32_t x = 0; x < patch; x++, pixel += 3)
            for (int32_t ch = 0; ch < 3; ch++)
                out[(ch * patch + y) * patch + x] = level->of[ch][pixel[ch]];
    }
}

void s2v_tower_show(s2v_tower_request *request, int32_t i, const s2v_windows *windows,
                    struct ggml_tensor *q, struct ggml_tensor *k, struct ggml_tensor *plain_k)
{
    for (int32_t b = 0; b < request->n; b++) {
        s2v_tower_qk *qk = &request->block[b];
        if (qk->block != i) continue;
        qk->q = q;
        qk->k = k;
        qk->plain_k = request->wants_plain ? plain_k : NULL;
        qk->windows = windows;
        ggml_set_output(q);
        ggml_set_output(k);
        if (qk->plain_k) ggml_set_output(plain_k);
    }
}

void s2v_tower_show_stage(s2v_tower_request *request, s2v_graph *graph, const char *name,
                          int32_t index, struct ggml_tensor *rows)
{
    if (!request->stage) return;
    request->stage[request->n_stages++] = (s2v_tower_stage){ name, index, rows };
    ggml_set_output(rows);
    s2v_graph_expand(graph, rows);
}
