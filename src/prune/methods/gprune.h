/* gprune.h - the part of G-Prune that tests call. */
#ifndef S2_PRUNE_GPRUNE_H
#define S2_PRUNE_GPRUNE_H

#include "prune/method.h"

/* score: [n] out, of all tokens of the grid. */
s2p_status s2p_gprune_score(const s2p_view *view, int32_t n, double *score, s2p_error *error);

#endif /* S2_PRUNE_GPRUNE_H */
