/* visionzip.c - the tokens the tower attends to, and the rest in a few. VisionZip, CVPR 2025.
 *
 * Dominant tokens are the best by attention. Of the rest, in raster order, every st-th is a target;
 * each other one goes to the target of the most similar key. A target becomes itself plus the mean
 * of its members: a sum, not an average, in the authors' CLIP and Qwen2.5-VL code alike.
 * Split: C = floor(10 B / 64 + 1/2) targets, which gives the authors' 162+30, 108+20 and 54+10.
 * Their Qwen2.5-VL file ships with fixed shares of all tokens, 65 % and 5 %: set the two numbers.
 */
#include "prune/ranking.h"

#include <stdlib.h>

enum { DOMINANT, CONTEXTUAL, N_PARAMETERS };
static const s2p_parameter parameters[N_PARAMETERS] = {
    [DOMINANT] = { "dominant", "tokens kept as they are; if not set what contextual leaves", 1, 1,
                   S2P_MAX_TOKENS, 0 },
    [CONTEXTUAL] = { "contextual", "tokens the rest is merged into; if not set budget / 6.4", 1, 1,
                     S2P_MAX_TOKENS, 0 },
};

typedef struct zip {
    int32_t n, n_dominant, n_target;
    int32_t *order;  /* [n] dominants by rank, then targets in raster order */
    int32_t *rest;   /* [n] what is not dominant, in raster order */
    int32_t *target; /* [n] which target a rest token goes to; -1: none */
    int32_t *count;  /* [n] members of a target */
    double *score, *norm;
} zip;

static s2p_status split_budget(const s2p_view *view, zip *z, s2p_error *error)
{
    const int32_t b = view->budget, given_d = s2p_view_count(view, DOMINANT),
                  given_c = s2p_view_count(view, CONTEXTUAL);
    z->n_target = given_c > 0 ? given_c : (int32_t)(((int64_t)20 * b + 64) / 128);
    z->n_dominant = given_d > 0 ? given_d : b - z->n_target;
    if (z->n_dominant < 0 || z->n_target > z->n - z->n_dominant)
        return s2p_refuse(error, S2P_EBUDGET,
                          "visionzip: %d dominant and %d contextual tokens of %d are not possible",
                          z->n_dominant, z->n_target, z->n);
    if (view->mode == S2P_MODE_DEFAULT && z->n_dominant + z->n_target != b)
        return s2p_refuse(
            error, S2P_EBUDGET,
            "visionzip: %d dominant and %d contextual tokens are not the budget of %d",
            z->n_dominant, z->n_target, b);
    return S2P_OK;
}

/* Fill rest and targets once the dominants are known. */
static void choose_targets(zip *z, int32_t *n_rest)
{
    for (int32_t i = 0; i < z->n; i++) z->target[i] = 0;
    for (int32_t i = 0; i < z->n_dominant; i++) z->target[z->order[i]] = -1;
    *n_rest = 0;
    for (int32_t i = 0; i < z->n; i++)
        if (z->target[i] == 0) z->rest[(*n_rest)++] = i;
    if (z->n_target == 0) return;
    const int32_t step = *n_rest / z->n_target; /* >= 1: there are no more targets than rest */
    for (int32_t t = 0; t < z->n_target; t++) z->order[z->n_dominant + t] = z->rest[t * step];
}

/* The target whose key is most like that of `token`; the first of equals. */
static int32_t nearest(const zip *z, const s2p_signal *key, int32_t token)
{
    const int32_t dim = key->shape[1];
    int32_t best = 0;
    double highest = -2.0;
    for (int32_t c = 0; c < z->n_target; c++) {
        const int32_t other = z->order[z->n_dominant + c];
        const double alike = s2p_cosine(key->data + (ptrdiff_t)token * dim, z->norm[token],
                                        key->data + (ptrdiff_t)other * dim, z->norm[other], dim);
        if (alike > highest) {
            highest = alike;
            best = c;
        }
    }
    return best;
}

static s2p_status merge_rest(const s2p_view *view, zip *z, int32_t n_rest, s2p_plan *plan)
{
    const s2p_signal *key = &view->signal[S2P_VISION_KEY];
    const int32_t *targets = z->order + z->n_dominant;
    if (z->n_target == 0) return S2P_OK;
    s2p_norms(key->data, z->n, key->shape[1], z->norm);
    for (int32_t c = 0; c < z->n_target; c++) {
        z->count[c] = 0;
        z->target[targets[c]] = -1;
    }
    for (int32_t i = 0; i < n_rest; i++) {
        const int32_t token = z->rest[i];
        if (z->target[token] >= 0) z->count[z->target[token] = nearest(z, key, token)]++;
    }
    s2p_status st = S2P_OK;
    for (int32_t i = 0; st == S2P_OK && i < n_rest; i++) {
        const int32_t c = z->target[z->rest[i]];
        if (c >= 0)
            st = s2p_plan_merge(plan, s2p_view_token(view, targets[c]),
                                s2p_view_token(view, z->rest[i]), 1.0 / z->count[c]);
    }
    return st;
}

static s2p_status visionzip_select(const s2p_view *view, s2p_plan *plan, s2p_error *error)
{
    zip z = { .n = s2p_view_rows(view, plan) };
    s2p_status st = split_budget(view, &z, error);
    if (st != S2P_OK) return st;
    const size_t n = (size_t)z.n;
    int32_t *lists = malloc(4 * n * sizeof *lists);
    double *values = malloc(2 * n * sizeof *values);
    if (lists && values) {
        z.order = lists;
        z.rest = lists + n;
        z.target = lists + 2 * n;
        z.count = lists + 3 * n;
        z.score = values;
        z.norm = values + n;
        int32_t n_rest;
        const s2p_signal *attn = &view->signal[S2P_VISION_ATTN];
        s2p_column_means(attn->data, attn->shape[0], z.n, z.score);
        st = s2p_rank(z.score, z.n, z.n_dominant, z.order);
        if (st == S2P_OK) {
            choose_targets(&z, &n_rest);
            st = s2p_keep_rows(view, plan, z.order, z.n_dominant + z.n_target);
        }
        if (st == S2P_OK) st = merge_rest(view, &z, n_rest, plan);
    } else {
        st = S2P_ENOMEM;
    }
    free(values);
    free(lists);
    return st;
}

const s2p_method s2p_method_visionzip = {
    .about.name = "visionzip",
    .about.title = "VisionZip",
    .about.source = "VisionZip, CVPR 2025",
    .about.published = "dominant and contextual may be set to any two numbers",
    .about.needs = S2P_NEED_VISION_ATTN | S2P_NEED_VISION_KEY,
    .about.merges = true,
    .about.n_stages = 1,
    .about.after = { S2P_BEFORE_DECODER },
    .about.parameters = parameters,
    .about.n_parameters = N_PARAMETERS,
    .select = visionzip_select,
};
