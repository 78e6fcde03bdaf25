/* cdpruner.c - a varied set, weighted by the question. CDPruner, NeurIPS 2025.
 *
 * Greedy search for the most probable set of a determinantal point process with the kernel
 * L = diag(r) S diag(r): S cosines of the features, r relevance scaled to (0, 1]. The authors
 * negate the relevance, because CLIP's patches are anti-correlated with the text; with embeddings
 * of the language model itself it is taken as it is, so the sign belongs to the published mode.
 * Guards: one relevance for all counts as 1. Once the gain of the best token is gone (rank below
 * the budget; the authors' code then repeats tokens) the rest is taken by relevance.
 */
#include "prune/ranking.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TINY 1e-6
#define NO_GAIN 1e-12

typedef struct dpp {
    const float *x; /* [n][dim] */
    int32_t n, dim;
    double *relevance, *norm, *gain, *row; /* [n] */
    double *factor;                        /* [budget][n] */
    int32_t *order;                        /* [n] */
} dpp;

static void scale_relevance(dpp *d, double sign)
{
    double low = INFINITY, high = -INFINITY;
    for (int32_t i = 0; i < d->n; i++) {
        d->relevance[i] *= sign;
        low = fmin(low, d->relevance[i]);
        high = fmax(high, d->relevance[i]);
    }
    for (int32_t i = 0; i < d->n; i++)
        d->relevance[i] = high > low ? (d->relevance[i] - low + TINY) / (high - low) : 1.0;
}

/* Take token j as the k-th: its row of the kernel without what the earlier ones explain. */
static void take(dpp *d, int32_t k, int32_t j)
{
    const double root = sqrt(d->gain[j]);
    double *e = d->factor + (ptrdiff_t)k * d->n;
    for (int32_t i = 0; i < d->n; i++)
        d->row[i] = isfinite(d->gain[i])
                        ? d->relevance[j] * d->relevance[i] *
                              s2p_cosine(d->x + (ptrdiff_t)j * d->dim, d->norm[j],
                                         d->x + (ptrdiff_t)i * d->dim, d->norm[i], d->dim)
                        : 0.0; /* chosen already: never looked at again */
    for (int32_t m = 0; m < k; m++) {
        const double *earlier = d->factor + (ptrdiff_t)m * d->n;
        const double own = earlier[j];
        for (int32_t i = 0; i < d->n; i++) d->row[i] -= own * earlier[i];
    }
    for (int32_t i = 0; i < d->n; i++) {
        e[i] = d->row[i] / root;
        d->gain[i] -= e[i] * e[i];
    }
    d->gain[j] = -INFINITY;
    d->order[k] = j;
}

static int32_t best_gain(const dpp *d)
{
    int32_t best = 0;
    for (int32_t i = 1; i < d->n; i++)
        if (d->gain[i] > d->gain[best]) best = i;
    return best;
}

/* Tokens without gain, most relevant first. scratch: gain is not needed any more. */
static s2p_status fill_by_relevance(dpp *d, int32_t n_taken, int32_t budget)
{
    int32_t *rank = malloc((size_t)d->n * sizeof *rank);
    if (!rank) return S2P_ENOMEM;
    const s2p_status st = s2p_rank(d->relevance, d->n, d->n, rank);
    for (int32_t i = 0; st == S2P_OK && i < d->n && n_taken < budget; i++)
        if (d->gain[rank[i]] > -INFINITY) d->order[n_taken++] = rank[i];
    free(rank);
    return st;
}

static s2p_status search(dpp *d, int32_t budget)
{
    s2p_norms(d->x, d->n, d->dim, d->norm);
    for (int32_t i = 0; i < d->n; i++)
        d->gain[i] = d->norm[i] > 0.0 ? d->relevance[i] * d->relevance[i] : 0.0;
    for (int32_t k = 0; k < budget; k++) {
        const int32_t j = best_gain(d);
        if (!(d->gain[j] > NO_GAIN)) return fill_by_relevance(d, k, budget);
        take(d, k, j);
    }
    return S2P_OK;
}

static s2p_status cdpruner_select(const s2p_view *view, s2p_plan *plan, s2p_error *error)
{
    const size_t n = (size_t)s2p_view_rows(view, plan), budget = (size_t)view->budget;
    const s2p_signal *feature = &view->signal[S2P_FEATURE];
    dpp d = { .x = feature->data, .n = (int32_t)n, .dim = feature->shape[1] };
    if (budget > S2P_MAX_SCRATCH / sizeof(double) / n)
        return s2p_refuse(error, S2P_ELIMIT, "cdpruner: %d of %d tokens are too many", view->budget,
                          d.n);
    double *values = malloc(4 * n * sizeof *values);
    d.factor = malloc(budget * n * sizeof *d.factor);
    d.order = malloc(n * sizeof *d.order);
    s2p_status st = values && d.factor && d.order ? S2P_OK : S2P_ENOMEM;
    if (st == S2P_OK) {
        d.relevance = values;
        d.norm = values + n;
        d.gain = values + 2 * n;
        d.row = values + 3 * n;
        st = s2p_relevance(view, d.n, d.relevance, error);
    }
    if (st == S2P_OK) {
        scale_relevance(&d, view->mode == S2P_MODE_PUBLISHED ? -1.0 : 1.0);
        st = search(&d, view->budget);
    }
    if (st == S2P_OK) st = s2p_keep_rows(view, plan, d.order, view->budget);
    free(d.order);
    free(d.factor);
    free(values);
    return st;
}

const s2p_method s2p_method_cdpruner = {
    .about.name = "cdpruner",
    .about.title = "CDPruner",
    .about.source = "CDPruner, NeurIPS 2025",
    .about.published = "the relevance is negated, for embeddings of CLIP",
    .about.needs = S2P_NEED_FEATURE | S2P_NEED_TEXT,
    .about.takes = S2P_NEED_ALIGNED,
    .about.sees_question = true,
    .about.n_stages = 1,
    .about.after = { S2P_BEFORE_DECODER },
    .select = cdpruner_select,
};
