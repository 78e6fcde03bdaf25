/* hub.h - a model by its name on a hub: "user/repo" or "user/repo:Q8_0".
 *
 *     look     in the caches other programs keep (hub_cache.c); found: nothing is fetched
 *     list     what the repository has (hub_fetch.c), choose a model and its mmproj (hub_choose.c)
 *     fetch    each into <cache>/models--user--repo/blobs, checked by SHA-256, then linked below
 *              snapshots/<commit>: the layout of huggingface_hub and llama.cpp, shared with both
 */
#ifndef S2_TOOLS_HUB_H
#define S2_TOOLS_HUB_H

#include "options.h"
#include "progress.h"

#define S2_HUB_PATH 4096

typedef struct s2_hub_pair {
    char model[S2_HUB_PATH], mmproj[S2_HUB_PATH];
} s2_hub_pair;

typedef struct s2_hub_wish {
    const char *name; /* "user/repo[:quant]" */
    bool is_offline;
    const char *token;     /* NULL: HF_TOKEN */
    s2_env env;            /* LLAMA_CACHE, HF_HUB_CACHE, HUGGINGFACE_HUB_CACHE, HF_HOME,
                              XDG_CACHE_HOME, HOME; MODEL_ENDPOINT, HF_ENDPOINT, HF_TOKEN */
    s2_progress *progress; /* or NULL */
} s2_hub_wish;

/* S2P_EINVAL: not a name; S2P_EIO: not there, or not to be had; S2P_EFORMAT: what came is not what
 * was promised; S2P_ENOMEM: no memory, or the disk is full. */
s2p_status s2_hub_find(const s2_hub_wish *wish, s2_hub_pair *out, s2p_error *error);

#endif /* S2_TOOLS_HUB_H */
