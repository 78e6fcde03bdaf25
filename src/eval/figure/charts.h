/* charts.h - whole figures of the two kinds most analyses want. */
#ifndef S2_EVAL_FIGURE_CHARTS_H
#define S2_EVAL_FIGURE_CHARTS_H

#include "eval/figure/plot.h"

#include <stdbool.h>

typedef struct s2_chart {
    const char *name, *title, *caption;
    const char *across, *up; /* labels of the axes */
    int32_t n_panels;        /* lines: charts side by side; bars: 1 */
    const char *const *panel;
    int32_t n_series;
    const char *const *series; /* methods have the look of look.h, other words one by their order */
    int32_t n_points;          /* of a series in a panel */
    const char *const *point;  /* bars: names of the groups */
    const double *x;           /* lines: [n_points] */
    bool is_log;               /* lines: x doubles rather than adds */
    const double *y, *low, *high; /* [n_panels][n_series][n_points]; NaN: nothing there */
    const double *level;          /* lines: [n_panels] a dashed line; NULL: none */
    const char *level_word;
    bool from_zero;  /* bars that may be compared by length */
    bool is_percent; /* of right answers: no axis above 100, none shorter than 10 points */
    /* Of the axis up, so that several figures can share it: see s2_chart_range. NULL: of this chart's
     * own values. */
    const double *range;
    bool has_own_scales; /* lines: the panels are in different units */
} s2_chart;

/* The values, intervals and levels of a chart: widens range[2], which is { NAN, NAN } before the first
 * of several charts that shall have one scale. */
void s2_chart_widen(const s2_chart *chart, double range[2]);

/* All panels of a figure have one scale, unless the chart says otherwise. The names of the lines are at
 * their ends in a single panel, else below. Of a crowded chart only the first panel is drawn, as small
 * multiples. width: S2_PLOT_COLUMN or S2_PLOT_PAGE. */
s2p_status s2_figure_lines(const s2_chart *chart, double width, s2_buffer *out);

/* Groups of bars; where they would be too many, a panel for each group with a mark for each series. */
s2p_status s2_figure_bars(const s2_chart *chart, double width, s2_buffer *out);

/* Small multiples: panel p of a chart as a panel for each line, with the others behind it, from `top` on
 * the plot. A chart is crowded when its lines cannot be told apart in one panel. */
bool s2_chart_is_crowded(const s2_chart *chart);
double s2_multiples_height(const s2_chart *chart, double width);
void s2_plot_multiples(s2_plot *plot, const s2_chart *chart, int32_t p, double top);

#endif /* S2_EVAL_FIGURE_CHARTS_H */
