/* int8_amx.c - products of bytes by the tiles of AMX; attention as bf16_amx.c does it.
 *
 * As bf16_amx.c, four signed bytes to a word instead of two BF16. Slabs are longer than the other
 * byte kernels have them, because sums must leave the tiles to be scaled: 1280 inputs share a step.
 */
#include "kernels/tower/tables.h"

#define STEP 4
#define OFFSET 0
#define WORDS_UNIT 16
#include "kernels/tower/tile_rows.h"
#define ASKS_BY_ITSELF /* tile_ahead.h */

#include "kernels/tower/int8_text.h"
#include "kernels/tower/tile_ahead.h"
#include "kernels/tower/tiles.h"

static void slab_integers(const slab_job *job, int32_t r, int32_t *out)
{
    const uint32_t *a = job->rows + ROW_START(r), *a1 = a + 16 * PITCH;
    const char *b = job->weights;
    asked ahead = ask_about(job, r);
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (int32_t k = 0; k < job->words; k += 16, b += 16 * PANEL * 4) {
        _tile_stream_loadd(4, a, 64);
        _tile_loadd(6, b, PANEL * 4);
        _tile_dpbssd(0, 4, 6);
        _tile_loadd(7, b + 64, PANEL * 4);
        _tile_dpbssd(1, 4, 7);
        _tile_stream_loadd(5, a1, 64);
        ask_ahead(&ahead);
        _tile_dpbssd(2, 5, 6);
        _tile_dpbssd(3, 5, 7);
        a += TILE_WORDS;
        a1 += TILE_WORDS;
    }
    _tile_stored(0, out, PANEL * 4);
    _tile_stored(1, out + 16, PANEL * 4);
    _tile_stored(2, out + 16 * PANEL, PANEL * 4);
    _tile_stored(3, out + 16 * PANEL + 16, PANEL * 4);
}

static void amx_product(const s2v_product *p, s2v_share part, void *scratch)
{
    s2v_tile_config before;
    s2v_tiles_enter(&before);
    product(p, part, scratch);
    s2v_tiles_leave(&before);
}

#define FLOATS s2v_kernels_amx_bf16
#include "kernels/tower/narrow_table.h"

const s2v_kernels s2v_kernels_amx_int8 = {
    .name = "amx-int8",
    .needs = "AMX TILE, INT8, BF16; AVX-512 F, BW, DQ, VL, BF16",
    .precision = S2V_PRECISION_INT8,
    .block = SLAB * STEP,
    NARROW_TABLE(int8, amx_product),
    .attention = S2V_PRECISION_BF16,
    NARROW_ATTENTION,
};
