/* attention_words.h - attention in BF16 pairs: what the units have in common.
 *
 * Keys are the rows of the first product and queries its columns, so that softmax goes down columns:
 * nothing is summed across a vector, and what a query has so far is scaled by one vector for all. The
 * second product has the elements of the values as rows and the same columns.
 *
 * Queries (times scale), keys, values and weights are rounded to BF16, scores and sums are float32.
 * Includes bf16_text.h's packing and rows_text.h.
 */
#include "kernels/tower/attention_units.h"

/* A query or key of a head, rotated if there is a rotation, times scale, in words: WIDTH of them at
 * every `pitch`. The next head of the row is asked for: it comes next in a window, and rows are far
 * apart. */
static void head_words(const s2v_attention *a, const float *x, int32_t row, int32_t head,
                       float scale, uint32_t *out, ptrdiff_t pitch)
{
    const float *from = x + row * a->pitch + (ptrdiff_t)head * a->dim;
    const ptrdiff_t angles = (ptrdiff_t)row * (a->dim / 2);
    float rotated[S2V_MAX_HEAD];
    for (int32_t d = 0; d < a->dim; d += 16) __builtin_prefetch(from + a->dim + d, 0, 2);
    if (a->cos) {
        row_rotate(from, a->dim, a->cos + angles, a->sin + angles, rotated);
        from = rotated;
    }
    for (int32_t d = 0; d < a->dim; d += 2 * WIDTH, out += pitch) {
        const int32_t left = a->dim - d;
        const lanes low = load_some(from + d, left) * scale;
        const lanes high =
            left > WIDTH ? load_some(from + d + WIDTH, left - WIDTH) * scale : (lanes){ 0 };
        store_ints(out, (ints)words_of(low, high));
    }
}

/* Words whose low halves are of one vector and whose high halves are of another. */
S2V_INLINE bits pair_words(lanes even, lanes odd)
{
#if S2V_IS_AVX512 && !defined(S2V_EMULATE_AVX512)
    typedef uint16_t all_halves __attribute__((vector_size(64)));
    const all_halves order = { 0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
                               8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31 };
    return (bits)_mm512_permutexvar_epi16((__m512i)order, (__m512i)words_of(even, odd));
#else
    halves low, high;
    store_bf16((uint16_t *)&low, even);
    store_bf16((uint16_t *)&high, odd);
    return __builtin_convertvector(low, bits) | __builtin_convertvector(high, bits) << 16;
#endif
}

/* n <= PANEL queries from row `row` on, times scale and log2(e) so that powers of two will do, as
 * [words][PANEL]. words: a multiple of WIDTH that holds the head. */
static void lay_out_queries(const s2v_attention *a, int32_t row, int32_t n, int32_t head,
                            int32_t words, uint32_t *to)
{
    uint32_t flat[WIDTH][S2V_MAX_HEAD / 2];
    const float scale = a->scale * 1.44269504f;
    for (int32_t half = 0; half < PANEL; half += WIDTH) {
        for (int32_t i = 0; i < WIDTH && half + i < n; i++)
            head_words(a, a->q, row + half + i, head, scale, flat[i], WIDTH);
        for (int32_t w = 0; w < words; w += WIDTH) {
            lanes square[WIDTH];
            for (int32_t i = 0; i < WIDTH; i++)
                square[i] = half + i < n ? (lanes)load_ints(flat[i] + w) : (lanes){ 0 };
            transpose_square(square);
            for (int32_t i = 0; i < WIDTH; i++)
                store_ints(to + (ptrdiff_t)(w + i) * PANEL + half, (ints)square[i]);
        }
    }
}

/* 2^x for x <= 0 to 2^-18 of it, exact where x is whole, zero from -127 on; NaN stays. As
 * power_of_two(), with fewer terms: the result is rounded to BF16. */
S2V_INLINE lanes rough_power(lanes x)
{
    const lanes magic = all(12583039.0f); /* 1.5 * 2^23 + 127: the offset of exponents is in it */
    x = larger(all(-127.0f), x);
    const lanes whole = x + magic, f = x - (whole - magic);
    lanes p = all(9.7829126e-3f) * f + all(5.5976884e-2f);
    p = p * f + all(2.4020711e-1f);
    p = p * f + all(6.9311360e-1f);
    p = p * f + all(1.0f);
    return p * (lanes)((bits)whole << 23);
}

typedef struct columns_state { /* of WIDTH queries */
    lanes most, sum;
} columns_state;

/* Scores of WIDTH queries over n keys, PANEL floats apart, become weights: words of two keys, PANEL
 * apart, up to n_words, which may take the place of the scores. `found`: the largest score. What the
 * queries have so far, out [height] PANEL apart, is scaled to the new maximum. */
S2V_INLINE void weigh_columns(const float *scores, int32_t n, lanes found, uint32_t *weights,
                              int32_t n_words, float *out, int32_t height, columns_state *q)
{
    lanes most = larger(found, q->most);
    if (largest_of(most - q->most) > 0.0f) {
        const lanes shrink = power_of_two(q->most - most);
        for (int32_t d = 0; d < height; d++) store(out + d * PANEL, load(out + d * PANEL) * shrink);
        q->sum *= shrink;
        q->most = most;
    } else {
        most = q->most;
    }
    lanes sum = { 0 };
    int32_t i = 0;
    for (; i < n - 1; i += 2, weights += PANEL) {
        const lanes even = rough_power(load(scores + i * PANEL) - most);
        const lanes odd = rough_power(load(scores + (i + 1) * PANEL) - most);
        sum += even + odd;
        store_ints(weights, (ints)pair_words(even, odd));
    }
    for (; i < 2 * n_words; i += 2, weights += PANEL) { /* the last key, and none */
        const lanes even = i < n ? rough_power(load(scores + i * PANEL) - most) : (lanes){ 0 };
        sum += even;
        store_ints(weights, (ints)pair_words(even, (lanes){ 0 }));
    }
    q->sum += sum;
}

/* n <= WIDTH queries from row `row` on, whose results are the columns of out [height], PANEL apart;
 * height is a multiple of WIDTH or out has zeros to read after it. */
static void store_columns(const s2v_attention *a, int32_t height, const float *out, int32_t row,
                          int32_t n, int32_t head, const columns_state *state)
{
    const lanes share = all(1.0f) / state->sum;
    for (int32_t d = 0; d < height; d += WIDTH) {
        lanes square[WIDTH];
        for (int32_t i = 0; i < WIDTH; i++) square[i] = load(out + (d + i) * PANEL) * share;
        transpose_square(square);
        for (int32_t i = 0; i < WIDTH && i < n; i++)
            store_some(a->out + (row + i) * a->out_pitch + (ptrdiff_t)head * a->dim + d, square[i],
                       a->dim - d);
    }
}
