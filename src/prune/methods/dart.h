/* dart.h - the parts of DART that tests call. */
#ifndef S2_PRUNE_DART_H
#define S2_PRUNE_DART_H

#include "prune/method.h"

enum { S2P_DART_PIVOTS = 4 }; /* visual ones; as many of text */

typedef struct s2p_pivots { /* rows of the prompt, each group by descending L1 norm of its key */
    int32_t n_visual, n_text;
    int32_t visual[S2P_DART_PIVOTS], text[S2P_DART_PIVOTS];
} s2p_pivots;

s2p_status s2p_dart_pivots(const s2p_view *view, int32_t n_tokens, s2p_pivots *out,
                           s2p_error *error);

/* The order in which CPython iterates over a set of these: n <= 8 distinct values >= 0. */
void s2p_python_set_order(const int32_t *value, int32_t n, int32_t *out);

#endif /* S2_PRUNE_DART_H */
