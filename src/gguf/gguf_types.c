/* gguf_types.c - names, block sizes and widths of the types a file may use.
 *
 * The numbers are those of llama.cpp's tensors; a test of the engine holds the table against it.
 */
#include "gguf/gguf_types.h"

typedef struct type_row {
    const char *name;
    int64_t block;      /* elements */
    size_t block_bytes; /* 0: no such type */
} type_row;

static const type_row types[] = {
    [S2V_TENSOR_F32] = { "F32", 1, 4 },
    [S2V_TENSOR_F16] = { "F16", 1, 2 },
    [S2V_TENSOR_Q4_0] = { "Q4_0", 32, 18 },
    [S2V_TENSOR_Q4_1] = { "Q4_1", 32, 20 },
    [S2V_TENSOR_Q5_0] = { "Q5_0", 32, 22 },
    [S2V_TENSOR_Q5_1] = { "Q5_1", 32, 24 },
    [S2V_TENSOR_Q8_0] = { "Q8_0", 32, 34 },
    [S2V_TENSOR_Q8_1] = { "Q8_1", 32, 36 },
    [S2V_TENSOR_Q2_K] = { "Q2_K", 256, 84 },
    [S2V_TENSOR_Q3_K] = { "Q3_K", 256, 110 },
    [S2V_TENSOR_Q4_K] = { "Q4_K", 256, 144 },
    [S2V_TENSOR_Q5_K] = { "Q5_K", 256, 176 },
    [S2V_TENSOR_Q6_K] = { "Q6_K", 256, 210 },
    [S2V_TENSOR_Q8_K] = { "Q8_K", 256, 292 },
    [S2V_TENSOR_IQ2_XXS] = { "IQ2_XXS", 256, 66 },
    [S2V_TENSOR_IQ2_XS] = { "IQ2_XS", 256, 74 },
    [S2V_TENSOR_IQ3_XXS] = { "IQ3_XXS", 256, 98 },
    [S2V_TENSOR_IQ1_S] = { "IQ1_S", 256, 50 },
    [S2V_TENSOR_IQ4_NL] = { "IQ4_NL", 32, 18 },
    [S2V_TENSOR_IQ3_S] = { "IQ3_S", 256, 110 },
    [S2V_TENSOR_IQ2_S] = { "IQ2_S", 256, 82 },
    [S2V_TENSOR_IQ4_XS] = { "IQ4_XS", 256, 136 },
    [S2V_TENSOR_I8] = { "I8", 1, 1 },
    [S2V_TENSOR_I16] = { "I16", 1, 2 },
    [S2V_TENSOR_I32] = { "I32", 1, 4 },
    [S2V_TENSOR_I64] = { "I64", 1, 8 },
    [S2V_TENSOR_F64] = { "F64", 1, 8 },
    [S2V_TENSOR_IQ1_M] = { "IQ1_M", 256, 56 },
    [S2V_TENSOR_BF16] = { "BF16", 1, 2 },
    [S2V_TENSOR_TQ1_0] = { "TQ1_0", 256, 54 },
    [S2V_TENSOR_TQ2_0] = { "TQ2_0", 256, 66 },
    [S2V_TENSOR_MXFP4] = { "MXFP4", 32, 17 },
    [S2V_TENSOR_NVFP4] = { "NVFP4", 64, 36 },
    [S2V_TENSOR_Q1_0] = { "Q1_0", 128, 18 },
    [S2V_TENSOR_Q2_0] = { "Q2_0", 64, 18 },
};

size_t s2v_gguf_width(uint32_t type)
{
    static const uint8_t width[] = { 1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8 };
    return type < sizeof width ? width[type] : 0;
}

const char *s2v_gguf_tensor_type(uint32_t type, int64_t *block, size_t *block_bytes)
{
    if (type >= sizeof types / sizeof *types || !types[type].name) return NULL;
    if (block) *block = types[type].block;
    if (block_bytes) *block_bytes = types[type].block_bytes;
    return types[type].name;
}

int64_t s2v_gguf_block(uint32_t type) { return types[type].block; }

size_t s2v_gguf_row_bytes(uint32_t type, int64_t n)
{
    return (size_t)(n / types[type].block) * types[type].block_bytes;
}
