/* hub_cache.h - the caches people already have. */
#ifndef S2_TOOLS_HUB_CACHE_H
#define S2_TOOLS_HUB_CACHE_H

#include "hub/hub.h"
#include "hub/hub_choose.h"

#define S2_HUB_CACHES 6

typedef struct s2_hub_caches { /* in the order they are looked into; downloads go to the first */
    int32_t n;
    char folder[S2_HUB_CACHES][S2_HUB_PATH];
} s2_hub_caches;

void s2_hub_caches_find(s2_env env, s2_hub_caches *out);

/* The pair as one of the caches holds it; false: not there. */
bool s2_hub_cache_find(const s2_hub_caches *caches, const s2_hub_repo *repo, s2_hub_pair *out);

#endif /* S2_TOOLS_HUB_CACHE_H */
