/* int8_text.h - products of whole numbers from -127 to 127, summed exactly in 32 bits.
 *
 * A row of weights shares one step, its largest size / 127; a row of activations one step for each
 * slab, so that a large value coarsens SLAB * STEP inputs and not all. Both round to nearest. With
 * s and t the steps of a row's slab and of the weights, an output is off by at most
 *     sum over k of  (s |w| + t |x|) / 2 + s t / 4
 * beyond the float32 bound, usually by the square root of k of these. Numbers below 2^-100 count as
 * zero. A NaN or an infinity makes the step NaN, and with it the row or the column.
 *
 * The including file says STEP, the inputs in a word (4 bytes, or 2 of 16 bits), OFFSET, which is
 * added to activations where the unit wants them unsigned, and WORDS_UNIT, of which the words of a
 * row are a multiple; later it defines slab_integers. Behind the words of a panel follow, for each
 * slab, OFFSET times the sum of each column's weights as int32 [n_slabs][PANEL], then the steps
 * [PANEL].
 */
#ifndef ROW_START
#define PITCH (SLAB + 16) /* not a multiple of the page */
#define ROW_START(i) ((ptrdiff_t)(i)*PITCH)
#define UNIT_PITCH WORDS_UNIT
#endif
#include "kernels/tower/product_text.h"

_Static_assert(SLAB % WORDS_UNIT == 0, "slabs of whole units");
_Static_assert((127 + OFFSET) * 127ll * SLAB * STEP < 1ll << 31, "sums fit 32 bits");

#define INT8_WORDS(k) (((k) + STEP * WORDS_UNIT - 1) / (STEP * WORDS_UNIT) * WORDS_UNIT)

static int32_t row_words(int32_t k) { return INT8_WORDS(k); }

static s2v_element int8_stored(s2v_element source)
{
    (void)source;
    return S2V_ELEMENT_I8;
}

static size_t word_bytes(s2v_element type) /* weights are bytes also where rows are not */
{
    (void)type;
    return STEP;
}

static size_t panel_tail_bytes(int32_t k)
{
    return (size_t)((INT8_WORDS(k) + SLAB - 1) / SLAB + 1) * PANEL * 4;
}

typedef struct largest_so_far {
    lanes most, poison; /* poison: zeros, or NaN where there was no number */
} largest_so_far;

S2V_INLINE void look_at(largest_so_far *l, lanes v)
{
    l->most = larger(l->most, (lanes)((bits)v & 0x7fffffffu));
    l->poison += v * all(0.0f);
}

/* The step of the numbers looked at: NaN if one of them is none, 0 if all are next to nothing. */
S2V_INLINE float step_from(const largest_so_far *l)
{
    const float step = largest_of(l->most) / 127.0f + sum_of(l->poison);
    return step < 0x1p-100f ? 0.0f : step;
}

static float step_of(const float *x, int32_t n)
{
    largest_so_far most = { { 0 }, { 0 } };
    for (int32_t i = 0; i < n; i += WIDTH) look_at(&most, load_some(x + i, n - i));
    return step_from(&most);
}

typedef uint8_t bytes __attribute__((vector_size(WIDTH)));
#if STEP == 4
typedef bytes narrow;
#else
typedef int16_t narrow __attribute__((vector_size(WIDTH * 2)));
#endif

static void row_store(const float *row, int32_t k, uint32_t *out, float *scales)
{
    const int32_t inputs = SLAB * STEP;
    for (int32_t at = 0; at < k; at += inputs, out += (ptrdiff_t)BLOCK * PITCH, scales += BLOCK) {
        const int32_t n = k - at < inputs ? k - at : inputs;
        const float step = step_of(row + at, n), inverse = step > 0.0f ? 1.0f / step : 0.0f;
        const lanes magic = all(12582912.0f);   /* leaves the rounded number in the low bits */
        const int32_t unit = STEP * WORDS_UNIT; /* inputs */
        for (int32_t i = 0; i < STEP * INT8_WORDS(n); i += WIDTH) {
            const lanes v = i < n ? load_some(row + at + i, n - i) : (lanes){ 0 };
            const bits q = (bits)(v * all(inverse) + magic) - (0x4b400000u - OFFSET);
            const narrow packed = __builtin_convertvector(q, narrow);
            memcpy((char *)(out + (ptrdiff_t)(i / unit) * UNIT_PITCH) + i % unit * (4 / STEP),
                   &packed, sizeof packed);
        }
        *scales = step;
    }
}

/* WIDTH inputs of a row of weights from k on, zeros after its n. */
S2V_INLINE lanes inputs_at(const char *row, const s2v_element type, int32_t k, int32_t n)
{
    const uint16_t *half = (const uint16_t *)(const void *)row + k;
    const float *whole = (const float *)(const void *)row + k;
    if (n - k >= WIDTH)
        return type == S2V_ELEMENT_F32   ? load(whole)
               : type == S2V_ELEMENT_F16 ? load_f16(half)
                                         : load_bf16(half);
    lanes v = { 0 };
    for (int32_t i = 0; k + i < n; i++) v[i] = s2v_element_at(row, type, k + i);
    return v;
}

S2V_INLINE float column_step(const char *row, const s2v_element type, int32_t n)
{
    largest_so_far most = { { 0 }, { 0 } };
    for (int32_t k = 0; k < n; k += WIDTH) look_at(&most, inputs_at(row, type, k, n));
    return step_from(&most);
}

#define GROUP (4 * WIDTH) /* inputs of a column that are laid out together */
_Static_assert(SLAB *STEP % GROUP == 0 && WORDS_UNIT * STEP % GROUP == 0, "whole groups");

/* GROUP inputs of WIDTH columns, transposed. Of two-byte words (STEP 2) two are one until stored. */
static void group_store(const uint8_t group[WIDTH][GROUP], char *to)
{
    lanes square[WIDTH];
    for (int32_t i = 0; i < WIDTH; i++) memcpy(&square[i], group[i], sizeof square[i]);
    transpose_square(square);
    for (int32_t i = 0; i < WIDTH; i++) {
#if STEP == 4
        memcpy(to + (ptrdiff_t)i * PANEL * 4, &square[i], sizeof square[i]);
#else
        const halves even = __builtin_convertvector((bits)square[i] & 0xffffu, halves);
        const halves odd = __builtin_convertvector((bits)square[i] >> 16, halves);
        memcpy(to + (ptrdiff_t)i * PANEL * 4, &even, sizeof even);
        memcpy(to + (ptrdiff_t)i * PANEL * 4 + PANEL * 2, &odd, sizeof odd);
#endif
    }
}

/* Rounded to bytes; returns their sum, which is anything where a number is none. */
S2V_INLINE uint32_t group_round(const char *row, const s2v_element type, int32_t k, int32_t n,
                                float inverse, uint8_t out[GROUP])
{
    bits sum = { 0 };
    for (int32_t i = 0; i < GROUP; i += WIDTH) {
        const lanes v = k + i < n ? inputs_at(row, type, k + i, n) : (lanes){ 0 };
        const bits q = (bits)(v * all(inverse) + all(12582912.0f)) - 0x4b400000u; /* as row_store */
        const bytes packed = __builtin_convertvector(q, bytes);
        memcpy(out + i, &packed, sizeof packed);
        sum += q;
    }
    uint32_t total = 0;
    for (int i = 0; i < WIDTH; i++) total += sum[i];
    return total;
}

/* WIDTH columns of a panel from c on: weights as bytes, OFFSET times their sums by slab, their steps.
 * all_of: the type of all columns unless they are mixed, known where this is called. */
S2V_INLINE void columns_pack(const s2v_packed *w, const s2v_source *source, int32_t panel,
                             int32_t c, const s2v_element all_of, const bool are_mixed)
{
    const int32_t inputs = STEP * INT8_WORDS(w->k), n_slabs = (inputs / STEP + SLAB - 1) / SLAB;
    char *out = (char *)w->data + (size_t)panel * panel_bytes(w->type, w->k);
    uint32_t *sums = (uint32_t *)(void *)(out + (size_t)inputs * PANEL);
    float *steps = (float *)(void *)(sums + n_slabs * PANEL), inverse[WIDTH];
    const char *row[WIDTH];
    s2v_element type[WIDTH];
    uint8_t group[WIDTH][GROUP] = { { 0 } };
    for (int32_t i = 0; i < WIDTH; i++) {
        row[i] = column_row(w, source, panel, c + i, &type[i]);
        steps[c + i] = row[i] ? column_step(row[i], are_mixed ? type[i] : all_of, w->k) : 0.0f;
        inverse[i] = steps[c + i] > 0.0f ? 1.0f / steps[c + i] : 0.0f;
        for (int32_t s = 0; s < n_slabs; s++) sums[s * PANEL + c + i] = 0;
    }
    for (int32_t k = 0; k < inputs; k += GROUP) {
        uint32_t *sum = sums + k / (SLAB * STEP) * PANEL + c;
        for (int32_t i = 0; i < WIDTH; i++)
            if (row[i])
                sum[i] += OFFSET * group_round(row[i], are_mixed ? type[i] : all_of, k, w->k,
                                               inverse[i], group[i]);
        group_store((const uint8_t(*)[GROUP])group, out + (ptrdiff_t)k * PANEL + c * STEP);
    }
}

static void int8_pack(const s2v_packed *w, const s2v_source *source, int32_t first, int32_t last)
{
    panels_begin(w, first, last);
    for (int32_t panel = first; panel < last; panel++)
        for (int32_t c = 0; c < PANEL; c += WIDTH)
            if (s2v_source_is(source, S2V_ELEMENT_F16))
                columns_pack(w, source, panel, c, S2V_ELEMENT_F16, false);
            else if (s2v_source_is(source, S2V_ELEMENT_BF16))
                columns_pack(w, source, panel, c, S2V_ELEMENT_BF16, false);
            else if (s2v_source_is(source, S2V_ELEMENT_F32))
                columns_pack(w, source, panel, c, S2V_ELEMENT_F32, false);
            else
                columns_pack(w, source, panel, c, S2V_ELEMENT_F32, true);
}

/* What the including file defines: sums [ROWS][PANEL] of ROWS rows from r on. */
static void slab_integers(const slab_job *job, int32_t r, int32_t *sums);

static void slab_add(const slab_job *job)
{
    const int32_t *offset = (const int32_t *)(const void *)job->tail + job->slab * PANEL;
    const float *step = (const float *)(const void *)job->tail + job->n_slabs * PANEL;
    _Alignas(64) int32_t whole[ROWS * PANEL];
    for (int32_t r = 0; r < job->n; r += ROWS) {
#ifndef ASKS_BY_ITSELF
        fetch_next(job, r);
        if (job->ends) fetch_ends(job, r);
#endif
        slab_integers(job, r, whole);
        for (int32_t v = 0; v < PANEL; v += WIDTH) {
            const ints minus = load_ints(offset + v);
            const lanes steps = load(step + v);
            for (int32_t i = 0; i < ROWS; i++) {
                const ints sum = load_ints(whole + i * PANEL + v) - minus;
                const lanes value =
                    __builtin_convertvector(sum, lanes) * (steps * job->scales[r + i]);
                float *to = job->sums + (r + i) * PANEL + v;
                store(to, job->adds ? load(to) + value : value);
            }
        }
        if (job->ends) rows_finish(job, r);
    }
}
