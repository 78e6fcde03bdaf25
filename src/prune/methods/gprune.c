/* gprune.c - tokens a random walk over alike tokens ends at. G-Prune, AAAI 2025.
 *
 * Tokens are linked where their cosine is 0.5 or more. The norms of the features are handed on five
 * times along the links, weighted by softmax(cosine / 0.03), and divided by the number of links.
 * A zero feature has no link, not even to itself; like in the authors' code it then hands on to
 * everybody and counts n links.
 *
 * softmax over a row = E_ij / sum_j E_ij with E_ij = exp((cosine - 1) / 0.03), which is symmetric:
 * half a table, one exponential a pair, and five products with a vector.
 */
#include "prune/methods/gprune.h"

#include "prune/ranking.h"

#include <math.h>
#include <stdlib.h>

enum { SIM_THRESHOLD, TEMPERATURE, ITERATIONS, N_PARAMETERS };
static const s2p_parameter parameters[N_PARAMETERS] = {
    [SIM_THRESHOLD] = { "sim_threshold", "cosine from which two tokens are linked", 0, 1e-9, 1,
                        0.5 },
    [TEMPERATURE] = { "temperature", "of the softmax over the links", 0, 1e-9, 1e6, 0.03 },
    [ITERATIONS] = { "iterations", "times the norms are handed on", 1, 1, 1000, 5 },
};

/* Cosines to weights, in place; row sums, and links per token. */
static void weigh(const s2p_view *view, int32_t n, double *pair, double *sum, int32_t *degree)
{
    const double threshold = s2p_view_value(view, SIM_THRESHOLD);
    const double temperature = s2p_view_value(view, TEMPERATURE);
    for (int32_t i = 0; i < n; i++) sum[i] = degree[i] = 0;
    for (int32_t i = 0; i < n; i++)
        for (int32_t j = 0; j <= i; j++) {
            double *e = &pair[s2p_pair(i, j)];
            const bool is_linked = *e >= threshold;
            *e = is_linked ? exp((*e - 1.0) / temperature) : 0.0;
            if (!is_linked) continue;
            sum[i] += *e;
            degree[i]++;
            if (i == j) continue;
            sum[j] += *e;
            degree[j]++;
        }
}

/* next = weight . A; a row without links is uniform. */
static void hand_on(const double *pair, const double *sum, int32_t n, const double *weight,
                    double *share, double *next)
{
    double spread = 0.0;
    for (int32_t i = 0; i < n; i++) {
        share[i] = sum[i] > 0.0 ? weight[i] / sum[i] : 0.0;
        if (!(sum[i] > 0.0)) spread += weight[i] / n;
    }
    for (int32_t i = 0; i < n; i++) next[i] = spread;
    for (int32_t i = 0; i < n; i++) {
        const double *row = pair + s2p_pair(i, 0);
        double received = row[i] * share[i];
        for (int32_t j = 0; j < i; j++) {
            received += row[j] * share[j];
            next[j] += row[j] * share[i];
        }
        next[i] += received;
    }
}

s2p_status s2p_gprune_score(const s2p_view *view, int32_t n, double *score, s2p_error *error)
{
    const s2p_signal *feature = &view->signal[S2P_FEATURE];
    double *pair = NULL, *sum = malloc(3 * (size_t)n * sizeof *sum);
    int32_t *degree = malloc((size_t)n * sizeof *degree);
    s2p_status st =
        sum && degree ? s2p_cosines(feature->data, n, feature->shape[1], &pair, error) : S2P_ENOMEM;
    if (st == S2P_OK) {
        double *weight = score, *next = sum + n, *share = sum + 2 * (size_t)n;
        const int32_t rounds = s2p_view_count(view, ITERATIONS);
        weigh(view, n, pair, sum, degree);
        s2p_norms(feature->data, n, feature->shape[1], weight);
        for (int32_t r = 0; r < rounds; r++) {
            hand_on(pair, sum, n, weight, share, next);
            double *swapped = weight;
            weight = next;
            next = swapped;
        }
        for (int32_t i = 0; i < n; i++) score[i] = weight[i] / (degree[i] > 0 ? degree[i] : n);
    }
    free(pair);
    free(degree);
    free(sum);
    return st;
}

static s2p_status gprune_select(const s2p_view *view, s2p_plan *plan, s2p_error *error)
{
    const int32_t n = s2p_view_rows(view, plan);
    double *score = malloc((size_t)n * sizeof *score);
    if (!score) return S2P_ENOMEM;
    s2p_status st = s2p_gprune_score(view, n, score, error);
    if (st == S2P_OK) st = s2p_keep_best(view, plan, score, view->budget);
    free(score);
    return st;
}

const s2p_method s2p_method_gprune = {
    .about.name = "gprune",
    .about.title = "GPrune",
    .about.source = "G-Prune, AAAI 2025",
    .about.needs = S2P_NEED_FEATURE,
    .about.n_stages = 1,
    .about.after = { S2P_BEFORE_DECODER },
    .about.parameters = parameters,
    .about.n_parameters = N_PARAMETERS,
    .select = gprune_select,
};
