/* few.h - what the products of a few rows share: rows as whole numbers of 15 bits, and pieces of blocks. */
#ifndef S2_ENGINE_BLOCKS_FEW_H
#define S2_ENGINE_BLOCKS_FEW_H

#include "kernels/decoder/block_types.h"
#include "kernels/decoder/blocks.h"
#include "kernels/decoder/unpack.h"

#define BLOCK 256
#define GROUP 32
#define LARGEST 16383 /* of a row's numbers */

typedef struct rounded { /* 256 inputs of a row; value = step * word */
    int16_t word[BLOCK];
    int32_t sum[BLOCK / GROUP]; /* of every 32 */
    float step;                 /* NaN if one is not finite */
} rounded;

static inline float block_step(const float *x)
{
    lanes most = { 0 }, poison = { 0 };
    for (int i = 0; i < BLOCK; i += 16) {
        const lanes v = load(x + i);
        most = larger((lanes)((bits)v & 0x7fffffffu), most);
        poison += v * all(0.0f);
    }
    return largest_of(most) / (float)LARGEST + sum_of(poison);
}

static inline void round_block(const float *x, rounded *to)
{
    to->step = block_step(x);
    const lanes inverse = all(to->step > 0x1p-100f ? 1.0f / to->step : 0.0f);
    const lanes magic = all(12582912.0f); /* leaves the rounded number in the low bits */
    for (int g = 0; g < BLOCK / GROUP; g++) {
        to->sum[g] = 0;
        for (int i = GROUP * g; i < GROUP * (g + 1); i += 16) {
            const bits q = (bits)(load(x + i) * inverse + magic) - 0x4b400000u;
            for (int j = 0; j < 16; j++) {
                to->word[i + j] = (int16_t)q[j];
                to->sum[g] += (int16_t)q[j];
            }
        }
    }
}

/* 32 bytes twice, the first time shifted right by `even`, the second by `odd`. */
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

/* Which scale each word of 64 weights has, of two groups of 32 and of four groups of 16. */
#define HALVES                                                  \
    ((words32){ 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
                1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 })
#define QUARTERS                                                \
    ((words32){ 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, \
                2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3 })

/* Weights 64 t to 64 t + 63 times their scales, the even ones and the odd ones. */
S2V_INLINE void q6_k_words(const q6_k_block *w, words32 scales, int t, words32 *even, words32 *odd)
{
    const int h = t / 2, first = t % 2 * 4;
    words32 low;
    memcpy(&low, w->low[h], sizeof low);
    const words32 high = shift_twice(w->high[h], (uint16_t)first, (uint16_t)(first + 2));
    const words32 six = (low >> first & 0x0f0f) | (high & 0x0303) << 4;
    const words32 scale = look_up(scales, QUARTERS + (uint16_t)(4 * t));
    *even = ((six & 255) - 32) * scale;
    *odd = ((six >> 8) - 32) * scale;
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

#endif /* S2_ENGINE_BLOCKS_FEW_H */
