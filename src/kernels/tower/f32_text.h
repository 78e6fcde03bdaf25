/* f32_text.h - products in float32: a word is a float, weights keep the type of the file.
 *
 * The inner loop holds ROWS x 2 vectors of sums, reads two vectors of weights and ROWS floats of
 * rows per step, and does 2 ROWS fused multiply-adds with them: on x86-64 with AVX2 12 sums, two
 * weights and one float are 15 of the 16 registers. Packed rows lie as they are read, the same k of
 * ROWS rows side by side: one stream, which the machine fetches ahead also from the third-level
 * cache. A file may bring MULTIPLY_FOUR(sum, a, is_packed, b, fours), four steps per iteration, for rows
 * that lie so and for rows KEYS floats apart (attention); it moves a and b on.
 *
 * Halves are widened when a slab of a panel comes in: once for all rows of the block.
 */
#ifndef ROW_NUMBER
#define ROW_NUMBER(x) (x) /* as a row has it; a file that rounds says how, and packs by itself */
#define PACKS_AS_IS
#endif
#define PITCH SLAB
#define ROW_START(i) ((ptrdiff_t)(i) / ROWS * ROWS * PITCH + (i) % ROWS)
#include "kernels/tower/product_text.h"

static int32_t row_words(int32_t k) { return k; }

static void row_store(const float *row, int32_t k, uint32_t *out, float *scales)
{
    (void)scales;
    for (int32_t at = 0; at < k; at += SLAB, out += (ptrdiff_t)BLOCK * PITCH) {
        const int32_t n = k - at < SLAB ? k - at : SLAB;
        for (int32_t i = 0; i < n; i++) {
            const float x = ROW_NUMBER(row[at + i]);
            memcpy(out + (ptrdiff_t)i * ROWS, &x, sizeof x);
        }
    }
}

static size_t word_bytes(s2v_element type) { return type == S2V_ELEMENT_F32 ? 4 : 2; }

static size_t panel_tail_bytes(int32_t k)
{
    (void)k;
    return 0;
}

#ifdef PACKS_AS_IS
static s2v_element f32_stored(s2v_element source)
{
    return s2v_is_quantized(source) ? S2V_ELEMENT_F32 : source;
}

/* WIDTH words of a row from byte `at` on, zeros after its n bytes. */
S2V_INLINE lanes words_at(const char *row, int32_t at, int32_t n)
{
    lanes v = { 0 };
    if (!row) return v;
    if (n - at >= (int32_t)sizeof v)
        memcpy(&v, row + at, sizeof v);
    else
        memcpy(&v, row + at, (size_t)(n - at));
    return v;
}

/* Squares of WIDTH columns by WIDTH words are transposed on their way. Two halves are one word until they
 * are stored. size: of an element, known where this is called. */
S2V_INLINE void panel_pack(const s2v_packed *w, const s2v_source *source, int32_t panel, char *out,
                           const int32_t size)
{
    const int32_t n = w->k * size;
    for (int32_t c = 0; c < PANEL; c += WIDTH) {
        const char *row[WIDTH];
        s2v_element type;
        for (int32_t i = 0; i < WIDTH; i++) row[i] = column_row(w, source, panel, c + i, &type);
        for (int32_t at = 0; at < n; at += 4 * WIDTH) {
            lanes square[WIDTH];
            for (int32_t i = 0; i < WIDTH; i++) square[i] = words_at(row[i], at, n);
            transpose_square(square);
            for (int32_t i = 0; i < WIDTH && at + 4 * i < n; i++) {
                char *to = out + (ptrdiff_t)(at + 4 * i) * PANEL + (ptrdiff_t)c * size;
                if (size == 4) {
                    memcpy(to, &square[i], sizeof square[i]);
                    continue;
                }
                const halves even = __builtin_convertvector((bits)square[i] & 0xffffu, halves);
                const halves odd = __builtin_convertvector((bits)square[i] >> 16, halves);
                memcpy(to, &even, sizeof even);
                if (at + 4 * i + 2 < n) memcpy(to + PANEL * 2, &odd, sizeof odd);
            }
        }
    }
}

/* Inputs of quantized or of various types, as floats. */
static void f32_group(const s2v_packed *w, char *panel, int32_t c, int32_t k,
                      float group[WIDTH][S2V_QUANT])
{
    float *to = (float *)(void *)panel + (ptrdiff_t)k * PANEL + c;
    for (int32_t at = 0; at < S2V_QUANT; at += WIDTH) {
        lanes square[WIDTH];
        for (int32_t i = 0; i < WIDTH; i++) square[i] = load(group[i] + at);
        transpose_square(square);
        for (int32_t i = 0; i < WIDTH && k + at + i < w->k; i++)
            store(to + (ptrdiff_t)(at + i) * PANEL, square[i]);
    }
}

static void f32_pack(const s2v_packed *w, const s2v_source *source, int32_t first, int32_t last)
{
    panels_begin(w, first, last);
    for (int32_t panel = first; panel < last; panel++) {
        char *out = (char *)w->data + (size_t)panel * panel_bytes(w->type, w->k);
        if (w->type != S2V_ELEMENT_F32)
            panel_pack(w, source, panel, out, 2);
        else if (s2v_source_is(source, S2V_ELEMENT_F32))
            panel_pack(w, source, panel, out, 4);
        else
            panel_unpack(w, source, panel, f32_group);
    }
}
#endif

/* sums [ROWS][n_vectors] (+)= rows a, a_row floats apart, their elements a_step, times weights b,
 * b_step apart. */
S2V_INLINE void multiply(const float *a, const ptrdiff_t a_row, const ptrdiff_t a_step,
                         const float *b, const ptrdiff_t b_step, int32_t steps, const int n_vectors,
                         const bool adds, float *sums, const ptrdiff_t pitch)
{
    lanes sum[ROWS][2];
    for (int r = 0; r < ROWS; r++)
        for (int v = 0; v < n_vectors; v++)
            sum[r][v] = adds ? load(sums + r * pitch + v * WIDTH) : (lanes){ 0 };
#ifdef MULTIPLY_FOUR
    const bool is_packed = a_row == 1 && a_step == ROWS, is_apart = a_row == KEYS && a_step == 1;
    if (n_vectors == 2 && (is_packed || is_apart) && b_step == PANEL && steps >= 4) {
        const int32_t fours = steps / 4;
        MULTIPLY_FOUR(sum, a, is_packed, b, fours);
        steps -= 4 * fours;
    }
#endif
    for (int32_t k = 0; k < steps; k++, a += a_step, b += b_step) {
        lanes w[2];
        for (int v = 0; v < n_vectors; v++) w[v] = load(b + v * WIDTH);
        for (int r = 0; r < ROWS; r++) {
            const lanes x = all(a[r * a_row]);
            for (int v = 0; v < n_vectors; v++) sum[r][v] += x * w[v];
        }
    }
    for (int r = 0; r < ROWS; r++)
        for (int v = 0; v < n_vectors; v++) store(sums + r * pitch + v * WIDTH, sum[r][v]);
}

static const float *slab_floats(const slab_job *job)
{
    if (job->type == S2V_ELEMENT_F32) return (const float *)(const void *)job->weights;
    const uint16_t *half = (const uint16_t *)(const void *)job->weights;
    for (int32_t i = 0; i < job->words * PANEL; i += WIDTH)
        store(job->widened + i,
              job->type == S2V_ELEMENT_F16 ? load_f16(half + i) : load_bf16(half + i));
    return job->widened;
}

static void slab_add(const slab_job *job)
{
    const float *weights = slab_floats(job), *rows = (const float *)(const void *)job->rows;
    for (int32_t r = 0; r < job->n; r += ROWS) {
        const float *a = rows + ROW_START(r);
        float *sums = job->sums + r * PANEL;
        fetch_next(job, r);
        if (job->ends) fetch_ends(job, r);
        if (job->adds)
            multiply(a, 1, ROWS, weights, PANEL, job->words, 2, true, sums, PANEL);
        else
            multiply(a, 1, ROWS, weights, PANEL, job->words, 2, false, sums, PANEL);
        if (job->ends) rows_finish(job, r);
    }
}
