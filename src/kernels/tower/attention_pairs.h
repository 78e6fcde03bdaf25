/* attention_pairs.h - softmax(scale q k^T) v by units that add products of BF16 pairs to the lanes of
 * a vector. What is rounded and how the columns go is in attention_words.h.
 *
 * For one head of one sequence, keys lie as [n / HEIGHT][words][HEIGHT] and values as
 * [dim / HEIGHT][n / 2][HEIGHT] words of two keys: each product reads one stream of words, which it
 * spreads over vectors of PANEL queries. For QUERIES queries at a time, KEYS keys at a time, the keys
 * and values of a block come from the second-level cache once, and the scores of PANEL queries stay
 * in the first. Memory is linear in the number of keys.
 *
 * The including file defines add_pairs(sum, pair, weights).
 */
#include "kernels/tower/attention_words.h"

#define QUERIES (8 * PANEL)
#define KEYS 128
#define HEIGHT 8 /* rows of sums: HEIGHT by two vectors of them hide the latency of the unit */

typedef struct pair_space {
    uint32_t *keys, *values;
    uint32_t *queries;   /* [QUERIES / PANEL][words][PANEL] */
    float *scores;       /* [KEYS][PANEL], then words of weights [KEYS / 2][PANEL] */
    float *out;          /* [QUERIES / PANEL][height][PANEL], and a square of zeros after it */
    int32_t n, n_padded; /* keys, and up to a multiple of 2 HEIGHT */
    int32_t words;       /* of a head, up to a multiple of WIDTH */
    int32_t height;      /* elements of a head, up to a multiple of HEIGHT */
} pair_space;

static size_t pair_split(const s2v_attention *a, int32_t n, char *memory, pair_space *s)
{
    *s = (pair_space){ .n = n, .n_padded = (n + 2 * HEIGHT - 1) / (2 * HEIGHT) * (2 * HEIGHT) };
    s->words = (a->dim / 2 + WIDTH - 1) / WIDTH * WIDTH;
    s->height = (a->dim + HEIGHT - 1) / HEIGHT * HEIGHT;
    size_t at = 0;
#define S2V_TAKE(field, count)                            \
    do {                                                  \
        s->field = memory ? (void *)(memory + at) : NULL; \
        at += ((size_t)(count)*4 + 63) / 64 * 64;         \
    } while (0)
    S2V_TAKE(keys, (ptrdiff_t)s->n_padded * s->words);
    S2V_TAKE(values, (ptrdiff_t)s->height * s->n_padded / 2);
    S2V_TAKE(queries, QUERIES * s->words);
    S2V_TAKE(scores, KEYS * PANEL);
    S2V_TAKE(out, QUERIES * s->height + WIDTH * PANEL);
#undef S2V_TAKE
    return at;
}

static size_t pair_attention_scratch(const s2v_attention *a)
{
    pair_space s;
    return pair_split(a, longest_sequence(a), NULL, &s);
}

/* --- layouts ------------------------------------------------------------------------------- */

/* WIDTH words of as many rows, from row i of [rows / HEIGHT][pitch / HEIGHT][HEIGHT] on. */
S2V_INLINE void store_rows(uint32_t *panels, ptrdiff_t pitch, int32_t i, bits words)
{
    enum { SIZE = WIDTH < HEIGHT ? WIDTH : HEIGHT };
    uint32_t word[WIDTH];
    memcpy(word, &words, sizeof word);
    for (int32_t at = 0; at < WIDTH; at += SIZE)
        memcpy(panels + (i + at) / HEIGHT * pitch + (i + at) % HEIGHT, word + at,
               SIZE * sizeof *word);
}

static void lay_out_keys(const s2v_attention *a, int32_t first, int32_t head, const pair_space *s)
{
    uint32_t flat[WIDTH][S2V_MAX_HEAD / 2];
    const ptrdiff_t pitch = (ptrdiff_t)s->words * HEIGHT;
    for (int32_t i = 0; i < s->n_padded; i += WIDTH) {
        for (int32_t r = 0; r < WIDTH && i + r < s->n; r++)
            head_words(a, a->k, first + i + r, head, 1.0f, flat[r], WIDTH);
        for (int32_t w = 0; w < s->words; w += WIDTH) {
            lanes square[WIDTH];
            for (int32_t r = 0; r < WIDTH; r++)
                square[r] = i + r < s->n ? (lanes)load_ints(flat[r] + w) : (lanes){ 0 };
            transpose_square(square);
            for (int32_t r = 0; r < WIDTH; r++)
                store_rows(s->keys + (ptrdiff_t)(w + r) * HEIGHT, pitch, i, (bits)square[r]);
        }
    }
}

static void lay_out_values(const s2v_attention *a, int32_t first, int32_t head, const pair_space *s)
{
    const ptrdiff_t pitch = (ptrdiff_t)s->n_padded / 2 * HEIGHT;
    const lanes none = { 0 };
    for (int32_t i = 0; i < s->n_padded; i += 2) {
        const float *even = a->v + (first + i) * a->pitch + (ptrdiff_t)head * a->dim;
        uint32_t *to = s->values + (ptrdiff_t)i / 2 * HEIGHT;
        for (int32_t d = 0; d < s->height; d += WIDTH) {
            const int32_t left = a->dim - d;
            const bits words =
                pair_words(i < s->n ? load_some(even + d, left) : none,
                           i + 1 < s->n ? load_some(even + a->pitch + d, left) : none);
            uint32_t word[WIDTH];
            memcpy(word, &words, sizeof word);
            for (int32_t at = 0; at < WIDTH && d + at < s->height; at += HEIGHT)
                memcpy(to + (d + at) / HEIGHT * pitch + (d + at) % HEIGHT, word + at,
                       (WIDTH < HEIGHT ? WIDTH : HEIGHT) * sizeof *word);
        }
    }
}

/* --- products ------------------------------------------------------------------------------ */

/* sums [HEIGHT][2] += rows [steps][HEIGHT] times columns [steps][PANEL]. */
S2V_INLINE void add_block(const uint32_t *rows, const uint32_t *columns, int32_t steps,
                          lanes sums[HEIGHT][2])
{
    for (int32_t k = 0; k < steps; k++, rows += HEIGHT, columns += PANEL) {
        const bits c[2] = { (bits)load_ints(columns), (bits)load_ints(columns + WIDTH) };
        for (int r = 0; r < HEIGHT; r++)
            for (int v = 0; v < 2; v++) sums[r][v] = add_pairs(sums[r][v], rows[r], c[v]);
    }
}

/* Scores of PANEL queries with HEIGHT keys, of which n count; most: the largest so far. */
S2V_INLINE void score_block(const uint32_t *keys, const uint32_t *queries, int32_t steps, int32_t n,
                            float *scores, lanes most[2])
{
    lanes sum[HEIGHT][2] = { { { 0 } } };
    add_block(keys, queries, steps, sum);
    for (int r = 0; r < HEIGHT; r++)
        for (int v = 0; v < 2; v++) {
            store(scores + r * PANEL + v * WIDTH, sum[r][v]);
            if (r < n) most[v] = larger(sum[r][v], most[v]);
        }
}

/* PANEL queries meet the keys [k0, k0 + n). */
static void meet_keys(const s2v_attention *a, const pair_space *s, const uint32_t *queries,
                      int32_t k0, int32_t n, float *out, columns_state state[2])
{
    lanes most[2] = { state[0].most, state[1].most };
    for (int32_t k = 0; k < n; k += HEIGHT) {
        const uint32_t *keys = s->keys + (ptrdiff_t)(k0 + k) * s->words;
        float *scores = s->scores + k * PANEL;
        if (n - k >= HEIGHT)
            score_block(keys, queries, a->dim / 2, HEIGHT, scores, most);
        else
            score_block(keys, queries, a->dim / 2, n - k, scores, most);
    }
    const int32_t n_words = (n + 1) / 2;
    uint32_t *weights = (uint32_t *)(void *)s->scores;
    for (int v = 0; v < 2; v++)
        weigh_columns(s->scores + v * WIDTH, n, most[v], weights + v * WIDTH, n_words,
                      out + v * WIDTH, s->height, &state[v]);
    for (int32_t d = 0; d < s->height; d += HEIGHT) {
        const uint32_t *values = s->values + (ptrdiff_t)d * s->n_padded / 2 + k0 / 2 * HEIGHT;
        float *to = out + d * PANEL;
        lanes sum[HEIGHT][2];
        for (int r = 0; r < HEIGHT; r++)
            for (int v = 0; v < 2; v++) sum[r][v] = load(to + r * PANEL + v * WIDTH);
        add_block(values, weights, n_words, sum);
        for (int r = 0; r < HEIGHT; r++)
            for (int v = 0; v < 2; v++) store(to + r * PANEL + v * WIDTH, sum[r][v]);
    }
}

/* n <= QUERIES queries from row `row` on. */
static void pair_attend_queries(const s2v_attention *a, const pair_space *s, int32_t row, int32_t n,
                                int32_t head)
{
    columns_state state[QUERIES / PANEL][2];
    const int32_t n_groups = (n + PANEL - 1) / PANEL;
    memset(s->out, 0, ((size_t)n_groups * (size_t)s->height + WIDTH) * PANEL * sizeof *s->out);
    for (int32_t g = 0; g < n_groups; g++) {
        const int32_t left = n - g * PANEL;
        lay_out_queries(a, row + g * PANEL, left < PANEL ? left : PANEL, head, s->words,
                        s->queries + (ptrdiff_t)g * PANEL * s->words);
        for (int v = 0; v < 2; v++) /* not infinity: see attention_text.h */
            state[g][v] = (columns_state){ all(-3.4e38f), { 0 } };
    }
    for (int32_t k0 = 0; k0 < s->n; k0 += KEYS)
        for (int32_t g = 0; g < n_groups; g++)
            meet_keys(a, s, s->queries + (ptrdiff_t)g * PANEL * s->words, k0,
                      s->n - k0 < KEYS ? s->n - k0 : KEYS,
                      s->out + (ptrdiff_t)g * PANEL * s->height, state[g]);
    for (int32_t i = 0; i < n; i += WIDTH)
        store_columns(a, s->height, s->out + (ptrdiff_t)(i / PANEL) * PANEL * s->height + i % PANEL,
                      row + i, n - i, head, &state[i / PANEL][i / WIDTH % 2]);
}

static void pair_attend(const s2v_attention *a, int32_t unit0, int32_t unit1, void *memory)
{
    pair_space s = { .n = 0 };
    int32_t laid_out = -1; /* the sequence and head whose keys are in place */
    for (int32_t unit = unit0; unit < unit1; unit++) {
        const attention_unit u = unit_of(a, unit);
        if (u.n < 1) continue;
        if (u.which != laid_out) {
            pair_split(a, u.n, memory, &s);
            lay_out_keys(a, u.first, u.head, &s);
            lay_out_values(a, u.first, u.head, &s);
            laid_out = u.which;
        }
        for (int32_t i = u.begin; i < u.end; i += QUERIES)
            pair_attend_queries(a, &s, u.first + i, u.end - i < QUERIES ? u.end - i : QUERIES,
                                u.head);
    }
}
