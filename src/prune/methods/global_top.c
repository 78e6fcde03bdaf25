/* global_top.c - other methods' scores under one rule: the B highest of the whole picture.
 *
 * S2Prune, Sec. 3.2 and Fig. 2, varies the score and holds everything else: the input, the budget and
 * the global ranking. erc-top (early_change.c) ranks by ERC; here are
 *
 *     fastv-top                      attention of the last prompt token in layer 1
 *     feather-top, feather-top-8     the same without RoPE, before layers 3 and 8
 *     visionzip-top                  attention received in the tower's last block
 *
 * Nothing is merged, no mode changes them, and equal scores go to the lower token. FastV and
 * FEATHER's criterion alone already are such rankings: the names here say so, and stay what they are
 * when fastv or feather follow their authors further. VisionZip's ranking is only its dominant
 * tokens, with the whole budget; none is left for contextual tokens.
 */
#include "prune/ranking.h"

#include <stdlib.h>

/* score: [n] rows of the view. */
typedef s2p_status (*score_function)(const s2p_view *view, int32_t n, double *score,
                                     s2p_error *error);

static s2p_status keep_top(const s2p_view *view, s2p_plan *plan, score_function fill,
                           s2p_error *error)
{
    const int32_t n = s2p_view_rows(view, plan);
    double *score = malloc((size_t)n * sizeof *score);
    if (!score) return S2P_ENOMEM;
    s2p_status st = fill(view, n, score, error);
    if (st == S2P_OK) st = s2p_keep_best(view, plan, score, view->budget);
    free(score);
    return st;
}

static s2p_status last_attention(const s2p_view *view, int32_t n, double *score, s2p_error *error)
{
    (void)error;
    for (int32_t i = 0; i < n; i++) score[i] = (double)view->signal[S2P_LAST_ATTN].data[i];
    return S2P_OK;
}

static s2p_status plain_attention(const s2p_view *view, int32_t n, double *score, s2p_error *error)
{
    (void)n;
    return s2p_head_attention(&view->signal[S2P_LAST_QUERY], &view->signal[S2P_PLAIN_KEY], score,
                              error);
}

static s2p_status tower_attention(const s2p_view *view, int32_t n, double *score, s2p_error *error)
{
    const s2p_signal *attn = &view->signal[S2P_VISION_ATTN];
    (void)error;
    s2p_column_means(attn->data, attn->shape[0], n, score);
    return S2P_OK;
}

static s2p_status fastv_top_select(const s2p_view *view, s2p_plan *plan, s2p_error *error)
{
    return keep_top(view, plan, last_attention, error);
}

static s2p_status feather_top_select(const s2p_view *view, s2p_plan *plan, s2p_error *error)
{
    return keep_top(view, plan, plain_attention, error);
}

static s2p_status visionzip_top_select(const s2p_view *view, s2p_plan *plan, s2p_error *error)
{
    return keep_top(view, plan, tower_attention, error);
}

const s2p_method s2p_method_fastv_top = {
    .about.name = "fastv-top",
    .about.title = "FastV top-B",
    .about.source = "S2Prune, Fig. 2: FastV's score",
    .about.needs = S2P_NEED_LAST_ATTN,
    .about.sees_question = true,
    .about.n_stages = 1,
    .about.after = { 1 },
    .select = fastv_top_select,
};

const s2p_method s2p_method_feather_top = {
    .about.name = "feather-top",
    .about.title = "FEATHER top-B (no RoPE, L3)",
    .about.source = "S2Prune, Fig. 2: FEATHER's score without RoPE, layer 3",
    .about.needs = S2P_NEED_LAST_QUERY | S2P_NEED_PLAIN_KEY,
    .about.sees_question = true,
    .about.n_stages = 1,
    .about.after = { 2 },
    .select = feather_top_select,
};

const s2p_method s2p_method_feather_top_8 = {
    .about.name = "feather-top-8",
    .about.title = "FEATHER top-B (no RoPE, L8)",
    .about.source = "S2Prune, App. B: FEATHER's score without RoPE, layer 8",
    .about.needs = S2P_NEED_LAST_QUERY | S2P_NEED_PLAIN_KEY,
    .about.sees_question = true,
    .about.n_stages = 1,
    .about.after = { 7 },
    .select = feather_top_select,
};

const s2p_method s2p_method_visionzip_top = {
    .about.name = "visionzip-top",
    .about.title = "VisionZip top-B",
    .about.source = "S2Prune, Fig. 2: VisionZip's score",
    .about.needs = S2P_NEED_VISION_ATTN,
    .about.n_stages = 1,
    .about.after = { S2P_BEFORE_DECODER },
    .select = visionzip_top_select,
};
