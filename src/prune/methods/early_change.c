/* early_change.c - tokens that a layer changed most, over the whole picture.
 *
 * erc-top: S2Prune's score without its scaffold, the global ranking of its Fig. 2; after layer 0.
 * v2drop: V2Drop (CVPR 2026) scores by the same change and prunes before layers 3, 17 and 22. Its
 * code keeps half, half of that, then one token; by default every stage keeps the same share and
 * the last leaves the budget.
 */
#include "prune/ranking.h"

#include <stdlib.h>

static s2p_status keep_changed(const s2p_view *view, s2p_plan *plan, int32_t k)
{
    const int32_t n = s2p_view_rows(view, plan);
    double *score = malloc((size_t)n * sizeof *score);
    if (!score) return S2P_ENOMEM;
    for (int32_t i = 0; i < n; i++) score[i] = (double)view->signal[S2P_ERC].data[i];
    const s2p_status st = s2p_keep_best(view, plan, score, k);
    free(score);
    return st;
}

static s2p_status erc_top_select(const s2p_view *view, s2p_plan *plan, s2p_error *error)
{
    (void)error;
    return keep_changed(view, plan, view->budget);
}

static const s2p_parameter parameters[] = {
    { "erc_deepstack", S2P_ERC_DEEPSTACK_HELP, 1, 0, 1, 0 },
};

const s2p_method s2p_method_erc_top = {
    .about.name = "erc-top",
    .about.title = "ERC top-B",
    .about.source = "S2Prune, Fig. 2: ERC without the scaffold",
    .about.needs = S2P_NEED_ERC,
    .about.prunes_cache = true,
    .about.n_stages = 1,
    .about.after = { 0 },
    .about.n_parameters = 1,
    .about.parameters = parameters,
    .select = erc_top_select,
};

enum { V2DROP_STAGES = 3 };

static s2p_status v2drop_select(const s2p_view *view, s2p_plan *plan, s2p_error *error)
{
    (void)error;
    if (view->mode == S2P_MODE_DEFAULT)
        return keep_changed(view, plan, s2p_stage_budget(view, plan, V2DROP_STAGES));
    const int32_t half = s2p_view_rows(view, plan) / 2;
    const bool is_last = view->stage == V2DROP_STAGES - 1;
    return keep_changed(view, plan, is_last || half < 1 ? 1 : half);
}

const s2p_method s2p_method_v2drop = {
    .about.name = "v2drop",
    .about.title = "V2Drop",
    .about.source = "V2Drop, CVPR 2026",
    .about.published = "keeps half, half of that, then one token, whatever the budget",
    .about.needs = S2P_NEED_ERC,
    .about.n_stages = V2DROP_STAGES,
    .about.after = { 2, 16, 21 },
    .about.n_parameters = 1,
    .about.parameters = parameters,
    .select = v2drop_select,
};
