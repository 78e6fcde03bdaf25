/* bf16_avx2.c - what a unit for BF16 computes, on a machine that has none: to measure accuracy.
 *
 * Rows and weights are rounded as bf16_text.h says, denormals to zero; a product of two such numbers
 * is exact in float32, and the sums are float32 as theirs. No faster than f32_avx2.c, so it is never
 * chosen unless named.
 */
#include "kernels/tower/source.h"
#include "kernels/tower/tables.h"

static uint16_t bf16_of(float x)
{
    const uint16_t h = s2v_bf16_of_float(x);
    return h & 0x7f80 ? h : 0;
}

#define WIDTH 8
#define ROWS 6
#define BLOCK 192
#define SLAB 320
#define ROW_NUMBER(x) s2v_float_of_bf16(bf16_of(x))
#include "kernels/tower/f32_text.h"

static s2v_element bf16_stored(s2v_element source)
{
    (void)source;
    return S2V_ELEMENT_BF16;
}

static void bf16_pack(const s2v_packed *w, const s2v_source *source, int32_t first, int32_t last)
{
    panels_begin(w, first, last);
    for (int32_t panel = first; panel < last; panel++) {
        uint16_t *out = (uint16_t *)w->data + (ptrdiff_t)panel * w->k * PANEL;
        for (int32_t c = 0; c < PANEL; c++) {
            s2v_element type;
            const char *row = column_row(w, source, panel, c, &type);
            for (int32_t k = 0; k < w->k; k += S2V_QUANT) {
                float some[S2V_QUANT] = { 0 };
                if (row) s2v_inputs(row, type, k, S2V_QUANT, w->k, some);
                for (int32_t i = 0; i < S2V_QUANT && k + i < w->k; i++)
                    out[(ptrdiff_t)(k + i) * PANEL + c] = bf16_of(some[i]);
            }
        }
    }
}

#define FLOATS s2v_kernels_avx2
#include "kernels/tower/narrow_table.h"

const s2v_kernels s2v_kernels_avx2_bf16 = {
    .name = "avx2-bf16",
    .needs = "AVX2, FMA, F16C",
    .precision = S2V_PRECISION_BF16,
    .takes_quants = true,
    .is_stand_in = true,
    NARROW_TABLE(bf16, product),
    NARROW_ATTENTION,
};
