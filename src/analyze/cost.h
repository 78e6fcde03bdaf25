/* cost.h - FLOPs and cache of a prefill by the paper's formulas, without a model.
 *
 * One decoder layer on n tokens, a multiply-add counted as two, both products of attention in full:
 *
 *     F(n) = 2 n (2 d^2 + 2 d d_kv + 3 d m) + 4 n^2 d
 *
 * and where queries have another width d_q than the rows, d d_q for d^2 and d_q for the last d.
 *
 * Head, embeddings, norms, softmax, rotation and biases are not counted, nor is what a method spends on
 * choosing. The cache is that of the visual tokens, keys and values of two bytes each.
 */
#ifndef S2_ANALYZE_COST_H
#define S2_ANALYZE_COST_H

#include "ask/tower_cost.h"
#include "s2prune.h"

typedef struct s2_model_size {
    const char *name; /* as typed */
    int32_t n_layers, n_embd, n_kv_embd,
        n_ff;              /* of the decoder; n_kv_embd: heads x width of keys */
    int32_t visual_tokens; /* of one picture as the paper shows it */
    s2_tower_size tower;
    int32_t n_q_embd; /* heads x width of queries; 0: n_embd */
    int32_t
        n_experts; /* of which a router chooses; n_ff is the width of those it chooses together */
} s2_model_size;

/* The published sizes: 0, 1, ... until NULL; by name, NULL when unknown. */
const s2_model_size *s2_model_size_at(size_t index);
const s2_model_size *s2_model_size_find(const char *name);

#define S2_MAX_MIX 4

typedef struct s2_text_mix { /* how often prompts have how many text tokens */
    int32_t n;
    double tokens[S2_MAX_MIX], weight[S2_MAX_MIX];
} s2_text_mix;

/* 3000 questions of POPE's popular split: 39, 40 or 41 text tokens. */
s2_text_mix s2_text_mix_pope(void);
s2_text_mix s2_text_mix_of(double tokens);
double s2_text_mix_mean(const s2_text_mix *mix);

/* F(n). */
double s2_layer_flops(const s2_model_size *size, double n);

/* The first `n_full` layers see all `visual` tokens, the others `kept`; mean over the mix. */
double s2_prefill_flops(const s2_model_size *size, int32_t visual, int32_t kept, int32_t n_full,
                        const s2_text_mix *mix);

/* Bytes of the visual cache when the first `n_full` layers hold all tokens and the others `kept`. */
double s2_visual_kv_bytes(const s2_model_size *size, int32_t visual, int32_t kept, int32_t n_full);

/* Layers a method runs on all tokens, of a decoder with n_layers; -1: it prunes more than once, and
 * how much remains between is its own rule. */
int32_t s2_full_layers(const s2p_method *method, int32_t n_layers);

/* Tokens it keeps of a picture as in its authors' code; -1: that is not known without the
 * picture. */
int32_t s2_published_tokens(const s2p_method *method, int32_t budget);

#endif /* S2_ANALYZE_COST_H */
