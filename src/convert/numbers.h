/* numbers.h - the numbers of a model, as its configuration says them. */
#ifndef S2_CONVERT_NUMBERS_H
#define S2_CONVERT_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct s2v_family s2v_family;

typedef struct s2v_numbers {
    const s2v_family *family;
    /* text */
    int32_t n_layers, n_ctx, n_embd, n_ff, n_head, n_head_kv, n_vocab;
    int32_t
        head_dim; /* n_embd / n_head, or what the configuration says where the family may differ */
    float rope_theta, rms_eps;
    int32_t sections[4]; /* Qwen-VL */
    int32_t window;      /* Gemma 3: positions most layers see back */
    float window_theta;  /* base of the rotation in these layers */
    float rope_factor;   /* what positions are divided by in the others; 0: they are not */
    int32_t n_experts, n_experts_used, n_expert_ff; /* 0: one feed-forward part, of n_ff */
    int32_t n_shared_ff; /* Qwen3.5 with experts: of the one every row goes through */
    int32_t
        attends_every; /* Qwen3.5: every how many layers one attends, the last of them; 0: all do */
    int32_t n_rotated; /* and how many values of a head turn there */
    int32_t n_key_heads, n_value_heads, state_dim, n_taps; /* of the layers between */
    bool may_be_tied;                                      /* the output matrix may be missing */
    /* vision */
    int32_t v_layers; /* in the result */
    int32_t v_unused; /* layers of the checkpoint behind them, which nothing reads */
    int32_t v_embd, v_ff, v_head, v_patch, v_image;
    int32_t v_full;  /* Qwen2.5-VL: every how many blocks attention is full */
    int32_t v_merge; /* InternVL, SmolVLM, Gemma 3: patches along each side of a token */
    int32_t min_tiles, max_tiles;      /* InternVL: of a picture; 0: the checkpoint does not say */
    int32_t longest;                   /* SmolVLM: side of a picture in tiles */
    int32_t v_feature;                 /* LLaVA: number of the layer whose output is used */
    int32_t n_deepstack, deepstack[8]; /* Qwen3-VL: blocks with a merger of their own */
    float v_eps, mean[3], std[3];
    int32_t min_pixels, max_pixels; /* Qwen-VL: of a picture; 0: the checkpoint does not say */
} s2v_numbers;

#endif /* S2_CONVERT_NUMBERS_H */
