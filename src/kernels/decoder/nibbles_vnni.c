/* nibbles_vnni.c - Q4_K in panels of 32 outputs by AVX-512 VNNI, with the bits of bytes_avx2.c.
 *
 * The rows are those of bytes_avx2.c, and so is every number: products of a group of 32 are summed as
 * whole numbers, times the group's scale, eight groups to a block; then steps, then mins. Only the unit
 * differs: a block of 32 outputs is unpacked once for all rows, the same four inputs of 16 outputs in a
 * vector, so that one instruction multiplies 64 weights and nothing is summed across a vector. ggml has
 * interleaved eight outputs, eight bytes of each: a vector takes the even words of two, or the odd ones.
 *
 * Six rows are multiplied at a time: 12 sums of a group, 12 of a block. Q6_K is in sixes_vnni.h. Few rows,
 * whose products would cost less than unpacking does, are left to bytes_avx2.c, but for one of Q6_K.
 */
#include "kernels/decoder/products.h"
#include "kernels/decoder/row_bytes.h"
#include "kernels/decoder/sixes_vnni.h"
#include "kernels/decoder/wide_blocks.h"

#define OUTPUTS 32 /* of a panel: two vectors */
#define ROWS 6
#ifdef S2V_EMULATE_AVX512
#define FEW_ROWS 0 /* the test of this file is about this file */
#define SIX_FEW_ROWS 0
#else
#define FEW_ROWS 3
#define SIX_FEW_ROWS 8
#endif
#define GROUPS 8
#define WORDS 8 /* of four inputs, in a group */

_Static_assert(OUTPUTS == S2K_GRAIN, "pieces are whole panels");

typedef int16_t words16 __attribute__((vector_size(32)));
typedef int16_t words8 __attribute__((vector_size(16)));

typedef struct
    panel_block { /* S2K_BLOCK weights of 32 outputs; value = step scale byte - min_step min */
    uint8_t byte[GROUPS][WORDS][2][64];
    int32_t scale[GROUPS][2][16];
    int32_t mins[GROUPS / 2][2][16]; /* of two groups in 16 bits each */
    float step[2][16], min_step[2][16];
} panel_block;

/* --- weights ---------------------------------------------------------------------------------- */

S2V_INLINE ints ints_of_bytes(bytes16 v)
{
#if defined(__AVX512BW__)
    return (ints)_mm512_cvtepu8_epi32((__m128i)v);
#else
    return __builtin_convertvector(v, ints);
#endif
}

S2V_INLINE lanes steps_of(const uint16_t low[8], const uint16_t high[8])
{
    uint16_t both[16];
    memcpy(both, low, 8 * sizeof *low);
    memcpy(both + 8, high, 8 * sizeof *high);
    return load_f16(both);
}

/* Scales and mins of a group, of eight outputs and of eight more. */
S2V_INLINE void take_scales(const q4_k_by_8_block *const w[2], int g, ints *scale, ints *min)
{
    uint32_t scales[4], mins[4];
    for (int h = 0; h < 2; h++) {
        uint32_t x[3];
        memcpy(x, w[h]->scales[g], sizeof x);
        scales[2 * h] = x[0] & 0x3f3f3f3f;
        scales[2 * h + 1] = (x[2] & 0x0f0f0f0f) | (x[0] >> 6 & 0x03030303) << 4;
        mins[2 * h] = x[1] & 0x3f3f3f3f;
        mins[2 * h + 1] = (x[2] >> 4 & 0x0f0f0f0f) | (x[1] >> 6 & 0x03030303) << 4;
    }
    bytes16 packed;
    memcpy(&packed, scales, sizeof packed);
    *scale = ints_of_bytes(packed);
    memcpy(&packed, mins, sizeof packed);
    *min = ints_of_bytes(packed);
}

/* The bytes of two groups, whose nibbles lie together. */
S2V_INLINE void take_bytes(const q4_k_by_8_block *const w[2], int pair, int v, panel_block *to)
{
    for (int c = 0; c < WORDS / 2; c++) {
        const bits a = (bits)load_ints(w[0]->nibbles[4 * pair + c]);
        const bits b = (bits)load_ints(w[1]->nibbles[4 * pair + c]);
        const bits even = __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22,
                                                  24, 26, 28, 30);
        const bits odd = __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23,
                                                 25, 27, 29, 31);
        const bits mask = 0x0f0f0f0fu - (bits){ 0 };
        store_ints(to->byte[2 * pair][2 * c][v], (ints)(even & mask));
        store_ints(to->byte[2 * pair][2 * c + 1][v], (ints)(odd & mask));
        store_ints(to->byte[2 * pair + 1][2 * c][v], (ints)(even >> 4 & mask));
        store_ints(to->byte[2 * pair + 1][2 * c + 1][v], (ints)(odd >> 4 & mask));
    }
}

/* Block b of the outputs from `at` on; eights past the last are the last again. */
static void fill(const s2k_weights *weights, int32_t at, int32_t b, panel_block *to)
{
    const int32_t n_blocks = weights->k / S2K_BLOCK, last = weights->n / 8 - 1;
    for (int v = 0; v < 2; v++) {
        const q4_k_by_8_block *w[2];
        for (int h = 0; h < 2; h++) {
            const int32_t eight = at / 8 + 2 * v + h;
            w[h] = (const q4_k_by_8_block *)weights->data +
                   (ptrdiff_t)(eight < last ? eight : last) * n_blocks + b;
        }
        store(to->step[v], steps_of(w[0]->step, w[1]->step));
        store(to->min_step[v], steps_of(w[0]->min_step, w[1]->min_step));
        for (int pair = 0; pair < GROUPS / 2; pair++) {
            ints scale, min[2];
            for (int g = 0; g < 2; g++) {
                take_scales(w, 2 * pair + g, &scale, &min[g]);
                store_ints(to->scale[2 * pair + g][v], scale);
            }
            store_ints(to->mins[pair][v], min[0] | min[1] << 16);
            take_bytes(w, pair, v, to);
        }
    }
}

/* --- products --------------------------------------------------------------------------------- */

S2V_INLINE ints word_at(const void *p)
{
    int32_t word;
    memcpy(&word, p, sizeof word);
    return word - (ints){ 0 };
}

/* The sums of the bytes of each group, two groups in a word. */
S2V_INLINE void group_sums(const row_block *row, int32_t pair[GROUPS / 2])
{
    words16 s;
    memcpy(&s, row->sum, sizeof s);
    const words8 sums = __builtin_shufflevector(s, s, 0, 2, 4, 6, 8, 10, 12, 14) +
                        __builtin_shufflevector(s, s, 1, 3, 5, 7, 9, 11, 13, 15);
    memcpy(pair, &sums, sizeof sums);
}

/* A block of n rows into their sums, [n][32]. */
S2V_INLINE void multiply_rows(const panel_block *w, const row_block *rows, ptrdiff_t row_pitch,
                              const int n, bool is_first, float *sums)
{
    ints total[ROWS][2];
    for (int r = 0; r < n; r++) total[r][0] = total[r][1] = (ints){ 0 };
    for (int g = 0; g < GROUPS; g++) {
        ints whole[ROWS][2];
        for (int r = 0; r < n; r++) whole[r][0] = whole[r][1] = (ints){ 0 };
        for (int i = 0; i < WORDS; i++) {
            const ints of[2] = { load_ints(w->byte[g][i][0]), load_ints(w->byte[g][i][1]) };
            for (int r = 0; r < n; r++) {
                const ints x = word_at(rows[r * row_pitch].byte + 32 * g + 4 * i);
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
        int32_t pair[GROUPS / 2];
        group_sums(row, pair);
        for (int v = 0; v < 2; v++) {
            float *to = sums + r * OUTPUTS + 16 * v;
            ints mins = { 0 };
            for (int p = 0; p < GROUPS / 2; p++)
                mins = (ints)_mm512_dpwssd_epi32((__m512i)mins, (__m512i)load_ints(w->mins[p][v]),
                                                 (__m512i)word_at(&pair[p]));
            lanes sum = is_first ? (lanes){ 0 } : load(to);
            sum = add_product(float_of_ints(total[r][v]), load(w->step[v]) * all(row->step), sum);
            sum = add_product(-float_of_ints(mins), load(w->min_step[v]) * all(row->step), sum);
            store(to, sum);
        }
    }
}

/* A function of its own for each number of rows: their sums stay in registers. */
static void multiply_block(const panel_block *w, const row_block *rows, ptrdiff_t pitch, int32_t n,
                           bool is_first, float *sums)
{
    if (n == 6) multiply_rows(w, rows, pitch, 6, is_first, sums);
    if (n == 5) multiply_rows(w, rows, pitch, 5, is_first, sums);
    if (n == 4) multiply_rows(w, rows, pitch, 4, is_first, sums);
    if (n == 3) multiply_rows(w, rows, pitch, 3, is_first, sums);
    if (n == 2) multiply_rows(w, rows, pitch, 2, is_first, sums);
    if (n == 1) multiply_rows(w, rows, pitch, 1, is_first, sums);
}

static size_t scratch_bytes(int32_t k, int32_t m)
{
    const size_t panel =
        sizeof(panel_block) > sizeof(six_panel) ? sizeof(panel_block) : sizeof(six_panel);
    (void)k;
    return panel + (size_t)m * OUTPUTS * sizeof(float);
}

static void multiply_q4(const s2k_weights *w, const row_block *rows, int32_t m, int32_t first,
                        int32_t last, float *out, ptrdiff_t pitch, panel_block *panel)
{
    const int32_t n_blocks = w->k / S2K_BLOCK;
    float *sums = (float *)(panel + 1); /* [m][32] */
    for (int32_t at = first; at < last; at += OUTPUTS) {
        for (int32_t b = 0; b < n_blocks; b++) {
            fill(w, at, b, panel);
            for (int32_t r = 0; r < m; r += ROWS)
                multiply_block(panel, rows + (ptrdiff_t)r * n_blocks + b, n_blocks,
                               m - r < ROWS ? m - r : ROWS, b == 0, sums + r * OUTPUTS);
        }
        const int32_t n = last - at < OUTPUTS ? last - at : OUTPUTS;
        for (int32_t r = 0; r < m; r++)
            memcpy(out + r * pitch + at, sums + r * OUTPUTS, (size_t)n * sizeof *out);
    }
}

static size_t rows_bytes(int32_t k, int32_t m) { return s2k_bytes_avx2.rows_bytes(k, m); }

static void pack_rows(const float *x, ptrdiff_t pitch, int32_t k, int32_t m, int32_t first,
                      int32_t last, void *out)
{
    s2k_bytes_avx2.pack_rows(x, pitch, k, m, first, last, out);
}

static void product(const s2k_weights *w, const void *rows, int32_t m, int32_t first, int32_t last,
                    float *out, ptrdiff_t pitch, void *scratch)
{
    if (w->format == S2K_Q4_K_BY_8 && m > FEW_ROWS)
        multiply_q4(w, rows, m, first, last, out, pitch, scratch);
    else if (w->format == S2K_Q6_K && m == 1)
        multiply_q6_one(w, rows, first, last, out);
    else if (w->format == S2K_Q6_K && m > SIX_FEW_ROWS)
        multiply_q6(w, rows, m, first, last, out, pitch, scratch);
    else
        s2k_bytes_avx2.product(w, rows, m, first, last, out, pitch, scratch);
}

static bool runs(const s2_cpu *cpu) { return cpu->avx512_vnni && s2_cpu_has_avx2_set(cpu); }

const s2k_products s2k_nibbles_vnni = {
    .name = "nibbles-vnni",
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
    .scratch = scratch_bytes,
    .product = product,
};
