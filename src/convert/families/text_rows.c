/* text_rows.c - tensors of Qwen2, Qwen3 (with experts too) and Llama, which families share; "t." is the language model. */
#include "convert/family.h"

#include <stdio.h>

const s2v_map_row s2v_qwen2_text_rows[] = {
    ROW("lm_head.weight", "output.weight", VOCAB, EMBD),
    ROW("t.embed_tokens.weight", "token_embd.weight", VOCAB, EMBD),
    ROW("t.norm.weight", "output_norm.weight", EMBD),
    ROW("t.layers.#.input_layernorm.weight", "blk.#.attn_norm.weight", EMBD),
    ROW("t.layers.#.post_attention_layernorm.weight", "blk.#.ffn_norm.weight", EMBD),
    ROW("t.layers.#.self_attn.q_proj.weight", "blk.#.attn_q.weight", EMBD, EMBD),
    ROW("t.layers.#.self_attn.q_proj.bias", "blk.#.attn_q.bias", EMBD),
    ROW("t.layers.#.self_attn.k_proj.weight", "blk.#.attn_k.weight", KEYS, EMBD),
    ROW("t.layers.#.self_attn.k_proj.bias", "blk.#.attn_k.bias", KEYS),
    ROW("t.layers.#.self_attn.v_proj.weight", "blk.#.attn_v.weight", KEYS, EMBD),
    ROW("t.layers.#.self_attn.v_proj.bias", "blk.#.attn_v.bias", KEYS),
    ROW("t.layers.#.self_attn.o_proj.weight", "blk.#.attn_output.weight", EMBD, EMBD),
    ROW("t.layers.#.mlp.gate_proj.weight", "blk.#.ffn_gate.weight", FF, EMBD),
    ROW("t.layers.#.mlp.up_proj.weight", "blk.#.ffn_up.weight", FF, EMBD),
    ROW("t.layers.#.mlp.down_proj.weight", "blk.#.ffn_down.weight", EMBD, FF),
    UNREAD("t.layers.#.self_attn.rotary_emb.inv_freq"),
    UNREAD("t.rotary_emb.inv_freq"),
    { .from = NULL },
};

const s2v_map_row s2v_qwen3_text_rows[] = {
    ROW("lm_head.weight", "output.weight", VOCAB, EMBD),
    ROW("t.embed_tokens.weight", "token_embd.weight", VOCAB, EMBD),
    ROW("t.norm.weight", "output_norm.weight", EMBD),
    ROW("t.layers.#.input_layernorm.weight", "blk.#.attn_norm.weight", EMBD),
    ROW("t.layers.#.post_attention_layernorm.weight", "blk.#.ffn_norm.weight", EMBD),
    ROW("t.layers.#.self_attn.q_proj.weight", "blk.#.attn_q.weight", QUERIES, EMBD),
    ROW("t.layers.#.self_attn.k_proj.weight", "blk.#.attn_k.weight", KEYS, EMBD),
    ROW("t.layers.#.self_attn.v_proj.weight", "blk.#.attn_v.weight", KEYS, EMBD),
    ROW("t.layers.#.self_attn.o_proj.weight", "blk.#.attn_output.weight", EMBD, QUERIES),
    ROW("t.layers.#.self_attn.q_norm.weight", "blk.#.attn_q_norm.weight", HEAD),
    ROW("t.layers.#.self_attn.k_norm.weight", "blk.#.attn_k_norm.weight", HEAD),
    ROW("t.layers.#.mlp.gate_proj.weight", "blk.#.ffn_gate.weight", FF, EMBD),
    ROW("t.layers.#.mlp.up_proj.weight", "blk.#.ffn_up.weight", FF, EMBD),
    ROW("t.layers.#.mlp.down_proj.weight", "blk.#.ffn_down.weight", EMBD, FF),
    UNREAD("t.rotary_emb.inv_freq"),
    { .from = NULL },
};

/* Experts are stored one by one or all together; check_experts() of convert_map.c finds what is missing. */
#define EXPERTS_OF(from, to, action, ...)       \
    {                                           \
        from, to, { __VA_ARGS__ }, action, true \
    }

/* clang-format off */
const s2v_map_row s2v_qwen3_moe_text_rows[] = {
    ROW("lm_head.weight", "output.weight", VOCAB, EMBD),
    ROW("t.embed_tokens.weight", "token_embd.weight", VOCAB, EMBD),
    ROW("t.norm.weight", "output_norm.weight", EMBD),
    ROW("t.layers.#.input_layernorm.weight", "blk.#.attn_norm.weight", EMBD),
    ROW("t.layers.#.post_attention_layernorm.weight", "blk.#.ffn_norm.weight", EMBD),
    ROW("t.layers.#.self_attn.q_proj.weight", "blk.#.attn_q.weight", QUERIES, EMBD),
    ROW("t.layers.#.self_attn.k_proj.weight", "blk.#.attn_k.weight", KEYS, EMBD),
    ROW("t.layers.#.self_attn.v_proj.weight", "blk.#.attn_v.weight", KEYS, EMBD),
    ROW("t.layers.#.self_attn.o_proj.weight", "blk.#.attn_output.weight", EMBD, QUERIES),
    ROW("t.layers.#.self_attn.q_norm.weight", "blk.#.attn_q_norm.weight", HEAD),
    ROW("t.layers.#.self_attn.k_norm.weight", "blk.#.attn_k_norm.weight", HEAD),
    ROW("t.layers.#.mlp.gate.weight", "blk.#.ffn_gate_inp.weight", EXPERTS, EMBD),
    EXPERTS_OF("t.layers.#.mlp.experts.@.gate_proj.weight", "blk.#.ffn_gate_exps.weight", EXPERT, EXPERT_FF, EMBD),
    EXPERTS_OF("t.layers.#.mlp.experts.@.up_proj.weight", "blk.#.ffn_up_exps.weight", EXPERT, EXPERT_FF, EMBD),
    EXPERTS_OF("t.layers.#.mlp.experts.@.down_proj.weight", "blk.#.ffn_down_exps.weight", EXPERT, EMBD, EXPERT_FF),
    EXPERTS_OF("t.layers.#.mlp.experts.gate_up_proj", "blk.#.ffn_?_exps.weight", EXPERT_GATES, END),
    EXPERTS_OF("t.layers.#.mlp.experts.down_proj", "blk.#.ffn_down_exps.weight", EXPERT_DOWNS, END),
    UNREAD("t.rotary_emb.inv_freq"),
    { .from = NULL },
};
/* clang-format on */

void s2v_qwen3_moe_read(s2v_config *c, s2v_numbers *n)
{
    n->n_experts = s2v_config_text_int(c, "num_experts", 2, 1024);
    if (c->status != S2P_OK) return;
    n->n_experts_used = s2v_config_text_int(c, "num_experts_per_tok", 1, n->n_experts);
    n->n_expert_ff = s2v_config_text_int(c, "moe_intermediate_size", 1, S2V_CONFIG_MAX_SIDE);
    s2v_config_expect_bool(c, c->text, "norm_topk_prob", true);
    s2v_config_expect_int(c, c->text, "decoder_sparse_step", 1);
    const json_t *dense = s2v_config_member(c->text, "mlp_only_layers");
    if (json_array_size(dense) > 0)
        s2v_config_fail(
            c, S2P_EUNSUPPORTED, "mlp_only_layers",
            "names layers without experts; a model with both kinds of layers is not supported");
}

void s2v_qwen3_moe_put(const s2v_numbers *n, s2v_gguf_writer *w)
{
    const char *arch = n->family->architecture;
    const struct {
        const char *key;
        int32_t value;
    } keys[] = { { "expert_count", n->n_experts },
                 { "expert_used_count", n->n_experts_used },
                 { "expert_feed_forward_length", n->n_expert_ff },
                 { "attention.key_length", n->head_dim },
                 { "attention.value_length", n->head_dim } };
    char name[64];
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        (void)snprintf(name, sizeof name, "%s.%s", arch, keys[i].key);
        s2v_gguf_put_u32(w, name, (uint32_t)keys[i].value);
    }
}

/* A matrix whose rows of q or k change places: GGUF rotates neighbors. */
#define PAIRED(from, to, rows)                 \
    {                                          \
        from, to, { rows, EMBD }, PAIRS, false \
    }

const s2v_map_row s2v_llama_text_rows[] = {
    ROW("lm_head.weight", "output.weight", VOCAB, EMBD),
    ROW("t.embed_tokens.weight", "token_embd.weight", VOCAB, EMBD),
    ROW("t.norm.weight", "output_norm.weight", EMBD),
    ROW("t.layers.#.input_layernorm.weight", "blk.#.attn_norm.weight", EMBD),
    ROW("t.layers.#.post_attention_layernorm.weight", "blk.#.ffn_norm.weight", EMBD),
    PAIRED("t.layers.#.self_attn.q_proj.weight", "blk.#.attn_q.weight", EMBD),
    PAIRED("t.layers.#.self_attn.k_proj.weight", "blk.#.attn_k.weight", KEYS),
    ROW("t.layers.#.self_attn.v_proj.weight", "blk.#.attn_v.weight", KEYS, EMBD),
    ROW("t.layers.#.self_attn.o_proj.weight", "blk.#.attn_output.weight", EMBD, EMBD),
    ROW("t.layers.#.mlp.gate_proj.weight", "blk.#.ffn_gate.weight", FF, EMBD),
    ROW("t.layers.#.mlp.up_proj.weight", "blk.#.ffn_up.weight", FF, EMBD),
    ROW("t.layers.#.mlp.down_proj.weight", "blk.#.ffn_down.weight", EMBD, FF),
    UNREAD("t.layers.#.self_attn.rotary_emb.inv_freq"),
    UNREAD("t.rotary_emb.inv_freq"),
    { .from = NULL },
};

void s2v_llama_put_text(const s2v_numbers *n, s2v_gguf_writer *w)
{
    const uint32_t head = (uint32_t)n->head_dim;
    s2v_gguf_put_u32(w, "llama.attention.key_length", head);
    s2v_gguf_put_u32(w, "llama.attention.value_length", head);
    s2v_gguf_put_u32(w, "llama.vocab_size", (uint32_t)n->n_vocab);
    s2v_gguf_put_u32(w, "llama.rope.dimension_count", head);
}
