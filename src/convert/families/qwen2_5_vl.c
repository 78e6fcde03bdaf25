/* qwen2_5_vl.c - Qwen2.5-VL, Qwen2-VL before it, Qwen3-VL and Qwen3.5 after it.
 *
 * All have pictures of any size, patches of two frames, 2 x 2 patches merged into a token and
 * M-RoPE. Qwen2.5's tower has windows, RMS norms and a gate; the older one spells its widths
 * otherwise; the newer one has learned positions and deepstack. "t." is the language model, "v." the vision tower.
 */
#include "convert/family.h"

/* --- config.json ----------------------------------------------------------------------------- */

static void qwen_read_rope(s2v_config *c, const json_t *rope, s2v_numbers *n)
{
    const json_t *list = s2v_config_member(rope, "mrope_section");
    int32_t sum = 0;
    if (json_array_size(list) != 3) {
        s2v_config_fail(c, S2P_EFORMAT, "mrope_section", "is not a list of three numbers");
        return;
    }
    for (size_t i = 0; i < 3; i++) {
        n->sections[i] =
            s2v_config_to_int(c, json_array_get(list, i), "mrope_section", 0, S2V_CONFIG_MAX_SIDE);
        sum += n->sections[i];
    }
    if (c->status == S2P_OK && 2 * sum != n->head_dim)
        s2v_config_fail(c, S2P_EFORMAT, "mrope_section", "does not add up to half a head");
}

/* What both towers say; width and out: how they spell the tower's width and the text model's. */
static void qwen_read_tower(s2v_config *c, s2v_numbers *n, const char *width, const char *out)
{
    const json_t *v = c->vision;
    n->v_layers = s2v_config_int(c, v, "depth", 1, 512);
    n->v_head = s2v_config_int(c, v, "num_heads", 1, 4096);
    n->v_patch = s2v_config_int(c, v, "patch_size", 1, 256);
    n->v_image = 560; /* a placeholder: pictures have any size */
    n->v_eps = 1e-6f; /* whatever the text model's is */
    n->v_embd = s2v_config_int(c, v, width, 1, 1 << 16);
    if (c->status == S2P_OK && s2v_config_int(c, v, out, 1, S2V_CONFIG_MAX_SIDE) != n->n_embd)
        s2v_config_fail(c, S2P_EFORMAT, out, "of the tower is not the text model's hidden_size");
}

static void qwen_expect_patches(s2v_config *c)
{
    s2v_config_expect_int(c, c->vision, "spatial_merge_size", 2);
    s2v_config_expect_int(c, c->vision, "temporal_patch_size", 2);
    s2v_config_expect_int(c, c->vision, "in_chans", 3);
    s2v_config_expect_int(c, c->vision, "in_channels", 3);
}

/* Blocks with full attention must be one every so many, the last of each group. */
static void qwen2_5_read_windows(s2v_config *c, s2v_numbers *n)
{
    static const char key[] = "fullatt_block_indexes";
    const json_t *list = s2v_config_member(c->vision, key);
    const size_t count = json_array_size(list);
    if (count == 0) {
        s2v_config_fail(c, S2P_EFORMAT, key, "is not a list of numbers");
        return;
    }
    n->v_full = 1 + s2v_config_to_int(c, json_array_get(list, 0), key, 0, 511);
    for (size_t i = 1; i < count; i++) {
        const int32_t block = s2v_config_to_int(c, json_array_get(list, i), key, 0, 1 << 16);
        if ((int64_t)block + 1 != (int64_t)(i + 1) * n->v_full)
            s2v_config_fail(c, S2P_EUNSUPPORTED, key, "does not name every Nth block");
    }
    if (c->status == S2P_OK && count != (size_t)(n->v_layers / n->v_full))
        s2v_config_fail(c, S2P_EUNSUPPORTED, key, "does not name every Nth block");
}

static void qwen2_5_read_vision(s2v_config *c, s2v_numbers *n)
{
    qwen_read_tower(c, n, "hidden_size", "out_hidden_size");
    n->v_ff = s2v_config_int(c, c->vision, "intermediate_size", 1, S2V_CONFIG_MAX_SIDE);
    s2v_config_expect_text(c, c->vision, "hidden_act", "silu");
    s2v_config_expect_int(c, c->vision, "window_size", 112);
    if (c->status == S2P_OK) qwen2_5_read_windows(c, n);
    qwen_expect_patches(c);
}

static void qwen2_read_vision(s2v_config *c, s2v_numbers *n)
{
    qwen_read_tower(c, n, "embed_dim", "hidden_size");
    const json_t *ratio = s2v_config_member(c->vision, "mlp_ratio");
    const double times = ratio ? json_number_value(ratio) : 4.0;
    if (times > 0.0 && times * n->v_embd <= S2V_CONFIG_MAX_SIDE)
        n->v_ff = (int32_t)(times * n->v_embd);
    if (n->v_ff < 1) s2v_config_fail(c, S2P_EFORMAT, "mlp_ratio", "gives an invalid width");
    s2v_config_expect_text(c, c->vision, "hidden_act", "quick_gelu");
    qwen_expect_patches(c);
}

static void qwen3_read_rope(s2v_config *c, const json_t *rope, s2v_numbers *n)
{
    qwen_read_rope(c, rope, n);
    s2v_config_expect_bool(c, rope, "mrope_interleaved", true);
    s2v_config_expect_bool(c, c->text, "attention_bias", false);
}

static void qwen3_read_vision(s2v_config *c, s2v_numbers *n)
{
    static const char key[] = "deepstack_visual_indexes";
    qwen_read_tower(c, n, "hidden_size", "out_hidden_size");
    n->v_ff = s2v_config_int(c, c->vision, "intermediate_size", 1, S2V_CONFIG_MAX_SIDE);
    const int32_t places = s2v_config_int(c, c->vision, "num_position_embeddings", 1, 1 << 20);
    int32_t side = 1;
    while (side * side < places) side++;
    if (c->status == S2P_OK && side * side != places)
        s2v_config_fail(c, S2P_EFORMAT, "num_position_embeddings", "is not a square");
    n->v_image = side * n->v_patch;
    s2v_config_expect_text(c, c->vision, "hidden_act", "gelu_pytorch_tanh");
    qwen_expect_patches(c);
    const json_t *list = s2v_config_member(c->vision, key);
    const size_t count = json_array_size(list), most = sizeof n->deepstack / sizeof *n->deepstack;
    if (c->status == S2P_OK && (!json_is_array(list) || count > most)) {
        s2v_config_fail(c, S2P_EFORMAT, key, "is not a list of up to 8 blocks");
        return;
    }
    for (size_t i = 0; c->status == S2P_OK && i < count; i++) {
        const int32_t before = i > 0 ? n->deepstack[i - 1] : -1;
        n->deepstack[i] = s2v_config_to_int(c, json_array_get(list, i), key, 0, n->v_layers - 1);
        if (c->status == S2P_OK && n->deepstack[i] <= before)
            s2v_config_fail(c, S2P_EFORMAT, key, "is not in order");
        n->n_deepstack = (int32_t)i + 1;
    }
}

/* A limit under its own name, else under the one newer files have in "size"; 0: under neither. */
static int32_t qwen_read_limit(s2v_config *c, const json_t *values, const char *key,
                               const char *newer)
{
    const json_t *limit = s2v_config_member(values, key);
    const json_t *size = s2v_config_member(values, "size");
    if (!limit && json_is_object(size)) limit = s2v_config_member(size, key = newer);
    return limit ? s2v_config_to_int(c, limit, key, 1, 1 << 30) : 0;
}

static void qwen_read_pixels(s2v_config *c, const json_t *values, s2v_numbers *n)
{
    n->min_pixels = qwen_read_limit(c, values, "min_pixels", "shortest_edge");
    n->max_pixels = qwen_read_limit(c, values, "max_pixels", "longest_edge");
    if (n->max_pixels > 0 && n->min_pixels > n->max_pixels)
        s2v_config_fail(c, S2P_EFORMAT, "min_pixels", "is larger than the maximum");
    s2v_config_expect_int(c, values, "patch_size", n->v_patch);
    s2v_config_expect_int(c, values, "merge_size", 2);
    s2v_config_expect_int(c, values, "temporal_patch_size", 2);
}

/* --- keys ------------------------------------------------------------------------------------ */

static void qwen_put_rope(const s2v_numbers *n, s2v_gguf_writer *w)
{
    s2v_gguf_put_i32s(w, "qwen2vl.rope.dimension_sections", n->sections, 4);
}

static void qwen_put_tower(const s2v_numbers *n, s2v_gguf_writer *w, const char *projector)
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
    s2v_gguf_put_text(w, "clip.projector_type", projector);
    if (n->min_pixels > 0)
        s2v_gguf_put_u32(w, "clip.vision.image_min_pixels", (uint32_t)n->min_pixels);
    if (n->max_pixels > 0)
        s2v_gguf_put_u32(w, "clip.vision.image_max_pixels", (uint32_t)n->max_pixels);
}

static void qwen2_5_put_vision(const s2v_numbers *n, s2v_gguf_writer *w)
{
    qwen_put_tower(n, w, "qwen2.5vl_merger");
    s2v_gguf_put_bool(w, "clip.use_silu", true);
    s2v_gguf_put_u32(w, "clip.vision.n_wa_pattern", (uint32_t)n->v_full);
    s2v_gguf_put_f32(w, "clip.vision.attention.layer_norm_epsilon", n->v_eps);
}

static void qwen2_put_vision(const s2v_numbers *n, s2v_gguf_writer *w)
{
    qwen_put_tower(n, w, "qwen2vl_merger");
    s2v_gguf_put_f32(w, "clip.vision.attention.layer_norm_epsilon", n->v_eps);
}

static void qwen3_put_rope(const s2v_numbers *n, s2v_gguf_writer *w)
{
    s2v_gguf_put_i32s(w, "qwen3vl.rope.dimension_sections", n->sections, 4);
    s2v_gguf_put_u32(w, "qwen3vl.attention.key_length", (uint32_t)n->head_dim);
    s2v_gguf_put_u32(w, "qwen3vl.attention.value_length", (uint32_t)n->head_dim);
    s2v_gguf_put_u32(w, "qwen3vl.n_deepstack_layers", (uint32_t)n->n_deepstack);
}

static void qwen3_moe_read_rope(s2v_config *c, const json_t *rope, s2v_numbers *n)
{
    qwen3_read_rope(c, rope, n);
    if (c->status == S2P_OK) s2v_qwen3_moe_read(c, n);
}

static void qwen3_moe_put_rope(const s2v_numbers *n, s2v_gguf_writer *w)
{
    s2v_gguf_put_i32s(w, "qwen3vlmoe.rope.dimension_sections", n->sections, 4);
    s2v_qwen3_moe_put(n, w);
    s2v_gguf_put_u32(w, "qwen3vlmoe.n_deepstack_layers", (uint32_t)n->n_deepstack);
}

static void qwen3_put_vision(const s2v_numbers *n, s2v_gguf_writer *w)
{
    bool is_deepstack[512] = { false }; /* as many as v_layers may be */
    for (int32_t i = 0; i < n->n_deepstack; i++) is_deepstack[n->deepstack[i]] = true;
    qwen_put_tower(n, w, "qwen3vl_merger");
    s2v_gguf_put_bool(w, "clip.use_gelu", true);
    s2v_gguf_put_u32(w, "clip.vision.spatial_merge_size", 2);
    s2v_gguf_put_f32(w, "clip.vision.attention.layer_norm_epsilon", n->v_eps);
    s2v_gguf_put_bools(w, "clip.vision.is_deepstack_layers", is_deepstack, (size_t)n->v_layers);
}

/* Qwen3.5's tower is Qwen3-VL's without deepstack. */
static void qwen3_5_read_vision(s2v_config *c, s2v_numbers *n)
{
    qwen3_read_vision(c, n);
    if (c->status == S2P_OK && n->n_deepstack > 0)
        s2v_config_fail(c, S2P_EUNSUPPORTED, "deepstack_visual_indexes",
                        "names blocks, but Qwen3.5 does not use deepstack");
}

/* --- tensors --------------------------------------------------------------------------------- */

static const s2v_map_prefix qwen_prefixes[] = {
    { "model.language_model.", "t." },
    { "model.visual.", "v." },
    { "visual.", "v." },
    { "model.", "t." },
    { "lm_head.", "lm_head." },
    { NULL, NULL },
};

/* What both towers have. */
/* clang-format off */
#define QWEN_VISION                                                                                                  \
    { "v.patch_embed.proj.weight", "v.patch_embd.weight", { V_EMBD, THREE, TWO, V_PATCH, V_PATCH }, FRAMES, false }, \
    ROW("v.blocks.#.norm1.weight", "v.blk.#.ln1.weight", V_EMBD),                                                    \
    ROW("v.blocks.#.norm2.weight", "v.blk.#.ln2.weight", V_EMBD),                                                    \
    { "v.blocks.#.attn.qkv.weight", "v.blk.#.attn_?.weight", { V_THREE, V_EMBD }, THIRDS, false },                   \
    { "v.blocks.#.attn.qkv.bias", "v.blk.#.attn_?.bias", { V_THREE }, THIRDS, false },                               \
    ROW("v.blocks.#.attn.proj.weight", "v.blk.#.attn_out.weight", V_EMBD, V_EMBD),                                   \
    ROW("v.blocks.#.attn.proj.bias", "v.blk.#.attn_out.bias", V_EMBD),                                               \
    ROW("v.merger.ln_q.weight", "v.post_ln.weight", V_EMBD),                                                         \
    ROW("v.merger.mlp.0.weight", "mm.0.weight", V_FOUR, V_FOUR),                                                     \
    ROW("v.merger.mlp.0.bias", "mm.0.bias", V_FOUR),                                                                 \
    ROW("v.merger.mlp.2.weight", "mm.2.weight", EMBD, V_FOUR),                                                       \
    ROW("v.merger.mlp.2.bias", "mm.2.bias", EMBD),                                                                   \
    UNREAD("v.rotary_pos_emb.inv_freq")
/* clang-format on */

static const s2v_map_row qwen2_5_rows[] = {
    QWEN_VISION,
    ROW("v.blocks.#.mlp.gate_proj.weight", "v.blk.#.ffn_gate.weight", V_FF, V_EMBD),
    ROW("v.blocks.#.mlp.gate_proj.bias", "v.blk.#.ffn_gate.bias", V_FF),
    ROW("v.blocks.#.mlp.up_proj.weight", "v.blk.#.ffn_up.weight", V_FF, V_EMBD),
    ROW("v.blocks.#.mlp.up_proj.bias", "v.blk.#.ffn_up.bias", V_FF),
    ROW("v.blocks.#.mlp.down_proj.weight", "v.blk.#.ffn_down.weight", V_EMBD, V_FF),
    ROW("v.blocks.#.mlp.down_proj.bias", "v.blk.#.ffn_down.bias", V_EMBD),
    { .from = NULL },
};

static const s2v_map_row qwen2_rows[] = {
    QWEN_VISION,
    ROW("v.blocks.#.norm1.bias", "v.blk.#.ln1.bias", V_EMBD),
    ROW("v.blocks.#.norm2.bias", "v.blk.#.ln2.bias", V_EMBD),
    ROW("v.blocks.#.mlp.fc1.weight", "v.blk.#.ffn_up.weight", V_FF, V_EMBD),
    ROW("v.blocks.#.mlp.fc1.bias", "v.blk.#.ffn_up.bias", V_FF),
    ROW("v.blocks.#.mlp.fc2.weight", "v.blk.#.ffn_down.weight", V_EMBD, V_FF),
    ROW("v.blocks.#.mlp.fc2.bias", "v.blk.#.ffn_down.bias", V_EMBD),
    ROW("v.merger.ln_q.bias", "v.post_ln.bias", V_EMBD),
    { .from = NULL },
};

#define STACK(from, to, ...)                      \
    {                                             \
        from, to, { __VA_ARGS__ }, STACKED, false \
    }

/* clang-format off */
static const s2v_map_row qwen3_rows[] = {
    { "v.patch_embed.proj.weight", "v.patch_embd.weight", { V_EMBD, THREE, TWO, V_PATCH, V_PATCH }, FRAMES, false },
    ROW("v.patch_embed.proj.bias", "v.patch_embd.bias", V_EMBD),
    ROW("v.pos_embed.weight", "v.position_embd.weight", V_PLACES, V_EMBD),
    ROW("v.blocks.#.norm1.weight", "v.blk.#.ln1.weight", V_EMBD),
    ROW("v.blocks.#.norm1.bias", "v.blk.#.ln1.bias", V_EMBD),
    ROW("v.blocks.#.norm2.weight", "v.blk.#.ln2.weight", V_EMBD),
    ROW("v.blocks.#.norm2.bias", "v.blk.#.ln2.bias", V_EMBD),
    ROW("v.blocks.#.attn.qkv.weight", "v.blk.#.attn_qkv.weight", V_THREE, V_EMBD),
    ROW("v.blocks.#.attn.qkv.bias", "v.blk.#.attn_qkv.bias", V_THREE),
    ROW("v.blocks.#.attn.proj.weight", "v.blk.#.attn_out.weight", V_EMBD, V_EMBD),
    ROW("v.blocks.#.attn.proj.bias", "v.blk.#.attn_out.bias", V_EMBD),
    ROW("v.blocks.#.mlp.linear_fc1.weight", "v.blk.#.ffn_up.weight", V_FF, V_EMBD),
    ROW("v.blocks.#.mlp.linear_fc1.bias", "v.blk.#.ffn_up.bias", V_FF),
    ROW("v.blocks.#.mlp.linear_fc2.weight", "v.blk.#.ffn_down.weight", V_EMBD, V_FF),
    ROW("v.blocks.#.mlp.linear_fc2.bias", "v.blk.#.ffn_down.bias", V_EMBD),
    ROW("v.merger.norm.weight", "v.post_ln.weight", V_EMBD),
    ROW("v.merger.norm.bias", "v.post_ln.bias", V_EMBD),
    ROW("v.merger.linear_fc1.weight", "mm.0.weight", V_FOUR, V_FOUR),
    ROW("v.merger.linear_fc1.bias", "mm.0.bias", V_FOUR),
    ROW("v.merger.linear_fc2.weight", "mm.2.weight", EMBD, V_FOUR),
    ROW("v.merger.linear_fc2.bias", "mm.2.bias", EMBD),
    STACK("v.deepstack_merger_list.#.norm.weight", "v.deepstack.#.norm.weight", V_FOUR),
    STACK("v.deepstack_merger_list.#.norm.bias", "v.deepstack.#.norm.bias", V_FOUR),
    STACK("v.deepstack_merger_list.#.linear_fc1.weight", "v.deepstack.#.fc1.weight", V_FOUR, V_FOUR),
    STACK("v.deepstack_merger_list.#.linear_fc1.bias", "v.deepstack.#.fc1.bias", V_FOUR),
    STACK("v.deepstack_merger_list.#.linear_fc2.weight", "v.deepstack.#.fc2.weight", EMBD, V_FOUR),
    STACK("v.deepstack_merger_list.#.linear_fc2.bias", "v.deepstack.#.fc2.bias", EMBD),
    UNREAD("v.rotary_pos_emb.inv_freq"),
    { .from = NULL },
};
/* clang-format on */

const s2v_family family_qwen2_5_vl = {
    .name = "Qwen2.5-VL",
    .model_type = "qwen2_5_vl",
    .architecture = "qwen2vl",
    .read_rope = qwen_read_rope,
    .read_vision = qwen2_5_read_vision,
    .read_pixels = qwen_read_pixels,
    .put_rope = qwen_put_rope,
    .put_vision = qwen2_5_put_vision,
    .prefixes = qwen_prefixes,
    .text = s2v_qwen2_text_rows,
    .vision = qwen2_5_rows,
};

const s2v_family family_qwen2_vl = {
    .name = "Qwen2-VL",
    .model_type = "qwen2_vl",
    .architecture = "qwen2vl",
    .read_rope = qwen_read_rope,
    .read_vision = qwen2_read_vision,
    .read_pixels = qwen_read_pixels,
    .put_rope = qwen_put_rope,
    .put_vision = qwen2_put_vision,
    .prefixes = qwen_prefixes,
    .text = s2v_qwen2_text_rows,
    .vision = qwen2_rows,
};

const s2v_family family_qwen3_vl = {
    .name = "Qwen3-VL",
    .model_type = "qwen3_vl",
    .text_type = "qwen3_vl_text",
    .architecture = "qwen3vl",
    .has_head_dim = true,
    .read_rope = qwen3_read_rope,
    .read_vision = qwen3_read_vision,
    .read_pixels = qwen_read_pixels,
    .put_rope = qwen3_put_rope,
    .put_vision = qwen3_put_vision,
    .prefixes = qwen_prefixes,
    .text = s2v_qwen3_text_rows,
    .vision = qwen3_rows,
};

const s2v_family family_qwen3_vl_moe = {
    .name = "Qwen3-VL MoE",
    .model_type = "qwen3_vl_moe",
    .text_type = "qwen3_vl_moe_text",
    .architecture = "qwen3vlmoe",
    .has_head_dim = true,
    .read_rope = qwen3_moe_read_rope,
    .read_vision = qwen3_read_vision,
    .read_pixels = qwen_read_pixels,
    .put_rope = qwen3_moe_put_rope,
    .put_vision = qwen3_put_vision,
    .prefixes = qwen_prefixes,
    .text = s2v_qwen3_moe_text_rows,
    .vision = qwen3_rows,
};

static const s2v_map_prefix qwen3_5_prefixes[] = {
    { "model.language_model.", "t." },
    { "model.visual.", "v." },
    { "lm_head.", "lm_head." },
    { "mtp.", "mtp." }, /* guesses the token after the next; nothing here reads it */
    { NULL, NULL },
};

const s2v_family family_qwen3_5 = {
    .name = "Qwen3.5",
    .model_type = "qwen3_5",
    .text_type = "qwen3_5_text",
    .architecture = "qwen35",
    .has_head_dim = true,
    .read_rope = s2v_qwen3_5_read,
    .read_vision = qwen3_5_read_vision,
    .read_pixels = qwen_read_pixels,
    .put_vision = qwen3_put_vision,
    .put_text = s2v_qwen3_5_put,
    .prefixes = qwen3_5_prefixes,
    .text = s2v_qwen3_5_text_rows,
    .vision = qwen3_rows,
};

const s2v_family family_qwen3_5_moe = {
    .name = "Qwen3.5 MoE",
    .model_type = "qwen3_5_moe",
    .text_type = "qwen3_5_moe_text",
    .architecture = "qwen35moe",
    .has_head_dim = true,
    .may_lack_ff = true,
    .read_rope = s2v_qwen3_5_read,
    .read_vision = qwen3_5_read_vision,
    .read_pixels = qwen_read_pixels,
    .put_vision = qwen3_put_vision,
    .put_text = s2v_qwen3_5_put,
    .prefixes = qwen3_5_prefixes,
    .text = s2v_qwen3_5_moe_text_rows,
    .vision = qwen3_rows,
};
