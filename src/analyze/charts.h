/* charts.h - whole figures of the two kinds most analyses want. */
#ifndef S2_ANALYZE_CHARTS_H
#define S2_ANALYZE_CHARTS_H

#include "analyze/study.h"

typedef struct s2_chart {
    const char *name, *title, *caption;
    const char *across, *up; /* labels of the axes */
    int32_t n_panels;        /* lines: charts side by side; bars: 1 */
    const char *const *panel;
    int32_t n_series;
    const char *const *series;
    int32_t n_points;             /* of a series in a panel */
    const char *const *point;     /* bars: names of the groups */
    const double *x;              /* lines: [n_points] */
    bool is_log;                  /* lines: x doubles rather than adds */
    const double *y, *low, *high; /* [n_panels][n_series][n_points]; NaN: nothing there */
    const double *level;          /* lines: [n_panels] a dashed line; NULL: none */
    const char *level_word;
    bool from_zero;  /* bars that may be compared by length */
    bool is_percent; /* of right answers: no axis above 100, none shorter than 10 points */
} s2_chart;

void s2_chart_bars(s2_study *study, const s2_chart *chart);
void s2_chart_lines(s2_study *study, const s2_chart *chart);

#endif /* S2_ANALYZE_CHARTS_H */
