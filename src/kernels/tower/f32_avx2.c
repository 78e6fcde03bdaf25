/* f32_avx2.c - float32 on x86-64 with AVX2, fused multiply-add and F16C.
 *
 * The inner loop is assembler: 80 instructions for 48 multiply-adds, four steps per iteration. With 15
 * of 16 registers taken GCC 12 moves sums about, and counts at every step when left to itself; a
 * busy neighbor on the core's other hardware thread takes just these slots, and the product falls
 * from 90 % of the peak to 65 %.
 */
#include "kernels/tower/tables.h"

#define WIDTH 8
#define ROWS 6
#define BLOCK 192
#define SLAB 320
#define QUERIES 24
#define KEYS 256

/* Four steps: weights at 64 * at of %[b]; the floats of packed rows at 24 * at of %[a], or, where
 * rows are KEYS floats apart, at 4 * at. */
#define PACKED(at, row) "24*" #at "+4*" #row
#define APART(at, row) "4*" #at "+1024*" #row
_Static_assert(KEYS * 4 == 1024, "as in APART");

#define ROW(place, at, row, s0, s1)                                              \
    "vbroadcastss (" place(at, row) ")(%[a]), %%ymm14\n\t"                       \
                                    "vfmadd231ps %%ymm12, %%ymm14, %" #s0 "\n\t" \
                                    "vfmadd231ps %%ymm13, %%ymm14, %" #s1 "\n\t"
#define STEP(place, at)                                                                          \
    "vmovups (64*" #at ")(%[b]), %%ymm12\n\t"                                                    \
    "vmovups (64*" #at "+32)(%[b]), %%ymm13\n\t" ROW(place, at, 0, 0, 1) ROW(place, at, 1, 2, 3) \
        ROW(place, at, 2, 4, 5) ROW(place, at, 3, 6, 7) ROW(place, at, 4, 8, 9)                  \
            ROW(place, at, 5, 10, 11)
#define FOUR_STEPS(place, bytes, s, a_, b_, left)                                                  \
    __asm__("1:\n\t" STEP(place, 0) STEP(place, 1) STEP(place, 2)                                  \
                STEP(place, 3) "add $" bytes ", %[a]\n\tadd $256, %[b]\n\tdec %[n]\n\tjnz 1b\n\t"  \
            : "+x"((s)[0][0]), "+x"((s)[0][1]), "+x"((s)[1][0]), "+x"((s)[1][1]), "+x"((s)[2][0]), \
              "+x"((s)[2][1]), "+x"((s)[3][0]), "+x"((s)[3][1]), "+x"((s)[4][0]), "+x"((s)[4][1]), \
              "+x"((s)[5][0]), "+x"((s)[5][1]), [a] "+r"(a_), [b] "+r"(b_), [n] "+r"(left)         \
            :                                                                                      \
            : "xmm12", "xmm13", "xmm14", "cc", "memory")
#define MULTIPLY_FOUR(s, a_, is_packed, b_, fours)     \
    do {                                               \
        ptrdiff_t left = (fours);                      \
        if (is_packed)                                 \
            FOUR_STEPS(PACKED, "96", s, a_, b_, left); \
        else                                           \
            FOUR_STEPS(APART, "16", s, a_, b_, left);  \
    } while (0)
#include "kernels/tower/f32_text.h"
#include "kernels/tower/attention_text.h"

const s2v_kernels s2v_kernels_avx2 = {
    .name = "avx2",
    .needs = "AVX2, FMA, F16C",
    .precision = S2V_PRECISION_F32,
    .takes_quants = true,
    .rows = ROWS,
    .block_rows = BLOCK,
    .columns = PANEL,
    .stored = f32_stored,
    .n_panels = product_n_panels,
    .packed_bytes = product_packed_bytes,
    .pack = f32_pack,
    .product_scratch = product_scratch_bytes,
    .product = product,
    .norm = row_norm,
    .rotate = row_rotate,
    .attention_scratch = attention_scratch_bytes,
    .attend = attend,
};
