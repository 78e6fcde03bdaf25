/* selector_table.c - every local rule, in the order --help prints them. */
#include "prune/scaffold.h"

#include <string.h>

extern const s2p_selector s2p_selector_erc;
extern const s2p_selector s2p_selector_random;
extern const s2p_selector s2p_selector_norm;
extern const s2p_selector s2p_selector_query_all;
extern const s2p_selector s2p_selector_query_last;
extern const s2p_selector s2p_selector_centre;

static const s2p_selector *const selectors[] = {
    &s2p_selector_erc, /* the paper's; NULL stands for it */
    &s2p_selector_random,     &s2p_selector_norm,   &s2p_selector_query_all,
    &s2p_selector_query_last, &s2p_selector_centre,
};
#define N_SELECTORS (sizeof selectors / sizeof *selectors)

const s2p_selector *s2p_selector_find(const char *name)
{
    if (!name) return selectors[0];
    for (size_t i = 0; i < N_SELECTORS; i++)
        if (strcmp(selectors[i]->name, name) == 0) return selectors[i];
    return NULL;
}

const char *s2p_selector_name(size_t index)
{
    return index < N_SELECTORS ? selectors[index]->name : NULL;
}
