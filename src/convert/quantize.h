/* quantize.h - a model file with smaller weights.
 *
 * Types and which tensor gets which are llama.cpp's habits, so that a file made here is the file
 * its llama-quantize makes, byte for byte, where no importance matrix is used. Language models and
 * vision files (mmproj) alike.
 */
#ifndef S2_CONVERT_QUANTIZE_H
#define S2_CONVERT_QUANTIZE_H

#include "gguf/codec.h"
#include "gguf/gguf.h"
#include "s2vlm.h"

/* Q4_0, Q4_K_M, Q5_K_M, Q6_K, Q8_0, F16, BF16; NULL past the end. */
const char *s2v_quant_name(size_t index);

typedef struct s2v_quant_tensor { /* a line of the table, borrowed for the call */
    const char *name;
    const char *from, *to; /* names of types */
    uint64_t n_bytes_from, n_bytes_to;
} s2v_quant_tensor;

typedef struct s2v_quant_options {
    const char *input, *output;
    size_t type;             /* index of s2v_quant_name */
    const char *keep_layer0; /* NULL, or F32, F16, BF16, Q8_0: for the first decoder layer */
    const s2v_codec *codec;  /* s2v_block_codec(); NULL: no blocks */
    int32_t n_threads;       /* 0: one per core */
    s2v_progress_callback progress;
    void (*tensor)(const s2v_quant_tensor *tensor, void *user); /* before the work; NULL is fine */
    void *user;
} s2v_quant_options;

typedef struct s2v_quant_result {
    uint64_t n_bytes_from, n_bytes_to; /* of the files */
    uint64_t n_values;
    size_t n_tensors, n_fallback; /* fallback: rows that do not fit the type's blocks */
    uint8_t sha256[32];
    int write_errno; /* why writing failed, 0: it did not */
} s2v_quant_result;

s2p_status s2v_quantize(const s2v_quant_options *options, s2v_quant_result *result,
                        s2p_error *error);

#endif /* S2_CONVERT_QUANTIZE_H */
