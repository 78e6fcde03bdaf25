/* blocks_vnni.c - a few rows times quantised weights, as bytes, by AVX-512 VNNI.
 *
 * One row is bound by memory, so weights are multiplied as they come: 4 and 6 bits are unsigned bytes as
 * they stand. Rows become bytes with a step for every 32. A product of 64
 * bytes makes 16 sums of four, which are scaled and added in float32; what a min or an offset takes
 * away goes with the sums of the row's bytes, which are known. A block is unpacked once for all rows.
 */
#include "engine/model/blocks/block_types.h"
#include "engine/model/blocks/blocks.h"

#define BLOCK 256
#define GROUP 32

typedef struct row_block { /* 256 inputs of a row; value = step * byte */
    int8_t byte[BLOCK];
    float step[16];     /* of every 16 inputs: equal in pairs */
    float taken[16];    /* -step * the sum of 16 bytes */
    float by_group[16]; /* step of every 32, then taken of every 32 */
} row_block;

typedef struct weight_block { /* 256 weights of one output, unsigned, and their scales */
    words32 byte[4];
    lanes scale; /* of 16 groups of 16; or of 8 groups of 32, then their mins */
} weight_block;

size_t s2v_few_bytes(int32_t k, int32_t m)
{
    return (size_t)(k / BLOCK) * (size_t)m * sizeof(row_block);
}

static void round_group(const float *x, int8_t *byte, float *step, float *taken)
{
    const lanes a = load(x), b = load(x + 16);
    const lanes most = larger((lanes)((bits)a & 0x7fffffffu), (lanes)((bits)b & 0x7fffffffu));
    const float poison = sum_of(a * all(0.0f) + b * all(0.0f)); /* NaN if one is not finite */
    const float one = largest_of(most) / 127.0f + poison;
    const float inverse = one > 0x1p-100f ? 1.0f / one : 0.0f;
    const lanes magic = all(12582912.0f); /* leaves the rounded number in the low bits */
    for (int i = 0; i < 2; i++) {
        const bits q = (bits)((i ? b : a) * all(inverse) + magic) - 0x4b400000u;
        const bytes16 whole = __builtin_convertvector(q, bytes16);
        memcpy(byte + 16 * i, &whole, sizeof whole);
        int32_t sum = 0;
        for (int j = 0; j < 16; j++) sum += byte[16 * i + j];
        step[i] = one;
        taken[i] = -one * (float)sum;
    }
}

void s2v_few_round_vnni(const float *x, int32_t k, void *out)
{
    row_block *to = out;
    for (int32_t at = 0; at < k; at += BLOCK, to++)
        for (int g = 0; g < BLOCK / GROUP; g++) {
            round_group(x + at + GROUP * g, to->byte + GROUP * g, to->step + 2 * g,
                        to->taken + 2 * g);
            to->by_group[g] = to->step[2 * g];
            to->by_group[8 + g] = to->taken[2 * g] + to->taken[2 * g + 1];
        }
}

/* Two pieces of 32 bytes. */
S2V_INLINE words32 join(bytes32 one, bytes32 two)
{
#if defined(__AVX512BW__)
    return (words32)_mm512_inserti64x4(_mm512_castsi256_si512((__m256i)one), (__m256i)two, 1);
#else
    words32 both;
    memcpy(&both, &one, sizeof one);
    memcpy((char *)&both + sizeof one, &two, sizeof two);
    return both;
#endif
}

/* 32 bytes twice. */
S2V_INLINE words32 twice(const uint8_t *p) { return join(load_bytes(p), load_bytes(p)); }

/* The first half shifted right by a, the second by b. */
S2V_INLINE words32 shift_halves(words32 v, uint16_t a, uint16_t b)
{
    return v >> (words32){ a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a,
                           b, b, b, b, b, b, b, b, b, b, b, b, b, b, b, b };
}

S2V_INLINE void take_q4_k(const char *row, int32_t b, weight_block *out)
{
    const q4_k_block *w = (const q4_k_block *)(const void *)row + b;
    for (int i = 0; i < 4; i++) out->byte[i] = shift_halves(twice(w->nibbles[i]), 0, 4) & 0x0f0f;
    out->scale = unpack_scales(w);
}

S2V_INLINE void take_q6_k(const char *row, int32_t b, weight_block *out)
{
    const q6_k_block *w = (const q6_k_block *)(const void *)row + b;
    for (int h = 0; h < 2; h++) {
        words32 low;
        memcpy(&low, w->low[h], sizeof low);
        const words32 two = twice(w->high[h]);
        out->byte[2 * h] = (low & 0x0f0f) | ((shift_halves(two, 0, 2) & 0x0303) << 4);
        out->byte[2 * h + 1] = ((low >> 4) & 0x0f0f) | ((shift_halves(two, 4, 6) & 0x0303) << 4);
    }
    out->scale = widen_signed(w->scale) * step_at(&w->step);
}

S2V_INLINE lanes permute(lanes v, ints index)
{
#if defined(__AVX512F__)
    return (lanes)_mm512_permutexvar_ps((__m512i)index, (__m512)v);
#else
    lanes out;
    for (int i = 0; i < 16; i++) out[i] = v[index[i] & 15];
    return out;
#endif
}

S2V_INLINE lanes products(words32 weights, const int8_t *byte)
{
    ints x;
    memcpy(&x, byte, sizeof x);
    const ints sums = (ints)_mm512_dpbusd_epi32((__m512i)(ints){ 0 }, (__m512i)weights, (__m512i)x);
#if defined(__AVX512F__)
    return (lanes)_mm512_cvtepi32_ps((__m512i)sums);
#else
    return __builtin_convertvector(sums, lanes);
#endif
}

/* sum[0], sum[1] += a block of an output times a block of a row. */
S2V_INLINE void add_block(const weight_block *w, bool is_q6, const row_block *x, lanes sum[2])
{
    const lanes middle = is_q6 ? all(32.0f) * w->scale * load(x->taken) : (lanes){ 0 };
    const lanes scale = w->scale * load(is_q6 ? x->step : x->by_group);
    const ints eights = { 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1 };
    const ints fours = { 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3 };
    const bits mins = { 0, 0, 0, 0, 0, 0, 0, 0, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u };
    sum[0] += is_q6 ? middle : (lanes)((bits)scale & mins);
    for (int i = 0; i < 4; i++) {
        const ints index = is_q6 ? fours + 4 * i : eights + 2 * i;
        sum[i % 2] += products(w->byte[i], x->byte + 64 * i) * permute(scale, index);
    }
}

S2V_INLINE float total(lanes v)
{
#if defined(__AVX512F__)
    return _mm512_reduce_add_ps((__m512)v);
#else
    return sum_of(v);
#endif
}

typedef struct few_job {
    const s2v_blocks *w;
    const row_block *rows;
    float *out;
    ptrdiff_t pitch;
    int32_t first, last;
} few_job;

#define AHEAD 4096 /* bytes asked for ahead of where weights are read */

S2V_INLINE void multiply(const few_job *j, s2v_block_kind kind, size_t block, const int n)
{
    const int32_t n_blocks = j->w->k / BLOCK;
    const size_t size = (size_t)n_blocks * block;
    for (int32_t at = j->first; at < j->last; at++) {
        const char *row = (const char *)j->w->data + (size_t)at * size;
        lanes sum[8][2];
        for (int r = 0; r < n; r++) sum[r][0] = sum[r][1] = (lanes){ 0 };
        for (int32_t b = 0; b < n_blocks; b++) {
            weight_block w;
            for (size_t i = 0; i < block; i += 64)
                __builtin_prefetch(row + (size_t)b * block + AHEAD + i, 0, 3);
            if (kind == S2V_Q4_K)
                take_q4_k(row, b, &w);
            else
                take_q6_k(row, b, &w);
            for (int r = 0; r < n; r++)
                add_block(&w, kind == S2V_Q6_K, j->rows + (ptrdiff_t)r * n_blocks + b, sum[r]);
        }
        for (int r = 0; r < n; r++) j->out[r * j->pitch + at] = total(sum[r][0] + sum[r][1]);
    }
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
