/* cell_centre.c - the middle token of the cell: a rule that looks at nothing.
 *
 * Paper: Sec. 3.4 compares equal with adaptive density under one local rule that
 * uses no decoder score, and does not name it. Ours: the centre, rounded towards
 * the first row and column.
 */
#include "prune/scaffold.h"

static s2p_status centre_pick(s2p_grid grid, const s2p_rect *cells, int32_t n_cells, uint64_t seed,
                              int32_t *pick)
{
    (void)seed;
    for (int32_t i = 0; i < n_cells; i++)
        pick[i] = (cells[i].row0 + cells[i].row1 - 1) / 2 * grid.cols +
                  (cells[i].col0 + cells[i].col1 - 1) / 2;
    return S2P_OK;
}

const s2p_selector s2p_selector_centre = {
    .name = "centre",
    .source = "S2Prune, Sec. 3.4 (rule ours)",
    .pick = centre_pick,
};
