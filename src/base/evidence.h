/* evidence.h - evidence against a mean, one observation after another, that counts whenever one stops.
 *
 * A bet against "the mean gain is 0 or less", with a stake fixed before the observation, has no positive
 * expectation. Starting with 1 and putting a share `stake` of the wealth on every observation,
 *
 *     wealth = product of (1 + stake * gain),
 *
 * and whatever the stake, the chance that the wealth ever reaches 1 / alpha is at most alpha (Ville,
 * 1939). So a claim is accepted the first time 1 / alpha is reached, and the number of looks costs
 * nothing. No distribution is assumed and no sample is too small: gains only have to be bounded from
 * below and independent (Waudby-Smith and Ramdas, 2024). The best stake depends on the mean and
 * on the variance, which is unknown: here S2_STAKES players with a stake each share the 1, in proportion to
 * their stakes, and their wealth together is a wealth of the same kind.
 */
#ifndef S2_BASE_EVIDENCE_H
#define S2_BASE_EVIDENCE_H

#include <stddef.h>

#define S2_STAKES 12

typedef struct s2_evidence {
    double stake[S2_STAKES];
    double log_wealth[S2_STAKES];
    double highest; /* logarithm of the largest wealth there was */
} s2_evidence;

/* worst: above 0; no gain is below -worst. */
void s2_evidence_start(s2_evidence *evidence, double worst);

/* The next observation; one below -worst counts as that. */
void s2_evidence_add(s2_evidence *evidence, double gain);

/* The logarithm of the largest wealth so far: the claim holds at alpha when it is at least -log(alpha). */
static inline double s2_evidence_highest(const s2_evidence *evidence) { return evidence->highest; }

/* What it would be after n more observations of `gain`. */
double s2_evidence_after(const s2_evidence *evidence, double gain, size_t n);

#endif /* S2_BASE_EVIDENCE_H */
