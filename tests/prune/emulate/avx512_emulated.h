/* avx512_emulated.h - the AVX-512 instructions laplacian_avx512.c uses, one lane at a time.
 *
 * So that the file can be tested on a CPU without them. Each function follows the
 * pseudo-code of the instruction; what it does in a masked-out lane is what the CPU does:
 * it neither reads nor writes there.
 */
#ifndef TESTS_AVX512_EMULATED_H
#define TESTS_AVX512_EMULATED_H

#include <stdint.h>
#include <string.h>

typedef union emulated128 {
    int8_t i8[16];
    int32_t i32[4];
} __m128i;

typedef union emulated512 {
    int8_t i8[64];
    uint8_t u8[64];
    int16_t i16[32];
    uint16_t u16[32];
    int32_t i32[16];
    uint32_t u32[16];
} __m512i;

typedef struct emulated256f {
    float f[8];
} __m256;

typedef struct emulated512d {
    double d[8];
} __m512d;

#define _MM_HINT_T0 3
#define _mm_prefetch(address, hint) ((void)(address), (void)(hint))

#define EACH(n) for (int i = 0; i < (n); i++)

static inline __m128i _mm_setr_epi8(int a, int b, int c, int d, int e, int f, int g, int h, int j,
                                    int k, int l, int m, int n, int o, int p, int q)
{
    const int v[16] = { a, b, c, d, e, f, g, h, j, k, l, m, n, o, p, q };
    __m128i r;
    EACH(16) r.i8[i] = (int8_t)v[i];
    return r;
}

static inline __m512i _mm512_setr_epi32(int a, int b, int c, int d, int e, int f, int g, int h,
                                        int j, int k, int l, int m, int n, int o, int p, int q)
{
    const int v[16] = { a, b, c, d, e, f, g, h, j, k, l, m, n, o, p, q };
    __m512i r;
    EACH(16) r.i32[i] = v[i];
    return r;
}

static inline __m512i _mm512_broadcast_i32x4(__m128i a)
{
    __m512i r;
    EACH(16) r.i32[i] = a.i32[i % 4];
    return r;
}

static inline __m512i _mm512_set1_epi32(int a)
{
    __m512i r;
    EACH(16) r.i32[i] = a;
    return r;
}

static inline __m512i _mm512_set1_epi16(short a)
{
    __m512i r;
    EACH(32) r.i16[i] = a;
    return r;
}

static inline __m512i _mm512_setzero_si512(void) { return _mm512_set1_epi32(0); }

static inline __m512i _mm512_maskz_loadu_epi8(uint64_t mask, const void *p)
{
    const uint8_t *from = p;
    __m512i r;
    EACH(64) r.u8[i] = mask >> i & 1 ? from[i] : 0;
    return r;
}

static inline void _mm512_mask_storeu_epi8(void *p, uint64_t mask, __m512i a)
{
    uint8_t *to = p;
    EACH(64) if (mask >> i & 1) to[i] = a.u8[i];
}

static inline __m512i _mm512_permutexvar_epi32(__m512i index, __m512i a)
{
    __m512i r;
    EACH(16) r.i32[i] = a.i32[index.i32[i] & 15];
    return r;
}

static inline __m512i _mm512_shuffle_epi8(__m512i a, __m512i index)
{
    __m512i r;
    EACH(64) r.u8[i] = index.i8[i] < 0 ? 0 : a.u8[i / 16 * 16 + (index.i8[i] & 15)];
    return r;
}

static inline __m512i _mm512_madd_epi16(__m512i a, __m512i b)
{
    __m512i r;
    EACH(16) r.i32[i] = a.i16[2 * i] * b.i16[2 * i] + a.i16[2 * i + 1] * b.i16[2 * i + 1];
    return r;
}

static inline __m512i _mm512_add_epi32(__m512i a, __m512i b)
{
    EACH(16) a.u32[i] += b.u32[i];
    return a;
}

static inline __m512i _mm512_add_epi16(__m512i a, __m512i b)
{
    EACH(32) a.u16[i] = (uint16_t)(a.u16[i] + b.u16[i]);
    return a;
}

static inline __m512i _mm512_sub_epi16(__m512i a, __m512i b)
{
    EACH(32) a.u16[i] = (uint16_t)(a.u16[i] - b.u16[i]);
    return a;
}

static inline __m512i _mm512_and_si512(__m512i a, __m512i b)
{
    EACH(16) a.u32[i] &= b.u32[i];
    return a;
}

static inline __m512i _mm512_srli_epi32(__m512i a, unsigned n)
{
    EACH(16) a.u32[i] >>= n;
    return a;
}

static inline __m512i _mm512_srli_epi16(__m512i a, unsigned n)
{
    EACH(32) a.u16[i] = (uint16_t)(a.u16[i] >> n);
    return a;
}

static inline __m512i _mm512_slli_epi16(__m512i a, unsigned n)
{
    EACH(32) a.u16[i] = (uint16_t)(a.u16[i] << n);
    return a;
}

static inline int emulated_clamp(int a, int high) { return a < 0 ? 0 : a > high ? high : a; }

/* Packing works in quarters of 128 bits: the low half of each from a, the high half from b. */
static inline __m512i _mm512_packus_epi32(__m512i a, __m512i b)
{
    __m512i r;
    EACH(32)
    {
        const int from = i / 8 * 4 + i % 4;
        r.u16[i] = (uint16_t)emulated_clamp(i % 8 < 4 ? a.i32[from] : b.i32[from], 65535);
    }
    return r;
}

static inline __m512i _mm512_packus_epi16(__m512i a, __m512i b)
{
    __m512i r;
    EACH(64)
    {
        const int from = i / 16 * 8 + i % 8;
        r.u8[i] = (uint8_t)emulated_clamp(i % 16 < 8 ? a.i16[from] : b.i16[from], 255);
    }
    return r;
}

static inline int _mm512_reduce_add_epi32(__m512i a)
{
    uint32_t sum = 0;
    EACH(16) sum += a.u32[i];
    return (int)sum;
}

static inline __m256 _mm256_loadu_ps(const float *p)
{
    __m256 r;
    memcpy(r.f, p, sizeof r.f);
    return r;
}

static inline __m256 _mm256_sub_ps(__m256 a, __m256 b)
{
    EACH(8) a.f[i] -= b.f[i];
    return a;
}

static inline __m512d _mm512_cvtps_pd(__m256 a)
{
    __m512d r;
    EACH(8) r.d[i] = a.f[i];
    return r;
}

static inline __m512d _mm512_add_pd(__m512d a, __m512d b)
{
    EACH(8) a.d[i] += b.d[i];
    return a;
}

static inline __m512d _mm512_mul_pd(__m512d a, __m512d b)
{
    EACH(8) a.d[i] *= b.d[i];
    return a;
}

static inline __m512d _mm512_setzero_pd(void) { return (__m512d){ { 0 } }; }
static inline void _mm512_storeu_pd(double *p, __m512d a) { memcpy(p, a.d, sizeof a.d); }

#undef EACH

#endif /* TESTS_AVX512_EMULATED_H */
