/* sparsevlm.c - attention of the question's visual words, the dropped ones clustered. SparseVLM,
 * ICML 2025, first version.
 *
 * Raters are the question tokens that visual tokens point at more than average (softmax of plain
 * dot products of embeddings). After layers 2, 6 and 15 a token's score is the raters' mean
 * attention. Of those dropped the best 30 % (recycle_ratio) are clustered by density peaks and
 * averaged, each cluster in the row of its center. The noise that breaks the authors' ties in
 * density is left out. Published counts are a table for 192, 128 and 64 tokens on average over
 * LLaVA's 32 layers. By default every stage keeps the same share, clusters included, and the last
 * leaves the budget.
 */
#include "prune/methods/sparsevlm.h"

#include "prune/ranking.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TINY 1e-6
enum { STAGES = 3, PER_CLUSTER = 10 };

enum { RECYCLE_RATIO, N_PARAMETERS };
static const s2p_parameter parameters[N_PARAMETERS] = {
    [RECYCLE_RATIO] = { "recycle_ratio", "share of the dropped tokens that is clustered", 0, 1e-9,
                        1, 0.3 },
};

static const struct {
    int32_t budget, keep[STAGES];
} published_counts[] = {
    { 192, { 300, 200, 110 } },
    { 128, { 303, 110, 36 } },
    { 64, { 66, 30, 17 } },
};

/* --- scores ---------------------------------------------------------------------- */

s2p_status s2p_sparsevlm_raters(const s2p_view *view, int32_t n_tokens, int32_t *rater,
                                int32_t *n_raters, s2p_error *error)
{
    const s2p_signal *feature = &view->signal[S2P_FEATURE], *text = &view->signal[S2P_TEXT];
    const int32_t dim = text->shape[1], n_text = text->shape[0];
    const int32_t n_queries = view->signal[S2P_QUERY_ATTN].shape[0];
    if (dim != feature->shape[1] || n_text != n_queries)
        return s2p_refuse(error, S2P_EINVAL,
                          "sparsevlm: %d embeddings of %d values for %d rows of attention and "
                          "features of %d",
                          n_text, dim, n_queries, feature->shape[1]);
    double *points = calloc(2 * (size_t)n_text, sizeof *points);
    if (!points) return S2P_ENOMEM;
    double *row = points + n_text, mean = 0.0;
    for (int32_t i = 0; i < n_tokens; i++) {
        for (int32_t m = 0; m < n_text; m++)
            row[m] =
                s2p_dot(feature->data + (ptrdiff_t)i * dim, text->data + (ptrdiff_t)m * dim, dim);
        s2p_softmax(row, n_text);
        for (int32_t m = 0; m < n_text; m++) points[m] += row[m] / n_tokens;
    }
    for (int32_t m = 0; m < n_text; m++) mean += points[m] / n_text;
    *n_raters = 0;
    for (int32_t m = 0; m < n_text; m++)
        if (points[m] > mean) rater[(*n_raters)++] = m;
    /* Nobody above the average: all are equal, and all are asked. */
    for (int32_t m = 0; *n_raters == 0 && m < n_text; m++) rater[m] = m;
    if (*n_raters == 0) *n_raters = n_text;
    free(points);
    return S2P_OK;
}

s2p_status s2p_sparsevlm_score(const s2p_view *view, int32_t n_tokens, int32_t n_rows,
                               double *score, s2p_error *error)
{
    const float *attn = view->signal[S2P_QUERY_ATTN].data;
    int32_t n_raters = 0, *rater = malloc((size_t)view->signal[S2P_TEXT].shape[0] * sizeof *rater);
    if (!rater) return S2P_ENOMEM;
    const s2p_status st = s2p_sparsevlm_raters(view, n_tokens, rater, &n_raters, error);
    for (int32_t i = 0; st == S2P_OK && i < n_rows; i++) {
        score[i] = 0.0;
        for (int32_t r = 0; r < n_raters; r++)
            score[i] += (double)attn[(ptrdiff_t)rater[r] * n_rows + i] / n_raters;
    }
    free(rater);
    return st;
}

/* --- how many --------------------------------------------------------------------- */

static int32_t recycled_of(const s2p_view *view, int32_t n_dropped)
{
    const int32_t n = (int32_t)(n_dropped * s2p_view_value(view, RECYCLE_RATIO)) + 1;
    return n_dropped > 0 && n > n_dropped ? n_dropped : n;
}
static int32_t clusters_of(int32_t n_recycled) { return n_recycled / PER_CLUSTER + 1; }

/* Tokens to keep and clusters to make of n rows, so that `leave` rows remain. Each token less makes
 * at most one cluster more, so the authors' proportion fits exactly unless `leave` is tiny. */
static void split_exactly(const s2p_view *view, int32_t n, int32_t leave, int32_t *n_keep,
                          int32_t *n_clusters)
{
    for (*n_keep = leave - 1; *n_keep >= 1; --*n_keep) {
        *n_clusters = clusters_of(recycled_of(view, n - *n_keep));
        if (*n_keep + *n_clusters == leave) return;
    }
    *n_clusters = leave / 2;
    *n_keep = leave - *n_clusters;
}

static s2p_status count_rows(const s2p_view *view, s2p_plan *plan, int32_t n, int32_t *n_keep,
                             int32_t *n_clusters, s2p_error *error)
{
    if (view->mode == S2P_MODE_DEFAULT) {
        const int32_t leave = s2p_stage_budget(view, plan, STAGES);
        *n_keep = n;
        *n_clusters = 0;
        if (leave < n) split_exactly(view, n, leave, n_keep, n_clusters);
        return S2P_OK;
    }
    for (size_t i = 0; i < sizeof published_counts / sizeof *published_counts; i++) {
        if (published_counts[i].budget != view->budget) continue;
        const int32_t keep = published_counts[i].keep[view->stage];
        *n_keep = keep < n ? keep : n;
        *n_clusters = keep < n ? clusters_of(recycled_of(view, n - keep)) : 0;
        return S2P_OK;
    }
    return s2p_refuse(error, S2P_EUNSUPPORTED,
                      "sparsevlm as published keeps 192, 128 or 64 tokens, not %d", view->budget);
}

/* --- density peaks ----------------------------------------------------------------- */

typedef struct cluster {
    const int32_t *row; /* [n] rows of the view */
    int32_t n, n_clusters;
    double *distance;                /* [n][n] */
    double *density, *peak, *near;   /* [n] */
    int32_t *centre, *label, *count; /* [n] */
} cluster;

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Euclidean, over the root of the width; returns the largest. */
static double measure(const s2p_signal *hidden, cluster *c)
{
    const int32_t dim = hidden->shape[1];
    double largest = 0.0;
    for (int32_t i = 0; i < c->n; i++)
        for (int32_t j = 0; j < c->n; j++) {
            const float *x = hidden->data + (ptrdiff_t)c->row[i] * dim;
            const float *y = hidden->data + (ptrdiff_t)c->row[j] * dim;
            double squares = 0.0;
            for (int32_t d = 0; j < i && d < dim; d++) {
                const double gap = (double)x[d] - (double)y[d];
                squares += gap * gap;
            }
            const double distance = sqrt(squares) / sqrt((double)dim);
            if (j <= i) c->distance[(ptrdiff_t)i * c->n + j] = distance;
            if (j < i) c->distance[(ptrdiff_t)j * c->n + i] = distance;
            if (j < i && distance > largest) largest = distance;
        }
    return largest;
}

/* exp(-mean squared distance to the nearest n_clusters tokens, itself included). */
static void find_density(cluster *c)
{
    for (int32_t i = 0; i < c->n; i++) {
        double squares = 0.0;
        memcpy(c->near, c->distance + (ptrdiff_t)i * c->n, (size_t)c->n * sizeof *c->near);
        qsort(c->near, (size_t)c->n, sizeof *c->near, compare_doubles);
        for (int32_t k = 0; k < c->n_clusters; k++) squares += c->near[k] * c->near[k];
        c->density[i] = exp(-squares / c->n_clusters);
    }
}

static s2p_status find_centres(cluster *c, double largest)
{
    for (int32_t i = 0; i < c->n; i++) {
        double near = largest;
        for (int32_t j = 0; j < c->n; j++) {
            const double d = c->distance[(ptrdiff_t)i * c->n + j];
            if (c->density[j] > c->density[i] && d < near) near = d;
        }
        c->peak[i] = near * c->density[i];
    }
    return s2p_rank(c->peak, c->n, c->n_clusters, c->centre);
}

/* Each token to its nearest center, the first of equals; a center to itself. */
static void label_tokens(cluster *c)
{
    memset(c->count, 0, (size_t)c->n_clusters * sizeof *c->count);
    for (int32_t i = 0; i < c->n; i++) {
        c->label[i] = 0;
        for (int32_t k = 1; k < c->n_clusters; k++)
            if (c->distance[(ptrdiff_t)c->centre[k] * c->n + i] <
                c->distance[(ptrdiff_t)c->centre[c->label[i]] * c->n + i])
                c->label[i] = k;
    }
    for (int32_t k = 0; k < c->n_clusters; k++) c->label[c->centre[k]] = k;
    for (int32_t i = 0; i < c->n; i++) c->count[c->label[i]]++;
}

/* The average of a cluster, in the row of its center. */
static s2p_status merge_clusters(const s2p_view *view, const cluster *c, s2p_plan *plan)
{
    s2p_status st = S2P_OK;
    for (int32_t i = 0; st == S2P_OK && i < c->n; i++) {
        const int32_t centre = c->centre[c->label[i]];
        const double weight = 1.0 / (c->count[c->label[i]] + TINY);
        st = s2p_plan_merge(plan, s2p_view_token(view, c->row[centre]),
                            s2p_view_token(view, c->row[i]), i == centre ? weight - 1.0 : weight);
    }
    return st;
}

/* --- selection --------------------------------------------------------------------- */

/* rank: the n_keep best rows, then those to recycle; the centers of clusters join the kept. */
static s2p_status recycle(const s2p_view *view, s2p_plan *plan, const int32_t *rank, int32_t n_keep,
                          int32_t n_recycled, int32_t n_clusters)
{
    const size_t n = (size_t)n_recycled;
    if (n > 0 && n > S2P_MAX_SCRATCH / sizeof(double) / n) return S2P_ELIMIT;
    cluster c = { .row = rank + n_keep, .n = n_recycled, .n_clusters = n_clusters };
    double *values = malloc((n + 3) * n * sizeof *values);
    int32_t *lists = malloc((3 * n + (size_t)n_keep + n) * sizeof *lists);
    s2p_status st = values && lists ? S2P_OK : S2P_ENOMEM;
    if (st == S2P_OK) {
        c.distance = values;
        c.density = values + n * n;
        c.peak = c.density + n;
        c.near = c.peak + n;
        c.centre = lists;
        c.label = lists + n;
        c.count = lists + 2 * n;
        const double largest = measure(&view->signal[S2P_HIDDEN], &c);
        find_density(&c);
        st = find_centres(&c, largest);
    }
    if (st == S2P_OK) {
        int32_t *row = lists + 3 * n;
        label_tokens(&c);
        memcpy(row, rank, (size_t)n_keep * sizeof *row);
        for (int32_t k = 0; k < n_clusters; k++) row[n_keep + k] = c.row[c.centre[k]];
        st = s2p_keep_rows(view, plan, row, n_keep + n_clusters);
    }
    if (st == S2P_OK) st = merge_clusters(view, &c, plan);
    free(lists);
    free(values);
    return st;
}

static s2p_status sparsevlm_select(const s2p_view *view, s2p_plan *plan, s2p_error *error)
{
    const int32_t n = s2p_view_rows(view, plan);
    int32_t n_keep = 0, n_clusters = 0;
    s2p_status st = count_rows(view, plan, n, &n_keep, &n_clusters, error);
    if (st != S2P_OK) return st;
    double *score = malloc((size_t)n * sizeof *score);
    int32_t *rank = malloc((size_t)n * sizeof *rank);
    st = score && rank
             ? s2p_sparsevlm_score(view, view->signal[S2P_FEATURE].shape[0], n, score, error)
             : S2P_ENOMEM;
    if (st == S2P_OK) st = s2p_rank(score, n, n, rank);
    int32_t n_recycled = recycled_of(view, n - n_keep);
    if (n_recycled < n_clusters) n_recycled = n_clusters; /* a tiny budget */
    if (st == S2P_OK)
        st = n_clusters > 0 ? recycle(view, plan, rank, n_keep, n_recycled, n_clusters)
                            : s2p_keep_rows(view, plan, rank, n_keep);
    free(rank);
    free(score);
    return st;
}

const s2p_method s2p_method_sparsevlm = {
    .about.name = "sparsevlm",
    .about.title = "SparseVLM",
    .about.source = "SparseVLM, ICML 2025",
    .about.published = "keeps the authors' counts for 192, 128 or 64, plus clusters",
    .about.needs = S2P_NEED_QUERY_ATTN | S2P_NEED_TEXT | S2P_NEED_FEATURE | S2P_NEED_HIDDEN,
    .about.sees_question = true,
    .about.merges = true,
    .about.n_stages = STAGES,
    .about.after = { 2, 6, 15 },
    .about.parameters = parameters,
    .about.n_parameters = N_PARAMETERS,
    .select = sparsevlm_select,
};
