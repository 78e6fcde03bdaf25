/* internvl.c - InternVL3 and 3.5: InternViT, a projector with a norm, Qwen2 or Qwen3.
 *
 * Two layouts: transformers' own ("internvl", the -hf repositories) and the authors' ("internvl_chat").
 * "t." is the language model, "v." the vision tower, "p." the projector.
 */
#include "convert/family.h"

#include <math.h>

/* A side of a square: a number, or a list of two that are the same. */
static int32_t read_side(s2v_config *c, const char *key, int32_t most)
{
    const json_t *value = s2v_config_member(c->vision, key);
    const json_t *other = json_array_get(value, 1);
    if (other && !json_equal(json_array_get(value, 0), other))
        s2v_config_fail(c, S2P_EUNSUPPORTED, key, "is not a square");
    return s2v_config_to_int(c, other ? other : value, key, 1, most);
}

static void read_tower(s2v_config *c, s2v_numbers *n)
{
    const json_t *v = c->vision;
    s2v_config_expect_text(c, v, "hidden_act", "gelu");
    s2v_config_expect_text(c, v, "norm_type", "layer_norm"); /* InternViT-6B has another */
    s2v_config_expect_int(c, v, "num_channels", 3);
    n->v_layers = s2v_config_int(c, v, "num_hidden_layers", 1, 512);
    n->v_head = s2v_config_int(c, v, "num_attention_heads", 1, 4096);
    n->v_patch = read_side(c, "patch_size", 256);
    n->v_image = read_side(c, "image_size", 1 << 14);
    n->v_embd = s2v_config_int(c, v, "hidden_size", 1, 1 << 16);
    n->v_ff = s2v_config_int(c, v, "intermediate_size", 1, S2V_CONFIG_MAX_SIDE);
    n->v_eps =
        s2v_config_to_float(c, s2v_config_member(v, "layer_norm_eps"), "layer_norm_eps", 1e-6);
    const float ratio = s2v_config_to_float(c, s2v_config_member(c->top, "downsample_ratio"),
                                            "downsample_ratio", 0.5);
    n->v_merge = (int32_t)fmin(rint(1.0 / (double)ratio), 16.0);
    if (c->status == S2P_OK && (n->v_merge < 1 || ratio * (float)n->v_merge != 1.0f))
        s2v_config_fail(c, S2P_EUNSUPPORTED, "downsample_ratio",
                        "is not the reciprocal of a whole number");
    if (c->status == S2P_OK && n->v_image / n->v_patch % n->v_merge != 0)
        s2v_config_fail(c, S2P_EFORMAT, "patch_size", "does not divide the picture into tokens");
}

static void native_read_vision(s2v_config *c, s2v_numbers *n)
{
    read_tower(c, n);
    s2v_config_expect_text(c, c->top, "projector_hidden_act", "gelu");
    s2v_config_expect_int(c, c->top, "vision_feature_layer", -1);
    s2v_config_expect_text(c, c->top, "vision_feature_select_strategy", "default");
    s2v_config_expect_bool(c, c->vision, "attention_bias", true);
    s2v_config_expect_bool(c, c->vision, "use_qk_norm", false);
    s2v_config_expect_bool(c, c->vision, "use_absolute_position_embeddings", true);
}

static void chat_read_vision(s2v_config *c, s2v_numbers *n)
{
    read_tower(c, n);
    s2v_config_expect_int(c, c->top, "select_layer", -1);
    s2v_config_expect_text(c, c->top, "ps_version", "v2"); /* v1 turns the picture over */
    s2v_config_expect_bool(c, c->vision, "qkv_bias", true);
    s2v_config_expect_bool(c, c->vision, "qk_normalization", false);
    if (!s2v_config_member(c->top, "min_dynamic_patch")) return;
    n->min_tiles = s2v_config_int(c, c->top, "min_dynamic_patch", 1, 64);
    n->max_tiles = s2v_config_int(c, c->top, "max_dynamic_patch", n->min_tiles, 64);
}

/* Of checkpoints in the layout of transformers; those before it say it in config.json. */
static void read_pixels(s2v_config *c, const json_t *values, s2v_numbers *n)
{
    if (n->max_tiles > 0 || !s2v_config_member(values, "max_patches")) return;
    n->min_tiles = 1;
    if (s2v_config_member(values, "min_patches"))
        n->min_tiles = s2v_config_int(c, values, "min_patches", 1, 64);
    n->max_tiles = s2v_config_int(c, values, "max_patches", n->min_tiles, 64);
    if (n->min_tiles == 1 && n->max_tiles == 12) n->max_tiles = 0; /* as without keys */
}

static void put_vision(const s2v_numbers *n, s2v_gguf_writer *w)
{
    s2v_gguf_put_u32(w, "clip.vision.projection_dim", (uint32_t)n->n_embd);
    s2v_gguf_put_u32(w, "clip.vision.image_size", (uint32_t)n->v_image);
    s2v_gguf_put_u32(w, "clip.vision.patch_size", (uint32_t)n->v_patch);
    s2v_gguf_put_u32(w, "clip.vision.embedding_length", (uint32_t)n->v_embd);
    s2v_gguf_put_u32(w, "clip.vision.feed_forward_length", (uint32_t)n->v_ff);
    s2v_gguf_put_u32(w, "clip.vision.block_count", (uint32_t)n->v_layers);
    s2v_gguf_put_u32(w, "clip.vision.attention.head_count", (uint32_t)n->v_head);
    s2v_gguf_put_f32s(w, "clip.vision.image_mean", n->mean, 3);
    s2v_gguf_put_f32s(w, "clip.vision.image_std", n->std, 3);
    s2v_gguf_put_text(w, "clip.projector_type", "internvl");
    s2v_gguf_put_f32(w, "clip.vision.attention.layer_norm_epsilon", n->v_eps);
    s2v_gguf_put_bool(w, "clip.use_gelu", true);
    s2v_gguf_put_u32(w, "clip.vision.projector.scale_factor", (uint32_t)n->v_merge);
    if (n->max_tiles == 0) return;
    s2v_gguf_put_u32(w, "clip.vision.preproc_min_tiles", (uint32_t)n->min_tiles);
    s2v_gguf_put_u32(w, "clip.vision.preproc_max_tiles", (uint32_t)n->max_tiles);
}

static void qwen3_put_text(const s2v_numbers *n, s2v_gguf_writer *w)
{
    s2v_gguf_put_u32(w, "qwen3.attention.key_length", (uint32_t)n->head_dim);
    s2v_gguf_put_u32(w, "qwen3.attention.value_length", (uint32_t)n->head_dim);
}

static const s2v_map_prefix native_prefixes[] = {
    { "language_model.model.", "t." },
    { "language_model.lm_head.", "lm_head." },
    { "model.language_model.", "t." },
    { "lm_head.", "lm_head." },
    { "model.vision_tower.", "v." },
    { "vision_tower.", "v." },
    { "model.multi_modal_projector.", "p." },
    { "multi_modal_projector.", "p." },
    { NULL, NULL },
};

static const s2v_map_row native_rows[] = {
    ROW("v.embeddings.cls_token", "v.class_embd", ONE, ONE, V_EMBD),
    ROW("v.embeddings.patch_embeddings.projection.weight", "v.patch_embd.weight", V_EMBD, THREE,
        V_PATCH, V_PATCH),
    ROW("v.embeddings.patch_embeddings.projection.bias", "v.patch_embd.bias", V_EMBD),
    ROW("v.embeddings.position_embeddings", "v.position_embd.weight", ONE, V_ROWS, V_EMBD),
    ROW("v.encoder.layer.#.layernorm_before.weight", "v.blk.#.ln1.weight", V_EMBD),
    ROW("v.encoder.layer.#.layernorm_before.bias", "v.blk.#.ln1.bias", V_EMBD),
    ROW("v.encoder.layer.#.layernorm_after.weight", "v.blk.#.ln2.weight", V_EMBD),
    ROW("v.encoder.layer.#.layernorm_after.bias", "v.blk.#.ln2.bias", V_EMBD),
    ROW("v.encoder.layer.#.attention.q_proj.weight", "v.blk.#.attn_q.weight", V_EMBD, V_EMBD),
    ROW("v.encoder.layer.#.attention.q_proj.bias", "v.blk.#.attn_q.bias", V_EMBD),
    ROW("v.encoder.layer.#.attention.k_proj.weight", "v.blk.#.attn_k.weight", V_EMBD, V_EMBD),
    ROW("v.encoder.layer.#.attention.k_proj.bias", "v.blk.#.attn_k.bias", V_EMBD),
    ROW("v.encoder.layer.#.attention.v_proj.weight", "v.blk.#.attn_v.weight", V_EMBD, V_EMBD),
    ROW("v.encoder.layer.#.attention.v_proj.bias", "v.blk.#.attn_v.bias", V_EMBD),
    ROW("v.encoder.layer.#.attention.projection_layer.weight", "v.blk.#.attn_out.weight", V_EMBD,
        V_EMBD),
    ROW("v.encoder.layer.#.attention.projection_layer.bias", "v.blk.#.attn_out.bias", V_EMBD),
    ROW("v.encoder.layer.#.lambda_1", "v.blk.#.ls1.weight", V_EMBD),
    ROW("v.encoder.layer.#.lambda_2", "v.blk.#.ls2.weight", V_EMBD),
    ROW("v.encoder.layer.#.mlp.fc1.weight", "v.blk.#.ffn_up.weight", V_FF, V_EMBD),
    ROW("v.encoder.layer.#.mlp.fc1.bias", "v.blk.#.ffn_up.bias", V_FF),
    ROW("v.encoder.layer.#.mlp.fc2.weight", "v.blk.#.ffn_down.weight", V_EMBD, V_FF),
    ROW("v.encoder.layer.#.mlp.fc2.bias", "v.blk.#.ffn_down.bias", V_EMBD),
    ROW("p.layer_norm.weight", "mm.model.mlp.0.weight", V_TOKEN),
    ROW("p.layer_norm.bias", "mm.model.mlp.0.bias", V_TOKEN),
    ROW("p.linear_1.weight", "mm.model.mlp.1.weight", EMBD, V_TOKEN),
    ROW("p.linear_1.bias", "mm.model.mlp.1.bias", EMBD),
    ROW("p.linear_2.weight", "mm.model.mlp.3.weight", EMBD, EMBD),
    ROW("p.linear_2.bias", "mm.model.mlp.3.bias", EMBD),
    { .from = NULL },
};

static const s2v_map_prefix chat_prefixes[] = {
    { "language_model.model.", "t." },
    { "language_model.lm_head.", "lm_head." },
    { "vision_model.", "v." },
    { "mlp1.", "p." },
    { NULL, NULL },
};

/* clang-format off */
static const s2v_map_row chat_rows[] = {
    ROW("v.embeddings.class_embedding", "v.class_embd", ONE, ONE, V_EMBD),
    ROW("v.embeddings.patch_embedding.weight", "v.patch_embd.weight", V_EMBD, THREE, V_PATCH, V_PATCH),
    ROW("v.embeddings.patch_embedding.bias", "v.patch_embd.bias", V_EMBD),
    ROW("v.embeddings.position_embedding", "v.position_embd.weight", ONE, V_ROWS, V_EMBD),
    ROW("v.encoder.layers.#.norm1.weight", "v.blk.#.ln1.weight", V_EMBD),
    ROW("v.encoder.layers.#.norm1.bias", "v.blk.#.ln1.bias", V_EMBD),
    ROW("v.encoder.layers.#.norm2.weight", "v.blk.#.ln2.weight", V_EMBD),
    ROW("v.encoder.layers.#.norm2.bias", "v.blk.#.ln2.bias", V_EMBD),
    { "v.encoder.layers.#.attn.qkv.weight", "v.blk.#.attn_?.weight", { V_THREE, V_EMBD }, THIRDS, false },
    { "v.encoder.layers.#.attn.qkv.bias", "v.blk.#.attn_?.bias", { V_THREE }, THIRDS, false },
    ROW("v.encoder.layers.#.attn.proj.weight", "v.blk.#.attn_out.weight", V_EMBD, V_EMBD),
    ROW("v.encoder.layers.#.attn.proj.bias", "v.blk.#.attn_out.bias", V_EMBD),
    ROW("v.encoder.layers.#.ls1", "v.blk.#.ls1.weight", V_EMBD),
    ROW("v.encoder.layers.#.ls2", "v.blk.#.ls2.weight", V_EMBD),
    ROW("v.encoder.layers.#.mlp.fc1.weight", "v.blk.#.ffn_up.weight", V_FF, V_EMBD),
    ROW("v.encoder.layers.#.mlp.fc1.bias", "v.blk.#.ffn_up.bias", V_FF),
    ROW("v.encoder.layers.#.mlp.fc2.weight", "v.blk.#.ffn_down.weight", V_EMBD, V_FF),
    ROW("v.encoder.layers.#.mlp.fc2.bias", "v.blk.#.ffn_down.bias", V_EMBD),
    ROW("p.0.weight", "mm.model.mlp.0.weight", V_TOKEN),
    ROW("p.0.bias", "mm.model.mlp.0.bias", V_TOKEN),
    ROW("p.1.weight", "mm.model.mlp.1.weight", EMBD, V_TOKEN),
    ROW("p.1.bias", "mm.model.mlp.1.bias", EMBD),
    ROW("p.3.weight", "mm.model.mlp.3.weight", EMBD, EMBD),
    ROW("p.3.bias", "mm.model.mlp.3.bias", EMBD),
    { .from = NULL },
};
/* clang-format on */

static void moe_read_rope(s2v_config *c, const json_t *rope, s2v_numbers *n)
{
    (void)rope;
    s2v_qwen3_moe_read(c, n);
}

#define FAMILY(title, layout, of_type, of_text, of_architecture, rows, ...)                        \
    {                                                                                              \
        .name = title, .model_type = of_type, .text_type = of_text,                                \
        .architecture = of_architecture, .may_be_dynamic = true,                                   \
        .read_vision = layout##_read_vision, .read_pixels = read_pixels, .put_vision = put_vision, \
        .prefixes = layout##_prefixes, .text = rows, .vision = layout##_rows, __VA_ARGS__          \
    }
#define QWEN2(layout, type) \
    FAMILY("InternVL3", layout, type, "qwen2", "qwen2", s2v_qwen2_text_rows, .has_head_dim = false)
#define QWEN3(layout, type)                                                    \
    FAMILY("InternVL3.5", layout, type, "qwen3", "qwen3", s2v_qwen3_text_rows, \
           .has_head_dim = true, .put_text = qwen3_put_text)
#define QWEN3_MOE(layout, type)                                                               \
    FAMILY("InternVL3.5 MoE", layout, type, "qwen3_moe", "qwen3moe", s2v_qwen3_moe_text_rows, \
           .has_head_dim = true, .read_rope = moe_read_rope, .put_text = s2v_qwen3_moe_put)

const s2v_family family_internvl3 = QWEN2(native, "internvl");
const s2v_family family_internvl3_chat = QWEN2(chat, "internvl_chat");
const s2v_family family_internvl3_5 = QWEN3(native, "internvl");
const s2v_family family_internvl3_5_chat = QWEN3(chat, "internvl_chat");
const s2v_family family_internvl3_5_moe = QWEN3_MOE(native, "internvl");
const s2v_family family_internvl3_5_moe_chat = QWEN3_MOE(chat, "internvl_chat");
