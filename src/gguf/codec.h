/* codec.h - the arithmetic of blocks, for those who write tensors: whoever has it fills one in.
 *
 * Plain numbers (F32, F16, BF16) need none of it; blocks (Q8_0, Q4_K, ...) are the engine's.
 */
#ifndef S2_GGUF_CODEC_H
#define S2_GGUF_CODEC_H

#include <stdint.h>

typedef struct s2v_codec {
    /* Rows of floats as blocks of a s2v_tensor_type. Rows are whole blocks, values finite; several
     * threads may call at once. out: n_rows * s2v_gguf_row_bytes(type, n_per_row) bytes. */
    void (*encode)(uint32_t type, const float *rows, int64_t n_rows, int64_t n_per_row, void *out);
} s2v_codec;

#endif /* S2_GGUF_CODEC_H */
