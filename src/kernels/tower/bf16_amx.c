/* bf16_amx.c - products of BF16 pairs by the tiles of AMX, attention too (attention_tiles.h).
 *
 * Eight tiles of 16 rows of 64 bytes: four of sums (32 x 32 floats), two of rows, two of weights.
 * A tile of weights is 16 words of k by 16 columns, which is what a panel [words][PANEL] holds at a
 * pitch of PANEL words; a tile of rows lies in one piece (tile_rows.h).
 *
 * The configuration is written down here, not asked from CPUID, which some hypervisors leave empty.
 * It belongs to the thread: ggml sets its own once and relies on it, so ours is put in its place for
 * the time of one call and the old one put back.
 */
#include "kernels/tower/tables.h"

#include "kernels/tower/tile_rows.h"

#include "kernels/tower/bf16_text.h"
#include "kernels/tower/tile_ahead.h"
#include "kernels/tower/tiles.h"

/* sums [32][PANEL] (+)= 32 rows times PANEL columns. */
static void multiply_tiles(const slab_job *job, int32_t r)
{
    const uint32_t *a = job->rows + ROW_START(r),
                   *a1 = a + 16 * PITCH; /* the 16 rows after these */
    const char *b = job->weights;
    float *sums = job->sums + r * PANEL, *low = sums + 16 * PANEL;
    asked ahead = ask_about(job, r);
    if (job->adds) {
        _tile_loadd(0, sums, PANEL * 4);
        _tile_loadd(1, sums + 16, PANEL * 4);
        _tile_loadd(2, low, PANEL * 4);
        _tile_loadd(3, low + 16, PANEL * 4);
    } else {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
    }
    for (int32_t k = 0; k < job->words; k += 16, b += 16 * PANEL * 4) {
        _tile_stream_loadd(4, a, 64);
        _tile_loadd(6, b, PANEL * 4);
        _tile_dpbf16ps(0, 4, 6);
        _tile_loadd(7, b + 64, PANEL * 4);
        _tile_dpbf16ps(1, 4, 7);
        _tile_stream_loadd(5, a1, 64);
        ask_ahead(&ahead);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
        a += TILE_WORDS;
        a1 += TILE_WORDS;
    }
    _tile_stored(0, sums, PANEL * 4);
    _tile_stored(1, sums + 16, PANEL * 4);
    _tile_stored(2, low, PANEL * 4);
    _tile_stored(3, low + 16, PANEL * 4);
}

static void slab_add(const slab_job *job)
{
    for (int32_t r = 0; r < job->n; r += ROWS) {
        multiply_tiles(job, r);
        if (job->ends) rows_finish(job, r);
    }
}

static void amx_product(const s2v_product *p, s2v_share part, void *scratch)
{
    s2v_tile_config before;
    s2v_tiles_enter(&before);
    product(p, part, scratch);
    s2v_tiles_leave(&before);
}

#include "kernels/tower/attention_tiles.h"
#include "kernels/tower/narrow_table.h"

const s2v_kernels s2v_kernels_amx_bf16 = {
    .name = "amx-bf16",
    .needs = "AMX TILE, BF16; AVX-512 F, BW, DQ, VL, BF16",
    .precision = S2V_PRECISION_BF16,
    .takes_quants = true,
    NARROW_TABLE(bf16, amx_product),
    .attention = S2V_PRECISION_BF16,
    .attention_scratch = tile_attention_scratch,
    .attend = tile_attend,
};
