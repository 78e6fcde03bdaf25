/* permutation.c - patterns of swaps, all of them or many. */
#include "base/permutation.h"

#include "base/random.h"

#include <math.h>
#include <stdlib.h>

/* --- patterns --------------------------------------------------------------------------- */

typedef struct tally {
    const s2_swaps *swaps;
    double least; /* differences of this size count */
    int64_t n_large;
} tally;

static void look(tally *t) { t->n_large += fabs(t->swaps->difference(t->swaps->user)) >= t->least; }

/* Every pattern in the order of the Gray code: one swap from each to the next. The last unit stays:
 * a pattern and its complement have opposite differences, so half of them tells all. */
static double walk_all(tally *t)
{
    const uint32_t n_patterns = 1u << (t->swaps->n - 1);
    look(t);
    for (uint32_t i = 1; i < n_patterns; i++) {
        size_t unit = 0;
        while (!(i >> unit & 1u)) unit++;
        t->swaps->swap(unit, t->swaps->user);
        look(t);
    }
    return (double)t->n_large / n_patterns;
}

static double draw_many(tally *t)
{
    s2_random random = { S2_SWAP_SEED };
    for (int32_t round = 0; round < S2_SWAP_ROUNDS; round++) {
        uint64_t bits = 0;
        for (size_t unit = 0; unit < t->swaps->n; unit++, bits >>= 1) {
            if (unit % 64 == 0) bits = s2_random_next(&random);
            if (bits & 1u) t->swaps->swap(unit, t->swaps->user);
        }
        look(t);
    }
    return (1.0 + (double)t->n_large) / (1.0 + S2_SWAP_ROUNDS);
}

s2_test s2_permute(const s2_swaps *swaps)
{
    const double seen = swaps->difference(swaps->user);
    tally t = { swaps, fabs(seen) - swaps->tolerance, 0 };
    if (isnan(seen)) return (s2_test){ seen, (double)NAN };
    if (swaps->n == 0) return (s2_test){ seen, 1.0 };
    return (s2_test){ seen, swaps->n <= S2_EXACT_SWAPS ? walk_all(&t) : draw_many(&t) };
}

/* --- means ---------------------------------------------------------------------------------- */

typedef struct flipping {
    double *value; /* [n] with its sign of the moment */
    double sum;
} flipping;

static void flip(size_t unit, void *user)
{
    flipping *f = user;
    f->sum -= 2.0 * f->value[unit];
    f->value[unit] = -f->value[unit];
}

static double sum_of(void *user) { return ((const flipping *)user)->sum; }

/* Scores are means over seeds in single precision: what differs by less than this share is equal. */
#define EQUAL 1e-6

s2p_status s2_sign_flips(const double *difference, size_t n, s2_test *out)
{
    flipping f = { malloc((n + 1) * sizeof *f.value), 0.0 };
    if (!f.value) return S2P_ENOMEM;
    s2_swaps swaps = { flip, sum_of, &f, 0, 0.0 };
    double size = 0.0, largest = 0.0;
    for (size_t i = 0; i < n; i++) {
        f.sum += difference[i];
        size += fabs(difference[i]);
        largest = fmax(largest, fabs(difference[i]));
    }
    for (size_t i = 0; i < n; i++)
        if (fabs(difference[i]) > EQUAL * largest) f.value[swaps.n++] = difference[i];
    swaps.tolerance = EQUAL * size;
    *out = s2_permute(&swaps);
    out->statistic = n ? out->statistic / (double)n : (double)NAN;
    free(f.value);
    return S2P_OK;
}

/* --- families -------------------------------------------------------------------------------- */

typedef struct place {
    double p;
    size_t index;
} place;

static int compare_places(const void *a, const void *b)
{
    const place *x = a, *y = b;
    if (x->p != y->p) return x->p < y->p ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

s2p_status s2_holm(const double *p, size_t n, double *out)
{
    place *order = malloc((n + 1) * sizeof *order);
    if (!order) return S2P_ENOMEM;
    size_t n_tests = 0;
    for (size_t i = 0; i < n; i++) {
        out[i] = p[i];
        if (!isnan(p[i])) order[n_tests++] = (place){ p[i], i };
    }
    qsort(order, n_tests, sizeof *order, compare_places);
    double before = 0.0;
    for (size_t k = 0; k < n_tests; k++) {
        before = fmin(1.0, fmax(before, (double)(n_tests - k) * order[k].p));
        out[order[k].index] = before;
    }
    free(order);
    return S2P_OK;
}
