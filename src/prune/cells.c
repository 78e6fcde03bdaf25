/* cells.c - cut one coarse region into as many cells as its budget.
 *
 * Paper: App. A.4, Algorithm S3 "Recursive Cell Partition": halve the largest
 * cell, the earliest of equals, until there are enough. A cell's halves take its
 * place in the list; the paper says only "replace", and appending them would
 * break later ties differently. The released code does it in place too.
 *
 * A half is always smaller than its parent, so all cells of the largest area are
 * halved, from first to last, before any other. One pass per distinct area does
 * the same splits in the same order without searching for each.
 */
#include "s2prune.h"

static int32_t area(s2p_rect r) { return (r.row1 - r.row0) * (r.col1 - r.col0); }

/* The largest area in the list, and how many cells have it. */
static int32_t largest_area(const s2p_rect *cells, int32_t n, int32_t *n_largest)
{
    int32_t largest = 0;
    *n_largest = 0;
    for (int32_t i = 0; i < n; i++) {
        const int32_t a = area(cells[i]);
        if (a > largest) *n_largest = 0;
        if (a >= largest) {
            largest = a;
            ++*n_largest;
        }
    }
    return largest;
}

/* Square cells split along rows; of an odd length the first half is the shorter. */
static void halve(s2p_rect cell, s2p_rect *first, s2p_rect *second)
{
    const int32_t height = cell.row1 - cell.row0, width = cell.col1 - cell.col0;
    *first = *second = cell;
    if (height >= width)
        first->row1 = second->row0 = cell.row0 + height / 2;
    else
        first->col1 = second->col0 = cell.col0 + width / 2;
}

s2p_status s2p_cells(s2p_rect region, int32_t n_cells, s2p_rect *cells)
{
    if (!cells || region.row0 < 0 || region.col0 < 0) return S2P_EINVAL;
    if (region.row0 >= region.row1 || region.col0 >= region.col1) return S2P_EINVAL;
    if (region.row1 - region.row0 > S2P_MAX_SIDE || region.col1 - region.col0 > S2P_MAX_SIDE)
        return S2P_EINVAL;
    if (n_cells < 1 || n_cells > area(region)) return S2P_EBUDGET;

    cells[0] = region;
    for (int32_t n = 1; n < n_cells;) {
        int32_t n_largest;
        const int32_t largest = largest_area(cells, n, &n_largest);
        const int32_t n_halved = n_largest < n_cells - n ? n_largest : n_cells - n;

        /* From the back, so that the list grows in place. */
        int32_t to = n + n_halved, rank = n_largest;
        for (int32_t from = n - 1; to > from + 1; from--) {
            const s2p_rect cell = cells[from];
            if (area(cell) == largest && --rank < n_halved) {
                to -= 2;
                halve(cell, &cells[to], &cells[to + 1]);
            } else {
                cells[--to] = cell;
            }
        }
        n += n_halved;
    }
    return S2P_OK;
}
