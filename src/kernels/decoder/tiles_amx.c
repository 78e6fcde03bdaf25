/* tiles_amx.c - many rows times quantized weights, as BF16, by the tiles of AMX.
 *
 * Blocks are unpacked to BF16, 32 outputs and 1024 inputs at a time, and multiplied with all rows;
 * float32 sums. Weights are the left side of a tile product, so that an unpacked row lies in the tile
 * as it comes; rows of activations are transposed once for all their products. Both sides are
 * rounded once: an output is off by at most (2^-7.9 + k 2^-24) S. BF16 denormals count as zeros, NaN
 * and infinities pass on.
 *
 * The loops are: chunks of outputs, slabs of inputs, panels of outputs, rows.
 * A panel of 32 outputs by a slab of 512 inputs is unpacked into 32 KiB, most of the first-level
 * cache, and all rows pass by, 32 at a time. Rows of a slab and the sums of a chunk wait in the
 * second-level cache; rows come from farther away once for a chunk, weights once for ROWS rows.
 */
#include "kernels/decoder/products.h"
#include "kernels/decoder/wide_blocks.h"
#include "kernels/tower/tiles.h"

#define TILE_BYTES 1024 /* 16 rows of 64 bytes: 32 BF16 */
#define PANEL S2K_GRAIN
#define SLAB 32   /* tiles of 32 inputs */
#define CHUNK 4   /* panels */
#define GROUPS 20 /* groups of 16 rows done at a time */

/* --- weights to BF16, 32 at a time, in the order of the row --------------------------------- */

/* To nearest, ties to even. */
S2V_INLINE words32 bf16_pair(lanes first, lanes second)
{
#if defined(__AVX512BF16__)
    return (words32)_mm512_cvtne2ps_pbh((__m512)second, (__m512)first);
#else
    words32 out;
    for (int i = 0; i < 16; i++) {
        out[i] = s2v_bf16_of_float(first[i]);
        out[16 + i] = s2v_bf16_of_float(second[i]);
    }
    return out;
#endif
}

/* Numbers that are each needed in all lanes: broadcast from memory they cost nothing, from a register a
 * permutation each, which GCC prefers unless the copy in memory is opaque to it. */
S2V_INLINE void spread(float out[16], lanes v)
{
    store(out, v);
    __asm__ volatile("" : "+m"(*(float(*)[16])out));
}

S2V_INLINE lanes count_up(void)
{
    return (lanes){ 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
}

/* Four-bit weights have 16 possible values in a group: these are computed and rounded once, as a table,
 * which the nibbles index.
 *
 * n_tiles times 32 weights from `row` on, whole blocks, go to out, out + TILE_BYTES, ... */
S2V_INLINE void unpack_q4_k(const char *row, int32_t n_tiles, char *out)
{
    const q4_k_block *w = (const q4_k_block *)(const void *)row;
    for (int32_t i = 0; i < n_tiles; i += 8, w++) {
        float scale[16];
        spread(scale, unpack_scales(w));
        for (int g = 0; g < 8; g += 2, out += 2 * (ptrdiff_t)TILE_BYTES) {
            const words32 table = bf16_pair(count_up() * all(scale[g]) - all(scale[8 + g]),
                                            count_up() * all(scale[g + 1]) - all(scale[9 + g]));
            const words32 both = widen_bytes(load_bytes(w->nibbles[g / 2]));
            store_words(out, look_up(table, both & 15));
            store_words(out + TILE_BYTES, look_up(table, (both >> 4) | 16));
        }
    }
}

/* Weights as 0 to 63 of two groups. */
S2V_INLINE void store_groups(char *out, bytes32 six, const float *scale, const float *middle)
{
    bytes16 half[2];
    memcpy(half, &six, sizeof half);
    store_words(out, bf16_pair(float_of_bytes(half[0]) * all(scale[0]) - all(middle[0]),
                               float_of_bytes(half[1]) * all(scale[1]) - all(middle[1])));
}

S2V_INLINE void unpack_q6_k(const char *row, int32_t n_tiles, char *out)
{
    const q6_k_block *w = (const q6_k_block *)(const void *)row;
    for (int32_t i = 0; i < n_tiles; i += 8, w++) {
        const lanes scales = widen_signed(w->scale) * step_at(&w->step);
        float scale[16], middle[16];
        spread(scale, scales);
        spread(middle, scales * all(32.0f));
        for (int h = 0; h < 2; h++, out += 4 * (ptrdiff_t)TILE_BYTES) {
            const float *s = scale + 8 * h, *m = middle + 8 * h;
            const bytes32 a = load_bytes(w->low[h][0]), b = load_bytes(w->low[h][1]);
            const bytes32 two = load_bytes(w->high[h]);
            store_groups(out, (a & 15) | ((two & 3) << 4), s, m);
            store_groups(out + TILE_BYTES, (b & 15) | ((two & 12) << 2), s + 2, m + 2);
            store_groups(out + 2 * TILE_BYTES, (a >> 4) | (two & 48), s + 4, m + 4);
            store_groups(out + 3 * TILE_BYTES, (b >> 4) | ((two >> 2) & 48), s + 6, m + 6);
        }
    }
}

static void unpack(s2k_format format, const char *row, int32_t n_tiles, char *out)
{
    if (format == S2K_Q4_K) unpack_q4_k(row, n_tiles, out);
    if (format == S2K_Q6_K) unpack_q6_k(row, n_tiles, out);
}

/* --- rows ------------------------------------------------------------------------------------ */

/* In groups of 16 rows. */
static size_t rows_bytes(int32_t k, int32_t m)
{
    return (size_t)((m + 15) / 16) * (size_t)(k / 32) * TILE_BYTES;
}

/* A tile: 32 BF16 of 16 rows become 16 pairs of each row, a pair of every row side by side. */
static void transpose_tile(const float *x, ptrdiff_t pitch, int32_t m, char *out)
{
    lanes square[16];
    for (int32_t i = 0; i < 16; i++)
        square[i] =
            i < m ? (lanes)bf16_pair(load(x + i * pitch), load(x + i * pitch + 16)) : (lanes){ 0 };
    transpose_square(square);
    memcpy(out, square, sizeof square);
}

/* Slabs one after the other, in a slab the groups of rows, in a group its tiles: what is multiplied
 * with a panel lies together. */
static void pack_rows(const float *x, ptrdiff_t pitch, int32_t k, int32_t m, int32_t first,
                      int32_t last, void *out)
{
    const int32_t n_tiles = k / 32, n_groups = (m + 15) / 16;
    for (int32_t at = 0; at < n_tiles; at += SLAB) {
        const int32_t n = n_tiles - at < SLAB ? n_tiles - at : SLAB;
        for (int32_t group = first; group < last; group++)
            for (int32_t t = 0; t < n; t++)
                transpose_tile(x + 16 * group * pitch + 32 * (ptrdiff_t)(at + t), pitch,
                               m - 16 * group,
                               (char *)out + ((ptrdiff_t)at * n_groups + (ptrdiff_t)group * n + t) *
                                                 TILE_BYTES);
    }
}

/* --- products -------------------------------------------------------------------------------- */

typedef struct panel_product { /* a panel and a slab of a product */
    const char *weights;       /* unpacked: [2][SLAB] tiles */
    int32_t n_tiles;
    const char *rows; /* transposed, of the slab; row_pitch bytes from a group to the next */
    ptrdiff_t row_pitch;
    bool starts, ends;
    char *sums; /* [groups][2] tiles */
    float *out; /* of the first row and output */
    ptrdiff_t pitch;
    int32_t m, n; /* rows and outputs of the result there are */
} panel_product;

/* Bytes of n tiles of a row. */
static size_t tiles_bytes(s2k_format format, int32_t n)
{
    return (size_t)(n / 8) * s2k_format_of(format)->block_bytes;
}

typedef struct
    slab { /* of a panel: outputs from `at` on, n tiles of their inputs from `first` on */
    int32_t at, first, n;
} slab;

static const char *slab_row(const s2k_weights *w, slab of, int32_t i)
{
    return (const char *)w->data + (size_t)(of.at + i) * tiles_bytes(w->format, w->k / 32) +
           tiles_bytes(w->format, of.first);
}

/* Outputs past the end are not written: their sums are not used. Each row prefetches the one that takes
 * its place next, because pieces of rows are too short for the hardware prefetcher. */
static void unpack_slab(const s2k_weights *w, slab of, slab next, char *out)
{
    const int32_t last = w->n - of.at < PANEL ? w->n - of.at : PANEL;
    const size_t n_next = tiles_bytes(w->format, next.n);
    for (int32_t i = 0; i < last; i++) {
        const char *row = slab_row(w, of, i);
        char *to = out + (ptrdiff_t)(i / 16) * SLAB * TILE_BYTES + 64 * (ptrdiff_t)(i % 16);
        if (next.at + i < w->n)
            for (size_t b = 0; b < n_next; b += 64)
                __builtin_prefetch(slab_row(w, next, i) + b, 0, 2);
        unpack(w->format, row, of.n, to);
    }
}

/* 16 outputs of 16 rows, of which m rows and n outputs are wanted. */
static void store_sums(const char *tile, int32_t m, int32_t n, float *out, ptrdiff_t pitch)
{
    lanes square[16];
    memcpy(square, tile, sizeof square);
    transpose_square(square);
    for (int32_t i = 0; i < 16 && i < m; i++) store_some(out + i * pitch, square[i], n);
}

static void finish_group(const panel_product *j, const char *tiles, int32_t group)
{
    float *out = j->out + 16 * (ptrdiff_t)group * j->pitch;
    store_sums(tiles, j->m - 16 * group, j->n, out, j->pitch);
    if (j->n > 16) store_sums(tiles + TILE_BYTES, j->m - 16 * group, j->n - 16, out + 16, j->pitch);
}

/* 32 outputs of two groups of rows. */
static void multiply_two(const panel_product *j, int32_t group)
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

static void multiply_one(const panel_product *j, int32_t group)
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

static void multiply_panel(const panel_product *j)
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

static size_t scratch_bytes(int32_t k, int32_t m)
{
    (void)k;
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
static void multiply_rows(const s2k_weights *w, const char *rows, int32_t n_rows, int32_t group,
                          int32_t first, int32_t last, float *out, ptrdiff_t pitch, char *scratch)
{
    const int32_t n_tiles = w->k / 32, n_groups = (n_rows + 15) / 16, left = n_rows - 16 * group;
    const int32_t m = left < 16 * GROUPS ? left : 16 * GROUPS;
    const int32_t size = (m > 16 ? CHUNK : 1) * PANEL;
    const ptrdiff_t panel_sums = 2 * (ptrdiff_t)((m + 15) / 16) * TILE_BYTES;
    panel_product j = { .weights = scratch, .pitch = pitch, .m = m };
    slab now = { first, 0, n_tiles < SLAB ? n_tiles : SLAB };
    for (int32_t chunk = first; now.at < last;) {
        const slab next = next_slab(now, n_tiles, chunk, size, last);
        unpack_slab(w, now, next, scratch);
        j.n_tiles = now.n;
        j.starts = now.first == 0;
        j.ends = now.first + now.n == n_tiles;
        j.row_pitch = (ptrdiff_t)now.n * TILE_BYTES;
        j.rows = rows + (ptrdiff_t)now.first * n_groups * TILE_BYTES + group * j.row_pitch;
        j.sums = scratch + 2 * SLAB * TILE_BYTES + (now.at - chunk) / PANEL * panel_sums;
        j.out = out + 16 * group * pitch + now.at;
        j.n = last - now.at < PANEL ? last - now.at : PANEL;
        multiply_panel(&j);
        now = next;
        if (now.at >= chunk + size || now.at >= last) chunk = now.at;
    }
}

static void product(const s2k_weights *w, const void *rows, int32_t m, int32_t first, int32_t last,
                    float *out, ptrdiff_t pitch, void *scratch)
{
    s2v_tile_config before;
    s2v_tiles_enter(&before);
    for (int32_t group = 0; 16 * group < m; group += GROUPS)
        multiply_rows(w, rows, m, group, first, last, out, pitch, scratch);
    s2v_tiles_leave(&before);
}

static bool runs(const s2_cpu *cpu) { return cpu->amx_bf16 && cpu->avx512_bf16; }

const s2k_products s2k_tiles_amx = {
    .name = "tiles-amx",
    .runs = runs,
    .formats = S2K_TAKES(S2K_Q4_K) | S2K_TAKES(S2K_Q6_K),
    .max_rows = S2K_ANY_ROWS,
    .group = 16,
    .padding = 16,
    .piece = CHUNK * PANEL,
    .product_error = 0x1p-7,
    .keeps_nan = true,
    .rows_bytes = rows_bytes,
    .pack_rows = pack_rows,
    .scratch = scratch_bytes,
    .product = product,
};
