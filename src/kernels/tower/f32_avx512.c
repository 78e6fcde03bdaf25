/* f32_avx512.c - float32 on x86-64 with AVX-512 F, BW, DQ and VL.
 *
 * 24 sums, two vectors of weights and one of a row are 27 of the 32 registers.
 */
#include "kernels/tower/tables.h"

#define WIDTH 16
#define ROWS 12
#define BLOCK 192
#define SLAB 192
#define QUERIES 48
#define KEYS 128
#include "kernels/tower/f32_text.h"
#include "kernels/tower/attention_text.h"

const s2v_kernels s2v_kernels_avx512 = {
    .name = "avx512",
    .needs = "AVX-512 F, BW, DQ, VL",
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
