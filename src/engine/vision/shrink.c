/* shrink.c - the largest picture whose tokens fit a budget.
 *
 * The sides of the exact picture, sqrt(budget) in the shape of the whole grid, are no whole numbers of
 * tokens. Qwen's own rule rounds both down, which wastes up to a quarter of a budget of 64; ours takes the
 * best of down and up, so that the baseline has all the tokens it may have. A tower of one size shows the
 * whole picture without its tiles if that fits, and cannot do less.
 */
#include "engine/vision/shrink.h"

#include "base/error.h"

#include <math.h>

static int32_t least(int32_t a, int32_t b) { return a < b ? a : b; }

/* How far the shape is from the whole grid's; 0: equal. */
static double stretch(s2p_grid grid, s2p_grid whole)
{
    return fabs(log((double)grid.cols * whole.rows / ((double)grid.rows * whole.cols)));
}

s2p_grid s2v_shrunk_grid(s2p_grid grid, int32_t budget)
{
    const double scale = sqrt(budget / ((double)grid.rows * grid.cols));
    s2p_grid best = { 1, 1 };
    for (int32_t up = 0; up < 4; up++) {
        const int32_t row = (int32_t)floor(grid.rows * scale) + up / 2,
                      col = (int32_t)floor(grid.cols * scale) + up % 2;
        s2p_grid one = { least(row < 1 ? 1 : row, grid.rows), least(col < 1 ? 1 : col, grid.cols) };
        if (one.rows == 1) one.cols = least(one.cols, budget);
        if (one.cols == 1) one.rows = least(one.rows, budget);
        const int64_t n = (int64_t)one.rows * one.cols, most = (int64_t)best.rows * best.cols;
        if (n > budget || n < most) continue;
        if (n > most || stretch(one, grid) < stretch(best, grid) - 1e-9) best = one;
    }
    return best;
}

s2p_status s2v_shrink(const s2v_model *model, const s2v_frame *whole, int32_t budget,
                      s2v_image_options *options, s2p_error *error)
{
    const s2v_tower *tower = &model->tower;
    const s2p_grid grid = whole->part[0].grid;
    if (budget < 1)
        return s2_fail(error, S2P_EBUDGET, "budget %d keeps nothing; the least is 1", budget);
    if (s2v_frame_all_tokens(whole) <= budget) return S2P_OK;
    if (model->arch->any_size) {
        const s2p_grid shrunk = s2v_shrunk_grid(grid, budget);
        options->width = shrunk.cols * tower->patch * tower->merge;
        options->height = shrunk.rows * tower->patch * tower->merge;
        return S2P_OK;
    }
    if (whole->n_parts > 1 && grid.rows * grid.cols <= budget) { /* without its tiles */
        options->framing = S2V_FRAMING_BASE;
        return S2P_OK;
    }
    return s2_fail(
        error, S2P_EUNSUPPORTED,
        "method 'resize' needs a tower that takes smaller pictures; that of %s always makes "
        "%d tokens, and the budget is %d: use another method (in a list: leave resize "
        "out of --methods)",
        model->arch->title, grid.rows * grid.cols, budget);
}
