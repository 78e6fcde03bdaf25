/* blocks_amx.c - the product of blocks.h: chunks of outputs, slabs of k, panels of outputs, rows.
 *
 * A panel of 32 outputs by a slab of 512 inputs is unpacked into 32 KiB, most of the first-level
 * cache, and all rows pass by, 32 at a time. Rows of a slab and the sums of a chunk wait in the
 * second-level cache; rows come from farther away once for a chunk, weights once for ROWS rows.
 */
#include "kernels/decoder/blocks.h"
#include "kernels/decoder/unpack.h"
#include "kernels/tower/tiles.h"

#define PANEL S2V_BLOCKS_PANEL
#define SLAB 32   /* tiles of 32 inputs */
#define CHUNK 4   /* panels */
#define GROUPS 20 /* groups of 16 rows done at a time */

typedef struct job {     /* a panel and a slab of a product */
    const char *weights; /* unpacked: [2][SLAB] tiles */
    int32_t n_tiles;
    const char *rows; /* turned, of the slab; row_pitch bytes from a group to the next */
    ptrdiff_t row_pitch;
    bool starts, ends;
    char *sums; /* [groups][2] tiles */
    float *out; /* of the first row and output */
    ptrdiff_t pitch;
    int32_t m, n; /* rows and outputs of the result there are */
} job;

/* Bytes of n tiles of a row. */
static size_t tiles_bytes(s2v_block_kind kind, int32_t n)
{
    return (size_t)(n / 8) * (kind == S2V_Q4_K ? sizeof(q4_k_block) : sizeof(q6_k_block));
}

/* A tile: 32 BF16 of 16 rows become 16 pairs of each row, a pair of every row side by side. */
static void turn_tile(const float *x, ptrdiff_t pitch, int32_t m, char *out)
{
    lanes square[16];
    for (int32_t i = 0; i < 16; i++)
        square[i] =
            i < m ? (lanes)bf16_pair(load(x + i * pitch), load(x + i * pitch + 16)) : (lanes){ 0 };
    turn_square(square);
    memcpy(out, square, sizeof square);
}

/* Slabs one after the other, in a slab the groups of rows, in a group its tiles: what is multiplied
 * with a panel lies together. */
void s2v_blocks_turn_amx(const float *x, ptrdiff_t pitch, int32_t k, int32_t m, int32_t first,
                         int32_t last, void *out)
{
    const int32_t n_tiles = k / 32, n_groups = (m + 15) / 16;
    for (int32_t at = 0; at < n_tiles; at += SLAB) {
        const int32_t n = n_tiles - at < SLAB ? n_tiles - at : SLAB;
        for (int32_t group = first; group < last; group++)
            for (int32_t t = 0; t < n; t++)
                turn_tile(x + 16 * group * pitch + 32 * (ptrdiff_t)(at + t), pitch, m - 16 * group,
                          (char *)out +
                              ((ptrdiff_t)at * n_groups + (ptrdiff_t)group * n + t) * TILE_BYTES);
    }
}

typedef struct
    slab { /* of a panel: outputs from `at` on, n tiles of their inputs from `first` on */
    int32_t at, first, n;
} slab;

static const char *slab_row(const s2v_blocks *w, slab of, int32_t i)
{
    return (const char *)w->data + (size_t)(of.at + i) * tiles_bytes(w->kind, w->k / 32) +
           tiles_bytes(w->kind, of.first);
}

/* Outputs past the end are not written: nobody reads their sums. Each row asks for the one that comes
 * in its place next, since pieces of rows are too short for the machine to see where they lead. */
static void unpack_slab(const s2v_blocks *w, slab of, slab next, char *out)
{
    const int32_t last = w->n - of.at < PANEL ? w->n - of.at : PANEL;
    const size_t n_next = tiles_bytes(w->kind, next.n);
    for (int32_t i = 0; i < last; i++) {
        const char *row = slab_row(w, of, i);
        char *to = out + (ptrdiff_t)(i / 16) * SLAB * TILE_BYTES + 64 * (ptrdiff_t)(i % 16);
        if (next.at + i < w->n)
            for (size_t b = 0; b < n_next; b += 64)
                __builtin_prefetch(slab_row(w, next, i) + b, 0, 2);
        if (w->kind == S2V_Q4_K)
            unpack_q4_k(row, of.n, to);
        else
            unpack_q6_k(row, of.n, to);
    }
}

/* 16 outputs of 16 rows, of which m rows and n outputs are wanted. */
static void store_sums(const char *tile, int32_t m, int32_t n, float *out, ptrdiff_t pitch)
{
    lanes square[16];
    memcpy(square, tile, sizeof square);
    turn_square(square);
    for (int32_t i = 0; i < 16 && i < m; i++) store_some(out + i * pitch, square[i], n);
}

static void finish_group(const job *j, const char *tiles, int32_t group)
{
    float *out = j->out + 16 * (ptrdiff_t)group * j->pitch;
    store_sums(tiles, j->m - 16 * group, j->n, out, j->pitch);
    if (j->n > 16) store_sums(tiles + TILE_BYTES, j->m - 16 * group, j->n - 16, out + 16, j->pitch);
}

/* 32 outputs of two groups of rows. */
static void multiply_two(const job *j, int32_t group)
{
    const char *a = j->weights, *b = j->rows + group * j->row_pitch;
    char *sums = j->sums + 2 * (ptrdiff_t)group * TILE_BYTES;
    if (j->starts) {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
    } else {
        _tile_loadd(0, sums, 64);
        _tile_loadd(1, sums + TILE_BYTES, 64);
        _tile_loadd(2, sums + 2 * TILE_BYTES, 64);
        _tile_loadd(3, sums + 3 * TILE_BYTES, 64);
    }
    for (int32_t t = 0; t < j->n_tiles; t++, a += TILE_BYTES, b += TILE_BYTES) {
        _tile_loadd(6, b, 64);
        _tile_loadd(4, a, 64);
        _tile_dpbf16ps(0, 4, 6);
        _tile_loadd(5, a + SLAB * TILE_BYTES, 64);
        _tile_dpbf16ps(1, 5, 6);
        _tile_loadd(7, b + j->row_pitch, 64);
        _tile_dpbf16ps(2, 4, 7);
        _tile_dpbf16ps(3, 5, 7);
    }
    _tile_stored(0, sums, 64);
    _tile_stored(1, sums + TILE_BYTES, 64);
    _tile_stored(2, sums + 2 * TILE_BYTES, 64);
    _tile_stored(3, sums + 3 * TILE_BYTES, 64);
}

static void multiply_one(const job *j, int32_t group)
{
    const char *a = j->weights, *b = j->rows + group * j->row_pitch;
    char *sums = j->sums + 2 * (ptrdiff_t)group * TILE_BYTES;
    if (j->starts) {
        _tile_zero(0);
        _tile_zero(1);
    } else {
        _tile_loadd(0, sums, 64);
        _tile_loadd(1, sums + TILE_BYTES, 64);
    }
    for (int32_t t = 0; t < j->n_tiles; t++, a += TILE_BYTES, b += TILE_BYTES) {
        _tile_loadd(6, b, 64);
        _tile_loadd(4, a, 64);
        _tile_dpbf16ps(0, 4, 6);
        _tile_loadd(5, a + SLAB * TILE_BYTES, 64);
        _tile_dpbf16ps(1, 5, 6);
    }
    _tile_stored(0, sums, 64);
    _tile_stored(1, sums + TILE_BYTES, 64);
}

static void multiply_panel(const job *j)
{
    const int32_t n_groups = (j->m + 15) / 16;
    for (int32_t group = 0; group < n_groups; group += 2) {
        if (group + 1 < n_groups)
            multiply_two(j, group);
        else
            multiply_one(j, group);
        for (int32_t g = group; j->ends && g < group + 2 && g < n_groups; g++)
            finish_group(j, j->sums + 2 * (ptrdiff_t)g * TILE_BYTES, g);
    }
}

size_t s2v_blocks_scratch(int32_t m)
{
    const int32_t n_groups = (m + 15) / 16;
    const size_t sums = (size_t)CHUNK * 2 * (size_t)(n_groups < GROUPS ? n_groups : GROUPS);
    return (2 * SLAB + sums) * TILE_BYTES;
}

/* The slab after `of` in the order of multiply_rows: panels of a chunk, slabs, chunks. */
static slab next_slab(slab of, int32_t n_tiles, int32_t chunk, int32_t size, int32_t last)
{
    const int32_t end = last - chunk < size ? last : chunk + size;
    if (of.at + PANEL < end) {
        of.at += PANEL;
        return of;
    }
    of.at = chunk;
    of.first += of.n;
    if (of.first == n_tiles) {
        of.at = end;
        of.first = 0;
    }
    of.n = n_tiles - of.first < SLAB ? n_tiles - of.first : SLAB;
    return of;
}

/* Rows from a group on, at most GROUPS of them. */
static void multiply_rows(const s2v_blocks *w, const char *turned, int32_t n_rows, int32_t group,
                          int32_t first, int32_t last, float *out, ptrdiff_t pitch, char *scratch)
{
    const int32_t n_tiles = w->k / 32, n_groups = (n_rows + 15) / 16, left = n_rows - 16 * group;
    const int32_t m = left < 16 * GROUPS ? left : 16 * GROUPS;
    const int32_t size = (m > 16 ? CHUNK : 1) * PANEL;
    const ptrdiff_t panel_sums = 2 * (ptrdiff_t)((m + 15) / 16) * TILE_BYTES;
    job j = { .weights = scratch, .pitch = pitch, .m = m };
    slab now = { first, 0, n_tiles < SLAB ? n_tiles : SLAB };
    for (int32_t chunk = first; now.at < last;) {
        const slab next = next_slab(now, n_tiles, chunk, size, last);
        unpack_slab(w, now, next, scratch);
        j.n_tiles = now.n;
        j.starts = now.first == 0;
        j.ends = now.first + now.n == n_tiles;
        j.row_pitch = (ptrdiff_t)now.n * TILE_BYTES;
        j.rows = turned + (ptrdiff_t)now.first * n_groups * TILE_BYTES + group * j.row_pitch;
        j.sums = scratch + 2 * SLAB * TILE_BYTES + (now.at - chunk) / PANEL * panel_sums;
        j.out = out + 16 * group * pitch + now.at;
        j.n = last - now.at < PANEL ? last - now.at : PANEL;
        multiply_panel(&j);
        now = next;
        if (now.at >= chunk + size || now.at >= last) chunk = now.at;
    }
}

void s2v_blocks_product_amx(const s2v_blocks *w, const void *turned, int32_t m, int32_t first,
                            int32_t last, float *out, ptrdiff_t pitch, void *scratch)
{
    s2v_tile_config before;
    s2v_tiles_enter(&before);
    for (int32_t group = 0; 16 * group < m; group += GROUPS)
        multiply_rows(w, turned, m, group, first, last, out, pitch, scratch);
    s2v_tiles_leave(&before);
}
