/* draws.h - the draws of Python's random.choice, which the official MMMU scorer makes. */
#ifndef S2_EVAL_SCORING_DRAWS_H
#define S2_EVAL_SCORING_DRAWS_H

#include <stdint.h>

typedef struct s2e_draws { /* MT19937 */
    uint32_t state[624];
    int32_t next;
} s2e_draws;

/* As random.seed(seed). */
void s2e_draws_start(s2e_draws *draws, uint32_t seed);

/* The index random.choice takes of n, n >= 1. */
uint32_t s2e_draws_below(s2e_draws *draws, uint32_t n);

#endif /* S2_EVAL_SCORING_DRAWS_H */
