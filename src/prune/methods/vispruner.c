/* vispruner.c - the tokens the tower attends to, then a varied few. VisPruner, ICCV 2025.
 *
 * Half of the budget goes to attention. The rest of the tokens, by descending attention, are a list
 * R: in each round the tokens at its even places are compared with those at its odd places, the
 * eight most alike are dropped, and the survivors, most alike first, are followed by the odd ones.
 * That order decides the next pairing, so it is part of the method. The authors' code fails when R
 * starts odd; by default one more token is then kept for attention, as in LightCompress.
 */
#include "prune/ranking.h"

#include <stdlib.h>

enum { DROPPED_PER_ROUND = 8 };

enum { N_IMPORTANT, IMPORTANT_RATIO, N_PARAMETERS };
static const s2p_parameter parameters[N_PARAMETERS] = {
    [N_IMPORTANT] = { "n_important",
                      "tokens kept for attention alone; if not set by "
                      "important_ratio",
                      1, 1, S2P_MAX_TOKENS, 0 },
    [IMPORTANT_RATIO] = { "important_ratio", "their share of the budget", 0, 1e-9, 1, 0.5 },
};

typedef struct diverse {
    const double *pair;                 /* cosines */
    int32_t *list, *even, *rank, *next; /* [n] */
    double *alike;                      /* [n] */
    int32_t n_list;
} diverse;

static s2p_status drop_most_alike(diverse *d, int32_t n_drop)
{
    const int32_t n_even = (d->n_list + 1) / 2;
    for (int32_t e = 0; e < n_even; e++) {
        d->even[e] = d->list[2 * e];
        d->alike[e] = -2.0;
        for (int32_t o = 1; o < d->n_list; o += 2) {
            const double c = d->pair[s2p_pair(d->even[e], d->list[o])];
            if (c > d->alike[e]) d->alike[e] = c;
        }
    }
    const s2p_status st = s2p_rank(d->alike, n_even, n_even, d->rank);
    if (st != S2P_OK) return st;
    int32_t n = 0;
    for (int32_t e = n_drop; e < n_even; e++) d->next[n++] = d->even[d->rank[e]];
    for (int32_t o = 1; o < d->n_list; o += 2) d->next[n++] = d->list[o];
    int32_t *swapped = d->list;
    d->list = d->next;
    d->next = swapped;
    d->n_list = n;
    return S2P_OK;
}

static s2p_status count_important(const s2p_view *view, int32_t n, int32_t *out, s2p_error *error)
{
    const int32_t given = s2p_view_count(view, N_IMPORTANT);
    *out = given > 0 ? given : (int32_t)(view->budget * s2p_view_value(view, IMPORTANT_RATIO));
    if (*out > view->budget)
        return s2p_refuse(error, S2P_EBUDGET,
                          "vispruner: %d important tokens are more than the budget of %d", *out,
                          view->budget);
    if ((n - *out) % 2 == 0 || *out == view->budget) return S2P_OK;
    if (view->mode == S2P_MODE_PUBLISHED)
        return s2p_refuse(
            error, S2P_EUNSUPPORTED,
            "vispruner as published cannot pair the %d tokens other than %d important "
            "ones",
            n - *out, *out);
    ++*out;
    return S2P_OK;
}

static s2p_status vispruner_select(const s2p_view *view, s2p_plan *plan, s2p_error *error)
{
    const int32_t n = s2p_view_rows(view, plan);
    const s2p_signal *attn = &view->signal[S2P_VISION_ATTN];
    const s2p_signal *feature = &view->signal[S2P_FEATURE];
    int32_t n_important;
    s2p_status st = count_important(view, n, &n_important, error);
    if (st != S2P_OK) return st;

    double *pair = NULL, *alike = malloc((size_t)n * sizeof *alike);
    int32_t *lists = malloc(5 * (size_t)n * sizeof *lists), *order = lists;
    st = alike && lists ? s2p_cosines(feature->data, n, feature->shape[1], &pair, error)
                        : S2P_ENOMEM;
    if (st == S2P_OK) {
        s2p_column_means(attn->data, attn->shape[0], n, alike);
        st = s2p_rank(alike, n, n, order);
    }
    if (st == S2P_OK) {
        const int32_t n_diverse = view->budget - n_important;
        diverse d = { pair,
                      lists + (size_t)n,
                      lists + 2 * (size_t)n,
                      lists + 3 * (size_t)n,
                      lists + 4 * (size_t)n,
                      alike,
                      n - n_important };
        for (int32_t i = 0; i < d.n_list; i++) d.list[i] = order[n_important + i];
        while (st == S2P_OK && n_diverse > 0 && d.n_list > n_diverse) {
            const int32_t over = d.n_list - n_diverse;
            st = drop_most_alike(&d, over < DROPPED_PER_ROUND ? over : DROPPED_PER_ROUND);
        }
        for (int32_t i = 0; i < n_diverse; i++) order[n_important + i] = d.list[i];
        if (st == S2P_OK) st = s2p_keep_rows(view, plan, order, view->budget);
    }
    free(pair);
    free(lists);
    free(alike);
    return st;
}

const s2p_method s2p_method_vispruner = {
    .about.name = "vispruner",
    .about.title = "VisPruner",
    .about.source = "VisPruner, ICCV 2025",
    .about.published = "refuses an odd number of tokens other than the important ones",
    .about.needs = S2P_NEED_VISION_ATTN | S2P_NEED_FEATURE,
    .about.n_stages = 1,
    .about.after = { S2P_BEFORE_DECODER },
    .about.parameters = parameters,
    .about.n_parameters = N_PARAMETERS,
    .select = vispruner_select,
};
