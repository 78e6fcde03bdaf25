/* product_text.h - the order of a product: blocks of rows, slabs of k, panels of columns.
 *
 * Before this, the including file says
 *     WIDTH    floats in a vector; PANEL = 2 WIDTH columns lie side by side in packed weights
 *     ROWS     rows the inner loop keeps sums for
 *     BLOCK    rows packed at a time, a multiple of ROWS
 *     SLAB     words of a packed row, and of a panel, done at a time. A word is 4 bytes: 1, 2 or 4
 *              neighbors in k. BLOCK rows of a slab are about half of the second-level cache, SLAB
 *              words of a panel most of the first-level cache
 *     PITCH, ROW_START(i)   words a packed row takes, and where row i of a block begins
 * and after this it defines row_words, row_store, word_bytes, panel_tail_bytes and slab_add.
 *
 * For BLOCK rows: normalise and pack them. For CHUNK panels at a time: for each slab of k, for each
 * panel, add the products to the panel's sums. A slab of a panel stays in the first-level cache
 * while all rows of the block pass by, and the next one is asked for meanwhile. Weights come from
 * memory once for BLOCK rows; the sums of a chunk wait in the second-level cache. In the last slab
 * the sums of ROWS rows are finished as soon as they are there: bias, activation, residual, store.
 */
#include "kernels/pages.h"
#include "kernels/tower/rows_text.h"
#include "kernels/tower/source.h"

#define PANEL (2 * WIDTH)
#ifndef WIDENED
#define WIDENED SLAB /* words of a panel that slab_add may widen to */
#endif
#ifndef CHUNK
#define CHUNK (1024 / PANEL) /* panels */
#endif

typedef struct layout {
    int32_t words, n_slabs, n_panels; /* of a row, of a row, of the weights */
    int32_t per_panel;                /* columns of the result a panel makes */
} layout;

typedef struct scratch_of { /* where the parts of the scratch are */
    uint32_t *rows;         /* [n_slabs][BLOCK][PITCH] words */
    float *scales;          /* [n_slabs][BLOCK]: what a packed row is to be multiplied by; int8 */
    float *sums;            /* [CHUNK][BLOCK][PANEL] */
    float *normed;          /* [k] */
    float *widened; /* [WIDENED][PANEL]: for slab_add, if weights are not what it multiplies */
} scratch_of;

typedef struct slab_job { /* what slab_add does: sums [n][PANEL] (+)= n rows times a panel */
    const char *weights;  /* [words][PANEL] */
    int32_t words;
    s2v_element type;
    const uint32_t *rows; /* of the slab; row i at ROW_START(i) */
    int32_t n;            /* a multiple of ROWS */
    bool adds;            /* to what is there; else they start at zero */
    float *sums, *widened;
    const float *scales;   /* [n] */
    const char *tail;      /* of the panel: panel_tail_bytes() behind its words */
    int32_t slab, n_slabs; /* which of how many */
    const char *next;      /* weights and sums wanted after these; NULL: none */
    size_t next_bytes;
    const float *next_sums;
    const s2v_product *ends; /* in the last slab: the sums are finished and stored in its result, */
    int32_t column, n1;      /* from this column on, up to this one, */
    int32_t m, n_rows;       /* from this row on, so many */
} slab_job;

/* What the including file defines: */
static int32_t row_words(int32_t k);
/* One row into its slabs: out + slab * BLOCK * PITCH, scales + slab * BLOCK; out: the row's start. */
static void row_store(const float *row, int32_t k, uint32_t *out, float *scales);
static size_t word_bytes(s2v_element type); /* of a word of weights as stored */
static size_t panel_tail_bytes(int32_t k);  /* what follows the words of a panel */
static void slab_add(const slab_job *job);

static size_t panel_bytes(s2v_element type, int32_t k)
{
    return (size_t)row_words(k) * PANEL * word_bytes(type) + panel_tail_bytes(k);
}

/* Asks for the part of what comes next that belongs to row r of the job. */
S2V_INLINE void fetch_next(const slab_job *job, int32_t r)
{
    if (!job->next) return;
    const size_t n = (size_t)(job->n / ROWS), i = (size_t)(r / ROWS);
    const size_t size = (job->next_bytes / n + 63) / 64 * 64;
    for (size_t at = i * size; at < (i + 1) * size && at < job->next_bytes; at += 64)
        __builtin_prefetch(job->next + at, 0, 2);
    for (int32_t at = 0; at < ROWS * PANEL; at += 16)
        __builtin_prefetch(job->next_sums + r * PANEL + at, 1, 2);
}

/* Asks for what rows_finish touches of the ROWS rows from r on. */
S2V_INLINE void fetch_ends(const slab_job *job, int32_t r)
{
    const s2v_product *p = job->ends;
    for (int32_t i = r; i < r + ROWS && i < job->n_rows; i++) {
        __builtin_prefetch(p->out + (job->m + i) * p->out_pitch + job->column, 1, 3);
        if (p->residual)
            __builtin_prefetch(p->residual + (job->m + i) * p->residual_pitch + job->column, 0, 3);
    }
}

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

/* Before panels are written for the first time. */
static void panels_begin(const s2v_packed *w, int32_t first, int32_t last)
{
    const size_t size = panel_bytes(w->type, w->k);
    s2v_huge_pages((char *)w->data + (size_t)first * size, (size_t)(last - first) * size);
}

/* The row of the source that is column c of a panel, NULL past the end; *type: of its numbers. */
static const char *column_row(const s2v_packed *w, const s2v_source *source, int32_t panel,
                              int32_t c, s2v_element *type)
{
    const int32_t n = w->is_pair ? panel * WIDTH + c % WIDTH : panel * PANEL + c;
    if (n >= (w->is_pair ? w->n : w->n * w->n_parts)) return NULL;
    const int32_t row = w->is_pair ? c / WIDTH * w->n + n : n;
    *type = s2v_source_type(source, w->n, row);
    return s2v_source_row(source, w->n, w->k, row);
}

/* For types that need no loop of their own: rounds to stored(out, group) the same S2V_QUANT inputs of
 * WIDTH columns at a time. */
typedef void group_storer(const s2v_packed *w, char *panel, int32_t c, int32_t k,
                          float group[WIDTH][S2V_QUANT]);

S2V_INLINE void panel_unpack(const s2v_packed *w, const s2v_source *source, int32_t panel,
                             group_storer *stores)
{
    char *out = (char *)w->data + (size_t)panel * panel_bytes(w->type, w->k);
    for (int32_t c = 0; c < PANEL; c += WIDTH) {
        const char *row[WIDTH];
        s2v_element type[WIDTH];
        float group[WIDTH][S2V_QUANT] = { { 0 } };
        for (int32_t i = 0; i < WIDTH; i++) row[i] = column_row(w, source, panel, c + i, &type[i]);
        for (int32_t k = 0; k < w->k; k += S2V_QUANT) {
            for (int32_t i = 0; i < WIDTH; i++)
                if (row[i]) s2v_inputs(row[i], type[i], k, S2V_QUANT, w->k, group[i]);
            stores(w, out, c, k, group);
        }
    }
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
    S2V_TAKE(sums, (size_t)CHUNK * BLOCK * PANEL);
    S2V_TAKE(normed, w->k);
    S2V_TAKE(widened, WIDENED * PANEL);
#undef S2V_TAKE
    return at;
}

static size_t product_scratch_bytes(const s2v_packed *w)
{
    scratch_of s;
    return scratch_split(w, NULL, &s);
}

/* n rows from row m on, filled up with zeros to a multiple of ROWS. */
static int32_t block_pack(const s2v_product *p, int32_t m, int32_t n, const scratch_of *s)
{
    const int32_t k = p->weights->k, padded = (n + ROWS - 1) / ROWS * ROWS;
    for (int32_t i = 0; i < padded; i++) {
        const float *x = p->x + (m + i) * p->x_pitch;
        if (i >= n) {
            memset(s->normed, 0, (size_t)k * sizeof *s->normed);
            x = s->normed;
        } else if (p->norm.kind != S2V_NORM_NONE) {
            row_norm(&p->norm, x, k, s->normed);
            x = s->normed;
        }
        row_store(x, k, s->rows + ROW_START(i), s->scales + i);
    }
    return padded;
}

S2V_INLINE lanes activate(s2v_activation activation, lanes z, lanes up)
{
    switch (activation) {
    case S2V_GELU_ERF:
        return gelu_erf(z);
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

/* Bias, activation, residual and store of the ROWS rows from r on. */
static void rows_finish(const slab_job *job, int32_t r)
{
    const s2v_product *p = job->ends;
    const bool is_pair = p->weights->is_pair;
    const int32_t end = job->n_rows - r < ROWS ? job->n_rows : r + ROWS;
    for (int32_t v = 0; v < (is_pair ? 1 : 2) && job->column + v * WIDTH < job->n1; v++) {
        const int32_t at = job->column + v * WIDTH, left = job->n1 - at;
        const lanes bias = p->bias ? load_some(p->bias + at, left) : (lanes){ 0 };
        const lanes bias_up = p->bias_up ? load_some(p->bias_up + at, left) : (lanes){ 0 };
        for (int32_t i = r; i < end; i++) {
            const float *sums = job->sums + i * PANEL;
            const ptrdiff_t row = job->m + i;
            const lanes z = load(sums + v * WIDTH) + bias;
            const lanes up = is_pair ? load(sums + WIDTH) + bias_up : z;
            lanes y = activate(p->activation, z, up);
            if (p->residual) y += load_some(p->residual + row * p->residual_pitch + at, left);
            store_some(p->out + row * p->out_pitch + at, y, left);
        }
    }
}

/* One slab of the panels [first, last). */
static void chunk_add(const s2v_packed *w, const layout *l, const scratch_of *s, int32_t first,
                      int32_t last, slab_job job)
{
    const size_t size = panel_bytes(w->type, w->k), word = word_bytes(w->type) * PANEL;
    job.adds = job.slab > 0;
    job.rows = s->rows + (ptrdiff_t)job.slab * BLOCK * PITCH;
    job.scales = s->scales + (ptrdiff_t)job.slab * BLOCK;
    job.words = l->words - job.slab * SLAB < SLAB ? l->words - job.slab * SLAB : SLAB;
    if (job.slab < l->n_slabs - 1) job.ends = NULL;
    for (int32_t panel = first; panel < last; panel++) {
        const char *data = (const char *)w->data + (size_t)panel * size;
        job.weights = data + (size_t)job.slab * SLAB * word;
        job.tail = data + (size_t)l->words * word;
        job.sums = s->sums + (ptrdiff_t)(panel - first) * BLOCK * PANEL;
        job.next = panel + 1 < last ? job.weights + size : NULL;
        job.next_bytes = (size_t)job.words * word;
        job.next_sums = job.sums + BLOCK * PANEL;
        job.column = panel * l->per_panel;
        slab_add(&job);
    }
}

static void product(const s2v_product *p, s2v_share part, void *memory)
{
    const s2v_packed *w = p->weights;
    const layout l = layout_of(w);
    const int32_t end = (part.n1 + l.per_panel - 1) / l.per_panel;
    scratch_of s;
    scratch_split(w, memory, &s);
    slab_job job = {
        .type = w->type, .widened = s.widened, .n_slabs = l.n_slabs, .ends = p, .n1 = part.n1
    };
    for (job.m = part.m0; job.m < part.m1; job.m += BLOCK) {
        job.n_rows = part.m1 - job.m < BLOCK ? part.m1 - job.m : BLOCK;
        job.n = block_pack(p, job.m, job.n_rows, &s);
        for (int32_t first = part.n0 / l.per_panel; first < end; first += CHUNK) {
            const int32_t last = end - first < CHUNK ? end : first + CHUNK;
            for (job.slab = 0; job.slab < l.n_slabs; job.slab++)
                chunk_add(w, &l, &s, first, last, job);
        }
    }
}
