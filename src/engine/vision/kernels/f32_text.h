/* f32_text.h - products in float32: a word is a float, weights keep the type of the file.
 *
 * The inner loop holds ROWS x 2 vectors of sums, reads two vectors of weights and ROWS floats of
 * rows per step, and does 2 ROWS fused multiply-adds with them: on x86-64 with AVX2 12 sums, two
 * weights and one float are 15 of the 16 registers. Rows are not transposed: at a fixed PITCH the
 * address of each is a constant away from the first.
 *
 * STEPS of a panel, [STEPS][PANEL] floats, are kept in the first-level cache while all rows of the
 * block pass by. Halves are widened when they come in.
 */
#include "engine/vision/kernels/product_text.h"

static int32_t row_words(int32_t k) { return k; }

static void row_store(const float *row, int32_t k, uint32_t *out, float *scales)
{
    (void)scales;
    for (int32_t at = 0; at < k; at += SLAB, out += (ptrdiff_t)BLOCK * PITCH)
        memcpy(out, row + at, (size_t)(k - at < SLAB ? k - at : SLAB) * sizeof *row);
}

static size_t element_bytes(s2v_element type) { return type == S2V_ELEMENT_F32 ? 4 : 2; }

static size_t panel_bytes(s2v_element type, int32_t k)
{
    return (size_t)k * PANEL * element_bytes(type);
}

static s2v_element f32_stored(s2v_element source) { return source; }

/* Sixteen k at a time of every column: what is written stays in the cache until it is full. */
static void f32_pack(const s2v_packed *w, const s2v_source *source, int32_t first, int32_t last)
{
    const size_t size = element_bytes(w->type);
    for (int32_t panel = first; panel < last; panel++) {
        char *out = (char *)w->data + (size_t)panel * panel_bytes(w->type, w->k);
        for (int32_t k0 = 0; k0 < w->k; k0 += 16) {
            const int32_t k1 = w->k - k0 < 16 ? w->k : k0 + 16;
            for (int32_t c = 0; c < PANEL; c++) {
                const int32_t r = column_source(w, panel, c);
                const char *row = r < 0 ? NULL : s2v_source_row(source, w->n, w->k, r);
                for (int32_t k = k0; k < k1; k++) {
                    char *to = out + ((size_t)k * PANEL + (size_t)c) * size;
                    if (row)
                        memcpy(to, row + (size_t)k * size, size);
                    else
                        memset(to, 0, size);
                }
            }
        }
    }
}

/* sums [ROWS][n_vectors] (+)= rows a, a_pitch apart, times weights b, b_pitch apart. */
S2V_INLINE void multiply(const float *a, const ptrdiff_t a_pitch, const float *b,
                         const ptrdiff_t b_pitch, int32_t steps, const int n_vectors,
                         const bool adds, float *sums, const ptrdiff_t pitch)
{
    lanes sum[ROWS][2];
    for (int r = 0; r < ROWS; r++)
        for (int v = 0; v < n_vectors; v++)
            sum[r][v] = adds ? load(sums + r * pitch + v * WIDTH) : (lanes){ 0 };
    for (int32_t k = 0; k < steps; k++, a++, b += b_pitch) {
        lanes w[2];
        for (int v = 0; v < n_vectors; v++) w[v] = load(b + v * WIDTH);
        for (int r = 0; r < ROWS; r++) {
            const lanes x = all(a[r * a_pitch]);
            for (int v = 0; v < n_vectors; v++) sum[r][v] += x * w[v];
        }
    }
    for (int r = 0; r < ROWS; r++)
        for (int v = 0; v < n_vectors; v++) store(sums + r * pitch + v * WIDTH, sum[r][v]);
}

/* Steps [k0, k0 + n) of a panel as floats. */
static const float *panel_floats(const s2v_packed *w, const char *panel, int32_t k0, int32_t n,
                                 float *space)
{
    if (w->type == S2V_ELEMENT_F32)
        return (const float *)(const void *)panel + (ptrdiff_t)k0 * PANEL;
    const uint16_t *half = (const uint16_t *)(const void *)panel + (ptrdiff_t)k0 * PANEL;
    for (int32_t i = 0; i < n * PANEL; i += WIDTH)
        store(space + i, w->type == S2V_ELEMENT_F16 ? load_f16(half + i) : load_bf16(half + i));
    return space;
}

static void panel_add(const s2v_packed *w, const layout *l, int32_t slab, int32_t panel,
                      const scratch_of *s, int32_t n, float *sums)
{
    const char *weights = (const char *)w->data + (size_t)panel * panel_bytes(w->type, w->k);
    const float *rows = (const float *)(const void *)s->rows + (ptrdiff_t)slab * BLOCK * PITCH;
    const int32_t end = l->words - slab * SLAB < SLAB ? l->words - slab * SLAB : SLAB;
    for (int32_t k = 0; k < end; k += STEPS) {
        const int32_t steps = end - k < STEPS ? end - k : STEPS;
        const float *b = panel_floats(w, weights, slab * SLAB + k, steps, s->widened);
        if (slab == 0 && k == 0)
            for (int32_t r = 0; r < n; r += ROWS)
                multiply(rows + (ptrdiff_t)r * PITCH, PITCH, b, PANEL, steps, 2, false,
                         sums + r * PANEL, PANEL);
        else
            for (int32_t r = 0; r < n; r += ROWS)
                multiply(rows + (ptrdiff_t)r * PITCH + k, PITCH, b, PANEL, steps, 2, true,
                         sums + r * PANEL, PANEL);
    }
}
