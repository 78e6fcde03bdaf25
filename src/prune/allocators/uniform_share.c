/* uniform_share.c - no structure at all: every score is zero. Paper: Sec. 5.5.
 *
 * Algorithm S2 then takes its uniform branch, and what does not divide evenly
 * goes to the first regions in row-major order.
 */
#include "prune/scaffold.h"

static s2p_status uniform_measure(const s2p_view *view, const s2p_holes *holes, s2p_plan *plan)
{
    (void)holes;
    (void)view;
    (void)plan; /* raw is zero already */
    return S2P_OK;
}

const s2p_allocator s2p_allocator_uniform = {
    .name = "uniform",
    .source = "S2Prune, Sec. 5.5",
    .measure = uniform_measure,
};
