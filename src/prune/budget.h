/* budget.h - Algorithm S2 with scratch memory from the caller. */
#ifndef S2_PRUNE_BUDGET_H
#define S2_PRUNE_BUDGET_H

#include "s2prune.h"

typedef struct s2p_claim { /* a region's claim to a token left over by the proportional split */
    double remainder;      /* fractional part of the region's share */
    double score;
    int32_t region; /* row-major index, unique, so the order is total */
} s2p_claim;

/* s2p_budget() with scratch: weights and claims are [n]. Allocates nothing. */
s2p_status s2p_budget_into(const double *score, const int32_t *capacity, int32_t n, int32_t budget,
                           int32_t *out, double *weights, s2p_claim *claims);

#endif /* S2_PRUNE_BUDGET_H */
