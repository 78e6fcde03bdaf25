/* avx512_units.h - the AVX-512 and AVX-VNNI instructions the tower's kernels name, one lane at a time.
 *
 * The vectors themselves are the compiler's, which splits them on a CPU without AVX-512. Each
 * function follows the pseudo-code of its instruction.
 */
#ifndef TESTS_AVX512_UNITS_H
#define TESTS_AVX512_UNITS_H

#include "kernels/halves.h"

/* The second operand where they are equal or one is NaN. */
static inline __m512 emulated_max(__m512 a, __m512 b)
{
    for (int i = 0; i < 16; i++) b[i] = a[i] > b[i] ? a[i] : b[i];
    return b;
}

static inline __m512 emulated_min(__m512 a, __m512 b)
{
    for (int i = 0; i < 16; i++) b[i] = a[i] < b[i] ? a[i] : b[i];
    return b;
}

static inline __m512 emulated_cvtph(__m256i h)
{
    uint16_t half[16];
    __m512 r;
    memcpy(half, &h, sizeof half);
    for (int i = 0; i < 16; i++) r[i] = s2v_float_of_f16(half[i]);
    return r;
}

static inline __m256i emulated_load256(const void *p) /* at any address */
{
    __m256i v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* A BF16 as the units take it: denormals are zeros. */
static inline float emulated_bf16(uint16_t h)
{
    return (h & 0x7f80) == 0 ? 0.0f : s2v_float_of_bf16(h);
}

static inline __m512 emulated_dpbf16(__m512 sum, __m512bh a, __m512bh b)
{
    uint16_t x[32], y[32];
    memcpy(x, &a, sizeof x);
    memcpy(y, &b, sizeof y);
    for (int i = 0; i < 16; i++) {
        sum[i] += emulated_bf16(x[2 * i + 1]) * emulated_bf16(y[2 * i + 1]);
        sum[i] += emulated_bf16(x[2 * i]) * emulated_bf16(y[2 * i]);
    }
    return sum;
}

/* n bytes: u8 times s8, four to a sum; wraps as the instruction does. */
static inline void emulated_dpbusd(void *sum, const void *a, const void *b, int n)
{
    uint8_t x[64];
    int8_t y[64];
    uint32_t s[16];
    memcpy(x, a, (size_t)n);
    memcpy(y, b, (size_t)n);
    memcpy(s, sum, (size_t)n);
    for (int i = 0; i < n; i++) s[i / 4] += (uint32_t)(x[i] * y[i]);
    memcpy(sum, s, (size_t)n);
}

static inline __m512i emulated_dpbusd_512(__m512i sum, __m512i a, __m512i b)
{
    emulated_dpbusd(&sum, &a, &b, 64);
    return sum;
}

static inline __m256i emulated_dpbusd_256(__m256i sum, __m256i a, __m256i b)
{
    emulated_dpbusd(&sum, &a, &b, 32);
    return sum;
}

/* s16 times s16, two to a sum. */
static inline __m512i emulated_dpwssd(__m512i sum, __m512i a, __m512i b)
{
    int16_t x[32], y[32];
    uint32_t s[16];
    memcpy(x, &a, sizeof x);
    memcpy(y, &b, sizeof y);
    memcpy(s, &sum, sizeof s);
    for (int i = 0; i < 32; i++) s[i / 2] += (uint32_t)(x[i] * y[i]);
    memcpy(&sum, s, sizeof s);
    return sum;
}

#define _mm512_max_ps emulated_max
#define _mm512_min_ps emulated_min
#undef _mm512_cvtph_ps
#define _mm512_cvtph_ps emulated_cvtph
#define _mm256_loadu_si256 emulated_load256
#define _mm512_dpbf16_ps emulated_dpbf16
#define _mm512_dpbusd_epi32 emulated_dpbusd_512
#define _mm512_dpwssd_epi32 emulated_dpwssd
#define _mm256_dpbusd_avx_epi32 emulated_dpbusd_256

#endif /* TESTS_AVX512_UNITS_H */
