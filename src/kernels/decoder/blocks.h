/* blocks.h - rows times weights of Q4_K and Q6_K as a GGUF file has them, for CPUs with AMX.
 *
 * The weights stay as they are: nothing is laid out anew when a model is opened, and a mapped file is
 * all the memory they take. There are three products: for many rows, for five to eight, for up to four.
 * In each a row's numbers depend on nothing beside it: not on the other rows, nor on how work is shared.
 *
 * Many rows, by the tiles of AMX: blocks are unpacked to BF16, 32 outputs and 1024 inputs at a time,
 * and multiplied with all rows; float32 sums. Weights are the left side of a tile product, so that an
 * unpacked row lies in the tile as it comes; rows of activations are turned once for all products of
 * them. Both sides are rounded once: with S = sum |x_i w_i| an output is off by at most
 * (2^-7.9 + k 2^-24) S. BF16 denormals count as zeros, NaN and infinities pass on.
 *
 * Fewer, by AVX-512 VNNI or in digits by the tiles: rows are rounded to 15 bits with a step for every 256
 * inputs, and the products of whole numbers are exact: an output is off by at most the sum of
 * step * |w_i| / 2 beside the float32 roundings, in which the two differ. A number that is not finite
 * makes its row NaN.
 */
#ifndef S2_ENGINE_BLOCKS_H
#define S2_ENGINE_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum s2v_block_kind { S2V_Q4_K, S2V_Q6_K } s2v_block_kind;

typedef struct s2v_blocks { /* [n][k], rows without gaps */
    s2v_block_kind kind;
    int32_t k, n; /* k: a multiple of 256 */
    const void *data;
} s2v_blocks;

#define S2V_BLOCKS_ALIGN 64 /* of turned rows and scratch */
#define S2V_BLOCKS_PANEL 32 /* outputs */

/* m rows of k floats, turned: bytes they take, in groups of 16 rows. */
static inline size_t s2v_turned_bytes(int32_t k, int32_t m)
{
    return (size_t)((m + 15) / 16) * (size_t)(k / 32) * 1024;
}

/* Bytes a thread needs beside. */
size_t s2v_blocks_scratch(int32_t m);

/* Groups [first, last) of 16 rows into `out`, where all groups are. x: [m][k], pitch floats apart. */
void s2v_blocks_turn_amx(const float *x, ptrdiff_t pitch, int32_t k, int32_t m, int32_t first,
                         int32_t last, void *out);

/* out[row * pitch + output] for outputs [first, last) of m turned rows; first: a multiple of
 * S2V_BLOCKS_PANEL. Threads may share the outputs, each with its own scratch. */
void s2v_blocks_product_amx(const s2v_blocks *w, const void *turned, int32_t m, int32_t first,
                            int32_t last, float *out, ptrdiff_t pitch, void *scratch);

/* Up to S2V_WORD_ROWS rows, as words: a row of k floats, rounded, and their product. */
#define S2V_WORD_ROWS 4
size_t s2v_words_bytes(int32_t k, int32_t m);
void s2v_words_round_vnni(const float *x, int32_t k, void *out);
void s2v_words_product_vnni(const s2v_blocks *w, const void *rows, int32_t m, int32_t first,
                            int32_t last, float *out, ptrdiff_t pitch);

/* Up to S2V_FEW_ROWS rows, as digits; row: its number, and all S2V_FEW_ROWS are written, x NULL for those
 * that are not there. rows: a multiple of S2V_BLOCKS_ALIGN. */
#define S2V_FEW_ROWS 8
size_t s2v_digits_bytes(int32_t k);
void s2v_digits_round_amx(const float *x, int32_t k, int32_t row, void *out);
void s2v_digits_product_amx(const s2v_blocks *w, const void *rows, int32_t m, int32_t first,
                            int32_t last, float *out, ptrdiff_t pitch);

/* This machine runs them: it has AMX for BF16 and bytes, the kernel lets us, and the products of a
 * self-test are right. */
bool s2v_blocks_run_here(void);

#endif /* S2_ENGINE_BLOCKS_H */
