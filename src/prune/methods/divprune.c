/* divprune.c - tokens as far apart as possible. DivPrune, CVPR 2025.
 *
 * Distance is 1 - cosine. The first token is the one farthest from its nearest neighbor, then
 * always the one farthest from all chosen. Tokens already chosen are out of the question, which
 * the authors' code forgets where everything left is a copy.
 */
#include "prune/ranking.h"

#include <math.h>
#include <stdlib.h>

/* The distance to the nearest other token: the second smallest of all, its own being the first. */
static double isolation(const double *pair, int32_t n, int32_t i)
{
    double first = INFINITY, second = INFINITY;
    for (int32_t j = 0; j < n; j++) {
        const double d = 1.0 - pair[s2p_pair(i, j)];
        if (d < first) {
            second = first;
            first = d;
        } else if (d < second) {
            second = d;
        }
    }
    return second;
}

static int32_t farthest(const double *distance, int32_t n)
{
    int32_t best = 0;
    for (int32_t i = 1; i < n; i++)
        if (distance[i] > distance[best]) best = i;
    return best;
}

static s2p_status divprune_select(const s2p_view *view, s2p_plan *plan, s2p_error *error)
{
    const int32_t n = s2p_view_rows(view, plan);
    const s2p_signal *feature = &view->signal[S2P_FEATURE];
    double *pair = NULL, *distance = malloc((size_t)n * sizeof *distance);
    int32_t *order = malloc((size_t)n * sizeof *order);
    s2p_status st = distance && order
                        ? s2p_cosines(feature->data, n, feature->shape[1], &pair, error)
                        : S2P_ENOMEM;
    if (st == S2P_OK) {
        for (int32_t i = 0; i < n; i++) distance[i] = isolation(pair, n, i);
        for (int32_t k = 0; k < view->budget; k++) {
            const int32_t j = order[k] = farthest(distance, n);
            for (int32_t i = 0; i < n; i++) {
                const double d = 1.0 - pair[s2p_pair(i, j)];
                if (k == 0 || d < distance[i]) distance[i] = d;
            }
            distance[j] = -INFINITY; /* and stays there */
        }
        st = s2p_keep_rows(view, plan, order, view->budget);
    }
    free(pair);
    free(order);
    free(distance);
    return st;
}

const s2p_method s2p_method_divprune = {
    .about.name = "divprune",
    .about.title = "DivPrune",
    .about.source = "DivPrune, CVPR 2025",
    .about.needs = S2P_NEED_FEATURE,
    .about.n_stages = 1,
    .about.after = { S2P_BEFORE_DECODER },
    .select = divprune_select,
};
