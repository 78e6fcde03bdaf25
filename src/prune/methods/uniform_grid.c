/* uniform_grid.c - spread the budget evenly and look at nothing. Paper: Sec. 3.3, a control.
 *
 * The paper does not spell out its grid. Ours: a lattice of r x c = B points, as
 * close to the shape of the token grid as the divisors of B allow, at rows
 * floor((i + 1/2) rows / r) and columns likewise: 64 = 8x8, 192 = 12x16. When the
 * best lattice is more than twice as stretched as the grid (B = 61 has only
 * 1 x 61), the grid is cut into B cells by Algorithm S3 and each keeps its center. So it is, among
 * the tokens that are there, where some never entered the tower: a lattice may meet holes.
 */
#include "prune/method.h"

#include <stdbool.h>

#define MAX_STRETCH 2.0

/* How far the lattice's shape is from the grid's; 1 is equal. */
static double stretch(int32_t r, int32_t c, s2p_grid grid)
{
    const double ratio = (double)c * grid.rows / ((double)r * grid.cols);
    return ratio < 1.0 ? 1.0 / ratio : ratio;
}

/* The least stretched r x c = budget that fits; of equals the one with fewer rows. */
static bool find_lattice(s2p_grid grid, int32_t budget, int32_t *rows, int32_t *cols)
{
    double best = MAX_STRETCH;
    bool found = false;
    for (int32_t r = 1; r <= grid.rows && r <= budget; r++) {
        const int32_t c = budget / r;
        if (r * c != budget || c > grid.cols) continue;
        const double s = stretch(r, c, grid);
        if (found ? s >= best : s > best) continue;
        best = s;
        *rows = r;
        *cols = c;
        found = true;
    }
    return found;
}

static s2p_status uniform_select(const s2p_view *view, s2p_plan *plan, s2p_error *error)
{
    (void)error;
    s2p_plan_clear(plan);
    const s2p_grid grid = plan->grid;
    int32_t r = 0, c = 0;
    s2p_holes *holes;
    s2p_status st = s2p_holes_make(&holes, view, grid);
    if (st != S2P_OK) return st;
    if (!holes && find_lattice(grid, view->budget, &r, &c)) {
        for (int32_t i = 0; i < r; i++)
            for (int32_t j = 0; j < c; j++)
                plan->order[i * c + j] = (2 * i + 1) * grid.rows / (2 * r) * grid.cols +
                                         (2 * j + 1) * grid.cols / (2 * c);
    } else {
        const s2p_rect all = { 0, 0, grid.rows, grid.cols };
        st = s2p_cells_there(holes, all, view->budget, plan->cell);
        if (st == S2P_OK)
            st = s2p_selector_find("centre")->pick(grid, holes, plan->cell, view->budget, 0,
                                                   plan->order);
    }
    s2p_holes_free(holes);
    return st != S2P_OK ? st : s2p_plan_take(plan, plan->order, view->budget);
}

const s2p_method s2p_method_uniform = {
    .about.name = "uniform",
    .about.title = "Uniform Grid",
    .about.source = "S2Prune, Sec. 3.3",
    .about.n_stages = 1,
    .about.after = { S2P_BEFORE_DECODER },
    .select = uniform_select,
};
