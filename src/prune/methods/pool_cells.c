/* pool_cells.c - average the tokens of each cell. Not of the paper: average pooling, the baseline that loses no
 * token and chooses none.
 *
 * Our choice: the cells are uniform. Algorithm S3 halves the whole grid until there are B cells, as `uniform`
 * has them where no lattice fits, so that neither structure nor a score plays a part. The token in the
 * middle of a cell stays, at its own position, and becomes the mean of all tokens of the cell. Among tokens
 * that never entered the tower, cells and means are of those that did.
 */
#include "prune/method.h"

/* Into the token that stays for this cell: every other one, and what is taken off its own weight. */
static s2p_status average(const s2p_holes *holes, s2p_rect cell, int32_t into, s2p_plan *plan)
{
    const double share = 1.0 / s2p_count_there(holes, cell);
    for (int32_t r = cell.row0; r < cell.row1; r++)
        for (int32_t c = cell.col0; c < cell.col1; c++) {
            const int32_t token = r * plan->grid.cols + c;
            if (!s2p_is_there(holes, token) || share >= 1.0) continue;
            const s2p_status st =
                s2p_plan_merge(plan, into, token, token == into ? share - 1.0 : share);
            if (st != S2P_OK) return st;
        }
    return S2P_OK;
}

static s2p_status pool_select(const s2p_view *view, s2p_plan *plan, s2p_error *error)
{
    (void)error;
    s2p_plan_clear(plan);
    const s2p_grid grid = plan->grid;
    const s2p_rect all = { 0, 0, grid.rows, grid.cols };
    const int32_t n = view->budget;
    s2p_holes *holes;
    s2p_status st = s2p_holes_make(&holes, view, grid);
    if (st != S2P_OK) return st;
    st = s2p_cells_there(holes, all, n, plan->cell);
    if (st == S2P_OK)
        st = s2p_selector_find("centre")->pick(grid, holes, plan->cell, n, 0, plan->order);
    if (st == S2P_OK) st = s2p_plan_take(plan, plan->order, n);
    for (int32_t i = 0; st == S2P_OK && i < n; i++)
        st = average(holes, plan->cell[i], plan->order[i], plan);
    s2p_holes_free(holes);
    return st;
}

const s2p_method s2p_method_pool = {
    .about.name = "pool",
    .about.title = "Average pooling",
    .about.source = "a baseline: the mean of each cell",
    .about.merges = 1,
    .about.n_stages = 1,
    .about.after = { S2P_BEFORE_DECODER },
    .select = pool_select,
};
