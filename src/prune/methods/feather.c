/* feather.c - attention of the last prompt token without rotary positions. FEATHER, ICCV 2025.
 *
 * feather and feather-8 are its criterion alone, pruning before layer 3 (the authors' script) and
 * before layer 8 (S2Prune, Fig. 2). feather-full prunes twice: before layer 8 it keeps the best and
 * a lattice of every third row and column, before layer 16 the best of those. Published: 0.3 of the
 * tokens, and 0.09 of what is left. By default both stages keep the same share and the last leaves
 * the budget; a lattice larger than its stage is thinned by the same score.
 */
#include "prune/ranking.h"

#include <stdlib.h>

enum { FULL_STAGES = 2 };

/* The script is given the reduction, 0.7: 1 - 0.7 and its square round unlike 0.3. */
enum { STRIDE, KEEP_RATIO, N_PARAMETERS };
static const s2p_parameter full_parameters[N_PARAMETERS] = {
    [STRIDE] = { "stride", "of the lattice the first stage always keeps", 1, 1, S2P_MAX_SIDE, 3 },
    [KEEP_RATIO] = { "keep_ratio", "published: share of the tokens the first stage keeps", 0, 1e-9,
                     1, 1.0 - 0.7 },
};

static s2p_status scores(const s2p_view *view, int32_t n, double **out, s2p_error *error)
{
    *out = malloc((size_t)n * sizeof **out);
    if (!*out) return S2P_ENOMEM;
    return s2p_head_attention(&view->signal[S2P_LAST_QUERY], &view->signal[S2P_PLAIN_KEY], *out,
                              error);
}

static s2p_status feather_select(const s2p_view *view, s2p_plan *plan, s2p_error *error)
{
    double *score;
    s2p_status st = scores(view, s2p_view_rows(view, plan), &score, error);
    if (st == S2P_OK) st = s2p_keep_best(view, plan, score, view->budget);
    free(score);
    return st;
}

static bool is_on_lattice(const s2p_view *view, s2p_grid grid, int32_t row)
{
    const int32_t stride = s2p_view_count(view, STRIDE);
    const int32_t token = s2p_view_token(view, row);
    return token / grid.cols % stride == 0 && token % grid.cols % stride == 0;
}

/* The lattice first, best first; then the rest, best first. `rank` is re-ordered in place. */
static void lattice_first(const s2p_view *view, s2p_grid grid, int32_t n, int32_t *rank,
                          int32_t *scratch)
{
    int32_t at = 0;
    for (int32_t pass = 0; pass < 2; pass++)
        for (int32_t i = 0; i < n; i++)
            if (is_on_lattice(view, grid, rank[i]) == (pass == 0)) scratch[at++] = rank[i];
    for (int32_t i = 0; i < n; i++) rank[i] = scratch[i];
}

/* The authors' union: the best `k`, then what of the lattice is not among them. */
static int32_t unite(const s2p_view *view, s2p_grid grid, int32_t n, int32_t k, int32_t *rank)
{
    int32_t kept = k;
    for (int32_t i = k; i < n; i++)
        if (is_on_lattice(view, grid, rank[i])) rank[kept++] = rank[i];
    return kept;
}

static s2p_status feather_full_select(const s2p_view *view, s2p_plan *plan, s2p_error *error)
{
    const int32_t n = s2p_view_rows(view, plan);
    const bool is_first = view->stage == 0;
    int32_t *rank = malloc(2 * (size_t)n * sizeof *rank);
    double *score = NULL;
    s2p_status st = rank ? scores(view, n, &score, error) : S2P_ENOMEM;
    if (st == S2P_OK) st = s2p_rank(score, n, n, rank);
    if (st == S2P_OK && view->mode == S2P_MODE_PUBLISHED) {
        const double ratio = 1.0 - (1.0 - s2p_view_value(view, KEEP_RATIO));
        int32_t k = (int32_t)(n * (is_first ? ratio : ratio * ratio));
        if (is_first) k = unite(view, plan->grid, n, k, rank);
        st = s2p_keep_rows(view, plan, rank, k > 0 ? k : 1);
    } else if (st == S2P_OK) {
        if (is_first) lattice_first(view, plan->grid, n, rank, rank + n);
        st = s2p_keep_rows(view, plan, rank, s2p_stage_budget(view, plan, FULL_STAGES));
    }
    free(score);
    free(rank);
    return st;
}

const s2p_method s2p_method_feather = {
    .about.name = "feather",
    .about.title = "FEATHER (no RoPE, L3)",
    .about.source = "FEATHER, ICCV 2025: attention without RoPE, layer 3",
    .about.needs = S2P_NEED_LAST_QUERY | S2P_NEED_PLAIN_KEY,
    .about.sees_question = true,
    .about.n_stages = 1,
    .about.after = { 2 },
    .select = feather_select,
};

const s2p_method s2p_method_feather_8 = {
    .about.name = "feather-8",
    .about.title = "FEATHER (no RoPE, L8)",
    .about.source = "FEATHER, ICCV 2025: attention without RoPE, layer 8",
    .about.needs = S2P_NEED_LAST_QUERY | S2P_NEED_PLAIN_KEY,
    .about.sees_question = true,
    .about.n_stages = 1,
    .about.after = { 7 },
    .select = feather_select,
};

const s2p_method s2p_method_feather_full = {
    .about.name = "feather-full",
    .about.title = "FEATHER",
    .about.source = "FEATHER, ICCV 2025: with a lattice, layers 8 and 16",
    .about.published =
        "keeps 0.3 of the tokens and the lattice, then 0.09 of those, whatever the budget",
    .about.needs = S2P_NEED_LAST_QUERY | S2P_NEED_PLAIN_KEY,
    .about.sees_question = true,
    .about.n_stages = FULL_STAGES,
    .about.after = { 7, 15 },
    .about.parameters = full_parameters,
    .about.n_parameters = N_PARAMETERS,
    .select = feather_full_select,
};
