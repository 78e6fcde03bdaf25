/* attention_tiles.h - softmax(scale q k^T) v by the tiles of AMX: products of BF16 summed in float32.
 *
 * Keys are the rows of the first product and queries its columns, so that softmax goes down columns:
 * nothing is summed across a vector, and what a query has so far is scaled by one vector for all. The
 * second product has the elements of the values as rows and the same columns. For QUERIES queries at
 * a time, KEYS keys at a time, 32 queries at a time.
 *
 * Queries (times scale), keys, values and weights are rounded to BF16, scores and sums are float32.
 * Includes bf16_text.h's packing and rows_text.h.
 */
#include "kernels/tower/attention_units.h"

#define QUERIES 128
#define KEYS 256
#define TILE_ROWS 16

typedef struct tile_space {
    uint32_t *keys; /* [n_padded / 16][words / 16] tiles of 16 keys by 16 words */
    uint32_t
        *values; /* [dim / 16, up][n_padded / 32] tiles of 16 elements by 16 words of two keys */
    uint32_t *queries;   /* [QUERIES / 32][words][32] */
    float *scores;       /* [KEYS][32] */
    uint32_t *weights;   /* [KEYS / 2][32] */
    float *out;          /* [QUERIES / 32][height][32] */
    int32_t n, n_padded; /* keys, and up to a multiple of 32 */
    int32_t words;       /* of a head, a multiple of 16 */
    int32_t height;      /* elements of a head, up to a multiple of 16 */
} tile_space;

static size_t tile_split(const s2v_attention *a, int32_t n, char *memory, tile_space *s)
{
    *s = (tile_space){ .n = n, .n_padded = (n + 31) / 32 * 32 };
    s->words = BF16_WORDS(a->dim);
    s->height = (a->dim + TILE_ROWS - 1) / TILE_ROWS * TILE_ROWS;
    size_t at = 0;
#define S2V_TAKE(field, count)                            \
    do {                                                  \
        s->field = memory ? (void *)(memory + at) : NULL; \
        at += (size_t)(count)*4;                          \
    } while (0)
    S2V_TAKE(keys, (ptrdiff_t)s->n_padded * s->words);
    S2V_TAKE(values, (ptrdiff_t)s->height * s->n_padded / 2);
    S2V_TAKE(queries, QUERIES * s->words);
    S2V_TAKE(scores, KEYS * PANEL);
    S2V_TAKE(weights, KEYS / 2 * PANEL);
    S2V_TAKE(out, QUERIES * s->height);
#undef S2V_TAKE
    return at;
}

static size_t tile_attention_scratch(const s2v_attention *a)
{
    tile_space s;
    return tile_split(a, longest_sequence(a), NULL, &s);
}

/* --- layouts ------------------------------------------------------------------------------- */

/* A query or key of a head, rotated if there is a rotation, times scale, in words [words]. The next
 * head of the row is asked for: it comes next in a window, and rows are far apart. */
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

static void lay_out_keys(const s2v_attention *a, int32_t first, int32_t head, const tile_space *s)
{
    for (int32_t i = 0; i < s->n_padded; i++) {
        uint32_t *to =
            s->keys + (ptrdiff_t)(i / TILE_ROWS) * TILE_ROWS * s->words + i % TILE_ROWS * WIDTH;
        if (i < s->n)
            head_words(a, a->k, first + i, head, 1.0f, to, TILE_WORDS);
        else
            for (int32_t w = 0; w < s->words; w += WIDTH, to += TILE_WORDS)
                store_ints(to, (ints){ 0 });
    }
}

/* Words whose low halves are of one vector and whose high halves are of another. */
S2V_INLINE bits pair_words(lanes even, lanes odd)
{
#ifdef S2V_EMULATE_AVX512
    uint16_t low[WIDTH], high[WIDTH];
    bits words;
    store_bf16(low, even);
    store_bf16(high, odd);
    for (int i = 0; i < WIDTH; i++) words[i] = (uint32_t)low[i] | (uint32_t)high[i] << 16;
    return words;
#else
    typedef uint16_t all_halves __attribute__((vector_size(64)));
    const all_halves order = { 0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
                               8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31 };
    return (bits)_mm512_permutexvar_epi16((__m512i)order, (__m512i)words_of(even, odd));
#endif
}

static void lay_out_values(const s2v_attention *a, int32_t first, int32_t head, const tile_space *s)
{
    for (int32_t i = 0; i < s->n_padded; i += 2 * WIDTH)
        for (int32_t d = 0; d < s->height; d += WIDTH) {
            const float *v = a->v + (first + i) * a->pitch + (ptrdiff_t)head * a->dim + d;
            lanes square[WIDTH];
            for (int32_t w = 0; w < WIDTH; w++) {
                const int32_t keys = s->n - i - 2 * w;
                const float *even = v + 2 * w * a->pitch;
                const lanes none = { 0 };
                if (keys > 0) __builtin_prefetch(even + a->dim, 0, 2);
                if (keys > 1) __builtin_prefetch(even + a->pitch + a->dim, 0, 2);
                square[w] =
                    (lanes)pair_words(keys > 0 ? load_some(even, a->dim - d) : none,
                                      keys > 1 ? load_some(even + a->pitch, a->dim - d) : none);
            }
            transpose_square(square);
            uint32_t *to = s->values + (ptrdiff_t)d * s->n_padded / 2 + (ptrdiff_t)i / 2 * WIDTH;
            for (int32_t r = 0; r < WIDTH; r++) store_ints(to + r * WIDTH, (ints)square[r]);
        }
}

/* n <= 32 queries from row `row` on, times scale and log2(e) so that powers of two will do. */
static void lay_out_queries(const s2v_attention *a, int32_t row, int32_t n, int32_t head,
                            const tile_space *s, uint32_t *to)
{
    uint32_t flat[TILE_ROWS][S2V_MAX_HEAD / 2];
    const float scale = a->scale * 1.44269504f;
    for (int32_t half = 0; half < PANEL; half += WIDTH) {
        for (int32_t i = 0; i < WIDTH && half + i < n; i++)
            head_words(a, a->q, row + half + i, head, scale, flat[i], WIDTH);
        for (int32_t w = 0; w < s->words; w += WIDTH) {
            lanes square[WIDTH];
            for (int32_t i = 0; i < WIDTH; i++)
                square[i] = half + i < n ? (lanes)load_ints(flat[i] + w) : (lanes){ 0 };
            transpose_square(square);
            for (int32_t i = 0; i < WIDTH; i++)
                store_ints(to + (ptrdiff_t)(w + i) * PANEL + half, (ints)square[i]);
        }
    }
}

/* --- products ------------------------------------------------------------------------------ */

/* out [32][32] (+)= rows in tiles, a and the 16 after them at a1, times columns b [words][32];
 * a1 NULL: only 16 rows. */
static void tiles_multiply(const uint32_t *a, const uint32_t *a1, const uint32_t *b, int32_t words,
                           bool adds, float *out)
{
    float *low = out + TILE_ROWS * PANEL;
    _tile_zero(2);
    _tile_zero(3);
    if (adds) {
        _tile_loadd(0, out, PANEL * 4);
        _tile_loadd(1, out + 16, PANEL * 4);
        if (a1) _tile_loadd(2, low, PANEL * 4);
        if (a1) _tile_loadd(3, low + 16, PANEL * 4);
    } else {
        _tile_zero(0);
        _tile_zero(1);
    }
    for (int32_t w = 0; w < words; w += 16, a += TILE_WORDS, b += 16 * PANEL) {
        _tile_loadd(4, a, 64);
        _tile_loadd(6, b, PANEL * 4);
        _tile_dpbf16ps(0, 4, 6);
        _tile_loadd(7, b + 16, PANEL * 4);
        _tile_dpbf16ps(1, 4, 7);
        if (!a1) continue;
        _tile_loadd(5, a1, 64);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
        a1 += TILE_WORDS;
    }
    _tile_stored(0, out, PANEL * 4);
    _tile_stored(1, out + 16, PANEL * 4);
    if (!a1) return;
    _tile_stored(2, low, PANEL * 4);
    _tile_stored(3, low + 16, PANEL * 4);
}

typedef struct columns_state { /* of WIDTH queries */
    lanes most, sum;
} columns_state;

/* Scores of WIDTH queries over n keys, in column `c` of s->scores, become weights. What the queries
 * have so far is scaled to the new maximum. */
static void weigh_columns(const tile_space *s, int32_t c, int32_t n, float *out, columns_state *q)
{
    const float *scores = s->scores + c;
    uint32_t *weights = s->weights + c;
    lanes most = q->most, other = q->most;
    for (int32_t i = 0; i < n - 1; i += 2) {
        most = larger(load(scores + i * PANEL), most);
        other = larger(load(scores + (i + 1) * PANEL), other);
    }
    most = larger(load(scores + (n - 1) * PANEL), larger(most, other));
    if (largest_of(most - q->most) > 0.0f) {
        const lanes shrink = power_of_two(q->most - most);
        for (int32_t d = 0; d < s->height; d++)
            store(out + d * PANEL + c, load(out + d * PANEL + c) * shrink);
        q->sum *= shrink;
        q->most = most;
    } else {
        most = q->most;
    }
    lanes sum = { 0 };
    int32_t i = 0;
    for (; i < n - 1; i += 2, weights += PANEL) {
        const lanes even = power_of_two(load(scores + i * PANEL) - most);
        const lanes odd = power_of_two(load(scores + (i + 1) * PANEL) - most);
        sum += even + odd;
        store_ints(weights, (ints)pair_words(even, odd));
    }
    for (; i < (n + 31) / 32 * 32; i += 2, weights += PANEL) { /* the last key, and none */
        const lanes even = i < n ? power_of_two(load(scores + i * PANEL) - most) : (lanes){ 0 };
        sum += even;
        store_ints(weights, (ints)pair_words(even, (lanes){ 0 }));
    }
    q->sum += sum;
}

/* 32 queries meet the keys [k0, k0 + n). */
static void meet_keys(const tile_space *s, const uint32_t *queries, int32_t k0, int32_t n,
                      float *out, columns_state state[2])
{
    for (int32_t k = 0; k < n; k += PANEL) {
        const uint32_t *keys = s->keys + (ptrdiff_t)(k0 + k) * s->words;
        tiles_multiply(keys, keys + TILE_ROWS * s->words, queries, s->words, false,
                       s->scores + k * PANEL);
    }
    for (int32_t half = 0; half < 2; half++) weigh_columns(s, half * WIDTH, n, out, &state[half]);
    const int32_t words = (n + 31) / 32 * WIDTH;
    for (int32_t d = 0; d < s->height; d += PANEL) {
        const uint32_t *values = s->values + (ptrdiff_t)d * s->n_padded / 2 + k0 / 2 * WIDTH;
        tiles_multiply(values,
                       d + TILE_ROWS < s->height ? values + TILE_ROWS * s->n_padded / 2 : NULL,
                       s->weights, words, true, out + d * PANEL);
    }
}

/* n <= WIDTH queries from row `row` on, whose results are in column c of out [height][32]. */
static void store_columns(const s2v_attention *a, const tile_space *s, const float *out, int32_t c,
                          int32_t row, int32_t n, int32_t head, const columns_state *state)
{
    const lanes share = all(1.0f) / state->sum;
    for (int32_t d = 0; d < s->height; d += WIDTH) {
        lanes square[WIDTH];
        for (int32_t i = 0; i < WIDTH; i++) square[i] = load(out + (d + i) * PANEL + c) * share;
        transpose_square(square);
        for (int32_t i = 0; i < WIDTH && i < n; i++)
            store_some(a->out + (row + i) * a->out_pitch + (ptrdiff_t)head * a->dim + d, square[i],
                       a->dim - d);
    }
}

/* n <= QUERIES queries from row `row` on. */
static void tile_attend_queries(const s2v_attention *a, const tile_space *s, int32_t row, int32_t n,
                                int32_t head)
{
    columns_state state[QUERIES / PANEL][2];
    const int32_t n_groups = (n + PANEL - 1) / PANEL;
    memset(s->out, 0, (size_t)n_groups * PANEL * (size_t)s->height * sizeof *s->out);
    for (int32_t g = 0; g < n_groups; g++) {
        const int32_t left = n - g * PANEL;
        lay_out_queries(a, row + g * PANEL, left < PANEL ? left : PANEL, head, s,
                        s->queries + (ptrdiff_t)g * PANEL * s->words);
        for (int half = 0; half < 2; half++) /* not infinity: see attention_text.h */
            state[g][half] = (columns_state){ all(-3.4e38f), { 0 } };
    }
    for (int32_t k0 = 0; k0 < s->n; k0 += KEYS)
        for (int32_t g = 0; g < n_groups; g++)
            meet_keys(s, s->queries + (ptrdiff_t)g * PANEL * s->words, k0,
                      s->n - k0 < KEYS ? s->n - k0 : KEYS,
                      s->out + (ptrdiff_t)g * PANEL * s->height, state[g]);
    for (int32_t i = 0; i < n; i += WIDTH)
        store_columns(a, s, s->out + (ptrdiff_t)(i / PANEL) * PANEL * s->height, i % PANEL, row + i,
                      n - i, head, &state[i / PANEL][i / WIDTH % 2]);
}

static void tile_attend(const s2v_attention *a, int32_t unit0, int32_t unit1, void *memory)
{
    s2v_tile_config before;
    s2v_tiles_enter(&before);
    tile_space s = { .n = 0 };
    int32_t laid_out = -1; /* the sequence and head whose keys are in place */
    for (int32_t unit = unit0; unit < unit1; unit++) {
        const attention_unit u = unit_of(a, unit);
        if (u.n < 1) continue;
        if (u.which != laid_out) {
            tile_split(a, u.n, memory, &s);
            lay_out_keys(a, u.first, u.head, &s);
            lay_out_values(a, u.first, u.head, &s);
            laid_out = u.which;
        }
        for (int32_t i = u.begin; i < u.end; i += QUERIES)
            tile_attend_queries(a, &s, u.first + i, u.end - i < QUERIES ? u.end - i : QUERIES,
                                u.head);
    }
    s2v_tiles_leave(&before);
}
