/* gguf_types.h - the types of the format: of a key's values and of a tensor's numbers. */
#ifndef S2_GGUF_TYPES_H
#define S2_GGUF_TYPES_H

#include <stddef.h>
#include <stdint.h>

/* clang-format off */
typedef enum s2v_gguf_type { /* of a value; numbers as in the file */
    S2V_GGUF_U8 = 0,     S2V_GGUF_I8 = 1,     S2V_GGUF_U16 = 2,    S2V_GGUF_I16 = 3,
    S2V_GGUF_U32 = 4,    S2V_GGUF_I32 = 5,    S2V_GGUF_F32 = 6,    S2V_GGUF_BOOL = 7,
    S2V_GGUF_STRING = 8, S2V_GGUF_ARRAY = 9,  S2V_GGUF_U64 = 10,   S2V_GGUF_I64 = 11,
    S2V_GGUF_F64 = 12
} s2v_gguf_type;

/* Of a tensor; numbers as in the file. Those it has lost (4, 5, 31 to 33, 36 to 38) are unknown. */
typedef enum s2v_tensor_type {
    S2V_TENSOR_F32 = 0,      S2V_TENSOR_F16 = 1,      S2V_TENSOR_Q4_0 = 2,     S2V_TENSOR_Q4_1 = 3,
    S2V_TENSOR_Q5_0 = 6,     S2V_TENSOR_Q5_1 = 7,     S2V_TENSOR_Q8_0 = 8,     S2V_TENSOR_Q8_1 = 9,
    S2V_TENSOR_Q2_K = 10,    S2V_TENSOR_Q3_K = 11,    S2V_TENSOR_Q4_K = 12,    S2V_TENSOR_Q5_K = 13,
    S2V_TENSOR_Q6_K = 14,    S2V_TENSOR_Q8_K = 15,    S2V_TENSOR_IQ2_XXS = 16, S2V_TENSOR_IQ2_XS = 17,
    S2V_TENSOR_IQ3_XXS = 18, S2V_TENSOR_IQ1_S = 19,   S2V_TENSOR_IQ4_NL = 20,  S2V_TENSOR_IQ3_S = 21,
    S2V_TENSOR_IQ2_S = 22,   S2V_TENSOR_IQ4_XS = 23,  S2V_TENSOR_I8 = 24,      S2V_TENSOR_I16 = 25,
    S2V_TENSOR_I32 = 26,     S2V_TENSOR_I64 = 27,     S2V_TENSOR_F64 = 28,     S2V_TENSOR_IQ1_M = 29,
    S2V_TENSOR_BF16 = 30,    S2V_TENSOR_TQ1_0 = 34,   S2V_TENSOR_TQ2_0 = 35,   S2V_TENSOR_MXFP4 = 39,
    S2V_TENSOR_NVFP4 = 40,   S2V_TENSOR_Q1_0 = 41,    S2V_TENSOR_Q2_0 = 42
} s2v_tensor_type;
/* clang-format on */

/* Bytes of a number or boolean; 0 for strings, arrays and unknown types. */
size_t s2v_gguf_width(uint32_t type);

/* "F16", "Q4_K", ...; NULL when the type is unknown. Elements per block and bytes per block. */
const char *s2v_gguf_tensor_type(uint32_t type, int64_t *block, size_t *block_bytes);

/* Of a known type: elements per block, 1 for plain numbers; bytes of n elements, whole blocks. */
int64_t s2v_gguf_block(uint32_t type);
size_t s2v_gguf_row_bytes(uint32_t type, int64_t n);

#endif /* S2_GGUF_TYPES_H */
