/* partition.c - cut the token grid into coarse regions and find their pixels.
 *
 * Paper: App. A.1 "Coarse Spatial Partition", A.2 (mapping to the image).
 * Rounding is half to even, as in the released code: 27 tokens in 6 parts
 * give 0 4 9 14 18 22 27. rint() does that; round() does not.
 *
 * The paper gives K for four budgets and no rule. K = rint(2 sqrt(B) / 3) gives
 * those four back (32->4, 64->5, 128->8, 192->9) and is used for the others.
 */
#include "s2prune.h"

#include <math.h>

static int32_t min_side(s2p_grid grid) { return grid.rows < grid.cols ? grid.rows : grid.cols; }

int32_t s2p_coarse_side(s2p_grid grid, int32_t budget)
{
    const int32_t side = (int32_t)rint(2.0 * sqrt((double)(budget > 0 ? budget : 0)) / 3.0);
    const int32_t top = min_side(grid) < side ? min_side(grid) : side;
    return top > 1 ? top : 1;
}

/* The one rounding rule: where part i of `side` begins in [0, n). */
static int32_t edge(int32_t i, int32_t n, int32_t side)
{
    return (int32_t)rint((double)((int64_t)i * n) / (double)side);
}

s2p_status s2p_edges(int32_t n, int32_t side, int32_t *edges)
{
    if (!edges || side < 1 || side > n) return S2P_EINVAL;
    for (int32_t i = 0; i <= side; i++) edges[i] = edge(i, n, side);
    return S2P_OK;
}

s2p_status s2p_partition(s2p_grid grid, int32_t side, s2p_rect *regions)
{
    if (!regions || grid.rows > S2P_MAX_SIDE || grid.cols > S2P_MAX_SIDE) return S2P_EINVAL;
    if (side < 1 || side > min_side(grid)) return S2P_EINVAL;
    for (int32_t r = 0; r < side; r++)
        for (int32_t c = 0; c < side; c++)
            regions[r * side + c] =
                (s2p_rect){ edge(r, grid.rows, side), edge(c, grid.cols, side),
                            edge(r + 1, grid.rows, side), edge(c + 1, grid.cols, side) };
    return S2P_OK;
}

s2p_rect s2p_support(s2p_rect tokens, s2p_grid grid, int32_t width, int32_t height)
{
    const double rows = grid.rows, cols = grid.cols;
    return (s2p_rect){ (int32_t)rint(tokens.row0 * (double)height / rows),
                       (int32_t)rint(tokens.col0 * (double)width / cols),
                       (int32_t)rint(tokens.row1 * (double)height / rows),
                       (int32_t)rint(tokens.col1 * (double)width / cols) };
}
