/* int8_neon.c - products of bytes by Arm's USDOT (I8MM); the rest as f32_neon.c does it.
 *
 * Unsigned times signed as on x86-64, so that both pack and round alike.
 */
#include "kernels/tower/tables.h"

#define WIDTH 4
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
    return (ints)vusdotq_s32((int32x4_t)sum, (uint8x16_t)x, (int8x16_t)weights);
}

#include "kernels/tower/int8_loop.h"

#define FLOATS s2v_kernels_neon
#include "kernels/tower/narrow_table.h"

const s2v_kernels s2v_kernels_neon_int8 = {
    .name = "neon-int8",
    .needs = "64-bit Arm with I8MM",
    .precision = S2V_PRECISION_INT8,
    .block = SLAB * STEP,
    NARROW_TABLE(int8, product),
    NARROW_ATTENTION,
};
