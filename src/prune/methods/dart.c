/* dart.c - tokens least like a few pivots. DART, EMNLP 2025, the authors' Qwen2.5-VL port, K = 2.
 *
 * Pivots are the four visual tokens and the four tokens after the picture whose keys have the
 * largest L1 norm. Each pivot in turn takes the tokens of lowest cosine out of the pool. The
 * authors walk a Python set of positions, and because the pool shrinks its order matters, so it is
 * reproduced. They keep 4 + 8 floor(B / 8) tokens; by default each pivot takes ceil((B - 4) / 8)
 * and the last ones stop at B. Fewer than four tokens after the picture: published fails, by
 * default there are fewer pivots.
 */
#include "prune/methods/dart.h"

#include "prune/ranking.h"

#include <math.h>
#include <stdlib.h>

/* --- CPython's set of a few small integers -------------------------------------- */

enum { SMALL_TABLE = 8, LARGE_TABLE = 32, PROBES = 9, GROWS_AT = 5 };

/* Open addressing: the slot and its nine neighbors if they fit, then a jump. */
static void place(int32_t *table, int32_t size, int32_t value)
{
    uint32_t slot = (uint32_t)value & (uint32_t)(size - 1), perturb = (uint32_t)value;
    for (;;) {
        const uint32_t last = slot + PROBES < (uint32_t)size ? slot + PROBES : slot;
        for (uint32_t at = slot; at <= last; at++)
            if (table[at] < 0) {
                table[at] = value;
                return;
            }
        perturb >>= 5;
        slot = (slot * 5 + 1 + perturb) & (uint32_t)(size - 1);
    }
}

void s2p_python_set_order(const int32_t *value, int32_t n, int32_t *out)
{
    int32_t small[SMALL_TABLE], large[LARGE_TABLE];
    for (int32_t i = 0; i < SMALL_TABLE; i++) small[i] = -1;
    for (int32_t i = 0; i < LARGE_TABLE; i++) large[i] = -1;
    for (int32_t i = 0; i < n; i++) {
        place(i < GROWS_AT ? small : large, i < GROWS_AT ? SMALL_TABLE : LARGE_TABLE, value[i]);
        for (int32_t s = 0; i == GROWS_AT - 1 && s < SMALL_TABLE; s++) /* grows: slot by slot */
            if (small[s] >= 0) place(large, LARGE_TABLE, small[s]);
    }
    const int32_t *table = n < GROWS_AT ? small : large;
    const int32_t size = n < GROWS_AT ? SMALL_TABLE : LARGE_TABLE;
    for (int32_t s = 0, at = 0; s < size; s++)
        if (table[s] >= 0) out[at++] = table[s];
}

/* --- parameters ------------------------------------------------------------------- */

enum { PER_PIVOT, N_PARAMETERS };
static const s2p_parameter parameters[N_PARAMETERS] = {
    [PER_PIVOT] = { "per_pivot", "published: tokens each pivot adds; if not set budget / 8", 1, 1,
                    S2P_MAX_TOKENS, 0 },
};

/* --- pivots ---------------------------------------------------------------------- */

/* key: [k][L][e]. */
static void key_norms(const s2p_signal *key, double *norm)
{
    const int32_t n_heads = key->shape[0], n_prompt = key->shape[1], dim = key->shape[2];
    for (int32_t row = 0; row < n_prompt; row++) {
        norm[row] = 0.0;
        for (int32_t h = 0; h < n_heads; h++) {
            const float *x = key->data + ((ptrdiff_t)h * n_prompt + row) * dim;
            for (int32_t d = 0; d < dim; d++) norm[row] += fabs((double)x[d]);
        }
    }
}

static int32_t at_most(int32_t a, int32_t b) { return a < b ? a : b; }

s2p_status s2p_dart_pivots(const s2p_view *view, int32_t n_tokens, s2p_pivots *out,
                           s2p_error *error)
{
    const s2p_signal *key = &view->signal[S2P_ROTATED_KEY];
    const int32_t first = view->first_row, n_prompt = key->shape[1];
    if (first < 0 || first > n_prompt - n_tokens)
        return s2p_refuse(error, S2P_EINVAL, "%d visual rows from row %d on do not fit %d rows",
                          n_tokens, first, n_prompt);
    const int32_t after = first + n_tokens, n_after = n_prompt - after;
    *out = (s2p_pivots){ .n_visual = at_most(S2P_DART_PIVOTS, n_tokens),
                         .n_text = at_most(S2P_DART_PIVOTS, n_after) };
    double *norm = malloc((size_t)n_prompt * sizeof *norm);
    if (!norm) return S2P_ENOMEM;
    key_norms(key, norm);
    s2p_status st = s2p_rank(norm + first, n_tokens, out->n_visual, out->visual);
    if (st == S2P_OK) st = s2p_rank(norm + after, n_after, out->n_text, out->text);
    for (int32_t i = 0; i < out->n_visual; i++) out->visual[i] += first;
    for (int32_t i = 0; i < out->n_text; i++) out->text[i] += after;
    free(norm);
    return st;
}

/* --- selection -------------------------------------------------------------------- */

typedef struct walk { /* [n_tokens] each */
    int32_t *pool, *pick, *kept;
    double *distance, *norm; /* norm: [n_prompt] */
    int32_t n_pool, n_kept;
} walk;

/* Move the `n` tokens of the pool least like row `pivot` to the kept ones. */
static s2p_status take_least_alike(const s2p_view *view, int32_t pivot, int32_t n, walk *w)
{
    const float *normed = view->signal[S2P_NORMED].data;
    const int32_t dim = view->signal[S2P_NORMED].shape[1];
    const float *x = normed + (ptrdiff_t)pivot * dim;
    for (int32_t i = 0; i < w->n_pool; i++) {
        const int32_t row = view->first_row + w->pool[i];
        w->distance[i] =
            -s2p_cosine(x, w->norm[pivot], normed + (ptrdiff_t)row * dim, w->norm[row], dim);
    }
    n = at_most(n, w->n_pool);
    const s2p_status st = s2p_rank(w->distance, w->n_pool, n, w->pick);
    if (st != S2P_OK) return st;
    for (int32_t i = 0; i < n; i++) {
        w->kept[w->n_kept++] = w->pool[w->pick[i]];
        w->pool[w->pick[i]] = -1;
    }
    int32_t left = 0;
    for (int32_t i = 0; i < w->n_pool; i++)
        if (w->pool[i] >= 0) w->pool[left++] = w->pool[i];
    w->n_pool = left;
    return S2P_OK;
}

static s2p_status walk_pivots(const s2p_view *view, const s2p_pivots *p, int32_t n, int32_t budget,
                              int32_t per_pivot, walk *w)
{
    const s2p_signal *normed = &view->signal[S2P_NORMED];
    int32_t value[2 * S2P_DART_PIVOTS], order[2 * S2P_DART_PIVOTS], n_pivots = 0;
    for (int32_t i = 0; i < p->n_visual; i++) value[n_pivots++] = p->visual[i];
    for (int32_t i = 0; i < p->n_text; i++) value[n_pivots++] = p->text[i];
    s2p_python_set_order(value, n_pivots, order);

    s2p_norms(normed->data, normed->shape[0], normed->shape[1], w->norm);
    for (int32_t i = 0; i < n; i++) w->pool[i] = i;
    for (int32_t i = 0; i < p->n_visual; i++) {
        w->kept[w->n_kept++] = p->visual[i] - view->first_row;
        w->pool[p->visual[i] - view->first_row] = -1;
    }
    for (int32_t i = 0; i < n; i++)
        if (w->pool[i] >= 0) w->pool[w->n_pool++] = w->pool[i];
    s2p_status st = S2P_OK;
    for (int32_t i = 0; st == S2P_OK && i < n_pivots; i++)
        st = take_least_alike(view, order[i], at_most(per_pivot, budget - w->n_kept), w);
    return st;
}

/* Tokens per pivot, and how many tokens there will be at most. */
static s2p_status count_tokens(const s2p_view *view, int32_t n, s2p_pivots *p, int32_t *budget,
                               int32_t *per_pivot, s2p_error *error)
{
    const int32_t given = s2p_view_count(view, PER_PIVOT);
    if (view->mode == S2P_MODE_DEFAULT) {
        *budget = view->budget;
        p->n_visual = at_most(p->n_visual, *budget);
        const int32_t n_pivots = p->n_visual + p->n_text;
        *per_pivot = (*budget - p->n_visual + n_pivots - 1) / n_pivots;
        return S2P_OK;
    }
    *per_pivot = given > 0 ? given : view->budget / (2 * S2P_DART_PIVOTS);
    if (p->n_visual < S2P_DART_PIVOTS || p->n_text < S2P_DART_PIVOTS)
        return s2p_refuse(error, S2P_EUNSUPPORTED,
                          "dart as published needs four tokens after the picture; there are %d",
                          p->n_text);
    if (*per_pivot < 1 || *per_pivot > (n - S2P_DART_PIVOTS) / (2 * S2P_DART_PIVOTS))
        return s2p_refuse(error, S2P_EUNSUPPORTED,
                          "dart as published cannot take %d tokens for each of 8 pivots out of %d",
                          *per_pivot, n);
    *budget = S2P_DART_PIVOTS + 2 * S2P_DART_PIVOTS * *per_pivot;
    return S2P_OK;
}

static s2p_status dart_select(const s2p_view *view, s2p_plan *plan, s2p_error *error)
{
    const int32_t n = s2p_view_rows(view, plan);
    int32_t budget = 0, per_pivot = 0;
    s2p_pivots pivots;
    s2p_status st = s2p_dart_pivots(view, n, &pivots, error);
    if (st == S2P_OK) st = count_tokens(view, n, &pivots, &budget, &per_pivot, error);
    if (st != S2P_OK) return st;

    int32_t *lists = malloc(3 * (size_t)n * sizeof *lists);
    double *values =
        malloc(((size_t)n + (size_t)view->signal[S2P_NORMED].shape[0]) * sizeof *values);
    if (lists && values) {
        walk w = { .pool = lists,
                   .pick = lists + n,
                   .kept = lists + 2 * (size_t)n,
                   .distance = values,
                   .norm = values + n };
        st = walk_pivots(view, &pivots, n, budget, per_pivot, &w);
        if (st == S2P_OK) st = s2p_keep_rows(view, plan, w.kept, w.n_kept);
    } else {
        st = S2P_ENOMEM;
    }
    free(values);
    free(lists);
    return st;
}

const s2p_method s2p_method_dart = {
    .about.name = "dart",
    .about.title = "DART",
    .about.source = "DART, EMNLP 2025",
    .about.published = "keeps 4 + 8 floor(budget / 8) tokens; needs four tokens after the picture",
    .about.needs = S2P_NEED_ROTATED_KEY | S2P_NEED_NORMED,
    .about.sees_question = true,
    .about.n_stages = 1,
    .about.after = { 1 },
    .about.parameters = parameters,
    .about.n_parameters = N_PARAMETERS,
    .select = dart_select,
};
