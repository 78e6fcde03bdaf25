/* compose.c - Algorithm S1: partition, allocator, cells, selector.
 *
 * Paper: App. A, Algorithm S1 "S2Prune". The steps live in their own files; this
 * one only calls them in order.
 *
 * Where tokens never entered the tower (holes.h), structure and its min-max stay those of all
 * regions; a region's capacity is what it has, one without a token gets none, and the budget must
 * reach for one token in each of the others.
 */
#include "prune/scaffold.h"
#include "prune/signals.h"

#include <math.h>
#include <string.h>

/* A.1: regions, their capacities, and their pixels where there is a picture. */
static s2p_status lay_out(const s2p_image *image, const s2p_holes *holes, int32_t side,
                          s2p_plan *plan, s2p_error *error)
{
    const s2p_grid grid = plan->grid;
    const s2p_status st = s2p_partition(grid, side, plan->region);
    if (st != S2P_OK)
        return s2p_refuse(error, st, "a %dx%d grid cannot be cut into %dx%d regions", grid.rows,
                          grid.cols, side, side);
    for (int32_t g = 0; g < side * side; g++) {
        const s2p_rect r = plan->region[g];
        plan->capacity[g] = s2p_count_there(holes, r);
        plan->support[g] =
            image ? s2p_support(r, grid, image->width, image->height) : (s2p_rect){ 0, 0, 0, 0 };
    }
    plan->side = side;
    return S2P_OK;
}

/* Algorithm S2 among the regions that have tokens. */
static s2p_status share_budget(int32_t budget, s2p_plan *plan)
{
    const int32_t n = plan->side * plan->side;
    int32_t *capacity = plan->order, n_open = 0; /* scratch until the selector runs */
    for (int32_t g = 0; g < n; g++) {
        if (plan->capacity[g] == 0) continue;
        capacity[n_open] = plan->capacity[g];
        plan->wide[n_open++] = (double)plan->score[g];
    }
    const s2p_status st = s2p_budget_into(plan->wide, capacity, n_open, budget, plan->share,
                                          plan->weights, plan->claims);
    for (int32_t g = n - 1; g >= 0; g--)
        plan->share[g] = plan->capacity[g] ? plan->share[--n_open] : 0;
    return st;
}

/* A.2-A.3: how many tokens each region gets. */
static s2p_status allocate(const s2p_allocator *allocator, const s2p_view *view,
                           const s2p_holes *holes, s2p_plan *plan, s2p_error *error)
{
    const int32_t n = plan->side * plan->side, budget = view->budget;
    int32_t n_open = 0, n_there = 0;
    for (int32_t g = 0; g < n; g++) {
        n_open += plan->capacity[g] > 0;
        n_there += plan->capacity[g];
    }
    if (budget < n_open || budget > n_there)
        return s2p_refuse(error, S2P_EBUDGET,
                          "budget %d is outside %d (one token per region of a %dx%d grid) to %d "
                          "(all tokens)",
                          budget, n_open, plan->side, plan->side, n_there);
    const uint32_t missing = s2p_view_missing(view, allocator->needs);
    if (missing)
        return s2p_refuse(error, S2P_EINVAL, "allocator '%s' needs %s", allocator->name,
                          s2p_need_text(missing));

    memset(plan->raw, 0, (size_t)n * sizeof *plan->raw);
    memset(plan->score, 0, (size_t)n * sizeof *plan->score);
    if (allocator->draw) return allocator->draw(budget, view->choice.seed, plan);

    s2p_status st = allocator->measure(view, holes, plan);
    if (st == S2P_EUNSUPPORTED)
        return s2p_refuse(
            error, st, "a picture of %dx%d pixels is too small for %dx%d tokens in %dx%d regions",
            view->image->width, view->image->height, plan->grid.rows, plan->grid.cols, plan->side,
            plan->side);
    if (st == S2P_OK) st = s2p_normalise(plan->raw, n, plan->score);
    if (st != S2P_OK)
        return s2p_refuse(error, st, "allocator '%s': %s", allocator->name, s2p_status_text(st));
    return share_budget(budget, plan);
}

/* A.4: one cell per token of the budget, region after region. */
static s2p_status cut_cells(int32_t budget, const s2p_holes *holes, s2p_plan *plan)
{
    s2p_rect *next = plan->cell;
    for (int32_t g = 0; g < plan->side * plan->side; g++) {
        if (plan->share[g] == 0) continue;
        const s2p_status st = s2p_cells_there(holes, plan->region[g], plan->share[g], next);
        if (st != S2P_OK) return st;
        next += plan->share[g];
    }
    plan->budget = budget;
    return S2P_OK;
}

/* As s2p_select, among the tokens that are there; token_score is by row of the view. */
static s2p_status select_there(const s2p_holes *holes, s2p_plan *plan)
{
    const s2p_grid grid = plan->grid;
    for (int32_t i = 0; i < plan->budget; i++) {
        const s2p_rect cell = plan->cell[i];
        int32_t best = -1;
        for (int32_t r = cell.row0; r < cell.row1; r++)
            for (int32_t token = r * grid.cols + cell.col0; token < r * grid.cols + cell.col1;
                 token++) {
                const int32_t row = holes->row[token];
                if (row < 0) continue;
                if (!isfinite(plan->token_score[row])) return S2P_EINVAL;
                if (best < 0 || plan->token_score[row] > plan->token_score[holes->row[best]])
                    best = token;
            }
        plan->order[i] = best;
    }
    return S2P_OK;
}

/* A.5-A.6: one token per cell; nothing when the selector has nothing to look at. */
static s2p_status represent(const s2p_selector *selector, const s2p_view *view,
                            const s2p_holes *holes, s2p_plan *plan, s2p_error *error)
{
    if (s2p_view_missing(view, selector->needs)) return S2P_OK;
    s2p_status st;
    if (selector->pick) {
        st = selector->pick(plan->grid, holes, plan->cell, plan->budget, view->choice.seed,
                            plan->order);
    } else {
        st =
            selector->rate(view, holes ? view->n_alive : s2p_tokens(plan->grid), plan->token_score);
        if (st == S2P_OK && holes)
            st = select_there(holes, plan);
        else if (st == S2P_OK)
            st = s2p_select(plan->grid, plan->cell, plan->budget, plan->token_score, plan->order);
    }
    if (st == S2P_OK) st = s2p_plan_take(plan, plan->order, plan->budget);
    if (st != S2P_OK)
        return s2p_refuse(error, st, "selector '%s': a score is not finite", selector->name);
    return S2P_OK;
}

s2p_status s2p_prune(const s2p_view *view, s2p_plan *plan, s2p_error *error)
{
    if (!view || !plan) return s2p_refuse(error, S2P_EINVAL, "a view and a plan are required");
    const s2p_choice *choice = &view->choice;
    s2p_plan_clear(plan);

    const s2p_allocator *allocator = s2p_allocator_find(choice->allocator);
    if (!allocator)
        return s2p_refuse(error, S2P_EINVAL, "unknown allocator '%.60s'", choice->allocator);
    const s2p_selector *selector = s2p_selector_find(choice->selector);
    if (!selector)
        return s2p_refuse(error, S2P_EINVAL, "unknown selector '%.60s'", choice->selector);
    const int32_t side =
        choice->side != 0 ? choice->side : s2p_coarse_side(plan->grid, view->budget);

    s2p_holes *holes = NULL;
    s2p_status st =
        s2p_view_check_shapes(view, plan, allocator->needs | selector->needs, "s2prune", error);
    if (st == S2P_OK) st = s2p_holes_make(&holes, view, plan->grid);
    if (st == S2P_OK) st = lay_out(view->image, holes, side, plan, error);
    if (st == S2P_OK) st = allocate(allocator, view, holes, plan, error);
    if (st == S2P_OK) st = cut_cells(view->budget, holes, plan);
    if (st == S2P_OK) st = represent(selector, view, holes, plan, error);
    s2p_holes_free(holes);
    if (st != S2P_OK) {
        s2p_plan_clear(plan);
        return st;
    }
    plan->heterogeneity = s2p_heterogeneity(plan->raw, side * side);
    return S2P_OK;
}

s2p_status s2p_s2prune(const s2p_image *image, int32_t budget, int32_t side, const float *erc,
                       s2p_plan *plan)
{
    if (!image || !erc || !plan) return S2P_EINVAL;
    s2p_view view = { .budget = budget, .image = image, .choice = { .side = side } };
    view.signal[S2P_ERC] = (s2p_signal){ erc, { s2p_tokens(plan->grid) } };
    return s2p_prune(&view, plan, NULL);
}
