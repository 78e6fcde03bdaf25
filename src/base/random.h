/* random.h - small generators whose every bit is specified, so that a seed means the same
 * everywhere. Header only: the pruning library uses it without linking to base.
 */
#ifndef S2_BASE_RANDOM_H
#define S2_BASE_RANDOM_H

#include <stdint.h>

typedef struct s2_random { /* splitmix64: any seed, including 0, is fine */
    uint64_t state;
} s2_random;

static inline uint64_t s2_random_next(s2_random *random)
{
    uint64_t z = random->state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* Uniform in [0, n), n >= 1, without modulo bias. */
static inline uint32_t s2_random_below(s2_random *random, uint32_t n)
{
    const uint32_t reject = (0u - n) % n; /* 2^32 mod n draws would be counted twice */
    uint64_t wide;
    do wide = (s2_random_next(random) >> 32) * n;
    while ((uint32_t)wide < reject);
    return (uint32_t)(wide >> 32);
}

#endif /* S2_BASE_RANDOM_H */
