/* codec.c - blocks of numbers as ggml makes them. */
#include "gguf/codec.h"

#include "ggml.h"

static void encode_blocks(uint32_t type, const float *rows, int64_t n_rows, int64_t n_per_row,
                          void *out)
{
    (void)ggml_quantize_chunk((enum ggml_type)type, rows, out, 0, n_rows, n_per_row, NULL);
}

const s2v_codec *s2v_block_codec(void)
{
    static const s2v_codec codec = { .encode = encode_blocks };
    return &codec;
}
