/* blocks_vnni.c - a few rows times quantised weights, as whole numbers of 16 bits, by AVX-512 VNNI.
 *
 * Weights times their scales, which are whole numbers too, fit 16 bits; rows are rounded to 15 bits,
 * one step for the 256 inputs of a block. So the sum over a block is exact in 32 bits, and becomes a
 * float once: a row costs little more than its eight instructions of 32 products. Two outputs are done
 * at a time, for each block unpacked once for all rows. What the mins take away goes with the sums of
 * the row's numbers, which are known.
 */
#include "engine/model/blocks/block_types.h"
#include "engine/model/blocks/blocks.h"
#include "engine/model/blocks/unpack.h"

#define BLOCK 256
#define GROUP 32
#define LARGEST 16383 /* of a row; 16 products with at most 32 * 128 then stay below 2^31 */
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

size_t s2v_few_bytes(int32_t k, int32_t m)
{
    return (size_t)(k / BLOCK) * (size_t)m * sizeof(row_block);
}

static float block_step(const float *x)
{
    lanes most = { 0 }, poison = { 0 };
    for (int i = 0; i < BLOCK; i += 16) {
        const lanes v = load(x + i);
        most = larger((lanes)((bits)v & 0x7fffffffu), most);
        poison += v * all(0.0f); /* NaN if one is not finite */
    }
    return largest_of(most) / (float)LARGEST + sum_of(poison);
}

static void round_block(const float *x, row_block *to)
{
    const float step = block_step(x), inverse = step > 0x1p-100f ? 1.0f / step : 0.0f;
    const lanes magic = all(12582912.0f); /* leaves the rounded number in the low bits */
    for (int g = 0; g < BLOCK / GROUP; g++) {
        int32_t sum = 0;
        for (int i = GROUP * g; i < GROUP * (g + 1); i += 16) {
            const bits q = (bits)(load(x + i) * all(inverse) + magic) - 0x4b400000u;
            for (int j = 0; j < 16; j++) {
                const int at = i + j;
                to->word[at / 64 * 64 + at % 2 * 32 + at % 64 / 2] = (int16_t)q[j];
                sum += (int16_t)q[j];
            }
        }
        to->taken[g] = -step * (float)sum;
        to->taken[8 + g] = g == 0 ? step : 0.0f;
    }
}

void s2v_few_round_vnni(const float *x, int32_t k, void *out)
{
    row_block *to = out;
    for (int32_t at = 0; at < k; at += BLOCK, to++) round_block(x + at, to);
}

/* 32 bytes twice, the second time shifted right by `odd` and the first by `even`. */
S2V_INLINE words32 shift_twice(const uint8_t *p, uint16_t even, uint16_t odd)
{
    const bytes32 v = load_bytes(p);
#if defined(__AVX512BW__)
    const words32 both = (words32)_mm512_broadcast_i64x4((__m256i)v);
#else
    words32 both;
    memcpy(&both, &v, sizeof v);
    memcpy((char *)&both + sizeof v, &v, sizeof v);
#endif
    return both >> (words32){ even, even, even, even, even, even, even, even, even, even, even,
                              even, even, even, even, even, odd,  odd,  odd,  odd,  odd,  odd,
                              odd,  odd,  odd,  odd,  odd,  odd,  odd,  odd,  odd,  odd };
}

S2V_INLINE void take_q4_k(const char *row, int32_t b, weight_block *out)
{
    const q4_k_block *w = (const q4_k_block *)(const void *)row + b;
    const words32 which = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                            1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
    const bytes16 six = six_bits(w);
    const words32 scales = words_of_bytes(six);
    for (int i = 0; i < 4; i++) {
        const words32 four = shift_twice(w->nibbles[i], 0, 4);
        const words32 scale = look_up(scales, which + (uint16_t)(2 * i));
        out->word[2 * i] = (four & 15) * scale;
        out->word[2 * i + 1] = (four >> 8 & 15) * scale;
    }
    const bytes16 mins = __builtin_shufflevector(six, (bytes16){ 0 }, 8, 9, 10, 11, 12, 13, 14, 15,
                                                 16, 16, 16, 16, 16, 16, 16, 16);
    out->mins = float_of_bytes(mins) * step_at(&w->min_step);
    out->step = step_at(&w->step);
}

S2V_INLINE void take_q6_k(const char *row, int32_t b, weight_block *out)
{
    const q6_k_block *w = (const q6_k_block *)(const void *)row + b;
    const words32 which = { 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1,
                            2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3 };
    const words32 scales = words_of_signed(w->scale);
    for (int i = 0; i < 4; i++) {
        const int h = i / 2, first = i % 2 * 4;
        words32 low;
        memcpy(&low, w->low[h], sizeof low);
        const words32 high = shift_twice(w->high[h], (uint16_t)first, (uint16_t)(first + 2));
        const words32 six = (low >> first & 0x0f0f) | (high & 0x0303) << 4;
        const words32 scale = look_up(scales, which + (uint16_t)(4 * i));
        out->word[2 * i] = ((six & 255) - 32) * scale;
        out->word[2 * i + 1] = ((six >> 8) - 32) * scale;
    }
    out->step = step_at(&w->step);
}

S2V_INLINE lanes float_of_ints(ints v)
{
#if defined(__AVX512F__)
    return (lanes)_mm512_cvtepi32_ps((__m512i)v);
#else
    return __builtin_convertvector(v, lanes);
#endif
}

/* a b + c with one rounding, whatever stands around it: a row's bits are its own. */
S2V_INLINE lanes add_product(lanes a, lanes b, lanes c)
{
#if defined(__AVX512F__)
    return (lanes)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#else
    return a * b + c;
#endif
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

typedef struct few_job {
    const s2v_blocks *w;
    const row_block *rows;
    float *out;
    ptrdiff_t pitch;
    int32_t first, last;
} few_job;

#define AHEAD 4096 /* bytes asked for ahead of where weights are read */

/* `outputs` outputs from `at` on, of n rows. */
S2V_INLINE void multiply_outputs(const few_job *j, const s2v_block_kind kind, const size_t block,
                                 const int n, int32_t at, const int outputs)
{
    const int32_t n_blocks = j->w->k / BLOCK;
    const size_t size = (size_t)n_blocks * block;
    const char *row = (const char *)j->w->data + (size_t)at * size;
    lanes sum[S2V_FEW_ROWS][OUTPUTS];
    for (int r = 0; r < n; r++)
        for (int o = 0; o < outputs; o++) sum[r][o] = (lanes){ 0 };
    for (int32_t b = 0; b < n_blocks; b++) {
        weight_block w[OUTPUTS];
        for (int o = 0; o < outputs; o++) {
            const char *from = row + (size_t)o * size;
            for (size_t i = 0; i < block; i += 64)
                __builtin_prefetch(from + (size_t)b * block + AHEAD + i, 0, 2);
            if (kind == S2V_Q4_K)
                take_q4_k(from, b, &w[o]);
            else
                take_q6_k(from, b, &w[o]);
        }
        for (int r = 0; r < n; r++)
            add_block(w, kind == S2V_Q4_K, j->rows + (ptrdiff_t)r * n_blocks + b, sum[r], outputs);
    }
    for (int r = 0; r < n; r++)
        for (int o = 0; o < outputs; o++) j->out[r * j->pitch + at + o] = sum_of(sum[r][o]);
}

S2V_INLINE void multiply(const few_job *j, const s2v_block_kind kind, const size_t block,
                         const int n)
{
    int32_t at = j->first;
    for (; at + OUTPUTS <= j->last; at += OUTPUTS) multiply_outputs(j, kind, block, n, at, OUTPUTS);
    for (; at < j->last; at++) multiply_outputs(j, kind, block, n, at, 1);
}

#define FEW(kind, block, n)          \
    case n:                          \
        multiply(j, kind, block, n); \
        break;
#define FEW_KIND(name, kind, block)               \
    static void name(const few_job *j, int32_t n) \
    {                                             \
        switch (n) {                              \
            FEW(kind, block, 1)                   \
            FEW(kind, block, 2)                   \
            FEW(kind, block, 3)                   \
            FEW(kind, block, 4)                   \
            FEW(kind, block, 5)                   \
            FEW(kind, block, 6)                   \
            FEW(kind, block, 7)                   \
            FEW(kind, block, 8)                   \
        }                                         \
    }

FEW_KIND(few_q4_k, S2V_Q4_K, sizeof(q4_k_block))
FEW_KIND(few_q6_k, S2V_Q6_K, sizeof(q6_k_block))

void s2v_few_product_vnni(const s2v_blocks *w, const void *rows, int32_t m, int32_t first,
                          int32_t last, float *out, ptrdiff_t pitch)
{
    const few_job j = { w, rows, out, pitch, first, last };
    if (w->kind == S2V_Q4_K)
        few_q4_k(&j, m);
    else
        few_q6_k(&j, m);
}
