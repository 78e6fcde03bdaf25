/* gemma_3.c - Gemma 3: SigLIP, the mean of its patches, one matrix, a decoder with windows.
 *
 * "t." is the language model, "v." the vision tower, "p." what is between them. Published configurations
 * leave most sizes to transformers' defaults. Weights of norms are stored as what they are above 1, but for
 * SigLIP's.
 */
#include "convert/family.h"

#include <stdio.h>
#include <string.h>

#define PERIOD 6      /* the last of so many layers sees everything, the others a window */
#define DEEPEST 62    /* layers of the 27B, whose scores are scaled by another number */
#define USUAL_MERGE 4 /* patches along each side of a token: no key says so */

/* What the engine and llama.cpp take as given, because no key of a file says it. */
static void expect_layers(s2v_config *c, const s2v_numbers *n)
{
    const json_t *kinds = s2v_config_text_member(c, "layer_types");
    for (size_t i = 0; i < json_array_size(kinds); i++) {
        const char *kind = json_string_value(json_array_get(kinds, i));
        const char *expected = (i + 1) % PERIOD == 0 ? "full_attention" : "sliding_attention";
        if (kind && strcmp(kind, expected) == 0) continue;
        s2v_config_fail(c, S2P_EUNSUPPORTED, "layer_types",
                        "does not give sliding windows to five of every six layers");
        return;
    }
    if (s2v_config_text_member(c, "sliding_window_pattern"))
        s2v_config_expect_int(c, c->text, "sliding_window_pattern", PERIOD);
    static const char *const caps[] = { "attn_logit_softcapping", "final_logit_softcapping" };
    for (size_t i = 0; i < 2; i++) {
        const json_t *cap = s2v_config_text_member(c, caps[i]);
        if (cap && !json_is_null(cap))
            s2v_config_fail(c, S2P_EUNSUPPORTED, caps[i], "caps scores, which is not supported");
    }
    const int32_t scalar = n->n_layers == DEEPEST ? n->n_embd / n->n_head : n->head_dim;
    const json_t *given = s2v_config_text_member(c, "query_pre_attn_scalar");
    if (given && json_number_value(given) != (double)scalar) {
        char text[96];
        (void)snprintf(text, sizeof text, "is not %d, the only value supported with %d layers",
                       (int)scalar, (int)n->n_layers);
        s2v_config_fail(c, S2P_EUNSUPPORTED, "query_pre_attn_scalar", text);
    }
    s2v_config_expect_text(c, c->text, "hidden_activation", "gelu_pytorch_tanh");
    s2v_config_expect_bool(c, c->text, "attention_bias", false);
    s2v_config_expect_bool(c, c->text, "use_bidirectional_attention", false);
}

static void gemma_read_vision(s2v_config *c, s2v_numbers *n)
{
    const json_t *v = c->vision, *tokens = s2v_config_member(c->top, "mm_tokens_per_image");
    n->window = s2v_config_text_member(c, "sliding_window")
                    ? s2v_config_text_int(c, "sliding_window", 1, 1 << 30)
                    : 4096;
    if (c->status == S2P_OK) expect_layers(c, n);
    s2v_config_expect_text(c, v, "hidden_act", "gelu_pytorch_tanh");
    s2v_config_expect_int(c, v, "num_channels", 3);
    n->v_layers = s2v_config_int(c, v, "num_hidden_layers", 1, 512);
    n->v_head = s2v_config_int(c, v, "num_attention_heads", 1, 4096);
    n->v_embd = s2v_config_int(c, v, "hidden_size", 1, 1 << 16);
    n->v_ff = s2v_config_int(c, v, "intermediate_size", 1, S2V_CONFIG_MAX_SIDE);
    n->v_patch = s2v_config_int(c, v, "patch_size", 1, 256);
    n->v_image = s2v_config_int(c, v, "image_size", 1, 1 << 14);
    n->v_eps =
        s2v_config_to_float(c, s2v_config_member(v, "layer_norm_eps"), "layer_norm_eps", 1e-6);
    const int32_t n_tokens =
        tokens ? s2v_config_to_int(c, tokens, "mm_tokens_per_image", 1, 1 << 16) : 256;
    if (c->status != S2P_OK) return;
    int32_t side = 1;
    while (side * side < n_tokens) side++;
    n->v_merge = n->v_image / n->v_patch / side;
    if (side * side != n_tokens || n->v_merge < 1 || n->v_merge > 16 ||
        n->v_image / n->v_patch != n->v_merge * side)
        s2v_config_fail(c, S2P_EFORMAT, "mm_tokens_per_image",
                        "does not divide the patches of a picture into squares");
}

static void gemma_put_rope(const s2v_numbers *n, s2v_gguf_writer *w)
{
    if (!(n->rope_factor > 0.0f)) return;
    s2v_gguf_put_text(w, "gemma3.rope.scaling.type", "linear");
    s2v_gguf_put_f32(w, "gemma3.rope.scaling.factor", n->rope_factor);
}

static void gemma_put_text(const s2v_numbers *n, s2v_gguf_writer *w)
{
    s2v_gguf_put_f32(w, "gemma3.rope.freq_base_swa", n->window_theta);
    s2v_gguf_put_u32(w, "gemma3.attention.key_length", (uint32_t)n->head_dim);
    s2v_gguf_put_u32(w, "gemma3.attention.value_length", (uint32_t)n->head_dim);
    s2v_gguf_put_u32(w, "gemma3.attention.sliding_window", (uint32_t)n->window);
}

static void gemma_put_vision(const s2v_numbers *n, s2v_gguf_writer *w)
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
    s2v_gguf_put_text(w, "clip.projector_type", "gemma3");
    s2v_gguf_put_f32(w, "clip.vision.attention.layer_norm_epsilon", n->v_eps);
    s2v_gguf_put_bool(w, "clip.use_gelu", true);
    if (n->v_merge != USUAL_MERGE)
        s2v_gguf_put_u32(w, "clip.vision.projector.scale_factor", (uint32_t)n->v_merge);
}

/* As published, and as transformers 5 writes them. */
static const s2v_map_prefix gemma_prefixes[] = {
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
    { NULL, NULL },
};

#define NORM(from, to, width)                \
    {                                        \
        from, to, { width }, PLUS_ONE, false \
    }

static const s2v_map_row gemma_text_rows[] = {
    ROW("lm_head.weight", "output.weight", VOCAB, EMBD),
    ROW("t.embed_tokens.weight", "token_embd.weight", VOCAB, EMBD),
    NORM("t.norm.weight", "output_norm.weight", EMBD),
    NORM("t.layers.#.input_layernorm.weight", "blk.#.attn_norm.weight", EMBD),
    NORM("t.layers.#.post_attention_layernorm.weight", "blk.#.post_attention_norm.weight", EMBD),
    NORM("t.layers.#.pre_feedforward_layernorm.weight", "blk.#.ffn_norm.weight", EMBD),
    NORM("t.layers.#.post_feedforward_layernorm.weight", "blk.#.post_ffw_norm.weight", EMBD),
    NORM("t.layers.#.self_attn.q_norm.weight", "blk.#.attn_q_norm.weight", HEAD),
    NORM("t.layers.#.self_attn.k_norm.weight", "blk.#.attn_k_norm.weight", HEAD),
    ROW("t.layers.#.self_attn.q_proj.weight", "blk.#.attn_q.weight", QUERIES, EMBD),
    ROW("t.layers.#.self_attn.k_proj.weight", "blk.#.attn_k.weight", KEYS, EMBD),
    ROW("t.layers.#.self_attn.v_proj.weight", "blk.#.attn_v.weight", KEYS, EMBD),
    ROW("t.layers.#.self_attn.o_proj.weight", "blk.#.attn_output.weight", EMBD, QUERIES),
    ROW("t.layers.#.mlp.gate_proj.weight", "blk.#.ffn_gate.weight", FF, EMBD),
    ROW("t.layers.#.mlp.up_proj.weight", "blk.#.ffn_up.weight", FF, EMBD),
    ROW("t.layers.#.mlp.down_proj.weight", "blk.#.ffn_down.weight", EMBD, FF),
    { .from = NULL },
};

static const s2v_map_row gemma_vision_rows[] = {
    ROW("v.embeddings.patch_embedding.weight", "v.patch_embd.weight", V_EMBD, THREE, V_PATCH,
        V_PATCH),
    ROW("v.embeddings.patch_embedding.bias", "v.patch_embd.bias", V_EMBD),
    ROW("v.embeddings.position_embedding.weight", "v.position_embd.weight", V_PLACES, V_EMBD),
    UNREAD("v.embeddings.position_ids"),
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
    ROW("v.post_layernorm.weight", "v.post_ln.weight", V_EMBD),
    ROW("v.post_layernorm.bias", "v.post_ln.bias", V_EMBD),
    ROW("p.mm_input_projection_weight", "mm.input_projection.weight", V_EMBD, EMBD),
    NORM("p.mm_soft_emb_norm.weight", "mm.soft_emb_norm.weight", V_EMBD),
    { .from = NULL },
};

const s2v_family family_gemma_3 = {
    .name = "Gemma 3",
    .model_type = "gemma3",
    .text_type = "gemma3_text",
    .architecture = "gemma3",
    .has_head_dim = true,
    .usual = { 26, 2304, 9216, 8, 4, 256, 131072, 262208 }, /* transformers' Gemma3TextConfig */
    .has_f32_patches = true,
    .has_windows = true,
    .read_vision = gemma_read_vision,
    .put_rope = gemma_put_rope,
    .put_text = gemma_put_text,
    .put_vision = gemma_put_vision,
    .prefixes = gemma_prefixes,
    .text = gemma_text_rows,
    .vision = gemma_vision_rows,
};
