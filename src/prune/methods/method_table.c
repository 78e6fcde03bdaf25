/* method_table.c - every pruning method the project knows, in the order --help prints them. */
#include "prune/method.h"

#include <string.h>

extern const s2p_method method_full;
extern const s2p_method method_random;
extern const s2p_method method_uniform;
extern const s2p_method method_s2prune;
extern const s2p_method method_equal_density;

static const s2p_method *const methods[] = {
    &method_full, &method_random, &method_uniform, &method_s2prune, &method_equal_density,
};
#define N_METHODS (sizeof methods / sizeof *methods)

const s2p_method *s2p_method_at(size_t index) { return index < N_METHODS ? methods[index] : NULL; }

const s2p_method *s2p_method_find(const char *name)
{
    for (size_t i = 0; i < N_METHODS; i++)
        if (strcmp(methods[i]->name, name) == 0) return methods[i];
    return NULL;
}

uint32_t s2p_method_needs(const s2p_method *method, const s2p_choice *choice)
{
    uint32_t needs = method->needs;
    if (method != &method_s2prune) return needs;
    const s2p_allocator *allocator = s2p_allocator_find(choice->allocator);
    const s2p_selector *selector = s2p_selector_find(choice->selector);
    if (allocator) needs |= allocator->needs;
    if (selector) needs |= selector->needs;
    return needs;
}

s2p_status s2p_method_run(const s2p_method *method, const s2p_view *view, s2p_plan *plan,
                          s2p_error *error)
{
    if (view->budget < 1)
        return s2p_refuse(error, S2P_EBUDGET, "budget %d keeps nothing; the least is 1",
                          view->budget);
    if (view->budget >= s2p_tokens(plan->grid)) method = &method_full;
    const uint32_t missing =
        s2p_missing_signals(&view->signals, s2p_method_needs(method, &view->choice));
    if (missing)
        return s2p_refuse(error, S2P_EINVAL, "method '%s' needs %s", method->name,
                          s2p_need_text(missing));
    return method->select(view, plan, error);
}
