/* plan_bytes.c - one head, then the arrays of the layout, the order of the picks, the merges. */
#include "prune/plan_bytes.h"

#include "prune/scaffold.h"

#include <math.h>
#include <string.h>

typedef struct head { /* a multiple of 8 bytes without gaps */
    int32_t rows, cols, side, budget, n_keep, n_merge, n_blank, n_cells;
    double heterogeneity;
} head;

/* A scaffold's plan has a cell for each token of its budget; others have no layout. */
static head head_of(const s2p_plan *plan)
{
    return (head){ .rows = plan->grid.rows,
                   .cols = plan->grid.cols,
                   .side = plan->side,
                   .budget = plan->budget,
                   .n_keep = plan->n_keep,
                   .n_merge = plan->n_merge,
                   .n_blank = plan->n_blank,
                   .n_cells = plan->side > 0 ? plan->budget : 0,
                   .heterogeneity = plan->heterogeneity };
}

static size_t count_bytes(const head *h)
{
    const size_t regions = (size_t)h->side * (size_t)h->side;
    const size_t n = sizeof *h + (size_t)h->n_merge * sizeof(s2p_merge) +
                     regions * (2 * sizeof(s2p_rect) + 2 * sizeof(float) + sizeof(int32_t)) +
                     (size_t)h->n_cells * sizeof(s2p_rect) + (size_t)h->n_keep * sizeof(int32_t);
    return (n + 7) / 8 * 8;
}

size_t s2p_plan_n_bytes(const s2p_plan *plan)
{
    const head h = head_of(plan);
    return count_bytes(&h);
}

static uint8_t *put(uint8_t *at, const void *data, size_t n, size_t size)
{
    if (n > 0) memcpy(at, data, n * size);
    return at + n * size;
}

void s2p_plan_to_bytes(const s2p_plan *plan, uint8_t *bytes)
{
    const head h = head_of(plan);
    const size_t regions = (size_t)h.side * (size_t)h.side, n = count_bytes(&h);
    memset(bytes + n - 8, 0, 8); /* the last ones may be nobody's */
    uint8_t *at = put(bytes, &h, 1, sizeof h);
    at = put(at, plan->merge, (size_t)h.n_merge, sizeof *plan->merge);
    at = put(at, plan->region, regions, sizeof *plan->region);
    at = put(at, plan->support, regions, sizeof *plan->support);
    at = put(at, plan->raw, regions, sizeof *plan->raw);
    at = put(at, plan->score, regions, sizeof *plan->score);
    at = put(at, plan->share, regions, sizeof *plan->share);
    at = put(at, plan->cell, (size_t)h.n_cells, sizeof *plan->cell);
    (void)put(at, plan->order, (size_t)h.n_keep, sizeof *plan->order);
}

/* --- back ----------------------------------------------------------------------------- */

static bool are_inside(const s2p_rect *rect, int32_t n, int32_t rows, int32_t cols)
{
    for (int32_t i = 0; i < n; i++) {
        const s2p_rect *r = &rect[i];
        if (r->row0 < 0 || r->row0 > r->row1 || r->row1 > rows || r->col0 < 0 ||
            r->col0 > r->col1 || r->col1 > cols)
            return false;
    }
    return true;
}

static bool are_finite(const float *x, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        if (!isfinite(x[i])) return false;
    return true;
}

static bool is_head_right(const head *h, s2p_grid grid, size_t n)
{
    const int32_t n_tokens = s2p_tokens(grid);
    const int32_t most_merges = n_tokens < 4096 ? n_tokens * n_tokens : INT32_MAX / 2;
    return h->rows == grid.rows && h->cols == grid.cols && h->side >= 0 &&
           h->side <= S2P_MAX_SIDE && (int64_t)h->side * h->side <= n_tokens && h->budget >= 0 &&
           h->n_keep >= 0 && h->n_keep <= n_tokens && h->n_blank >= 0 && h->n_blank <= n_tokens &&
           h->n_merge >= 0 && h->n_merge <= most_merges &&
           h->n_cells == (h->side > 0 ? h->budget : 0) && h->n_cells <= n_tokens &&
           isfinite(h->heterogeneity) && count_bytes(h) == n;
}

static const uint8_t *take(const uint8_t *at, void *out, size_t n, size_t size)
{
    if (n > 0) memcpy(out, at, n * size);
    return at + n * size;
}

static s2p_status read_plan(s2p_plan *plan, const uint8_t *bytes, size_t n)
{
    head h;
    if (n < sizeof h) return S2P_EINVAL;
    memcpy(&h, bytes, sizeof h);
    if (!is_head_right(&h, plan->grid, n)) return S2P_EINVAL;
    const int32_t regions = h.side * h.side;
    const uint8_t *merges = bytes + sizeof h;
    const uint8_t *at = merges + (size_t)h.n_merge * sizeof(s2p_merge);
    at = take(at, plan->region, (size_t)regions, sizeof *plan->region);
    at = take(at, plan->support, (size_t)regions, sizeof *plan->support);
    at = take(at, plan->raw, (size_t)regions, sizeof *plan->raw);
    at = take(at, plan->score, (size_t)regions, sizeof *plan->score);
    at = take(at, plan->share, (size_t)regions, sizeof *plan->share);
    at = take(at, plan->cell, (size_t)h.n_cells, sizeof *plan->cell);
    (void)take(at, plan->order, (size_t)h.n_keep, sizeof *plan->order);
    for (int32_t i = 0; i < regions; i++)
        if (plan->share[i] < 0 || plan->share[i] > h.n_cells) return S2P_EINVAL;
    if (!are_inside(plan->region, regions, h.rows, h.cols) ||
        !are_inside(plan->cell, h.n_cells, h.rows, h.cols) ||
        !are_inside(plan->support, regions, INT32_MAX, INT32_MAX) ||
        !are_finite(plan->raw, regions) || !are_finite(plan->score, regions))
        return S2P_EINVAL;
    if (s2p_plan_take(plan, plan->order, h.n_keep) != S2P_OK) return S2P_EINVAL;
    for (int32_t i = 0; i < h.n_merge; i++) {
        s2p_merge m;
        memcpy(&m, merges + (size_t)i * sizeof m, sizeof m);
        const s2p_status st = s2p_plan_merge(plan, m.into, m.from, m.weight);
        if (st != S2P_OK) return st;
    }
    plan->side = h.side;
    plan->budget = h.budget;
    plan->n_blank = h.n_blank;
    plan->heterogeneity = h.heterogeneity;
    return S2P_OK;
}

s2p_status s2p_plan_from_bytes(s2p_plan *plan, const uint8_t *bytes, size_t n)
{
    s2p_plan_clear(plan);
    const s2p_status st = read_plan(plan, bytes, n);
    if (st != S2P_OK) s2p_plan_clear(plan);
    return st;
}
