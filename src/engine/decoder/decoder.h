/* decoder.h - a decoder: hyper-parameters, and the weights of its layers. */
#ifndef S2_ENGINE_DECODER_H
#define S2_ENGINE_DECODER_H

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

/* Read and check the keys of a Qwen2-family decoder (prefix "qwen2vl" or "qwen2"), then ask for its
 * tensors. */
s2p_status s2v_decoder_load(s2v_decoder *decoder, s2v_loader *loader, const char *prefix,
                            int32_t gpu_layers);

/* A key of the file within a range; the sentence names key, value and range. */
s2p_status s2v_key_int(const s2v_gguf *file, const char *prefix, const char *key, int64_t low,
                       int64_t high, int32_t *out, s2p_error *error);
s2p_status s2v_key_float(const s2v_gguf *file, const char *prefix, const char *key, double low,
                         double high, float *out, s2p_error *error);

void s2v_decoder_free(s2v_decoder *decoder); /* the arrays; tensors belong to the weights */

#endif /* S2_ENGINE_DECODER_H */
