/* digits_amx.c - five to eight rows times quantized weights, as digits of whole numbers, by the tiles of AMX.
 *
 * A tile product has sixteen columns: the low digits of eight rows, and the high ones. Rows are rounded
 * to 15 bits, one step for the 256 inputs of a block, and a number is 256 * high + low, both signed
 * bytes. Weights times their scales, which are whole numbers too, are two unsigned bytes in Q4_K (times
 * the lower and the upper three bits of the scale) and a signed byte above an unsigned one in Q6_K. So
 * the sums over a block are exact in 32 bits, and become floats once for low and once for high digits.
 * Sixteen outputs are done at a time, each block unpacked once for all rows. The mins are
 * multiplied with the sums of the rows' numbers, which are computed once.
 */
#include "kernels/decoder/products.h"
#include "kernels/decoder/rounded_rows.h"
#include "kernels/tower/tiles.h"

#define OUTPUTS 16
#define ROWS 8

typedef struct row_block {           /* 256 inputs of all rows; value = step * (256 * high + low) */
    int8_t digit[4][16][2][ROWS][4]; /* 64 inputs are a tile: fours of them; low, then high; rows */
    float step[2][ROWS];             /* and 256 times it */
    float taken[4][2][ROWS];         /* -step * the sum of every 32 */
} row_block;

typedef struct scratch {
    uint8_t weight[2][4][OUTPUTS][64]; /* low digits, then high ones: tiles of 64 inputs */
    ints whole[2][OUTPUTS];            /* sums of the two, over a block */
    lanes sum[OUTPUTS];                /* of the low and of the high digits of each row */
} scratch;

_Static_assert(sizeof(row_block) % S2K_ALIGN == 0, "tiles are read in whole lines");

static size_t rows_bytes(int32_t k, int32_t m)
{
    (void)m; /* always room for ROWS */
    return (size_t)(k / BLOCK) * sizeof(row_block);
}

/* Row `row` of the ROWS; x NULL: zeros. */
static void pack_row(const float *x, int32_t k, int32_t row, row_block *to)
{
    for (int32_t at = 0; at < k; at += BLOCK, to++) {
        rounded of = { .step = 0.0f };
        if (x) round_block(x + at, &of);
        for (int i = 0; i < BLOCK; i++) {
            const int low = ((of.word[i] + 128) & 255) - 128, high = (of.word[i] - low) / 256;
            to->digit[i / 64][i % 64 / 4][0][row][i % 4] = (int8_t)low;
            to->digit[i / 64][i % 64 / 4][1][row][i % 4] = (int8_t)high;
        }
        for (int g = 0; g < BLOCK / GROUP; g++)
            to->taken[g / 2][g % 2][row] = -of.step * (float)of.sum[g];
        to->step[0][row] = of.step;
        to->step[1][row] = 256.0f * of.step;
    }
}

static void pack_rows(const float *x, ptrdiff_t pitch, int32_t k, int32_t m, int32_t first,
                      int32_t last, void *out)
{
    for (int32_t r = first; r < last; r++) pack_row(r < m ? x + r * pitch : NULL, k, r, out);
}

/* --- weights --------------------------------------------------------------------------- */

/* A nibble times three bits of a scale fits a byte, so a product of words is one of two bytes. */
S2V_INLINE void take_q4_k(const void *block, const row_block *x, int i, scratch *s)
{
    const q4_k_block *w = block;
    const bytes16 six = six_bits(w);
    const words32 scales = words_of_bytes(six), low = scales & 7, high = scales >> 3;
    for (int t = 0; t < 4; t++) {
        const words32 four = shift_twice(w->nibbles[t], 0, 4) & 0x0f0f;
        const words32 which = HALVES + (uint16_t)(2 * t);
        store_words((char *)s->weight[0][t][i], four * look_up(low, which));
        store_words((char *)s->weight[1][t][i], four * look_up(high, which));
    }
    const lanes mins = float_of_bytes(six) * step_at(&w->min_step); /* those of 8 to 15 */
#define SPREAD(a, b) \
    __builtin_shufflevector(mins, mins, a, a, a, a, a, a, a, a, b, b, b, b, b, b, b, b)
    lanes sum = add_product(SPREAD(8, 9), load(x->taken[0][0]), s->sum[i]);
    sum = add_product(SPREAD(10, 11), load(x->taken[1][0]), sum);
    sum = add_product(SPREAD(12, 13), load(x->taken[2][0]), sum);
    s->sum[i] = add_product(SPREAD(14, 15), load(x->taken[3][0]), sum);
#undef SPREAD
}

S2V_INLINE void take_q6_k(const void *block, int i, scratch *s)
{
    const q6_k_block *w = block;
    const words32 scales = words_of_signed(w->scale);
    for (int t = 0; t < 4; t++) {
        words32 even, odd;
        q6_k_words(w, scales, t, &even, &odd);
        store_words((char *)s->weight[0][t][i], (even & 255) | odd << 8);
        store_words((char *)s->weight[1][t][i], even >> 8 | (odd & 0xff00));
    }
}

typedef struct high_digit { /* of a format's weights */
    bool is_signed;
    int32_t weight; /* of a low digit: 1 */
} high_digit;

S2V_INLINE high_digit high_of(const s2k_format format)
{
    return format == S2K_Q4_K ? (high_digit){ false, 8 } : (high_digit){ true, 256 };
}

S2V_INLINE void take(const s2k_format format, const void *block, const row_block *x, int i,
                     scratch *s)
{
    if (format == S2K_Q4_K) take_q4_k(block, x, i, s);
    if (format == S2K_Q6_K) take_q6_k(block, i, s);
}

/* --- products -------------------------------------------------------------------------- */

/* Sums over a block, of low and of high digits of the weights. */
S2V_INLINE void multiply_block(const s2k_format format, const row_block *x, scratch *s)
{
    _tile_zero(0);
    _tile_zero(1);
    for (int t = 0; t < 4; t++) {
        _tile_loadd(6, x->digit[t], 64);
        _tile_loadd(4, s->weight[0][t], 64);
        _tile_dpbusd(0, 4, 6);
        _tile_loadd(5, s->weight[1][t], 64);
        if (high_of(format).is_signed)
            _tile_dpbssd(1, 5, 6);
        else
            _tile_dpbusd(1, 5, 6);
    }
    _tile_stored(0, s->whole[0], 64);
    _tile_stored(1, s->whole[1], 64);
}

typedef struct digit_product {
    const s2k_weights *w;
    const row_block *rows;
    int32_t m;
    float *out;
    ptrdiff_t pitch;
} digit_product;

/* n outputs from `at` on. */
S2V_INLINE void multiply_outputs(const digit_product *j, const s2k_format format, int32_t at, int n)
{
    const size_t block = s2k_format_of(format)->block_bytes;
    const int32_t n_blocks = j->w->k / BLOCK;
    const size_t size = (size_t)n_blocks * block;
    const char *first = (const char *)j->w->data + (size_t)at * size;
    scratch s __attribute__((aligned(64)));
    for (int i = 0; i < OUTPUTS; i++) s.sum[i] = (lanes){ 0 };
    for (int32_t b = 0; b < n_blocks; b++) {
        const row_block *x = j->rows + b;
        for (int i = 0; i < n; i++) {
            const char *from = first + (size_t)i * size + (size_t)b * block;
            for (size_t ahead = 0; ahead < block; ahead += 64)
                __builtin_prefetch(from + OUTPUTS * size + ahead, 0, 2);
            take(format, from, x, i, &s);
        }
        multiply_block(format, x, &s);
        const lanes steps = load(x->step[0]);
        for (int i = 0; i < n; i++) {
            const char *from = first + (size_t)i * size + (size_t)b * block;
            const lanes step = step_at(from + s2k_format_of(format)->step_at);
            const ints whole = s.whole[0][i] + s.whole[1][i] * high_of(format).weight;
            s.sum[i] = add_product(float_of_ints(whole) * step, steps, s.sum[i]);
        }
    }
    for (int i = 0; i < n; i++)
        for (int r = 0; r < j->m; r++)
            j->out[r * j->pitch + at + i] = s.sum[i][r] + s.sum[i][r + ROWS];
}

static void product(const s2k_weights *w, const void *rows, int32_t m, int32_t first, int32_t last,
                    float *out, ptrdiff_t pitch, void *unused)
{
    const digit_product j = { w, rows, m, out, pitch };
    s2v_tile_config before;
    (void)unused;
    s2v_tiles_enter(&before);
    for (int32_t at = first; at < last; at += OUTPUTS) {
        const int n = last - at < OUTPUTS ? last - at : OUTPUTS;
        if (w->format == S2K_Q4_K) multiply_outputs(&j, S2K_Q4_K, at, n);
        if (w->format == S2K_Q6_K) multiply_outputs(&j, S2K_Q6_K, at, n);
    }
    s2v_tiles_leave(&before);
}

static bool runs(const s2_cpu *cpu) { return cpu->amx_int8; }

const s2k_products s2k_digits_amx = {
    .name = "digits-amx",
    .runs = runs,
    .formats = S2K_TAKES(S2K_Q4_K) | S2K_TAKES(S2K_Q6_K),
    .max_rows = ROWS,
    .group = 1,
    .padding = ROWS,
    .piece = 64,
    .row_error = ROUNDED_ROW_ERROR,
    .product_error = 1e-5,
    .keeps_nan = true,
    .rows_bytes = rows_bytes,
    .pack_rows = pack_rows,
    .product = product,
};
