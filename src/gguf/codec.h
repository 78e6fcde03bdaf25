/* codec.h - floats to blocks, for code that writes tensors.
 *
 * Plain numbers (F32, F16, BF16) do not need it. Blocks (Q8_0, Q4_K, ...) are encoded by the engine's
 * backend; convert and quantize receive it as an option, so that they do not depend on the engine.
 */
#ifndef S2_GGUF_CODEC_H
#define S2_GGUF_CODEC_H

#include <stdint.h>

typedef struct s2v_codec {
    /* Rows of floats as blocks of a s2v_tensor_type. Rows are whole blocks, values finite; several
     * threads may call at once. out: n_rows * s2v_gguf_row_bytes(type, n_per_row) bytes. */
    void (*encode)(uint32_t type, const float *rows, int64_t n_rows, int64_t n_per_row, void *out);
} s2v_codec;

/* Blocks as the engine computes with them; defined in the engine. */
const s2v_codec *s2v_block_codec(void);

#endif /* S2_GGUF_CODEC_H */
