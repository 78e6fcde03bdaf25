/* holes.h - a token grid with missing tokens, which never entered the tower.
 *
 * Regions, cells and zones stay rectangles of the whole grid; what they hold is counted in tokens
 * that are present. Below, NULL always means a grid without holes.
 */
#ifndef S2_PRUNE_HOLES_H
#define S2_PRUNE_HOLES_H

#include "s2prune.h"

#include <stdbool.h>

typedef struct s2p_holes { /* owned arrays */
    s2p_grid grid;
    int32_t *row; /* [tokens] the row of each token in the view; -1: it is missing */
    int32_t *sum; /* [rows + 1][cols + 1] tokens above and to the left */
} s2p_holes;

/* *out is NULL if the view has all tokens of the grid. */
s2p_status s2p_holes_make(s2p_holes **out, const s2p_view *view, s2p_grid grid);
void s2p_holes_free(s2p_holes *holes); /* NULL is fine */

static inline bool s2p_is_there(const s2p_holes *holes, int32_t token)
{
    return !holes || holes->row[token] >= 0;
}

/* How many tokens of a rectangle are present. */
int32_t s2p_count_there(const s2p_holes *holes, s2p_rect rect);

/* Algorithm S3 on them: halve the cell with the most tokens, the first of equal ones; a half with
 * no tokens is cut off and the other one is halved again. Without holes this is s2p_cells(). */
s2p_status s2p_cells_there(const s2p_holes *holes, s2p_rect region, int32_t n_cells,
                           s2p_rect *cells);

#endif /* S2_PRUNE_HOLES_H */
