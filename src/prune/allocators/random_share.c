/* random_share.c - tokens beyond the first of every region go to random regions. Paper: Sec. 5.5.
 *
 * The paper gives no formula. Ours: B - G draws, each uniform among the regions
 * that still have room.
 */
#include "base/random.h"
#include "prune/scaffold.h"

static s2p_status random_draw(int32_t budget, uint64_t seed, s2p_plan *plan)
{
    const int32_t n = plan->side * plan->side;
    int32_t *open = plan->order; /* scratch until the selector runs: regions with room */
    int32_t n_open = 0, left = budget;
    for (int32_t g = 0; g < n; g++) {
        plan->share[g] = plan->capacity[g] > 0; /* 0: all of its tokens are missing */
        left -= plan->share[g];
        if (plan->capacity[g] > 1) open[n_open++] = g;
    }
    s2_random random = { seed };
    for (; left > 0; left--) {
        const uint32_t i = s2_random_below(&random, (uint32_t)n_open);
        const int32_t g = open[i];
        if (++plan->share[g] == plan->capacity[g]) open[i] = open[--n_open];
    }
    return S2P_OK;
}

const s2p_allocator s2p_allocator_random = {
    .name = "random",
    .source = "S2Prune, Sec. 5.5 (formula ours)",
    .draws = true,
    .draw = random_draw,
};
