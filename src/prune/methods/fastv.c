/* fastv.c - the tokens the last prompt token attends to. FastV, ECCV 2024, with K = 2.
 *
 * Attention of layer 1, softmax over the whole row, mean over heads: the share that goes to text
 * weighs the heads against each other.
 */
#include "prune/ranking.h"

#include <stdlib.h>

static s2p_status fastv_select(const s2p_view *view, s2p_plan *plan, s2p_error *error)
{
    (void)error;
    const int32_t n = s2p_view_rows(view, plan);
    const float *last = view->signal[S2P_LAST_ATTN].data;
    double *score = malloc((size_t)n * sizeof *score);
    if (!score) return S2P_ENOMEM;
    for (int32_t i = 0; i < n; i++) score[i] = (double)last[i];
    const s2p_status st = s2p_keep_best(view, plan, score, view->budget);
    free(score);
    return st;
}

const s2p_method s2p_method_fastv = {
    .about.name = "fastv",
    .about.title = "FastV",
    .about.source = "FastV, ECCV 2024",
    .about.needs = S2P_NEED_LAST_ATTN,
    .about.sees_question = true,
    .about.n_stages = 1,
    .about.after = { 1 },
    .select = fastv_select,
};
