/* convert_tables.c - the tables. Layouts differ in their prefixes only: "t." is the language model,
 * "v." the vision tower, "p." the projector.
 */
#include "convert/convert_tables.h"

static const s2v_map_row text_rows[] = {
    { "lm_head.weight", "output.weight", { VOCAB, EMBD }, WHOLE, false },
    { "t.embed_tokens.weight", "token_embd.weight", { VOCAB, EMBD }, WHOLE, false },
    { "t.norm.weight", "output_norm.weight", { EMBD }, WHOLE, false },
    { "t.layers.#.input_layernorm.weight", "blk.#.attn_norm.weight", { EMBD }, WHOLE, false },
    { "t.layers.#.post_attention_layernorm.weight",
      "blk.#.ffn_norm.weight",
      { EMBD },
      WHOLE,
      false },
    { "t.layers.#.self_attn.q_proj.weight", "blk.#.attn_q.weight", { EMBD, EMBD }, WHOLE, false },
    { "t.layers.#.self_attn.q_proj.bias", "blk.#.attn_q.bias", { EMBD }, WHOLE, false },
    { "t.layers.#.self_attn.k_proj.weight", "blk.#.attn_k.weight", { KEYS, EMBD }, WHOLE, false },
    { "t.layers.#.self_attn.k_proj.bias", "blk.#.attn_k.bias", { KEYS }, WHOLE, false },
    { "t.layers.#.self_attn.v_proj.weight", "blk.#.attn_v.weight", { KEYS, EMBD }, WHOLE, false },
    { "t.layers.#.self_attn.v_proj.bias", "blk.#.attn_v.bias", { KEYS }, WHOLE, false },
    { "t.layers.#.self_attn.o_proj.weight",
      "blk.#.attn_output.weight",
      { EMBD, EMBD },
      WHOLE,
      false },
    { "t.layers.#.mlp.gate_proj.weight", "blk.#.ffn_gate.weight", { FF, EMBD }, WHOLE, false },
    { "t.layers.#.mlp.up_proj.weight", "blk.#.ffn_up.weight", { FF, EMBD }, WHOLE, false },
    { "t.layers.#.mlp.down_proj.weight", "blk.#.ffn_down.weight", { EMBD, FF }, WHOLE, false },
    { "t.layers.#.self_attn.rotary_emb.inv_freq", NULL, { END }, IGNORE, true },
    { "t.rotary_emb.inv_freq", NULL, { END }, IGNORE, true },
    { .from = NULL },
};

#define QWEN_VISION                                                                         \
    { "v.patch_embed.proj.weight",                                                          \
      "v.patch_embd.weight",                                                                \
      { V_EMBD, THREE, TWO, V_PATCH, V_PATCH },                                             \
      FRAMES,                                                                               \
      false },                                                                              \
        { "v.blocks.#.norm1.weight", "v.blk.#.ln1.weight", { V_EMBD }, WHOLE, false },      \
        { "v.blocks.#.norm2.weight", "v.blk.#.ln2.weight", { V_EMBD }, WHOLE, false },      \
        { "v.blocks.#.attn.qkv.weight",                                                     \
          "v.blk.#.attn_?.weight",                                                          \
          { V_THREE, V_EMBD },                                                              \
          THIRDS,                                                                           \
          false },                                                                          \
        { "v.blocks.#.attn.qkv.bias", "v.blk.#.attn_?.bias", { V_THREE }, THIRDS, false },  \
        { "v.blocks.#.attn.proj.weight",                                                    \
          "v.blk.#.attn_out.weight",                                                        \
          { V_EMBD, V_EMBD },                                                               \
          WHOLE,                                                                            \
          false },                                                                          \
        { "v.blocks.#.attn.proj.bias", "v.blk.#.attn_out.bias", { V_EMBD }, WHOLE, false }, \
        { "v.merger.ln_q.weight", "v.post_ln.weight", { V_EMBD }, WHOLE, false },           \
        { "v.merger.mlp.0.weight", "mm.0.weight", { V_FOUR, V_FOUR }, WHOLE, false },       \
        { "v.merger.mlp.0.bias", "mm.0.bias", { V_FOUR }, WHOLE, false },                   \
        { "v.merger.mlp.2.weight", "mm.2.weight", { EMBD, V_FOUR }, WHOLE, false },         \
        { "v.merger.mlp.2.bias", "mm.2.bias", { EMBD }, WHOLE, false },                     \
    {                                                                                       \
        "v.rotary_pos_emb.inv_freq", NULL, { END }, IGNORE, true                            \
    }

static const s2v_map_row qwen2_5_rows[] = {
    QWEN_VISION,
    { "v.blocks.#.mlp.gate_proj.weight",
      "v.blk.#.ffn_gate.weight",
      { V_FF, V_EMBD },
      WHOLE,
      false },
    { "v.blocks.#.mlp.gate_proj.bias", "v.blk.#.ffn_gate.bias", { V_FF }, WHOLE, false },
    { "v.blocks.#.mlp.up_proj.weight", "v.blk.#.ffn_up.weight", { V_FF, V_EMBD }, WHOLE, false },
    { "v.blocks.#.mlp.up_proj.bias", "v.blk.#.ffn_up.bias", { V_FF }, WHOLE, false },
    { "v.blocks.#.mlp.down_proj.weight",
      "v.blk.#.ffn_down.weight",
      { V_EMBD, V_FF },
      WHOLE,
      false },
    { "v.blocks.#.mlp.down_proj.bias", "v.blk.#.ffn_down.bias", { V_EMBD }, WHOLE, false },
    { .from = NULL },
};

static const s2v_map_row qwen2_rows[] = {
    QWEN_VISION,
    { "v.blocks.#.norm1.bias", "v.blk.#.ln1.bias", { V_EMBD }, WHOLE, false },
    { "v.blocks.#.norm2.bias", "v.blk.#.ln2.bias", { V_EMBD }, WHOLE, false },
    { "v.blocks.#.mlp.fc1.weight", "v.blk.#.ffn_up.weight", { V_FF, V_EMBD }, WHOLE, false },
    { "v.blocks.#.mlp.fc1.bias", "v.blk.#.ffn_up.bias", { V_FF }, WHOLE, false },
    { "v.blocks.#.mlp.fc2.weight", "v.blk.#.ffn_down.weight", { V_EMBD, V_FF }, WHOLE, false },
    { "v.blocks.#.mlp.fc2.bias", "v.blk.#.ffn_down.bias", { V_EMBD }, WHOLE, false },
    { "v.merger.ln_q.bias", "v.post_ln.bias", { V_EMBD }, WHOLE, false },
    { .from = NULL },
};

static const s2v_map_row llava_rows[] = {
    { "v.embeddings.patch_embedding.weight",
      "v.patch_embd.weight",
      { V_EMBD, THREE, V_PATCH, V_PATCH },
      WHOLE,
      false },
    { "v.embeddings.patch_embedding.bias", "v.patch_embd.bias", { V_EMBD }, WHOLE, false },
    { "v.embeddings.position_embedding.weight",
      "v.position_embd.weight",
      { V_PLACES, V_EMBD },
      WHOLE,
      false },
    { "v.encoder.layers.#.layer_norm1.weight", "v.blk.#.ln1.weight", { V_EMBD }, WHOLE, false },
    { "v.encoder.layers.#.layer_norm1.bias", "v.blk.#.ln1.bias", { V_EMBD }, WHOLE, false },
    { "v.encoder.layers.#.layer_norm2.weight", "v.blk.#.ln2.weight", { V_EMBD }, WHOLE, false },
    { "v.encoder.layers.#.layer_norm2.bias", "v.blk.#.ln2.bias", { V_EMBD }, WHOLE, false },
    { "v.encoder.layers.#.self_attn.q_proj.weight",
      "v.blk.#.attn_q.weight",
      { V_EMBD, V_EMBD },
      WHOLE,
      false },
    { "v.encoder.layers.#.self_attn.q_proj.bias", "v.blk.#.attn_q.bias", { V_EMBD }, WHOLE, false },
    { "v.encoder.layers.#.self_attn.k_proj.weight",
      "v.blk.#.attn_k.weight",
      { V_EMBD, V_EMBD },
      WHOLE,
      false },
    { "v.encoder.layers.#.self_attn.k_proj.bias", "v.blk.#.attn_k.bias", { V_EMBD }, WHOLE, false },
    { "v.encoder.layers.#.self_attn.v_proj.weight",
      "v.blk.#.attn_v.weight",
      { V_EMBD, V_EMBD },
      WHOLE,
      false },
    { "v.encoder.layers.#.self_attn.v_proj.bias", "v.blk.#.attn_v.bias", { V_EMBD }, WHOLE, false },
    { "v.encoder.layers.#.self_attn.out_proj.weight",
      "v.blk.#.attn_out.weight",
      { V_EMBD, V_EMBD },
      WHOLE,
      false },
    { "v.encoder.layers.#.self_attn.out_proj.bias",
      "v.blk.#.attn_out.bias",
      { V_EMBD },
      WHOLE,
      false },
    { "v.encoder.layers.#.mlp.fc1.weight",
      "v.blk.#.ffn_up.weight",
      { V_FF, V_EMBD },
      WHOLE,
      false },
    { "v.encoder.layers.#.mlp.fc1.bias", "v.blk.#.ffn_up.bias", { V_FF }, WHOLE, false },
    { "v.encoder.layers.#.mlp.fc2.weight",
      "v.blk.#.ffn_down.weight",
      { V_EMBD, V_FF },
      WHOLE,
      false },
    { "v.encoder.layers.#.mlp.fc2.bias", "v.blk.#.ffn_down.bias", { V_EMBD }, WHOLE, false },
    { "p.linear_1.weight", "mm.0.weight", { EMBD, V_EMBD }, WHOLE, false },
    { "p.linear_1.bias", "mm.0.bias", { EMBD }, WHOLE, false },
    { "p.linear_2.weight", "mm.2.weight", { EMBD, EMBD }, WHOLE, false },
    { "p.linear_2.bias", "mm.2.bias", { EMBD }, WHOLE, false },
    { "image_newline", "v.image_newline", { EMBD }, WHOLE, false },
    /* the features are the last layer's output as it is: neither norm nor pooling head is used */
    { "v.post_layernorm.weight", NULL, { END }, IGNORE, true },
    { "v.post_layernorm.bias", NULL, { END }, IGNORE, true },
    { "v.embeddings.position_ids", NULL, { END }, IGNORE, true },
    { "v.head.*", NULL, { END }, IGNORE, true },
    { .from = NULL },
};

/* Longer ones first: the first that fits counts. */
static const char *const qwen_prefixes[][2] = {
    { "model.language_model.", "t." },
    { "model.visual.", "v." },
    { "visual.", "v." },
    { "model.", "t." },
    { "lm_head.", "lm_head." },
    { NULL, NULL },
};

static const char *const llava_prefixes[][2] = {
    { "language_model.model.", "t." },
    { "language_model.lm_head.", "lm_head." },
    { "model.language_model.", "t." },
    { "lm_head.", "lm_head." },
    { "model.vision_tower.vision_model.", "v." },
    { "vision_tower.vision_model.", "v." },
    { "model.vision_tower.", "v." },
    { "model.multi_modal_projector.", "p." },
    { "multi_modal_projector.", "p." },
    { "model.image_newline", "image_newline" },
    { "image_newline", "image_newline" },
    { NULL, NULL },
};

static const s2v_map maps[] = {
    [S2V_QWEN2_5_VL] = { qwen_prefixes, text_rows, qwen2_5_rows },
    [S2V_QWEN2_VL] = { qwen_prefixes, text_rows, qwen2_rows },
    [S2V_LLAVA_ONEVISION] = { llava_prefixes, text_rows, llava_rows },
};

_Static_assert(sizeof llava_rows / sizeof *llava_rows <= S2V_MAP_MAX_ROWS, "the longest table");

const s2v_map *s2v_map_of(s2v_family family) { return &maps[family]; }
