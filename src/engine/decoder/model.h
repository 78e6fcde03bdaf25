/* model.h - hyper-parameters and weight tensors, as the graphs want them. */
#ifndef S2_ENGINE_MODEL_H
#define S2_ENGINE_MODEL_H

#include "engine/weights/loader.h"

#define S2V_MAX_LAYERS 512

typedef struct s2v_decoder_params { /* Qwen2 and Qwen2-VL decoders */
    int32_t n_layers, n_embd, n_ff, n_heads, n_kv_heads, head_dim, n_vocab, n_ctx_train;
    int32_t sections[4]; /* M-RoPE; all 0: plain RoPE */
    int32_t n_planes;    /* of positions the rotation reads: 4 with M-RoPE, 1 without */
    float rope_base, rms_eps;
} s2v_decoder_params;

typedef struct s2v_layer {
    struct ggml_tensor *attn_norm, *ffn_norm;
    struct ggml_tensor *q, *k, *v, *out, *q_bias, *k_bias, *v_bias;
    struct ggml_tensor *gate, *up, *down;
    struct ggml_tensor *rope_periods; /* [head_dim / 2], over 2 pi; NULL: left to the CPU */
} s2v_layer;

typedef struct s2v_decoder {
    s2v_decoder_params p;
    struct ggml_tensor *token_embd, *output_norm, *output;
    s2v_layer *layers;
    int32_t first_on_device; /* layers from here on live on the main device */
} s2v_decoder;

typedef struct s2v_tower { /* what every vision tower has; the rest is its architecture's own */
    int32_t n_blocks, n_embd, n_ff, n_heads, head_dim, n_out;
    int32_t patch, merge; /* pixels per patch side, patches per token side */
    int32_t patch_values; /* 3 * patch * patch */
    int32_t patch_row;    /* the same, padded */
    float eps, mean[3], std[3];
    int64_t min_pixels, max_pixels; /* of a picture, unless asked otherwise; 0: it has one size */
    int64_t file_max_pixels;        /* what the file says of the latter; 0: nothing */
    const s2v_kernels *kernels;     /* its products and attention; NULL: ggml's operators */
    bool on_device;                 /* its weights are on the main device */
    struct ggml_tensor *newline; /* [n_out] the rows of a picture that are no token; NULL: none */
} s2v_tower;

typedef struct s2v_arch s2v_arch;

typedef struct s2v_model {
    const s2v_arch *arch;
    s2v_decoder decoder;
    s2v_tower tower;
    void *own; /* sizes and weights only its architecture knows: one block of memory, owned */
} s2v_model;

/* Read and check the keys of a Qwen2-family decoder (prefix "qwen2vl" or "qwen2"), then ask for its
 * tensors. */
s2p_status s2v_decoder_load(s2v_decoder *decoder, s2v_loader *loader, const char *prefix,
                            int32_t gpu_layers);

/* A key of the file within a range; the sentence names key, value and range. */
s2p_status s2v_key_int(const s2v_gguf *file, const char *prefix, const char *key, int64_t low,
                       int64_t high, int32_t *out, s2p_error *error);
s2p_status s2v_key_float(const s2v_gguf *file, const char *prefix, const char *key, double low,
                         double high, float *out, s2p_error *error);

void s2v_model_free(s2v_model *model); /* the arrays; tensors belong to the weights */

#endif /* S2_ENGINE_MODEL_H */
