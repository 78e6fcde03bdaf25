/* s2prune_method.c - the paper's method, with the allocator and selector of the view's choice. */
#include "prune/method.h"

static s2p_status s2prune_select(const s2p_view *view, s2p_plan *plan, s2p_error *error)
{
    return s2p_prune(view, plan, error);
}

/* An unknown name adds nothing here; s2p_prune refuses it. */
static uint32_t s2prune_needs(const s2p_choice *choice)
{
    const s2p_allocator *allocator = s2p_allocator_find(choice->allocator);
    const s2p_selector *selector = s2p_selector_find(choice->selector);
    return (allocator ? allocator->needs : 0) | (selector ? selector->needs : 0);
}

static int s2prune_draws(const s2p_choice *choice)
{
    const s2p_allocator *allocator = s2p_allocator_find(choice->allocator);
    const s2p_selector *selector = s2p_selector_find(choice->selector);
    return (allocator && allocator->draws) || (selector && selector->draws);
}

static const s2p_parameter parameters[] = {
    { "erc_deepstack", S2P_ERC_DEEPSTACK_HELP, 1, 0, 1, 0 },
};

const s2p_method s2p_method_s2prune = {
    .about.name = "s2prune",
    .about.title = "S²Prune",
    .about.source = "S2Prune",
    .about.reads = S2P_READS_SIDE | S2P_READS_ALLOCATOR | S2P_READS_SELECTOR,
    .choice_needs = s2prune_needs,
    .choice_draws = s2prune_draws,
    .about.prunes_cache = true,
    .about.n_stages = 1,
    .about.after = { 0 },
    .about.n_parameters = 1,
    .about.parameters = parameters,
    .select = s2prune_select,
};
