/* charts.c - panels, axes and legends of whole figures. */
#include "analyze/charts.h"

#include "analyze/plot.h"

#include <math.h>
#include <string.h>

#define APART 4.0 /* pixels between series at one place */

/* The values of panel p and the ends of their intervals. */
static void widen(const s2_chart *c, int32_t p, double *low, double *high)
{
    const int32_t n = c->n_series * c->n_points;
    for (int32_t i = p * n; i < (p + 1) * n; i++) {
        const double ends[3] = { c->y[i], c->low ? c->low[i] : (double)NAN,
                                 c->high ? c->high[i] : (double)NAN };
        for (int k = 0; k < 3; k++) {
            if (!isfinite(ends[k])) continue;
            if (!(*low <= ends[k])) *low = ends[k];
            if (!(*high >= ends[k])) *high = ends[k];
        }
    }
    if (c->level && isfinite(c->level[p])) {
        if (!(*low <= c->level[p])) *low = c->level[p];
        if (!(*high >= c->level[p])) *high = c->level[p];
    }
}

static s2_series series_of(const s2_chart *c, int32_t p, int32_t s, const double *x)
{
    const int32_t at = (p * c->n_series + s) * c->n_points;
    return (s2_series){ c->n_points, x, c->y + at, c->low ? c->low + at : NULL,
                        c->high ? c->high + at : NULL };
}

/* How far aslant names reach below the axis. */
static double names_height(const s2_chart *c, double width)
{
    size_t longest = 0;
    for (int32_t i = 0; i < c->n_points; i++)
        if (strlen(c->point[i]) > longest) longest = strlen(c->point[i]);
    const double wide = 5.9 * (double)longest;
    return wide < width / c->n_points - 4.0 ? 20.0 : 18.0 + 0.65 * wide;
}

void s2_chart_bars(s2_study *study, const s2_chart *c)
{
    const double width = fmin(1000.0, fmax(420.0, 22.0 * c->n_points * c->n_series + 120.0));
    const double plot_width = width - 90.0, deep = names_height(c, plot_width);
    const double legend = 18.0 * ceil(c->n_series / fmax(1.0, floor(plot_width / 130.0)));
    double low = (double)NAN, high = (double)NAN;
    widen(c, 0, &low, &high);
    if (c->from_zero || !(low < 0.0)) low = fmin(isfinite(low) ? low : 0.0, 0.0);
    if (!(high > 0.0)) high = 0.0;
    const double ends[2] = { low, high };
    s2_plot_range(ends, 2, &low, &high);
    s2_buffer *out = s2_study_figure(study, c->name, c->caption);
    s2_plot plot;
    s2_plot_begin(&plot, out, width, 24.0 + 230.0 + deep + 44.0 + legend, c->title, c->caption);
    double x[256];
    for (int32_t i = 0; i < c->n_points && i < 256; i++) x[i] = i;
    const s2_panel panel = {
        .x = 68.0,
        .y = 24.0,
        .width = plot_width,
        .height = 230.0,
        .across = { .label = c->across, .n_names = c->n_points, .name = c->point },
        .up = { .label = c->up, .low = low, .high = high }
    };
    s2_plot_panel(&plot, &panel);
    for (int32_t s = 0; s < c->n_series; s++) {
        const s2_series series = series_of(c, 0, s, x);
        s2_plot_bars(&plot, &panel, &series, s, c->n_series);
    }
    (void)s2_plot_legend(&plot, 68.0, 24.0 + 230.0 + deep + 38.0, plot_width, c->series,
                         c->n_series, true);
    s2_plot_end(&plot);
}

void s2_chart_lines(s2_study *study, const s2_chart *c)
{
    const int32_t columns = c->n_panels < 3 ? c->n_panels : 3;
    const int32_t lines = (c->n_panels + columns - 1) / columns;
    const bool is_single = c->n_panels == 1;
    const double wide = is_single ? 520.0 : 230.0, tall = is_single ? 280.0 : 150.0;
    const double width = 24.0 + columns * (wide + 70.0), step = tall + 74.0;
    const double legend = 18.0 * ceil(c->n_series / fmax(1.0, floor((width - 70.0) / 140.0)));
    s2_buffer *out = s2_study_figure(study, c->name, c->caption);
    s2_plot plot;
    s2_plot_begin(&plot, out, width, 16.0 + lines * step + 14.0 + legend, c->title, c->caption);
    double ends[2] = { c->x[0], c->x[0] };
    for (int32_t i = 1; i < c->n_points; i++) {
        ends[0] = fmin(ends[0], c->x[i]);
        ends[1] = fmax(ends[1], c->x[i]);
    }
    const bool is_point = !(ends[1] > ends[0]); /* one alone stands in the middle */
    const double gap = c->is_log ? (is_point ? 2.0 : pow(ends[1] / ends[0], 0.05))
                                 : (is_point ? 1.0 : 0.05 * (ends[1] - ends[0]));
    for (int32_t p = 0; p < c->n_panels; p++) {
        double low = (double)NAN, high = (double)NAN;
        widen(c, p, &low, &high);
        const double range[2] = { low, high };
        s2_plot_range(range, 2, &low, &high);
        if (c->is_percent) {
            high = fmin(high, 100.0);
            low = fmin(low, high - 10.0);
        }
        const s2_panel panel = {
            .x = 66.0 + (p % columns) * (wide + 70.0),
            .y = 30.0 + (p / columns) * step,
            .width = wide,
            .height = tall,
            .title = is_single ? NULL : c->panel[p],
            .across = { .label = p / columns == lines - 1 || p + columns >= c->n_panels ? c->across
                                                                                        : NULL,
                        .low = c->is_log ? ends[0] / gap : ends[0] - gap,
                        .high = c->is_log ? ends[1] * gap : ends[1] + gap,
                        .is_log = c->is_log,
                        .n_ticks = c->n_points,
                        .tick = c->x },
            .up = { .label = p % columns == 0 ? c->up : NULL, .low = low, .high = high }
        };
        s2_plot_panel(&plot, &panel);
        if (c->level) s2_plot_level(&plot, &panel, c->level[p]);
        for (int32_t s = 0; s < c->n_series; s++) {
            const s2_series series = series_of(c, p, s, c->x);
            s2_panel beside = panel; /* intervals at one place stand side by side */
            beside.x += APART * (s - 0.5 * (c->n_series - 1));
            s2_plot_line(&plot, &beside, &series, s);
        }
    }
    const double legend_y = 16.0 + lines * step + 8.0;
    double legend_x = 66.0;
    if (c->level && c->level_word)
        legend_x += s2_plot_legend_level(&plot, legend_x, legend_y, c->level_word);
    (void)s2_plot_legend(&plot, legend_x, legend_y, width - legend_x - 4.0, c->series, c->n_series,
                         false);
    s2_plot_end(&plot);
}
