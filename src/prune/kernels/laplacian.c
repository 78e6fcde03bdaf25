/* laplacian.c - the kernels in plain C: the truth every variant is tested against.
 *
 * Paper: App. A.2 Eq. 2 (Laplacian), App. A.5 Eq. 5 (ERC). Gray is Pillow's mode "L".
 *
 * Everything about pixels is an integer. |L| <= 1020, so a block of 2048 columns
 * keeps its sums in 32 bits, which compilers vectorise, and only then widens.
 */
#include "prune/kernels/kernels.h"

#include <math.h>

#define BLOCK 2048 /* 2048 * 1020 * 1020 < 2^31 */

static uint8_t gray(const uint8_t *rgb)
{
    return (uint8_t)((19595 * rgb[0] + 38470 * rgb[1] + 7471 * rgb[2] + 32768) >> 16);
}

static void add_columns(const uint8_t *rgb, const uint8_t *up, const uint8_t *mid, uint8_t *down,
                        int32_t x0, int32_t x1, s2p_moments *moments)
{
    int32_t sum = 0, sum_sq = 0;
    for (int32_t x = x0; x < x1; x++) {
        down[x] = gray(rgb + 3 * (ptrdiff_t)x);
        const int32_t l = up[x] + down[x] + mid[x - 1] + mid[x + 1] - 4 * mid[x];
        sum += l;
        sum_sq += l * l;
    }
    moments->count += x1 - x0;
    moments->sum += sum;
    moments->sum_sq += sum_sq;
}

static void laplacian_row(const uint8_t *rgb, const uint8_t *up, const uint8_t *mid, uint8_t *down,
                          const int32_t *edge, int32_t n, s2p_moments *moments)
{
    for (int32_t i = 0; i < n; i++) {
        for (int32_t x = edge[i], stop; x < edge[i + 1]; x = stop) {
            stop = edge[i + 1] - x > BLOCK ? x + BLOCK : edge[i + 1];
            add_columns(rgb, up, mid, down, x, stop, &moments[i]);
        }
    }
}

float s2p_finish_distance(double lane[S2P_LANES], const float *a, const float *b, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        const float d = a[i] - b[i];
        lane[i] += (double)d * d;
    }
    for (int32_t half = S2P_LANES / 2; half > 0; half /= 2)
        for (int32_t j = 0; j < half; j++) lane[j] += lane[j + half];
    return (float)sqrt(lane[0]);
}

static float distance(const float *a, const float *b, int32_t dim)
{
    double lane[S2P_LANES] = { 0 };
    int32_t i = 0;
    for (; dim - i >= S2P_LANES; i += S2P_LANES) {
        for (int32_t j = 0; j < S2P_LANES; j++) {
            const float d = a[i + j] - b[i + j];
            lane[j] += (double)d * d;
        }
    }
    return s2p_finish_distance(lane, a + i, b + i, dim - i);
}

const s2p_kernels s2p_kernels_scalar = { "scalar", laplacian_row, distance };
