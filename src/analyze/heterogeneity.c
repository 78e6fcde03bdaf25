/* heterogeneity.c - Sec. 3.4: when is equal density too little? Gains by thirds of H_str.
 *
 * H_str is that of the regions a setting has: it is measured for every picture on the picture's own
 * grid of tokens, with the K of the budget. Pictures of one benchmark are put into thirds by it, so
 * two budgets with different K have different thirds. The gain of a third is the difference of the
 * benchmark's number over its questions; over several benchmarks it is their mean, as in Figure 5.
 */
#include "analyze/analyses.h"

#include "analyze/figure_data.h"
#include "analyze/sources/sources.h"
#include "base/error.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct pair { /* two settings that differ in the density alone */
    int32_t equal, adaptive;
} pair;

typedef struct thirds { /* of the pictures under one pair */
    double *h;          /* [n_pictures]; NaN: not known */
    int32_t *third;     /* [n_pictures] 0, 1, 2; -1: H_str is not known */
    bool *wanted;       /* [n_pictures] scratch */
    int32_t n_unknown;  /* too small to be measured, or of an unknown grid */
} thirds;

/* --- which settings --------------------------------------------------------------------------- */

static bool has(const s2a_setting *s, const char *allocator, const char *selector)
{
    const char *a = s->choice.allocator ? s->choice.allocator : s2p_allocator_name(0);
    const char *b = s->choice.selector ? s->choice.selector : s2p_selector_name(0);
    return strcmp(s->method, "s2prune") == 0 && strcmp(a, allocator) == 0 &&
           strcmp(b, selector) == 0;
}

static bool is_equal(const s2a_setting *s)
{
    return strcmp(s->method, "equal-density") == 0 || has(s, "uniform", "centre");
}

/* Finds the equal-density partner of the setting; false: the setting is of another method, or has no partner. */
static bool pair_of(const s2_trials *t, int32_t equal, pair *out)
{
    const s2a_setting *e = &t->setting[equal];
    for (int32_t s = 0; s < t->n_settings && is_equal(e); s++) {
        const s2a_setting *a = &t->setting[s];
        if (!has(a, "laplacian", "centre") || !s2a_budget_is_same(a->budget, e->budget) ||
            a->choice.side != e->choice.side)
            continue;
        *out = (pair){ equal, s };
        return true;
    }
    return false;
}

/* --- thirds ------------------------------------------------------------------------------------ */

static int32_t side_of(const s2a_setting *s, s2p_grid grid)
{
    return s->choice.side > 0
               ? s->choice.side
               : s2p_coarse_side(grid, s2a_budget_tokens(s->budget, grid.rows * grid.cols));
}

static s2p_status measure(const s2_trials *t, int32_t picture, const s2a_setting *s, double *out,
                          s2p_error *error)
{
    const s2_trial_picture *p = &t->picture[picture];
    const s2_trial_structure *known = &p->structure;
    *out = (double)NAN;
    if (p->grid.rows < 1) return S2P_OK;
    const int32_t side = side_of(s, p->grid);
    if (known->side == side && known->grid.rows == p->grid.rows &&
        known->grid.cols == p->grid.cols) {
        *out = known->value;
        return S2P_OK;
    }
    s2_image image;
    TRY(s2_trials_load(t, picture, &image, error));
    const s2p_status st = s2_measure_heterogeneity(&image.view, p->grid, side, out);
    s2_image_free(&image);
    if (st == S2P_EUNSUPPORTED) *out = (double)NAN; /* too small: the method spreads evenly */
    return st == S2P_OK || st == S2P_EUNSUPPORTED
               ? S2P_OK
               : s2_fail(error, st, "H_str of %.200s: %s", p->file, s2p_status_text(st));
}

typedef struct ranked {
    double h;
    int32_t picture;
} ranked;

static int compare_ranked(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->h != y->h) return x->h < y->h ? -1 : 1;
    return (x->picture > y->picture) - (x->picture < y->picture);
}

/* Each benchmark by itself: the first third are those of rank below n / 3. */
static s2p_status split(const s2_trials *t, thirds *d, s2p_error *error)
{
    ranked *list = malloc(((size_t)t->n_pictures + 1) * sizeof *list);
    if (!list) return s2_fail_memory(error, (size_t)t->n_pictures * sizeof *list, "the thirds");
    for (int32_t part = 0; part < t->n_parts; part++) {
        int32_t n = 0;
        for (int32_t i = 0; i < t->n_pictures; i++)
            if (t->picture[i].part == part && isfinite(d->h[i])) list[n++] = (ranked){ d->h[i], i };
        qsort(list, (size_t)n, sizeof *list, compare_ranked);
        for (int32_t k = 0; k < n; k++) d->third[list[k].picture] = (int32_t)(3 * (int64_t)k / n);
    }
    free(list);
    return S2P_OK;
}

static s2p_status split_by(const s2_trials *t, const s2a_setting *s, thirds *d, s2p_error *error)
{
    d->n_unknown = 0;
    for (int32_t i = 0; i < t->n_pictures; i++) {
        d->third[i] = -1;
        TRY(measure(t, i, s, &d->h[i], error));
        d->n_unknown += isnan(d->h[i]);
    }
    if (d->n_unknown < t->n_pictures) return split(t, d, error);
    return s2_fail(error, S2P_EINVAL,
                   "H_str is not known for any picture: they are too small to measure, or the "
                   "answers do not say how many tokens they had");
}

/* --- numbers ------------------------------------------------------------------------------------ */

typedef struct drawing {
    const s2_trials *trials;
    thirds *thirds;
    s2_table *table;
    s2_figure_data *data; /* panels: the mean, then every benchmark */
    int32_t n_panels;
} drawing;

static const char *const groups[] = { "low", "medium", "high" };

static void range_of(const drawing *d, int32_t part, int32_t third, double *from, double *to)
{
    const s2_trials *t = d->trials;
    *from = *to = (double)NAN;
    for (int32_t i = 0; i < t->n_pictures; i++) {
        if ((part >= 0 && t->picture[i].part != part) || d->thirds->third[i] != third) continue;
        *from = fmin(*from, d->thirds->h[i]);
        *to = fmax(*to, d->thirds->h[i]);
    }
}

/* A row: one third of a benchmark (part -1: the mean of all) under a pair. */
static s2p_status add_row(const drawing *d, const pair *two, int32_t panel, int32_t line,
                          int32_t third)
{
    const s2_trials *t = d->trials;
    const s2a_setting *s = &t->setting[two->equal];
    const int32_t part = t->n_parts > 1 ? panel - 1 : 0;
    const s2_scope scope = { part < 0 ? S2_ALL_PARTS : part, S2_ALL_CATEGORIES, d->thirds->wanted };
    char budget[S2A_BUDGET_TEXT], regions[24];
    s2_rate equal, adaptive, gain;
    double from, to;
    int32_t n_pictures = 0;
    for (int32_t i = 0; i < t->n_pictures; i++) {
        d->thirds->wanted[i] = d->thirds->third[i] == third;
        n_pictures += d->thirds->wanted[i] && (part < 0 || t->picture[i].part == part);
    }
    TRY(s2_rate_percent(t, two->equal, S2_NO_SETTING, scope, &equal));
    TRY(s2_rate_percent(t, two->adaptive, S2_NO_SETTING, scope, &adaptive));
    TRY(s2_rate_percent(t, two->adaptive, two->equal, scope, &gain));
    s2_figure_put(d->data, panel, line, third, &gain);
    range_of(d, part, third, &from, &to);
    const int32_t side = side_of(s, t->grid);
    if (t->has_grids && !s->choice.side)
        (void)snprintf(regions, sizeof regions, "of each grid");
    else
        (void)snprintf(regions, sizeof regions, "%dx%d", side, side);
    s2_table_text(d->table, part < 0 ? "mean" : t->part[part].name);
    s2_table_text(d->table, s2a_budget_text(s->budget, budget));
    s2_table_text(d->table, regions);
    s2_table_text(d->table, groups[third]);
    s2_table_number(d->table, part < 0 ? (double)NAN : from);
    s2_table_number(d->table, part < 0 ? (double)NAN : to);
    s2_table_number(d->table, equal.value);
    s2_table_number(d->table, adaptive.value);
    s2_table_number(d->table, gain.value);
    s2_table_number(d->table, gain.low);
    s2_table_number(d->table, gain.high);
    s2_table_number(d->table, gain.n);
    s2_table_number(d->table, n_pictures);
    return S2P_OK;
}

static s2p_status add_pair(const drawing *d, const pair *two, s2_study *study, s2p_error *error)
{
    const s2_trials *t = d->trials;
    const s2a_setting *s = &t->setting[two->equal];
    char text[S2A_BUDGET_TEXT], label[S2_LABEL_SIZE], note[S2_LABEL_SIZE + 160];
    int32_t line;
    (void)s2a_budget_text(s->budget, text);
    if (s->choice.side > 0)
        (void)snprintf(label, sizeof label, "B = %s, K = %d", text, s->choice.side);
    else
        (void)snprintf(label, sizeof label, "B = %s", text);
    TRY(s2_figure_line(d->data, label, &line, error));
    TRY(split_by(t, s, d->thirds, error));
    if (d->thirds->n_unknown > 0) {
        (void)snprintf(note, sizeof note,
                       "%s: H_str is not known for %d of %d pictures, which are not in any third.",
                       label, d->thirds->n_unknown, t->n_pictures);
        s2_study_note(study, note);
    }
    for (int32_t panel = 0; panel < d->n_panels; panel++)
        for (int32_t g = 0; g < 3; g++) TRY(add_row(d, two, panel, line, g));
    return S2P_OK;
}

static void add_columns(s2_table *table)
{
    s2_table_column(table, "benchmark", "benchmark", S2_TEXT_COLUMN);
    s2_table_column(table, "budget", "budget", S2_TEXT_COLUMN);
    s2_table_column(table, "regions", "regions", S2_TEXT_COLUMN);
    s2_table_column(table, "third", "H_str", S2_TEXT_COLUMN);
    s2_table_column(table, "h_from", "from", 3);
    s2_table_column(table, "h_to", "to", 3);
    s2_table_column(table, "equal", "equal density", 1);
    s2_table_column(table, "adaptive", "adaptive", 1);
    s2_table_column(table, "gain", "gain", 2);
    s2_table_column(table, "gain_low", "low", 2);
    s2_table_column(table, "gain_high", "high", 2);
    s2_table_column(table, "questions", "questions", 0);
    s2_table_column(table, "pictures", "pictures", 0);
}

/* --- figures ------------------------------------------------------------------------------------- */

/* A chart for each panel: bars have one. */
static s2p_status draw_panel(const drawing *d, int32_t panel, s2_study *study, s2p_error *error)
{
    const s2_trials *t = d->trials;
    const int32_t part = t->n_parts > 1 ? panel - 1 : 0;
    s2_figure_data *one = s2_figure_data_create(t, error);
    char name[96], title[160], caption[512];
    s2_chart chart;
    if (!one) return S2P_ENOMEM;
    one->n_series = d->data->n_series;
    memcpy(one->series, d->data->series, sizeof one->series);
    one->n_panels = 1;
    one->n_points = 3;
    const size_t n = sizeof one->y / S2_FIGURE_PANELS; /* bytes of a panel */
    const size_t from = (size_t)panel * S2_FIGURE_LINES * S2_FIGURE_POINTS;
    memcpy(one->y, d->data->y + from, n);
    memcpy(one->low, d->data->low + from, n);
    memcpy(one->high, d->data->high + from, n);
    (void)snprintf(name, sizeof name, "heterogeneity%s%s", part < 0 || t->n_parts < 2 ? "" : "_",
                   part < 0 || t->n_parts < 2 ? "" : t->part[part].name);
    char mean[64];
    (void)snprintf(mean, sizeof mean, "mean of %d benchmarks", t->n_parts);
    const char *of = part < 0 ? mean : t->part[part].title;
    (void)snprintf(title, sizeof title, "Gain by heterogeneity%s%s", of[0] ? ", " : "", of);
    (void)snprintf(
        caption, sizeof caption,
        "Gain of adaptive over equal density by thirds of structural heterogeneity, "
        "points of %s, with 95 %% paired intervals over pictures (the paper's Figure 5). "
        "H_str is measured on the regions of each budget.",
        part < 0                  ? "the benchmarks' numbers in percent, their mean"
        : t->part[part].metric[0] ? t->part[part].metric
                                  : "percent right");
    const s2p_status st = s2_figure_chart(one, name, &chart, error);
    if (st == S2P_OK) {
        chart.name = name;
        chart.title = title;
        chart.caption = caption;
        chart.point = groups;
        chart.across = "structural heterogeneity";
        chart.up = "gain (points)";
        chart.is_percent = false;
        s2_chart_bars(study, &chart);
    }
    free(one);
    return st;
}

static s2p_status analyze(drawing *d, s2_study *study, s2p_error *error)
{
    const s2_trials *t = d->trials;
    pair two;
    for (int32_t s = 0; s < t->n_settings; s++)
        if (pair_of(t, s, &two)) TRY(add_pair(d, &two, study, error));
    if (d->data->n_series == 0)
        return s2_fail(error, S2P_EINVAL,
                       "heterogeneity needs 'equal-density' and the scaffold with centre tokens");
    for (int32_t panel = 0; panel < d->n_panels; panel++) TRY(draw_panel(d, panel, study, error));
    return S2P_OK;
}

s2p_status s2_analyze_heterogeneity(const s2_trials *t, s2_study *study, s2p_error *error)
{
    const size_t n = (size_t)t->n_pictures + 1;
    thirds d = { calloc(n, sizeof *d.h), calloc(n, sizeof *d.third), calloc(n, sizeof *d.wanted),
                 0 };
    drawing made = { t, &d, NULL, s2_figure_data_create(t, error),
                     t->n_parts > 1 ? 1 + t->n_parts : 1 };
    s2p_status st = d.h && d.third && d.wanted && made.data
                        ? S2P_OK
                        : s2_fail_memory(error, n * sizeof *d.h, "the thirds");
    if (st == S2P_OK) {
        made.table = s2_study_table(
            study, "heterogeneity_table",
            "Equal and adaptive density with the same rule in the cells (their centre), by thirds "
            "of H_str: the benchmark's number in percent of the largest possible, and the paired "
            "gain with its 95 % interval over pictures. Thirds are of the pictures of a benchmark, "
            "by H_str on the regions of the budget.");
        add_columns(made.table);
        st = analyze(&made, study, error);
    }
    free(d.h);
    free(d.third);
    free(d.wanted);
    free(made.data);
    return st;
}
