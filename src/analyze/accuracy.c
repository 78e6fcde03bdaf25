/* accuracy.c - from scores to lines and bars. */
#include "analyze/analyses.h"

#include "analyze/figure_data.h"
#include "base/error.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int32_t full_of(const s2_trials *t)
{
    return s2_trials_find(t, "full", (s2a_budget){ .tokens = 0 });
}

/* The first setting of its budget; the ones that keep all have none. */
static bool starts_budget(const s2_trials *t, int32_t setting)
{
    if (s2a_keeps_all(&t->setting[setting])) return false;
    for (int32_t k = 0; k < setting; k++)
        if (!s2a_keeps_all(&t->setting[k]) &&
            s2a_budget_is_same(t->setting[k].budget, t->setting[setting].budget))
            return false;
    return true;
}

/* What the numbers are: in the captions. */
static const char *numbers_of(const s2_trials *t, char out[320])
{
    int32_t n_all;
    s2_scope some[1];
    (void)s2_rate_scopes(t, 0, some, &n_all);
    if (t->n_parts > 1)
        (void)snprintf(out, 320,
                       "each benchmark's own number, their mean (Acc., MME as a 28th) and the mean "
                       "ratio to all tokens (Rel.)");
    else
        (void)snprintf(out, 320,
                       "%s by kind of question, the mean of %s%d kinds (Acc.), their mean ratio to "
                       "all tokens (Rel.), and over all questions",
                       t->n_parts == 1 && t->part[0].metric[0] ? t->part[0].metric
                                                               : "percent right",
                       n_all > 12 ? "all " : "the ", n_all);
    return out;
}

static s2p_status add_table(const s2_trials *t, const char *name, const char *caption,
                            const char *reference, s2_study *study)
{
    char numbers[320], whole[800];
    (void)snprintf(whole, sizeof whole, "%s: %s.%s", caption, numbers_of(t, numbers),
                   reference
                       ? " Against ref.: the paired difference from the reference at the same "
                         "budget."
                       : "");
    return s2_rate_table(t, full_of(t), reference, s2_study_table(study, name, whole));
}

/* --- numbers against a number ------------------------------------------------------------------- */

typedef struct curves {
    double (*x_of)(const s2_trials *t, const s2a_setting *setting);
    bool has_budget;    /* of series' names; else of points */
    const char *method; /* one method alone, NULL: all */
} curves;

static bool is_drawn(const curves *how, const s2a_setting *s)
{
    return !s2a_keeps_all(s) && (!how->method || strcmp(s->method, how->method) == 0);
}

/* Two walks: the points first, so that they are in order, then the rates. */
static s2p_status fill_curves(const s2_trials *t, const curves *how, s2_figure_data *d,
                              s2p_error *error)
{
    char label[S2_LABEL_SIZE];
    int32_t point, line;
    s2_rate rate;
    for (int32_t s = 0; s < t->n_settings; s++)
        if (is_drawn(how, &t->setting[s]))
            TRY(s2_figure_point(d, how->x_of(t, &t->setting[s]), &point, error));
    for (int32_t s = 0; s < t->n_settings; s++) {
        s2a_setting named = t->setting[s];
        if (!is_drawn(how, &named)) continue;
        TRY(s2_figure_point(d, how->x_of(t, &named), &point, error));
        if (how->has_budget) named.choice.side = 0;
        TRY(s2_figure_line(d, s2_setting_label(&named, how->has_budget, label), &line, error));
        for (int32_t p = 0; p < d->n_panels; p++) {
            TRY(s2_rate_of(t, s, S2_NO_SETTING, d->scope[p], &rate));
            s2_figure_put(d, p, line, point, &rate);
        }
    }
    const int32_t full = full_of(t);
    for (int32_t p = 0; p < d->n_panels && full >= 0; p++) {
        TRY(s2_rate_of(t, full, S2_NO_SETTING, d->scope[p], &rate));
        d->level[p] = rate.value;
    }
    return S2P_OK;
}

static s2p_status draw_curves(const s2_trials *t, const curves *how, s2_chart named,
                              s2_study *study, s2p_error *error)
{
    s2_figure_data *d = s2_figure_data_create(t, error);
    s2_chart chart;
    if (!d) return S2P_ENOMEM;
    s2p_status st = fill_curves(t, how, d, error);
    if (st == S2P_OK) st = s2_figure_chart(d, named.name, &chart, error);
    if (st == S2P_OK) {
        chart.name = named.name;
        chart.title = named.title;
        chart.caption = named.caption;
        chart.across = named.across;
        chart.is_log = named.is_log;
        chart.up = t->n_parts > 1                            ? "score"
                   : t->n_parts == 1 && t->part[0].metric[0] ? t->part[0].metric
                                                             : "right answers (%)";
        chart.level_word = "all tokens";
        chart.has_own_scales = t->n_parts > 1;
        s2_chart_lines(study, &chart);
    }
    free(d);
    return st;
}

static double budget_of(const s2_trials *t, const s2a_setting *s)
{
    const int32_t n = t->has_grids ? 0 : t->grid.rows * t->grid.cols;
    return n > 0 || s->budget.tokens > 0 ? s2a_budget_tokens(s->budget, n) : s->budget.percent;
}

s2p_status s2_analyze_budget(const s2_trials *t, s2_study *study, s2p_error *error)
{
    TRY(draw_curves(t, &(curves){ budget_of, false, NULL },
                    (s2_chart){ .name = "budget_curves",
                                .title = "Accuracy against budget",
                                .caption = "The benchmark's number as fewer visual tokens are "
                                           "kept, with 95 % intervals over "
                                           "pictures (the paper's Figure 6). Dashed: every token.",
                                .across = "visual tokens kept",
                                .is_log = true },
                    study, error));
    return add_table(t, "budget_table", "The same numbers", NULL, study);
}

static double side_of(const s2_trials *t, const s2a_setting *s)
{
    return s->choice.side > 0
               ? s->choice.side
               : s2p_coarse_side(t->grid,
                                 s2a_budget_tokens(s->budget, t->grid.rows * t->grid.cols));
}

s2p_status s2_analyze_grid(const s2_trials *t, s2_study *study, s2p_error *error)
{
    TRY(draw_curves(
        t, &(curves){ side_of, true, "s2prune" },
        (s2_chart){ .name = "grid_curves",
                    .title = "Sensitivity to the coarse grid",
                    .caption =
                        "S2Prune against the side K of the K x K coarse regions, with 95 % "
                        "intervals over pictures (the paper's Table S3). Dashed: every token.",
                    .across = "regions a side (K)" },
        study, error));
    return add_table(t, "grid_table", "Grid sizes", NULL, study);
}

/* --- bars by kind of question or benchmark, a chart for each budget -------------------------------- */

typedef struct bars {
    const char *name, *title, *caption, *up;
    bool from_zero;
    /* The line of a setting, NULL: it has none; and its number in a scope. */
    const char *(*label)(const s2_trials *t, const s2a_setting *s, char out[S2_LABEL_SIZE]);
    s2p_status (*rate)(const s2_trials *t, int32_t setting, s2_scope scope, s2_rate *out);
    int32_t n_least; /* lines below which there is nothing to compare */
} bars;

static s2p_status fill_bars(const s2_trials *t, const bars *b, s2a_budget budget, s2_figure_data *d,
                            s2p_error *error)
{
    for (int32_t s = 0; s < t->n_settings; s++) {
        char text[S2_LABEL_SIZE];
        int32_t line;
        const char *label =
            !s2a_keeps_all(&t->setting[s]) && s2a_budget_is_same(t->setting[s].budget, budget)
                ? b->label(t, &t->setting[s], text)
                : NULL;
        if (!label) continue;
        TRY(s2_figure_line(d, label, &line, error));
        for (int32_t p = 0; p < d->n_panels; p++) {
            s2_rate rate;
            TRY(b->rate(t, s, d->scope[p], &rate));
            s2_figure_put(d, 0, line, p, &rate);
        }
    }
    return S2P_OK;
}

/* study NULL: only widen the range, which all budgets share; else draw with it. */
static s2p_status draw_bars(const s2_trials *t, const bars *b, s2a_budget budget, double range[2],
                            bool *is_drawn, s2_study *study, s2p_error *error)
{
    s2_figure_data *d = s2_figure_data_create(t, error);
    s2_chart chart;
    if (!d) return S2P_ENOMEM;
    s2p_status st = fill_bars(t, b, budget, d, error);
    if (st == S2P_OK && d->n_series >= b->n_least) {
        char name[64], title[120], caption[512], text[S2A_BUDGET_TEXT];
        (void)s2a_budget_text(budget, text);
        (void)snprintf(name, sizeof name, "%s_%.40s", b->name, text);
        for (char *c = name; *c; c++)
            if (*c == '%') *c = 'p';
        (void)snprintf(title, sizeof title, "%s, %.40s tokens", b->title, text);
        (void)snprintf(caption, sizeof caption, "%s tokens: %s%s", text, b->caption,
                       t->n_parts > 1 ? " Numbers in percent of the largest possible." : "");
        s2_figure_groups(d);
        st = s2_figure_chart(d, b->title, &chart, error);
        chart.name = name;
        chart.title = title;
        chart.caption = caption;
        chart.up = b->up;
        chart.from_zero = b->from_zero;
        chart.is_percent = b->from_zero; /* differences may be larger and below 0 */
        if (st == S2P_OK && !study) s2_chart_widen(&chart, range);
        chart.range = isfinite(range[0]) ? range : NULL;
        if (st == S2P_OK && study) s2_chart_bars(study, &chart);
        *is_drawn = true;
    }
    free(d);
    return st;
}

/* *is_drawn: some budget had a chart. */
static s2p_status each_budget(const s2_trials *t, const bars *b, bool *is_drawn, s2_study *study,
                              s2p_error *error)
{
    double range[2] = { (double)NAN, (double)NAN };
    int32_t n_budgets = 0;
    for (int32_t s = 0; s < t->n_settings; s++) n_budgets += starts_budget(t, s);
    for (int pass = n_budgets > 1 ? 0 : 1; pass < 2; pass++)
        for (int32_t s = 0; s < t->n_settings; s++)
            if (starts_budget(t, s))
                TRY(draw_bars(t, b, t->setting[s].budget, range, is_drawn, pass ? study : NULL,
                              error));
    return S2P_OK;
}

static const char *label_retained(const s2_trials *t, const s2a_setting *s, char out[S2_LABEL_SIZE])
{
    const int32_t random = s2_trials_find(t, "random", s->budget);
    return random >= 0 && s != &t->setting[random] ? s2_setting_label(s, false, out) : NULL;
}

static s2p_status rate_retained(const s2_trials *t, int32_t setting, s2_scope scope, s2_rate *out)
{
    return s2_rate_retained(t, setting, s2_trials_find(t, "random", t->setting[setting].budget),
                            full_of(t), scope, out);
}

/* The bars as numbers, one a row. */
static s2p_status add_retained(const s2_trials *t, s2_study *study, s2p_error *error)
{
    s2_figure_data *d = s2_figure_data_create(t, error);
    if (!d) return S2P_ENOMEM;
    s2_table *table = s2_study_table(study, "retention_points",
                                     "Retention in percent of the full model, and points above "
                                     "Random at the same budget with 95 % paired intervals.");
    s2_table_column(table, "setting", "setting", S2_TEXT_COLUMN);
    s2_table_column(table, "budget", "budget", S2_TEXT_COLUMN);
    s2_table_column(table, "of", "of", S2_TEXT_COLUMN);
    s2_table_column(table, "retained", "retained %", 1);
    s2_table_column(table, "above_random", "above Random", 1);
    s2_table_column(table, "above_random_low", "95 % low", 1);
    s2_table_column(table, "above_random_high", "high", 1);
    s2p_status st = S2P_OK;
    for (int32_t s = 0; s < t->n_settings && st == S2P_OK; s++) {
        char label[S2_LABEL_SIZE], budget[S2A_BUDGET_TEXT];
        if (s2a_keeps_all(&t->setting[s]) || !label_retained(t, &t->setting[s], label)) continue;
        for (int32_t p = 0; p < d->n_panels && st == S2P_OK; p++) {
            s2_rate whole, above;
            st = s2_rate_retained(t, s, S2_NO_SETTING, full_of(t), d->scope[p], &whole);
            if (st == S2P_OK) st = rate_retained(t, s, d->scope[p], &above);
            if (st != S2P_OK) break;
            s2_table_text(table, label);
            s2_table_text(table, s2a_budget_text(t->setting[s].budget, budget));
            s2_table_text(table, p == 0 ? (t->n_parts > 1 ? "mean" : "all")
                                        : s2_scope_name(t, d->scope[p]));
            s2_table_number(table, whole.value);
            s2_table_number(table, above.value);
            s2_table_number(table, above.low);
            s2_table_number(table, above.high);
        }
    }
    free(d);
    return st;
}

s2p_status s2_analyze_retention(const s2_trials *t, s2_study *study, s2p_error *error)
{
    static const bars b = { "retention",
                            "Retention above Random",
                            "retained share of the full model's number minus that of Random at "
                            "the same budget, percentage points, with 95 % paired intervals over "
                            "pictures (the paper's Figure 3).",
                            "retention minus Random (points)",
                            false,
                            label_retained,
                            rate_retained,
                            1 };
    bool is_drawn = false;
    if (full_of(t) < 0) return s2_fail(error, S2P_EINVAL, "retention needs the method 'full'");
    s2_rate whole;
    TRY(s2_rate_retained(t, full_of(t), S2_NO_SETTING, full_of(t), S2_EVERYTHING, &whole));
    if (isnan(whole.value))
        return s2_fail(
            error, S2P_EINVAL,
            "retention is relative to the full model, which has no right answer on these data");
    TRY(each_budget(t, &b, &is_drawn, study, error));
    if (!is_drawn)
        return s2_fail(error, S2P_EINVAL,
                       "retention needs 'random' and another method at its budget");
    TRY(add_retained(t, study, error));
    return add_table(t, "retention_table", "The numbers behind it, against Random", "random",
                     study);
}

static bool is_scaffold(const s2a_setting *s) { return strcmp(s->method, "s2prune") == 0; }

static bool is_usual(const char *name, const char *usual)
{
    return !name || strcmp(name, usual) == 0;
}

/* "fft", or "fft K=4" where the grid is not that of the budget. */
static const char *label_choice(const s2a_setting *s, const char *name, char out[S2_LABEL_SIZE])
{
    if (s->choice.side > 0)
        (void)snprintf(out, S2_LABEL_SIZE, "%s K=%d", name, s->choice.side);
    else
        (void)snprintf(out, S2_LABEL_SIZE, "%s", name);
    return out;
}

/* Names for figures. Some allocators and selectors are called like a method ("uniform", "random"); a name that
 * begins with one would get its title there. */
static const char *figure_name(const char *name, bool is_allocator)
{
    static const struct {
        const char *name, *allocator, *selector;
    } names[] = { { "laplacian", "Laplacian", NULL },
                  { "uniform", "equal shares", NULL },
                  { "random", "shares at random", "token at random" },
                  { "fft", "FFT energy", NULL },
                  { "erank", "effective rank", NULL },
                  { "erc", NULL, "ERC" },
                  { "norm", NULL, "hidden norm" },
                  { "query-all", NULL, "attention of all queries" },
                  { "query-last", NULL, "attention of the last query" },
                  { "centre", NULL, "cell centre" } };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *shown = is_allocator ? names[i].allocator : names[i].selector;
        if (shown && strcmp(names[i].name, name) == 0) return shown;
    }
    return name;
}

static const char *label_allocator(const s2_trials *t, const s2a_setting *s,
                                   char out[S2_LABEL_SIZE])
{
    (void)t;
    const char *name = s->choice.allocator ? s->choice.allocator : s2p_allocator_name(0);
    return is_scaffold(s) && is_usual(s->choice.selector, s2p_selector_name(0))
               ? label_choice(s, figure_name(name, true), out)
               : NULL;
}

static const char *label_selector(const s2_trials *t, const s2a_setting *s, char out[S2_LABEL_SIZE])
{
    (void)t;
    const char *name = s->choice.selector ? s->choice.selector : s2p_selector_name(0);
    return is_scaffold(s) && is_usual(s->choice.allocator, s2p_allocator_name(0))
               ? label_choice(s, figure_name(name, false), out)
               : NULL;
}

static s2p_status rate_alone(const s2_trials *t, int32_t setting, s2_scope scope, s2_rate *out)
{
    return s2_rate_percent(t, setting, S2_NO_SETTING, scope, out);
}

s2p_status s2_analyze_ablation(const s2_trials *t, s2_study *study, s2p_error *error)
{
    static const bars allocators = { "ablation_allocators",
                                     "Allocators",
                                     "what decides a region's share, with ERC choosing in the "
                                     "cells (the paper's Figure 7); 95 % intervals over pictures.",
                                     "score (%)",
                                     true,
                                     label_allocator,
                                     rate_alone,
                                     2 };
    static const bars selectors = { "ablation_selectors",
                                    "Selectors",
                                    "what decides the token of a cell, with Laplacian shares (the "
                                    "paper's Table 4); 95 % intervals over pictures.",
                                    "score (%)",
                                    true,
                                    label_selector,
                                    rate_alone,
                                    2 };
    bool is_drawn = false;
    TRY(each_budget(t, &allocators, &is_drawn, study, error));
    TRY(each_budget(t, &selectors, &is_drawn, study, error));
    if (!is_drawn)
        return s2_fail(error, S2P_EINVAL,
                       "ablation needs s2prune with two allocators or two selectors at a budget");
    return add_table(t, "ablation_table",
                     "Allocators and selectors, against S2Prune as published (Laplacian, ERC)",
                     "s2prune", study);
}
