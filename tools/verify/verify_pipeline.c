/* verify_pipeline.c - a whole selection, step by step, on a picture made from its recipe.
 *
 * The first wrong step is the one reported. Integers must be equal. The golden variances are
 * doubles and ours come from exact integer sums: 1e-12 relative. The golden min-max is in double,
 * ours in float32 as in the released code: 1e-6, and more where the range is small against the
 * values, because a float32 variance carries half a unit in its last place.
 */
#include "verify/synth.h"
#include "verify/checks.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

typedef struct pipeline {
    s2p_grid grid;
    int32_t side, budget, erc_levels;
    int64_t seed, erc_seed;
    s2_image picture;
    float *erc;           /* [tokens] */
    s2p_moments *moments; /* [regions] */
    int32_t *edge;        /* [side + 1] */
    s2p_plan *plan;
} pipeline;

static bool read_case(const json_t *c, pipeline *p, s2_verdict *verdict)
{
    int32_t width, height;
    if (!s2_take_int(c, "img_w", &width, verdict) || !s2_take_int(c, "img_h", &height, verdict) ||
        !s2_take_int(c, "H", &p->grid.rows, verdict) ||
        !s2_take_int(c, "W", &p->grid.cols, verdict) || !s2_take_int(c, "K", &p->side, verdict) ||
        !s2_take_int(c, "B", &p->budget, verdict) || !s2_take_wide(c, "seed", &p->seed, verdict) ||
        !s2_take_wide(c, "erc_seed", &p->erc_seed, verdict) ||
        !s2_take_int(c, "erc_levels", &p->erc_levels, verdict))
        return false;
    const char *kind = s2_json_string(c, "kind");
    s2p_error error = { S2P_OK, "" };
    if (!kind || p->seed < 0 || p->seed > UINT32_MAX || p->erc_seed < 0 ||
        p->erc_seed > UINT32_MAX) {
        s2_malformed(verdict, "'kind' or a seed is not what it should be");
        return false;
    }
    if (s2_synth_picture(kind, (uint32_t)p->seed, width, height, &p->picture, &error) != S2P_OK) {
        s2_malformed(verdict, "%s", error.message);
        return false;
    }
    return true;
}

/* Scores, scratch and the plan; refusals of the library end here. */
static s2p_status prepare_pipeline(pipeline *p)
{
    s2p_status st = s2p_plan_create(&p->plan, p->grid);
    if (st != S2P_OK) return st;
    const int32_t n_tokens = p->grid.rows * p->grid.cols;
    if (p->side < 1 || p->side > p->grid.rows || p->side > p->grid.cols) return S2P_EINVAL;
    p->erc = malloc((size_t)n_tokens * sizeof *p->erc);
    p->moments = calloc((size_t)p->side * (size_t)p->side, sizeof *p->moments);
    p->edge = calloc((size_t)p->side + 1, sizeof *p->edge);
    if (!p->erc || !p->moments || !p->edge) return S2P_ENOMEM;
    s2_synth_erc((uint32_t)p->erc_seed, p->erc_levels, n_tokens, p->erc);
    st = s2p_laplacian(&p->picture.view, p->grid, p->side, p->moments);
    return st == S2P_OK ? s2p_s2prune(&p->picture.view, p->budget, p->side, p->erc, p->plan) : st;
}

/* Edges read back from the rectangles along the first column (rows) or the first row (columns). */
static bool check_edges(const json_t *c, const char *key, const char *step, const pipeline *p,
                        const s2p_rect *rect, bool is_row, s2_verdict *verdict)
{
    s2_ints expected;
    if (!s2_take_ints(c, key, &expected, verdict)) return false;
    for (int32_t i = 0; i < p->side; i++) {
        const s2p_rect r = rect[is_row ? i * p->side : i];
        p->edge[i] = is_row ? r.row0 : r.col0;
        p->edge[i + 1] = is_row ? r.row1 : r.col1;
    }
    const bool same = s2_same_ints(verdict, step, &expected, p->edge, (size_t)p->side + 1);
    free(expected.data);
    return same;
}

static bool check_moments(const json_t *c, const pipeline *p, s2_verdict *verdict)
{
    s2_ints expected;
    if (!s2_take_ints(c, "stat", &expected, verdict)) return false;
    const size_t n = (size_t)p->side * (size_t)p->side;
    bool same = s2_same_number(verdict, "moments", (int64_t)expected.n, (int64_t)(3 * n));
    for (size_t g = 0; g < n && same; g++) {
        const int64_t *e = expected.data + 3 * g;
        const s2p_moments m = p->moments[g];
        same = e[0] == m.count && e[1] == m.sum && e[2] == m.sum_sq;
        if (!same)
            s2_differs(verdict,
                       "moments of region %zu: expected %lld %lld %lld, got %lld %lld %lld", g,
                       (long long)e[0], (long long)e[1], (long long)e[2], (long long)m.count,
                       (long long)m.sum, (long long)m.sum_sq);
    }
    free(expected.data);
    return same;
}

/* Golden doubles `key` against got(g) within tolerance(expected). */
static bool check_scores(const json_t *c, const pipeline *p, s2_verdict *verdict)
{
    s2_reals raw = { NULL, 0 }, norm = { NULL, 0 };
    const s2p_layout layout = s2p_plan_layout(p->plan);
    const size_t n = (size_t)p->side * (size_t)p->side;
    bool same = s2_take_reals(c, "raw", &raw, verdict) && s2_take_reals(c, "norm", &norm, verdict);
    if (same && (raw.n != n || norm.n != n)) {
        s2_malformed(verdict, "%zu variances and %zu scores for %zu regions", raw.n, norm.n, n);
        same = false;
    }
    double low = INFINITY, high = -INFINITY;
    for (size_t g = 0; same && g < n; g++) {
        low = fmin(low, raw.data[g]);
        high = fmax(high, raw.data[g]);
        const double got = s2p_variance(p->moments[g]);
        same = fabs(got - raw.data[g]) <= 1e-12 * fmax(fabs(raw.data[g]), 1e-9);
        if (!same)
            s2_differs(verdict, "variance of region %zu: expected %.17g, got %.17g", g, raw.data[g],
                       got);
    }
    const double tolerance =
        1e-6 + (double)FLT_EPSILON * high / fmax(high - low, (double)FLT_EPSILON);
    for (size_t g = 0; same && g < n; g++) {
        same = fabs((double)layout.score[g] - norm.data[g]) <= tolerance;
        if (!same)
            s2_differs(verdict, "score of region %zu: expected %.9g, got %.9g", g, norm.data[g],
                       (double)layout.score[g]);
    }
    free(raw.data);
    free(norm.data);
    return same;
}

static bool check_ints(const json_t *c, const char *key, const char *step, const int32_t *got,
                       size_t n, s2_verdict *verdict)
{
    s2_ints expected;
    if (!s2_take_ints(c, key, &expected, verdict)) return false;
    const bool same = s2_same_ints(verdict, step, &expected, got, n);
    free(expected.data);
    return same;
}

void s2_check_pipeline(const json_t *c, s2_verdict *verdict)
{
    pipeline p = { .plan = NULL };
    if (!read_case(c, &p, verdict)) return;
    const s2p_status st = prepare_pipeline(&p);
    if (s2_expects_error(c, "sel")) {
        if (st == S2P_OK) s2_differs(verdict, "expected an error, got a result");
    } else if (st != S2P_OK) {
        s2_differs(verdict, "refused: %s", s2p_status_text(st));
    } else {
        const s2p_layout layout = s2p_plan_layout(p.plan);
        const size_t n_regions = (size_t)p.side * (size_t)p.side;
        int32_t n_keep;
        const int32_t *keep = s2p_plan_keep(p.plan, &n_keep);
        (void)(check_edges(c, "rows", "row edges", &p, layout.region, true, verdict) &&
               check_edges(c, "cols", "column edges", &p, layout.region, false, verdict) &&
               check_edges(c, "prow", "pixel rows", &p, layout.support, true, verdict) &&
               check_edges(c, "pcol", "pixel columns", &p, layout.support, false, verdict) &&
               check_moments(c, &p, verdict) && check_scores(c, &p, verdict) &&
               check_ints(c, "budget", "budgets", layout.share, n_regions, verdict) &&
               check_ints(c, "sel", "kept tokens", keep, (size_t)n_keep, verdict));
    }
    s2p_plan_free(p.plan);
    s2_image_free(&p.picture);
    free(p.erc);
    free(p.moments);
    free(p.edge);
}
