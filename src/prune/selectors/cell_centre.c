/* cell_centre.c - the middle token of the cell: a rule that looks at nothing.
 *
 * Paper: Sec. 3.4 compares equal with adaptive density under one local rule that
 * uses no decoder score, and does not name it. Ours: the center, rounded towards
 * the first row and column. Where that token is missing (holes.h), the nearest that is there, the
 * first of equals.
 */
#include "prune/scaffold.h"

static int32_t nearest_there(s2p_grid grid, const s2p_holes *holes, s2p_rect cell, int32_t row,
                             int32_t col)
{
    int32_t best = row * grid.cols + col;
    int64_t least = INT64_MAX;
    for (int32_t r = cell.row0; r < cell.row1; r++)
        for (int32_t c = cell.col0; c < cell.col1; c++) {
            const int64_t y = r - row, x = c - col, distance = y * y + x * x;
            if (!s2p_is_there(holes, r * grid.cols + c) || distance >= least) continue;
            least = distance;
            best = r * grid.cols + c;
        }
    return best;
}

static s2p_status centre_pick(s2p_grid grid, const s2p_holes *holes, const s2p_rect *cells,
                              int32_t n_cells, uint64_t seed, int32_t *pick)
{
    (void)seed;
    for (int32_t i = 0; i < n_cells; i++) {
        const int32_t row = (cells[i].row0 + cells[i].row1 - 1) / 2,
                      col = (cells[i].col0 + cells[i].col1 - 1) / 2;
        pick[i] = row * grid.cols + col;
        if (!s2p_is_there(holes, pick[i])) pick[i] = nearest_there(grid, holes, cells[i], row, col);
    }
    return S2P_OK;
}

const s2p_selector s2p_selector_centre = {
    .name = "centre",
    .source = "S2Prune, Sec. 3.4 (rule ours)",
    .pick = centre_pick,
};
