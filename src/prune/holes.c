/* holes.c - count tokens that are there, and cut regions so that no cell is without one.
 *
 * The paper knows full grids only. Ours for Algorithm S3: area becomes the number of tokens that are
 * there. A cell is still halved across its longer side at the middle of its area; where one half
 * would be empty, the cell shrinks to the other half and is halved again. So every cell keeps a
 * token, their number is the budget, and a full grid gives the paper's cells.
 */
#include "prune/holes.h"

#include <stdlib.h>

s2p_status s2p_holes_make(s2p_holes **out, const s2p_view *view, s2p_grid grid)
{
    const size_t n = (size_t)grid.rows * (size_t)grid.cols;
    const size_t n_sums = ((size_t)grid.rows + 1) * ((size_t)grid.cols + 1);
    *out = NULL;
    if (!view->alive || (size_t)view->n_alive == n) return S2P_OK;
    if (view->n_alive < 1 || (size_t)view->n_alive > n) return S2P_EINVAL;
    for (int32_t i = 0; i < view->n_alive; i++)
        if (view->alive[i] < (i ? view->alive[i - 1] + 1 : 0) || (size_t)view->alive[i] >= n)
            return S2P_EINVAL;
    s2p_holes *holes = malloc(sizeof *holes);
    int32_t *lists = malloc((n + n_sums) * sizeof *lists);
    if (!holes || !lists) {
        free(holes);
        free(lists);
        return S2P_ENOMEM;
    }
    *holes = (s2p_holes){ .grid = grid, .row = lists, .sum = lists + n };
    for (size_t t = 0; t < n; t++) holes->row[t] = -1;
    for (int32_t i = 0; i < view->n_alive; i++) holes->row[view->alive[i]] = i;
    const ptrdiff_t pitch = grid.cols + 1;
    for (size_t i = 0; i < n_sums; i++) holes->sum[i] = 0;
    for (int32_t r = 0; r < grid.rows; r++)
        for (int32_t c = 0; c < grid.cols; c++) {
            int32_t *at = holes->sum + (r + 1) * pitch + c + 1;
            *at = at[-1] + at[-pitch] - at[-pitch - 1] + (holes->row[r * grid.cols + c] >= 0);
        }
    *out = holes;
    return S2P_OK;
}

void s2p_holes_free(s2p_holes *holes)
{
    if (holes) free(holes->row);
    free(holes);
}

int32_t s2p_count_there(const s2p_holes *holes, s2p_rect r)
{
    if (!holes) return (r.row1 - r.row0) * (r.col1 - r.col0);
    const ptrdiff_t pitch = holes->grid.cols + 1;
    const int32_t *top = holes->sum + r.row0 * pitch, *bottom = holes->sum + r.row1 * pitch;
    return bottom[r.col1] - bottom[r.col0] - top[r.col1] + top[r.col0];
}

/* Halves of a cell with two tokens or more, none of them empty. */
static void halve(const s2p_holes *holes, s2p_rect cell, s2p_rect *first, s2p_rect *second)
{
    for (;;) {
        const int32_t height = cell.row1 - cell.row0, width = cell.col1 - cell.col0;
        *first = *second = cell;
        if (height >= width)
            first->row1 = second->row0 = cell.row0 + height / 2;
        else
            first->col1 = second->col0 = cell.col0 + width / 2;
        const int32_t in_first = s2p_count_there(holes, *first);
        if (in_first > 0 && in_first < s2p_count_there(holes, cell)) return;
        cell = in_first > 0 ? *first : *second;
    }
}

s2p_status s2p_cells_there(const s2p_holes *holes, s2p_rect region, int32_t n_cells,
                           s2p_rect *cells)
{
    if (!holes) return s2p_cells(region, n_cells, cells);
    if (n_cells < 1 || n_cells > s2p_count_there(holes, region)) return S2P_EBUDGET;
    cells[0] = region;
    for (int32_t n = 1; n < n_cells; n++) {
        int32_t best = 0, most = 0;
        for (int32_t i = 0; i < n; i++) {
            const int32_t count = s2p_count_there(holes, cells[i]);
            if (count > most) {
                most = count;
                best = i;
            }
        }
        s2p_rect first, second;
        halve(holes, cells[best], &first, &second);
        for (int32_t i = n; i > best + 1; i--) cells[i] = cells[i - 1];
        cells[best] = first;
        cells[best + 1] = second;
    }
    return S2P_OK;
}
