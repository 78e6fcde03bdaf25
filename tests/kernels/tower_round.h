/* tower_round.h - operands as a precision rounds them, in double. */
#ifndef TESTS_TOWER_ROUND_H
#define TESTS_TOWER_ROUND_H

#include "kernels/halves.h"

#include <math.h>

static inline double round_bf16(float f)
{
    const double rounded = (double)s2v_float_of_bf16(s2v_bf16_of_float(f));
    return fabs(rounded) < 0x1p-126 ? 0.0 : rounded; /* the units take denormals for zeros */
}

/* Whole multiples of the largest size / 127; returns that step. */
static inline double round_int8(const float *x, int32_t n, double *out)
{
    float most = 0.0f;
    for (int32_t i = 0; i < n; i++) most = fmaxf(most, fabsf(x[i]));
    const float step = most / 127.0f < 0x1p-100f ? 0.0f : most / 127.0f;
    const float inverse = step > 0.0f ? 1.0f / step : 0.0f;
    for (int32_t i = 0; i < n; i++) out[i] = rint((double)x[i] * (double)inverse) * (double)step;
    return (double)step;
}

static inline double round_one(s2v_precision precision, float f)
{
    return precision == S2V_PRECISION_BF16 ? round_bf16(f) : (double)f;
}

static inline void round_weights(s2v_precision precision, const float *row, int32_t k, double *out)
{
    if (precision >= S2V_PRECISION_Q8) {
        const int32_t block = precision == S2V_PRECISION_Q8 ? 32 : k;
        for (int32_t i = 0; i < k; i += block)
            (void)round_int8(row + i, k - i < block ? k - i : block, out + i);
    } else
        for (int32_t i = 0; i < k; i++) out[i] = round_one(precision, row[i]);
}

/* block: inputs that share a step. Returns the largest step. */
static inline double round_row(s2v_precision precision, int32_t block, const double *row, int32_t k,
                               double *out)
{
    double largest = 0;
    for (int32_t i = 0; i < k && precision < S2V_PRECISION_Q8; i++)
        out[i] = precision == S2V_PRECISION_BF16 ? round_bf16((float)row[i]) : row[i];
    for (int32_t first = 0; first < k && precision >= S2V_PRECISION_Q8; first += block) {
        float x[2048];
        const int32_t n = k - first < block ? k - first : block;
        for (int32_t i = 0; i < n; i++) x[i] = (float)row[first + i];
        largest = fmax(largest, round_int8(x, n, out + first));
    }
    return largest;
}

/* What a table may be off beyond the float32 bound: a few numbers of a normalised row, and of any
 * row of bytes where two orders of multiplying disagree about a half, may round to a neighbour. */
static inline double rounding_slack(s2v_precision precision, const double *row,
                                    const double *weight, int32_t k, double step, bool is_normed)
{
    double largest = 0, weight_step = 0;
    if (precision == S2V_PRECISION_F32 || (precision == S2V_PRECISION_BF16 && !is_normed)) return 0;
    for (int32_t i = 0; i < k && precision == S2V_PRECISION_Q8;
         i++) /* weights may be halfway too */
        weight_step = fmax(weight_step, fabs(weight[i]) / 127);
    for (int32_t i = 0; i < k; i++)
        largest = fmax(largest, precision == S2V_PRECISION_BF16
                                    ? fabs(row[i] * weight[i]) * 0x1p-7
                                    : fabs(weight[i]) * step + fabs(row[i]) * weight_step);
    return 3 * largest;
}

#endif /* TESTS_TOWER_ROUND_H */
