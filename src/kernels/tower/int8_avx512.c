/* int8_avx512.c - products of bytes by AVX-512 VNNI; the rest as f32_avx512.c does it.
 *
 * vpdpbusd adds four products of an unsigned and a signed byte to each sum: activations get 128
 * added, and what that adds to a column is taken away again.
 */
#include "kernels/tower/tables.h"

#define WIDTH 16
#define ROWS 12
#define BLOCK 192
#define SLAB 64
#define STEP 4
#define OFFSET 128
#define WORDS_UNIT 16
#include "kernels/tower/int8_text.h"

S2V_INLINE ints add_fours(ints sum, uint32_t four, ints weights)
{
    const bits x = four - (bits){ 0 };
    return (ints)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)x, (__m512i)weights);
}

#include "kernels/tower/int8_loop.h"

#define FLOATS s2v_kernels_avx512
#include "kernels/tower/narrow_table.h"

const s2v_kernels s2v_kernels_avx512_vnni = {
    .name = "avx512-vnni",
    .needs = "AVX-512 F, BW, DQ, VL, VNNI",
    .precision = S2V_PRECISION_INT8,
    .block = SLAB * STEP,
    NARROW_TABLE(int8, product),
    NARROW_ATTENTION,
};
