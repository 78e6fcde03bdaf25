/* bf16_avx512.c - products of BF16 pairs by AVX-512 BF16, attention too (attention_pairs.h).
 *
 * vdpbf16ps adds two products to each sum and takes denormals for zeros. On AMD it does twice the
 * work of a float32 multiply-add in the same time, on Intel (which has AMX) not even as much.
 */
#include "kernels/tower/tables.h"

#define WIDTH 16
#define ROWS 12
#define BLOCK 192
#define SLAB 192
#include "kernels/tower/bf16_text.h"

S2V_INLINE lanes add_pairs(lanes sum, uint32_t pair, bits weights)
{
    const bits x = pair - (bits){ 0 };
    return (lanes)_mm512_dpbf16_ps((__m512)sum, (__m512bh)x, (__m512bh)weights);
}

#include "kernels/tower/bf16_loop.h"

#include "kernels/tower/attention_pairs.h"
#include "kernels/tower/narrow_table.h"

const s2v_kernels s2v_kernels_avx512_bf16 = {
    .name = "avx512-bf16",
    .needs = "AVX-512 F, BW, DQ, VL, BF16",
    .precision = S2V_PRECISION_BF16,
    .takes_quants = true,
    NARROW_TABLE(bf16, product),
    .attention = S2V_PRECISION_BF16,
    .attention_scratch = pair_attention_scratch,
    .attend = pair_attend,
};
