/* laplacian_avx2.c - the kernels for x86-64 with AVX2, 32 pixels at a time.
 *
 * Gray: 38470 = 2 * 19235, so a multiply-add of the pairs (R, G) and (B, G) with
 * (19595, 19235) and (7471, 19235) stays in signed 16-bit weights and is exact.
 * Laplacian: even and odd columns in two vectors of 16 bits, so that one multiply-add
 * of a neighbor and the middle does two of the five terms. Sums stay narrow for a
 * burst of vectors and widen after it.
 * The vectors follow the row, not the regions: where a boundary falls into one, its
 * columns are masked and shared out. A row that is no multiple of 32 ends with a vector
 * that overlaps the one before; a row shorter than one goes to the plain C.
 */
#include "prune/kernels/kernels.h"

#include <immintrin.h>

#define WIDTH 32 /* pixels in a vector */
#define BURST 14 /* vectors; with a part of one at each end 16, and 16 * 2 * 1020 < 2^15 */
#define AHEAD \
    4096 /* bytes; the picture comes from memory, where a page ends the CPU's own guess \
          */

static inline int32_t smaller(int32_t a, int32_t b) { return a < b ? a : b; }
static inline __m256i load(const void *p) { return _mm256_loadu_si256(p); }

/* Four pixels per half, 48 bytes apart. */
static inline __m256i load_halves(const uint8_t *p)
{
    const __m128i low = _mm_loadu_si128((const void *)p);
    return _mm256_inserti128_si256(_mm256_castsi128_si256(low),
                                   _mm_loadu_si128((const void *)(p + 48)), 1);
}

/* Gray in the upper 16 bits of each 32; `rg` and `bg` pull the channels apart into pairs. */
static inline __m256i gray8(__m256i rgb, __m128i rg, __m128i bg)
{
    const __m256i weight_rg = _mm256_set1_epi32(19595 | 19235 << 16);
    const __m256i weight_bg = _mm256_set1_epi32(7471 | 19235 << 16);
    const __m256i red =
        _mm256_madd_epi16(_mm256_shuffle_epi8(rgb, _mm256_broadcastsi128_si256(rg)), weight_rg);
    const __m256i blue =
        _mm256_madd_epi16(_mm256_shuffle_epi8(rgb, _mm256_broadcastsi128_si256(bg)), weight_bg);
    return _mm256_add_epi32(_mm256_add_epi32(red, blue), _mm256_set1_epi32(32768));
}

/* Upper halves of a and b, side by side: a0 b0 a1 b1 ... */
static inline __m256i interleave(__m256i a, __m256i b)
{
    return _mm256_blend_epi16(_mm256_srli_epi32(a, 16), b, 0xAA);
}

/* Bytes p[0 .. 96) and no other. */
static inline __m256i gray32(const uint8_t *p)
{
    /* Pixels in bytes 0..11 or, so as not to read past the last one, 4..15; -1 is a zero byte. */
    const __m128i rg = _mm_setr_epi8(0, -1, 1, -1, 3, -1, 4, -1, 6, -1, 7, -1, 9, -1, 10, -1);
    const __m128i bg = _mm_setr_epi8(2, -1, 1, -1, 5, -1, 4, -1, 8, -1, 7, -1, 11, -1, 10, -1);
    const __m128i rg4 = _mm_setr_epi8(4, -1, 5, -1, 7, -1, 8, -1, 10, -1, 11, -1, 13, -1, 14, -1);
    const __m128i bg4 = _mm_setr_epi8(6, -1, 5, -1, 9, -1, 8, -1, 12, -1, 11, -1, 15, -1, 14, -1);
    const __m128i order = _mm_setr_epi8(0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15);
    const __m256i a = gray8(load_halves(p), rg, bg), b = gray8(load_halves(p + 12), rg, bg);
    const __m256i c = gray8(load_halves(p + 24), rg, bg), d = gray8(load_halves(p + 32), rg4, bg4);
    return _mm256_shuffle_epi8(_mm256_packus_epi16(interleave(a, b), interleave(c, d)),
                               _mm256_broadcastsi128_si256(order));
}

static inline __m256i even_bytes(__m256i v) { return _mm256_and_si256(v, _mm256_set1_epi16(255)); }
static inline __m256i odd_bytes(__m256i v) { return _mm256_srli_epi16(v, 8); }

typedef struct columns { /* the Laplacian of 32 columns, 16 bits each */
    __m256i even, odd;
} columns;

/* Bytes x - 1 and x of `mid` make left - 4 mid of the even column x, bytes x + 1 and x + 2 make
 * right - 4 mid of the odd column x + 1. */
static inline columns laplacian32(const uint8_t *up, const uint8_t *mid, __m256i down)
{
    const __m256i u = load(up), right = load(mid + 1);
    const __m256i left_mid = _mm256_maddubs_epi16(load(mid - 1), _mm256_set1_epi16(1 - 4 * 256));
    const __m256i mid_right = _mm256_maddubs_epi16(right, _mm256_set1_epi16(252 + 256));
    const __m256i even = _mm256_add_epi16(even_bytes(u), even_bytes(down));
    const __m256i odd = _mm256_add_epi16(odd_bytes(u), odd_bytes(down));
    return (columns){ _mm256_add_epi16(_mm256_add_epi16(left_mid, even_bytes(right)), even),
                      _mm256_add_epi16(_mm256_add_epi16(mid_right, even_bytes(load(mid))), odd) };
}

/* Gray and Laplacian of the columns [x, x + 32). */
static inline columns step(const uint8_t *rgb, const uint8_t *up, const uint8_t *mid, uint8_t *down,
                           ptrdiff_t x)
{
    const __m256i gray = gray32(rgb + 3 * x);
    _mm256_storeu_si256((void *)(down + x), gray);
    return laplacian32(up + x, mid + x, gray);
}

/* 255 in the columns from `from` on, 0 <= from <= 32. */
static inline __m256i columns_from(int32_t from)
{
    static const uint8_t keep[2 * WIDTH] = {
        0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,
        0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,
        255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
        255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
    };
    return load(keep + WIDTH - from);
}

/* Zero outside the columns [from, to). */
static inline columns between(columns l, int32_t from, int32_t to)
{
    const __m256i mask = _mm256_andnot_si256(columns_from(to), columns_from(from));
    return (columns){ _mm256_and_si256(l.even, _mm256_srai_epi16(_mm256_slli_epi16(mask, 8), 8)),
                      _mm256_and_si256(l.odd, _mm256_srai_epi16(mask, 8)) };
}

typedef struct burst { /* sums in 16 x 16 bits, of squares in 8 x 32 bits */
    __m256i sum, square;
} burst;

static inline void add(burst *b, columns l)
{
    const __m256i even = _mm256_madd_epi16(l.even, l.even), odd = _mm256_madd_epi16(l.odd, l.odd);
    b->sum = _mm256_add_epi16(b->sum, _mm256_add_epi16(l.even, l.odd));
    b->square = _mm256_add_epi32(b->square, _mm256_add_epi32(even, odd));
}

_Static_assert(offsetof(s2p_moments, sum_sq) == offsetof(s2p_moments, sum) + 8, "one load");

/* All squares of a burst together stay below 2^31. */
static inline void flush(burst *b, s2p_moments *moments)
{
    const __m256i sum = _mm256_madd_epi16(b->sum, _mm256_set1_epi16(1));
    const __m256i pairs = _mm256_hadd_epi32(sum, b->square);
    const __m128i four =
        _mm_add_epi32(_mm256_castsi256_si128(pairs), _mm256_extracti128_si256(pairs, 1));
    const __m128i two = _mm_add_epi32(four, _mm_srli_epi64(four, 32)); /* in lanes 0 and 2 */
    __m128i *const total = (void *)((uint8_t *)moments + offsetof(s2p_moments, sum));
    const __m128i wide = _mm_cvtepi32_epi64(_mm_shuffle_epi32(two, 0x08));
    _mm_storeu_si128(total, _mm_add_epi64(_mm_loadu_si128(total), wide));
    b->sum = b->square = _mm256_setzero_si256();
}

static void laplacian_row(const uint8_t *rgb, const uint8_t *up, const uint8_t *mid, uint8_t *down,
                          const int32_t *edge, int32_t n, s2p_moments *moments)
{
    const int32_t width = edge[n];
    if (width < WIDTH) {
        s2p_kernels_scalar.laplacian_row(rgb, up, mid, down, edge, n, moments);
        return;
    }
    burst b = { _mm256_setzero_si256(), _mm256_setzero_si256() };
    columns l = { b.sum, b.sum };
    int32_t at = 0, x = 0; /* l is columns [at, at + 32), x is the first not computed */
    for (int32_t i = 0; i < n; i++) {
        const int32_t end = edge[i + 1];
        if (edge[i] < x) add(&b, between(l, edge[i] - at, smaller(end, x) - at));
        while (end - x >= WIDTH) {
            const int32_t stop = x + smaller((end - x) / WIDTH, BURST) * WIDTH;
            for (; x < stop; x += WIDTH) {
                _mm_prefetch((const char *)(rgb + 3 * (ptrdiff_t)x + AHEAD), _MM_HINT_T0);
                _mm_prefetch((const char *)(rgb + 3 * (ptrdiff_t)x + AHEAD + 64), _MM_HINT_T0);
                add(&b, step(rgb, up, mid, down, x));
            }
            if (end - x >= WIDTH) flush(&b, &moments[i]);
        }
        if (x < end) {
            at = smaller(x, width - WIDTH);
            l = step(rgb, up, mid, down, at);
            add(&b, between(l, x - at, end - at));
            x = at + WIDTH;
        }
        flush(&b, &moments[i]);
        moments[i].count += end - edge[i];
    }
}

/* Four squared differences into four partial sums. */
static inline __m256d add_squares(__m256d sum, __m128 difference)
{
    const __m256d d = _mm256_cvtps_pd(difference);
    return _mm256_add_pd(sum, _mm256_mul_pd(d, d));
}

static float distance(const float *a, const float *b, int32_t dim)
{
    __m256d s0 = _mm256_setzero_pd(), s1 = s0, s2 = s0, s3 = s0;
    int32_t i = 0;
    for (; dim - i >= S2P_LANES; i += S2P_LANES) {
        const __m256 low = _mm256_sub_ps(_mm256_loadu_ps(a + i), _mm256_loadu_ps(b + i));
        const __m256 high = _mm256_sub_ps(_mm256_loadu_ps(a + i + 8), _mm256_loadu_ps(b + i + 8));
        s0 = add_squares(s0, _mm256_castps256_ps128(low));
        s1 = add_squares(s1, _mm256_extractf128_ps(low, 1));
        s2 = add_squares(s2, _mm256_castps256_ps128(high));
        s3 = add_squares(s3, _mm256_extractf128_ps(high, 1));
    }
    double lane[S2P_LANES];
    _mm256_storeu_pd(lane, s0);
    _mm256_storeu_pd(lane + 4, s1);
    _mm256_storeu_pd(lane + 8, s2);
    _mm256_storeu_pd(lane + 12, s3);
    return s2p_finish_distance(lane, a + i, b + i, dim - i);
}

const s2p_kernels s2p_kernels_avx2 = { "avx2", laplacian_row, distance };
