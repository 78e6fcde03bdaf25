/* f32_avx2.c - float32 on x86-64 with AVX2, fused multiply-add and F16C. */
#include "engine/vision/kernels/tables.h"

#define WIDTH 8
#define ROWS 6
#define BLOCK 192
#define SLAB 320
#define QUERIES 48
#define KEYS 128
#include "engine/vision/kernels/f32_text.h"
#include "engine/vision/kernels/attention_text.h"

const s2v_kernels s2v_kernels_avx2 = {
    .name = "avx2",
    .needs = "AVX2, FMA, F16C",
    .precision = S2V_PRECISION_F32,
    .rows = ROWS,
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
