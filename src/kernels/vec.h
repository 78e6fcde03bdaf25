/* vec.h - WIDTH floats at a time, in the vectors GCC and Clang have for every machine.
 *
 * The file that includes this defines WIDTH and is compiled for instructions that wide. Where it is
 * not (a test of the 16-lane text on a machine with 8), the compiler splits the vectors: same
 * operations, same results. Only what these vectors cannot express is written per machine: maxima
 * and conversions of halves.
 *
 * Products are written a * b + c and compiled with -ffp-contract=fast: one rounding where the
 * machine has fused multiply-add.
 */
#ifndef S2_KERNELS_VEC_H
#define S2_KERNELS_VEC_H

#include "kernels/halves.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#ifdef S2V_EMULATE_AVX512
#include "emulate/avx512_units.h" /* the instructions named here and below, in plain C, for tests */
#endif
#if WIDTH == 16 && (defined(__AVX512F__) || defined(S2V_EMULATE_AVX512))
#define S2V_IS_AVX512 1
#else
#define S2V_IS_AVX512 0
#endif

#define S2V_INLINE static inline __attribute__((always_inline))

typedef float lanes __attribute__((vector_size(WIDTH * 4)));
typedef int32_t ints __attribute__((vector_size(WIDTH * 4)));
typedef uint32_t bits __attribute__((vector_size(WIDTH * 4)));
typedef uint16_t halves __attribute__((vector_size(WIDTH * 2)));

S2V_INLINE lanes load(const float *p)
{
    lanes v;
    memcpy(&v, p, sizeof v);
    return v;
}

S2V_INLINE void store(float *p, lanes v) { memcpy(p, &v, sizeof v); }

S2V_INLINE ints load_ints(const void *p)
{
    ints v;
    memcpy(&v, p, sizeof v);
    return v;
}

S2V_INLINE void store_ints(void *p, ints v) { memcpy(p, &v, sizeof v); }

S2V_INLINE lanes all(float x) { return x - (lanes){ 0 }; }

/* The first n, zeros after them; reads nothing else. */
S2V_INLINE lanes load_some(const float *p, int32_t n)
{
    if (n >= WIDTH) return load(p);
#if S2V_IS_AVX512 && !defined(S2V_EMULATE_AVX512)
    return (lanes)_mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1), p);
#endif
    lanes v = { 0 };
    memcpy(&v, p, (size_t)n * sizeof *p);
    return v;
}

S2V_INLINE void store_some(float *p, lanes v, int32_t n)
{
    if (n >= WIDTH)
        store(p, v);
    else
#if S2V_IS_AVX512 && !defined(S2V_EMULATE_AVX512)
        _mm512_mask_storeu_ps(p, (__mmask16)((1u << n) - 1), (__m512)v);
#else
        memcpy(p, &v, (size_t)n * sizeof *p);
#endif
}

/* a where a > b, else b: where one is NaN, b. */
S2V_INLINE lanes larger(lanes a, lanes b)
{
#if S2V_IS_AVX512
    return (lanes)_mm512_max_ps((__m512)a, (__m512)b);
#elif WIDTH == 8 && defined(__AVX2__)
    return (lanes)_mm256_max_ps((__m256)a, (__m256)b);
#else
    const bits mask = (bits)(a > b);
    return (lanes)(((bits)a & mask) | ((bits)b & ~mask));
#endif
}

S2V_INLINE lanes smaller(lanes a, lanes b) /* a where a < b, else b */
{
#if S2V_IS_AVX512
    return (lanes)_mm512_min_ps((__m512)a, (__m512)b);
#elif WIDTH == 8 && defined(__AVX2__)
    return (lanes)_mm256_min_ps((__m256)a, (__m256)b);
#else
    const bits mask = (bits)(a < b);
    return (lanes)(((bits)a & mask) | ((bits)b & ~mask));
#endif
}

S2V_INLINE lanes load_bf16(const uint16_t *p)
{
    halves h;
    memcpy(&h, p, sizeof h);
    return (lanes)(__builtin_convertvector(h, bits) << 16);
}

S2V_INLINE lanes load_f16(const uint16_t *p)
{
#if S2V_IS_AVX512
    return (lanes)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)p));
#elif WIDTH == 8 && defined(__F16C__)
    return (lanes)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)p));
#elif WIDTH == 4 && defined(__aarch64__)
    float16x4_t h;
    memcpy(&h, p, sizeof h);
    return (lanes)vcvt_f32_f16(h);
#else
    lanes v;
    for (int i = 0; i < WIDTH; i++) v[i] = s2v_float_of_f16(p[i]);
    return v;
#endif
}

/* Rows i and i + s exchange every other s lanes: the lanes of the first that have bit s set for those
 * of the second that have not. */
/* clang-format off */
#define S2V_LOW(i, s) (((i) & (s)) == 0 ? (i) : WIDTH + (i) - (s))
#define S2V_HIGH(i, s) (((i) & (s)) == 0 ? (i) + (s) : WIDTH + (i))
#define S2V_OTHER(i, s) ((i) ^ (s))
#define S2V_LANES_4(f, i, s) f(i, s), f(i + 1, s), f(i + 2, s), f(i + 3, s)
#if WIDTH == 16
#define S2V_LANES(f, s) \
    S2V_LANES_4(f, 0, s), S2V_LANES_4(f, 4, s), S2V_LANES_4(f, 8, s), S2V_LANES_4(f, 12, s)
#elif WIDTH == 8
#define S2V_LANES(f, s) S2V_LANES_4(f, 0, s), S2V_LANES_4(f, 4, s)
#else
#define S2V_LANES(f, s) S2V_LANES_4(f, 0, s)
#endif
/* clang-format on */
#define S2V_EXCHANGE(v, s) S2V_EXCHANGE_OF(WIDTH, v, s)
#define S2V_EXCHANGE_OF(n, v, s)                                                  \
    for (int i = 0; i < (n); i++)                                                 \
        if ((i & (s)) == 0) {                                                     \
            const lanes a = (v)[i], b = (v)[i + (s)];                             \
            (v)[i] = __builtin_shufflevector(a, b, S2V_LANES(S2V_LOW, s));        \
            (v)[i + (s)] = __builtin_shufflevector(a, b, S2V_LANES(S2V_HIGH, s)); \
        }

/* Transposes a square. */
S2V_INLINE void transpose_square(lanes v[WIDTH])
{
    S2V_EXCHANGE(v, 1)
    S2V_EXCHANGE(v, 2)
#if WIDTH >= 8
    S2V_EXCHANGE(v, 4)
#endif
#if WIDTH >= 16
    S2V_EXCHANGE(v, 8)
#endif
}

/* Transposes squares of at most 8 lanes: with 16 lanes two of them, side by side in the first 8 vectors. */
S2V_INLINE void transpose_words(lanes v[WIDTH])
{
#if WIDTH >= 16
    S2V_EXCHANGE_OF(8, v, 1)
    S2V_EXCHANGE_OF(8, v, 2)
    S2V_EXCHANGE_OF(8, v, 4)
#else
    transpose_square(v);
#endif
}

/* Across a vector by halves: the lanes from s on meet those before them. */
#define S2V_ACROSS(v, s) __builtin_shufflevector(v, v, S2V_LANES(S2V_OTHER, s))

S2V_INLINE float sum_of(lanes v)
{
#if WIDTH >= 16
    v += S2V_ACROSS(v, 8);
#endif
#if WIDTH >= 8
    v += S2V_ACROSS(v, 4);
#endif
    v += S2V_ACROSS(v, 2);
    return v[0] + v[1];
}

S2V_INLINE float largest_of(lanes v)
{
#if WIDTH >= 16
    v = larger(v, S2V_ACROSS(v, 8));
#endif
#if WIDTH >= 8
    v = larger(v, S2V_ACROSS(v, 4));
#endif
    v = larger(v, S2V_ACROSS(v, 2));
    return v[0] > v[1] ? v[0] : v[1];
}

/* Of whole numbers; the sum wraps. */
S2V_INLINE uint32_t whole_sum_of(bits v)
{
#if WIDTH >= 16
    v += S2V_ACROSS(v, 8);
#endif
#if WIDTH >= 8
    v += S2V_ACROSS(v, 4);
#endif
    v += S2V_ACROSS(v, 2);
    return v[0] + v[1];
}

S2V_INLINE bits larger_bits(bits a, bits b) /* of numbers below 2^31 */
{
#if S2V_IS_AVX512 && !defined(S2V_EMULATE_AVX512)
    return (bits)_mm512_max_epi32((__m512i)a, (__m512i)b);
#else
    const bits mask = (bits)((ints)a > (ints)b);
    return (a & mask) | (b & ~mask);
#endif
}

S2V_INLINE uint32_t largest_bits_of(bits v)
{
#if WIDTH >= 16
    v = larger_bits(v, S2V_ACROSS(v, 8));
#endif
#if WIDTH >= 8
    v = larger_bits(v, S2V_ACROSS(v, 4));
#endif
    v = larger_bits(v, S2V_ACROSS(v, 2));
    return v[0] > v[1] ? v[0] : v[1];
}

/* 2^x. Adding 1.5 * 2^23 rounds x to a whole number and leaves it in the low bits, from where it
 * goes to the exponent of a factor; for the rest, at most a half, seven terms of the series are as
 * good as a float gets. The factor of 128 is infinity and that of -127 zero, so that what lies
 * beyond overflows and vanishes; below 2^-126 there are no denormals. NaN stays. */
S2V_INLINE lanes power_of_two(lanes x)
{
    const lanes magic = all(12582912.0f);
    x = smaller(all(128.0f), larger(all(-127.0f), x)); /* this order keeps a NaN */
    const lanes whole = x + magic, f = x - (whole - magic);
    lanes p = all(1.5403530e-4f) * f + all(1.3333558e-3f);
    p = p * f + all(9.6181291e-3f);
    p = p * f + all(5.5504109e-2f);
    p = p * f + all(2.4022651e-1f);
    p = p * f + all(6.9314718e-1f);
    p = p * f + all(1.0f);
    return p * (lanes)(((bits)whole + 127u) << 23);
}

/* z / (1 + exp(-t)) */
S2V_INLINE lanes times_sigmoid(lanes z, lanes t)
{
    return z / (all(1.0f) + power_of_two(t * all(-1.44269504f)));
}

/* z (1 + erf(z / sqrt 2)) / 2. With x = |z| / sqrt 2 and t = 1 / (1 + x / 2), log2 of erfc(x) / t is
 * -x^2 log2(e) and a smooth function of t, here a polynomial fitted to 5e-8 where erfc is more than the
 * smallest float. The result is within 3 u |z| of the true one. */
S2V_INLINE lanes gelu_erf(lanes z)
{
    const bits below = (bits)(z < 0.0f);
    const lanes x = (lanes)((bits)z & 0x7fffffffu);
    const lanes t = all(1.0f) / (all(1.0f) + x * all(0.35355339f));
    lanes p = all(2.05146730e-1f) * t + all(-9.60946485e-1f);
    p = p * t + all(1.61933045f);
    p = p * t + all(-9.39616439e-1f);
    p = p * t + all(-1.68436912e-1f);
    p = p * t + all(2.91095731e-2f);
    p = p * t + all(4.09196513e-2f);
    p = p * t + all(5.59619186e-1f);
    p = p * t + all(1.44052041f);
    p = p * t + all(-2.82564610f); /* with the half */
    const lanes tail = t * power_of_two(p - x * x * all(7.21347520e-1f));
    const lanes above = all(1.0f) - tail;
    return z * (lanes)(((bits)tail & below) | ((bits)above & ~below));
}

#endif /* S2_KERNELS_VEC_H */
