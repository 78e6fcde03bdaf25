/* equal_density.c - the scaffold with the same density everywhere. Paper: Sec. 3.4, a control.
 *
 * Uniform shares and the center of each cell: neither structure nor any score.
 */
#include "prune/method.h"

static s2p_status equal_density_select(const s2p_view *view, s2p_plan *plan, s2p_error *error)
{
    s2p_view even = *view;
    even.choice.allocator = "uniform";
    even.choice.selector = "centre";
    return s2p_prune(&even, plan, error);
}

const s2p_method s2p_method_equal_density = {
    .about.name = "equal-density",
    .about.title = "Equal-Density",
    .about.source = "S2Prune, Sec. 3.4",
    .about.reads = S2P_READS_SIDE,
    .about.n_stages = 1,
    .about.after = { S2P_BEFORE_DECODER },
    .select = equal_density_select,
};
