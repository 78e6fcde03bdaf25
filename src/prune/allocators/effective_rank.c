/* effective_rank.c - structure is the effective rank of the features. Paper: Sec. 5.5 names it.
 *
 * The paper gives no formula. Ours is Roy and Vetterli's: with the singular
 * values s of the region's [tokens][dim] features (not centered) and p = s / sum(s),
 * exp(-sum p ln p), from 1 to the number of tokens. The singular values are the
 * roots of the eigenvalues of the small Gram matrix: Householder to tridiagonal
 * form, then implicit QL without vectors.
 */
#include "prune/scaffold.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#define MAX_QL_STEPS 60 /* per eigenvalue; a handful is normal */

/* Rows of the view that are a region's tokens, in raster order. */
static int32_t list_rows(const s2p_holes *holes, s2p_grid grid, s2p_rect region, int32_t *row)
{
    int32_t n = 0;
    for (int32_t r = region.row0; r < region.row1; r++)
        for (int32_t c = region.col0; c < region.col1; c++) {
            const int32_t token = r * grid.cols + c;
            if (s2p_is_there(holes, token)) row[n++] = holes ? holes->row[token] : token;
        }
    return n;
}

/* a[i][j] = <row i, row j> of the region's tokens. */
static void gram(const s2p_signal *feature, const int32_t *row, int32_t n, double *a)
{
    const int32_t dim = feature->shape[1];
    for (int32_t i = 0; i < n; i++) {
        const float *x = feature->data + (ptrdiff_t)row[i] * dim;
        for (int32_t j = 0; j <= i; j++) {
            const float *y = feature->data + (ptrdiff_t)row[j] * dim;
            double dot = 0.0;
            for (int32_t k = 0; k < dim; k++) dot += (double)x[k] * (double)y[k];
            a[i * n + j] = a[j * n + i] = dot;
        }
    }
}

/* Reflect column k below the diagonal onto its first entry, for k = 0, 1, ...: a becomes
 * tridiagonal with diagonal d[n] and off-diagonal e[n - 1]. v, p: [n] scratch. */
static void tridiagonalise(double *a, int32_t n, double *d, double *e, double *v, double *p)
{
    for (int32_t k = 0; k < n - 1; k++) {
        double norm = 0.0;
        for (int32_t i = k + 1; i < n; i++) norm += a[i * n + k] * a[i * n + k];
        norm = sqrt(norm);
        e[k] = a[(k + 1) * n + k] > 0.0 ? -norm : norm;
        if (norm == 0.0) continue;

        double length = 0.0, along = 0.0;
        for (int32_t i = k + 1; i < n; i++) v[i] = a[i * n + k];
        v[k + 1] -= e[k];
        for (int32_t i = k + 1; i < n; i++) length += v[i] * v[i];
        for (int32_t i = k + 1; i < n; i++) {
            p[i] = 0.0;
            for (int32_t j = k + 1; j < n; j++) p[i] += a[i * n + j] * v[j];
            p[i] *= 2.0 / length;
            along += p[i] * v[i];
        }
        for (int32_t i = k + 1; i < n; i++) p[i] -= along / length * v[i];
        for (int32_t i = k + 1; i < n; i++)
            for (int32_t j = k + 1; j < n; j++) a[i * n + j] -= v[i] * p[j] + p[i] * v[j];
    }
    for (int32_t i = 0; i < n; i++) d[i] = a[i * n + i];
}

/* One implicit QL step on rows [low, high] with the shift of the leading 2x2 block. */
static void ql_step(double *d, double *e, int32_t low, int32_t high)
{
    const double slope = (d[low + 1] - d[low]) / (2.0 * e[low]);
    double g = d[high] - d[low] + e[low] / (slope + copysign(hypot(slope, 1.0), slope));
    double sine = 1.0, cosine = 1.0, shift = 0.0;
    for (int32_t i = high - 1; i >= low; i--) {
        const double f = sine * e[i], b = cosine * e[i];
        const double r = hypot(f, g);
        e[i + 1] = r;
        if (r == 0.0) { /* the matrix fell apart here */
            d[i + 1] -= shift;
            e[high] = 0.0;
            return;
        }
        sine = f / r;
        cosine = g / r;
        const double rest = d[i + 1] - shift;
        const double turn = (d[i] - rest) * sine + 2.0 * cosine * b;
        shift = sine * turn;
        d[i + 1] = rest + shift;
        g = cosine * turn - b;
    }
    d[low] -= shift;
    e[low] = g;
    e[high] = 0.0;
}

/* d: diagonal in, eigenvalues out. e: [n], destroyed. An entry of e counts as zero below the
 * rounding of the largest row: a region of low rank has many eigenvalues that are nothing but that.
 */
static s2p_status eigenvalues(double *d, double *e, int32_t n)
{
    double largest = 0.0;
    e[n - 1] = 0.0;
    for (int32_t i = 0; i < n; i++) largest = fmax(largest, fabs(d[i]) + fabs(e[i]));
    for (int32_t low = 0; low < n; low++) {
        for (int32_t step = 0;; step++) {
            int32_t high = low;
            while (high < n - 1 && fabs(e[high]) > DBL_EPSILON * largest) high++;
            if (high == low) break;
            if (step == MAX_QL_STEPS) return S2P_EINVAL; /* only with values that are not finite */
            ql_step(d, e, low, high);
        }
    }
    return S2P_OK;
}

static double effective_rank(const double *eigenvalue, int32_t n)
{
    double total = 0.0, entropy = 0.0;
    for (int32_t i = 0; i < n; i++) total += sqrt(fmax(eigenvalue[i], 0.0));
    if (total == 0.0) return 1.0; /* all features zero: nothing, in one direction */
    for (int32_t i = 0; i < n; i++) {
        const double p = sqrt(fmax(eigenvalue[i], 0.0)) / total;
        if (p > 0.0) entropy -= p * log(p);
    }
    return exp(entropy);
}

static s2p_status erank_measure(const s2p_view *view, const s2p_holes *holes, s2p_plan *plan)
{
    int32_t most = 0;
    for (int32_t g = 0; g < plan->side * plan->side; g++)
        if (plan->capacity[g] > most) most = plan->capacity[g];
    const size_t n_max = (size_t)most;
    double *a = malloc((n_max * n_max + 4 * n_max) * sizeof *a);
    if (!a) return S2P_ENOMEM;
    double *d = a + n_max * n_max, *e = d + n_max, *v = e + n_max, *p = v + n_max;

    s2p_status st = S2P_OK;
    for (int32_t g = 0; st == S2P_OK && g < plan->side * plan->side; g++) {
        const int32_t n = list_rows(holes, plan->grid, plan->region[g], plan->order); /* scratch */
        if (n == 0) continue; /* a region of holes: raw is zero already */
        gram(&view->signal[S2P_FEATURE], plan->order, n, a);
        tridiagonalise(a, n, d, e, v, p);
        st = eigenvalues(d, e, n);
        plan->raw[g] = (float)effective_rank(d, n);
    }
    free(a);
    return st;
}

const s2p_allocator s2p_allocator_erank = {
    .name = "erank",
    .source = "S2Prune, Sec. 5.5 (Roy and Vetterli 2007)",
    .needs = S2P_NEED_FEATURE,
    .measure = erank_measure,
};
