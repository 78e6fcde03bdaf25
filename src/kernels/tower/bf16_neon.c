/* bf16_neon.c - products of BF16 pairs by Arm's BFDOT, attention too (attention_pairs.h).
 *
 * The unit takes denormals for zeros and may round sums to odd instead of to nearest, which doubles
 * the float32 part of the bound.
 */
#include "kernels/tower/tables.h"

#define WIDTH 4
#define ROWS 12
#define BLOCK 192
#define SLAB 320
#include "kernels/tower/bf16_text.h"

S2V_INLINE lanes add_pairs(lanes sum, uint32_t pair, bits weights)
{
    const bits x = pair - (bits){ 0 };
    return (lanes)vbfdotq_f32((float32x4_t)sum, (bfloat16x8_t)x, (bfloat16x8_t)weights);
}

#include "kernels/tower/bf16_loop.h"

#include "kernels/tower/attention_pairs.h"
#include "kernels/tower/narrow_table.h"

const s2v_kernels s2v_kernels_neon_bf16 = {
    .name = "neon-bf16",
    .needs = "64-bit Arm with BF16",
    .precision = S2V_PRECISION_BF16,
    .takes_quants = true,
    NARROW_TABLE(bf16, product),
    .attention = S2V_PRECISION_BF16,
    .attention_scratch = pair_attention_scratch,
    .attend = pair_attend,
};
