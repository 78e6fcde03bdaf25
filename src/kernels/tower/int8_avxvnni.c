/* int8_avxvnni.c - products of bytes by AVX-VNNI, 256 bits; the rest as f32_avx2.c does it. */
#include "kernels/tower/tables.h"

#define WIDTH 8
#define ROWS 6
#define BLOCK 192
#define SLAB 64
#define STEP 4
#define OFFSET 128
#define WORDS_UNIT 16
#include "kernels/tower/int8_text.h"

S2V_INLINE ints add_fours(ints sum, uint32_t four, ints weights)
{
    const bits x = four - (bits){ 0 };
    return (ints)_mm256_dpbusd_avx_epi32((__m256i)sum, (__m256i)x, (__m256i)weights);
}

#include "kernels/tower/int8_loop.h"

#define FLOATS s2v_kernels_avx2
#include "kernels/tower/narrow_table.h"

const s2v_kernels s2v_kernels_avx_vnni = {
    .name = "avx-vnni",
    .needs = "AVX2, FMA, F16C, AVX-VNNI",
    .precision = S2V_PRECISION_INT8,
    .block = SLAB * STEP,
    NARROW_TABLE(int8, product),
    NARROW_ATTENTION,
};
