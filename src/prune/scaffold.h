/* scaffold.h - what an allocator and a selector are, and the plan they fill.
 *
 * S2Prune is a composition: partition x allocator x cells x selector. The
 * paper's ablations (Sec. 5.5) use another allocator or selector.
 * Each has its own file and a line in the table.
 */
#ifndef S2_PRUNE_SCAFFOLD_H
#define S2_PRUNE_SCAFFOLD_H

#include "prune/budget.h"
#include "prune/holes.h"
#include "prune/refuse.h"
#include "prune/structure.h"

#include <stdbool.h>

struct s2p_plan {
    s2p_grid grid;
    int32_t side, budget, n_keep;
    double heterogeneity;
    s2p_rect *region, *support; /* [side * side]; room for one region per token */
    float *raw, *score;
    int32_t *share;
    s2p_rect *cell;        /* [budget] */
    int32_t *order, *keep; /* [n_keep] */

    const s2p_kernels *kernels; /* chosen when the plan was made */
    s2p_rows rows;
    s2p_moments *moments; /* scratch from here on, [rows * cols] each */
    int32_t *capacity;
    double *wide, *weights;
    s2p_claim *claims;
    float *token_score;

    s2p_merge *merge; /* allocated only by methods that merge */
    int32_t n_merge, merge_capacity, n_blank;
};

typedef struct s2p_allocator {
    const char *name, *source;
    uint32_t needs;
    bool draws; /* reads the seed */
    /* Exactly one of the two: fill plan->raw from the view and let Algorithm S2 split the budget, or
     * fill plan->share directly. */
    s2p_status (*measure)(const s2p_view *view, const s2p_holes *holes, s2p_plan *plan);
    s2p_status (*draw)(int32_t budget, uint64_t seed, s2p_plan *plan);
} s2p_allocator;

typedef struct s2p_selector {
    const char *name, *source;
    uint32_t needs;
    bool draws; /* reads the seed */
    /* Exactly one of the two: score every row of the view and let the first maximum of each cell win,
     * or pick a token of each cell directly. */
    s2p_status (*rate)(const s2p_view *view, int32_t n_rows, float *score);
    s2p_status (*pick)(s2p_grid grid, const s2p_holes *holes, const s2p_rect *cells,
                       int32_t n_cells, uint64_t seed, int32_t *pick);
} s2p_selector;

/* NULL means the paper's choice; returns NULL for an unknown name. */
const s2p_allocator *s2p_allocator_find(const char *name);
const s2p_selector *s2p_selector_find(const char *name);

/* Make `order` the plan's result: n distinct tokens in any order. */
s2p_status s2p_plan_take(s2p_plan *plan, const int32_t *order, int32_t n);

/* Also keep tokens that the plan does not have; merges and blanks are unchanged. */
s2p_status s2p_plan_add(s2p_plan *plan, const int32_t *token, int32_t n);

/* Methods that merge: the row of the kept token `into` also receives weight times the row of
 * `from`, both as they were. `from` may be `into`. Call s2p_plan_take first. */
s2p_status s2p_plan_merge(s2p_plan *plan, int32_t into, int32_t from, double weight);

/* Clear the layout and the merges: the next result does not come from a scaffold. */
void s2p_plan_clear(s2p_plan *plan);

static inline int32_t s2p_tokens(s2p_grid grid) { return grid.rows * grid.cols; }

#endif /* S2_PRUNE_SCAFFOLD_H */
