/* prune_object.h - from what a request says about pruning to a setting. */
#ifndef S2_SERVE_PRUNE_OBJECT_H
#define S2_SERVE_PRUNE_OBJECT_H

#include "ask/settings.h"
#include "base/json.h"

typedef struct s2_prune_wish {
    s2a_setting setting;
    bool has_budget; /* the request gave one: the detail of a picture does not count */
    bool wants_tokens, wants_regions, wants_scores;
    int32_t *keep; /* [n_keep] tokens chosen by hand, owned; NULL: the method chooses */
    int32_t n_keep;
} s2_prune_wish;

/* object: checked by the front, or NULL. virtual_name: "s2prune-64", "full", or NULL. *param: the
 * field at fault. seed: of the request, when the object has none. Free *out, whether it worked or not. */
s2p_status s2_prune_wish_read(const json_t *object, const char *virtual_name,
                              const s2a_setting *usual, const uint64_t *seed, s2_prune_wish *out,
                              const char **param, s2p_error *error);

void s2_prune_wish_free(s2_prune_wish *wish);

/* The budget a detail stands for in "low=64,auto=default,high=full": S2P_MAX_TOKENS for full, 0 for
 * the usual one and for words it does not have. */
int32_t s2_detail_budget(const char *map, const char *detail);

#endif /* S2_SERVE_PRUNE_OBJECT_H */
