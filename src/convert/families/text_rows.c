/* text_rows.c - tensors of Qwen2, Qwen3 and Llama, which families share; "t." is the language model. */
#include "convert/family.h"

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

/* A matrix whose rows of q or k change places: GGUF rotates neighbours. */
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
