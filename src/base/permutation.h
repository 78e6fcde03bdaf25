/* permutation.h - is a paired difference more than chance?
 *
 * Two settings answered the same pictures. If there is no difference between them, either could have
 * given either answer, so the outcomes of a picture may be swapped, and every pattern of swaps is as
 * likely as what was seen. p is the share of the patterns whose difference is at least as large as
 * the one seen, in either direction. A picture with its questions is swapped as one: questions about
 * one picture are not independent.
 *
 * Up to S2_EXACT_SWAPS units that differ, every pattern is looked at. Beyond, S2_SWAP_ROUNDS patterns
 * are drawn from a fixed seed, and p is (1 + as large) / (1 + rounds): never 0, and valid as it
 * stands (Phipson and Smyth, 2010).
 */
#ifndef S2_BASE_PERMUTATION_H
#define S2_BASE_PERMUTATION_H

#include "base/statistics.h"

#define S2_EXACT_SWAPS 16
#define S2_SWAP_ROUNDS 9999
#define S2_SWAP_SEED 1

typedef struct s2_swaps { /* two settings, and n units whose outcomes differ between them */
    void (*swap)(size_t unit, void *user); /* swapped twice, a unit is as before */
    double (*difference)(void *user);      /* of the settings as they are now */
    void *user;
    size_t n;
    double tolerance; /* differences this close are equal: sums depend on their order */
} s2_swaps;

/* statistic: the difference before any swap; nothing stays as it was. Without units p is 1, without
 * a difference (NAN) it is NAN.
 *
 * The draws are bits of s2_random{ S2_SWAP_SEED }, the lowest first, one for each unit of a round; a
 * round begins with a new number and goes on from the swaps of the round before. */
s2_test s2_permute(const s2_swaps *swaps);

/* The mean of `difference`, [n], one a unit: a swap is a change of its sign. Units without a
 * difference do not matter. Differences and sums that agree in six digits are equal. S2P_ENOMEM. */
s2p_status s2_sign_flips(const double *difference, size_t n, s2_test *out);

/* Holm's step-down correction of a family of n tests: the probability that any test below a threshold
 * is there by chance is at most the threshold. The k-th smallest p, counted from 0, is multiplied by
 * n - k; the results never decrease and are at most 1. A p of NAN is not counted as a test and stays NAN.
 * out may be p. S2P_ENOMEM. */
s2p_status s2_holm(const double *p, size_t n, double *out);

#endif /* S2_BASE_PERMUTATION_H */
