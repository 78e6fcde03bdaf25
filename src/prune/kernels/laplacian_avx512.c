/* laplacian_avx512.c - the kernels for x86-64 with AVX-512 F, BW and VL, 64 pixels at a time.
 *
 * The arithmetic is that of laplacian_avx2.c. What changes is the end of a row: a masked
 * load reads no byte it does not need and gives zeros, and the Laplacian of zeros is zero,
 * so a short vector is like any other.
 */
#include "prune/kernels/kernels.h"

#ifdef S2P_EMULATE_AVX512
#include "emulate/avx512_emulated.h" /* the few instructions used here, in plain C, for tests */
#else
#include <immintrin.h>
#endif

#define WIDTH 64   /* pixels in a vector */
#define BURST 15   /* vectors; with the tail 16, and 16 * 2 * 1020 < 2^15 */
#define AHEAD 4096 /* bytes; as for AVX2 */

static inline __m512i load(uint64_t mask, const uint8_t *p)
{
    return _mm512_maskz_loadu_epi8(mask, p);
}

/* How many of n pixels are in the i-th sixteen. */
static inline int32_t part(int32_t n, int32_t i)
{
    const int32_t rest = n - 16 * i;
    return rest < 0 ? 0 : rest < 16 ? rest : 16;
}

/* Gray of n <= 16 pixels, one in each 32 bits. */
static inline __m512i gray16(const uint8_t *p, int32_t n)
{
    /* Twelve bytes into each quarter, then channels into pairs; -1 is a zero byte. */
    const __m512i spread = _mm512_setr_epi32(0, 1, 2, 0, 3, 4, 5, 0, 6, 7, 8, 0, 9, 10, 11, 0);
    const __m512i rg = _mm512_broadcast_i32x4(
        _mm_setr_epi8(0, -1, 1, -1, 3, -1, 4, -1, 6, -1, 7, -1, 9, -1, 10, -1));
    const __m512i bg = _mm512_broadcast_i32x4(
        _mm_setr_epi8(2, -1, 1, -1, 5, -1, 4, -1, 8, -1, 7, -1, 11, -1, 10, -1));
    const __m512i rgb = _mm512_permutexvar_epi32(spread, load((1ull << (3 * n)) - 1, p));
    const __m512i red =
        _mm512_madd_epi16(_mm512_shuffle_epi8(rgb, rg), _mm512_set1_epi32(19595 | 19235 << 16));
    const __m512i blue =
        _mm512_madd_epi16(_mm512_shuffle_epi8(rgb, bg), _mm512_set1_epi32(7471 | 19235 << 16));
    const __m512i sum = _mm512_add_epi32(_mm512_add_epi32(red, blue), _mm512_set1_epi32(32768));
    return _mm512_srli_epi32(sum, 16);
}

/* Gray of n <= 64 pixels, zeros after them. */
static inline __m512i gray64(const uint8_t *p, int32_t n)
{
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i a = gray16(p, part(n, 0)), b = gray16(p + 48, part(n, 1));
    const __m512i c = gray16(p + 96, part(n, 2)), d = gray16(p + 144, part(n, 3));
    return _mm512_permutexvar_epi32(
        order, _mm512_packus_epi16(_mm512_packus_epi32(a, b), _mm512_packus_epi32(c, d)));
}

static inline __m512i even_bytes(__m512i v) { return _mm512_and_si512(v, _mm512_set1_epi16(255)); }
static inline __m512i odd_bytes(__m512i v) { return _mm512_srli_epi16(v, 8); }

static inline __m512i add4(__m512i a, __m512i b, __m512i c, __m512i d)
{
    return _mm512_add_epi16(_mm512_add_epi16(a, b), _mm512_add_epi16(c, d));
}

typedef struct burst { /* sums in 32 x 16 bits, of squares in 16 x 32 bits */
    __m512i sum, square;
} burst;

/* Gray and Laplacian of n <= 64 columns from x on. */
static inline void step(const uint8_t *rgb, const uint8_t *up, const uint8_t *mid, uint8_t *down,
                        ptrdiff_t x, int32_t n, burst *b)
{
    const uint64_t mask = n == WIDTH ? ~0ull : (1ull << n) - 1;
    const __m512i u = load(mask, up + x), d = gray64(rgb + 3 * x, n), m = load(mask, mid + x);
    const __m512i l = load(mask, mid + x - 1), r = load(mask, mid + x + 1);
    _mm512_mask_storeu_epi8(down + x, mask, d);

    const __m512i even =
        _mm512_sub_epi16(add4(even_bytes(u), even_bytes(d), even_bytes(l), even_bytes(r)),
                         _mm512_slli_epi16(even_bytes(m), 2));
    const __m512i odd =
        _mm512_sub_epi16(add4(odd_bytes(u), odd_bytes(d), odd_bytes(l), odd_bytes(r)),
                         _mm512_slli_epi16(odd_bytes(m), 2));
    b->sum = _mm512_add_epi16(b->sum, _mm512_add_epi16(even, odd));
    b->square = _mm512_add_epi32(
        b->square, _mm512_add_epi32(_mm512_madd_epi16(even, even), _mm512_madd_epi16(odd, odd)));
}

/* All squares of a burst together stay below 2^31. */
static inline void flush(burst *b, s2p_moments *moments)
{
    moments->sum += _mm512_reduce_add_epi32(_mm512_madd_epi16(b->sum, _mm512_set1_epi16(1)));
    moments->sum_sq += _mm512_reduce_add_epi32(b->square);
    b->sum = b->square = _mm512_setzero_si512();
}

static inline void add_columns(const uint8_t *rgb, const uint8_t *up, const uint8_t *mid,
                               uint8_t *down, int32_t x0, int32_t x1, s2p_moments *moments)
{
    burst b = { _mm512_setzero_si512(), _mm512_setzero_si512() };
    int32_t n_vectors = 0;
    ptrdiff_t x = x0;
    for (; x1 - x >= WIDTH; x += WIDTH) {
        for (int32_t line = 0; line < 3 * WIDTH; line += 64)
            _mm_prefetch((const char *)(rgb + 3 * x + AHEAD + line), _MM_HINT_T0);
        step(rgb, up, mid, down, x, WIDTH, &b);
        if (++n_vectors % BURST == 0) flush(&b, moments);
    }
    if (x < x1) step(rgb, up, mid, down, x, (int32_t)(x1 - x), &b);
    flush(&b, moments);
    moments->count += x1 - x0;
}

static void laplacian_row(const uint8_t *rgb, const uint8_t *up, const uint8_t *mid, uint8_t *down,
                          const int32_t *edge, int32_t n, s2p_moments *moments)
{
    for (int32_t i = 0; i < n; i++)
        add_columns(rgb, up, mid, down, edge[i], edge[i + 1], &moments[i]);
}

/* Eight squared differences into eight partial sums. */
static inline __m512d add_squares(__m512d sum, const float *a, const float *b)
{
    const __m512d d = _mm512_cvtps_pd(_mm256_sub_ps(_mm256_loadu_ps(a), _mm256_loadu_ps(b)));
    return _mm512_add_pd(sum, _mm512_mul_pd(d, d));
}

static float distance(const float *a, const float *b, int32_t dim)
{
    __m512d low = _mm512_setzero_pd(), high = low;
    int32_t i = 0;
    for (; dim - i >= S2P_LANES; i += S2P_LANES) {
        low = add_squares(low, a + i, b + i);
        high = add_squares(high, a + i + 8, b + i + 8);
    }
    double lane[S2P_LANES];
    _mm512_storeu_pd(lane, low);
    _mm512_storeu_pd(lane + 8, high);
    return s2p_finish_distance(lane, a + i, b + i, dim - i);
}

const s2p_kernels s2p_kernels_avx512 = { "avx512", laplacian_row, distance };
