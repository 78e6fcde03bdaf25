/* charts.h - charts as figures of a study. */
#ifndef S2_ANALYZE_CHARTS_H
#define S2_ANALYZE_CHARTS_H

#include "analyze/study.h"
#include "eval/figure/charts.h"

void s2_chart_bars(s2_study *study, const s2_chart *chart);
void s2_chart_lines(s2_study *study, const s2_chart *chart);

#endif /* S2_ANALYZE_CHARTS_H */
