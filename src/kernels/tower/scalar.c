/* scalar.c - the truth: every operation as its formula, in float32, one number at a time.
 *
 * Weights are "packed" as they come, [n_parts * n][k] in F32. Sums run from the first element to
 * the last. Slow, and meant to be read.
 *
 * The second table is the reference of the q8 variants: the same loops, after weights that are not whole
 * multiples of a step yet, and rows, were rounded to such in blocks of 32 (q8_text.h).
 */
#include "kernels/tower/attention_units.h"
#include "kernels/tower/source.h"
#include "kernels/tower/tables.h"

#include <math.h>

static s2v_element scalar_stored(s2v_element source)
{
    (void)source;
    return S2V_ELEMENT_F32;
}

static int32_t scalar_n_panels(const s2v_packed *w) { return w->n * w->n_parts; }

static size_t scalar_packed_bytes(const s2v_packed *w)
{
    return (size_t)scalar_n_panels(w) * (size_t)w->k * sizeof(float);
}

static void scalar_pack(const s2v_packed *w, const s2v_source *source, int32_t first, int32_t last)
{
    for (int32_t r = first; r < last; r++) {
        const void *row = s2v_source_row(source, w->n, w->k, r);
        float *out = (float *)w->data + (ptrdiff_t)r * w->k;
        const s2v_element type = s2v_source_type(source, w->n, r);
        for (int32_t i = 0; i < w->k; i += S2V_QUANT) {
            float some[S2V_QUANT];
            s2v_inputs(row, type, i, S2V_QUANT, w->k, some);
            const int32_t n = w->k - i < S2V_QUANT ? w->k - i : S2V_QUANT;
            memcpy(out + i, some, (size_t)n * sizeof *out);
        }
    }
}

/* To whole multiples of the largest size / 127, in each 32 numbers. */
static void round_blocks(const float *x, int32_t n, float *out)
{
    for (int32_t first = 0; first < n; first += S2V_QUANT) {
        const int32_t end = n - first < S2V_QUANT ? n : first + S2V_QUANT;
        float most = 0.0f;
        for (int32_t i = first; i < end && !isnan(most); i++)
            most = isfinite(x[i]) ? fmaxf(most, fabsf(x[i])) : NAN;
        const float step = most / 127.0f < 0x1p-100f ? 0.0f : most / 127.0f;
        const float inverse = step > 0.0f ? 1.0f / step : 0.0f;
        for (int32_t i = first; i < end; i++)
            out[i] = isnan(step) ? step : rintf(x[i] * inverse) * step;
    }
}

static void scalar_q8_pack(const s2v_packed *w, const s2v_source *source, int32_t first,
                           int32_t last)
{
    scalar_pack(w, source, first, last);
    for (int32_t r = first; r < last; r++) {
        const s2v_element type = s2v_source_type(source, w->n, r);
        float *row = (float *)w->data + (ptrdiff_t)r * w->k;
        if (type != S2V_ELEMENT_Q8_0 && type != S2V_ELEMENT_Q4_0) round_blocks(row, w->k, row);
    }
}

static void scalar_norm(const s2v_norm_of *norm, const float *x, int32_t k, float *out)
{
    for (int32_t first = 0; first < k; first += norm->width) {
        double mean = 0, square = 0;
        if (norm->kind == S2V_NORM_LAYER) {
            for (int32_t i = 0; i < norm->width; i++) mean += (double)x[first + i];
            mean /= norm->width;
        }
        for (int32_t i = 0; i < norm->width; i++) {
            const double d = (double)x[first + i] - mean;
            square += d * d;
        }
        const double factor = 1.0 / sqrt(square / norm->width + (double)norm->eps);
        for (int32_t i = 0; i < norm->width; i++) {
            const float y = (float)(((double)x[first + i] - mean) * factor) * norm->weight[i];
            out[first + i] = norm->kind == S2V_NORM_LAYER ? y + norm->bias[i] : y;
        }
    }
}

static void scalar_rotate(const float *x, int32_t dim, const float *cosine, const float *sine,
                          float *out)
{
    const int32_t half = dim / 2;
    for (int32_t i = 0; i < half; i++) {
        const float a = x[i], b = x[i + half];
        out[i] = a * cosine[i] - b * sine[i];
        out[i + half] = a * sine[i] + b * cosine[i];
    }
}

static float scalar_activate(s2v_activation activation, float z, float up)
{
    switch (activation) {
    case S2V_GELU_ERF:
        return 0.5f * z * (1.0f + erff(z * 0.70710678f));
    case S2V_GELU_TANH:
        return 0.5f * z * (1.0f + tanhf(0.79788456f * (z + 0.044715f * z * z * z)));
    case S2V_GELU_QUICK:
        return z / (1.0f + expf(-1.702f * z));
    case S2V_SWIGLU:
        return z / (1.0f + expf(-z)) * up;
    default:
        return z;
    }
}

static float scalar_dot(const float *a, const float *b, int32_t n)
{
    float sum = 0.0f;
    for (int32_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

static size_t scalar_product_scratch(const s2v_packed *w) { return (size_t)w->k * sizeof(float); }

static void multiply_rows(const s2v_product *p, s2v_share part, void *scratch, bool are_rounded)
{
    const s2v_packed *w = p->weights;
    const float *weights = w->data;
    for (int32_t m = part.m0; m < part.m1; m++) {
        const float *x = p->x + m * p->x_pitch;
        if (p->norm.kind != S2V_NORM_NONE) {
            scalar_norm(&p->norm, x, w->k, scratch);
            x = scratch;
        }
        if (are_rounded) {
            round_blocks(x, w->k, scratch);
            x = scratch;
        }
        for (int32_t n = part.n0; n < part.n1; n++) {
            float z = scalar_dot(x, weights + (ptrdiff_t)n * w->k, w->k), up = 0.0f;
            if (p->bias) z += p->bias[n];
            if (w->is_pair) {
                up = scalar_dot(x, weights + (ptrdiff_t)(w->n + n) * w->k, w->k);
                if (p->bias_up) up += p->bias_up[n];
            }
            z = scalar_activate(p->activation, z, up);
            if (p->residual) z += p->residual[m * p->residual_pitch + n];
            p->out[m * p->out_pitch + n] = z;
        }
    }
}

static void scalar_product(const s2v_product *p, s2v_share part, void *scratch)
{
    multiply_rows(p, part, scratch, false);
}

static void scalar_q8_product(const s2v_product *p, s2v_share part, void *scratch)
{
    multiply_rows(p, part, scratch, true);
}

static size_t scalar_attention_scratch(const s2v_attention *a)
{
    return ((size_t)longest_sequence(a) + 2 * S2V_MAX_HEAD) * sizeof(float);
}

/* A query or key, rotated if there is a rotation. */
static const float *scalar_row(const s2v_attention *a, const float *x, int32_t row, int32_t head,
                               float *space)
{
    const float *from = x + row * a->pitch + (ptrdiff_t)head * a->dim;
    const ptrdiff_t angles = (ptrdiff_t)row * (a->dim / 2);
    if (!a->cos) return from;
    scalar_rotate(from, a->dim, a->cos + angles, a->sin + angles, space);
    return space;
}

static void scalar_attend_query(const s2v_attention *a, int32_t row, int32_t first, int32_t last,
                                int32_t head, float *scratch)
{
    float *rotated = scratch, *score = scratch + 2 * S2V_MAX_HEAD;
    const float *q = scalar_row(a, a->q, row, head, rotated);
    float largest = -INFINITY, sum = 0.0f;
    for (int32_t j = first; j < last; j++) {
        const float *k = scalar_row(a, a->k, j, head, rotated + S2V_MAX_HEAD);
        score[j - first] = a->scale * scalar_dot(q, k, a->dim);
        if (!(score[j - first] <= largest)) largest = score[j - first];
    }
    for (int32_t j = 0; j < last - first; j++) sum += score[j] = expf(score[j] - largest);
    float value[S2V_MAX_HEAD] = { 0.0f };
    for (int32_t j = first; j < last; j++) {
        const float *v = a->v + j * a->pitch + (ptrdiff_t)head * a->dim;
        for (int32_t d = 0; d < a->dim; d++) value[d] += score[j - first] * v[d];
    }
    float *out = a->out + row * a->out_pitch + (ptrdiff_t)head * a->dim;
    for (int32_t d = 0; d < a->dim; d++) out[d] = value[d] / sum;
}

static void scalar_attend(const s2v_attention *a, int32_t unit0, int32_t unit1, void *scratch)
{
    for (int32_t unit = unit0; unit < unit1; unit++) {
        const attention_unit u = unit_of(a, unit);
        for (int32_t i = u.begin; i < u.end; i++)
            scalar_attend_query(a, u.first + i, u.first, u.first + u.n, u.head, scratch);
    }
}

const s2v_kernels s2v_kernels_scalar = {
    .name = "scalar",
    .needs = "nothing",
    .precision = S2V_PRECISION_F32,
    .rows = 1,
    .block_rows = 192,
    .columns = 1,
    .takes_quants = true,
    .stored = scalar_stored,
    .n_panels = scalar_n_panels,
    .packed_bytes = scalar_packed_bytes,
    .pack = scalar_pack,
    .product_scratch = scalar_product_scratch,
    .product = scalar_product,
    .norm = scalar_norm,
    .rotate = scalar_rotate,
    .attention_scratch = scalar_attention_scratch,
    .attend = scalar_attend,
};

const s2v_kernels s2v_kernels_scalar_q8 = {
    .name = "scalar-q8",
    .needs = "nothing",
    .precision = S2V_PRECISION_Q8,
    .is_stand_in = true,
    .block = S2V_QUANT,
    .rows = 1,
    .block_rows = 192,
    .columns = 1,
    .takes_quants = true,
    .stored = scalar_stored,
    .n_panels = scalar_n_panels,
    .packed_bytes = scalar_packed_bytes,
    .pack = scalar_q8_pack,
    .product_scratch = scalar_product_scratch,
    .product = scalar_q8_product,
    .norm = scalar_norm,
    .rotate = scalar_rotate,
    .attention_scratch = scalar_attention_scratch,
    .attend = scalar_attend,
};
