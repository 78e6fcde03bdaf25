/* quantize_types.h - which type each tensor of a model file gets. */
#ifndef S2_CONVERT_QUANTIZE_TYPES_H
#define S2_CONVERT_QUANTIZE_TYPES_H

#include "gguf/gguf.h"

typedef struct s2v_quant_kind {
    const char *name;
    s2v_tensor_type type; /* of most matrices */
    uint32_t file_type;   /* value of general.file_type */
    bool is_mixed;        /* _M: some matrices get more bits */
} s2v_quant_kind;

const s2v_quant_kind *s2v_quant_kind_at(size_t index); /* NULL past the end */

typedef struct s2v_quant_chooser {
    const s2v_quant_kind *kind;
    bool is_tied;                     /* no output.weight: the embedding is the output too */
    bool is_80_layer_qwen2;           /* 8 heads share one attn_v there: it gets more bits */
    int32_t n_layers, n_experts;      /* 0 for a vision file; 0 without experts */
    int32_t n_value, i_value, i_down; /* attn_v tensors, and how many were seen */
    size_t n_fallback;
} s2v_quant_chooser;

/* Text models that can be quantized, by general.architecture; NULL past the end. */
const char *s2v_quant_architecture(size_t index);

void s2v_quant_chooser_init(s2v_quant_chooser *chooser, const s2v_quant_kind *kind,
                            const s2v_gguf *file);

/* Tensors must be asked in the order of s2v_quant_compare: counters decide about layers. */
s2v_tensor_type s2v_quant_choose(s2v_quant_chooser *chooser, const s2v_gguf_tensor *tensor);

/* By decoder layer (tensors of none first), then by name. */
int s2v_quant_compare(const s2v_gguf_tensor *a, const s2v_gguf_tensor *b);
int32_t s2v_quant_layer(s2v_text name); /* N of "blk.N.", else -1 */

/* As ggml counts and llama-quantize writes them: without those of 1 at the end. */
int32_t s2v_quantize_n_dims(const s2v_gguf_tensor *tensor);

#endif /* S2_CONVERT_QUANTIZE_TYPES_H */
