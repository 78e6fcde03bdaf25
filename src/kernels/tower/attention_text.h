/* attention_text.h - softmax(scale q k^T) v, tile by tile, scores never leaving the cache.
 *
 * For one head of one sequence: keys are laid out in panels [dim][PANEL] (rotated on the way),
 * values in panels of columns [keys][PANEL], the last one half as wide where that is enough; head
 * sizes that are no multiple of WIDTH are filled up with zeros (72 -> 80). Then for QUERIES
 * queries at a time, KEYS keys at a time: scores by the same inner loop as every product,
 * powers of two against the running maximum of each query, and weights times values on top of what
 * is there, which is scaled down first when the maximum rose. GROUPS times QUERIES queries meet a
 * block of keys before the next comes, so that it is read from beyond the second-level cache once for
 * all of them: the keys and values of a large picture are many megabytes.
 *
 * Includes f32_text.h's multiply(). QUERIES is a multiple of ROWS, KEYS of PANEL.
 */
#include "kernels/tower/attention_units.h"

#define QUERY_PITCH (S2V_MAX_HEAD + 16)
#define GROUPS 6
#define MANY (GROUPS * QUERIES)

typedef struct attention_space {
    float *keys;    /* [n / PANEL][dim][PANEL] */
    float *values;  /* [dim / PANEL][n][PANEL], the last perhaps [n][WIDTH] */
    float *queries; /* [MANY / ROWS][dim][ROWS], scaled */
    float *scores;  /* [QUERIES][KEYS] */
    float *out;     /* [MANY][QUERY_PITCH] */
    int32_t n, n_padded, dim_padded;
    int32_t ahead, ahead_end, ahead_head; /* rows and head to ask for meanwhile */
} attention_space;

static int32_t round_to(int32_t n, int32_t unit) { return (n + unit - 1) / unit * unit; }

static size_t attention_split(const s2v_attention *a, int32_t n, float *memory, attention_space *s)
{
    *s = (attention_space){ .n = n, .n_padded = round_to(n, PANEL) };
    s->dim_padded = round_to(a->dim, WIDTH);
    const size_t size[5] = { (size_t)s->n_padded * (size_t)a->dim,
                             (size_t)s->n_padded * (size_t)s->dim_padded, MANY * QUERY_PITCH,
                             QUERIES * KEYS, MANY * QUERY_PITCH };
    float **field[5] = { &s->keys, &s->values, &s->queries, &s->scores, &s->out };
    size_t at = 0;
    for (int i = 0; i < 5; i++) {
        *field[i] = memory ? memory + at : NULL;
        at += (size[i] + 15) / 16 * 16;
    }
    return at * sizeof(float);
}

static size_t attention_scratch_bytes(const s2v_attention *a)
{
    attention_space s;
    return attention_split(a, longest_sequence(a), NULL, &s);
}

/* A query or key of a head, rotated if there is a rotation. */
static const float *head_row(const s2v_attention *a, const float *x, int32_t row, int32_t head,
                             float *space)
{
    const float *from = x + row * a->pitch + (ptrdiff_t)head * a->dim;
    const ptrdiff_t angles = (ptrdiff_t)row * (a->dim / 2);
    if (!a->cos) return from;
    row_rotate(from, a->dim, a->cos + angles, a->sin + angles, space);
    return space;
}

/* n <= WIDTH rows of queries or keys, times `scale`, as [dim][step]: the same element of all rows side
 * by side. What is missing of WIDTH rows is zero; as WIDTH floats are stored where step may be less,
 * those after it are to be written later. */
static void lay_out_turned(const s2v_attention *a, const float *x, int32_t row, int32_t n,
                           int32_t head, float scale, float *to, int32_t step)
{
    float rotated[WIDTH][S2V_MAX_HEAD];
    const float *from[WIDTH];
    for (int32_t i = 0; i < n; i++) from[i] = head_row(a, x, row + i, head, rotated[i]);
    for (int32_t d = 0; d < a->dim; d += WIDTH) {
        const int32_t left = a->dim - d;
        lanes square[WIDTH];
        for (int32_t i = 0; i < WIDTH; i++)
            square[i] = i < n ? load_some(from[i] + d, left) * scale : (lanes){ 0 };
        transpose_square(square);
        for (int32_t i = 0; i < WIDTH && i < left; i++)
            store(to + (ptrdiff_t)(d + i) * step, square[i]);
    }
}

static void lay_out_keys(const s2v_attention *a, int32_t first, int32_t head,
                         const attention_space *s)
{
    for (int32_t i = 0; i < s->n_padded; i += WIDTH) {
        const int32_t n = s->n - i < WIDTH ? s->n - i : WIDTH;
        lay_out_turned(a, a->k, first + i, n, head, 1.0f,
                       s->keys + (ptrdiff_t)(i / PANEL) * a->dim * PANEL + i % PANEL, PANEL);
    }
}

/* Asks for one more row of the head that comes next: rows of a picture are far apart, and a window
 * is done in the time its 200 rows take to come from memory. */
S2V_INLINE void fetch_ahead(const s2v_attention *a, attention_space *s)
{
    if (s->ahead >= s->ahead_end) return;
    const ptrdiff_t at = s->ahead++ * a->pitch + (ptrdiff_t)s->ahead_head * a->dim;
    for (int32_t d = 0; d < a->dim; d += 16) {
        __builtin_prefetch(a->q + at + d, 0, 2);
        __builtin_prefetch(a->k + at + d, 0, 2);
        __builtin_prefetch(a->v + at + d, 0, 2);
    }
}

static void lay_out_values(const s2v_attention *a, int32_t first, int32_t head,
                           const attention_space *s)
{
    for (int32_t d = 0; d < s->dim_padded; d += PANEL) {
        const int32_t width = s->dim_padded - d < PANEL ? WIDTH : PANEL;
        float *to = s->values + (ptrdiff_t)d * s->n_padded;
        for (int32_t i = 0; i < s->n_padded; i++, to += width) {
            const float *value = a->v + (first + i) * a->pitch + (ptrdiff_t)head * a->dim + d;
            for (int32_t c = 0; c < width; c += WIDTH) {
                const int32_t left = i < s->n ? a->dim - d - c : 0;
                store(to + c, left > 0 ? load_some(value + c, left) : (lanes){ 0 });
            }
        }
    }
}

/* n queries from row `row` on, times scale and log2(e) so that powers of two will do. */
static void lay_out_queries(const s2v_attention *a, int32_t row, int32_t n, int32_t head,
                            const attention_space *s)
{
    const float scale = a->scale * 1.44269504f;
    for (int32_t i = 0; i < n; i += ROWS)
        for (int32_t j = 0; j < ROWS; j += WIDTH) {
            const int32_t rows = ROWS - j < WIDTH ? ROWS - j : WIDTH, left = n - i - j;
            lay_out_turned(a, a->q, row + i + j, left < rows ? left : rows, head, scale,
                           s->queries + (ptrdiff_t)i * a->dim + j, ROWS);
        }
}

/* Scores of one query over n keys, padded to a multiple of PANEL, become weights. What the query
 * has so far, out [dim] and sum, is scaled to the new maximum. */
S2V_INLINE void weigh(float *score, int32_t n, int32_t n_padded, float *most, float *sum,
                      float *out, int32_t dim)
{
    for (int32_t i = n; i < n_padded; i++) score[i] = -INFINITY;
    lanes top[2] = { load(score), load(score + WIDTH) };
    for (int32_t i = PANEL; i < n_padded; i += PANEL)
        for (int c = 0; c < 2; c++) top[c] = larger(load(score + i + c * WIDTH), top[c]);
    const float found = largest_of(larger(top[0], top[1]));
    if (found > *most) {
        const float shrink = power_of_two(all(*most - found))[0];
        for (int32_t d = 0; d < dim; d += WIDTH) store(out + d, load(out + d) * shrink);
        *sum *= shrink;
        *most = found;
    }
    lanes total[2] = { { 0 }, { 0 } };
    for (int32_t i = 0; i < n_padded; i += PANEL)
        for (int c = 0; c < 2; c++) {
            const lanes weight = power_of_two(load(score + i + c * WIDTH) - *most);
            store(score + i + c * WIDTH, weight);
            total[c] += weight;
        }
    *sum += sum_of(total[0] + total[1]);
}

/* Scores of n <= QUERIES queries from `first` of those that are laid out on, with the keys
 * [k0, k0 + n_keys). */
static void score_tile(const s2v_attention *a, attention_space *s, int32_t first, int32_t n,
                       int32_t k0, int32_t n_keys)
{
    for (int32_t k = 0; k < n_keys; k += PANEL)
        for (int32_t r = 0; r < n; r += ROWS) {
            fetch_ahead(a, s);
            multiply(s->queries + (ptrdiff_t)(first + r) * a->dim, 1, ROWS,
                     s->keys + (ptrdiff_t)(k0 + k) * a->dim, PANEL, a->dim, 2, false,
                     s->scores + (ptrdiff_t)r * KEYS + k, KEYS);
        }
}

static void add_values(const s2v_attention *a, attention_space *s, int32_t first, int32_t n,
                       int32_t k0, int32_t n_keys)
{
    for (int32_t d = 0; d < s->dim_padded; d += PANEL) {
        const float *values = s->values + (ptrdiff_t)d * s->n_padded;
        const bool is_narrow = s->dim_padded - d < PANEL;
        for (int32_t r = 0; r < n; r += ROWS) {
            const float *weights = s->scores + (ptrdiff_t)r * KEYS;
            float *out = s->out + (ptrdiff_t)(first + r) * QUERY_PITCH + d;
            fetch_ahead(a, s);
            if (is_narrow)
                multiply(weights, KEYS, 1, values + (ptrdiff_t)k0 * WIDTH, WIDTH, n_keys, 1, true,
                         out, QUERY_PITCH);
            else
                multiply(weights, KEYS, 1, values + (ptrdiff_t)k0 * PANEL, PANEL, n_keys, 2, true,
                         out, QUERY_PITCH);
        }
    }
}

/* n <= MANY queries from row `row` on. */
static void attend_queries(const s2v_attention *a, attention_space *s, int32_t row, int32_t n,
                           int32_t head)
{
    float most[MANY], sum[MANY];
    const int32_t padded = round_to(n, ROWS);
    lay_out_queries(a, row, n, head, s);
    for (int32_t i = 0; i < padded; i++) {
        most[i] = -3.4e38f; /* not infinity: scores of -infinity then weigh nothing */
        sum[i] = 0.0f;
        memset(s->out + (ptrdiff_t)i * QUERY_PITCH, 0, (size_t)s->dim_padded * sizeof *s->out);
    }
    for (int32_t k0 = 0; k0 < s->n; k0 += KEYS)
        for (int32_t at = 0; at < padded; at += QUERIES) {
            const int32_t n_keys = s->n - k0 < KEYS ? s->n - k0 : KEYS;
            const int32_t n_here = padded - at < QUERIES ? padded - at : QUERIES;
            score_tile(a, s, at, n_here, k0, n_keys);
            for (int32_t i = 0; i < n_here; i++)
                weigh(s->scores + (ptrdiff_t)i * KEYS, n_keys, round_to(n_keys, PANEL),
                      &most[at + i], &sum[at + i], s->out + (ptrdiff_t)(at + i) * QUERY_PITCH,
                      s->dim_padded);
            add_values(a, s, at, n_here, k0, n_keys);
        }
    for (int32_t i = 0; i < n; i++) {
        float *to = a->out + (row + i) * a->out_pitch + (ptrdiff_t)head * a->dim;
        const float *from = s->out + (ptrdiff_t)i * QUERY_PITCH, share = 1.0f / sum[i];
        for (int32_t d = 0; d < a->dim; d += WIDTH)
            store_some(to + d, load(from + d) * share, a->dim - d);
    }
}

static void attend(const s2v_attention *a, int32_t unit0, int32_t unit1, void *memory)
{
    attention_space s;
    int32_t laid_out = -1; /* the sequence and head whose keys are in place */
    for (int32_t unit = unit0; unit < unit1; unit++) {
        const attention_unit u = unit_of(a, unit);
        if (u.n < 1) continue;
        if (u.which != laid_out) {
            attention_split(a, u.n, memory, &s);
            lay_out_keys(a, u.first, u.head, &s);
            lay_out_values(a, u.first, u.head, &s);
            laid_out = u.which;
            if (u.which + 1 < a->n_sequences * a->n_heads) {
                const attention_unit next = unit_of(a, (u.which + 1) * a->n_splits);
                s.ahead_head = next.head;
                s.ahead = next.first;
                s.ahead_end = next.first + next.n;
            }
        }
        for (int32_t i = u.begin; i < u.end; i += MANY)
            attend_queries(a, &s, u.first + i, u.end - i < MANY ? u.end - i : MANY, u.head);
    }
}
