/* q8_neon.c - bytes in blocks of 32 by Arm's SDOT; the rest as f32_neon.c does it. */
#include "kernels/tower/tables.h"

#define WIDTH 4
#define ROWS 8
#define BLOCK 192
#define SLAB_BLOCKS 24
#define FLIP 0
#define AS_PAIRS 0
#include "kernels/tower/q8_text.h"

S2V_INLINE void block_sums(ints sum[ROWS][2], const uint32_t *a, const char *b, const char *wide)
{
    (void)wide;
    for (int i = 0; i < ROWS; i++) sum[i][0] = sum[i][1] = (ints){ 0 };
    for (int word = 0; word < 8; word++, b += PANEL * 4) {
        const ints w[2] = { load_ints(b), load_ints(b + WIDTH * 4) };
        for (int i = 0; i < ROWS; i++) {
            const bits x = a[word * ROWS + i] - (bits){ 0 };
            for (int v = 0; v < 2; v++)
                sum[i][v] = (ints)vdotq_s32((int32x4_t)sum[i][v], (int8x16_t)w[v], (int8x16_t)x);
        }
    }
}

#include "kernels/tower/q8_loop.h"

#define FLOATS s2v_kernels_neon
#include "kernels/tower/narrow_table.h"

const s2v_kernels s2v_kernels_neon_q8 = {
    .name = "neon-q8",
    .needs = "64-bit Arm with DOTPROD",
    .precision = S2V_PRECISION_Q8,
    .block = S2V_QUANT,
    .takes_quants = true,
    NARROW_TABLE(q8, product),
    NARROW_ATTENTION,
};
