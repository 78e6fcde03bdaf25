/* select.c - the best token of each cell, and the original order.
 *
 * Paper: Sec. 4.2 Eq. 6, App. A.5-A.6. Within a cell the first maximum in
 * row-major order wins. A score that is not finite has no defined order, so it
 * is refused rather than ranked.
 */
#include "s2prune.h"

#include <math.h>
#include <stdbool.h>

static bool is_inside(s2p_rect cell, s2p_grid grid)
{
    return 0 <= cell.row0 && cell.row0 < cell.row1 && cell.row1 <= grid.rows && 0 <= cell.col0 &&
           cell.col0 < cell.col1 && cell.col1 <= grid.cols;
}

s2p_status s2p_select(s2p_grid grid, const s2p_rect *cells, int32_t n_cells, const float *score,
                      int32_t *pick)
{
    if (!cells || !score || !pick || n_cells < 1) return S2P_EINVAL;
    if (grid.rows < 1 || grid.rows > S2P_MAX_SIDE || grid.cols < 1 || grid.cols > S2P_MAX_SIDE)
        return S2P_EINVAL;
    for (int32_t i = 0; i < n_cells; i++) {
        const s2p_rect cell = cells[i];
        if (!is_inside(cell, grid)) return S2P_EINVAL;
        int32_t best = cell.row0 * grid.cols + cell.col0;
        for (int32_t row = cell.row0; row < cell.row1; row++)
            for (int32_t token = row * grid.cols + cell.col0; token < row * grid.cols + cell.col1;
                 token++) {
                if (!isfinite(score[token])) return S2P_EINVAL;
                if (score[token] > score[best]) best = token;
            }
        pick[i] = best;
    }
    return S2P_OK;
}

/* Restore the heap below `at`: no value is smaller than its children. */
static void sift_down(int32_t *token, int32_t n, int32_t at)
{
    const int32_t moved = token[at];
    for (int32_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && token[child + 1] > token[child]) child++;
        if (token[child] <= moved) break;
        token[at] = token[child];
    }
    token[at] = moved;
}

/* Heap sort: no scratch, no worst case. */
void s2p_sort(int32_t *token, int32_t n)
{
    for (int32_t i = n / 2 - 1; i >= 0; i--) sift_down(token, n, i);
    for (int32_t last = n - 1; last > 0; last--) {
        const int32_t largest = token[0];
        token[0] = token[last];
        token[last] = largest;
        sift_down(token, last, 0);
    }
}
