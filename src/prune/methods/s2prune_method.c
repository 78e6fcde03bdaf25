/* s2prune_method.c - the paper's method, with the allocator and selector of the view's choice. */
#include "prune/method.h"

static s2p_status s2prune_select(const s2p_view *view, s2p_plan *plan, s2p_error *error)
{
    return s2p_prune(&view->signals, view->budget, &view->choice, plan, error);
}

const s2p_method s2p_method_s2prune = {
    .name = "s2prune",
    .source = "S2Prune",
    .prunes_cache = true,
    .n_stages = 1,
    .after = { 0 },
    .select = s2prune_select,
};
