/* euti.c - keys that meet the mean query, times the size of the row. EUTI, the pruning half of
 * PACT, CVPR 2025.
 *
 * Queries and keys are those of the layer that comes next, before rotation; the mean query of each
 * head runs over every row up to the last visual one, so the question is not seen.
 */
#include "prune/ranking.h"

#include <stdlib.h>

static s2p_status euti_select(const s2p_view *view, s2p_plan *plan, s2p_error *error)
{
    const int32_t n = s2p_view_rows(view, plan);
    const s2p_signal *hidden = &view->signal[S2P_HIDDEN];
    double *score = malloc(2 * (size_t)n * sizeof *score);
    if (!score) return S2P_ENOMEM;
    double *norm = score + n;
    s2p_status st = s2p_head_attention(&view->signal[S2P_MEAN_QUERY], &view->signal[S2P_PLAIN_KEY],
                                       score, error);
    if (st == S2P_OK) {
        s2p_norms(hidden->data, n, hidden->shape[1], norm);
        for (int32_t i = 0; i < n; i++) score[i] *= norm[i];
        st = s2p_keep_best(view, plan, score, view->budget);
    }
    free(score);
    return st;
}

const s2p_method s2p_method_euti = {
    .about.name = "euti",
    .about.title = "PACT (EUTI)",
    .about.source = "EUTI of PACT, CVPR 2025",
    .about.needs = S2P_NEED_MEAN_QUERY | S2P_NEED_PLAIN_KEY | S2P_NEED_HIDDEN,
    .about.ahead = true,
    .about.n_stages = 1,
    .about.after = { 3 },
    .select = euti_select,
};
