/* sixes_vnni.h - Q6_K by AVX-512 VNNI, with the bits of bytes_avx2.c; a part of nibbles_vnni.c.
 *
 * 256 weights are 16 groups of 16: step * scale * (0 to 63, less 32). Products of a block are whole numbers
 * until their sum becomes a float, so the order of adding them does not matter: that float, and the one
 * multiply-add that takes it to the sum of the row, are those of bytes_avx2.c.
 *
 * Many rows: panels of 32 outputs, as for Q4_K. One row: weights are multiplied as they are unpacked, and
 * sums are transposed instead of weights. Four products, at most 4 * 63 * 127, fit into 16 bits, so that one
 * instruction takes two of them times their scale.
 */
#ifndef S2_KERNELS_SIXES_VNNI_H
#define S2_KERNELS_SIXES_VNNI_H

#include "kernels/decoder/row_bytes.h"
#include "kernels/decoder/wide_blocks.h"

#define SIX_OUTPUTS 32 /* of a panel: two vectors */
#define SIX_ROWS 6
#define SIX_GROUPS 16
#define SIX_WORDS 4    /* of four inputs, in a group */
#define SIX_QUARTERS 4 /* of 64 weights, in a block */
#define SIX_OFFSET 32
#define SIX_DEPTH 8  /* blocks of one row at a time */
#define SIX_AHEAD 48 /* blocks from what is read to what is prefetched */

typedef struct six_panel { /* S2K_BLOCK weights of 32 outputs; value = step scale (byte - 32) */
    uint8_t byte[SIX_GROUPS][SIX_WORDS][2][64];
    int32_t scale[SIX_GROUPS][2][16];
    int32_t scales[SIX_GROUPS / 2][2][16]; /* of two groups in 16 bits each */
    float step[2][16];
} six_panel;

typedef struct six_source { /* 16 outputs; those past the last are the last again */
    const q6_k_block *row[16];
    ptrdiff_t n_blocks;
} six_source;

/* --- weights ---------------------------------------------------------------------------------- */

S2V_INLINE six_source six_source_of(const s2k_weights *w, int32_t at)
{
    six_source from = { .n_blocks = w->k / S2K_BLOCK };
    for (int i = 0; i < 16; i++) {
        const int32_t output = at + i < w->n ? at + i : w->n - 1;
        from.row[i] = (const q6_k_block *)w->data + output * from.n_blocks;
    }
    return from;
}

/* Sixteen outputs are as many streams: more than the hardware prefetcher follows. The next sixteen lie
 * behind them: as much of those is prefetched as is used now. */
S2V_INLINE void prefetch_sixes(const six_source *from, ptrdiff_t block)
{
    const char *next = (const char *)(from->row[0] + 16 * (from->n_blocks + block));
    for (size_t i = 0; i < 16 * sizeof(q6_k_block); i += 64) __builtin_prefetch(next + i, 0, 2);
}

/* 32 bytes twice, shifted left by 4 and by 2. */
S2V_INLINE words32 shift_up_twice(const uint8_t *p)
{
    return shift_twice(p, 0, 0) << (words32){ 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4,
                                              2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2 };
}

/* Weights 64 t to 64 t + 63 as 0 to 63, in order. */
S2V_INLINE ints sixes_of(const q6_k_block *w, const int t)
{
    words32 low;
    memcpy(&low, w->low[t / 2], sizeof low);
    const words32 high = t % 2 ? shift_twice(w->high[t / 2], 0, 2) : shift_up_twice(w->high[t / 2]);
    return (ints)(((t % 2 ? low >> 4 : low) & 0x0f0f) | (high & 0x3030));
}

S2V_INLINE lanes six_steps(const six_source *from, ptrdiff_t b)
{
    uint16_t step[16];
    for (int i = 0; i < 16; i++) step[i] = from->row[i][b].step;
    return load_f16(step);
}

S2V_INLINE ints ints_of_signed(const int8_t *p)
{
    signed16 v;
    memcpy(&v, p, sizeof v);
#if defined(__AVX512BW__)
    return (ints)_mm512_cvtepi8_epi32((__m128i)v);
#else
    return __builtin_convertvector(v, ints);
#endif
}

/* Half v of block b of a panel. */
S2V_INLINE void fill_sixes_half(const six_source *from, ptrdiff_t b, int v, six_panel *to)
{
    lanes square[16];
    for (int t = 0; t < SIX_QUARTERS; t++) {
        for (int i = 0; i < 16; i++) square[i] = (lanes)sixes_of(&from->row[i][b], t);
        transpose_square(square);
        for (int i = 0; i < 16; i++)
            store_ints(to->byte[4 * t + i / SIX_WORDS][i % SIX_WORDS][v], (ints)square[i]);
    }
    for (int i = 0; i < 16; i++) square[i] = (lanes)ints_of_signed(from->row[i][b].scale);
    transpose_square(square);
    for (int g = 0; g < SIX_GROUPS; g++) store_ints(to->scale[g][v], (ints)square[g]);
    for (int p = 0; p < SIX_GROUPS / 2; p++)
        store_ints(to->scales[p][v],
                   (ints)(((bits)square[2 * p] & 0xffff) | (bits)square[2 * p + 1] << 16));
    store(to->step[v], six_steps(from, b));
}

static void fill_sixes(const six_source from[2], ptrdiff_t b, six_panel *to)
{
    for (int v = 0; v < 2; v++) {
        prefetch_sixes(&from[v], b);
        fill_sixes_half(&from[v], b, v, to);
    }
}

/* --- products --------------------------------------------------------------------------------- */

S2V_INLINE ints spread_word(const void *p)
{
    int32_t word;
    memcpy(&word, p, sizeof word);
    return word - (ints){ 0 };
}

/* A block of n rows into their sums, [n][32]. */
S2V_INLINE void multiply_sixes(const six_panel *w, const row_block *rows, ptrdiff_t row_pitch,
                               const int n, bool is_first, float *sums)
{
    ints total[SIX_ROWS][2];
    for (int r = 0; r < n; r++) total[r][0] = total[r][1] = (ints){ 0 };
    for (int g = 0; g < SIX_GROUPS; g++) {
        ints whole[SIX_ROWS][2];
        for (int r = 0; r < n; r++) whole[r][0] = whole[r][1] = (ints){ 0 };
        for (int i = 0; i < SIX_WORDS; i++) {
            const ints of[2] = { load_ints(w->byte[g][i][0]), load_ints(w->byte[g][i][1]) };
            for (int r = 0; r < n; r++) {
                const ints x = spread_word(rows[r * row_pitch].byte + 16 * g + 4 * i);
                for (int v = 0; v < 2; v++)
                    whole[r][v] =
                        (ints)_mm512_dpbusd_epi32((__m512i)whole[r][v], (__m512i)of[v], (__m512i)x);
            }
        }
        for (int r = 0; r < n; r++)
            for (int v = 0; v < 2; v++) total[r][v] += whole[r][v] * load_ints(w->scale[g][v]);
    }
    for (int r = 0; r < n; r++) {
        const row_block *row = &rows[r * row_pitch];
        for (int v = 0; v < 2; v++) {
            float *to = sums + r * SIX_OUTPUTS + 16 * v;
            ints less = { 0 };
            for (int p = 0; p < SIX_GROUPS / 2; p++)
                less = (ints)_mm512_dpwssd_epi32((__m512i)less, (__m512i)load_ints(w->scales[p][v]),
                                                 (__m512i)spread_word(row->sum + 2 * p));
            const ints whole = total[r][v] - less * SIX_OFFSET;
            const lanes sum = is_first ? (lanes){ 0 } : load(to);
            store(to, add_product(float_of_ints(whole), load(w->step[v]) * all(row->step), sum));
        }
    }
}

/* A function of its own for each number of rows: their sums stay in registers. */
static void multiply_sixes_of(const six_panel *w, const row_block *rows, ptrdiff_t pitch, int32_t n,
                              bool is_first, float *sums)
{
    if (n == 6) multiply_sixes(w, rows, pitch, 6, is_first, sums);
    if (n == 5) multiply_sixes(w, rows, pitch, 5, is_first, sums);
    if (n == 4) multiply_sixes(w, rows, pitch, 4, is_first, sums);
    if (n == 3) multiply_sixes(w, rows, pitch, 3, is_first, sums);
    if (n == 2) multiply_sixes(w, rows, pitch, 2, is_first, sums);
    if (n == 1) multiply_sixes(w, rows, pitch, 1, is_first, sums);
}

static void multiply_q6(const s2k_weights *w, const row_block *rows, int32_t m, int32_t first,
                        int32_t last, float *out, ptrdiff_t pitch, six_panel *panel)
{
    const int32_t n_blocks = w->k / S2K_BLOCK;
    float *sums = (float *)(panel + 1); /* [m][32] */
    for (int32_t at = first; at < last; at += SIX_OUTPUTS) {
        const six_source from[2] = { six_source_of(w, at), six_source_of(w, at + 16) };
        for (int32_t b = 0; b < n_blocks; b++) {
            fill_sixes(from, b, panel);
            for (int32_t r = 0; r < m; r += SIX_ROWS)
                multiply_sixes_of(panel, rows + (ptrdiff_t)r * n_blocks + b, n_blocks,
                                  m - r < SIX_ROWS ? m - r : SIX_ROWS, b == 0,
                                  sums + r * SIX_OUTPUTS);
        }
        const int32_t n = last - at < SIX_OUTPUTS ? last - at : SIX_OUTPUTS;
        for (int32_t r = 0; r < m; r++)
            memcpy(out + r * pitch + at, sums + r * SIX_OUTPUTS, (size_t)n * sizeof *out);
    }
}

/* --- one row ---------------------------------------------------------------------------------- */

/* Two vectors of numbers that fit into 16 bits: four of the first, four of the second, and so on. */
S2V_INLINE ints join_words(ints a, ints b)
{
#if defined(__AVX512BW__)
    return (ints)_mm512_packs_epi32((__m512i)a, (__m512i)b);
#else
    const words32 low = __builtin_shufflevector((words32)a, (words32)b, 0, 2, 4, 6, 32, 34, 36, 38,
                                                8, 10, 12, 14, 40, 42, 44, 46, 16, 18, 20, 22, 48,
                                                50, 52, 54, 24, 26, 28, 30, 56, 58, 60, 62);
    return (ints)low;
#endif
}

/* Some blocks of a row, and what 16 outputs make of them. */
typedef struct six_part {
    ints byte[SIX_DEPTH][SIX_QUARTERS];
    words32 less
        [SIX_DEPTH]; /* half of what is taken off: -16 times the sums of the groups, then zeros */
    ints sum[SIX_DEPTH][16];
    uint16_t step[SIX_DEPTH][16];
} six_part;

static void take_part(const row_block *row, ptrdiff_t n, six_part *to)
{
    for (ptrdiff_t b = 0; b < n; b++) {
        memcpy(to->byte[b], row[b].byte, sizeof to->byte[b]);
        to->less[b] = (words32){ 0 };
        memcpy(&to->less[b], row[b].sum, sizeof row[b].sum);
        to->less[b] *= (uint16_t)(-SIX_OFFSET / 2);
    }
}

/* The products of an output with a block, scales included, in 16 parts. */
S2V_INLINE ints dot_sixes(const q6_k_block *w, const ints byte[SIX_QUARTERS], words32 less)
{
    /* Scales of quarters 0 and 1, then of 2 and 3: of each two products, in the order of join_words(). */
    const words32 first = { 0, 0, 0, 0, 4, 4, 4, 4, 1, 1, 1, 1, 5, 5, 5, 5,
                            2, 2, 2, 2, 6, 6, 6, 6, 3, 3, 3, 3, 7, 7, 7, 7 };
    const words32 scales = words_of_signed(w->scale);
    ints four[SIX_QUARTERS], sum = { 0 };
    for (int t = 0; t < SIX_QUARTERS; t++)
        four[t] = (ints)_mm512_dpbusd_epi32((__m512i)(ints){ 0 }, (__m512i)sixes_of(w, t),
                                            (__m512i)byte[t]);
    for (int i = 0; i < 2; i++)
        sum = (ints)_mm512_dpwssd_epi32((__m512i)sum, (__m512i)scales, (__m512i)less);
    for (int t = 0; t < SIX_QUARTERS; t += 2)
        sum = (ints)_mm512_dpwssd_epi32((__m512i)sum, (__m512i)join_words(four[t], four[t + 1]),
                                        (__m512i)look_up(scales, first + (uint16_t)(4 * t)));
    return sum;
}

/* Output after output, so that weights are read in order, and prefetched before the hardware would. */
static void dot_part(const six_source *from, ptrdiff_t first, ptrdiff_t n, six_part *part)
{
    for (int i = 0; i < 16; i++)
        for (ptrdiff_t b = 0; b < n; b++) {
            const q6_k_block *w = &from->row[i][first + b];
            for (size_t at = 0; at < sizeof *w; at += 64)
                __builtin_prefetch((const char *)(w + SIX_AHEAD) + at, 0, 2);
            part->step[b][i] = w->step;
            part->sum[b][i] = dot_sixes(w, part->byte[b], part->less[b]);
        }
}

/* Outputs [at, at + 16) of one row, of which the first n are stored. */
static void dot_sixteen(const s2k_weights *w, const row_block *row, int32_t at, int32_t n,
                        float *out)
{
    const six_source from = six_source_of(w, at);
    six_part part;
    lanes sum = { 0 };
    for (ptrdiff_t b = 0; b < from.n_blocks; b += SIX_DEPTH) {
        const ptrdiff_t n_here = from.n_blocks - b < SIX_DEPTH ? from.n_blocks - b : SIX_DEPTH;
        take_part(row + b, n_here, &part);
        dot_part(&from, b, n_here, &part);
        for (ptrdiff_t i = 0; i < n_here; i++) {
            ints half[2];
            sum_halves(part.sum[i], &half[0], &half[1]);
            sum = add_product(float_of_ints(half[0] + half[1]),
                              load_f16(part.step[i]) * all(row[b + i].step), sum);
        }
    }
    store_some(out, sum, n);
}

static void multiply_q6_one(const s2k_weights *w, const row_block *row, int32_t first, int32_t last,
                            float *out)
{
    for (int32_t at = first; at < last; at += 16) dot_sixteen(w, row, at, last - at, out + at);
}

#endif /* S2_KERNELS_SIXES_VNNI_H */
