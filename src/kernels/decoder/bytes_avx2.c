/* bytes_avx2.c - a weight is unpacked once and multiplied with the bytes of many rows, by AVX2.
 *
 * As many rows go together as stay in the second-level cache, at most MOST_ROWS; what is unpacked of the
 * weights never leaves the registers. A row's numbers are the same whatever rows go with it.
 *
 * Q4_K has 256 weights in 8 groups of 32: (scale * nibble - min). Products of nibbles and bytes are added
 * in 16 bits (4 of at most 15 * 127 * 2), then times the group's scale in 32 bits; the mins go with the
 * sums of the row's bytes, which are computed once. Q6_K has 16 groups of 16 with a signed scale and weights
 * from -32 to 31: they are multiplied as 0 to 63 (2 of at most 63 * 127 * 2 are added in 16 bits), and
 * 32 times the row's sums is taken off. Both compute eight outputs at a time: ggml has interleaved those
 * of Q4_K; those of Q6_K are transposed here, which costs less than a scale for every 16 products of one
 * output. The bytes of rows are those ggml's own kernels multiply.
 */
#include "kernels/decoder/products.h"
#include "kernels/decoder/row_bytes.h"

#include <immintrin.h>
#include <string.h>

#define MOST_ROWS 64
#define ROWS_BYTES (256 << 10) /* half of a small second-level cache */

/* --- rows as bytes ---------------------------------------------------------------------------- */

static size_t rows_bytes(int32_t k, int32_t m)
{
    return (size_t)(k / S2K_BLOCK) * (size_t)m * sizeof(row_block);
}

static void pack_row(const float *x, int32_t k, row_block *out)
{
    for (; k >= S2K_BLOCK; k -= S2K_BLOCK, x += S2K_BLOCK, out++) {
        float most = 0.0f, largest = 0.0f; /* the largest has the sign of its value */
        for (int i = 0; i < S2K_BLOCK; i++) {
            const float size = x[i] < 0.0f ? -x[i] : x[i];
            if (size > most) {
                most = size;
                largest = x[i];
            }
        }
        memset(out, 0, sizeof *out);
        if (most == 0.0f) continue;
        const float scale = -127.0f / largest;
        out->step = 1.0f / scale;
        const __m256 wide = _mm256_set1_ps(scale);
        for (int i = 0; i < S2K_BLOCK; i += 16) {
            const __m256i a = _mm256_cvtps_epi32(_mm256_mul_ps(wide, _mm256_loadu_ps(x + i)));
            const __m256i b = _mm256_cvtps_epi32(_mm256_mul_ps(wide, _mm256_loadu_ps(x + i + 8)));
            const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(a, b), 0xD8);
            const __m128i bytes =
                _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
            _mm_storeu_si128((__m128i *)(void *)(out->byte + i), bytes);
            int sum = 0;
            for (int j = 0; j < 16; j++) sum += out->byte[i + j];
            out->sum[i / 16] = (int16_t)sum;
        }
    }
}

static void pack_rows(const float *x, ptrdiff_t pitch, int32_t k, int32_t m, int32_t first,
                      int32_t last, void *out)
{
    (void)m;
    for (int32_t r = first; r < last; r++)
        pack_row(x + r * pitch, k, (row_block *)out + (ptrdiff_t)r * (k / S2K_BLOCK));
}

/* --- eight outputs ---------------------------------------------------------------------------- */

typedef struct eight_sums { /* of one row in one block: outputs 0 to 3 and 4 to 7, two lanes each */
    __m256i low, high;
} eight_sums;

static __m256i both(__m128i low, __m128i high)
{
    return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}

static __m256 widen(const uint16_t half[8])
{
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)half));
}

/* Eight words, each four times: those of outputs 0 to 3, then of 4 to 7. */
static void spread(__m128i words, __m256i *low, __m256i *high)
{
    const __m256i first_four = _mm256_setr_epi8(0, 1, 0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3, 2, 3, 4,
                                                5, 4, 5, 4, 5, 4, 5, 6, 7, 6, 7, 6, 7, 6, 7);
    const __m256i twice = both(words, words);
    *low = _mm256_shuffle_epi8(twice, first_four);
    *high = _mm256_shuffle_epi8(twice, _mm256_add_epi8(first_four, _mm256_set1_epi8(8)));
}

static __m256i eight_bytes(const int8_t *byte)
{
    int64_t eight;
    memcpy(&eight, byte, sizeof eight);
    return _mm256_set1_epi64x(eight);
}

static void clear(eight_sums *sums, int32_t n_rows)
{
    for (int32_t r = 0; r < n_rows; r++)
        sums[r] = (eight_sums){ _mm256_setzero_si256(), _mm256_setzero_si256() };
}

static __m256i in_order(const eight_sums *sums)
{
    const __m256i order = _mm256_setr_epi32(0, 1, 4, 5, 2, 3, 6, 7);
    return _mm256_permutevar8x32_epi32(_mm256_hadd_epi32(sums->low, sums->high), order);
}

/* --- Q4_K, eight outputs interleaved ---------------------------------------------------------- */

/* Scales (out[0..8)) and mins (out[8..16)) of a group. */
static __m128i unpack_scales(const uint8_t packed[12])
{
    uint32_t w[3];
    memcpy(w, packed, sizeof w);
    const uint32_t low = 0x3F3F3F3F, four = 0x0F0F0F0F, two = 0x03030303;
    return _mm_set_epi32((int)(((w[2] >> 4) & four) | ((w[1] >> 6) & two) << 4), (int)(w[1] & low),
                         (int)((w[2] & four) | ((w[0] >> 6) & two) << 4), (int)(w[0] & low));
}

/* Group g (0 to 7) times every row. */
static void add_group(const q4_k_by_8_block *w, int g, __m256i scale_low, __m256i scale_high,
                      const row_block *rows, ptrdiff_t row_pitch, int32_t n_rows, eight_sums *sums)
{
    const __m256i mask = _mm256_set1_epi8(15);
    const uint8_t *nibbles = w->nibbles[g / 2 * 4][0];
    __m256i q[8]; /* 8 weights of 4 outputs each */
    for (int c = 0; c < 8; c++) {
        q[c] = _mm256_loadu_si256((const __m256i *)(const void *)(nibbles + 32 * c));
        if (g % 2) q[c] = _mm256_srli_epi16(q[c], 4);
        q[c] = _mm256_and_si256(q[c], mask);
    }
    for (int32_t r = 0; r < n_rows; r++) {
        const int8_t *byte = rows[r * row_pitch].byte + 32 * g;
        __m256i low = _mm256_setzero_si256(), high = low;
        for (int c = 0; c < 4; c++) {
            const __m256i y = eight_bytes(byte + 8 * c);
            low = _mm256_add_epi16(low, _mm256_maddubs_epi16(q[2 * c], y));
            high = _mm256_add_epi16(high, _mm256_maddubs_epi16(q[2 * c + 1], y));
        }
        sums[r].low = _mm256_add_epi32(sums[r].low, _mm256_madd_epi16(low, scale_low));
        sums[r].high = _mm256_add_epi32(sums[r].high, _mm256_madd_epi16(high, scale_high));
    }
}

/* One block of 8 outputs times one block of every row. */
static void add_block(const q4_k_by_8_block *w, const row_block *rows, ptrdiff_t row_pitch,
                      int32_t n_rows, __m256 *out)
{
    const __m256 step = widen(w->step), min_step = widen(w->min_step);
    __m256i min_pair[4]; /* mins of two groups, side by side for each output */
    __m128i before = _mm_setzero_si128();
    eight_sums sums[MOST_ROWS];
    clear(sums, n_rows);
    for (int g = 0; g < 8; g++) {
        const __m128i packed = unpack_scales(w->scales[g]);
        const __m128i scale = _mm_cvtepu8_epi16(packed);
        const __m128i min = _mm_cvtepu8_epi16(_mm_srli_si128(packed, 8));
        if (g % 2)
            min_pair[g / 2] =
                both(_mm_unpacklo_epi16(before, min), _mm_unpackhi_epi16(before, min));
        before = min;
        __m256i scale_low, scale_high;
        spread(scale, &scale_low, &scale_high);
        add_group(w, g, scale_low, scale_high, rows, row_pitch, n_rows, sums);
    }
    for (int32_t r = 0; r < n_rows; r++) {
        const row_block *row = &rows[r * row_pitch];
        const __m128i *sum = (const __m128i *)(const void *)row->sum;
        const __m128i of_groups = _mm_hadd_epi16(_mm_loadu_si128(sum), _mm_loadu_si128(sum + 1));
        int32_t pair[4];
        _mm_storeu_si128((__m128i *)(void *)pair, of_groups);
        __m256i mins = _mm256_setzero_si256();
        for (int i = 0; i < 4; i++)
            mins =
                _mm256_add_epi32(mins, _mm256_madd_epi16(min_pair[i], _mm256_set1_epi32(pair[i])));
        const __m256 row_step = _mm256_set1_ps(row->step);
        out[r] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(in_order(&sums[r])),
                                 _mm256_mul_ps(step, row_step), out[r]);
        out[r] =
            _mm256_fnmadd_ps(_mm256_cvtepi32_ps(mins), _mm256_mul_ps(min_step, row_step), out[r]);
    }
}

static void multiply_q4(const void *weights, int32_t k, int32_t first, int32_t last,
                        const row_block *rows, int32_t n_rows, float *out, ptrdiff_t pitch)
{
    const ptrdiff_t n_blocks = k / S2K_BLOCK;
    for (int32_t at = first; at + 8 <= last; at += 8) {
        const q4_k_by_8_block *w = (const q4_k_by_8_block *)weights + at / 8 * n_blocks;
        __m256 sum[MOST_ROWS];
        for (int32_t r = 0; r < n_rows; r++) sum[r] = _mm256_setzero_ps();
        for (ptrdiff_t b = 0; b < n_blocks; b++) add_block(&w[b], rows + b, n_blocks, n_rows, sum);
        for (int32_t r = 0; r < n_rows; r++) _mm256_storeu_ps(out + r * pitch + at, sum[r]);
    }
}

/* --- Q6_K ------------------------------------------------------------------------------------- */

/* 128 weights as 0 to 63, in order. */
static void unpack_half(const q6_k_block *w, int half, __m256i q[4])
{
    const __m256i four = _mm256_set1_epi8(15), two = _mm256_set1_epi8(0x30);
    const __m256i *low = (const __m256i *)(const void *)w->low[half];
    const __m256i a = _mm256_loadu_si256(low), b = _mm256_loadu_si256(low + 1);
    const __m256i h = _mm256_loadu_si256((const __m256i *)(const void *)w->high[half]);
    const __m256i h0 = _mm256_and_si256(_mm256_slli_epi16(h, 4), two);
    const __m256i h1 = _mm256_and_si256(_mm256_slli_epi16(h, 2), two);
    const __m256i h2 = _mm256_and_si256(h, two);
    const __m256i h3 = _mm256_and_si256(_mm256_srli_epi16(h, 2), two);
    q[0] = _mm256_or_si256(_mm256_and_si256(a, four), h0);
    q[1] = _mm256_or_si256(_mm256_and_si256(b, four), h1);
    q[2] = _mm256_or_si256(_mm256_and_si256(_mm256_srli_epi16(a, 4), four), h2);
    q[3] = _mm256_or_si256(_mm256_and_si256(_mm256_srli_epi16(b, 4), four), h3);
}

/* 32 weights of four outputs become 8 of each, four times. */
static void transpose_weights(const __m256i from[4], __m256i to[4])
{
    const __m256i a = _mm256_unpacklo_epi64(from[0], from[1]);
    const __m256i b = _mm256_unpackhi_epi64(from[0], from[1]);
    const __m256i c = _mm256_unpacklo_epi64(from[2], from[3]);
    const __m256i d = _mm256_unpackhi_epi64(from[2], from[3]);
    to[0] = _mm256_permute2x128_si256(a, c, 0x20);
    to[1] = _mm256_permute2x128_si256(b, d, 0x20);
    to[2] = _mm256_permute2x128_si256(a, c, 0x31);
    to[3] = _mm256_permute2x128_si256(b, d, 0x31);
}

/* The scales of eight outputs by groups: out[i] has eight of group 2 i, then of 2 i + 1. */
static void transpose_scales(const q6_k_block *const w[8], __m128i out[8])
{
    __m128i a[8], b[8];
    for (int i = 0; i < 8; i++) a[i] = _mm_loadu_si128((const __m128i *)(const void *)w[i]->scale);
    for (int i = 0; i < 4; i++) {
        b[i] = _mm_unpacklo_epi8(a[i], a[i + 4]);
        b[i + 4] = _mm_unpackhi_epi8(a[i], a[i + 4]);
    }
    for (int i = 0; i < 8; i++) {
        const __m128i x = b[i / 4 * 4 + i % 2], y = b[i / 4 * 4 + i % 2 + 2];
        a[i] = i % 4 < 2 ? _mm_unpacklo_epi8(x, y) : _mm_unpackhi_epi8(x, y);
    }
    for (int i = 0; i < 8; i += 2) {
        out[i] = _mm_unpacklo_epi8(a[i], a[i + 1]);
        out[i + 1] = _mm_unpackhi_epi8(a[i], a[i + 1]);
    }
}

typedef struct q6_pair { /* two groups of eight outputs */
    __m256i q[8];        /* 8 weights of outputs 0 to 3, four times; then of 4 to 7 */
    __m256i scale[4];    /* of the first group and the second for outputs 0 to 3; then for 4 to 7 */
} q6_pair;

static void add_pair(const q6_pair *w, const row_block *rows, ptrdiff_t row_pitch, int32_t n_rows,
                     ptrdiff_t at, eight_sums *sums)
{
    const __m256i *q = w->q;
    for (int32_t r = 0; r < n_rows; r++) {
        const int8_t *byte = rows[r * row_pitch].byte + at;
        __m256i y[4], sum[4];
        for (int c = 0; c < 4; c++) y[c] = eight_bytes(byte + 8 * c);
        for (int i = 0; i < 4; i++) {
            const int c = i % 2 * 2;
            sum[i] = _mm256_add_epi16(_mm256_maddubs_epi16(q[2 * i], y[c]),
                                      _mm256_maddubs_epi16(q[2 * i + 1], y[c + 1]));
            sum[i] = _mm256_madd_epi16(sum[i], w->scale[i]);
        }
        sums[r].low = _mm256_add_epi32(sums[r].low, _mm256_add_epi32(sum[0], sum[1]));
        sums[r].high = _mm256_add_epi32(sums[r].high, _mm256_add_epi32(sum[2], sum[3]));
    }
}

/* A block of each of 8 outputs times one block of every row. */
static void add_q6_block(const q6_k_block *const w[8], const row_block *rows, ptrdiff_t row_pitch,
                         int32_t n_rows, __m256 *out)
{
    __m256i scale_pair[8]; /* of two groups, side by side for each output */
    __m128i scales[8];
    eight_sums sums[MOST_ROWS];
    uint16_t steps[8];
    for (int i = 0; i < 8; i++) steps[i] = w[i]->step;
    const __m256 step = widen(steps);
    transpose_scales(w, scales);
    clear(sums, n_rows);
    for (int half = 0; half < 2; half++) {
        __m256i part[8][4];
        for (int i = 0; i < 8; i++) unpack_half(w[i], half, part[i]);
        for (int i = 0; i < 4; i++) {
            const int at = 4 * half + i;
            const __m128i even = _mm_cvtepi8_epi16(scales[at]);
            const __m128i odd = _mm_cvtepi8_epi16(_mm_srli_si128(scales[at], 8));
            const __m256i of[8] = { part[0][i], part[1][i], part[2][i], part[3][i],
                                    part[4][i], part[5][i], part[6][i], part[7][i] };
            q6_pair pair;
            transpose_weights(of, pair.q);
            transpose_weights(of + 4, pair.q + 4);
            spread(even, &pair.scale[0], &pair.scale[2]);
            spread(odd, &pair.scale[1], &pair.scale[3]);
            scale_pair[at] = both(_mm_unpacklo_epi16(even, odd), _mm_unpackhi_epi16(even, odd));
            add_pair(&pair, rows, row_pitch, n_rows, 32 * at, sums);
        }
    }
    for (int32_t r = 0; r < n_rows; r++) {
        const row_block *row = &rows[r * row_pitch];
        __m256i less = _mm256_setzero_si256(); /* 32 was added to every weight */
        for (int i = 0; i < 8; i++) {
            int32_t two;
            memcpy(&two, row->sum + 2 * i, sizeof two);
            less = _mm256_add_epi32(less, _mm256_madd_epi16(scale_pair[i], _mm256_set1_epi32(two)));
        }
        const __m256i sum = _mm256_sub_epi32(in_order(&sums[r]), _mm256_slli_epi32(less, 5));
        out[r] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum),
                                 _mm256_mul_ps(step, _mm256_set1_ps(row->step)), out[r]);
    }
}

/* Eight outputs are eight streams, more than the hardware prefetcher follows. The next eight lie behind
 * them: as much of those is prefetched as is used now. */
static void prefetch_next(const q6_k_block *first, ptrdiff_t n_blocks, ptrdiff_t block)
{
    const char *next = (const char *)(first + 8 * (n_blocks + block));
    for (size_t i = 0; i < 8 * sizeof *first; i += 64) _mm_prefetch(next + i, _MM_HINT_T1);
}

/* Outputs may end in the middle of eight: the last one is then computed several times. */
static void multiply_q6(const void *weights, int32_t k, int32_t first, int32_t last,
                        const row_block *rows, int32_t n_rows, float *out, ptrdiff_t pitch)
{
    const ptrdiff_t n_blocks = k / S2K_BLOCK;
    for (int32_t at = first; at < last; at += 8) {
        const int32_t n = last - at < 8 ? last - at : 8;
        const q6_k_block *eight_rows = (const q6_k_block *)weights + at * n_blocks, *w[8];
        __m256 sum[MOST_ROWS];
        for (int32_t i = 0; i < 8; i++) w[i] = eight_rows + (i < n ? i : n - 1) * n_blocks;
        for (int32_t r = 0; r < n_rows; r++) sum[r] = _mm256_setzero_ps();
        for (ptrdiff_t b = 0; b < n_blocks; b++) {
            prefetch_next(eight_rows, n_blocks, b);
            add_q6_block(w, rows + b, n_blocks, n_rows, sum);
            for (int i = 0; i < 8; i++) w[i]++;
        }
        for (int32_t r = 0; r < n_rows; r++) {
            float eight[8];
            _mm256_storeu_ps(eight, sum[r]);
            memcpy(out + r * pitch + at, eight, (size_t)n * sizeof *eight);
        }
    }
}

/* --- all rows --------------------------------------------------------------------------------- */

static void product(const s2k_weights *w, const void *packed, int32_t m, int32_t first,
                    int32_t last, float *out, ptrdiff_t pitch, void *scratch)
{
    const int32_t n_blocks = w->k / S2K_BLOCK;
    const row_block *rows = packed;
    int32_t at_once = ROWS_BYTES / (n_blocks * (int32_t)sizeof *rows) / 8 * 8;
    if (at_once < 8) at_once = 8;
    if (at_once > MOST_ROWS) at_once = MOST_ROWS;
    (void)scratch;
    for (int32_t r = 0; r < m; r += at_once) {
        const int32_t n = m - r < at_once ? m - r : at_once;
        const row_block *x = rows + (ptrdiff_t)r * n_blocks;
        if (w->format == S2K_Q4_K_BY_8)
            multiply_q4(w->data, w->k, first, last, x, n, out + r * pitch, pitch);
        if (w->format == S2K_Q6_K)
            multiply_q6(w->data, w->k, first, last, x, n, out + r * pitch, pitch);
    }
}

static bool runs(const s2_cpu *cpu) { return s2_cpu_has_avx2_set(cpu); }

const s2k_products s2k_bytes_avx2 = {
    .name = "bytes-avx2",
    .runs = runs,
    .formats = S2K_TAKES(S2K_Q4_K_BY_8) | S2K_TAKES(S2K_Q6_K),
    .max_rows = S2K_ANY_ROWS,
    .group = 1,
    .padding = 1,
    .piece = S2K_GRAIN,
    .row_error = 0.5001 / 127,
    .product_error = 1e-5,
    .rows_bytes = rows_bytes,
    .pack_rows = pack_rows,
    .product = product,
};
