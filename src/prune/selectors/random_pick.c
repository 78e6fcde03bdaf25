/* random_pick.c - any token of the cell that is there, each with the same chance. Paper: Sec. 5.5. */
#include "base/random.h"
#include "prune/scaffold.h"

/* The at-th token of the cell that is there. */
static int32_t token_at(s2p_grid grid, const s2p_holes *holes, s2p_rect cell, int32_t at)
{
    const int32_t width = cell.col1 - cell.col0;
    for (int32_t i = 0;; i++) {
        const int32_t token = (cell.row0 + i / width) * grid.cols + cell.col0 + i % width;
        if (s2p_is_there(holes, token) && at-- == 0) return token;
    }
}

static s2p_status random_pick(s2p_grid grid, const s2p_holes *holes, const s2p_rect *cells,
                              int32_t n_cells, uint64_t seed, int32_t *pick)
{
    s2_random random = { ~seed }; /* not the stream of the random allocator */
    for (int32_t i = 0; i < n_cells; i++) {
        const int32_t n = s2p_count_there(holes, cells[i]);
        pick[i] = token_at(grid, holes, cells[i], (int32_t)s2_random_below(&random, (uint32_t)n));
    }
    return S2P_OK;
}

const s2p_selector s2p_selector_random = {
    .name = "random",
    .source = "S2Prune, Sec. 5.5",
    .draws = true,
    .pick = random_pick,
};
