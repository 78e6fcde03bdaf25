/* spectral_energy.c - structure is spectral energy without the mean. Paper: Sec. 5.5 "FFT".
 *
 * The paper gives no formula. Ours: sum of |F|^2 / (hw)^2 over all frequencies
 * but zero of the region's gray crop. By Parseval that is the gray-level
 * variance of the crop, so no transform is needed.
 */
#include "prune/scaffold.h"

static s2p_status fft_measure(const s2p_view *view, const s2p_holes *holes, s2p_plan *plan)
{
    (void)holes;
    const s2p_status st =
        s2p_measure_regions(view->image, plan->grid, plan->side, S2P_MEASURE_INTENSITY,
                            plan->kernels, &plan->rows, plan->moments);
    if (st != S2P_OK) return st;
    for (int32_t g = 0; g < plan->side * plan->side; g++)
        plan->raw[g] = (float)s2p_variance(plan->moments[g]);
    return S2P_OK;
}

const s2p_allocator s2p_allocator_fft = {
    .name = "fft",
    .source = "S2Prune, Sec. 5.5 (formula ours)",
    .needs = S2P_NEED_PIXELS,
    .measure = fft_measure,
};
