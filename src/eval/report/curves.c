/* curves.c - a panel for each benchmark, tokens across on a scale of doublings, its number up.
 *
 * What is drawn is the number of the tables, in its own unit: POPE's F1, MME's total of 2800. So each
 * panel has its own scale. More methods than one panel can show get small panels, benchmark by
 * benchmark.
 */
#include "eval/report/documents.h"

#include "eval/figure/charts.h"
#include "eval/judging.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TITLE 120
#define DESCRIPTION                                                                           \
    "The number of each benchmark over the visual tokens kept, one line for each method, 95 " \
    "percent intervals; dashed: every token."

typedef struct curves { /* the arrays behind a chart */
    const s2e_results *results;
    char label[S2A_MAX_SETTINGS][S2_TITLE_SIZE], title[S2E_MAX_TASKS][TITLE];
    const char *series[S2A_MAX_SETTINGS], *panel[S2E_MAX_TASKS];
    double x[S2A_MAX_SETTINGS], level[S2E_MAX_TASKS];
    double *y, *low, *high; /* [n_panels][n_series][n_points] */
    int32_t n_series, n_points, n_panels;
    int32_t task[S2E_MAX_TASKS]; /* of the panels: those with something to show */
} curves;

static bool is_pruned(const s2e_result *r)
{
    return !s2a_budget_is_none(r->budget) && r->image_tokens >= 1.0;
}

static int32_t series_of(const curves *c, const s2e_result *r)
{
    char title[S2_TITLE_SIZE];
    int32_t i = 0;
    (void)s2_title_of(r->column.label, title);
    while (i < c->n_series && strcmp(c->label[i], title) != 0) i++;
    return i;
}

static int32_t point_of(const curves *c, const s2e_result *r)
{
    int32_t i = 0;
    while (i < c->n_points && c->x[i] < rint(r->image_tokens)) i++;
    return i;
}

static void add_point(curves *c, const s2e_result *r)
{
    const int32_t at = point_of(c, r);
    if (at < c->n_points && c->x[at] == rint(r->image_tokens)) return;
    if (c->n_points == S2A_MAX_SETTINGS) return;
    for (int32_t i = c->n_points++; i > at; i--) c->x[i] = c->x[i - 1];
    c->x[at] = rint(r->image_tokens);
}

/* The methods and budgets of all tasks. */
static void list(curves *c)
{
    for (int32_t t = 0; t < c->results->n_tasks; t++) {
        const s2e_task_results *task = &c->results->task[t];
        bool has_any = false;
        for (int32_t i = 0; i < task->n_results; i++) {
            const s2e_result *r = &task->result[i];
            if (!is_pruned(r)) continue;
            has_any = true;
            add_point(c, r);
            const int32_t s = series_of(c, r);
            if (s < c->n_series) continue;
            c->series[s] = s2_title_of(r->column.label, c->label[s]);
            c->n_series++;
        }
        if (has_any) c->task[c->n_panels++] = t;
    }
}

static void entitle(curves *c, int32_t p)
{
    const s2e_task_results *task = &c->results->task[c->task[p]];
    const s2e_figure *figure = s2e_headline(&task->result[0].figures[c->results->protocol]);
    char unit[24] = "%";
    if (figure && figure->best != 100.0) (void)snprintf(unit, sizeof unit, "of %.0f", figure->best);
    (void)snprintf(c->title[p], TITLE, "%.60s: %.40s (%s)", task->task->title,
                   figure ? figure->name : "score", unit);
    c->panel[p] = c->title[p];
}

static s2p_status fill_panel(curves *c, int32_t p)
{
    const s2e_task_results *task = &c->results->task[c->task[p]];
    for (int32_t i = 0; i < task->n_results; i++) {
        const s2e_result *r = &task->result[i];
        s2e_interval v;
        TRY(s2e_headline_interval(task, c->results->protocol, r, NULL, &v));
        if (s2a_budget_is_none(r->budget)) c->level[p] = v.value;
        if (!is_pruned(r)) continue;
        const int32_t at = (p * c->n_series + series_of(c, r)) * c->n_points + point_of(c, r);
        c->y[at] = v.value;
        c->low[at] = v.low;
        c->high[at] = v.high;
    }
    return S2P_OK;
}

static void release(curves *c)
{
    if (c) free(c->y);
    free(c);
}

static s2p_status prepare(const s2e_results *results, curves **out, s2p_error *error)
{
    curves *c = *out = calloc(1, sizeof *c);
    if (!c) return s2_fail_memory(error, sizeof *c, "the curves");
    c->results = results;
    list(c);
    const size_t n = (size_t)c->n_panels * (size_t)c->n_series * (size_t)c->n_points;
    c->y = calloc(3 * n + 1, sizeof *c->y);
    if (!c->y) return s2_fail_memory(error, 3 * n * sizeof *c->y, "the curves");
    for (size_t i = 0; i < 3 * n; i++) c->y[i] = (double)NAN;
    c->low = c->y + n;
    c->high = c->low + n;
    for (int32_t p = 0; p < c->n_panels; p++) {
        c->level[p] = (double)NAN;
        entitle(c, p);
        if (fill_panel(c, p) != S2P_OK) return s2_fail_memory(error, 1, "the intervals");
    }
    return S2P_OK;
}

static s2_chart chart_of(const curves *c)
{
    s2_chart chart = { .title = "Accuracy by budget",
                       .caption = DESCRIPTION,
                       .across = "visual tokens kept",
                       .n_panels = c->n_panels,
                       .panel = c->panel,
                       .n_series = c->n_series,
                       .series = c->series,
                       .n_points = c->n_points,
                       .x = c->x,
                       .is_log = true,
                       .y = c->y,
                       .low = c->low,
                       .high = c->high,
                       .level = c->level,
                       .level_word = "all tokens",
                       .has_own_scales = true };
    if (c->n_panels == 1 && !s2_chart_is_crowded(&chart)) chart.up = c->panel[0];
    return chart;
}

/* Panels first to last - 1 below each other, as small multiples. */
static void draw_crowd(const s2_chart *chart, int32_t first, int32_t last, s2_buffer *out)
{
    const double step = s2_multiples_height(chart, S2_PLOT_PAGE) + 8.0;
    s2_plot plot;
    s2_plot_begin(&plot, out, S2_PLOT_PAGE, (last - first) * step, chart->title, chart->caption);
    for (int32_t p = first; p < last; p++) s2_plot_multiples(&plot, chart, p, (p - first) * step);
    s2_plot_end(&plot);
}

static s2p_status draw_all(const curves *c, s2_buffer *out)
{
    const s2_chart chart = chart_of(c);
    s2_plot plot;
    if (c->n_panels > 0 && s2_chart_is_crowded(&chart)) {
        draw_crowd(&chart, 0, c->n_panels, out);
        return out->status;
    }
    if (c->n_panels > 0) return s2_figure_lines(&chart, S2_PLOT_PAGE, out);
    s2_plot_begin(&plot, out, S2_PLOT_PAGE, 40.0, chart.title, chart.caption);
    s2_plot_text(&plot, 8.0, 24.0, "start", S2_LETTERS_PLAIN, "Nothing was pruned in this run.");
    s2_plot_end(&plot);
    return out->status;
}

s2p_status s2e_curves_write(const s2e_results *results, s2_buffer *out, s2p_error *error)
{
    curves *c;
    s2p_status st = prepare(results, &c, error);
    if (st == S2P_OK) st = draw_all(c, out);
    if (st == S2P_ENOMEM) (void)s2_fail_memory(error, 1, "the curves");
    release(c);
    return st;
}

s2p_status s2e_curves_page(const s2e_results *results, s2_buffer *out, s2p_error *error)
{
    curves *c;
    s2p_status st = prepare(results, &c, error);
    const s2_chart chart = st == S2P_OK ? chart_of(c) : (s2_chart){ .name = NULL };
    const bool is_crowd = st == S2P_OK && s2_chart_is_crowded(&chart);
    for (int32_t p = 0; is_crowd && p < c->n_panels; p++) {
        s2_buffer_printf(out, "<figure>\n");
        draw_crowd(&chart, p, p + 1, out);
        s2_buffer_printf(out, "</figure>\n");
    }
    if (st == S2P_OK && !is_crowd && c->n_panels > 0) {
        s2_buffer_printf(out, "<figure>\n");
        st = draw_all(c, out);
        s2_buffer_printf(out, "</figure>\n");
    }
    if (st == S2P_ENOMEM) (void)s2_fail_memory(error, 1, "the curves");
    release(c);
    return st;
}

static s2p_status write_curves(const s2e_report_input *in, s2_buffer *out, s2p_error *error)
{
    return s2e_curves_write(in->results, out, error);
}

const s2e_document document_curves = { "curves.svg", write_curves };
