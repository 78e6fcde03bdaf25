/* q8_amx.c - bytes in blocks of 32 by the tiles of AMX; attention as bf16_amx.c does it.
 *
 * A block of 16 rows is a tile of 16 rows of 32 bytes, one of 16 columns a tile of 8 words of 64 bytes;
 * four tiles hold the whole sums of 32 rows by 32 columns. They leave the tiles after every block to be
 * multiplied with the steps, so it is vectors and not tiles that limit. Two buffers alternate: the vectors
 * scale one block while the tiles multiply the next.
 */
#include "kernels/tower/tables.h"

#define WIDTH 16
#define ROWS 32
#define BLOCK 384
#define SLAB_BLOCKS 24
#define CHUNK 8
#define FLIP 0
#define AS_PAIRS 0
/* Ten words of each of 16 rows, block after block: a tile of rows has this pitch. */
#define ROW_START(i) ((ptrdiff_t)((i) / 16) * 16 * PITCH + (i) % 16 * ROW_WORDS)
#define PLACE(block, word) ((block)*16 * ROW_WORDS + (word))
#include "kernels/tower/q8_text.h"
#include "kernels/tower/tiles.h"

#define TILE_PITCH (ROW_WORDS * 4) /* bytes from a row of a tile to the next */

/* The whole sums [ROWS][PANEL] of a block; a, low: rows 0 and 16 of it. */
static void multiply_block(const uint32_t *a, const uint32_t *low, const char *b, int32_t *out)
{
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    _tile_loadd(4, a, TILE_PITCH);
    _tile_loadd(6, b, PANEL * 4);
    _tile_dpbssd(0, 4, 6);
    _tile_loadd(7, b + 64, PANEL * 4);
    _tile_dpbssd(1, 4, 7);
    _tile_loadd(5, low, TILE_PITCH);
    _tile_dpbssd(2, 5, 6);
    _tile_dpbssd(3, 5, 7);
    _tile_stored(0, out, PANEL * 4);
    _tile_stored(1, out + 16, PANEL * 4);
    _tile_stored(2, out + 16 * PANEL, PANEL * 4);
    _tile_stored(3, out + 16 * PANEL + 16, PANEL * 4);
}

static void rows_add(const slab_job *job, int32_t r, float *sums)
{
    _Alignas(64) int32_t whole[2][ROWS * PANEL];
    const uint32_t *a = job->rows + ROW_START(r), *low = job->rows + ROW_START(r + 16);
    const char *b = job->weights;
    bool adds = job->adds;
    for (int32_t left = job->words, turn = 0; left > 0; left -= PANEL_WORDS, turn = !turn) {
        multiply_block(a, low, b, whole[turn]);
        const lanes step[2] = { (lanes)load_ints(b + 1024), (lanes)load_ints(b + 1088) };
        for (int i = 0; i < ROWS; i++) {
            const uint32_t *row = (i < 16 ? a : low) + i % 16 * ROW_WORDS;
            const lanes x = all(s2v_float_of_bits(row[STEP_AT]));
            for (int v = 0; v < 2; v++) {
                const ints sum = load_ints(whole[turn] + i * PANEL + v * WIDTH);
                const lanes value = __builtin_convertvector(sum, lanes) * step[v];
                float *to = sums + i * PANEL + v * WIDTH;
                store(to, adds ? load(to) + value * x : value * x);
            }
        }
        a += 16 * ROW_WORDS;
        low += 16 * ROW_WORDS;
        b += BLOCK_BYTES;
        adds = true;
    }
}

static void amx_product(const s2v_product *p, s2v_share part, void *scratch)
{
    s2v_tile_config before, ours = { .palette = 1 };
    for (int i = 0; i < 8; i++) {
        ours.rows[i] = i < 6 ? 16 : 8;
        ours.row_bytes[i] = i == 4 || i == 5 ? 32 : 64;
    }
    S2V_STORE_TILE_CONFIG(before);
    S2V_LOAD_TILE_CONFIG(ours);
    product(p, part, scratch);
    s2v_tiles_leave(&before);
}

#define FLOATS s2v_kernels_amx_bf16
#include "kernels/tower/narrow_table.h"

const s2v_kernels s2v_kernels_amx_q8 = {
    .name = "amx-q8",
    .needs = "AMX TILE, INT8, BF16; AVX-512 F, BW, DQ, VL, BF16",
    .precision = S2V_PRECISION_Q8,
    .block = S2V_QUANT,
    .takes_quants = true,
    NARROW_TABLE(q8, amx_product),
    .attention = S2V_PRECISION_BF16,
    NARROW_ATTENTION,
};
