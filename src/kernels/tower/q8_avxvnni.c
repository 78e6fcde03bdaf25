/* q8_avxvnni.c - bytes in blocks of 32 by AVX-VNNI, 256 bits; the rest as f32_avx2.c does it. */
#include "kernels/tower/tables.h"

#define WIDTH 8
#define ROWS 6
#define BLOCK 192
#define SLAB_BLOCKS 24
#define FLIP 0x80
#define AS_PAIRS 0
#include "kernels/tower/q8_text.h"

S2V_INLINE void block_sums(ints sum[ROWS][2], const uint32_t *a, const char *b, const char *wide)
{
    (void)wide;
    for (int i = 0; i < ROWS; i++)
        sum[i][0] = sum[i][1] = (ints)(a[START_AT * ROWS + i] - (bits){ 0 });
    for (int word = 0; word < 8; word++, b += PANEL * 4) {
        const ints w[2] = { load_ints(b), load_ints(b + WIDTH * 4) };
        for (int i = 0; i < ROWS; i++) {
            const bits x = a[word * ROWS + i] - (bits){ 0 };
            for (int v = 0; v < 2; v++)
                sum[i][v] =
                    (ints)_mm256_dpbusd_avx_epi32((__m256i)sum[i][v], (__m256i)w[v], (__m256i)x);
        }
    }
}

#include "kernels/tower/q8_loop.h"

#define FLOATS s2v_kernels_avx2
#include "kernels/tower/narrow_table.h"

const s2v_kernels s2v_kernels_avxvnni_q8 = {
    .name = "avx-vnni-q8",
    .needs = "AVX2, FMA, F16C, AVX-VNNI",
    .precision = S2V_PRECISION_Q8,
    .block = S2V_QUANT,
    .takes_quants = true,
    NARROW_TABLE(q8, product),
    NARROW_ATTENTION,
};
