/* figure_data.c - numbers put anywhere, then closed up for the chart. */
#include "analyze/figure_data.h"

#include "base/error.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_KINDS 8 /* of one benchmark */

static void name_panel(const s2_trials *t, int32_t i, s2_figure_data *d)
{
    const s2_scope scope = d->scope[i];
    const s2_trial_part *part = t->n_parts > 0 ? &t->part[scope.part < 0 ? 0 : scope.part] : NULL;
    const char *name = s2_scope_name(t, scope), *metric = part ? part->metric : "";
    if (i == 0 && t->n_parts > 1)
        (void)snprintf(d->title[i], sizeof d->title[i], "mean of %d benchmarks", t->n_parts);
    else if (t->n_parts > 1 && metric[0])
        (void)snprintf(d->title[i], sizeof d->title[i], "%s (%s)", name, metric);
    else
        (void)snprintf(d->title[i], sizeof d->title[i], "%s", name);
    d->panel[i] = d->title[i];
    if (!(i == 0 && t->n_parts > 1) && part && part->best > 0.0 && part->best != 100.0)
        d->is_percent = false;
}

s2_figure_data *s2_figure_data_create(const s2_trials *t, s2p_error *error)
{
    s2_figure_data *d = calloc(1, sizeof *d);
    int32_t n_all;
    if (!d) {
        (void)s2_fail_memory(error, sizeof *d, "the figure");
        return NULL;
    }
    for (int32_t i = 0; i < S2_FIGURE_CELLS; i++) d->y[i] = d->low[i] = d->high[i] = (double)NAN;
    for (int32_t i = 0; i < S2_FIGURE_PANELS; i++) d->level[i] = (double)NAN;
    const int32_t most = t->n_parts > 1 ? S2_FIGURE_PANELS - 1 : MOST_KINDS;
    d->scope[0] = S2_EVERYTHING;
    d->n_panels = 1 + s2_rate_scopes(t, most, d->scope + 1, &n_all);
    if (d->n_panels == 2) d->n_panels = 1; /* one kind is all there is */
    d->is_percent = true;
    for (int32_t i = 0; i < d->n_panels; i++) name_panel(t, i, d);
    return d;
}

s2p_status s2_figure_line(s2_figure_data *d, const char *label, int32_t *out, s2p_error *error)
{
    for (*out = 0; *out < d->n_series; ++*out)
        if (strcmp(d->series[*out], label) == 0) return S2P_OK;
    if (d->n_series == S2_FIGURE_LINES)
        return s2_fail(error, S2P_ELIMIT,
                       "more than %d settings in one figure; name fewer with --methods",
                       S2_FIGURE_LINES);
    (void)snprintf(d->text[d->n_series], S2_LABEL_SIZE, "%s", label);
    d->series[d->n_series] = d->text[d->n_series];
    *out = d->n_series++;
    return S2P_OK;
}

s2p_status s2_figure_point(s2_figure_data *d, double x, int32_t *out, s2p_error *error)
{
    for (*out = 0; *out < d->n_points; ++*out)
        if (d->x[*out] == x) return S2P_OK;
    if (d->n_points == S2_FIGURE_POINTS)
        return s2_fail(error, S2P_ELIMIT,
                       "more than %d budgets or sizes in one figure; name fewer with --budgets",
                       S2_FIGURE_POINTS);
    int32_t at = d->n_points++;
    for (; at > 0 && d->x[at - 1] > x; at--) d->x[at] = d->x[at - 1];
    d->x[at] = x;
    *out = at;
    return S2P_OK;
}

static size_t cell(int32_t panel, int32_t line, int32_t point)
{
    return ((size_t)panel * S2_FIGURE_LINES + (size_t)line) * S2_FIGURE_POINTS + (size_t)point;
}

void s2_figure_put(s2_figure_data *d, int32_t panel, int32_t line, int32_t point,
                   const s2_rate *rate)
{
    const size_t at = cell(panel, line, point);
    d->y[at] = rate->value;
    d->low[at] = rate->low;
    d->high[at] = rate->high;
}

void s2_figure_groups(s2_figure_data *d)
{
    d->n_points = d->n_panels;
    for (int32_t i = 0; i < d->n_panels; i++) d->point[i] = d->panel[i];
    if (d->scope[0].part == S2_ALL_PARTS && d->n_panels > 1 && d->scope[1].category < 0)
        d->point[0] = "mean";
    d->n_panels = 1;
}

/* From [LINES][POINTS] to as many as there are. */
static void close_up(const s2_figure_data *d, double *list)
{
    size_t at = 0;
    for (int32_t p = 0; p < d->n_panels; p++)
        for (int32_t s = 0; s < d->n_series; s++)
            for (int32_t i = 0; i < d->n_points; i++) list[at++] = list[cell(p, s, i)];
}

s2p_status s2_figure_chart(s2_figure_data *d, const char *what, s2_chart *out, s2p_error *error)
{
    bool is_any = false;
    close_up(d, d->y);
    close_up(d, d->low);
    close_up(d, d->high);
    const size_t n = (size_t)d->n_panels * (size_t)d->n_series * (size_t)d->n_points;
    for (size_t i = 0; i < n; i++) is_any = is_any || isfinite(d->y[i]);
    *out = (s2_chart){ .n_panels = d->n_panels,
                       .panel = d->panel,
                       .n_series = d->n_series,
                       .series = d->series,
                       .n_points = d->n_points,
                       .point = d->point,
                       .x = d->x,
                       .y = d->y,
                       .low = d->low,
                       .high = d->high,
                       .level = d->level,
                       .is_percent = d->is_percent };
    if (is_any) return S2P_OK;
    return s2_fail(error, S2P_EINVAL, "nothing to draw for '%s': no number of these data is known",
                   what);
}
