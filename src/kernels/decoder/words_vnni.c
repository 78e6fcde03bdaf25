/* words_vnni.c - up to four rows times quantized weights, as whole numbers of 16 bits, by AVX-512 VNNI.
 *
 * Weights times their scales, which are whole numbers too, fit 16 bits; rows are rounded to 15 bits,
 * one step for the 256 inputs of a block. So the sum over a block is exact in 32 bits (16 products with
 * at most 32 * 128 stay below 2^31), and becomes a float once: a row costs little more than its eight
 * instructions of 32 products. Two outputs are done at a time, each block unpacked once for all rows.
 * The mins are multiplied with the sums of the row's numbers, which are computed once.
 */
#include "kernels/decoder/products.h"
#include "kernels/decoder/rounded_rows.h"

#define MAX_ROWS 4
#define OUTPUTS 2

/* 256 inputs of a row; value = step * word. Of every 64 inputs the even ones come first, then the odd
 * ones: as 64 bytes of weights fall into words. */
typedef struct row_block {
    int16_t word[BLOCK];
    float taken[16]; /* -step * the sum of every 32, then step, then zeros */
} row_block;

typedef struct
    weight_block {    /* 256 weights of one output; value = step * word - min of its group */
    words32 word[8];  /* as in a row */
    lanes mins, step; /* mins: of 8 groups, then zeros; step: in all lanes */
} weight_block;

static size_t rows_bytes(int32_t k, int32_t m)
{
    return (size_t)(k / BLOCK) * (size_t)m * sizeof(row_block);
}

static void pack_row(const float *x, int32_t k, row_block *to)
{
    for (int32_t at = 0; at < k; at += BLOCK, to++) {
        rounded row;
        round_block(x + at, &row);
        for (int i = 0; i < BLOCK; i++)
            to->word[i / 64 * 64 + i % 2 * 32 + i % 64 / 2] = row.word[i];
        for (int g = 0; g < BLOCK / GROUP; g++) {
            to->taken[g] = -row.step * (float)row.sum[g];
            to->taken[8 + g] = g == 0 ? row.step : 0.0f;
        }
    }
}

static void pack_rows(const float *x, ptrdiff_t pitch, int32_t k, int32_t m, int32_t first,
                      int32_t last, void *out)
{
    (void)m;
    for (int32_t r = first; r < last; r++)
        pack_row(x + r * pitch, k, (row_block *)out + (ptrdiff_t)r * (k / BLOCK));
}

S2V_INLINE void take_q4_k(const char *row, int32_t b, weight_block *out)
{
    const q4_k_block *w = (const q4_k_block *)(const void *)row + b;
    const bytes16 six = six_bits(w);
    const words32 scales = words_of_bytes(six);
    for (int t = 0; t < 4; t++) {
        const words32 four = shift_twice(w->nibbles[t], 0, 4);
        const words32 scale = look_up(scales, HALVES + (uint16_t)(2 * t));
        out->word[2 * t] = (four & 15) * scale;
        out->word[2 * t + 1] = (four >> 8 & 15) * scale;
    }
    const bytes16 mins = __builtin_shufflevector(six, (bytes16){ 0 }, 8, 9, 10, 11, 12, 13, 14, 15,
                                                 16, 16, 16, 16, 16, 16, 16, 16);
    out->mins = float_of_bytes(mins) * step_at(&w->min_step);
    out->step = step_at(&w->step);
}

S2V_INLINE void take_q6_k(const char *row, int32_t b, weight_block *out)
{
    const q6_k_block *w = (const q6_k_block *)(const void *)row + b;
    const words32 scales = words_of_signed(w->scale);
    for (int t = 0; t < 4; t++) q6_k_words(w, scales, t, &out->word[2 * t], &out->word[2 * t + 1]);
    out->step = step_at(&w->step);
}

S2V_INLINE void take(const s2k_format format, const char *row, int32_t b, weight_block *out)
{
    if (format == S2K_Q4_K) take_q4_k(row, b, out);
    if (format == S2K_Q6_K) take_q6_k(row, b, out);
}

/* sum += blocks of n outputs times a block of a row. */
S2V_INLINE void add_block(const weight_block *w, const bool has_mins, const row_block *x,
                          lanes *sum, const int n)
{
    ints whole[OUTPUTS] = { { 0 } };
    for (int v = 0; v < 8; v++) {
        words32 of_row;
        memcpy(&of_row, x->word + 32 * v, sizeof of_row);
        for (int o = 0; o < n; o++)
            whole[o] = (ints)_mm512_dpwssd_epi32((__m512i)whole[o], (__m512i)w[o].word[v],
                                                 (__m512i)of_row);
    }
    for (int o = 0; o < n; o++) {
        const lanes scaled = float_of_ints(whole[o]) * w[o].step;
        sum[o] = add_product(scaled, all(x->taken[8]), sum[o]);
        if (has_mins) sum[o] = add_product(w[o].mins, load(x->taken), sum[o]);
    }
}

typedef struct word_product {
    const s2k_weights *w;
    const row_block *rows;
    float *out;
    ptrdiff_t pitch;
    int32_t first, last;
} word_product;

#define AHEAD 4096 /* bytes prefetched ahead of where weights are read */

/* `outputs` outputs from `at` on, of n rows. */
S2V_INLINE void multiply_outputs(const word_product *j, const s2k_format format, const int n,
                                 int32_t at, const int outputs)
{
    const size_t block = s2k_format_of(format)->block_bytes;
    const int32_t n_blocks = j->w->k / BLOCK;
    const size_t size = (size_t)n_blocks * block;
    const char *row = (const char *)j->w->data + (size_t)at * size;
    lanes sum[MAX_ROWS][OUTPUTS];
    for (int r = 0; r < n; r++)
        for (int o = 0; o < outputs; o++) sum[r][o] = (lanes){ 0 };
    for (int32_t b = 0; b < n_blocks; b++) {
        weight_block w[OUTPUTS];
        for (int o = 0; o < outputs; o++) {
            const char *from = row + (size_t)o * size;
            for (size_t i = 0; i < block; i += 64)
                __builtin_prefetch(from + (size_t)b * block + AHEAD + i, 0, 2);
            take(format, from, b, &w[o]);
        }
        for (int r = 0; r < n; r++)
            add_block(w, s2k_format_of(format)->has_mins, j->rows + (ptrdiff_t)r * n_blocks + b,
                      sum[r], outputs);
    }
    for (int r = 0; r < n; r++)
        for (int o = 0; o < outputs; o++) j->out[r * j->pitch + at + o] = sum_of(sum[r][o]);
}

S2V_INLINE void multiply(const word_product *j, const s2k_format format, const int n)
{
    int32_t at = j->first;
    for (; at + OUTPUTS <= j->last; at += OUTPUTS) multiply_outputs(j, format, n, at, OUTPUTS);
    for (; at < j->last; at++) multiply_outputs(j, format, n, at, 1);
}

/* A function of its own for each number of rows: their sums stay in registers. */
#define OF_FORMAT(name, format)                             \
    static void name(const word_product *j, int32_t n_rows) \
    {                                                       \
        if (n_rows == 1) multiply(j, format, 1);            \
        if (n_rows == 2) multiply(j, format, 2);            \
        if (n_rows == 3) multiply(j, format, 3);            \
        if (n_rows == 4) multiply(j, format, 4);            \
    }

OF_FORMAT(multiply_q4_k, S2K_Q4_K)
OF_FORMAT(multiply_q6_k, S2K_Q6_K)

static void product(const s2k_weights *w, const void *rows, int32_t m, int32_t first, int32_t last,
                    float *out, ptrdiff_t pitch, void *scratch)
{
    const word_product j = { w, rows, out, pitch, first, last };
    (void)scratch;
    if (w->format == S2K_Q4_K) multiply_q4_k(&j, m);
    if (w->format == S2K_Q6_K) multiply_q6_k(&j, m);
}

static bool runs(const s2_cpu *cpu) { return cpu->avx512_vnni; }

const s2k_products s2k_words_vnni = {
    .name = "words-vnni",
    .runs = runs,
    .formats = S2K_TAKES(S2K_Q4_K) | S2K_TAKES(S2K_Q6_K),
    .max_rows = MAX_ROWS,
    .group = 1,
    .padding = 1,
    .piece = 64,
    .row_error = ROUNDED_ROW_ERROR,
    .product_error = 1e-5,
    .keeps_nan = true,
    .rows_bytes = rows_bytes,
    .pack_rows = pack_rows,
    .product = product,
};
