/* resize_picture.c - show the tower a smaller picture. Not in the paper: the baseline for the question whether
 * tokens should be removed at all.
 *
 * The engine shrinks the picture until its tokens fit the budget (src/engine/vision/shrink.c), so that the
 * tower's work shrinks too. All tokens of that picture stay: nothing is left to choose here.
 */
#include "prune/method.h"

extern const s2p_method s2p_method_full;

static s2p_status resize_select(const s2p_view *view, s2p_plan *plan, s2p_error *error)
{
    return s2p_method_full.select(view, plan, error);
}

const s2p_method s2p_method_resize = {
    .about.name = "resize",
    .about.title = "Smaller picture",
    .about.source = "a baseline: the tower's own resolution",
    .about.keeps_all = 1,
    .about.resizes = 1,
    .about.n_stages = 1,
    .about.after = { S2P_BEFORE_DECODER },
    .select = resize_select,
};
