/* laplacian_variance.c - structure is the variance of the Laplacian. Paper: Sec. 4.1 Eq. 2, A.2.
 *
 * The variance is formed in double from exact integer sums and then stored as
 * float32, as the released code stores it; min-max follows in float32.
 */
#include "prune/scaffold.h"

static s2p_status laplacian_measure(const s2p_view *view, const s2p_holes *holes, s2p_plan *plan)
{
    (void)holes;
    const s2p_status st =
        s2p_measure_regions(view->image, plan->grid, plan->side, S2P_MEASURE_LAPLACIAN,
                            plan->kernels, &plan->rows, plan->moments);
    if (st != S2P_OK) return st;
    for (int32_t g = 0; g < plan->side * plan->side; g++)
        plan->raw[g] = (float)s2p_variance(plan->moments[g]);
    return S2P_OK;
}

const s2p_allocator s2p_allocator_laplacian = {
    .name = "laplacian",
    .source = "S2Prune, Sec. 4.1",
    .needs = S2P_NEED_PIXELS,
    .measure = laplacian_measure,
};
