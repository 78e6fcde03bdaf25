/* method_table.c - every pruning method the project knows, in the order --help prints them. */
#include "prune/method.h"

#include <string.h>

extern const s2p_method s2p_method_full;
extern const s2p_method s2p_method_random;
extern const s2p_method s2p_method_uniform;
extern const s2p_method s2p_method_resize;
extern const s2p_method s2p_method_pool;
extern const s2p_method s2p_method_s2prune;
extern const s2p_method s2p_method_equal_density;
extern const s2p_method s2p_method_erc_top;
extern const s2p_method s2p_method_fastv_top;
extern const s2p_method s2p_method_feather_top;
extern const s2p_method s2p_method_feather_top_8;
extern const s2p_method s2p_method_visionzip_top;
extern const s2p_method s2p_method_fastv;
extern const s2p_method s2p_method_feather;
extern const s2p_method s2p_method_feather_8;
extern const s2p_method s2p_method_feather_full;
extern const s2p_method s2p_method_dart;
extern const s2p_method s2p_method_gprune;
extern const s2p_method s2p_method_visionzip;
extern const s2p_method s2p_method_vispruner;
extern const s2p_method s2p_method_gridprune;
extern const s2p_method s2p_method_holov;
extern const s2p_method s2p_method_cdpruner;
extern const s2p_method s2p_method_divprune;
extern const s2p_method s2p_method_v2drop;
extern const s2p_method s2p_method_euti;
extern const s2p_method s2p_method_sparsevlm;
extern const s2p_method s2p_method_prumerge;

/* clang-format off */
static const s2p_method *const methods[] = {
    &s2p_method_full,
    &s2p_method_random,
    &s2p_method_uniform,
    &s2p_method_resize,
    &s2p_method_pool,
    &s2p_method_s2prune,
    &s2p_method_equal_density,
    &s2p_method_erc_top,
    &s2p_method_fastv_top,
    &s2p_method_feather_top,
    &s2p_method_feather_top_8,
    &s2p_method_visionzip_top,
    &s2p_method_fastv,
    &s2p_method_feather,
    &s2p_method_feather_8,
    &s2p_method_feather_full,
    &s2p_method_dart,
    &s2p_method_gprune,
    &s2p_method_visionzip,
    &s2p_method_vispruner,
    &s2p_method_gridprune,
    &s2p_method_holov,
    &s2p_method_cdpruner,
    &s2p_method_divprune,
    &s2p_method_v2drop,
    &s2p_method_euti,
    &s2p_method_sparsevlm,
    &s2p_method_prumerge,
};
/* clang-format on */
#define N_METHODS (sizeof methods / sizeof *methods)

const s2p_method *s2p_method_at(size_t index) { return index < N_METHODS ? methods[index] : NULL; }

const s2p_method *s2p_method_find(const char *name)
{
    for (size_t i = 0; name && i < N_METHODS; i++)
        if (strcmp(methods[i]->about.name, name) == 0) return methods[i];
    return NULL;
}

const s2p_method_info *s2p_method_about(const s2p_method *method) { return &method->about; }

static const s2p_choice paper = { 0 };

uint32_t s2p_method_needs(const s2p_method *method, const s2p_choice *choice)
{
    if (!method->choice_needs) return method->about.needs;
    return method->about.needs | method->choice_needs(choice ? choice : &paper);
}

int s2p_method_draws(const s2p_method *method, const s2p_choice *choice)
{
    if (method->about.draws || !method->choice_draws) return method->about.draws;
    return method->choice_draws(choice ? choice : &paper);
}

int s2p_method_sees_question(const s2p_method *method, const s2p_choice *choice)
{
    return method->about.sees_question ||
           (s2p_method_needs(method, choice) & S2P_NEED_QUERY_ATTN) != 0;
}
