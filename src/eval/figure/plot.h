/* plot.h - charts as SVG: lines with intervals, bars, dots, heat maps, in panels side by side.
 *
 *     s2_plot_begin(&plot, &svg, S2_PLOT_PAGE, 360, "Accuracy", "what it shows, in words");
 *     s2_plot_panel(&plot, &panel);                      axes and their labels
 *     s2_plot_line(&plot, &panel, &series, &look);       as many as wanted
 *     s2_plot_end_labels(&plot, &panel, label, n);       names where the lines end
 *     s2_plot_end(&plot);
 *
 * A document is as wide as a column or a page of a paper, and its letters are at least 7 points high at
 * that size. It has its own background, follows the reader's light or dark scheme, and prints as the
 * light one. Its rules apply below its own class only, so that it can stand inside a page. Lengths are
 * CSS pixels, 96 to the inch.
 */
#ifndef S2_EVAL_FIGURE_PLOT_H
#define S2_EVAL_FIGURE_PLOT_H

#include "base/buffer.h"
#include "eval/figure/look.h"

#include <stdbool.h>

#define S2_PLOT_COLUMN 316.8 /* 3.3 inches */
#define S2_PLOT_PAGE 662.4   /* 6.9 inches */

#define S2_PLOT_FONT 10.0 /* 7.5 points */
#define S2_PLOT_SMALL 9.4 /* 7.05 points */
#define S2_PLOT_LINE 12.5 /* between two lines of text */

typedef enum s2_letters { /* of a text; may be combined */
                          S2_LETTERS_PLAIN = 0,
                          S2_LETTERS_SMALL = 1,
                          S2_LETTERS_BOLD = 2,
                          S2_LETTERS_FAINT = 4,
                          S2_LETTERS_GOOD = 8, /* right answers */
                          S2_LETTERS_BAD = 16  /* wrong ones */
} s2_letters;

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
    bool is_bare;            /* no numbers: a neighbor has them */
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
    const char *name;         /* for the numbers a pointer shows; NULL: none are */
} s2_series;

/* --- the document ------------------------------------------------------------------- */

void s2_plot_begin(s2_plot *plot, s2_buffer *out, double width, double height, const char *title,
                   const char *description);
void s2_plot_end(s2_plot *plot);

/* Text at (x, y), its baseline; anchor: "start", "middle" or "end". letters: of s2_letters. */
void s2_plot_text(s2_plot *plot, double x, double y, const char *anchor, unsigned letters,
                  const char *text);

/* --- plot_text.c: how wide text is --------------------------------------------------- */

/* An upper estimate for the sans-serif fonts in use, at `size` pixels. */
double s2_text_width(const char *text, double size);

/* Bytes of the longest beginning of `text` that fits `width`, cut between words where it can be, and
 * at least one character. *next: bytes until the next line begins. */
size_t s2_text_fit(const char *text, double width, double size, size_t *next);

/* --- axes and series ------------------------------------------------------------------ */

/* Axes, grid lines, labels. */
void s2_plot_panel(s2_plot *plot, const s2_panel *panel);

/* Places inside the panel, from the numbers of its axes. */
double s2_plot_x(const s2_panel *panel, double value);
double s2_plot_y(const s2_panel *panel, double value);

/* How far the names or numbers of an axis `width` long reach below it. */
double s2_plot_names_height(const s2_axis *axis, double width);

/* A range a little wider than the values, at round numbers. */
void s2_plot_range(const double *value, int32_t n, double *low, double *high);

/* plot_series.c. Values that are not finite are left out. */
void s2_plot_mark(s2_plot *plot, double x, double y, const s2_look *look);
void s2_plot_line(s2_plot *plot, const s2_panel *panel, const s2_series *series,
                  const s2_look *look);

/* A dashed line across. */
void s2_plot_level(s2_plot *plot, const s2_panel *panel, double value);

/* Bar `which` of n_bars in each of the named places of `across`. */
void s2_plot_bars(s2_plot *plot, const s2_panel *panel, const s2_series *series, int32_t which,
                  int32_t n_bars, const s2_look *look);

/* A mark with its interval at place `which` of the names of `up`. */
void s2_plot_dot(s2_plot *plot, const s2_panel *panel, int32_t which, double value, double low,
                 double high, const s2_look *look);

typedef struct s2_legend {
    int32_t n;
    const char *const *name; /* [n] */
    const s2_look *look;     /* [n] */
    bool is_bar;             /* squares instead of lines */
    const char *level;       /* the word of a dashed line, first; NULL: none */
} s2_legend;

/* Names in columns from (x, y), the first baseline, within `width`. Returns the height it takes. plot
 * NULL: only that. */
double s2_plot_legend(s2_plot *plot, double x, double y, double width, const s2_legend *legend);

/* --- plot_labels.c: paragraphs, and names where the lines end ------------------------------------------- */

/* `text` in lines from (x, y), the first baseline, at most max_lines of `width`; text that is longer
 * ends in three dots. Returns the lines used. plot NULL: only count. */
int32_t s2_plot_paragraph(s2_plot *plot, double x, double y, double width, int32_t max_lines,
                          unsigned letters, const char *text);

typedef struct s2_end_label {
    const char *text;
    double x, y; /* where its line ends; not finite: it has none */
    s2_look look;
} s2_end_label;

#define S2_LABEL_STEP 10.6 /* between two baselines */

/* The nearest places for n labels around `wanted` that are `step` apart, within [low, high]; labels
 * keep their order, those without a wanted place (NaN) come last. out: [n]. S2P_ENOMEM. */
s2p_status s2_spread_labels(const double *wanted, int32_t n, double step, double low, double high,
                            double *out);

/* Labels right of the panel, each tied to the end of its line, none over another. The panel is at
 * least n * S2_LABEL_STEP high. */
s2p_status s2_plot_end_labels(s2_plot *plot, const s2_panel *panel, const s2_end_label *label,
                              int32_t n);

/* The room they need right of it. */
double s2_end_labels_width(const char *const *name, int32_t n);

/* --- plot_heat.c: maps -------------------------------------------------------------------- */

typedef struct s2_heat {
    int32_t rows, cols;
    const double *value; /* [rows][cols]; not finite: no color */
    double low, high;    /* of the colors */
    bool has_numbers;    /* written into the cells */
} s2_heat;

/* Cells fill the rectangle; the first row is above. */
void s2_plot_heat(s2_plot *plot, double x, double y, double width, double height,
                  const s2_heat *heat);

/* The colors and their numbers, upright, label beside it: 56 pixels wide. */
void s2_plot_colour_bar(s2_plot *plot, double x, double y, double height, double low, double high,
                        const char *label);

#endif /* S2_EVAL_FIGURE_PLOT_H */
