/* rounded_rows.h - rows as whole numbers of 15 bits, with one step for every 256 inputs.
 *
 * Products of such rows with whole weights are exact, so an output is off by at most the sum of
 * step * |w_i| / 2, apart from float32 roundings. An input that is not finite makes its row NaN.
 */
#ifndef S2_KERNELS_ROUNDED_ROWS_H
#define S2_KERNELS_ROUNDED_ROWS_H

#include "kernels/decoder/wide_blocks.h"

#define BLOCK S2K_BLOCK
#define GROUP 32
#define LARGEST 16383 /* of a row's numbers */
#define ROUNDED_ROW_ERROR (0.5001 / LARGEST)

typedef struct rounded { /* 256 inputs of a row; value = step * word */
    int16_t word[BLOCK];
    int32_t sum[BLOCK / GROUP]; /* of every 32 */
    float step;                 /* NaN if one is not finite */
} rounded;

static inline float block_step(const float *x)
{
    lanes most = { 0 }, poison = { 0 };
    for (int i = 0; i < BLOCK; i += 16) {
        const lanes v = load(x + i);
        most = larger((lanes)((bits)v & 0x7fffffffu), most);
        poison += v * all(0.0f);
    }
    return largest_of(most) / (float)LARGEST + sum_of(poison);
}

static inline void round_block(const float *x, rounded *to)
{
    to->step = block_step(x);
    const lanes inverse = all(to->step > 0x1p-100f ? 1.0f / to->step : 0.0f);
    const lanes magic = all(12582912.0f); /* leaves the rounded number in the low bits */
    for (int g = 0; g < BLOCK / GROUP; g++) {
        to->sum[g] = 0;
        for (int i = GROUP * g; i < GROUP * (g + 1); i += 16) {
            const bits q = (bits)(load(x + i) * inverse + magic) - 0x4b400000u;
            for (int j = 0; j < 16; j++) {
                to->word[i + j] = (int16_t)q[j];
                to->sum[g] += (int16_t)q[j];
            }
        }
    }
}

#endif /* S2_KERNELS_ROUNDED_ROWS_H */
