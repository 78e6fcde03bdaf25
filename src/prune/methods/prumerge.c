/* prumerge.c - outliers of attention, a lattice, and everything merged in. PruMerge+, ICCV 2025.
 *
 * Published: tokens whose attention is an outlier (Q3 + 1.5 IQR), then every floor(floor(1 / ratio)
 * / 3)-th of the others. Each kept row takes in its 32 nearest tokens by key, weighted by their
 * attention, and one more row is the weighted sum of all dropped: it stands in the row of the most
 * attended of them. The count follows from the picture. By default it is the budget: one row for
 * the dropped, a quarter of the rest by attention (the authors' lattice has about three tokens for
 * each outlier), the others evenly over what is left; weights are scaled to a sum of one.
 */
#include "prune/methods/prumerge.h"

#include "prune/ranking.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NEIGHBOURS = 32, LATTICE_PER_OUTLIER = 3 };

typedef struct merger {
    int32_t n, n_kept;
    int32_t *kept;  /* [n + 1] in the order found; the dropped, ascending, follow */
    int32_t *rank;  /* [n] by attention */
    uint8_t *is_in; /* [n] */
    double *attn, *norm, *sorted;
} merger;

static double percentile(const double *sorted, int32_t n, double p)
{
    const double at = (n - 1) * p;
    const int32_t low = (int32_t)at, high = low + 1 < n ? low + 1 : low;
    return sorted[low] + (sorted[high] - sorted[low]) * (at - low);
}

double s2p_outlier_ratio(const double *sorted, int32_t n)
{
    const double q1 = percentile(sorted, n, 0.25), q3 = percentile(sorted, n, 0.75);
    const double limit = q3 + 1.5 * (q3 - q1);
    int32_t count = 0;
    for (int32_t i = 0; i < n; i++) count += sorted[i] > limit;
    return count / (double)n;
}

static void keep(merger *m, int32_t token)
{
    if (m->is_in[token]) return;
    m->is_in[token] = 1;
    m->kept[m->n_kept++] = token;
}

static s2p_status choose_published(merger *m, s2p_error *error)
{
    for (int32_t i = 0; i < m->n; i++) m->sorted[i] = m->attn[m->rank[m->n - 1 - i]];
    const double ratio = s2p_outlier_ratio(m->sorted, m->n);
    const int32_t step = ratio > 0.0 ? (int32_t)(1.0 / ratio) / LATTICE_PER_OUTLIER : 0;
    if (step < 1)
        return s2p_refuse(error, S2P_EUNSUPPORTED,
                          "prumerge+ as published needs outliers of attention; %.3g of %d tokens "
                          "are",
                          ratio, m->n);
    const int32_t n_top = (int32_t)(m->n * ratio);
    for (int32_t i = 0; i < n_top; i++) keep(m, m->rank[i]);
    for (int32_t i = 0; i < m->n - 1; i += step) keep(m, i); /* never the last token, as theirs */
    return S2P_OK;
}

static void choose_exactly(merger *m, int32_t n_keep)
{
    const int32_t n_top = (n_keep + LATTICE_PER_OUTLIER) / (LATTICE_PER_OUTLIER + 1);
    for (int32_t i = 0; i < n_top; i++) keep(m, m->rank[i]);
    const int64_t n_rest = m->n - n_top, n_lattice = n_keep - n_top;
    int64_t seen = 0, next = 0;
    for (int32_t token = 0; token < m->n && next < n_lattice; token++) {
        if (m->is_in[token]) continue;
        if (seen++ == (2 * next + 1) * n_rest / (2 * n_lattice)) {
            keep(m, token);
            next++;
        }
    }
}

/* The tokens of the pool nearest to kept token k, nearest first, the earlier of equals. */
static int32_t find_neighbours(const merger *m, const s2p_signal *key, int32_t k, int32_t *out)
{
    const int32_t dim = key->shape[1], token = m->kept[k];
    double nearest[NEIGHBOURS];
    int32_t n = 0;
    for (int32_t i = 0; i < m->n; i++) {
        if (i == k) continue;
        const int32_t other = m->kept[i];
        const double alike = s2p_cosine(key->data + (ptrdiff_t)token * dim, m->norm[token],
                                        key->data + (ptrdiff_t)other * dim, m->norm[other], dim);
        if (n == NEIGHBOURS && !(alike > nearest[n - 1])) continue;
        int32_t at = n < NEIGHBOURS ? n++ : n - 1;
        for (; at > 0 && alike > nearest[at - 1]; at--) {
            nearest[at] = nearest[at - 1];
            out[at] = out[at - 1];
        }
        nearest[at] = alike;
        out[at] = other;
    }
    return n;
}

static s2p_status merge_rows(const s2p_view *view, const merger *m, int32_t slot, s2p_plan *plan)
{
    const s2p_signal *key = &view->signal[S2P_VISION_KEY];
    s2p_status st = S2P_OK;
    int32_t near[NEIGHBOURS];
    for (int32_t k = 0; k < m->n_kept; k++) {
        const int32_t n = find_neighbours(m, key, k, near);
        for (int32_t i = 0; st == S2P_OK && i < n; i++)
            st = s2p_plan_merge(plan, s2p_view_token(view, m->kept[k]),
                                s2p_view_token(view, near[i]), m->attn[near[i]]);
    }
    for (int32_t i = m->n_kept; st == S2P_OK && slot >= 0 && i < m->n; i++) {
        const int32_t from = m->kept[i];
        st = s2p_plan_merge(plan, s2p_view_token(view, slot), s2p_view_token(view, from),
                            from == slot ? m->attn[from] - 1.0 : m->attn[from]);
    }
    return st;
}

/* The most attended of the dropped, -1 when there is none. */
static int32_t most_attended(const merger *m)
{
    for (int32_t i = 0; i < m->n; i++)
        if (!m->is_in[m->rank[i]]) return m->rank[i];
    return -1;
}

static void scale_weights(merger *m)
{
    double sum = 0.0;
    for (int32_t i = 0; i < m->n; i++) sum += m->attn[i];
    for (int32_t i = 0; sum > 0.0 && i < m->n; i++) m->attn[i] /= sum;
}

static s2p_status select_in(const s2p_view *view, s2p_plan *plan, merger *m, s2p_error *error)
{
    const bool is_published = view->mode == S2P_MODE_PUBLISHED;
    const s2p_signal *attn = &view->signal[S2P_VISION_ATTN], *key = &view->signal[S2P_VISION_KEY];
    s2p_column_means(attn->data, attn->shape[0], m->n, m->attn);
    s2p_status st = s2p_rank(m->attn, m->n, m->n, m->rank);
    if (st != S2P_OK) return st;
    if (is_published) {
        st = choose_published(m, error);
    } else {
        scale_weights(m);
        choose_exactly(m, view->budget > 1 ? view->budget - 1 : 1);
    }
    if (st != S2P_OK) return st;

    const int32_t slot = is_published || view->budget > 1 ? most_attended(m) : -1;
    int32_t *order = m->kept + m->n + 1; /* kept, then the slot */
    memcpy(order, m->kept, (size_t)m->n_kept * sizeof *order);
    order[m->n_kept] = slot;
    for (int32_t i = 0, at = m->n_kept; i < m->n; i++)
        if (!m->is_in[i]) m->kept[at++] = i;
    s2p_norms(key->data, m->n, key->shape[1], m->norm);
    st = s2p_keep_rows(view, plan, order, m->n_kept + (slot >= 0));
    if (st == S2P_OK) st = merge_rows(view, m, slot, plan);
    if (st == S2P_OK && is_published && slot < 0) plan->n_blank = 1; /* nothing was dropped */
    return st;
}

static s2p_status prumerge_select(const s2p_view *view, s2p_plan *plan, s2p_error *error)
{
    const size_t n = (size_t)s2p_view_rows(view, plan);
    int32_t *lists = malloc((3 * n + 2) * sizeof *lists);
    double *values = malloc(3 * n * sizeof *values);
    uint8_t *is_in = calloc(n, 1);
    s2p_status st = lists && values && is_in ? S2P_OK : S2P_ENOMEM;
    if (st == S2P_OK) {
        merger m = { .n = (int32_t)n,
                     .kept = lists,
                     .rank = lists + 2 * n + 2,
                     .is_in = is_in,
                     .attn = values,
                     .norm = values + n,
                     .sorted = values + 2 * n };
        st = select_in(view, plan, &m, error);
    }
    free(is_in);
    free(values);
    free(lists);
    return st;
}

const s2p_method s2p_method_prumerge = {
    .about.name = "prumerge+",
    .about.title = "PruMerge+",
    .about.source = "LLaVA-PruMerge+, ICCV 2025",
    .about.published = "the count follows from the outliers of attention, whatever the budget",
    .about.needs = S2P_NEED_VISION_ATTN | S2P_NEED_VISION_KEY,
    .about.merges = true,
    .about.n_stages = 1,
    .about.after = { S2P_BEFORE_DECODER },
    .select = prumerge_select,
};
