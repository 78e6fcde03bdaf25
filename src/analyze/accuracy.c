/* accuracy.c - from scores to lines and bars. */
#include "analyze/analyses.h"

#include "analyze/charts.h"
#include "analyze/rates.h"
#include "base/error.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PANELS 9 /* all questions, and eight kinds */
#define MAX_LINES 24
#define MAX_POINTS 16
#define CELLS (MAX_PANELS * MAX_LINES * MAX_POINTS)

typedef struct chart_data { /* arrays behind an s2_chart */
    double y[CELLS], low[CELLS], high[CELLS], level[MAX_PANELS], x[MAX_POINTS];
    const char *panel[MAX_PANELS], *series[MAX_LINES], *point[MAX_PANELS + MAX_POINTS];
    char text[MAX_LINES + MAX_POINTS][S2_LABEL_SIZE];
    int32_t category[MAX_PANELS], n_panels, n_series, n_points;
} chart_data;

static chart_data *create(const s2_trials *t, s2p_error *error)
{
    chart_data *d = calloc(1, sizeof *d);
    if (!d) {
        (void)s2_fail_memory(error, sizeof *d, "the figure");
        return NULL;
    }
    for (int32_t i = 0; i < CELLS; i++) d->y[i] = d->low[i] = d->high[i] = (double)NAN;
    for (int32_t i = 0; i < MAX_PANELS; i++) d->level[i] = (double)NAN;
    d->category[0] = S2_ALL_CATEGORIES;
    d->n_panels = 1 + s2_rate_categories(t, MAX_PANELS - 1, d->category + 1);
    if (d->n_panels == 2) d->n_panels = 1; /* one kind is all there is */
    for (int32_t i = 0; i < d->n_panels; i++)
        d->panel[i] = i == 0 ? "all questions" : t->category[d->category[i]];
    return d;
}

static void put_rate(chart_data *d, int32_t at, const s2_rate *rate)
{
    d->y[at] = rate->value;
    d->low[at] = rate->low;
    d->high[at] = rate->high;
}

static int32_t full_of(const s2_trials *t)
{
    return s2_trials_find(t, "full", (s2v_budget){ .tokens = 0 });
}

/* The index of a label among the series so far, or a new one; -1: too many. */
static int32_t series_index(chart_data *d, const char *label)
{
    for (int32_t i = 0; i < d->n_series; i++)
        if (strcmp(d->series[i], label) == 0) return i;
    if (d->n_series == MAX_LINES) return -1;
    (void)snprintf(d->text[d->n_series], S2_LABEL_SIZE, "%s", label);
    d->series[d->n_series] = d->text[d->n_series];
    return d->n_series++;
}

static int32_t point_index(chart_data *d, double x)
{
    for (int32_t i = 0; i < d->n_points; i++)
        if (d->x[i] == x) return i;
    if (d->n_points == MAX_POINTS) return -1;
    int32_t at = d->n_points++; /* keep them ascending */
    for (; at > 0 && d->x[at - 1] > x; at--) d->x[at] = d->x[at - 1];
    d->x[at] = x;
    return at;
}

static s2p_status add_table(const s2_trials *t, const char *name, const char *caption,
                            const char *reference, s2_study *study)
{
    int32_t ref = S2_NO_SETTING;
    for (int32_t s = 0; s < t->n_settings && ref < 0; s++)
        if (reference && strcmp(t->setting[s].method, reference) == 0)
            ref = s2_trials_find(t, reference, t->setting[s].budget);
    return s2_rate_table(t, full_of(t), ref, s2_study_table(study, name, caption));
}

/* --- accuracy against a number ---------------------------------------------------------------- */

typedef struct curves {
    double (*x_of)(const s2_trials *t, const s2a_setting *setting);
    bool has_budget;    /* of series' names; else of points */
    const char *method; /* one method alone, NULL: all */
} curves;

/* Two walks: the points first, so that they are in order, then the rates. */
static s2p_status fill_curves(const s2_trials *t, const curves *how, chart_data *d)
{
    char label[S2_LABEL_SIZE];
    for (int32_t s = 0; s < t->n_settings; s++)
        if (!s2a_keeps_all(&t->setting[s])) (void)point_index(d, how->x_of(t, &t->setting[s]));
    for (int32_t s = 0; s < t->n_settings; s++) {
        s2a_setting named = t->setting[s];
        if (s2a_keeps_all(&named) || (how->method && strcmp(named.method, how->method) != 0))
            continue;
        const int32_t point = point_index(d, how->x_of(t, &named));
        if (how->has_budget) named.choice.side = 0;
        const int32_t line = series_index(d, s2_setting_label(&named, how->has_budget, label));
        if (line < 0 || point < 0) continue;
        for (int32_t p = 0; p < d->n_panels; p++) {
            s2_rate rate;
            TRY(s2_rate_of(t, s, S2_NO_SETTING, d->category[p], NULL, 100.0, &rate));
            put_rate(d, (p * MAX_LINES + line) * MAX_POINTS + point, &rate);
        }
    }
    const int32_t full = full_of(t);
    for (int32_t p = 0; p < d->n_panels && full >= 0; p++) {
        s2_rate rate;
        TRY(s2_rate_of(t, full, S2_NO_SETTING, d->category[p], NULL, 100.0, &rate));
        d->level[p] = rate.value;
    }
    return S2P_OK;
}

/* From [MAX_LINES][MAX_POINTS] to as many as there are. */
static void close_up(chart_data *d, double *list)
{
    int32_t at = 0;
    for (int32_t p = 0; p < d->n_panels; p++)
        for (int32_t s = 0; s < d->n_series; s++)
            for (int32_t i = 0; i < d->n_points; i++)
                list[at++] = list[(p * MAX_LINES + s) * MAX_POINTS + i];
}

static s2_chart chart_of(chart_data *d)
{
    close_up(d, d->y);
    close_up(d, d->low);
    close_up(d, d->high);
    return (s2_chart){ .n_panels = d->n_panels,
                       .panel = d->panel,
                       .n_series = d->n_series,
                       .series = d->series,
                       .n_points = d->n_points,
                       .point = d->point,
                       .x = d->x,
                       .y = d->y,
                       .low = d->low,
                       .high = d->high,
                       .level = d->level };
}

static double budget_of(const s2_trials *t, const s2a_setting *s)
{
    const int32_t n = t->grid.rows * t->grid.cols;
    return n > 0 || s->budget.tokens > 0 ? s2a_budget_tokens(s->budget, n) : s->budget.percent;
}

s2p_status s2_analyze_budget(const s2_trials *t, s2_study *study, s2p_error *error)
{
    chart_data *d = create(t, error);
    if (!d) return S2P_ENOMEM;
    s2p_status st = fill_curves(t, &(curves){ budget_of, false, NULL }, d);
    if (st == S2P_OK) {
        s2_chart chart = chart_of(d);
        chart.name = "budget_curves";
        chart.title = "Accuracy against budget";
        chart.caption = "Accuracy as fewer visual tokens are kept, with 95 % intervals over "
                        "pictures (the paper's Figure 6). Dashed: every token.";
        chart.is_percent = true;
        chart.across = "visual tokens kept";
        chart.up = "right answers (%)";
        chart.is_log = true;
        chart.level_word = "all tokens";
        s2_chart_lines(study, &chart);
        st = add_table(
            t, "budget_table",
            "The same numbers: percent right by kind of question, their mean (Acc.), mean "
            "ratio to all tokens (Rel.), all questions.",
            NULL, study);
    }
    free(d);
    return st;
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
    chart_data *d = create(t, error);
    if (!d) return S2P_ENOMEM;
    s2p_status st = fill_curves(t, &(curves){ side_of, true, "s2prune" }, d);
    if (st == S2P_OK) {
        s2_chart chart = chart_of(d);
        chart.name = "grid_curves";
        chart.title = "Sensitivity to the coarse grid";
        chart.caption =
            "Accuracy of S2Prune against the side K of the K x K coarse regions, with 95 % "
            "intervals over pictures (the paper's Table S3). Dashed: every token.";
        chart.is_percent = true;
        chart.across = "regions a side (K)";
        chart.up = "right answers (%)";
        chart.level_word = "all tokens";
        s2_chart_lines(study, &chart);
        st = add_table(t, "grid_table", "Grid sizes: percent right.", NULL, study);
    }
    free(d);
    return st;
}

/* --- bars by kind of question ------------------------------------------------------------------- */

/* Groups are all questions and each kind; `fill` gives the bar of a setting in a group. */
static s2_chart bars_of(chart_data *d)
{
    d->n_points = d->n_panels;
    for (int32_t i = 0; i < d->n_panels; i++) d->point[i] = i == 0 ? "all" : d->panel[i];
    d->n_panels = 1;
    return chart_of(d);
}

/* Named with its budget where there are several. */
static int32_t line_of(const s2_trials *t, chart_data *d, const s2a_setting *s)
{
    char label[S2_LABEL_SIZE];
    bool has_budgets = false;
    for (int32_t i = 0; i < t->n_settings; i++)
        has_budgets = has_budgets || (!s2a_keeps_all(&t->setting[i]) &&
                                      !s2a_budget_is_same(t->setting[i].budget, s->budget));
    return series_index(d, s2_setting_label(s, has_budgets, label));
}

s2p_status s2_analyze_retention(const s2_trials *t, s2_study *study, s2p_error *error)
{
    const int32_t full = full_of(t);
    if (full < 0) return s2_fail(error, S2P_EINVAL, "retention needs the method 'full'");
    chart_data *d = create(t, error);
    if (!d) return S2P_ENOMEM;
    s2p_status st = S2P_OK;
    for (int32_t s = 0; s < t->n_settings && st == S2P_OK; s++) {
        const int32_t random = s2_trials_find(t, "random", t->setting[s].budget);
        if (s == full || s == random || random < 0) continue;
        const int32_t line = line_of(t, d, &t->setting[s]);
        for (int32_t p = 0; p < d->n_panels && line >= 0 && st == S2P_OK; p++) {
            s2_rate whole, gap;
            st = s2_rate_of(t, full, S2_NO_SETTING, d->category[p], NULL, 1.0, &whole);
            if (st == S2P_OK && whole.value > 0.0)
                st = s2_rate_of(t, s, random, d->category[p], NULL, 100.0 / whole.value, &gap);
            if (st == S2P_OK && whole.value > 0.0) put_rate(d, line * MAX_POINTS + p, &gap);
        }
    }
    if (st == S2P_OK && d->n_series == 0)
        st =
            s2_fail(error, S2P_EINVAL, "retention needs 'random' and another method at its budget");
    if (st == S2P_OK) {
        s2_chart chart = bars_of(d);
        chart.name = "retention";
        chart.title = "Retention above Random";
        chart.caption =
            "Retained share of the full model's accuracy minus that of Random at the same "
            "budget, percentage points, with 95 % paired intervals over pictures (the "
            "paper's Figure 3).";
        chart.up = "retention minus Random (points)";
        s2_chart_bars(study, &chart);
        st = add_table(t, "retention_table",
                       "The scores behind it; 'against ref.' is against Random.", "random", study);
    }
    free(d);
    return st;
}

s2p_status s2_analyze_ablation(const s2_trials *t, s2_study *study, s2p_error *error)
{
    static const char *const names[] = { "ablation_allocators", "ablation_selectors" };
    static const char *const titles[] = { "Allocators", "Selectors" };
    static const char *const captions[] = { "What decides a region's share, with ERC choosing in "
                                            "the cells (the paper's Figure 7); percent "
                                            "right, 95 % intervals over pictures.",
                                            "What decides the token of a cell, with Laplacian "
                                            "shares (the paper's Table 4); percent right, "
                                            "95 % intervals over pictures." };
    s2p_status st = S2P_OK;
    for (int half = 0; half < 2 && st == S2P_OK; half++) {
        chart_data *d = create(t, error);
        if (!d) return S2P_ENOMEM;
        for (int32_t s = 0; s < t->n_settings && st == S2P_OK; s++) {
            const s2p_choice *c = &t->setting[s].choice;
            const bool is_usual_allocator = !c->allocator || strcmp(c->allocator, "laplacian") == 0;
            const bool is_usual_selector = !c->selector || strcmp(c->selector, "erc") == 0;
            if (strcmp(t->setting[s].method, "s2prune") != 0) continue;
            if (half == 0 ? !is_usual_selector : !is_usual_allocator) continue;
            const char *name = half == 0 ? c->allocator : c->selector;
            const int32_t line = series_index(d, name ? name : half == 0 ? "laplacian" : "erc");
            for (int32_t p = 0; p < d->n_panels && line >= 0 && st == S2P_OK; p++) {
                s2_rate rate;
                st = s2_rate_of(t, s, S2_NO_SETTING, d->category[p], NULL, 100.0, &rate);
                if (st == S2P_OK) put_rate(d, line * MAX_POINTS + p, &rate);
            }
        }
        if (st == S2P_OK && d->n_series > 1) {
            s2_chart chart = bars_of(d);
            chart.name = names[half];
            chart.title = titles[half];
            chart.caption = captions[half];
            chart.up = "right answers (%)";
            chart.from_zero = true;
            s2_chart_bars(study, &chart);
        }
        free(d);
    }
    if (st != S2P_OK) return st;
    return add_table(
        t, "ablation_table",
        "Allocators and selectors; 'against ref.' is the paired difference from S2Prune as "
        "published (Laplacian, ERC).",
        "s2prune", study);
}

/* --- heterogeneity ----------------------------------------------------------------------------------- */

/* Which third of the pictures by H_str each belongs to: 0, 1, 2; -1: unknown. */
static int32_t *thirds_of(const s2_trials *t, double edge[4])
{
    const int32_t n = t->n_pictures;
    int32_t *third = calloc((size_t)n + 1, sizeof *third), n_known = 0;
    double *sorted = calloc((size_t)n + 1, sizeof *sorted);
    for (int32_t i = 0; third && sorted && i < n; i++)
        if (isfinite(t->picture[i].heterogeneity)) sorted[n_known++] = t->picture[i].heterogeneity;
    if (!third || !sorted) {
        free(third);
        free(sorted);
        return NULL;
    }
    s2_sort_numbers(sorted, (size_t)n_known);
    for (int32_t i = 0; i < n; i++) {
        const double h = t->picture[i].heterogeneity;
        int32_t rank = 0;
        for (int32_t k = 0; k < n; k++) {
            const double other = t->picture[k].heterogeneity;
            rank += other < h || (other == h && k < i);
        }
        third[i] = isfinite(h) ? (int32_t)(3 * (int64_t)rank / n_known) : -1;
    }
    for (int32_t i = 0; i < 4 && n_known > 0; i++)
        edge[i] = s2_quantile(sorted, (size_t)n_known, i / 3.0);
    free(sorted);
    return third;
}

/* The scaffold at this budget with the rule `selector` in its cells; -1: none. */
static int32_t adaptive_of(const s2_trials *t, s2v_budget budget, const char *selector)
{
    for (int32_t s = 0; s < t->n_settings; s++) {
        const s2p_choice *c = &t->setting[s].choice;
        if (strcmp(t->setting[s].method, "s2prune") == 0 && c->selector &&
            strcmp(c->selector, selector) == 0 && s2a_budget_is_same(t->setting[s].budget, budget))
            return s;
    }
    return -1;
}

static s2p_status fill_thirds(const s2_trials *t, const int32_t *third, bool *wanted, chart_data *d,
                              s2_table *table)
{
    for (int32_t s = 0; s < t->n_settings; s++) {
        if (strcmp(t->setting[s].method, "equal-density") != 0) continue;
        char text[S2A_BUDGET_TEXT], label[S2_LABEL_SIZE];
        const int32_t adaptive = adaptive_of(t, t->setting[s].budget, "centre");
        if (adaptive < 0) continue;
        (void)snprintf(label, sizeof label, "B = %s", s2a_budget_text(t->setting[s].budget, text));
        const int32_t line = series_index(d, label);
        for (int32_t g = 0; g < 3 && line >= 0; g++) {
            s2_rate gain, equal;
            for (int32_t i = 0; i < t->n_pictures; i++) wanted[i] = third[i] == g;
            TRY(s2_rate_of(t, adaptive, s, S2_ALL_CATEGORIES, wanted, 100.0, &gain));
            TRY(s2_rate_of(t, s, S2_NO_SETTING, S2_ALL_CATEGORIES, wanted, 100.0, &equal));
            put_rate(d, line * MAX_POINTS + g, &gain);
            s2_table_text(table, text);
            s2_table_text(table, g == 0 ? "low" : g == 1 ? "medium" : "high");
            s2_table_number(table, equal.value);
            s2_table_number(table, equal.value + gain.value);
            s2_table_number(table, gain.value);
            s2_table_number(table, gain.low);
            s2_table_number(table, gain.high);
            s2_table_number(table, gain.n);
        }
    }
    return S2P_OK;
}

s2p_status s2_analyze_heterogeneity(const s2_trials *t, s2_study *study, s2p_error *error)
{
    static const char *const groups[] = { "low", "medium", "high" };
    double edge[4] = { 0 };
    chart_data *d = create(t, error);
    int32_t *third = thirds_of(t, edge);
    bool *wanted = calloc((size_t)t->n_pictures + 1, sizeof *wanted);
    s2p_status st = d && third && wanted ? S2P_OK : S2P_ENOMEM;
    if (st == S2P_OK) {
        s2_table *table =
            s2_study_table(study, "heterogeneity_table",
                           "Equal and adaptive density with the same rule in the cells "
                           "(their centre), by thirds of H_str: percent right and the "
                           "paired gain with its 95 % interval over pictures.");
        s2_table_column(table, "budget", "budget", S2_TEXT_COLUMN);
        s2_table_column(table, "third", "H_str", S2_TEXT_COLUMN);
        s2_table_column(table, "equal", "equal density", 1);
        s2_table_column(table, "adaptive", "adaptive", 1);
        s2_table_column(table, "gain", "gain", 2);
        s2_table_column(table, "gain_low", "low", 2);
        s2_table_column(table, "gain_high", "high", 2);
        s2_table_column(table, "questions", "questions", 0);
        st = fill_thirds(t, third, wanted, d, table);
    }
    if (st == S2P_OK && d->n_series == 0)
        st = s2_fail(error, S2P_EINVAL,
                     "heterogeneity needs 'equal-density' and the scaffold with centre tokens");
    if (st == S2P_OK) {
        char caption[384];
        d->n_panels = 1;
        d->n_points = 3;
        s2_chart chart = chart_of(d);
        (void)snprintf(
            caption, sizeof caption,
            "Gain of adaptive over equal density by thirds of structural heterogeneity "
            "(H_str up to %.2f, %.2f and %.2f), with 95 %% paired intervals over pictures "
            "(the paper's Figure 5).",
            edge[1], edge[2], edge[3]);
        chart.name = "heterogeneity";
        chart.title = "Gain by heterogeneity";
        chart.caption = caption;
        chart.point = groups;
        chart.across = "structural heterogeneity";
        chart.up = "gain (points)";
        s2_chart_bars(study, &chart);
    }
    free(d);
    free(third);
    free(wanted);
    return st;
}
