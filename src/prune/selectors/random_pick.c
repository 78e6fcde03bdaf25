/* random_pick.c - any token of the cell, each with the same chance. Paper: Sec. 5.5. */
#include "base/random.h"
#include "prune/scaffold.h"

static s2p_status random_pick(s2p_grid grid, const s2p_rect *cells, int32_t n_cells, uint64_t seed,
                              int32_t *pick)
{
    s2_random random = { ~seed }; /* not the stream of the random allocator */
    for (int32_t i = 0; i < n_cells; i++) {
        const int32_t width = cells[i].col1 - cells[i].col0;
        const int32_t area = (cells[i].row1 - cells[i].row0) * width;
        const int32_t at = (int32_t)s2_random_below(&random, (uint32_t)area);
        pick[i] = (cells[i].row0 + at / width) * grid.cols + cells[i].col0 + at % width;
    }
    return S2P_OK;
}

const s2p_selector s2p_selector_random = {
    .name = "random",
    .source = "S2Prune, Sec. 5.5",
    .draws = true,
    .pick = random_pick,
};
