/* llava_onevision.c - LLaVA-OneVision on Qwen2: a SigLIP tower, a projector of two layers.
 *
 * "t." is the language model, "v." the vision tower, "p." the projector.
 */
#include "convert/family.h"

#define TILES 6 /* 1 to 6 along each side */

/* The arrangements of tiles that the engine knows, and the limit on their tokens. */
static void expect_tiles(s2v_config *c, const s2v_numbers *n)
{
    s2v_config_expect_text(c, c->top, "vision_aspect_ratio", "anyres_max_9");
    const json_t *list = s2v_config_member(c->top, "image_grid_pinpoints");
    bool is_usual = !list || json_array_size(list) == TILES * TILES;
    for (size_t i = 0; is_usual && i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        const json_int_t down = n->v_image * (json_int_t)(i / TILES + 1);
        const json_int_t across = n->v_image * (json_int_t)(i % TILES + 1);
        is_usual = json_array_size(one) == 2 &&
                   json_integer_value(json_array_get(one, 0)) == down &&
                   json_integer_value(json_array_get(one, 1)) == across;
    }
    if (!is_usual)
        s2v_config_fail(c, S2P_EUNSUPPORTED, "image_grid_pinpoints",
                        "is not a list of sizes of 1 to 6 tiles per side, the smallest first");
}

static void llava_read_vision(s2v_config *c, s2v_numbers *n)
{
    const json_t *v = c->vision;
    s2v_config_expect_text(c, v, "model_type", "siglip_vision_model");
    s2v_config_expect_text(c, v, "hidden_act", "gelu_pytorch_tanh");
    s2v_config_expect_int(c, v, "num_channels", 3);
    s2v_config_expect_text(c, c->top, "projector_hidden_act", "gelu");
    s2v_config_expect_bool(c, c->top, "multimodal_projector_bias", true);
    s2v_config_expect_text(c, c->top, "vision_feature_select_strategy", "full");
    n->v_layers = s2v_config_int(c, v, "num_hidden_layers", 1, 512);
    n->v_head = s2v_config_int(c, v, "num_attention_heads", 1, 4096);
    n->v_patch = s2v_config_int(c, v, "patch_size", 1, 256);
    n->v_image = s2v_config_int(c, v, "image_size", 1, 1 << 14);
    n->v_embd = s2v_config_int(c, v, "hidden_size", 1, 1 << 16);
    n->v_ff = s2v_config_int(c, v, "intermediate_size", 1, S2V_CONFIG_MAX_SIDE);
    n->v_eps =
        s2v_config_to_float(c, s2v_config_member(v, "layer_norm_eps"), "layer_norm_eps", 1e-6);
    const json_t *layer = s2v_config_member(c->top, "vision_feature_layer");
    const int32_t at = layer ? s2v_config_to_int(c, layer, "vision_feature_layer", -512, 512) : -1;
    n->v_feature = at < 0 ? n->v_layers + 1 + at : at; /* -1: the output of the last layer */
    if (c->status == S2P_OK && (n->v_feature < 1 || n->v_feature > n->v_layers))
        s2v_config_fail(c, S2P_EFORMAT, "vision_feature_layer", "is not a layer of the tower");
    if (c->status == S2P_OK && n->v_patch > n->v_image)
        s2v_config_fail(c, S2P_EFORMAT, "patch_size", "is larger than the picture");
    if (c->status == S2P_OK) expect_tiles(c, n);
}

static void llava_put_vision(const s2v_numbers *n, s2v_gguf_writer *w)
{
    s2v_gguf_put_bool(w, "clip.has_llava_projector", true);
    s2v_gguf_put_text(w, "clip.projector_type", "mlp");
    s2v_gguf_put_bool(w, "clip.use_gelu", true);
    s2v_gguf_put_u32(w, "clip.vision.image_size", (uint32_t)n->v_image);
    s2v_gguf_put_u32(w, "clip.vision.patch_size", (uint32_t)n->v_patch);
    s2v_gguf_put_u32(w, "clip.vision.embedding_length", (uint32_t)n->v_embd);
    s2v_gguf_put_u32(w, "clip.vision.feed_forward_length", (uint32_t)n->v_ff);
    s2v_gguf_put_u32(w, "clip.vision.projection_dim", (uint32_t)n->n_embd);
    s2v_gguf_put_u32(w, "clip.vision.block_count", (uint32_t)n->v_layers);
    s2v_gguf_put_u32(w, "clip.vision.attention.head_count", (uint32_t)n->v_head);
    s2v_gguf_put_f32(w, "clip.vision.attention.layer_norm_epsilon", n->v_eps);
    s2v_gguf_put_f32s(w, "clip.vision.image_mean", n->mean, 3);
    s2v_gguf_put_f32s(w, "clip.vision.image_std", n->std, 3);
    s2v_gguf_put_i32s(w, "clip.vision.feature_layer", &n->v_feature, 1);
    s2v_gguf_put_text(w, "clip.vision.mm_patch_merge_type", "flat");
}

static const s2v_map_prefix llava_prefixes[] = {
    { "language_model.model.", "t." },
    { "language_model.lm_head.", "lm_head." },
    { "model.language_model.", "t." },
    { "lm_head.", "lm_head." },
    { "model.vision_tower.vision_model.", "v." },
    { "vision_tower.vision_model.", "v." },
    { "model.vision_tower.", "v." },
    { "vision_tower.", "v." }, /* saved again by transformers 5 */
    { "model.multi_modal_projector.", "p." },
    { "multi_modal_projector.", "p." },
    { "model.image_newline", "image_newline" },
    { "image_newline", "image_newline" },
    { NULL, NULL },
};

static const s2v_map_row llava_rows[] = {
    ROW("v.embeddings.patch_embedding.weight", "v.patch_embd.weight", V_EMBD, THREE, V_PATCH,
        V_PATCH),
    ROW("v.embeddings.patch_embedding.bias", "v.patch_embd.bias", V_EMBD),
    ROW("v.embeddings.position_embedding.weight", "v.position_embd.weight", V_PLACES, V_EMBD),
    ROW("v.encoder.layers.#.layer_norm1.weight", "v.blk.#.ln1.weight", V_EMBD),
    ROW("v.encoder.layers.#.layer_norm1.bias", "v.blk.#.ln1.bias", V_EMBD),
    ROW("v.encoder.layers.#.layer_norm2.weight", "v.blk.#.ln2.weight", V_EMBD),
    ROW("v.encoder.layers.#.layer_norm2.bias", "v.blk.#.ln2.bias", V_EMBD),
    ROW("v.encoder.layers.#.self_attn.q_proj.weight", "v.blk.#.attn_q.weight", V_EMBD, V_EMBD),
    ROW("v.encoder.layers.#.self_attn.q_proj.bias", "v.blk.#.attn_q.bias", V_EMBD),
    ROW("v.encoder.layers.#.self_attn.k_proj.weight", "v.blk.#.attn_k.weight", V_EMBD, V_EMBD),
    ROW("v.encoder.layers.#.self_attn.k_proj.bias", "v.blk.#.attn_k.bias", V_EMBD),
    ROW("v.encoder.layers.#.self_attn.v_proj.weight", "v.blk.#.attn_v.weight", V_EMBD, V_EMBD),
    ROW("v.encoder.layers.#.self_attn.v_proj.bias", "v.blk.#.attn_v.bias", V_EMBD),
    ROW("v.encoder.layers.#.self_attn.out_proj.weight", "v.blk.#.attn_out.weight", V_EMBD, V_EMBD),
    ROW("v.encoder.layers.#.self_attn.out_proj.bias", "v.blk.#.attn_out.bias", V_EMBD),
    ROW("v.encoder.layers.#.mlp.fc1.weight", "v.blk.#.ffn_up.weight", V_FF, V_EMBD),
    ROW("v.encoder.layers.#.mlp.fc1.bias", "v.blk.#.ffn_up.bias", V_FF),
    ROW("v.encoder.layers.#.mlp.fc2.weight", "v.blk.#.ffn_down.weight", V_EMBD, V_FF),
    ROW("v.encoder.layers.#.mlp.fc2.bias", "v.blk.#.ffn_down.bias", V_EMBD),
    ROW("p.linear_1.weight", "mm.0.weight", EMBD, V_EMBD),
    ROW("p.linear_1.bias", "mm.0.bias", EMBD),
    ROW("p.linear_2.weight", "mm.2.weight", EMBD, EMBD),
    ROW("p.linear_2.bias", "mm.2.bias", EMBD),
    ROW("image_newline", "v.image_newline", EMBD),
    /* the features are the last layer's output as it is: neither norm nor pooling head is used */
    UNREAD("v.post_layernorm.weight"),
    UNREAD("v.post_layernorm.bias"),
    UNREAD("v.embeddings.position_ids"),
    UNREAD("v.head.*"),
    { .from = NULL },
};

const s2v_family family_llava_onevision = {
    .name = "LLaVA-OneVision",
    .model_type = "llava_onevision",
    .text_type = "qwen2",
    .architecture = "qwen2",
    .has_bare_header = true,
    .read_vision = llava_read_vision,
    .put_vision = llava_put_vision,
    .prefixes = llava_prefixes,
    .text = s2v_qwen2_text_rows,
    .vision = llava_rows,
};
