/* budget.c - split the visual-token budget over the coarse regions.
 *
 * Paper: Sec. 4.1 Eq. 4, App. A.3, Algorithm S2 "Regional Budget Allocation".
 *
 * Every region first gets one token: that is the coverage guarantee. The rest
 * is shared in proportion to the structure scores by largest remainder. A full
 * region drops out and its share goes round again, so each extra round fills at
 * least one more region and there are at most n + 1 rounds.
 *
 * Shares are w / sum(w) * R in double, and the sum runs in the order NumPy adds
 * (pairwise, eight lanes), because the released code does it with NumPy: the
 * last bit of a share can decide a tie.
 */
#include "prune/budget.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#define SUM_LANES 8
#define SUM_BLOCK 128

/* numpy.sum of a contiguous float64 array, bit for bit. */
static double pairwise_sum(const double *x, int32_t n)
{
    if (n < SUM_LANES) {
        double sum = 0.0;
        for (int32_t i = 0; i < n; i++) sum += x[i];
        return sum;
    }
    if (n > SUM_BLOCK) {
        const int32_t half = n / 2 - n / 2 % SUM_LANES;
        return pairwise_sum(x, half) + pairwise_sum(x + half, n - half);
    }
    double lane[SUM_LANES];
    int32_t i = 0;
    for (; i < SUM_LANES; i++) lane[i] = x[i];
    for (; i + SUM_LANES <= n; i += SUM_LANES)
        for (int32_t k = 0; k < SUM_LANES; k++) lane[k] += x[i + k];
    double sum =
        ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
    for (; i < n; i++) sum += x[i];
    return sum;
}

/* Larger remainder, then larger score, then smaller index. */
static bool is_stronger(const s2p_claim *a, const s2p_claim *b)
{
    if (a->remainder != b->remainder) return a->remainder > b->remainder;
    if (a->score != b->score) return a->score > b->score;
    return a->region < b->region;
}

/* Restore the heap below `at`: no claim is weaker than its children. */
static void sift_down(s2p_claim *claims, int32_t n, int32_t at)
{
    for (;;) {
        int32_t top = at;
        for (int32_t child = 2 * at + 1; child <= 2 * at + 2 && child < n; child++)
            if (is_stronger(&claims[child], &claims[top])) top = child;
        if (top == at) return;
        const s2p_claim moved = claims[at];
        claims[at] = claims[top];
        claims[top] = moved;
        at = top;
    }
}

/* One token to each of the strongest claims, until the tokens or the claims run out. A heap instead
 * of qsort: the C library's may allocate, and only `left` claims have to come out in order. */
static int32_t settle_claims(s2p_claim *claims, int32_t n, int32_t left, int32_t *out)
{
    for (int32_t i = n / 2 - 1; i >= 0; i--) sift_down(claims, n, i);
    for (; n > 0 && left > 0; left--) {
        out[claims[0].region]++;
        claims[0] = claims[--n];
        sift_down(claims, n, 0);
    }
    return left;
}

/* One round of Algorithm S2: hand out up to `left` tokens, return what remains. */
static int32_t share_round(const double *score, const int32_t *capacity, int32_t n, int32_t left,
                           int32_t *out, double *weights, s2p_claim *claims)
{
    int32_t n_open = 0, n_claims = 0;
    for (int32_t g = 0; g < n; g++)
        if (out[g] < capacity[g]) weights[n_open++] = score[g];
    double total = pairwise_sum(weights, n_open);
    const bool is_flat = total <= DBL_EPSILON; /* eps_alloc: no structure left to follow */
    if (is_flat) total = n_open;

    const double pot = left; /* every share is taken from the same pot */
    for (int32_t g = 0; g < n; g++) {
        if (out[g] == capacity[g]) continue;
        const double share = (is_flat ? 1.0 : score[g]) / total * pot;
        const double room = capacity[g] - out[g];
        const int32_t whole = (int32_t)fmin(floor(share), room);
        out[g] += whole;
        left -= whole;
        if (out[g] < capacity[g])
            claims[n_claims++] = (s2p_claim){ share - floor(share), score[g], g };
    }
    return settle_claims(claims, n_claims, left, out);
}

s2p_status s2p_budget_into(const double *score, const int32_t *capacity, int32_t n, int32_t budget,
                           int32_t *out, double *weights, s2p_claim *claims)
{
    int64_t tokens = 0;
    for (int32_t g = 0; g < n; g++) {
        if (capacity[g] < 1 || !isfinite(score[g]) || score[g] < 0.0) return S2P_EINVAL;
        tokens += capacity[g];
    }
    if (budget < n || budget > tokens) return S2P_EBUDGET;

    for (int32_t g = 0; g < n; g++) out[g] = 1;
    int32_t left = budget - n;
    while (left > 0) left = share_round(score, capacity, n, left, out, weights, claims);
    return S2P_OK;
}

s2p_status s2p_budget(const double *score, const int32_t *capacity, int32_t n, int32_t budget,
                      int32_t *out)
{
    if (!score || !capacity || !out || n < 1) return S2P_EINVAL;
    double *weights = malloc((size_t)n * sizeof *weights);
    s2p_claim *claims = malloc((size_t)n * sizeof *claims);
    const s2p_status st = weights && claims
                              ? s2p_budget_into(score, capacity, n, budget, out, weights, claims)
                              : S2P_ENOMEM;
    free(claims);
    free(weights);
    return st;
}
