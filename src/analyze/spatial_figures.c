/* spatial_figures.c - maps of kept tokens, and their shares in edge and center.
 *
 * Figures of several budgets are read side by side: the colors and the axes of all of them mean the
 * same numbers.
 */
#include "analyze/spatial_figures.h"

#include "analyze/charts.h"
#include "eval/figure/plot.h"

#include <math.h>
#include <stdio.h>

#define MAX_MAPS 32
#define SIDE 14.0 /* room of the row numbers */
#define GAP 8.0
#define HEAD 18.0
#define TITLE_LINES 3
#define BAR 58.0

typedef struct group { /* settings of one budget that dropped something */
    int32_t setting[MAX_MAPS], n;
    char budget[S2A_BUDGET_TEXT];
    char title[MAX_MAPS][S2_TITLE_SIZE];
    const char *name[MAX_MAPS];
} group;

static void fill_group(const s2_trials *t, const s2_kept_map *l, s2a_budget budget, group *g)
{
    g->n = 0;
    (void)s2a_budget_text(budget, g->budget);
    for (int32_t s = 0; s < t->n_settings && g->n < MAX_MAPS; s++) {
        if (l[s].n == 0 || s2a_keeps_all(&t->setting[s]) ||
            !s2a_budget_is_same(t->setting[s].budget, budget))
            continue;
        char label[S2_LABEL_SIZE];
        g->name[g->n] = s2_title_of(s2_setting_label(&t->setting[s], false, label), g->title[g->n]);
        g->setting[g->n++] = s;
    }
}

/* --- maps ------------------------------------------------------------------------------------ */

/* Where the colors of all maps end: above nearly all values, so that one token that is always kept
 * does not make all others alike. */
static double top_of(const s2_trials *t, const s2_kept_map *l)
{
    const int32_t n_tokens = t->grid.rows * t->grid.cols;
    double highest = 0.0;
    for (int32_t s = 0; s < t->n_settings; s++) {
        double sum = 0.0, square = 0.0;
        if (l[s].n == 0 || s2a_keeps_all(&t->setting[s])) continue;
        for (int32_t k = 0; k < n_tokens; k++) {
            sum += l[s].map[k];
            square += l[s].map[k] * l[s].map[k];
        }
        const double mean = sum / n_tokens;
        highest = fmax(highest, mean + 3.0 * sqrt(fmax(0.0, square / n_tokens - mean * mean)));
    }
    return fmin(1.0, 0.04 * ceil(highest / 0.04)); /* a round number at each tick */
}

/* Lines of the longest name above a map. */
static int32_t title_lines(const group *g, double side)
{
    int32_t most = 1;
    for (int32_t i = 0; i < g->n; i++) {
        const int32_t n =
            s2_plot_paragraph(NULL, 0.0, 0.0, side, TITLE_LINES, S2_LETTERS_BOLD, g->name[i]);
        if (n > most) most = n;
    }
    return most;
}

static void draw_maps(const s2_trials *t, const s2_kept_map *l, const group *g, double high,
                      s2_study *study)
{
    const double width = s2_study_width(study);
    const int32_t n_tokens = t->grid.rows * t->grid.cols, most = width < S2_PLOT_PAGE ? 2 : 4;
    const int32_t lines = (g->n + most - 1) / most, columns = (g->n + lines - 1) / lines;
    const double side = fmin((width - SIDE - BAR) / columns - GAP, 180.0);
    const double head = HEAD + (title_lines(g, side) - 1) * S2_PLOT_LINE;
    const double tall = side * t->grid.rows / t->grid.cols, step = head + tall + 6.0;
    char name[64], caption[800], rows[16], names[S2_NAMES_SIZE];
    (void)snprintf(name, sizeof name, "spatial_maps_%.40s", g->budget);
    (void)snprintf(
        caption, sizeof caption,
        "How often each token of the %dx%d grid is kept, over %d pictures and questions "
        "of %s, %s tokens kept; an even selection keeps each with %.3f. One scale for all "
        "maps and budgets; values above it have its last colour.",
        t->grid.rows, t->grid.cols, l[g->setting[0]].n, s2_trials_names(t, names), g->budget,
        (double)s2a_budget_tokens(t->setting[g->setting[0]].budget, n_tokens) / n_tokens);
    (void)snprintf(rows, sizeof rows, "%d", t->grid.rows);
    s2_buffer *out = s2_study_figure(study, name, caption);
    s2_plot plot;
    s2_plot_begin(&plot, out, width, lines * step + 18.0, "Selection frequencies", caption);
    for (int32_t i = 0; i < g->n; i++) {
        const double x = SIDE + (i % columns) * (side + GAP);
        const double y = head + (i / columns) * step;
        const unsigned letters =
            s2_look_of(g->name[i], NULL).is_ours ? S2_LETTERS_BOLD : S2_LETTERS_PLAIN;
        const int32_t n_lines =
            s2_plot_paragraph(NULL, 0.0, 0.0, side, TITLE_LINES, letters, g->name[i]);
        const s2_heat heat = { t->grid.rows, t->grid.cols, l[g->setting[i]].map, 0.0, high, false };
        s2_plot_heat(&plot, x, y, side, tall, &heat);
        (void)s2_plot_paragraph(&plot, x, y - 5.0 - (n_lines - 1) * S2_PLOT_LINE, side, TITLE_LINES,
                                letters, g->name[i]);
        if (i % columns > 0) continue;
        s2_plot_text(&plot, x - 2.0, y + 8.0, "end", S2_LETTERS_SMALL, "1");
        s2_plot_text(&plot, x - 2.0, y + tall, "end", S2_LETTERS_SMALL, rows);
    }
    s2_plot_text(&plot, SIDE + 0.5 * columns * (side + GAP), lines * step + 12.0, "middle",
                 S2_LETTERS_SMALL, "token columns; rows from the top");
    s2_plot_colour_bar(&plot, SIDE + columns * (side + GAP), head, fmin(tall, 180.0), 0.0, high,
                       "share of selections");
    s2_plot_end(&plot);
}

/* --- shares ---------------------------------------------------------------------------------- */

typedef struct shares { /* a chart's arrays: [MAX_MAPS + 1][2] */
    double y[2 * MAX_MAPS + 2], low[2 * MAX_MAPS + 2], high[2 * MAX_MAPS + 2];
    const char *name[MAX_MAPS + 1];
} shares;

static void fill_shares(const s2_trials *t, const s2_kept_map *l, const group *g, shares *d)
{
    const double area[2] = { s2_area_share(t->grid, s2_is_edge),
                             s2_area_share(t->grid, s2_is_centre) };
    for (int32_t i = 0; i <= g->n; i++)
        for (int32_t k = 0; k < 2; k++) {
            const s2_kept_map *m = i < g->n ? &l[g->setting[i]] : NULL;
            const s2_interval *range = m && k == 0 ? &m->edge_range : m ? &m->centre_range : NULL;
            d->y[2 * i + k] = 100.0 * (!m ? area[k] : k == 0 ? m->edge : m->centre);
            d->low[2 * i + k] = range ? 100.0 * range->low : (double)NAN;
            d->high[2 * i + k] = range ? 100.0 * range->high : (double)NAN;
            d->name[i] = m ? g->name[i] : "by area";
        }
}

static s2_chart shares_chart(const group *g, const shares *d)
{
    static const char *const places[] = { "edge", "centre" };
    return (s2_chart){ .title = "Edge and centre shares",
                       .up = "kept tokens there (%)",
                       .n_panels = 1,
                       .n_series = g->n + 1,
                       .series = d->name,
                       .n_points = 2,
                       .point = places,
                       .y = d->y,
                       .low = d->low,
                       .high = d->high,
                       .from_zero = true };
}

static void draw_shares(const s2_trials *t, const s2_kept_map *l, const group *g,
                        const double range[2], s2_study *study)
{
    shares d;
    char name[64], caption[384];
    fill_shares(t, l, g, &d);
    s2_chart chart = shares_chart(g, &d);
    (void)snprintf(name, sizeof name, "spatial_bias_%.40s", g->budget);
    (void)snprintf(
        caption, sizeof caption,
        "Share of the kept tokens in the edge and centre of the grid, %s tokens kept, 95 "
        "%% intervals over pictures. 'by area' is what an even selection would give.",
        g->budget);
    chart.name = name;
    chart.caption = caption;
    chart.range = range;
    s2_chart_bars(study, &chart);
}

/* --- all budgets --------------------------------------------------------------------------------- */

/* The budget of setting s has not come up before. */
static bool is_first_of_budget(const s2_trials *t, const s2_kept_map *l, int32_t s)
{
    if (l[s].n == 0 || s2a_keeps_all(&t->setting[s])) return false;
    for (int32_t k = 0; k < s; k++)
        if (l[k].n > 0 && !s2a_keeps_all(&t->setting[k]) &&
            s2a_budget_is_same(t->setting[k].budget, t->setting[s].budget))
            return false;
    return true;
}

s2p_status s2_spatial_figures(const s2_trials *t, const s2_kept_map *l, s2_study *study)
{
    const double top = top_of(t, l);
    double range[2] = { 0.0, 35.0 };
    group g;
    for (int32_t s = 0; s < t->n_settings; s++) {
        shares d;
        if (!is_first_of_budget(t, l, s)) continue;
        fill_group(t, l, t->setting[s].budget, &g);
        fill_shares(t, l, &g, &d);
        const s2_chart chart = shares_chart(&g, &d);
        s2_chart_widen(&chart, range);
    }
    for (int32_t s = 0; s < t->n_settings; s++) {
        if (!is_first_of_budget(t, l, s)) continue;
        fill_group(t, l, t->setting[s].budget, &g);
        draw_maps(t, l, &g, top, study);
        draw_shares(t, l, &g, range, study);
    }
    return study->status;
}

/* --- edge and center of a grid ------------------------------------------------------------- */

bool s2_is_edge(s2p_grid grid, int32_t token)
{
    const int32_t r = token / grid.cols, c = token % grid.cols;
    return r < 2 || c < 2 || r >= grid.rows - 2 || c >= grid.cols - 2;
}

bool s2_is_centre(s2p_grid grid, int32_t token)
{
    const int32_t r = token / grid.cols, c = token % grid.cols;
    return r >= grid.rows / 4 && r < grid.rows - grid.rows / 4 && c >= grid.cols / 4 &&
           c < grid.cols - grid.cols / 4;
}

double s2_area_share(s2p_grid grid, bool (*is_inside)(s2p_grid, int32_t))
{
    int32_t n = 0;
    for (int32_t i = 0; i < grid.rows * grid.cols; i++) n += is_inside(grid, i);
    return (double)n / (grid.rows * grid.cols);
}
