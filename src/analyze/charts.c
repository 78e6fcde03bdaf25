/* charts.c - a chart drawn as wide as the study's figures are. */
#include "analyze/charts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void add(s2_study *study, const s2_chart *chart,
                s2p_status (*draw)(const s2_chart *chart, double width, s2_buffer *out))
{
    s2_buffer *out = s2_study_figure(study, chart->name, chart->caption);
    const s2p_status st = draw(chart, s2_study_width(study), out);
    if (st != S2P_OK) study->status = st;
}

void s2_chart_bars(s2_study *study, const s2_chart *chart) { add(study, chart, s2_figure_bars); }

/* A crowded chart's kinds of questions: a figure of dots for each point, all on one scale. */
static void add_kinds(s2_study *study, const s2_chart *c)
{
    double range[2] = { (double)NAN, (double)NAN };
    const size_t n = (size_t)c->n_series * (size_t)c->n_panels;
    double *value[3] = { NULL, NULL, NULL };
    const double *const from[3] = { c->y, c->low, c->high };
    s2_chart_widen(c, range);
    for (int k = 0; k < 3; k++) value[k] = calloc(n + 1, sizeof *value[k]);
    for (int32_t i = 0; value[0] && value[1] && value[2] && i < c->n_points; i++) {
        char name[64], caption[640];
        for (int k = 0; k < 3; k++)
            for (int32_t s = 0; s < c->n_series; s++)
                for (int32_t p = 0; p < c->n_panels; p++)
                    value[k][s * c->n_panels + p] =
                        from[k] ? from[k][(p * c->n_series + s) * c->n_points + i] : (double)NAN;
        (void)snprintf(name, sizeof name, "%.40s_%g", c->name, c->x[i]);
        (void)snprintf(caption, sizeof caption, "%.500s Here: %g %.60s.", c->caption, c->x[i],
                       c->across ? c->across : "");
        s2_chart dots = *c;
        dots.name = name;
        dots.caption = caption;
        dots.n_panels = 1;
        dots.n_points = c->n_panels;
        dots.point = c->panel;
        dots.y = value[0];
        dots.low = value[1];
        dots.high = value[2];
        dots.level = NULL;
        dots.range = range;
        s2_chart_bars(study, &dots);
    }
    if (!value[0] || !value[1] || !value[2]) study->status = S2P_ENOMEM;
    for (int k = 0; k < 3; k++) free(value[k]);
}

void s2_chart_lines(s2_study *study, const s2_chart *chart)
{
    add(study, chart, s2_figure_lines);
    if (s2_chart_is_crowded(chart) && chart->n_panels > 1) add_kinds(study, chart);
}
