/* answer_json.c - figures of one answer. prompt_tokens counts what entered decoder layer 1, which is what
 * the prompt cost; the count before pruning is reported as well. */
#include "serve/engine/scheduler.h"

#include "ask/attempts.h"
#include "ask/kept.h"

#include <math.h>

static double share(s2p_grid grid, const int32_t *keep, int32_t n,
                    bool (*is_there)(s2p_grid grid, int32_t token))
{
    int32_t n_there = 0;
    for (int32_t i = 0; i < n; i++) n_there += is_there(grid, keep[i]);
    return n > 0 ? (double)n_there / n : 0.0;
}

/* One grid of tokens: what was kept, and where. */
static json_t *plan_json(const s2p_plan *plan, const s2a_prune_request *setting)
{
    int32_t n;
    const int32_t *keep = s2p_plan_keep(plan, &n);
    const s2p_layout l = s2p_plan_layout(plan);
    json_t *image =
        json_pack("{s:i,s:i,s:i,s:i,s:f,s:f}", "tokens_h", l.grid.rows, "tokens_w", l.grid.cols,
                  "grid", l.side, "n_kept", n, "edge_share", share(l.grid, keep, n, s2a_is_edge),
                  "center_share", share(l.grid, keep, n, s2a_is_center));
    if (image && setting->wants_tokens)
        json_object_set_new(image, "kept", s2_json_of_ints(keep, (size_t)n));
    if (image && setting->wants_regions && l.side > 0 && l.share) {
        json_t *regions = json_array(), *cells = json_array();
        for (int32_t g = 0; g < l.side * l.side; g++)
            json_array_append_new(regions, s2a_region_json(&l, g));
        for (int32_t i = 0; i < l.budget; i++)
            json_array_append_new(cells, json_pack("[i,i,i,i]", l.cell[i].row0, l.cell[i].row1,
                                                   l.cell[i].col0, l.cell[i].col1));
        json_object_set_new(image, "regions", regions);
        json_object_set_new(image, "cells", cells);
        json_object_set_new(image, "heterogeneity", json_real(l.heterogeneity));
    }
    return image;
}

/* Of the first picture, with n_tokens: the one of its detail where it has one, of several the last. */
static int32_t budget_of(const s2_result *r, int32_t n_tokens)
{
    const s2v_budget own = r->prune->image_budget ? r->prune->image_budget[0] : r->prune->budget;
    const s2a_budget budget = { .tokens = own.tokens, .percent = own.percent };
    return own.tokens == S2P_MAX_TOKENS ? n_tokens : s2a_budget_tokens(budget, n_tokens);
}

static json_t *prune_json(const s2_result *r)
{
    const s2v_stats *t = r->stats;
    const s2a_setting *setting = &r->setting->setting;
    const bool keeps_all = s2a_keeps_all(setting);
    json_t *images = json_array();
    const s2p_plan *plan, *tiles;
    for (int32_t i = 0; (plan = s2v_session_plan(r->session, i)); i++) {
        json_t *image = plan_json(plan, r->setting);
        int32_t n_entered;
        const int32_t *entered = s2v_session_tower_tokens(r->session, i, &n_entered);
        if (image && setting->has_before) {
            const s2p_grid of = s2p_plan_layout(plan).grid;
            json_object_set_new(image, "n_entered",
                                json_integer(entered ? n_entered : of.rows * of.cols));
            if (r->setting->wants_tokens)
                json_object_set_new(image, "skipped", s2a_skipped_json(of, entered, n_entered));
        }
        /* a picture that is also seen in tiles has a second grid */
        if (image && (tiles = s2v_session_tile_plan(r->session, i)))
            json_object_set_new(image, "tiles", plan_json(tiles, r->setting));
        if (image && i == 0 && r->score) {
            json_t *scores = json_array();
            for (int32_t k = 0; k < r->n_scores; k++)
                json_array_append_new(scores, isnan(r->score[k]) ? json_null()
                                                                 : json_real((double)r->score[k]));
            json_object_set_new(image, "scores",
                                json_pack("{s:s,s:o}", "name", "erc", "values", scores));
        }
        json_array_append_new(images, image);
    }
    const s2p_plan *first = s2v_session_plan(r->session, 0);
    const s2p_grid grid = first ? s2p_plan_layout(first).grid : (s2p_grid){ 0, 0 };
    const bool resizes = s2p_method_about(s2a_setting_method(setting))->resizes;
    const int32_t n_tokens = resizes ? t->image_tokens_full : grid.rows * grid.cols;
    json_t *prune =
        json_pack("{s:s,s:i,s:i,s:i,s:o,s:I,s:f}", "method", setting->method, "budget",
                  keeps_all || n_tokens == 0 ? t->image_tokens_full : budget_of(r, n_tokens),
                  "grid", first ? s2p_plan_layout(first).side : 0, "layer",
                  t->n_stages > 0 ? t->stage_after[0] + 1 : 0, "images", images, "kv_bytes",
                  (json_int_t)t->kv_total_bytes, "flops", t->flops);
    if (!prune) return NULL;
    if (t->n_stages > 0)
        json_object_set_new(prune, "after", s2_json_of_ints(t->stage_after, (size_t)t->n_stages));
    if (!keeps_all)
        json_object_set_new(prune, "positions",
                            json_string(s2a_positions_name(setting->is_renumbered)));
    if (setting->budget.percent > 0.0 && !keeps_all && !r->prune->image_budget)
        json_object_set_new(prune, "budget_percent", json_real(setting->budget.percent));
    s2a_attempts_add(setting, r->attempts, prune);
    char label[S2A_LABEL_SIZE], before[S2P_PIXELPRUNE_TEXT];
    if (setting->has_before) {
        json_object_set_new(prune, "before_tower",
                            json_string(s2p_pixelprune_text(&setting->before, before)));
        json_object_set_new(prune, "tower_tokens", json_integer(t->tower_tokens));
    }
    json_object_set_new(prune, "setting", json_string(s2a_setting_label(setting, label)));
    json_object_set_new(prune, "kv_visual_bytes", json_integer((json_int_t)t->kv_visual_bytes));
    return prune;
}

json_t *s2_result_json(const s2_result *r)
{
    const s2v_stats *t = r->stats;
    const bool has_speed = r->n_tokens > 1 && r->generate_ms > 0.0;
    json_t *usage =
        json_pack("{s:i,s:i,s:i,s:{s:i,s:i,s:i}}", "prompt_tokens", t->prompt_tokens,
                  "completion_tokens", r->n_tokens, "total_tokens", t->prompt_tokens + r->n_tokens,
                  "prompt_tokens_details", "cached_tokens", t->cached_tokens, "image_tokens",
                  t->image_tokens, "image_tokens_full", t->image_tokens_full);
    json_t *timings = json_pack("{s:f,s:f,s:f,s:f,s:f,s:i,s:f,s:i,s:f,s:f}", "image_ms",
                                t->image_ms + r->job->image_ms, "vision_ms", t->vision_ms,
                                "layer0_ms", t->layer0_ms, "select_ms", t->select_ms, "layers_ms",
                                t->layers_ms, "prompt_n", t->prompt_tokens, "prompt_ms",
                                t->prompt_ms + r->attempts->earlier_ms, "predicted_n", r->n_tokens,
                                "predicted_ms", r->generate_ms, "predicted_per_second",
                                has_speed ? 1e3 * (r->n_tokens - 1) / r->generate_ms : 0.0);
    return json_pack("{s:s,s:o,s:o,s:o}", "finish_reason", r->is_stopped ? "stop" : "length",
                     "usage", usage, "timings", timings, "prune", prune_json(r));
}

json_t *s2_work_json(const s2_work *work)
{
    return json_pack("{s:I,s:I,s:I}", "towers", (json_int_t)work->towers, "passes",
                     (json_int_t)work->passes, "tokens", (json_int_t)work->tokens);
}
