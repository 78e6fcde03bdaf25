/* smolvlm.c - SmolVLM, SmolVLM2 and others of Idefics3's build: SigLIP, one matrix, Llama.
 *
 * "t." is the language model, "v." the vision tower, "p." the matrix between them.
 */
#include "convert/family.h"

/* A size of the tower; published files leave some to transformers' defaults. */
static int32_t read_size(s2v_config *c, const char *key, int32_t most, int32_t usual)
{
    return s2v_config_member(c->vision, key) ? s2v_config_int(c, c->vision, key, 1, most) : usual;
}

static void smolvlm_read_vision(s2v_config *c, s2v_numbers *n)
{
    const json_t *v = c->vision;
    s2v_config_expect_text(c, v, "hidden_act", "gelu_pytorch_tanh");
    s2v_config_expect_int(c, v, "num_channels", 3);
    n->v_layers = read_size(c, "num_hidden_layers", 512, 12);
    n->v_head = read_size(c, "num_attention_heads", 4096, 16);
    n->v_embd = read_size(c, "hidden_size", 1 << 16, 1152);
    n->v_ff = read_size(c, "intermediate_size", S2V_CONFIG_MAX_SIDE, 3072);
    n->v_patch = s2v_config_int(c, v, "patch_size", 1, 256);
    n->v_image = s2v_config_int(c, v, "image_size", 1, 1 << 14);
    n->v_merge = s2v_config_int(c, c->top, "scale_factor", 1, 16);
    n->v_eps =
        s2v_config_to_float(c, s2v_config_member(v, "layer_norm_eps"), "layer_norm_eps", 1e-6);
    n->longest = n->v_image;
    if (c->status == S2P_OK && n->v_image / n->v_patch % n->v_merge != 0)
        s2v_config_fail(c, S2P_EFORMAT, "patch_size", "does not divide the picture into tokens");
}

static void smolvlm_read_pixels(s2v_config *c, const json_t *values, s2v_numbers *n)
{
    const json_t *longest = s2v_config_member(s2v_config_member(values, "size"), "longest_edge");
    if (longest) n->longest = s2v_config_to_int(c, longest, "longest_edge", n->v_image, 1 << 14);
}

static void smolvlm_put_vision(const s2v_numbers *n, s2v_gguf_writer *w)
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
    s2v_gguf_put_text(w, "clip.projector_type", "idefics3");
    s2v_gguf_put_f32(w, "clip.vision.attention.layer_norm_epsilon", n->v_eps);
    s2v_gguf_put_u32(w, "clip.vision.projector.scale_factor", (uint32_t)n->v_merge);
    s2v_gguf_put_bool(w, "clip.use_gelu", true);
    s2v_gguf_put_u32(w, "clip.vision.preproc_image_size", (uint32_t)n->longest);
}

static const s2v_map_prefix smolvlm_prefixes[] = {
    { "model.text_model.", "t." },
    { "lm_head.", "lm_head." },
    { "model.vision_model.", "v." },
    { "model.connector.modality_projection.", "p." },
    { NULL, NULL },
};

static const s2v_map_row smolvlm_rows[] = {
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
    ROW("v.post_layernorm.weight", "v.post_ln.weight", V_EMBD),
    ROW("v.post_layernorm.bias", "v.post_ln.bias", V_EMBD),
    ROW("p.proj.weight", "mm.model.fc.weight", EMBD, V_TOKEN),
    { .from = NULL },
};

/* The first SmolVLM says it is an Idefics3. */
#define FAMILY(type)                                                                          \
    {                                                                                         \
        .name = "SmolVLM", .model_type = type, .text_type = "llama", .architecture = "llama", \
        .has_head_dim = true, .has_f32_patches = true, .read_vision = smolvlm_read_vision,    \
        .read_pixels = smolvlm_read_pixels, .put_text = s2v_llama_put_text,                   \
        .put_vision = smolvlm_put_vision, .prefixes = smolvlm_prefixes,                       \
        .text = s2v_llama_text_rows, .vision = smolvlm_rows                                   \
    }

const s2v_family family_smolvlm = FAMILY("smolvlm");
const s2v_family family_idefics3 = FAMILY("idefics3");
