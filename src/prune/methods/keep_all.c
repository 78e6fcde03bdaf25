/* keep_all.c - the unpruned model, as a method like any other. */
#include "prune/method.h"

static s2p_status full_select(const s2p_view *view, s2p_plan *plan, s2p_error *error)
{
    (void)error;
    const int32_t n = s2p_view_rows(view, plan);
    s2p_plan_clear(plan);
    for (int32_t i = 0; i < n; i++) plan->order[i] = s2p_view_token(view, i);
    return s2p_plan_take(plan, plan->order, n);
}

const s2p_method s2p_method_full = {
    .about.name = "full",
    .about.title = "All tokens",
    .about.keeps_all = true,
    .about.source = "no pruning",
    .about.n_stages = 1,
    .about.after = { S2P_BEFORE_DECODER },
    .select = full_select,
};
