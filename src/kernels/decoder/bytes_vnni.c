/* bytes_vnni.c - weights as bytes in panels of 32 outputs, times rows as bytes, by AVX-512 VNNI.
 *
 * Weights of every format here are whole numbers times a scale for each group of 32, some less a min.
 * They are unpacked once for all rows: as bytes from 0 to 255 (an offset is added to signed ones), the
 * same four inputs of 16 outputs in a vector, so that one instruction multiplies 64 of them with four
 * bytes of a row and nothing is ever summed across a vector. Rows are bytes with a step for each group
 * of 32, as ggml has them for Q8_0 and Q4_0. The sum of a group is exact: it starts at the offset
 * times the sum of the row's bytes, which is computed once, and becomes a float once.
 *
 * Six rows are multiplied at a time: 12 sums of a group, 12 of the row. Inputs are taken DEPTH at a time,
 * so that the panel stays in the second-level cache. A row's numbers are the same whatever rows go
 * with it.
 */
#include "kernels/decoder/products.h"
#include "kernels/decoder/wide_blocks.h"

#define GROUP 32
#define OUTPUTS 32 /* of a panel: two vectors */
#define ROWS 6
#define DEPTH 128   /* groups */
#define FEW_DEPTH 8 /* the same where a panel is read once: it stays in the first-level cache */

_Static_assert(OUTPUTS == S2K_GRAIN, "pieces are whole panels");
_Static_assert(DEPTH *GROUP % S2K_BLOCK == 0, "whole blocks");

typedef uint8_t bytes64 __attribute__((vector_size(64)));

typedef struct row_group { /* 32 values of a row; value = step * byte */
    int8_t byte[GROUP];
    float step;       /* NaN if one is not finite */
    float less;       /* -step * the sum of the bytes */
    int32_t less_sum; /* minus the sum */
} row_group;

typedef struct panel_group { /* 32 weights of 32 outputs; value = scale * (byte - offset) - min */
    uint8_t byte[GROUP / 4][2][64];
    float scale[2][16], min[2][16];
} panel_group;

/* --- rows -------------------------------------------------------------------------------------- */

static size_t rows_bytes(int32_t k, int32_t m)
{
    return (size_t)(k / GROUP) * (size_t)m * sizeof(row_group);
}

static void pack_group(const float *x, row_group *to)
{
    const lanes low = load(x), high = load(x + 16);
    const lanes poison = low * all(0.0f) + high * all(0.0f);
    const lanes most = larger((lanes)((bits)low & 0x7fffffffu), (lanes)((bits)high & 0x7fffffffu));
    to->step = largest_of(most) / 127.0f + sum_of(poison);
    const lanes inverse = all(to->step > 0x1p-100f ? 1.0f / to->step : 0.0f);
    const lanes magic = all(12582912.0f); /* leaves the rounded number in the low bits */
    const ints q[2] = { (ints)((bits)(low * inverse + magic) - 0x4b400000u),
                        (ints)((bits)(high * inverse + magic) - 0x4b400000u) };
    int32_t sum = 0;
    for (int i = 0; i < GROUP; i++) {
        to->byte[i] = (int8_t)q[i / 16][i % 16];
        sum += to->byte[i];
    }
    to->less = -to->step * (float)sum;
    to->less_sum = -sum;
}

static void pack_rows(const float *x, ptrdiff_t pitch, int32_t k, int32_t m, int32_t first,
                      int32_t last, void *out)
{
    const int32_t n_groups = k / GROUP;
    (void)m;
    for (int32_t r = first; r < last; r++)
        for (int32_t g = 0; g < n_groups; g++)
            pack_group(x + r * pitch + (ptrdiff_t)g * GROUP,
                       (row_group *)out + (ptrdiff_t)r * n_groups + g);
}

/* --- weights: two groups of an output as 64 bytes, in order ------------------------------------- */

S2V_INLINE bytes64 join(bytes32 low, bytes32 high)
{
#if defined(__AVX512BW__)
    return (bytes64)_mm512_inserti64x4(_mm512_castsi256_si512((__m256i)low), (__m256i)high, 1);
#else
    bytes64 out;
    memcpy(&out, &low, sizeof low);
    memcpy((char *)&out + sizeof low, &high, sizeof high);
    return out;
#endif
}

S2V_INLINE bytes64 q8_0_pair(const char *row, int32_t g, int32_t n_groups)
{
    const q8_0_block *w = (const q8_0_block *)(const void *)row + g;
    const bytes32 none = { 0 };
    return join(load_bytes((const uint8_t *)w->byte),
                g + 1 < n_groups ? load_bytes((const uint8_t *)w[1].byte) : none) ^
           0x80;
}

S2V_INLINE bytes64 q5_k_pair(const char *row, int32_t g)
{
    const q5_k_block *w = (const q5_k_block *)(const void *)row + g / 8;
    const uint16_t at = (uint16_t)(g % 8);
    const words32 four = shift_twice(w->nibbles[g % 8 / 2], 0, 4) & 0x0f0f;
    const words32 fifth = shift_twice(w->high, at, (uint16_t)(at + 1)) & 0x0101;
    return (bytes64)(four | fifth << 4);
}

/* The levels, as 1 to 241. */
S2V_INLINE bytes64 iq4_levels(bytes64 nibbles)
{
    const signed16 level = { S2K_IQ4_LEVELS };
#if defined(__AVX512BW__)
    const __m512i table = _mm512_broadcast_i32x4((__m128i)(level ^ -128));
    return (bytes64)_mm512_shuffle_epi8(table, (__m512i)nibbles);
#else
    for (int i = 0; i < 64; i++) nibbles[i] = (uint8_t)(level[nibbles[i]] + 128);
    return nibbles;
#endif
}

/* 16 bytes of each group: low nibbles are the first 16 weights, high ones the others. */
S2V_INLINE bytes64 nibbles_pair(bytes32 both)
{
    const bytes64 twice = join(both, both);
    const bytes64 in_order = __builtin_shufflevector(
        twice, twice, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7,
        8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30,
        31, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31);
    const words32 shift = { 0, 0, 0, 0, 0, 0, 0, 0, 4, 4, 4, 4, 4, 4, 4, 4,
                            0, 0, 0, 0, 0, 0, 0, 0, 4, 4, 4, 4, 4, 4, 4, 4 };
    return (bytes64)((words32)in_order >> shift & 0x0f0f);
}

S2V_INLINE bytes64 iq4_xs_pair(const char *row, int32_t g)
{
    const iq4_xs_block *w = (const iq4_xs_block *)(const void *)row + g / 8;
    return iq4_levels(nibbles_pair(load_bytes(w->nibbles[g % 8])));
}

/* --- weights: scales of eight groups of an output, then their mins ------------------------------- */

S2V_INLINE lanes iq4_xs_scales(const iq4_xs_block *w)
{
    uint32_t low;
    memcpy(&low, w->scales_low, sizeof low);
    const bits at = { 0, 1, 2, 3, 4, 5, 6, 7, 0, 0, 0, 0, 0, 0, 0, 0 };
    const bits scale = ((low - (bits){ 0 }) >> 4 * at & 15) |
                       (((uint32_t)w->scales_high - (bits){ 0 }) >> 2 * at & 3) << 4;
    return float_of_ints((ints)scale - 32) * step_at(&w->step);
}

S2V_INLINE lanes scales_of(const s2k_format format, const char *row, int32_t g)
{
    if (format == S2K_IQ4_XS) return iq4_xs_scales((const iq4_xs_block *)(const void *)row + g / 8);
    /* steps and scales are where those of Q4_K are */
    return unpack_scales(
        (const q4_k_block *)(const void *)((const q5_k_block *)(const void *)row + g / 8));
}

/* --- panels -------------------------------------------------------------------------------------- */

typedef struct source { /* 16 outputs; those past the last are the last again */
    const char *row[16];
    int32_t n_groups;
} source;

/* Groups g and g + 1 of an output, of which the second may be past the end. */
S2V_INLINE bytes64 pair_of(const s2k_format format, const source *from, int i, int32_t g)
{
    if (format == S2K_Q5_K) return q5_k_pair(from->row[i], g);
    if (format == S2K_IQ4_XS) return iq4_xs_pair(from->row[i], g);
    return q8_0_pair(from->row[i], g, from->n_groups);
}

S2V_INLINE void take_pair(const s2k_format format, const source *from, int32_t g, int v,
                          panel_group *to)
{
    lanes square[16];
    for (int i = 0; i < 16; i++) square[i] = (lanes)pair_of(format, from, i, g);
    transpose_square(square);
    for (int i = 0; i < 16 && g + i / 8 < from->n_groups; i++)
        memcpy(to[i / 8].byte[i % 8][v], &square[i], sizeof square[i]);
}

S2V_INLINE void take_steps_q8_0(const source *from, int32_t g, int v, panel_group *to)
{
    uint16_t step[16];
    for (int i = 0; i < 16; i++) step[i] = ((const q8_0_block *)(const void *)from->row[i])[g].step;
    store(to->scale[v], load_f16(step));
}

S2V_INLINE void take_eight_scales(const s2k_format format, const source *from, int32_t g, int v,
                                  panel_group *to)
{
    lanes square[16];
    for (int i = 0; i < 16; i++) square[i] = scales_of(format, from->row[i], g);
    transpose_square(square);
    for (int i = 0; i < 8; i++) {
        store(to[i].scale[v], square[i]);
        store(to[i].min[v], square[8 + i]);
    }
}

/* F16 steps of eight outputs and of eight more. */
S2V_INLINE lanes steps_of(const uint16_t low[8], const uint16_t high[8])
{
#if defined(__AVX512BW__)
    const __m128i a = _mm_loadu_si128((const __m128i *)(const void *)low);
    const __m128i b = _mm_loadu_si128((const __m128i *)(const void *)high);
    return (lanes)_mm512_cvtph_ps(_mm256_inserti128_si256(_mm256_castsi128_si256(a), b, 1));
#else
    lanes v;
    for (int i = 0; i < 16; i++) v[i] = s2v_float_of_f16(i < 8 ? low[i] : high[i - 8]);
    return v;
#endif
}

/* Eight outputs are interleaved, eight bytes of each: a vector of four bytes of 16 outputs takes the
 * even words of two, or the odd ones. */
S2V_INLINE void q4_0_words(const q4_0_by_8_block *const w[2], bits out[8])
{
    for (int half = 0; half < 2; half++) {
        const bits a = (bits)load_ints(w[0]->nibbles[half]) ^ 0x88888888u;
        const bits b = (bits)load_ints(w[1]->nibbles[half]) ^ 0x88888888u;
        const bits even = __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22,
                                                  24, 26, 28, 30);
        const bits odd = __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23,
                                                 25, 27, 29, 31);
        out[2 * half] = even & 0x0f0f0f0fu;
        out[2 * half + 1] = odd & 0x0f0f0f0fu;
        out[4 + 2 * half] = even >> 4 & 0x0f0f0f0fu;
        out[5 + 2 * half] = odd >> 4 & 0x0f0f0f0fu;
    }
}

typedef struct panel_job {
    const s2k_weights *w;
    int32_t n_groups, at;  /* groups of a row; the first output of the panel */
    int32_t first, n_here; /* groups of the panel */
    panel_group *panel;
} panel_job;

/* As much of the next panel is prefetched as is read of this one. */
S2V_INLINE void prefetch_next(const panel_job *j, const char *here, size_t n_bytes)
{
    const s2k_format_info *info = s2k_format_of(j->w->format);
    const size_t row = (size_t)(j->w->k / info->block) * info->block_bytes;
    for (size_t i = 0; i < n_bytes; i += 64) __builtin_prefetch(here + OUTPUTS * row + i, 0, 2);
}

S2V_INLINE source source_of(const panel_job *j, int v)
{
    const s2k_format_info *info = s2k_format_of(j->w->format);
    const size_t row = (size_t)(j->w->k / info->block) * info->block_bytes;
    source from = { .n_groups = j->n_groups };
    for (int i = 0; i < 16; i++) {
        const int32_t at = j->at + 16 * v + i, last = j->w->n - 1;
        from.row[i] = (const char *)j->w->data + (size_t)(at < last ? at : last) * row;
    }
    return from;
}

/* Of groups g and g + 1; of eight groups where a block has as many and g is its first. */
S2V_INLINE void take_scales(const panel_job *j, const s2k_format format, const source *from,
                            int32_t g, int v, panel_group *to)
{
    const s2k_format_info *info = s2k_format_of(format);
    const size_t pair = info->block_bytes * 2 * GROUP / (size_t)info->block;
    for (int i = 0; i < 16; i++) prefetch_next(j, from->row[i] + (size_t)g / 2 * pair, pair);
    if (format == S2K_Q8_0) {
        take_steps_q8_0(from, g, v, to);
        if (g + 1 < j->n_groups) take_steps_q8_0(from, g + 1, v, to + 1);
    } else if (g % 8 == 0)
        take_eight_scales(format, from, g, v, to);
}

S2V_INLINE void fill_panel(const panel_job *j, const s2k_format format)
{
    for (int v = 0; v < 2; v++) {
        const source from = source_of(j, v);
        for (int32_t g = 0; g < j->n_here; g += 2) {
            take_scales(j, format, &from, j->first + g, v, j->panel + g);
            take_pair(format, &from, j->first + g, v, j->panel + g);
        }
    }
}

/* Group g of outputs 16 v to 16 v + 15 of the panel; eights past the last are the last again. */
S2V_INLINE void q4_0_blocks(const panel_job *j, int v, int32_t g, const q4_0_by_8_block *w[2])
{
    const int32_t last = j->w->n / 8 - 1;
    for (int h = 0; h < 2; h++) {
        const int32_t eight = j->at / 8 + 2 * v + h;
        w[h] = (const q4_0_by_8_block *)j->w->data +
               (ptrdiff_t)(eight < last ? eight : last) * j->n_groups + g;
        prefetch_next(j, (const char *)w[h], sizeof *w[h]);
    }
}

static void fill_q4_0(const panel_job *j)
{
    for (int v = 0; v < 2; v++)
        for (int32_t g = 0; g < j->n_here; g++) {
            const q4_0_by_8_block *w[2];
            bits words[8];
            q4_0_blocks(j, v, j->first + g, w);
            q4_0_words(w, words);
            store(j->panel[g].scale[v], steps_of(w[0]->step, w[1]->step));
            for (int i = 0; i < 8; i++) memcpy(j->panel[g].byte[i][v], &words[i], sizeof words[i]);
        }
}

/* --- products ------------------------------------------------------------------------------------ */

/* Sums of n rows, [n][32] floats: those of one part of the inputs are added to what is there. */
S2V_INLINE void multiply_rows(const panel_job *j, const int offset_bits, const bool has_mins,
                              const row_group *rows, const int n, float *out, ptrdiff_t pitch,
                              int32_t n_outputs)
{
    lanes sum[ROWS][2];
    for (int r = 0; r < n; r++)
        for (int v = 0; v < 2; v++)
            sum[r][v] = j->first && n_outputs > 16 * v
                            ? load_some(out + r * pitch + 16 * v, n_outputs - 16 * v)
                            : (lanes){ 0 };
    const panel_group *w = j->panel;
    for (int32_t g = 0; g < j->n_here; g++, w++, rows++) {
        ints whole[ROWS][2];
        for (int r = 0; r < n; r++) {
            const ints start =
                has_mins ? (ints){ 0 }
                         : (ints)((bits)(rows[r * (ptrdiff_t)j->n_groups].less_sum - (ints){ 0 })
                                  << offset_bits);
            whole[r][0] = whole[r][1] = start;
        }
        for (int i = 0; i < GROUP / 4; i++) {
            const ints of[2] = { load_ints(w->byte[i][0]), load_ints(w->byte[i][1]) };
            for (int r = 0; r < n; r++) {
                int32_t four;
                memcpy(&four, rows[r * (ptrdiff_t)j->n_groups].byte + 4 * i, sizeof four);
                const ints x = four - (ints){ 0 };
                for (int v = 0; v < 2; v++)
                    whole[r][v] =
                        (ints)_mm512_dpbusd_epi32((__m512i)whole[r][v], (__m512i)of[v], (__m512i)x);
            }
        }
        for (int r = 0; r < n; r++) {
            const row_group *row = &rows[r * (ptrdiff_t)j->n_groups];
            for (int v = 0; v < 2; v++) {
                const lanes scale = load(w->scale[v]) * all(row->step);
                sum[r][v] = add_product(float_of_ints(whole[r][v]), scale, sum[r][v]);
                if (has_mins) sum[r][v] = add_product(load(w->min[v]), all(row->less), sum[r][v]);
            }
        }
    }
    for (int r = 0; r < n; r++)
        for (int v = 0; v < 2; v++)
            if (n_outputs > 16 * v)
                store_some(out + r * pitch + 16 * v, sum[r][v], n_outputs - 16 * v);
}

/* One row: what is unpacked is multiplied at once, and sums are transposed instead of weights. The sum of
 * a group is the same whole number, so the bits are those of multiply_rows(). */
S2V_INLINE void multiply_one(const panel_job *j, const s2k_format format, const int offset_bits,
                             const row_group *row, float *out, int32_t n_outputs)
{
    const bool has_mins = s2k_format_of(format)->has_mins;
    for (int v = 0; 16 * v < n_outputs && v < 2; v++) {
        const source from = source_of(j, v);
        lanes sum = { 0 };
        for (int32_t g = 0; g < j->n_groups; g += 2) {
            const row_group *x = row + g, *x1 = g + 1 < j->n_groups ? x + 1 : x;
            const bytes64 bytes =
                join(load_bytes((const uint8_t *)x->byte), load_bytes((const uint8_t *)x1->byte));
            panel_group *scales = j->panel + g % 8;
            ints d[16], whole[2];
            take_scales(j, format, &from, g, v, scales);
            for (int i = 0; i < 16; i++)
                d[i] = (ints)_mm512_dpbusd_epi32(
                    (__m512i)(ints){ 0 }, (__m512i)pair_of(format, &from, i, g), (__m512i)bytes);
            sum_halves(d, &whole[0], &whole[1]);
            for (int h = 0; h < 2 && g + h < j->n_groups; h++) {
                if (!has_mins)
                    whole[h] += (ints)((bits)(x[h].less_sum - (ints){ 0 }) << offset_bits);
                const lanes scale = load(scales[h].scale[v]) * all(x[h].step);
                sum = add_product(float_of_ints(whole[h]), scale, sum);
                if (has_mins) sum = add_product(load(scales[h].min[v]), all(x[h].less), sum);
            }
        }
        store_some(out + 16 * v, sum, n_outputs - 16 * v);
    }
}

/* A function of its own for each number of rows: their sums stay in registers. */
#define OF_KIND(name, offset_bits, has_mins)                                                 \
    static void name(const panel_job *j, const row_group *rows, int32_t n, float *out,       \
                     ptrdiff_t pitch, int32_t n_outputs)                                     \
    {                                                                                        \
        if (n == 6) multiply_rows(j, offset_bits, has_mins, rows, 6, out, pitch, n_outputs); \
        if (n == 5) multiply_rows(j, offset_bits, has_mins, rows, 5, out, pitch, n_outputs); \
        if (n == 4) multiply_rows(j, offset_bits, has_mins, rows, 4, out, pitch, n_outputs); \
        if (n == 3) multiply_rows(j, offset_bits, has_mins, rows, 3, out, pitch, n_outputs); \
        if (n == 2) multiply_rows(j, offset_bits, has_mins, rows, 2, out, pitch, n_outputs); \
        if (n == 1) multiply_rows(j, offset_bits, has_mins, rows, 1, out, pitch, n_outputs); \
    }

OF_KIND(multiply_less_128, 7, false)
OF_KIND(multiply_less_8, 3, false)
OF_KIND(multiply_less_mins, 0, true)

static void fill(const panel_job *j)
{
    if (j->w->format == S2K_Q8_0) fill_panel(j, S2K_Q8_0);
    if (j->w->format == S2K_Q5_K) fill_panel(j, S2K_Q5_K);
    if (j->w->format == S2K_IQ4_XS) fill_panel(j, S2K_IQ4_XS);
    if (j->w->format == S2K_Q4_0_BY_8) fill_q4_0(j);
}

static size_t scratch_bytes(int32_t k, int32_t m)
{
    const int32_t n_groups = k / GROUP < DEPTH ? k / GROUP : DEPTH;
    (void)m;
    return (size_t)n_groups * sizeof(panel_group);
}

static void multiply_one_q4_0(const panel_job *j, const row_group *row, float *out,
                              int32_t n_outputs)
{
    for (int v = 0; 16 * v < n_outputs && v < 2; v++) {
        lanes sum = { 0 };
        for (int32_t g = 0; g < j->n_groups; g++) {
            const q4_0_by_8_block *w[2];
            bits words[8];
            q4_0_blocks(j, v, g, w);
            q4_0_words(w, words);
            ints whole = (ints)((bits)(row[g].less_sum - (ints){ 0 }) << 3);
            for (int i = 0; i < 8; i++) {
                int32_t four;
                memcpy(&four, row[g].byte + 4 * i, sizeof four);
                whole = (ints)_mm512_dpbusd_epi32((__m512i)whole, (__m512i)words[i],
                                                  (__m512i)(four - (ints){ 0 }));
            }
            const lanes scale = steps_of(w[0]->step, w[1]->step) * all(row[g].step);
            sum = add_product(float_of_ints(whole), scale, sum);
        }
        store_some(out + 16 * v, sum, n_outputs - 16 * v);
    }
}

static void product_of_one(panel_job *j, const row_group *row, int32_t last, float *out)
{
    for (; j->at < last; j->at += OUTPUTS) {
        float *to = out + j->at;
        const int32_t n = last - j->at;
        if (j->w->format == S2K_Q8_0) multiply_one(j, S2K_Q8_0, 7, row, to, n);
        if (j->w->format == S2K_Q5_K) multiply_one(j, S2K_Q5_K, 0, row, to, n);
        if (j->w->format == S2K_IQ4_XS) multiply_one(j, S2K_IQ4_XS, 7, row, to, n);
        if (j->w->format == S2K_Q4_0_BY_8) multiply_one_q4_0(j, row, to, n);
    }
}

static void product(const s2k_weights *w, const void *rows, int32_t m, int32_t first, int32_t last,
                    float *out, ptrdiff_t pitch, void *scratch)
{
    panel_job j = { .w = w, .n_groups = w->k / GROUP, .at = first, .panel = scratch };
    /* sums go on from where they were, so the depth does not change their bits */
    const int32_t depth = m <= ROWS ? FEW_DEPTH : DEPTH;
    if (m == 1) product_of_one(&j, rows, last, out);
    for (; j.at < last; j.at += OUTPUTS)
        for (j.first = 0; j.first < j.n_groups; j.first += depth) {
            const int32_t n_outputs = last - j.at;
            j.n_here = j.n_groups - j.first < depth ? j.n_groups - j.first : depth;
            fill(&j);
            for (int32_t r = 0; r < m; r += ROWS) {
                const row_group *x = (const row_group *)rows + (ptrdiff_t)r * j.n_groups + j.first;
                const int32_t n = m - r < ROWS ? m - r : ROWS;
                float *to = out + r * pitch + j.at;
                if (w->format == S2K_Q5_K)
                    multiply_less_mins(&j, x, n, to, pitch, n_outputs);
                else if (w->format == S2K_Q4_0_BY_8)
                    multiply_less_8(&j, x, n, to, pitch, n_outputs);
                else
                    multiply_less_128(&j, x, n, to, pitch, n_outputs);
            }
        }
}

static bool runs(const s2_cpu *cpu) { return cpu->avx512_vnni; }

const s2k_products s2k_bytes_vnni = {
    .name = "bytes-vnni",
    .runs = runs,
    .formats = S2K_TAKES(S2K_Q8_0) | S2K_TAKES(S2K_Q5_K) | S2K_TAKES(S2K_IQ4_XS) |
               S2K_TAKES(S2K_Q4_0_BY_8),
    .max_rows = S2K_ANY_ROWS,
    .group = 1,
    .padding = 1,
    .piece = 2 * S2K_GRAIN,
    .row_error = 0.5001 / 127,
    .product_error = 1e-5,
    .keeps_nan = true,
    .rows_bytes = rows_bytes,
    .pack_rows = pack_rows,
    .scratch = scratch_bytes,
    .product = product,
};
