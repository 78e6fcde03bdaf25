/* q8_neon_i8mm.c - bytes in blocks of 32 by Arm's SMMLA (I8MM); the rest as f32_neon.c does it.
 *
 * The instruction multiplies two rows of eight inputs with two columns of eight: 2 x 2 sums. Two
 * neighboring words of four columns, interleaved, are two such pairs of columns; two words of a row,
 * which lie apart, are joined with those of the next row.
 */
#include "kernels/tower/tables.h"

#define WIDTH 4
#define ROWS 8
#define BLOCK 192
#define SLAB_BLOCKS 24
#define FLIP 0
#define AS_PAIRS 0
#include "kernels/tower/q8_text.h"

/* Rows i and i + 1, words `word` and `word` + 1: [i][8], [i + 1][8]. */
S2V_INLINE int8x16_t two_rows(const uint32_t *a, int word, int i)
{
    const uint32x2_t low = vld1_u32(a + word * ROWS + i);
    const uint32x2_t high = vld1_u32(a + (word + 1) * ROWS + i);
    return vreinterpretq_s8_u32(vcombine_u32(vzip1_u32(low, high), vzip2_u32(low, high)));
}

S2V_INLINE void block_sums(ints sum[ROWS][2], const uint32_t *a, const char *b, const char *wide)
{
    (void)wide;
    int32x4_t square[ROWS / 2][4]; /* rows i and i + 1 by columns 2 j and 2 j + 1 */
    for (int i = 0; i < ROWS / 2; i++)
        for (int j = 0; j < 4; j++) square[i][j] = vdupq_n_s32(0);
    for (int word = 0; word < 8; word += 2, b += 2 * PANEL * 4) {
        int8x16_t columns[4];
        for (int v = 0; v < 2; v++) {
            const int32x4_t low = vld1q_s32((const int32_t *)(const void *)b + v * WIDTH);
            const int32x4_t high = vld1q_s32((const int32_t *)(const void *)b + PANEL + v * WIDTH);
            columns[2 * v] = vreinterpretq_s8_s32(vzip1q_s32(low, high));
            columns[2 * v + 1] = vreinterpretq_s8_s32(vzip2q_s32(low, high));
        }
        for (int i = 0; i < ROWS / 2; i++) {
            const int8x16_t rows = two_rows(a, word, 2 * i);
            for (int j = 0; j < 4; j++) square[i][j] = vmmlaq_s32(square[i][j], rows, columns[j]);
        }
    }
    for (int i = 0; i < ROWS / 2; i++)
        for (int v = 0; v < 2; v++) {
            const int32x4_t left = square[i][2 * v], right = square[i][2 * v + 1];
            sum[2 * i][v] = (ints)vcombine_s32(vget_low_s32(left), vget_low_s32(right));
            sum[2 * i + 1][v] = (ints)vcombine_s32(vget_high_s32(left), vget_high_s32(right));
        }
}

#include "kernels/tower/q8_loop.h"

#define FLOATS s2v_kernels_neon
#include "kernels/tower/narrow_table.h"

const s2v_kernels s2v_kernels_neon_i8mm_q8 = {
    .name = "neon-i8mm-q8",
    .needs = "64-bit Arm with I8MM",
    .precision = S2V_PRECISION_Q8,
    .block = S2V_QUANT,
    .takes_quants = true,
    NARROW_TABLE(q8, product),
    NARROW_ATTENTION,
};
