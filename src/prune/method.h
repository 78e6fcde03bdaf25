/* method.h - what methods share: rows of the view, the budget of a stage, keeping rows.
 *
 * A method is a row of a table and one function that reads a view and
 * fills a plan. It never touches a tensor, a model or the KV cache; the engine applies every plan,
 * for every method, in one place.
 */
#ifndef S2_PRUNE_METHOD_H
#define S2_PRUNE_METHOD_H

#include "prune/scaffold.h"

struct s2p_method {
    s2p_method_info about;
    uint32_t (*choice_needs)(const s2p_choice *choice); /* NULL: about.needs, whatever the choice */
    int (*choice_draws)(const s2p_choice *choice);
    s2p_status (*select)(const s2p_view *view, s2p_plan *plan, s2p_error *error);
    s2p_method_function function; /* instead of `select`: for a method made by the caller */
    void *user;
};

/* A parameter of the method, by its own index. */
static inline double s2p_view_value(const s2p_view *view, int32_t parameter)
{
    return view->parameters->value[parameter];
}

static inline int32_t s2p_view_count(const s2p_view *view, int32_t parameter)
{
    return (int32_t)view->parameters->value[parameter];
}

/* Rows the view has: tokens alive. */
static inline int32_t s2p_view_rows(const s2p_view *view, const s2p_plan *plan)
{
    return view->alive ? view->n_alive : s2p_tokens(plan->grid);
}

/* The token of a row. */
static inline int32_t s2p_view_token(const s2p_view *view, int32_t row)
{
    return view->alive ? view->alive[row] : row;
}

/* Rows to keep after stage view->stage of n_stages if each stage keeps the same share, so that the
 * last one keeps the budget: rint(n (budget / n)^((stage + 1) / n_stages)), n all tokens. */
int32_t s2p_stage_budget(const s2p_view *view, const s2p_plan *plan, int32_t n_stages);

/* Set these rows of the view as the plan's result, in this order. */
s2p_status s2p_keep_rows(const s2p_view *view, s2p_plan *plan, const int32_t *row, int32_t n);

/* The k rows of the highest score, ties to the lower row; S2P_EINVAL when one is not finite. */
s2p_status s2p_keep_best(const s2p_view *view, s2p_plan *plan, const double *score, int32_t k);

/* Help text of a parameter that the engine reads, by its name, for methods that rank by ERC. */
#define S2P_ERC_DEEPSTACK_HELP                                                                    \
    "1: ERC also counts the rows that Qwen3-VL adds after the layer (deepstack), as a port that " \
    "compares the inputs of layers would; 0: only what the layer did"

#endif /* S2_PRUNE_METHOD_H */
