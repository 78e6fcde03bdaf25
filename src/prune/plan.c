/* plan.c - the rows a method decided to keep, and the memory to decide with.
 *
 * There is never more than one region or cell per token, so one block sized by
 * the token count holds everything, and pruning again allocates nothing. Only the
 * list of merges grows, and only methods that merge have one.
 */
#include "prune/scaffold.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define BYTES_PER_TOKEN                                                                     \
    (3 * sizeof(s2p_rect) + 3 * sizeof(float) + 4 * sizeof(int32_t) + sizeof(s2p_moments) + \
     2 * sizeof(double) + sizeof(s2p_claim))

/* Cut `n` elements of `size` from the block. Largest alignment first keeps every part aligned. */
static void *carve(uint8_t **at, size_t n, size_t size)
{
    void *part = *at;
    *at += n * size;
    return part;
}

s2p_status s2p_plan_create(s2p_plan **out, s2p_grid grid)
{
    if (!out) return S2P_EINVAL;
    *out = NULL;
    if (grid.rows < 1 || grid.rows > S2P_MAX_SIDE || grid.cols < 1 || grid.cols > S2P_MAX_SIDE ||
        grid.rows * grid.cols > S2P_MAX_TOKENS)
        return S2P_EINVAL;
    const size_t n = (size_t)s2p_tokens(grid);
    s2p_plan *plan = calloc(1, sizeof *plan + n * BYTES_PER_TOKEN);
    if (!plan) return S2P_ENOMEM;

    plan->grid = grid;
    plan->kernels = s2p_kernels_choose();
    uint8_t *at = (uint8_t *)(plan + 1);
    plan->claims = carve(&at, n, sizeof *plan->claims); /* 8-byte members first */
    plan->moments = carve(&at, n, sizeof *plan->moments);
    plan->wide = carve(&at, n, sizeof *plan->wide);
    plan->weights = carve(&at, n, sizeof *plan->weights);
    plan->region = carve(&at, n, sizeof *plan->region);
    plan->support = carve(&at, n, sizeof *plan->support);
    plan->cell = carve(&at, n, sizeof *plan->cell);
    plan->raw = carve(&at, n, sizeof *plan->raw);
    plan->score = carve(&at, n, sizeof *plan->score);
    plan->token_score = carve(&at, n, sizeof *plan->token_score);
    plan->share = carve(&at, n, sizeof *plan->share);
    plan->capacity = carve(&at, n, sizeof *plan->capacity);
    plan->order = carve(&at, n, sizeof *plan->order);
    plan->keep = carve(&at, n, sizeof *plan->keep);
    *out = plan;
    return S2P_OK;
}

void s2p_plan_free(s2p_plan *plan)
{
    if (!plan) return;
    s2p_rows_free(&plan->rows);
    free(plan->merge);
    free(plan);
}

void s2p_plan_clear(s2p_plan *plan)
{
    plan->side = plan->budget = plan->n_keep = plan->n_merge = plan->n_blank = 0;
    plan->heterogeneity = 0.0;
}

s2p_status s2p_plan_take(s2p_plan *plan, const int32_t *order, int32_t n)
{
    plan->n_keep = plan->n_merge = plan->n_blank = 0;
    if (n > s2p_tokens(plan->grid)) return S2P_EBUDGET;
    if (order != plan->order) memmove(plan->order, order, (size_t)n * sizeof *order);
    memcpy(plan->keep, plan->order, (size_t)n * sizeof *order);
    s2p_sort(plan->keep, n);
    if (n > 0 && (plan->keep[0] < 0 || plan->keep[n - 1] >= s2p_tokens(plan->grid)))
        return S2P_EINVAL;
    for (int32_t i = 1; i < n; i++)
        if (plan->keep[i - 1] == plan->keep[i]) return S2P_EINVAL; /* twice: a bug in the method */
    plan->n_keep = n;
    return S2P_OK;
}

s2p_status s2p_plan_add(s2p_plan *plan, const int32_t *token, int32_t n)
{
    const int32_t n_merge = plan->n_merge, n_blank = plan->n_blank, n_before = plan->n_keep;
    if (n_before > s2p_tokens(plan->grid) - n) return S2P_EBUDGET;
    memcpy(plan->order + n_before, token, (size_t)n * sizeof *token);
    const s2p_status st = s2p_plan_take(plan, plan->order, n_before + n);
    plan->n_merge = n_merge;
    plan->n_blank = n_blank;
    return st;
}

static bool is_kept(const s2p_plan *plan, int32_t token)
{
    int32_t low = 0, high = plan->n_keep;
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        if (plan->keep[middle] < token)
            low = middle + 1;
        else
            high = middle;
    }
    return low < plan->n_keep && plan->keep[low] == token;
}

s2p_status s2p_plan_merge(s2p_plan *plan, int32_t into, int32_t from, double weight)
{
    if (!is_kept(plan, into) || from < 0 || from >= s2p_tokens(plan->grid) || !isfinite(weight))
        return S2P_EINVAL;
    if (plan->n_merge == plan->merge_capacity) {
        if (plan->merge_capacity > INT32_MAX / 2) return S2P_ELIMIT;
        const int32_t capacity = plan->merge_capacity ? 2 * plan->merge_capacity : 256;
        s2p_merge *grown = realloc(plan->merge, (size_t)capacity * sizeof *grown);
        if (!grown) return S2P_ENOMEM;
        plan->merge = grown;
        plan->merge_capacity = capacity;
    }
    plan->merge[plan->n_merge++] = (s2p_merge){ weight, into, from };
    return S2P_OK;
}

const s2p_merge *s2p_plan_merges(const s2p_plan *plan, int32_t *n_merges)
{
    *n_merges = plan->n_merge;
    return plan->merge;
}

int32_t s2p_plan_blanks(const s2p_plan *plan) { return plan->n_blank; }

const int32_t *s2p_plan_keep(const s2p_plan *plan, int32_t *n_keep)
{
    *n_keep = plan->n_keep;
    return plan->keep;
}

const int32_t *s2p_plan_order(const s2p_plan *plan, int32_t *n_keep)
{
    *n_keep = plan->n_keep;
    return plan->order;
}

s2p_layout s2p_plan_layout(const s2p_plan *plan)
{
    return (s2p_layout){ .grid = plan->grid,
                         .side = plan->side,
                         .budget = plan->budget,
                         .region = plan->region,
                         .support = plan->support,
                         .raw = plan->raw,
                         .score = plan->score,
                         .share = plan->share,
                         .cell = plan->cell,
                         .heterogeneity = plan->heterogeneity };
}
