/* plot.h - charts as SVG: lines with intervals, groups of bars, heat maps, in panels side by side.
 *
 *     s2_plot_begin(&plot, &svg, 640, 360, "Accuracy", "what it shows, for who cannot see it");
 *     s2_plot_panel(&plot, &panel);               axes and their labels
 *     s2_plot_line(&plot, &panel, &series, 0);    as many as wanted
 *     s2_plot_legend(&plot, x, y, width, names, n);
 *     s2_plot_end(&plot);
 *
 * Colours are told apart by all common kinds of colour vision, series also by marks and dashes. The
 * document follows the reader's light or dark scheme and prints as the light one. Lengths are CSS
 * pixels.
 */
#ifndef S2_ANALYZE_PLOT_H
#define S2_ANALYZE_PLOT_H

#include "base/buffer.h"

#include <stdbool.h>

#define S2_PLOT_SERIES 10 /* colours; a later series repeats them with another mark */

typedef struct s2_plot {
    s2_buffer *out;
    double width, height;
} s2_plot;

typedef struct s2_axis {
    const char *label; /* with its unit; NULL: none */
    double low, high;  /* numbers at the two ends */
    bool is_log;
    int32_t n_names;         /* above 0: named places 0, 1, ... instead of numbers */
    const char *const *name; /* [n_names] */
    int32_t n_ticks;         /* above 0: these numbers, else round ones */
    const double *tick;      /* [n_ticks] */
    bool is_bare;            /* no numbers: a neighbour has them */
} s2_axis;

typedef struct s2_panel { /* the area inside the axes */
    double x, y, width, height;
    const char *title; /* above it; NULL: none */
    s2_axis across, up;
} s2_panel;

typedef struct s2_series {
    int32_t n;
    const double *x, *y;
    const double *low, *high; /* [n] ends of the intervals; NULL: none */
} s2_series;

/* --- the document ------------------------------------------------------------------- */

void s2_plot_begin(s2_plot *plot, s2_buffer *out, double width, double height, const char *title,
                   const char *description);
void s2_plot_end(s2_plot *plot);

/* Text at (x, y), its baseline; anchor: "start", "middle" or "end". */
void s2_plot_text(s2_plot *plot, double x, double y, const char *anchor, bool is_small,
                  const char *text);

/* --- axes and series ------------------------------------------------------------------ */

/* Axes, grid lines, labels. */
void s2_plot_panel(s2_plot *plot, const s2_panel *panel);

/* Places inside the panel, from the numbers of its axes. */
double s2_plot_x(const s2_panel *panel, double value);
double s2_plot_y(const s2_panel *panel, double value);

/* Values that are not finite are left out. which: colour, mark and dash. */
void s2_plot_line(s2_plot *plot, const s2_panel *panel, const s2_series *series, int32_t which);

/* A dashed line across; and its entry of a legend, which returns the width it took. */
void s2_plot_level(s2_plot *plot, const s2_panel *panel, double value);
double s2_plot_legend_level(s2_plot *plot, double x, double y, const char *word);

/* Bar `which` of n_bars in each of the named places of `across`. */
void s2_plot_bars(s2_plot *plot, const s2_panel *panel, const s2_series *series, int32_t which,
                  int32_t n_bars);

/* Names in rows from (x, y), the first baseline, within `width`; is_bar: squares instead of lines.
 * Returns the height it took. */
double s2_plot_legend(s2_plot *plot, double x, double y, double width, const char *const *name,
                      int32_t n, bool is_bar);

/* --- maps -------------------------------------------------------------------------------- */

typedef struct s2_heat {
    int32_t rows, cols;
    const double *value; /* [rows][cols]; not finite: no colour */
    double low, high;    /* of the colours */
    bool has_numbers;    /* written into the cells */
} s2_heat;

/* Cells fill the rectangle; the first row is above. */
void s2_plot_heat(s2_plot *plot, double x, double y, double width, double height,
                  const s2_heat *heat);

/* The colours and their numbers, upright, label beside it. */
void s2_plot_colour_bar(s2_plot *plot, double x, double y, double height, double low, double high,
                        const char *label);

/* A range a little wider than the values, at round numbers. */
void s2_plot_range(const double *value, int32_t n, double *low, double *high);

#endif /* S2_ANALYZE_PLOT_H */
