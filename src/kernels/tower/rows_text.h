/* rows_text.h - norm and rotation of one row, WIDTH floats at a time. */
#include "kernels/vec.h"

/* Sum of (x - mean)^2, or of x with square off, in two chains. */
S2V_INLINE float row_sum(const float *x, int32_t n, float mean, const bool square)
{
    lanes sum[2] = { { 0 }, { 0 } };
    int32_t i = 0;
    for (; n - i >= 2 * WIDTH; i += 2 * WIDTH)
        for (int c = 0; c < 2; c++) {
            const lanes d = load(x + i + c * WIDTH) - mean;
            sum[c] += square ? d * d : d;
        }
    float total = sum_of(sum[0] + sum[1]);
    for (; i < n; i++) {
        const float d = x[i] - mean;
        total += square ? d * d : d;
    }
    return total;
}

static void row_norm(const s2v_norm_of *norm, const float *x, int32_t k, float *out)
{
    const int32_t n = norm->width;
    for (int32_t first = 0; first < k; first += n, x += n, out += n) {
        float mean = 0.0f;
        if (norm->kind == S2V_NORM_LAYER) {
            const float shift = x[0]; /* rows far from zero keep their digits */
            mean = shift + row_sum(x, n, shift, false) / (float)n;
        }
        const float square = row_sum(x, n, mean, true) / (float)n;
        const float factor = 1.0f / sqrtf(square + norm->eps);
        const bool has_bias = norm->kind == S2V_NORM_LAYER;
        for (int32_t i = 0; i < n; i += WIDTH) {
            lanes y =
                (load_some(x + i, n - i) - mean) * factor * load_some(norm->weight + i, n - i);
            if (has_bias) y += load_some(norm->bias + i, n - i);
            store_some(out + i, y, n - i);
        }
    }
}

static void row_rotate(const float *x, int32_t dim, const float *cosine, const float *sine,
                       float *out)
{
    const int32_t half = dim / 2;
    for (int32_t i = 0; i < half; i += WIDTH) {
        const int32_t n = half - i;
        const lanes a = load_some(x + i, n), b = load_some(x + half + i, n);
        const lanes c = load_some(cosine + i, n), s = load_some(sine + i, n);
        store_some(out + i, a * c - b * s, n);
        store_some(out + half + i, a * s + b * c, n);
    }
}
