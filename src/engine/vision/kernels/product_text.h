/* product_text.h - the order of a product: blocks of rows, slabs of k, panels of columns.
 *
 * Before this, the including file says
 *     WIDTH    floats in a vector; PANEL = 2 WIDTH columns lie side by side in packed weights
 *     ROWS     rows the inner loop keeps sums for;  BLOCK  rows packed at a time, a multiple
 *     SLAB     words (4 bytes: 1, 2 or 4 elements of a row) of a packed row that stay in the
 *              second-level cache: BLOCK * SLAB * 4 bytes are about half of it
 * and after `layout` it defines
 *     row_words, row_store, panel_bytes, panel_add     (see below)
 *
 * For BLOCK rows: normalise and pack them; for each slab of k, for each panel of weights: add the
 * products to the panel's sums; after the last slab finish the panel: bias, activation, residual,
 * store. With one slab the sums of a panel never leave the first-level cache. Weights stream
 * through once for BLOCK rows.
 */
#include "engine/vision/kernels/rows_text.h"

#define PANEL (2 * WIDTH)
#define PITCH (SLAB + 16) /* words between packed rows: not a multiple of the page */

typedef struct layout {
    int32_t words, n_slabs, n_panels; /* of a row, of a row, of the weights */
    int32_t per_panel;                /* columns of the result a panel makes */
} layout;

typedef struct scratch_of { /* where the parts of the scratch are */
    uint32_t *rows;         /* [n_slabs][BLOCK][PITCH] words */
    float *scales;          /* [n_slabs][BLOCK]: what a packed row is to be multiplied by; int8 */
    float *sums;            /* [n_panels, or 1][BLOCK][PANEL] */
    float *normed;          /* [k] */
    float *widened;         /* a block of a panel as floats; panel_add's own */
} scratch_of;

/* What the including file defines: */
static int32_t row_words(int32_t k);
/* One row into its slabs: out + slab * BLOCK * PITCH, scales + slab * BLOCK. */
static void row_store(const float *row, int32_t k, uint32_t *out, float *scales);
/* Memory of one panel of k inputs. */
static size_t panel_bytes(s2v_element type, int32_t k);
/* sums [n][PANEL] (+)= rows [n] of a slab times its piece of a panel; n: a multiple of ROWS. */
static void panel_add(const s2v_packed *w, const layout *l, int32_t slab, int32_t panel,
                      const scratch_of *s, int32_t n, float *sums);

static layout layout_of(const s2v_packed *w)
{
    layout l = { .words = row_words(w->k) };
    const int32_t columns = w->n * w->n_parts;
    l.n_slabs = (l.words + SLAB - 1) / SLAB;
    l.per_panel = w->is_pair ? WIDTH : PANEL;
    l.n_panels = w->is_pair ? (w->n + WIDTH - 1) / WIDTH : (columns + PANEL - 1) / PANEL;
    return l;
}

static int32_t product_n_panels(const s2v_packed *w) { return layout_of(w).n_panels; }

static size_t product_packed_bytes(const s2v_packed *w)
{
    return (size_t)layout_of(w).n_panels * panel_bytes(w->type, w->k);
}

/* Row of the source behind column c of a panel, -1 past the end. */
static int32_t column_source(const s2v_packed *w, int32_t panel, int32_t c)
{
    if (w->is_pair) {
        const int32_t n = panel * WIDTH + c % WIDTH;
        return n < w->n ? c / WIDTH * w->n + n : -1;
    }
    const int32_t n = panel * PANEL + c;
    return n < w->n * w->n_parts ? n : -1;
}

static size_t scratch_split(const s2v_packed *w, char *memory, scratch_of *s)
{
    const layout l = layout_of(w);
    size_t at = 0;
#define S2V_TAKE(field, n)                                \
    do {                                                  \
        s->field = memory ? (void *)(memory + at) : NULL; \
        at += ((size_t)(n)*4 + 63) / 64 * 64;             \
    } while (0)
    S2V_TAKE(rows, (size_t)l.n_slabs * BLOCK * PITCH);
    S2V_TAKE(scales, (size_t)l.n_slabs * BLOCK);
    S2V_TAKE(sums, (size_t)(l.n_slabs > 1 ? l.n_panels : 1) * BLOCK * PANEL);
    S2V_TAKE(normed, w->k);
    S2V_TAKE(widened, SLAB * PANEL);
#undef S2V_TAKE
    return at;
}

static size_t product_scratch_bytes(const s2v_packed *w)
{
    scratch_of s;
    return scratch_split(w, NULL, &s);
}

/* n rows from row m on, filled up with zeros to a multiple of ROWS. */
static int32_t block_pack(const s2v_product *p, const layout *l, int32_t m, int32_t n,
                          const scratch_of *s)
{
    const int32_t k = p->weights->k, padded = (n + ROWS - 1) / ROWS * ROWS;
    for (int32_t i = 0; i < n; i++) {
        const float *x = p->x + (m + i) * p->x_pitch;
        if (p->norm.kind != S2V_NORM_NONE) {
            row_norm(&p->norm, x, k, s->normed);
            x = s->normed;
        }
        row_store(x, k, s->rows + (ptrdiff_t)i * PITCH, s->scales + i);
    }
    for (int32_t slab = 0; slab < l->n_slabs; slab++) {
        memset(s->rows + ((ptrdiff_t)slab * BLOCK + n) * PITCH, 0,
               (size_t)(padded - n) * PITCH * 4);
        for (int32_t i = n; i < padded; i++) s->scales[slab * BLOCK + i] = 0.0f;
    }
    return padded;
}

S2V_INLINE lanes activate(s2v_activation activation, lanes z, lanes up)
{
    lanes y = z;
    switch (activation) {
    case S2V_GELU_ERF: /* only in projectors: one row in four, once */
        for (int i = 0; i < WIDTH; i++) y[i] = 0.5f * z[i] * (1.0f + erff(z[i] * 0.70710678f));
        return y;
    case S2V_GELU_TANH: /* (1 + tanh t) / 2 = 1 / (1 + exp(-2 t)) */
        return times_sigmoid(z, all(1.5957691f) * (z + all(0.044715f) * z * z * z));
    case S2V_GELU_QUICK:
        return times_sigmoid(z, all(1.702f) * z);
    case S2V_SWIGLU:
        return times_sigmoid(z, z) * up;
    default:
        return z;
    }
}

/* Bias, activation, residual and store of one panel's sums; n rows from row m on. */
static void panel_finish(const s2v_product *p, int32_t n1, int32_t column, int32_t m, int32_t n,
                         const float *sums)
{
    const bool is_pair = p->weights->is_pair;
    for (int32_t v = 0; v < (is_pair ? 1 : 2) && column + v * WIDTH < n1; v++) {
        const int32_t at = column + v * WIDTH, left = n1 - at;
        const lanes bias = p->bias ? load_some(p->bias + at, left) : (lanes){ 0 };
        const lanes bias_up = p->bias_up ? load_some(p->bias_up + at, left) : (lanes){ 0 };
        for (int32_t i = 0; i < n; i++) {
            const lanes z = load(sums + i * PANEL + v * WIDTH) + bias;
            const lanes up = is_pair ? load(sums + i * PANEL + WIDTH) + bias_up : z;
            lanes y = activate(p->activation, z, up);
            if (p->residual) y += load_some(p->residual + (m + i) * p->residual_pitch + at, left);
            store_some(p->out + (m + i) * p->out_pitch + at, y, left);
        }
    }
}

static void product(const s2v_product *p, s2v_part part, void *memory)
{
    const s2v_packed *w = p->weights;
    const layout l = layout_of(w);
    const int32_t first = part.n0 / l.per_panel;
    const int32_t last = (part.n1 + l.per_panel - 1) / l.per_panel;
    scratch_of s;
    scratch_split(w, memory, &s);
    for (int32_t m = part.m0; m < part.m1; m += BLOCK) {
        const int32_t n = part.m1 - m < BLOCK ? part.m1 - m : BLOCK;
        const int32_t padded = block_pack(p, &l, m, n, &s);
        for (int32_t slab = 0; slab < l.n_slabs; slab++)
            for (int32_t panel = first; panel < last; panel++) {
                float *sums = s.sums + (l.n_slabs > 1 ? (ptrdiff_t)panel * BLOCK * PANEL : 0);
                panel_add(w, &l, slab, panel, &s, padded, sums);
                if (slab == l.n_slabs - 1)
                    panel_finish(p, part.n1, panel * l.per_panel, m, n, sums);
            }
    }
}
