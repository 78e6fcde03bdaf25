/* few_rows_avx2.c - a weight is unpacked once and multiplied with the bytes of many rows.
 *
 * As many rows go together as stay in the second-level cache, at most MOST_ROWS; what is unpacked of the
 * weights never leaves the registers. A row's numbers are the same whatever rows go with it.
 *
 * Q4_K has 256 weights in 8 groups of 32: (scale * nibble - min). Products of nibbles and bytes are added
 * in 16 bits (4 of at most 15 * 127 * 2), then times the group's scale in 32 bits; the mins go with the
 * sums of the row's bytes, which are known. Q6_K has 16 groups of 16 with a signed scale and weights
 * from -32 to 31: they are multiplied as 0 to 63, and 32 times the row's sums is taken off.
 */
#include "engine/model/few_rows_avx2.h"

#include <immintrin.h>
#include <string.h>

#define MOST_ROWS 64
#define ROWS_BYTES (256 << 10) /* half of a small second-level cache */

/* `multiply` takes at most MOST_ROWS. */
static void multiply_lots(s2v_few_kernel *multiply, const void *weights, int32_t k, int32_t first,
                          int32_t last, const s2v_row_block *rows, int32_t n_rows, float *out,
                          ptrdiff_t pitch)
{
    const int32_t n_blocks = k / S2V_FEW_BLOCK;
    int32_t lot = ROWS_BYTES / (n_blocks * (int32_t)sizeof *rows) / 8 * 8;
    if (lot < 8) lot = 8;
    if (lot > MOST_ROWS) lot = MOST_ROWS;
    for (int32_t r = 0; r < n_rows; r += lot)
        multiply(weights, k, first, last, rows + (ptrdiff_t)r * n_blocks,
                 n_rows - r < lot ? n_rows - r : lot, out + r * pitch, pitch);
}

/* --- rows as bytes ---------------------------------------------------------------------------- */

void s2v_few_bytes_avx2(const float *x, int32_t k, s2v_row_block *out)
{
    for (; k >= S2V_FEW_BLOCK; k -= S2V_FEW_BLOCK, x += S2V_FEW_BLOCK, out++) {
        float most = 0.0f, largest = 0.0f; /* the largest has the sign of its value */
        for (int i = 0; i < S2V_FEW_BLOCK; i++) {
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
        for (int i = 0; i < S2V_FEW_BLOCK; i += 16) {
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

static float add_up(__m256 x)
{
    __m128 half = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    half = _mm_add_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_add_ss(half, _mm_movehdup_ps(half)));
}

/* --- Q4_K, eight outputs interleaved ---------------------------------------------------------- */

typedef struct q4_block { /* of 8 outputs; bytes [64 c, 64 c + 64) are 8 of each output */
    uint16_t step[8], min_step[8];
    uint8_t scales[8][12]; /* of each group: scales and mins of the 8 outputs, 6 bits each */
    uint8_t nibbles[1024];
} q4_block;

_Static_assert(sizeof(q4_block) == 1152, "as eight blocks of Q4_K");

/* Scales (out[0..8)) and mins (out[8..16)) of a group. */
static __m128i unpack_scales(const uint8_t packed[12])
{
    uint32_t w[3];
    memcpy(w, packed, sizeof w);
    const uint32_t low = 0x3F3F3F3F, four = 0x0F0F0F0F, two = 0x03030303;
    return _mm_set_epi32((int)(((w[2] >> 4) & four) | ((w[1] >> 6) & two) << 4), (int)(w[1] & low),
                         (int)((w[2] & four) | ((w[0] >> 6) & two) << 4), (int)(w[0] & low));
}

static __m256 widen(const uint16_t half[8])
{
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)half));
}

static __m256i both(__m128i low, __m128i high)
{
    return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}

typedef struct q4_sums { /* of one row in one block: outputs 0 to 3 and 4 to 7, two lanes each */
    __m256i low, high;
} q4_sums;

/* Group g (0 to 7) times every row. */
static void add_group(const q4_block *w, int g, __m256i scale_low, __m256i scale_high,
                      const s2v_row_block *rows, ptrdiff_t row_pitch, int32_t n_rows, q4_sums *sums)
{
    const __m256i mask = _mm256_set1_epi8(15);
    const uint8_t *nibbles = w->nibbles + (g / 2) * 256;
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
            int64_t eight;
            memcpy(&eight, byte + 8 * c, sizeof eight);
            const __m256i y = _mm256_set1_epi64x(eight);
            low = _mm256_add_epi16(low, _mm256_maddubs_epi16(q[2 * c], y));
            high = _mm256_add_epi16(high, _mm256_maddubs_epi16(q[2 * c + 1], y));
        }
        sums[r].low = _mm256_add_epi32(sums[r].low, _mm256_madd_epi16(low, scale_low));
        sums[r].high = _mm256_add_epi32(sums[r].high, _mm256_madd_epi16(high, scale_high));
    }
}

/* One block of 8 outputs times one block of every row. */
static void add_block(const q4_block *w, const s2v_row_block *rows, ptrdiff_t row_pitch,
                      int32_t n_rows, __m256 *out)
{
    const __m256i first_four = _mm256_setr_epi8(0, 1, 0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3, 2, 3, 4,
                                                5, 4, 5, 4, 5, 4, 5, 6, 7, 6, 7, 6, 7, 6, 7);
    const __m256i last_four = _mm256_add_epi8(first_four, _mm256_set1_epi8(8));
    const __m256i in_order = _mm256_setr_epi32(0, 1, 4, 5, 2, 3, 6, 7);
    const __m256 step = widen(w->step), min_step = widen(w->min_step);
    __m256i min_pair[4]; /* mins of two groups, side by side for each output */
    __m128i before = _mm_setzero_si128();
    q4_sums sums[MOST_ROWS];
    for (int32_t r = 0; r < n_rows; r++)
        sums[r] = (q4_sums){ _mm256_setzero_si256(), _mm256_setzero_si256() };
    for (int g = 0; g < 8; g++) {
        const __m128i packed = unpack_scales(w->scales[g]);
        const __m128i scale = _mm_cvtepu8_epi16(packed);
        const __m128i min = _mm_cvtepu8_epi16(_mm_srli_si128(packed, 8));
        if (g % 2)
            min_pair[g / 2] =
                both(_mm_unpacklo_epi16(before, min), _mm_unpackhi_epi16(before, min));
        before = min;
        const __m256i twice = both(scale, scale);
        add_group(w, g, _mm256_shuffle_epi8(twice, first_four),
                  _mm256_shuffle_epi8(twice, last_four), rows, row_pitch, n_rows, sums);
    }
    for (int32_t r = 0; r < n_rows; r++) {
        const s2v_row_block *row = &rows[r * row_pitch];
        const __m128i *sum = (const __m128i *)(const void *)row->sum;
        const __m128i of_groups = _mm_hadd_epi16(_mm_loadu_si128(sum), _mm_loadu_si128(sum + 1));
        int32_t pair[4];
        _mm_storeu_si128((__m128i *)(void *)pair, of_groups);
        __m256i mins = _mm256_setzero_si256();
        for (int i = 0; i < 4; i++)
            mins =
                _mm256_add_epi32(mins, _mm256_madd_epi16(min_pair[i], _mm256_set1_epi32(pair[i])));
        const __m256i all =
            _mm256_permutevar8x32_epi32(_mm256_hadd_epi32(sums[r].low, sums[r].high), in_order);
        const __m256 row_step = _mm256_set1_ps(row->step);
        out[r] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(all), _mm256_mul_ps(step, row_step), out[r]);
        out[r] =
            _mm256_fnmadd_ps(_mm256_cvtepi32_ps(mins), _mm256_mul_ps(min_step, row_step), out[r]);
    }
}

static void multiply_q4(const void *weights, int32_t k, int32_t first, int32_t last,
                        const s2v_row_block *rows, int32_t n_rows, float *out, ptrdiff_t pitch)
{
    const ptrdiff_t n_blocks = k / S2V_FEW_BLOCK;
    for (int32_t at = first; at + 8 <= last; at += 8) {
        const q4_block *w = (const q4_block *)weights + at / 8 * n_blocks;
        __m256 sum[MOST_ROWS];
        for (int32_t r = 0; r < n_rows; r++) sum[r] = _mm256_setzero_ps();
        for (ptrdiff_t b = 0; b < n_blocks; b++) add_block(&w[b], rows + b, n_blocks, n_rows, sum);
        for (int32_t r = 0; r < n_rows; r++) _mm256_storeu_ps(out + r * pitch + at, sum[r]);
    }
}

void s2v_few_q4_avx2(const void *weights, int32_t k, int32_t first, int32_t last,
                     const s2v_row_block *rows, int32_t n_rows, float *out, ptrdiff_t pitch)
{
    multiply_lots(multiply_q4, weights, k, first, last, rows, n_rows, out, pitch);
}

/* --- Q6_K ------------------------------------------------------------------------------------- */

typedef struct q6_block {
    uint8_t low[128], high[64]; /* four bits and two bits of each weight */
    int8_t scale[16];
    uint16_t step;
} q6_block;

_Static_assert(sizeof(q6_block) == 210, "as a block of Q6_K");

/* 128 weights as 0 to 63, in order. */
static void unpack_half(const q6_block *w, int half, __m256i q[4])
{
    const __m256i four = _mm256_set1_epi8(15), two = _mm256_set1_epi8(0x30);
    const __m256i *low = (const __m256i *)(const void *)(w->low + 64 * half);
    const __m256i a = _mm256_loadu_si256(low), b = _mm256_loadu_si256(low + 1);
    const __m256i h = _mm256_loadu_si256((const __m256i *)(const void *)(w->high + 32 * half));
    const __m256i h0 = _mm256_and_si256(_mm256_slli_epi16(h, 4), two);
    const __m256i h1 = _mm256_and_si256(_mm256_slli_epi16(h, 2), two);
    const __m256i h2 = _mm256_and_si256(h, two);
    const __m256i h3 = _mm256_and_si256(_mm256_srli_epi16(h, 2), two);
    q[0] = _mm256_or_si256(_mm256_and_si256(a, four), h0);
    q[1] = _mm256_or_si256(_mm256_and_si256(b, four), h1);
    q[2] = _mm256_or_si256(_mm256_and_si256(_mm256_srli_epi16(a, 4), four), h2);
    q[3] = _mm256_or_si256(_mm256_and_si256(_mm256_srli_epi16(b, 4), four), h3);
}

static void add_q6_block(const q6_block *w, const s2v_row_block *rows, ptrdiff_t row_pitch,
                         int32_t n_rows, __m256 *out)
{
    const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)w->scale);
    const __m256i scales = _mm256_cvtepi8_epi16(bytes);
    const float step = _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(w->step)));
    for (int half = 0; half < 2; half++) {
        __m256i q[4], scale[4];
        unpack_half(w, half, q);
        for (int i = 0; i < 4; i++)
            scale[i] = both(_mm_set1_epi16(w->scale[8 * half + 2 * i]),
                            _mm_set1_epi16(w->scale[8 * half + 2 * i + 1]));
        for (int32_t r = 0; r < n_rows; r++) {
            const s2v_row_block *row = &rows[r * row_pitch];
            const __m256i *y = (const __m256i *)(const void *)(row->byte + 128 * half);
            __m256i sum = _mm256_setzero_si256();
            if (half == 0) { /* 32 was added to every weight */
                const __m256i sums = _mm256_loadu_si256((const __m256i *)(const void *)row->sum);
                sum = _mm256_sub_epi32(sum, _mm256_slli_epi32(_mm256_madd_epi16(scales, sums), 5));
            }
            for (int i = 0; i < 4; i++)
                sum = _mm256_add_epi32(
                    sum, _mm256_madd_epi16(_mm256_maddubs_epi16(q[i], _mm256_loadu_si256(y + i)),
                                           scale[i]));
            out[r] =
                _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum), _mm256_set1_ps(step * row->step), out[r]);
        }
    }
}

static void multiply_q6(const void *weights, int32_t k, int32_t first, int32_t last,
                        const s2v_row_block *rows, int32_t n_rows, float *out, ptrdiff_t pitch)
{
    const ptrdiff_t n_blocks = k / S2V_FEW_BLOCK;
    for (int32_t at = first; at < last; at++) {
        const q6_block *w = (const q6_block *)weights + at * n_blocks;
        __m256 sum[MOST_ROWS];
        for (int32_t r = 0; r < n_rows; r++) sum[r] = _mm256_setzero_ps();
        for (ptrdiff_t b = 0; b < n_blocks; b++)
            add_q6_block(&w[b], rows + b, n_blocks, n_rows, sum);
        for (int32_t r = 0; r < n_rows; r++) out[r * pitch + at] = add_up(sum[r]);
    }
}

void s2v_few_q6_avx2(const void *weights, int32_t k, int32_t first, int32_t last,
                     const s2v_row_block *rows, int32_t n_rows, float *out, ptrdiff_t pitch)
{
    multiply_lots(multiply_q6, weights, k, first, last, rows, n_rows, out, pitch);
}
