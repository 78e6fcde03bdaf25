/* analysis_table.c - one row for each analysis of the paper. */
#include "analyze/analyses.h"
#include "analyze/analyze_command.h"
#include "base/error.h"

#include <string.h>

/* --- settings that are not methods times budgets ------------------------------------------ */

typedef struct list { /* what is being made */
    s2a_setting *out;
    int32_t *n;
} list;

static s2p_status add(const list *l, s2a_setting setting, s2p_error *error)
{
    if (*l->n == S2A_MAX_SETTINGS)
        return s2_fail(error, S2P_ELIMIT, "more than %d settings", S2A_MAX_SETTINGS);
    l->out[(*l->n)++] = setting;
    return S2P_OK;
}

static s2a_setting made(const s2a_setting *base, const char *method, s2a_budget budget)
{
    s2a_setting setting = *base;
    s2a_setting_use(&setting, method);
    setting.budget = budget;
    return setting;
}

/* The settings of one budget. */
typedef s2p_status (*for_budget)(const list *l, const s2a_setting *base, s2a_budget budget,
                                 s2p_error *error);

static s2p_status each_budget(const list *l, const s2a_setting *base, const char *budgets,
                              bool has_full, for_budget add_some, s2p_error *error)
{
    s2a_item item;
    *l->n = 0;
    if (has_full) TRY(add(l, made(base, "full", (s2a_budget){ .tokens = 0 }), error));
    while (s2a_next_item(&budgets, &item)) {
        s2a_budget budget;
        TRY(s2a_budget_read("--budgets", item.text, item.n, S2P_MAX_TOKENS, &budget, error));
        TRY(add_some(l, base, budget, error));
    }
    return S2P_OK;
}

/* The scaffold and equal shares, both with the center of the cell. */
static s2p_status add_densities(const list *l, const s2a_setting *base, s2a_budget budget,
                                s2p_error *error)
{
    s2a_setting adaptive = made(base, "s2prune", budget);
    adaptive.choice.selector = "centre";
    TRY(add(l, made(base, "equal-density", budget), error));
    return add(l, adaptive, error);
}

/* Every allocator with ERC, every selector with Laplacian shares. */
static s2p_status add_parts(const list *l, const s2a_setting *base, s2a_budget budget,
                            s2p_error *error)
{
    s2a_setting setting = made(base, "s2prune", budget);
    setting.choice.allocator = setting.choice.selector = NULL;
    for (size_t i = 0; s2p_allocator_name(i); i++) {
        setting.choice.allocator = s2p_allocator_name(i);
        TRY(add(l, setting, error));
    }
    setting.choice.allocator = s2p_allocator_name(0);
    for (size_t i = 1; s2p_selector_name(i); i++) {
        setting.choice.selector = s2p_selector_name(i);
        TRY(add(l, setting, error));
    }
    return S2P_OK;
}

/* Sides around the one of the rule; the paper's own at its budgets. */
static s2p_status add_sides(const list *l, const s2a_setting *base, s2a_budget budget,
                            s2p_error *error)
{
    const s2p_grid grid = { 24, 24 };
    const int32_t tokens = s2a_budget_tokens(budget, 576);
    const int32_t usual = s2p_coarse_side(grid, tokens);
    const int32_t sides[] = { usual - 1, usual, usual + 1, usual + 3 };
    for (size_t i = 0; i < sizeof sides / sizeof *sides; i++) {
        s2a_setting setting = made(base, "s2prune", budget);
        setting.choice.side = sides[i];
        if (sides[i] >= 1 && sides[i] * sides[i] <= tokens) TRY(add(l, setting, error));
    }
    return S2P_OK;
}

static s2p_status density_settings(const s2a_setting *base, const char *budgets, s2a_setting *out,
                                   int32_t *n, s2p_error *error)
{
    return each_budget(&(list){ out, n }, base, budgets, false, add_densities, error);
}

static s2p_status ablation_settings(const s2a_setting *base, const char *budgets, s2a_setting *out,
                                    int32_t *n, s2p_error *error)
{
    return each_budget(&(list){ out, n }, base, budgets, true, add_parts, error);
}

static s2p_status grid_settings(const s2a_setting *base, const char *budgets, s2a_setting *out,
                                int32_t *n, s2p_error *error)
{
    return each_budget(&(list){ out, n }, base, budgets, true, add_sides, error);
}

s2p_status s2_analysis_spread(s2a_setting *setting, int32_t *n, int32_t n_layers, s2p_error *error)
{
    s2a_setting given[S2A_MAX_SETTINGS];
    const int32_t n_given = *n;
    const list l = { setting, n };
    for (int32_t i = 0; i < n_given; i++) given[i] = setting[i];
    *n = 0;
    for (int32_t i = 0; i < n_given; i++) {
        s2a_setting one = given[i];
        if (s2p_method_about(s2a_setting_method(&one))->resizes)
            return s2_fail(error, S2P_EUNSUPPORTED,
                           "analyze layer: method '%s' shows a smaller picture; there is no layer "
                           "to prune after",
                           one.method);
        if (one.has_after || s2a_keeps_all(&one)) {
            TRY(add(&l, one, error));
            continue;
        }
        one.has_after = true;
        for (one.after = 0; one.after == 0 || one.after <= n_layers - 2;
             one.after = 2 * one.after + 1)
            TRY(add(&l, one, error));
    }
    return s2a_settings_check_after("analyze layer, after", setting, *n, n_layers, error);
}

/* --- the rows -------------------------------------------------------------------------------- */

static s2p_status run_spatial(const s2_trials *trials, s2_study *study, s2p_error *error)
{
    s2p_error why = { S2P_OK, "" };
    TRY(s2_analyze_spatial(trials, study, error));
    const s2p_status st = s2_analyze_example(trials, 0, study, &why);
    if (st == S2P_EUNSUPPORTED) { /* signals without pixels */
        s2_study_note(study, why.message);
        return S2P_OK;
    }
    return st == S2P_OK ? st : s2_fail(error, st, "%s", why.message);
}

static s2p_status run_cases(const s2_trials *trials, s2_study *study, s2p_error *error)
{
    return s2_analyze_cases(trials, "s2prune", 0, study, error);
}

static const s2_analysis analysis_list[] = {
    { .name = "spatial",
      .summary = "where kept tokens lie: maps, edge and centre shares, banding, correlations",
      .methods = "fastv-top,feather-top,feather-top-8,visionzip-top,erc-top,s2prune",
      .budgets = "32,64,128",
      .per_picture = 1,
      .run = run_spatial,
      .takes_pictures = true },
    { .name = "heterogeneity",
      .summary = "gain of adaptive over equal density by thirds of H_str",
      .budgets = "64,32",
      .per_picture = 4,
      .settings = density_settings,
      .run = s2_analyze_heterogeneity },
    { .name = "budget",
      .summary = "accuracy against the number of kept tokens",
      .methods = "full,fastv,visionzip,s2prune",
      .budgets = "192,128,64,32",
      .per_picture = 3,
      .run = s2_analyze_budget },
    { .name = "ablation",
      .summary = "allocators and selectors of S2Prune",
      .budgets = "64",
      .per_picture = 3,
      .settings = ablation_settings,
      .run = s2_analyze_ablation },
    { .name = "grid",
      .summary = "sensitivity to the coarse grid",
      .budgets = "64,32",
      .per_picture = 3,
      .settings = grid_settings,
      .run = s2_analyze_grid },
    { .name = "retention",
      .summary = "retained accuracy against Random, by kind of question",
      .methods =
          "full,random,uniform,fastv,dart,gprune,visionzip,vispruner,gridprune,holov,s2prune",
      .budgets = "64",
      .per_picture = 3,
      .run = s2_analyze_retention },
    { .name = "cases",
      .summary = "pictures where S2Prune alone is right, with what each method kept",
      .methods = "full,fastv,gridprune,s2prune",
      .budgets = "32,128",
      .per_picture = 3,
      .run = run_cases },
    { .name = "pareto",
      .summary = "accuracy and agreement with all tokens against time and FLOPs, the front marked",
      .methods = "full,resize,pool,fastv,visionzip,s2prune",
      .budgets = "192,128,64,32",
      .per_picture = 3,
      .run = s2_analyze_pareto },
    { .name = "layer",
      .summary = "accuracy and cost against the decoder layer after which a method prunes",
      .methods = "full,s2prune",
      .budgets = "64",
      .per_picture = 3,
      .run = s2_analyze_layer,
      .is_by_layer = true },
    { .name = "overlap",
      .summary = "tokens two methods have in common",
      .methods = "random,uniform,fastv,dart,visionzip,gridprune,holov,erc-top,s2prune",
      .budgets = "64",
      .per_picture = 1,
      .run = s2_analyze_overlap,
      .takes_pictures = true },
};

const s2_analysis *s2_analysis_at(size_t index)
{
    return index < sizeof analysis_list / sizeof *analysis_list ? &analysis_list[index] : NULL;
}

const char *s2_analysis_name(size_t index)
{
    return s2_analysis_at(index) ? analysis_list[index].name : NULL;
}

const s2_analysis *s2_analysis_find(const char *name)
{
    for (size_t i = 0; s2_analysis_at(i); i++)
        if (strcmp(analysis_list[i].name, name) == 0) return &analysis_list[i];
    return NULL;
}
