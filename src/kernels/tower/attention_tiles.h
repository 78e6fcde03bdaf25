/* attention_tiles.h - softmax(scale q k^T) v by the tiles of AMX: products of BF16 summed in float32.
 *
 * What is rounded and how the columns go is in attention_words.h. For QUERIES queries at a time, KEYS
 * keys at a time, 32 queries at a time.
 */
#include "kernels/tower/attention_words.h"

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

/* Of WIDTH queries over n keys. */
static lanes largest_score(const float *scores, int32_t n)
{
    lanes most = load(scores), other = most;
    for (int32_t i = 1; i < n - 1; i += 2) {
        most = larger(load(scores + i * PANEL), most);
        other = larger(load(scores + (i + 1) * PANEL), other);
    }
    return larger(load(scores + (n - 1) * PANEL), larger(most, other));
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
    const int32_t words = (n + 31) / 32 * WIDTH;
    for (int32_t c = 0; c < PANEL; c += WIDTH)
        weigh_columns(s->scores + c, n, largest_score(s->scores + c, n), s->weights + c, words,
                      out + c, s->height, &state[c / WIDTH]);
    for (int32_t d = 0; d < s->height; d += PANEL) {
        const uint32_t *values = s->values + (ptrdiff_t)d * s->n_padded / 2 + k0 / 2 * WIDTH;
        tiles_multiply(values,
                       d + TILE_ROWS < s->height ? values + TILE_ROWS * s->n_padded / 2 : NULL,
                       s->weights, words, true, out + d * PANEL);
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
        lay_out_queries(a, row + g * PANEL, left < PANEL ? left : PANEL, head, s->words,
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
        store_columns(a, s->height, s->out + (ptrdiff_t)(i / PANEL) * PANEL * s->height + i % PANEL,
                      row + i, n - i, head, &state[i / PANEL][i / WIDTH % 2]);
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
