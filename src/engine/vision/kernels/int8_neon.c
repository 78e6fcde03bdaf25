/* int8_neon.c - products of bytes by Arm's USDOT (I8MM); the rest as f32_neon.c does it.
 *
 * Unsigned times signed as on x86-64, so that both pack and round alike.
 */
#include "engine/vision/kernels/tables.h"

#define WIDTH 4
#define ROWS 12
#define BLOCK 192
#define SLAB 64
#define STEP 4
#define OFFSET 128
#define WORDS_UNIT 16
#include "engine/vision/kernels/int8_text.h"

S2V_INLINE ints add_fours(ints sum, uint32_t four, ints weights)
{
    const bits x = four - (bits){ 0 };
    return (ints)vusdotq_s32((int32x4_t)sum, (uint8x16_t)x, (int8x16_t)weights);
}

#include "engine/vision/kernels/int8_loop.h"

static size_t int8_attention_scratch(const s2v_attention *a)
{
    return s2v_kernels_neon.attention_scratch(a);
}

static void int8_attend(const s2v_attention *a, int32_t unit0, int32_t unit1, void *scratch)
{
    s2v_kernels_neon.attend(a, unit0, unit1, scratch);
}

const s2v_kernels s2v_kernels_neon_int8 = {
    .name = "neon-int8",
    .needs = "64-bit Arm with I8MM",
    .precision = S2V_PRECISION_INT8,
    .rows = ROWS,
    .columns = PANEL,
    .block = SLAB * STEP,
    .stored = int8_stored,
    .n_panels = product_n_panels,
    .packed_bytes = product_packed_bytes,
    .pack = int8_pack,
    .product_scratch = product_scratch_bytes,
    .product = product,
    .norm = row_norm,
    .rotate = row_rotate,
    .attention_scratch = int8_attention_scratch,
    .attend = int8_attend,
};
