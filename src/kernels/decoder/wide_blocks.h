/* wide_blocks.h - blocks of weights in vectors of 64 bytes, for the variants on AVX-512 and AMX. */
#ifndef S2_KERNELS_WIDE_BLOCKS_H
#define S2_KERNELS_WIDE_BLOCKS_H

#include "kernels/decoder/formats.h"
#define WIDTH 16
#include "kernels/vec.h"

typedef uint8_t bytes16 __attribute__((vector_size(16)));
typedef uint8_t bytes32 __attribute__((vector_size(32)));
typedef int8_t signed16 __attribute__((vector_size(16)));
typedef uint32_t words4 __attribute__((vector_size(16)));
typedef uint16_t words32 __attribute__((vector_size(64)));

/* Intrinsics where GCC 12 converts vectors one element at a time. */
S2V_INLINE words32 widen_bytes(bytes32 v)
{
#if defined(__AVX512BW__)
    return (words32)_mm512_cvtepu8_epi16((__m256i)v);
#else
    return __builtin_convertvector(v, words32);
#endif
}

S2V_INLINE lanes float_of_bytes(bytes16 v)
{
#if defined(__AVX512BW__)
    return (lanes)_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32((__m128i)v));
#else
    return __builtin_convertvector(__builtin_convertvector(v, ints), lanes);
#endif
}

S2V_INLINE lanes float_of_signed(signed16 v)
{
#if defined(__AVX512BW__)
    return (lanes)_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32((__m128i)v));
#else
    return __builtin_convertvector(__builtin_convertvector(v, ints), lanes);
#endif
}

/* An F16 step in every lane. */
S2V_INLINE lanes step_at(const void *half)
{
    uint16_t h;
    memcpy(&h, half, sizeof h);
#if defined(__AVX512BW__)
    return (lanes)_mm512_cvtph_ps(_mm256_set1_epi16((short)h));
#else
    return all(s2v_float_of_f16(h));
#endif
}

S2V_INLINE lanes widen_signed(const int8_t *p)
{
    signed16 v;
    memcpy(&v, p, sizeof v);
    return float_of_signed(v);
}

S2V_INLINE bytes32 load_bytes(const uint8_t *p)
{
    bytes32 v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* Scales of the 8 groups, then their mins. Words of the 12 bytes: the low six bits of the first two
 * are the scales and mins of groups 0 to 3; the others have four bits in the third word and two on
 * top of the first two. */
S2V_INLINE bytes16 six_bits(const q4_k_block *w)
{
    words4 x;
    memcpy(&x, w->scales, sizeof x); /* and four bytes of nibbles that are not used */
    const words4 low = __builtin_shufflevector(x, x, 0, 2, 1, 2) >> (words4){ 0, 0, 0, 4 };
    const words4 high = __builtin_shufflevector(x, x, 0, 0, 1, 1) >> 2;
    return (bytes16)((low & (words4){ 0x3f3f3f3f, 0x0f0f0f0f, 0x3f3f3f3f, 0x0f0f0f0f }) |
                     (high & (words4){ 0, 0x30303030, 0, 0x30303030 }));
}

/* The same times their steps. */
S2V_INLINE lanes unpack_scales(const q4_k_block *w)
{
    const lanes steps = __builtin_shufflevector(step_at(&w->step), step_at(&w->min_step), 0, 1, 2,
                                                3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
    return float_of_bytes(six_bits(w)) * steps;
}

/* 16 bytes as the first 16 words; the other words are undefined. */
S2V_INLINE words32 words_of_bytes(bytes16 v)
{
#if defined(__AVX512BW__)
    return (words32)_mm512_castsi256_si512(_mm256_cvtepu8_epi16((__m128i)v));
#else
    words32 out = { 0 };
    for (int i = 0; i < 16; i++) out[i] = v[i];
    return out;
#endif
}

S2V_INLINE words32 words_of_signed(const int8_t *p)
{
#if defined(__AVX512BW__)
    __m128i v;
    memcpy(&v, p, sizeof v);
    return (words32)_mm512_castsi256_si512(_mm256_cvtepi8_epi16(v));
#else
    words32 out = { 0 };
    for (int i = 0; i < 16; i++) out[i] = (uint16_t)(int16_t)p[i];
    return out;
#endif
}

/* table[i & 31] for each i. */
S2V_INLINE words32 look_up(words32 table, words32 i)
{
#if defined(__AVX512BW__)
    return (words32)_mm512_permutexvar_epi16((__m512i)i, (__m512i)table);
#else
    words32 out;
    for (int n = 0; n < 32; n++) out[n] = table[i[n] & 31];
    return out;
#endif
}

S2V_INLINE void store_words(char *to, words32 v) { memcpy(to, &v, sizeof v); }

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

/* The index of the scale of each word of 64 weights: two groups of 32, four groups of 16. */
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

/* a b + c with one rounding in every context, so that a row's bits do not depend on other rows. */
S2V_INLINE lanes add_product(lanes a, lanes b, lanes c)
{
#if defined(__AVX512F__)
    return (lanes)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#else
    return a * b + c;
#endif
}

/* Of 16 vectors: the sums of the first eight numbers of each, and of the last eight. */
S2V_INLINE void sum_halves(ints d[16], ints *first, ints *second)
{
#define LOW_WORDS 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29
#define HIGH_WORDS 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31
#define LOW_PAIRS 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29
#define HIGH_PAIRS 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31
#define EVEN_FOURS 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27
#define ODD_FOURS 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31
    for (int i = 0; i < 16; i += 2)
        d[i] = __builtin_shufflevector(d[i], d[i + 1], LOW_WORDS) +
               __builtin_shufflevector(d[i], d[i + 1], HIGH_WORDS);
    for (int i = 0; i < 16; i += 4)
        d[i] = __builtin_shufflevector(d[i], d[i + 2], LOW_PAIRS) +
               __builtin_shufflevector(d[i], d[i + 2], HIGH_PAIRS);
    for (int i = 0; i < 16; i += 8)
        d[i] = __builtin_shufflevector(d[i], d[i + 4], EVEN_FOURS) +
               __builtin_shufflevector(d[i], d[i + 4], ODD_FOURS);
    *first = __builtin_shufflevector(d[0], d[8], EVEN_FOURS);
    *second = __builtin_shufflevector(d[0], d[8], ODD_FOURS);
}

#endif /* S2_KERNELS_WIDE_BLOCKS_H */
