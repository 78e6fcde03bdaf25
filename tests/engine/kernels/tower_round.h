/* tower_round.h - operands as a precision rounds them, in double. */
#ifndef TESTS_TOWER_ROUND_H
#define TESTS_TOWER_ROUND_H

#include "engine/vision/kernels/halves.h"

#include <math.h>

static inline double round_bf16(float f)
{
    const double rounded = (double)s2v_float_of_bf16(s2v_bf16_of_float(f));
    return fabs(rounded) < 0x1p-126 ? 0.0 : rounded; /* the units take denormals for zeros */
}

static inline double round_one(s2v_precision precision, float f)
{
    return precision == S2V_PRECISION_BF16 ? round_bf16(f) : (double)f;
}

static inline void round_weights(s2v_precision precision, const float *row, int32_t k, double *out)
{
    for (int32_t i = 0; i < k; i++)
        out[i] = precision == S2V_PRECISION_BF16 ? round_bf16(row[i]) : (double)row[i];
}

static inline void round_row(s2v_precision precision, const double *row, int32_t k, double *out)
{
    for (int32_t i = 0; i < k; i++)
        out[i] = precision == S2V_PRECISION_BF16 ? round_bf16((float)row[i]) : row[i];
}

/* What a table may be off beyond the float32 bound: a normalised row may round to a neighbour. */
static inline double rounding_slack(s2v_precision precision, const double *row,
                                    const double *weight, int32_t k, bool is_normed)
{
    double slack = 0;
    if (precision != S2V_PRECISION_BF16 || !is_normed) return 0;
    for (int32_t i = 0; i < k; i++) slack = fmax(slack, fabs(row[i] * weight[i]) * 0x1p-7);
    return 3 * slack; /* a few of them at once */
}

#endif /* TESTS_TOWER_ROUND_H */
