/* few_rows_avx2.h - a few rows of bytes times weights of Q4_K or Q6_K, for AVX2, FMA and F16C. */
#ifndef S2_ENGINE_FEW_ROWS_AVX2_H
#define S2_ENGINE_FEW_ROWS_AVX2_H

#include <stddef.h>
#include <stdint.h>

#define S2V_FEW_BLOCK 256

typedef struct s2v_row_block { /* 256 values of a row */
    float step;                /* value = step * byte */
    int8_t byte[S2V_FEW_BLOCK];
    int16_t sum[16]; /* of 16 bytes each */
} s2v_row_block;

/* x: [k] -> out [k / 256]; the bytes are those ggml's own kernels multiply. */
void s2v_few_bytes_avx2(const float *x, int32_t k, s2v_row_block *out);

/* Outputs [first, last) of every row. rows: [n_rows][k / 256]; out[row * pitch + output]. */
typedef void s2v_few_kernel(const void *weights, int32_t k, int32_t first, int32_t last,
                            const s2v_row_block *rows, int32_t n_rows, float *out, ptrdiff_t pitch);

s2v_few_kernel
    s2v_few_q4_avx2; /* eight outputs interleaved, as ggml packs Q4_K; first, last: of 8 */
s2v_few_kernel s2v_few_q6_avx2; /* Q6_K as the file has it */

#endif /* S2_ENGINE_FEW_ROWS_AVX2_H */
