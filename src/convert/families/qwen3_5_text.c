/* qwen3_5_text.c - the language model of Qwen3.5, 3.6 and 3.8: every fourth layer attends, gated delta nets
 * between them. Norms of a checkpoint are what one has to be added to, but for the delta nets' own. */
#include "convert/family.h"

#include <stdio.h>
#include <string.h>

/* --- config.json ----------------------------------------------------------------------------- */

/* What layer_types lists, or full_attention_interval says, is one layer every so many. */
static void read_layers(s2v_config *c, s2v_numbers *n)
{
    static const char key[] = "layer_types";
    const json_t *list = s2v_config_text_member(c, key);
    n->attends_every = s2v_config_text_member(c, "full_attention_interval")
                           ? s2v_config_text_int(c, "full_attention_interval", 1, n->n_layers)
                           : 4;
    if (c->status != S2P_OK || !list) return;
    bool is_right = json_array_size(list) == (size_t)n->n_layers;
    for (int32_t i = 0; i < n->n_layers && is_right; i++) {
        const char *type = json_string_value(json_array_get(list, (size_t)i));
        const bool attends = (i + 1) % n->attends_every == 0;
        is_right = type && strcmp(type, attends ? "full_attention" : "linear_attention") == 0;
    }
    if (!is_right)
        s2v_config_fail(c, S2P_EUNSUPPORTED, key,
                        "is not linear attention with full attention in every Nth layer");
}

static void read_rotation(s2v_config *c, const json_t *rope, s2v_numbers *n)
{
    const json_t *list = s2v_config_member(rope, "mrope_section");
    const json_t *factor = s2v_config_member(rope, "partial_rotary_factor");
    if (!factor) factor = s2v_config_text_member(c, "partial_rotary_factor");
    const double share = factor ? json_number_value(factor) : 0.25;
    const double rotated = share * n->head_dim;
    int32_t sum = 0;
    if (!(rotated >= 2.0 && rotated <= n->head_dim)) {
        s2v_config_fail(c, S2P_EFORMAT, "partial_rotary_factor",
                        "is not a valid fraction of a head");
        return;
    }
    n->n_rotated = (int32_t)rotated;
    if (json_array_size(list) != 3) {
        s2v_config_fail(c, S2P_EFORMAT, "mrope_section", "is not a list of three numbers");
        return;
    }
    for (size_t i = 0; i < 3; i++) {
        n->sections[i] =
            s2v_config_to_int(c, json_array_get(list, i), "mrope_section", 0, S2V_CONFIG_MAX_SIDE);
        sum += n->sections[i];
    }
    if (c->status == S2P_OK && 2 * sum != n->n_rotated)
        s2v_config_fail(c, S2P_EFORMAT, "mrope_section",
                        "does not add up to half of the rotated part of a head");
    s2v_config_expect_bool(c, rope, "mrope_interleaved", true);
}

void s2v_qwen3_5_read(s2v_config *c, const json_t *rope, s2v_numbers *n)
{
    read_rotation(c, rope, n);
    s2v_config_expect_bool(c, c->text, "attention_bias", false);
    s2v_config_expect_bool(c, c->text, "attn_output_gate", true);
    if (c->status == S2P_OK) read_layers(c, n);
    if (c->status != S2P_OK) return;
    n->n_taps = s2v_config_text_int(c, "linear_conv_kernel_dim", 2, 16);
    n->state_dim = s2v_config_text_int(c, "linear_key_head_dim", 2, 1024);
    n->n_key_heads = s2v_config_text_int(c, "linear_num_key_heads", 1, 1024);
    n->n_value_heads = s2v_config_text_int(c, "linear_num_value_heads", 1, 1024);
    s2v_config_expect_int(c, c->text, "linear_value_head_dim", n->state_dim);
    if (c->status == S2P_OK && n->n_value_heads % n->n_key_heads != 0)
        s2v_config_fail(c, S2P_EFORMAT, "linear_num_key_heads",
                        "does not divide the number of value heads");
    if (!s2v_config_text_member(c, "num_experts")) return;
    n->n_experts = s2v_config_text_int(c, "num_experts", 2, 1024);
    if (c->status != S2P_OK) return;
    n->n_experts_used = s2v_config_text_int(c, "num_experts_per_tok", 1, n->n_experts);
    n->n_expert_ff = s2v_config_text_int(c, "moe_intermediate_size", 1, S2V_CONFIG_MAX_SIDE);
    n->n_shared_ff =
        s2v_config_text_int(c, "shared_expert_intermediate_size", 1, S2V_CONFIG_MAX_SIDE);
}

/* --- keys ------------------------------------------------------------------------------------ */

void s2v_qwen3_5_put(const s2v_numbers *n, s2v_gguf_writer *w)
{
    const char *arch = n->family->architecture;
    const struct {
        const char *key;
        int32_t value;
    } keys[] = { { "attention.key_length", n->head_dim },
                 { "attention.value_length", n->head_dim },
                 { "ssm.conv_kernel", n->n_taps },
                 { "ssm.state_size", n->state_dim },
                 { "ssm.group_count", n->n_key_heads },
                 { "ssm.time_step_rank", n->n_value_heads },
                 { "ssm.inner_size", n->state_dim * n->n_value_heads },
                 { "full_attention_interval", n->attends_every },
                 { "rope.dimension_count", n->n_rotated },
                 { "expert_count", n->n_experts },
                 { "expert_used_count", n->n_experts_used },
                 { "expert_feed_forward_length", n->n_expert_ff },
                 { "expert_shared_feed_forward_length", n->n_shared_ff } };
    char name[64];
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (keys[i].value == 0) continue; /* without experts */
        (void)snprintf(name, sizeof name, "%s.%s", arch, keys[i].key);
        s2v_gguf_put_u32(w, name, (uint32_t)keys[i].value);
    }
    (void)snprintf(name, sizeof name, "%s.rope.dimension_sections", arch);
    s2v_gguf_put_i32s(w, name, n->sections, 4);
}

/* --- tensors --------------------------------------------------------------------------------- */

#define CHANGED(from, to, action, ...)           \
    {                                            \
        from, to, { __VA_ARGS__ }, action, false \
    }
#define EXPERTS_OF(from, to, action, ...)       \
    {                                           \
        from, to, { __VA_ARGS__ }, action, true \
    }

/* clang-format off */
#define MIXING                                                                                                        \
    ROW("lm_head.weight", "output.weight", VOCAB, EMBD),                                                              \
    ROW("t.embed_tokens.weight", "token_embd.weight", VOCAB, EMBD),                                                   \
    CHANGED("t.norm.weight", "output_norm.weight", PLUS_ONE, EMBD),                                                   \
    CHANGED("t.layers.#.input_layernorm.weight", "blk.#.attn_norm.weight", PLUS_ONE, EMBD),                           \
    CHANGED("t.layers.#.post_attention_layernorm.weight", "blk.#.post_attention_norm.weight", PLUS_ONE, EMBD),        \
    ROW("t.layers.#.self_attn.q_proj.weight", "blk.#.attn_q.weight", GATED, EMBD),                                    \
    ROW("t.layers.#.self_attn.k_proj.weight", "blk.#.attn_k.weight", KEYS, EMBD),                                     \
    ROW("t.layers.#.self_attn.v_proj.weight", "blk.#.attn_v.weight", KEYS, EMBD),                                     \
    ROW("t.layers.#.self_attn.o_proj.weight", "blk.#.attn_output.weight", EMBD, QUERIES),                             \
    CHANGED("t.layers.#.self_attn.q_norm.weight", "blk.#.attn_q_norm.weight", PLUS_ONE, HEAD),                        \
    CHANGED("t.layers.#.self_attn.k_norm.weight", "blk.#.attn_k_norm.weight", PLUS_ONE, HEAD),                        \
    CHANGED("t.layers.#.linear_attn.in_proj_qkv.weight", "blk.#.attn_qkv.weight", V_HEAD_ROWS, D_ALL, EMBD),          \
    CHANGED("t.layers.#.linear_attn.in_proj_z.weight", "blk.#.attn_gate.weight", V_HEAD_ROWS, D_VALUES, EMBD),        \
    CHANGED("t.layers.#.linear_attn.in_proj_a.weight", "blk.#.ssm_alpha.weight", V_HEAD_LINES, D_HEADS, EMBD),        \
    CHANGED("t.layers.#.linear_attn.in_proj_b.weight", "blk.#.ssm_beta.weight", V_HEAD_LINES, D_HEADS, EMBD),         \
    CHANGED("t.layers.#.linear_attn.conv1d.weight", "blk.#.ssm_conv1d.weight", V_HEAD_ROWS, D_ALL, ONE, D_TAPS),      \
    CHANGED("t.layers.#.linear_attn.dt_bias", "blk.#.ssm_dt.bias", V_HEAD_LINES, D_HEADS),                            \
    CHANGED("t.layers.#.linear_attn.A_log", "blk.#.ssm_a", V_HEAD_RATES, D_HEADS),                                    \
    ROW("t.layers.#.linear_attn.norm.weight", "blk.#.ssm_norm.weight", D_HEAD),                                       \
    CHANGED("t.layers.#.linear_attn.out_proj.weight", "blk.#.ssm_out.weight", V_HEAD_COLUMNS, EMBD, D_VALUES),        \
    UNREAD("t.rotary_emb.inv_freq"),                                                                                  \
    UNREAD("mtp.*")

const s2v_map_row s2v_qwen3_5_text_rows[] = {
    MIXING,
    ROW("t.layers.#.mlp.gate_proj.weight", "blk.#.ffn_gate.weight", FF, EMBD),
    ROW("t.layers.#.mlp.up_proj.weight", "blk.#.ffn_up.weight", FF, EMBD),
    ROW("t.layers.#.mlp.down_proj.weight", "blk.#.ffn_down.weight", EMBD, FF),
    { .from = NULL },
};

const s2v_map_row s2v_qwen3_5_moe_text_rows[] = {
    MIXING,
    ROW("t.layers.#.mlp.gate.weight", "blk.#.ffn_gate_inp.weight", EXPERTS, EMBD),
    EXPERTS_OF("t.layers.#.mlp.experts.@.gate_proj.weight", "blk.#.ffn_gate_exps.weight", EXPERT, EXPERT_FF, EMBD),
    EXPERTS_OF("t.layers.#.mlp.experts.@.up_proj.weight", "blk.#.ffn_up_exps.weight", EXPERT, EXPERT_FF, EMBD),
    EXPERTS_OF("t.layers.#.mlp.experts.@.down_proj.weight", "blk.#.ffn_down_exps.weight", EXPERT, EMBD, EXPERT_FF),
    EXPERTS_OF("t.layers.#.mlp.experts.gate_up_proj", "blk.#.ffn_?_exps.weight", EXPERT_GATES, END),
    EXPERTS_OF("t.layers.#.mlp.experts.down_proj", "blk.#.ffn_down_exps.weight", EXPERT_DOWNS, END),
    ROW("t.layers.#.mlp.shared_expert_gate.weight", "blk.#.ffn_gate_inp_shexp.weight", ONE, EMBD),
    ROW("t.layers.#.mlp.shared_expert.gate_proj.weight", "blk.#.ffn_gate_shexp.weight", SHARED_FF, EMBD),
    ROW("t.layers.#.mlp.shared_expert.up_proj.weight", "blk.#.ffn_up_shexp.weight", SHARED_FF, EMBD),
    ROW("t.layers.#.mlp.shared_expert.down_proj.weight", "blk.#.ffn_down_shexp.weight", EMBD, SHARED_FF),
    { .from = NULL },
};
/* clang-format on */
