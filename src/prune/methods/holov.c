/* holov.c - quotas for runs of the sequence, attention inside. HoloV, NeurIPS 2025.
 *
 * The tokens are cut into P runs (bands of rows, not tiles). A run's quota follows its attention
 * and the variance of cosines between its tokens; inside, attention alone decides. A quota larger
 * than its run is lost in the authors' code, which pads with rows of zeros. By default the loss
 * goes round again, one token a run, strongest first. Their port lists attention in window order
 * and starts the picture one row early; those two mistakes are in no mode.
 */
#include "prune/ranking.h"

#include <math.h>
#include <stdlib.h>

#define TINY 1e-6
#define ATTENTION_SCALE 1000.0

enum { NUM_CROPS, ALPHA, BETA, N_PARAMETERS };
static const s2p_parameter parameters[N_PARAMETERS] = {
    [NUM_CROPS] = { "num_crops",
                    "runs the sequence is cut into; if not set 1024/576 of tokens / "
                    "budget",
                    1, 1, S2P_MAX_TOKENS, 0 },
    [ALPHA] = { "alpha", "weight of a run's attention", 0, 1e-9, 1e6, 1.0 },
    [BETA] = { "beta", "weight of a run's variety", 0, 1e-9, 1e6, 0.09 },
};

typedef struct crop {
    int32_t first, n, quota;
    double weight;
} crop;

/* For each token of a run the variance of its cosines with all of it, its own set to zero:
 * sum (c - m)^2 / (n - 1) with m = sum c / (n - 1), from sums so that each pair is looked at once.
 * scratch: [2 n]. */
static void variety(const float *x, int32_t n, int32_t dim, double *scratch, double *out)
{
    double *norm = scratch, *sum = scratch + n, *squares = out;
    s2p_norms(x, n, dim, norm);
    for (int32_t i = 0; i < n; i++) sum[i] = squares[i] = 0.0;
    for (int32_t i = 1; i < n; i++)
        for (int32_t j = 0; j < i; j++) {
            const double cosine = s2p_dot(x + (ptrdiff_t)i * dim, x + (ptrdiff_t)j * dim, dim) /
                                  ((norm[i] + TINY) * (norm[j] + TINY));
            sum[i] += cosine;
            sum[j] += cosine;
            squares[i] += cosine * cosine;
            squares[j] += cosine * cosine;
        }
    for (int32_t i = 0; i < n; i++) {
        const double mean = sum[i] / (n - 1);
        out[i] = fmax(squares[i] - 2.0 * mean * sum[i] + n * mean * mean, 0.0) / (n - 1);
    }
}

/* The score of one run; scratch: [3 n]. */
static double rate_crop(const s2p_view *view, const crop *c, const double *attn, double *scratch)
{
    const s2p_signal *feature = &view->signal[S2P_FEATURE];
    const int32_t dim = feature->shape[1];
    const double alpha = s2p_view_value(view, ALPHA), beta = s2p_view_value(view, BETA);
    if (c->n == 1) return attn[c->first];
    double *varied = scratch, attention = 0.0, total = 0.0;
    variety(feature->data + (ptrdiff_t)c->first * dim, c->n, dim, scratch + c->n, varied);
    for (int32_t i = 0; i < c->n; i++) {
        attention += ATTENTION_SCALE * attn[c->first + i] / c->n;
        total += varied[i] / c->n;
    }
    return alpha * attention + beta * total * (attention / (total + TINY));
}

/* floor(w B) in float32, as the authors', then one more to the strongest. */
static s2p_status set_quotas(crop *crops, int32_t n_crops, int32_t budget, const double *weight,
                             int32_t *rank)
{
    int32_t left = budget;
    for (int32_t c = 0; c < n_crops; c++) {
        crops[c].quota = (int32_t)floorf((float)(weight[c] * budget));
        left -= crops[c].quota;
    }
    const s2p_status st = s2p_rank(weight, n_crops, n_crops, rank);
    for (int32_t i = 0; st == S2P_OK && i < n_crops && left > 0; i++, left--)
        crops[rank[i]].quota++;
    return st;
}

/* What a full run cannot take goes to the others. */
static void redistribute(crop *crops, int32_t n_crops, int32_t budget, const int32_t *rank)
{
    int32_t left = budget;
    for (int32_t c = 0; c < n_crops; c++) {
        if (crops[c].quota > crops[c].n) crops[c].quota = crops[c].n;
        left -= crops[c].quota;
    }
    while (left > 0)
        for (int32_t i = 0; i < n_crops && left > 0; i++)
            if (crops[rank[i]].quota < crops[rank[i]].n) {
                crops[rank[i]].quota++;
                left--;
            }
}

/* Run after run, by descending attention; a run kept whole stays in raster order. */
static s2p_status fill_crops(const crop *crops, int32_t n_crops, const double *attn, int32_t budget,
                             int32_t *rank, int32_t *order, int32_t *n_kept)
{
    for (int32_t c = 0; c < n_crops; c++) {
        const bool is_whole = crops[c].quota >= crops[c].n;
        const int32_t n = is_whole ? crops[c].n : crops[c].quota;
        const s2p_status st =
            is_whole ? S2P_OK : s2p_rank(attn + crops[c].first, crops[c].n, n, rank);
        if (st != S2P_OK) return st;
        for (int32_t i = 0; i < n && *n_kept < budget; i++)
            order[(*n_kept)++] = crops[c].first + (is_whole ? i : rank[i]);
    }
    return S2P_OK;
}

static s2p_status select_in(const s2p_view *view, s2p_plan *plan, int32_t n, crop *crops,
                            int32_t n_crops, double *attn, int32_t *order)
{
    double *weight = attn + n, *scratch = attn + 2 * (ptrdiff_t)n, total = 0.0;
    int32_t *rank = order + n, n_kept = 0;
    for (int32_t c = 0, first = 0; c < n_crops; c++) {
        crops[c] = (crop){ .first = first, .n = n / n_crops + (c < n % n_crops) };
        first += crops[c].n;
        weight[c] = rate_crop(view, &crops[c], attn, scratch);
        total += weight[c];
    }
    for (int32_t c = 0; c < n_crops; c++) weight[c] /= total + TINY;
    s2p_status st = set_quotas(crops, n_crops, view->budget, weight, rank);
    if (st != S2P_OK) return st;
    if (view->mode == S2P_MODE_DEFAULT) redistribute(crops, n_crops, view->budget, rank);
    st = fill_crops(crops, n_crops, attn, view->budget, rank, order, &n_kept);
    if (st == S2P_OK) st = s2p_keep_rows(view, plan, order, n_kept);
    plan->n_blank = st == S2P_OK ? view->budget - n_kept : 0;
    return st;
}

static s2p_status holov_select(const s2p_view *view, s2p_plan *plan, s2p_error *error)
{
    const int32_t n = s2p_view_rows(view, plan), given = s2p_view_count(view, NUM_CROPS);
    const double rule = floor(1024.0 / 576.0 * n / view->budget);
    int32_t n_crops = given > 0 ? given : rule < 1.0 ? 1 : (int32_t)fmin(rule, n);
    if (n_crops > n)
        return s2p_refuse(error, S2P_EINVAL, "holov: %d tokens cannot be cut into %d runs", n,
                          n_crops);
    int32_t *lists = malloc(2 * (size_t)n * sizeof *lists);
    double *values = malloc(5 * (size_t)n * sizeof *values);
    crop *crops = malloc((size_t)n_crops * sizeof *crops);
    s2p_status st = lists && values && crops ? S2P_OK : S2P_ENOMEM;
    const s2p_signal *attn = &view->signal[S2P_VISION_ATTN];
    if (st == S2P_OK) s2p_column_means(attn->data, attn->shape[0], n, values);
    for (int32_t i = 0; st == S2P_OK && i < n; i++)
        if (values[i] < 0.0)
            st = s2p_refuse(error, S2P_EINVAL, "holov: attention of token %d is below zero", i);
    if (st == S2P_OK) st = select_in(view, plan, n, crops, n_crops, values, lists);
    free(crops);
    free(values);
    free(lists);
    return st;
}

const s2p_method s2p_method_holov = {
    .about.name = "holov",
    .about.title = "HoloV",
    .about.source = "HoloV, NeurIPS 2025",
    .about.published = "a quota beyond its run is lost: fewer tokens, and rows of zeros instead",
    .about.needs = S2P_NEED_VISION_ATTN | S2P_NEED_FEATURE,
    .about.as_picked = true,
    .about.n_stages = 1,
    .about.after = { S2P_BEFORE_DECODER },
    .about.parameters = parameters,
    .about.n_parameters = N_PARAMETERS,
    .select = holov_select,
};
