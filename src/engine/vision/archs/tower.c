/* tower.c - what every architecture does alike: keys of the mmproj, its blocks, handing them out.
 */
#include "engine/vision/archs/tower.h"

#include <math.h>
#include <stdio.h>

static s2p_status read_floats(const s2v_gguf *file, const char *name, float out[3],
                              s2p_error *error)
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

s2p_status s2v_tower_keys(s2v_vision *v, const s2v_gguf *file, s2p_error *error)
{
    static const char prefix[] = "clip.vision";
    TRY(s2v_key_int(file, prefix, "block_count", 1, S2V_MAX_LAYERS, &v->n_blocks, error));
    TRY(s2v_key_int(file, prefix, "embedding_length", 1, 1 << 16, &v->n_embd, error));
    TRY(s2v_key_int(file, prefix, "attention.head_count", 1, 1024, &v->n_heads, error));
    TRY(s2v_key_int(file, prefix, "patch_size", 1, 64, &v->patch, error));
    TRY(s2v_key_int(file, prefix, "projection_dim", 1, 1 << 17, &v->n_out, error));
    TRY(s2v_key_float(file, prefix, "attention.layer_norm_epsilon", 0.0, 1.0, &v->eps, error));
    TRY(read_floats(file, "clip.vision.image_mean", v->mean, error));
    TRY(read_floats(file, "clip.vision.image_std", v->std, error));
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

s2p_status s2v_tower_fits(const s2v_model *model, s2p_error *error)
{
    if (model->vision.n_out == model->decoder.p.n_embd) return S2P_OK;
    return s2_fail(error, S2P_EFORMAT,
                   "the mmproj makes rows of %d, the model takes %d: pass the mmproj published "
                   "with the model",
                   model->vision.n_out, model->decoder.p.n_embd);
}

void s2v_tower_load_block(s2v_block *b, s2v_loader *l, const s2v_vision *v, int32_t i,
                          bool is_swapped)
{
    const int64_t n = v->n_embd, ff = v->n_ff, pad = s2v_round_up(v->n_ff, 32);
    b->norm1 = s2v_loader_get(l, "v.blk.%d.ln1.weight", i, S2V_USE_VECTOR, n, 1);
    b->norm2 = s2v_loader_get(l, "v.blk.%d.ln2.weight", i, S2V_USE_VECTOR, n, 1);
    b->q = s2v_loader_get(l, "v.blk.%d.attn_q.weight", i, S2V_USE_MATRIX, n, n);
    b->k = s2v_loader_get(l, "v.blk.%d.attn_k.weight", i, S2V_USE_MATRIX, n, n);
    b->v = s2v_loader_get(l, "v.blk.%d.attn_v.weight", i, S2V_USE_MATRIX, n, n);
    b->out = s2v_loader_get(l, "v.blk.%d.attn_out.weight", i, S2V_USE_MATRIX, n, n);
    b->q_bias = s2v_loader_get(l, "v.blk.%d.attn_q.bias", i, S2V_USE_VECTOR, n, 1);
    b->k_bias = s2v_loader_get(l, "v.blk.%d.attn_k.bias", i, S2V_USE_VECTOR, n, 1);
    b->v_bias = s2v_loader_get(l, "v.blk.%d.attn_v.bias", i, S2V_USE_VECTOR, n, 1);
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

void s2v_tower_show(s2v_peeks *peeks, int32_t i, bool is_full, struct ggml_tensor *q,
                    struct ggml_tensor *k, struct ggml_tensor *plain_k)
{
    for (int32_t p = 0; peeks && p < peeks->n; p++) {
        s2v_peek *peek = &peeks->block[p];
        if (peek->block != i) continue;
        peek->q = q;
        peek->k = k;
        peek->plain_k = peeks->wants_plain ? plain_k : NULL;
        peek->is_full = is_full;
        ggml_set_output(q);
        ggml_set_output(k);
        if (peek->plain_k) ggml_set_output(plain_k);
    }
}
