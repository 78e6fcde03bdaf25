/* received_kernel.h - the text of received.c and received_avx2.c: S2V_RECEIVED is its name.
 *
 * Keys are laid out in panels of two vectors, so that a product of ROWS queries with
 * a panel keeps its sums in registers and reads every key once for ROWS multiply-adds.
 * BLOCK queries are done at a time: their scores stay in the cache until they are
 * exponentials, divided by their sum and added to what each key has received.
 *
 * Vectors are as wide as the instruction set makes worthwhile.
 */
#include "kernels/tower/received.h"

#if defined(__AVX2__)
#define WIDTH 8
#else
#define WIDTH 4
#endif
#include "kernels/vec.h"

#define PANEL (2 * WIDTH)
#define ROWS 6 /* 2 * ROWS sums, 2 keys and a query: 15 of 16 registers */
#define BLOCK S2V_RECEIVED_BLOCK

_Static_assert(BLOCK % ROWS == 0 && PANEL <= S2V_RECEIVED_PANEL, "fits the scratch");

/* 2^x for x <= 0, in fewer instructions than power_of_two: below -126 it stays at 2^-126, which does
 * not change a sum of scores. Adding 1.5 * 2^23
 * rounds x to a whole number and leaves it in the low bits, from where it goes to the exponent; for
 * the rest, at most a half, seven terms of the series are as good as a float gets. */
static inline lanes power_at_most_one(lanes x)
{
    const lanes magic = all(12582912.0f);
    x = larger(x, all(-126.0f));
    const lanes whole = x + magic, f = x - (whole - magic);
    lanes p = all(1.5403530e-4f) * f + all(1.3333558e-3f);
    p = p * f + all(9.6181291e-3f);
    p = p * f + all(5.5504109e-2f);
    p = p * f + all(2.4022651e-1f);
    p = p * f + all(6.9314718e-1f);
    p = p * f + all(1.0f);
    return (lanes)((bits)p + ((bits)whole << 23));
}

/* [panels][dim][PANEL]; zeros after the last key. */
static void lay_out_keys(const s2v_head *h, float *panels)
{
    for (int32_t first = 0; first < h->n; first += PANEL, panels += (ptrdiff_t)PANEL * h->dim)
        for (int32_t i = 0; i < PANEL; i++) {
            const float *key = first + i < h->n ? h->k + (first + i) * h->pitch : NULL;
            for (int32_t d = 0; d < h->dim; d++) panels[d * PANEL + i] = key ? key[d] : 0.0f;
        }
}

/* [BLOCK / ROWS][dim][ROWS], times 1 / sqrt(dim), and log2(e) so that powers of two will do. */
static void lay_out_queries(const s2v_head *h, int32_t first, int32_t n, float *out)
{
    const float scale = 1.44269504f / sqrtf((float)h->dim);
    for (int32_t i = 0; i < BLOCK; i++) {
        float *to = out + (ptrdiff_t)(i / ROWS) * ROWS * h->dim + i % ROWS;
        const float *query = i < n ? h->q + (first + i) * h->pitch : NULL;
        for (int32_t d = 0; d < h->dim; d++) to[d * ROWS] = query ? query[d] * scale : 0.0f;
    }
}

/* Scores of ROWS queries with one panel. */
static inline void multiply(const float *queries, const float *panel, int32_t dim, float *scores,
                            ptrdiff_t pitch)
{
    lanes low[ROWS], high[ROWS];
    for (int r = 0; r < ROWS; r++) low[r] = high[r] = (lanes){ 0 };
    for (int32_t d = 0; d < dim; d++, panel += PANEL, queries += ROWS) {
        const lanes k0 = load(panel), k1 = load(panel + WIDTH);
        for (int r = 0; r < ROWS; r++) {
            low[r] += queries[r] * k0;
            high[r] += queries[r] * k1;
        }
    }
    for (int r = 0; r < ROWS; r++, scores += pitch) {
        store(scores, low[r]);
        store(scores + WIDTH, high[r]);
    }
}

/* Scores become exponentials; returns what makes their sum 1. */
static float exponentiate(float *score, int32_t n, int32_t n_padded)
{
    for (int32_t i = n; i < n_padded; i++) score[i] = -INFINITY;
    lanes low = load(score), high = load(score + WIDTH);
    for (int32_t i = PANEL; i < n_padded; i += PANEL) {
        low = larger(low, load(score + i));
        high = larger(high, load(score + i + WIDTH));
    }
    low = larger(low, high);
    float largest = low[0], sum = 0.0f;
    for (int i = 1; i < WIDTH; i++) largest = low[i] > largest ? low[i] : largest;

    low = high = (lanes){ 0 };
    for (int32_t i = 0; i < n_padded; i += PANEL) {
        const lanes a = power_at_most_one(load(score + i) - largest);
        const lanes b = power_at_most_one(load(score + i + WIDTH) - largest);
        store(score + i, a);
        store(score + i + WIDTH, b);
        low += a;
        high += b;
    }
    low += high;
    for (int i = 0; i < WIDTH; i++) sum += low[i];
    return 1.0f / sum;
}

/* sums[i] += the exponentials of ROWS queries, each times its share. */
static void add_rows(const float *score, int32_t n_padded, const float share[ROWS], float *sums)
{
    for (int32_t i = 0; i < n_padded; i += WIDTH) {
        lanes sum = load(sums + i);
        for (int r = 0; r < ROWS; r++) sum += load(score + (ptrdiff_t)r * n_padded + i) * share[r];
        store(sums + i, sum);
    }
}

void S2V_RECEIVED(const s2v_head *head, float *scratch, float *received)
{
    const int32_t n = head->n, n_padded = (n + PANEL - 1) / PANEL * PANEL;
    float *panels = scratch, *queries = panels + (ptrdiff_t)n_padded * head->dim;
    float *scores = queries + (ptrdiff_t)BLOCK * head->dim;
    float *sums = scores + (ptrdiff_t)BLOCK * n_padded;
    lay_out_keys(head, panels);
    memset(sums, 0, (size_t)n_padded * sizeof *sums);
    for (int32_t first = 0; first < n; first += BLOCK) {
        const int32_t n_queries = n - first < BLOCK ? n - first : BLOCK;
        lay_out_queries(head, first, n_queries, queries);
        for (int32_t key = 0; key < n_padded; key += PANEL)
            for (int32_t r = 0; r < n_queries; r += ROWS)
                multiply(queries + (ptrdiff_t)r * head->dim, panels + (ptrdiff_t)key * head->dim,
                         head->dim, scores + (ptrdiff_t)r * n_padded + key, n_padded);
        for (int32_t r = 0; r < n_queries; r += ROWS) {
            float *score = scores + (ptrdiff_t)r * n_padded, share[ROWS];
            for (int i = 0; i < ROWS; i++) {
                share[i] = exponentiate(score + (ptrdiff_t)i * n_padded, n, n_padded);
                if (r + i >= n_queries) share[i] = 0.0f; /* fills the last ROWS up */
            }
            add_rows(score, n_padded, share, sums);
        }
    }
    memcpy(received, sums, (size_t)n * sizeof *received);
}
