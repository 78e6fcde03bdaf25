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
#include "engine/vision/kernels/product_text.h"

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

/* The step of n numbers: NaN if one of them is no number, 0 if all are next to nothing. */
static float step_of(const float *x, int32_t n)
{
    lanes most = { 0 }, poison = { 0 };
    for (int32_t i = 0; i < n; i += WIDTH) {
        const lanes v = load_some(x + i, n - i);
        most = larger(most, (lanes)((bits)v & 0x7fffffffu));
        poison += v * all(0.0f);
    }
    const float step = largest_of(most) / 127.0f + sum_of(poison);
    return step < 0x1p-100f ? 0.0f : step;
}

#if STEP == 4
typedef uint8_t narrow __attribute__((vector_size(WIDTH)));
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

/* One column of a panel: weights as bytes, their sums by slab, their step. */
static void column_pack(const s2v_packed *w, const void *row, s2v_element type, char *words,
                        int32_t *sums, float *step)
{
    float most = 0.0f;
    for (int32_t k = 0; k < w->k; k++) {
        const float size = fabsf(s2v_element_at(row, type, k));
        if (!(size <= most)) most = size;
        if (!isfinite(size)) most = NAN;
        if (isnan(most)) break;
    }
    *step = most / 127.0f < 0x1p-100f ? 0.0f : most / 127.0f;
    const float inverse = *step > 0.0f ? 1.0f / *step : 0.0f;
    for (int32_t k = 0; k < w->k; k++) {
        const float q = isnan(most) ? 0.0f : rintf(s2v_element_at(row, type, k) * inverse);
        words[(ptrdiff_t)(k / STEP) * PANEL * STEP + k % STEP] = (char)(int8_t)q;
        sums[k / (SLAB * STEP) * PANEL] += OFFSET * (int32_t)q;
    }
}

static void int8_pack(const s2v_packed *w, const s2v_source *source, int32_t first, int32_t last)
{
    panels_begin(w, first, last);
    const int32_t words = INT8_WORDS(w->k), n_slabs = (words + SLAB - 1) / SLAB;
    for (int32_t panel = first; panel < last; panel++) {
        char *out = (char *)w->data + (size_t)panel * panel_bytes(w->type, w->k);
        memset(out, 0, panel_bytes(w->type, w->k));
        int32_t *sums = (int32_t *)(void *)(out + (size_t)words * PANEL * STEP);
        float *steps = (float *)(void *)(sums + n_slabs * PANEL);
        for (int32_t c = 0; c < PANEL; c++) {
            const int32_t r = column_source(w, panel, c);
            if (r < 0) continue;
            column_pack(w, s2v_source_row(source, w->n, w->k, r), source->type, out + c * STEP,
                        sums + c, steps + c);
        }
    }
}

/* What the including file defines: sums [ROWS][PANEL] of ROWS rows from r on. */
static void slab_integers(const slab_job *job, int32_t r, int32_t *sums);

static void slab_add(const slab_job *job)
{
    const int32_t *offset = (const int32_t *)(const void *)job->tail + job->slab * PANEL;
    const float *step = (const float *)(const void *)job->tail + job->n_slabs * PANEL;
    _Alignas(64) int32_t whole[ROWS * PANEL];
    for (int32_t r = 0; r < job->n; r += ROWS) {
        fetch_next(job, r);
        if (job->ends) fetch_ends(job, r);
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
