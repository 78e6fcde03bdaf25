/* figure_data.h - the arrays behind a figure of numbers: panels, lines or groups of bars. */
#ifndef S2_ANALYZE_FIGURE_DATA_H
#define S2_ANALYZE_FIGURE_DATA_H

#include "analyze/charts.h"
#include "analyze/rates.h"

#define S2_FIGURE_PANELS 33 /* all, and every benchmark; of one benchmark all and eight kinds */
#define S2_FIGURE_LINES 48
#define S2_FIGURE_POINTS 36
#define S2_FIGURE_CELLS (S2_FIGURE_PANELS * S2_FIGURE_LINES * S2_FIGURE_POINTS)

typedef struct s2_figure_data {
    double y[S2_FIGURE_CELLS], low[S2_FIGURE_CELLS], high[S2_FIGURE_CELLS];
    double level[S2_FIGURE_PANELS], x[S2_FIGURE_POINTS];
    const char *panel[S2_FIGURE_PANELS], *series[S2_FIGURE_LINES], *point[S2_FIGURE_POINTS];
    char title[S2_FIGURE_PANELS][96], text[S2_FIGURE_LINES][S2_LABEL_SIZE];
    s2_scope scope[S2_FIGURE_PANELS]; /* the first is everything */
    int32_t n_panels, n_series, n_points;
    bool is_percent; /* in every panel */
} s2_figure_data;

/* Panels for what s2_rate_scopes gives, without lines. Free it. NULL: error. */
s2_figure_data *s2_figure_data_create(const s2_trials *trials, s2p_error *error);

/* The line of a label, new or not, and the place of a value across, kept ascending. S2P_ELIMIT: too many. */
s2p_status s2_figure_line(s2_figure_data *data, const char *label, int32_t *out, s2p_error *error);
s2p_status s2_figure_point(s2_figure_data *data, double x, int32_t *out, s2p_error *error);

void s2_figure_put(s2_figure_data *data, int32_t panel, int32_t line, int32_t point,
                   const s2_rate *rate);

/* Panels become groups of bars in one chart: the points of line `l` were put as panel 0. */
void s2_figure_groups(s2_figure_data *data);

/* A chart of what was put; names and captions are not yet set. S2P_EINVAL: there is no number to
 * draw, and `what` is the figure nobody shall take for an empty one. */
s2p_status s2_figure_chart(s2_figure_data *data, const char *what, s2_chart *out, s2p_error *error);

#endif /* S2_ANALYZE_FIGURE_DATA_H */
