/* block_types.h - the quantised blocks of the GGUF format, and vectors to read them with. */
#ifndef S2_ENGINE_BLOCK_TYPES_H
#define S2_ENGINE_BLOCK_TYPES_H

#define WIDTH 16
#include "kernels/vec.h"

typedef uint8_t bytes16 __attribute__((vector_size(16)));
typedef uint8_t bytes32 __attribute__((vector_size(32)));
typedef int8_t signed16 __attribute__((vector_size(16)));
typedef uint32_t words4 __attribute__((vector_size(16)));
typedef uint16_t words32 __attribute__((vector_size(64)));

typedef struct q4_k_block { /* 8 groups of 32 weights: step * scale * nibble - min_step * min */
    uint16_t step, min_step;
    uint8_t scales[12];     /* scales and mins, 6 bits each */
    uint8_t nibbles[4][32]; /* low ones: an even group; high ones: the odd group after it */
} q4_k_block;

typedef struct q6_k_block { /* 16 groups of 16 weights: step * scale * (6 bits - 32) */
    uint8_t low[2][2][32], high[2][32];
    int8_t scale[16];
    uint16_t step;
} q6_k_block;

_Static_assert(sizeof(q4_k_block) == 144 && sizeof(q6_k_block) == 210, "as the format says");

/* What GCC 12 does one element at a time when it is said with its vectors. */
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

/* A step of F16 in every lane. */
S2V_INLINE lanes step_at(const uint16_t *half)
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
    memcpy(&x, w->scales, sizeof x); /* and four bytes of nibbles nobody looks at */
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

/* 16 bytes as the first 16 words; the others are anything. */
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

#endif /* S2_ENGINE_BLOCK_TYPES_H */
