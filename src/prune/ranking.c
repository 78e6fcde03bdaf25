/* ranking.c - cosines, softmax and the best k, in double and with every tie decided. */
#include "prune/ranking.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LANES 8 /* independent sums, so that the compiler may use vectors without reordering */

double s2p_dot(const float *a, const float *b, int32_t n)
{
    double lane[LANES] = { 0 };
    int32_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int32_t l = 0; l < LANES; l++) lane[l] += (double)a[i + l] * (double)b[i + l];
    for (int32_t l = 0; i < n; i++, l++) lane[l] += (double)a[i] * (double)b[i];
    return ((lane[0] + lane[4]) + (lane[1] + lane[5])) +
           ((lane[2] + lane[6]) + (lane[3] + lane[7]));
}

void s2p_norms(const float *x, int32_t n, int32_t dim, double *norm)
{
    for (int32_t i = 0; i < n; i++) {
        const float *row = x + (ptrdiff_t)i * dim;
        norm[i] = sqrt(s2p_dot(row, row, dim));
    }
}

/* Tiles of rows, so that both sides of the products stay in the cache. */
static void fill_cosines(const float *x, int32_t n, int32_t dim, const double *norm, double *out)
{
    enum { TILE = 16 };
    for (int32_t i0 = 0; i0 < n; i0 += TILE)
        for (int32_t j0 = 0; j0 <= i0; j0 += TILE)
            for (int32_t i = i0; i < n && i < i0 + TILE; i++)
                for (int32_t j = j0; j <= i && j < j0 + TILE; j++)
                    out[s2p_pair(i, j)] = s2p_cosine(x + (ptrdiff_t)i * dim, norm[i],
                                                     x + (ptrdiff_t)j * dim, norm[j], dim);
}

s2p_status s2p_cosines(const float *x, int32_t n, int32_t dim, double **out, s2p_error *error)
{
    *out = NULL;
    const size_t n_pairs = s2p_pair(n, 0);
    if (n_pairs > S2P_MAX_SCRATCH / sizeof **out)
        return s2p_refuse(error, S2P_ELIMIT, "%d tokens are too many to compare every pair", n);
    double *norm = malloc((size_t)n * sizeof *norm);
    *out = malloc(n_pairs * sizeof **out);
    if (!norm || !*out) {
        free(norm);
        free(*out);
        *out = NULL;
        return S2P_ENOMEM;
    }
    s2p_norms(x, n, dim, norm);
    fill_cosines(x, n, dim, norm, *out);
    free(norm);
    return S2P_OK;
}

void s2p_softmax(double *x, int32_t n)
{
    double top = x[0], sum = 0.0;
    for (int32_t i = 1; i < n; i++)
        if (x[i] > top) top = x[i];
    for (int32_t i = 0; i < n; i++) {
        x[i] = exp(x[i] - top);
        sum += x[i];
    }
    for (int32_t i = 0; i < n; i++) x[i] /= sum;
}

void s2p_column_means(const float *x, int32_t n_rows, int32_t n, double *out)
{
    for (int32_t i = 0; i < n; i++) {
        double sum = 0.0;
        for (int32_t r = 0; r < n_rows; r++) sum += (double)x[(ptrdiff_t)r * n + i];
        out[i] = sum / n_rows;
    }
}

s2p_status s2p_head_attention(const s2p_signal *query, const s2p_signal *key, double *out,
                              s2p_error *error)
{
    const int32_t n_heads = query->shape[0], n_kv_heads = key->shape[0];
    const int32_t n = key->shape[1], dim = key->shape[2];
    if (n_heads % n_kv_heads != 0)
        return s2p_refuse(error, S2P_EINVAL, "%d query heads cannot share %d key heads", n_heads,
                          n_kv_heads);
    double *weight = malloc((size_t)n * sizeof *weight);
    if (!weight) return S2P_ENOMEM;
    memset(out, 0, (size_t)n * sizeof *out);
    const int32_t n_shared = n_heads / n_kv_heads;
    for (int32_t h = 0; h < n_heads; h++) {
        const float *q = query->data + (ptrdiff_t)h * dim;
        const float *k = key->data + (ptrdiff_t)(h / n_shared) * n * dim;
        for (int32_t i = 0; i < n; i++)
            weight[i] = s2p_dot(q, k + (ptrdiff_t)i * dim, dim) / sqrt((double)dim);
        s2p_softmax(weight, n);
        for (int32_t i = 0; i < n; i++) out[i] += weight[i] / n_heads;
    }
    free(weight);
    return S2P_OK;
}

s2p_status s2p_relevance(const s2p_view *view, int32_t n, double *out, s2p_error *error)
{
    const s2p_signal *text = &view->signal[S2P_TEXT], *aligned = &view->signal[S2P_ALIGNED];
    const s2p_signal *visual = aligned->data ? aligned : &view->signal[S2P_FEATURE];
    const int32_t n_text = text->shape[0], dim = visual->shape[1];
    if (dim != text->shape[1])
        return s2p_refuse(error, S2P_EINVAL,
                          "visual rows have %d values, embeddings of the question %d", dim,
                          text->shape[1]);
    double *norm = malloc((size_t)n_text * sizeof *norm);
    if (!norm) return S2P_ENOMEM;
    s2p_norms(text->data, n_text, dim, norm);
    for (int32_t i = 0; i < n; i++) {
        const float *row = visual->data + (ptrdiff_t)i * dim;
        const double own = sqrt(s2p_dot(row, row, dim));
        double sum = 0.0;
        for (int32_t m = 0; m < n_text; m++)
            sum += s2p_cosine(row, own, text->data + (ptrdiff_t)m * dim, norm[m], dim);
        out[i] = sum / n_text;
    }
    free(norm);
    return S2P_OK;
}

typedef struct ranked {
    double score;
    int32_t index;
} ranked;

static int compare_ranked(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->score != y->score) return x->score > y->score ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

s2p_status s2p_rank(const double *score, int32_t n, int32_t k, int32_t *out)
{
    if (n < 1) return S2P_OK;
    ranked *list = malloc((size_t)n * sizeof *list);
    if (!list) return S2P_ENOMEM;
    bool finite = true;
    for (int32_t i = 0; i < n; i++) {
        list[i] = (ranked){ score[i], i };
        finite = finite && isfinite(score[i]);
    }
    if (finite) {
        qsort(list, (size_t)n, sizeof *list, compare_ranked);
        for (int32_t i = 0; i < k; i++) out[i] = list[i].index;
    }
    free(list);
    return finite ? S2P_OK : S2P_EINVAL;
}
