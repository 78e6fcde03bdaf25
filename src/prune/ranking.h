/* ranking.h - arithmetic that several published methods share: cosines, softmax, the best k.
 *
 * Inputs are float32, sums are double. The cosine with a zero vector is 0. Of equal scores, the
 * one with the lower index always comes first.
 */
#ifndef S2_PRUNE_RANKING_H
#define S2_PRUNE_RANKING_H

#include "prune/method.h"

#define S2P_MAX_SCRATCH ((size_t)1 << 30) /* maximum bytes of one table over pairs of tokens */

double s2p_dot(const float *a, const float *b, int32_t n);

/* norm[i] = || x[i] ||_2. x: [n][dim]. */
void s2p_norms(const float *x, int32_t n, int32_t dim, double *norm);

static inline double s2p_cosine(const float *a, double norm_a, const float *b, double norm_b,
                                int32_t dim)
{
    const double scale = norm_a * norm_b;
    return scale > 0.0 ? s2p_dot(a, b, dim) / scale : 0.0;
}

/* The cosines of all pairs, a triangle: entry s2p_pair(i, j). The caller frees *out. S2P_ELIMIT
 * beyond S2P_MAX_SCRATCH bytes. */
s2p_status s2p_cosines(const float *x, int32_t n, int32_t dim, double **out, s2p_error *error);

static inline size_t s2p_pair(int32_t i, int32_t j)
{
    const size_t high = (size_t)(i > j ? i : j), low = (size_t)(i > j ? j : i);
    return high * (high + 1) / 2 + low;
}

/* In place. */
void s2p_softmax(double *x, int32_t n);

/* Column means of [n_rows][n]. */
void s2p_column_means(const float *x, int32_t n_rows, int32_t n, double *out);

/* mean over heads of softmax_i(q_h . k_h,i / sqrt(e)) over the keys alone. query: [h][e]. key:
 * [k][n][e], each shared by h / k heads. out: [n]. */
s2p_status s2p_head_attention(const s2p_signal *query, const s2p_signal *key, double *out,
                              s2p_error *error);

/* r_i = mean over the question tokens of cos(visual row i, token). out: [n] of all tokens. */
s2p_status s2p_relevance(const s2p_view *view, int32_t n, double *out, s2p_error *error);

/* The k <= n best in descending order. S2P_EINVAL when a score is not finite. */
s2p_status s2p_rank(const double *score, int32_t n, int32_t k, int32_t *out);

#endif /* S2_PRUNE_RANKING_H */
