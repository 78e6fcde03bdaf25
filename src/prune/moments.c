/* moments.c - from exact sums to scores.
 *
 * Paper: App. A.2 Eq. 3 (min-max), Sec. 3.4 (H_str).
 *
 * The variance is (n S2 - S1^2) / n^2. Both terms of the fraction can pass 64 bits
 * (a region may have 2^40 pixels), so they are built as 128-bit integers and each
 * is rounded once, to the nearest double, before the one division. The min-max is
 * float32 because the authors' is.
 */
#include "s2prune.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

typedef struct wide { /* high * 2^64 + low */
    uint64_t high, low;
} wide;

static wide multiply(uint64_t a, uint64_t b)
{
    const uint64_t mask = 0xFFFFFFFFu;
    const uint64_t low = (a & mask) * (b & mask);
    const uint64_t middle = (a >> 32) * (b & mask) + (low >> 32);
    const uint64_t other = (a & mask) * (b >> 32) + (middle & mask);
    return (wide){ (a >> 32) * (b >> 32) + (middle >> 32) + (other >> 32),
                   other << 32 | (low & mask) };
}

static bool is_less(wide a, wide b) { return a.high != b.high ? a.high < b.high : a.low < b.low; }

static wide subtract(wide a, wide b)
{
    return (wide){ a.high - b.high - (a.low < b.low), a.low - b.low };
}

/* The nearest double. Bits that leave at the bottom stay behind in the last one, so that the
 * conversion still knows on which side of a tie it is. */
static double to_double(wide a)
{
    int exponent = 0;
    for (; a.high; exponent++) {
        a.low = a.high << 63 | a.low >> 1 | (a.low & 1);
        a.high >>= 1;
    }
    return ldexp((double)a.low, exponent);
}

double s2p_variance(s2p_moments moments)
{
    if (moments.count <= 0 || moments.sum_sq <= 0) return 0.0;
    const uint64_t n = (uint64_t)moments.count;
    const uint64_t sum = moments.sum < 0 ? 0 - (uint64_t)moments.sum : (uint64_t)moments.sum;
    const wide raw = multiply(n, (uint64_t)moments.sum_sq), mean = multiply(sum, sum);
    if (is_less(raw, mean)) return 0.0; /* no set of numbers has such sums */
    return to_double(subtract(raw, mean)) / to_double(multiply(n, n));
}

s2p_status s2p_normalise(const float *raw, int32_t n, float *score)
{
    if (!raw || !score || n < 1) return S2P_EINVAL;
    float low = raw[0], high = raw[0];
    for (int32_t i = 0; i < n; i++) {
        if (!isfinite(raw[i])) return S2P_EINVAL;
        if (raw[i] < low) low = raw[i];
        if (raw[i] > high) high = raw[i];
    }
    const float width = high - low, range = width > FLT_EPSILON ? width : FLT_EPSILON;
    if (!isfinite(width)) return S2P_EINVAL;
    for (int32_t i = 0; i < n; i++) score[i] = (raw[i] - low) / range;
    return S2P_OK;
}

double s2p_heterogeneity(const float *variance, int32_t n)
{
    if (!variance || n < 1) return 0.0;
    double sum = 0.0, square = 0.0;
    for (int32_t i = 0; i < n; i++) sum += variance[i];
    const double mean = sum / n;
    for (int32_t i = 0; i < n; i++) square += (variance[i] - mean) * (variance[i] - mean);
    return sqrt(square / n) / (mean + 1e-12);
}
