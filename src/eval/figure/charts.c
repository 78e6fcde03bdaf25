/* charts.c - panels, axes, names and legends of whole figures. */
#include "eval/figure/charts.h"

#include "eval/figure/plot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST_LINES 8  /* of a panel; more have a panel each */
#define MOST_BARS 6   /* of a group */
#define LEFT 46.0     /* room of the axis up with its label */
#define GAP 12.0      /* between panels */
#define DOTS_GAP 24.0 /* where each has numbers below */
#define HEAD 22.0     /* room of a title above a panel */
#define ROW 12.0      /* of a series in a chart of dots */

/* --- looks and scales ------------------------------------------------------------------------ */

static s2_look look_of(const s2_chart *c, int32_t s)
{
    bool is_known;
    const s2_look look = s2_look_of(c->series[s], &is_known);
    return is_known ? look : s2_look_at(s);
}

static s2_look *looks_of(const s2_chart *c)
{
    s2_look *look = calloc((size_t)c->n_series + 1, sizeof *look);
    for (int32_t s = 0; look && s < c->n_series; s++) look[s] = look_of(c, s);
    return look;
}

static void widen(double range[2], double value)
{
    if (!isfinite(value)) return;
    if (!(range[0] <= value)) range[0] = value;
    if (!(range[1] >= value)) range[1] = value;
}

static void widen_panel(const s2_chart *c, int32_t p, double range[2])
{
    const int32_t n = c->n_series * c->n_points;
    for (int32_t i = p * n; i < (p + 1) * n; i++) {
        widen(range, c->y[i]);
        if (c->low) widen(range, c->low[i]);
        if (c->high) widen(range, c->high[i]);
    }
    if (c->level) widen(range, c->level[p]);
}

void s2_chart_widen(const s2_chart *c, double range[2])
{
    for (int32_t p = 0; p < c->n_panels; p++) widen_panel(c, p, range);
}

/* The ends of the axis up of panel p; below 0: of all panels. */
static void range_of(const s2_chart *c, int32_t p, bool has_zero, double *low, double *high)
{
    double range[2] = { (double)NAN, (double)NAN };
    if (c->range) {
        widen(range, c->range[0]);
        widen(range, c->range[1]);
    } else if (p >= 0) {
        widen_panel(c, p, range);
    } else {
        s2_chart_widen(c, range);
    }
    if (has_zero) widen(range, 0.0);
    s2_plot_range(range, 2, low, high);
    if (c->is_percent) {
        *high = fmin(*high, 100.0);
        *low = fmin(*low, *high - 10.0);
    }
}

static s2_series series_of(const s2_chart *c, int32_t p, int32_t s, const double *x)
{
    const int32_t at = (p * c->n_series + s) * c->n_points;
    return (s2_series){ .n = c->n_points,
                        .x = x,
                        .y = c->y + at,
                        .low = c->low ? c->low + at : NULL,
                        .high = c->high ? c->high + at : NULL,
                        .name = c->series[s] };
}

/* --- bars --------------------------------------------------------------------------------------- */

static bool has_own_colours(const s2_look *look, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        for (int32_t k = 0; k < i; k++)
            if (look[i].colour == look[k].colour) return false;
    return true;
}

static s2p_status draw_bars(const s2_chart *c, const s2_look *look, double width, s2_buffer *out)
{
    const double wide = width - LEFT - 8.0, tall = width < S2_PLOT_PAGE ? 150.0 : 180.0;
    const double top = 12.0;
    double low, high;
    range_of(c, -1, true, &low, &high);
    const s2_panel panel = {
        .x = LEFT,
        .y = top,
        .width = wide,
        .height = tall,
        .across = { .label = c->across, .n_names = c->n_points, .name = c->point },
        .up = { .label = c->up, .low = low, .high = high }
    };
    const double deep = s2_plot_names_height(&panel.across, wide) + (c->across ? 14.0 : 0.0);
    const s2_legend legend = { .n = c->n_series, .name = c->series, .look = look, .is_bar = true };
    const double legend_height = s2_plot_legend(NULL, 0.0, 0.0, width - 16.0, &legend);
    double *x = calloc((size_t)c->n_points + 1, sizeof *x);
    if (!x) return S2P_ENOMEM;
    for (int32_t i = 0; i < c->n_points; i++) x[i] = i;
    s2_plot plot;
    s2_plot_begin(&plot, out, width, top + tall + deep + 14.0 + legend_height + 4.0, c->title,
                  c->caption);
    s2_plot_panel(&plot, &panel);
    for (int32_t s = 0; s < c->n_series; s++) {
        const s2_series series = series_of(c, 0, s, x);
        s2_plot_bars(&plot, &panel, &series, s, c->n_series, &look[s]);
    }
    (void)s2_plot_legend(&plot, 8.0, top + tall + deep + 14.0, width - 16.0, &legend);
    s2_plot_end(&plot);
    free(x);
    return out->status;
}

/* A panel for each group, the series down its side: as many as one likes stay apart. */
static s2p_status draw_dots(const s2_chart *c, const s2_look *look, double width, s2_buffer *out)
{
    double names = 0.0, low, high;
    for (int32_t s = 0; s < c->n_series; s++)
        names = fmax(names, 1.04 * s2_text_width(c->series[s], S2_PLOT_SMALL));
    names = fmin(names + 16.0, 0.5 * width);
    const double most = fmax(1.0, floor((width - names) / 118.0));
    const int32_t columns = (int32_t)fmin((double)c->n_points, most);
    const int32_t rows = (c->n_points + columns - 1) / columns;
    const double wide = (width - names - 16.0 + DOTS_GAP) / columns - DOTS_GAP;
    const double tall = ROW * c->n_series + 6.0;
    const double step = HEAD + tall + 20.0;
    range_of(c, -1, true, &low, &high);
    s2_plot plot;
    s2_plot_begin(&plot, out, width, rows * step + 18.0, c->title, c->caption);
    for (int32_t g = 0; g < c->n_points; g++) {
        const s2_panel panel = {
            .x = names + (g % columns) * (wide + DOTS_GAP),
            .y = HEAD + (g / columns) * step,
            .width = wide,
            .height = tall,
            .title = c->point[g],
            .across = { .low = low, .high = high },
            .up = { .n_names = c->n_series, .name = c->series, .is_bare = g % columns > 0 }
        };
        for (int32_t s = 0; s < c->n_series; s++) /* bands lead the eye to the names */
            if (s % 2 == 0)
                s2_buffer_printf(out,
                                 "<rect class=\"band\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
                                 "height=\"%.1f\"/>\n",
                                 panel.x, s2_plot_y(&panel, s - 0.5), wide, tall / c->n_series);
        s2_plot_panel(&plot, &panel);
        if (low < 0.0 && high > 0.0)
            s2_buffer_printf(out, "<path class=\"axis\" d=\"M%.1f %.1fv%.1f\"/>\n",
                             s2_plot_x(&panel, 0.0), panel.y, tall);
        for (int32_t s = 0; s < c->n_series; s++) {
            const int32_t at = s * c->n_points + g;
            s2_plot_dot(&plot, &panel, s, c->y[at], c->low ? c->low[at] : (double)NAN,
                        c->high ? c->high[at] : (double)NAN, &look[s]);
        }
    }
    s2_plot_text(&plot, 0.5 * (names + width), rows * step + 12.0, "middle", S2_LETTERS_PLAIN,
                 c->up ? c->up : "");
    s2_plot_end(&plot);
    return out->status;
}

/* A chart whose series have the titles of their methods; free(*memory). */
static s2p_status entitle(const s2_chart *c, s2_chart *out, void **memory)
{
    typedef char title[S2_TITLE_SIZE];
    const size_t n = (size_t)c->n_series, list = (n + 1) * sizeof(const char *);
    char *block = calloc(1, list + (n + 1) * sizeof(title));
    *memory = block;
    if (!block) return S2P_ENOMEM;
    const char **name = (const char **)(void *)block;
    title *text = (title *)(void *)(block + list);
    for (size_t i = 0; i < n; i++) name[i] = s2_title_of(c->series[i], text[i]);
    *out = *c;
    out->series = name;
    return S2P_OK;
}

static s2p_status draw_groups(const s2_chart *c, double width, s2_buffer *out)
{
    s2_look *look = looks_of(c);
    if (!look) return S2P_ENOMEM;
    const bool is_few = c->n_series <= MOST_BARS && has_own_colours(look, c->n_series);
    const s2p_status st = is_few ? draw_bars(c, look, width, out) : draw_dots(c, look, width, out);
    free(look);
    return st;
}

s2p_status s2_figure_bars(const s2_chart *c, double width, s2_buffer *out)
{
    s2_chart entitled;
    void *memory;
    s2p_status st = entitle(c, &entitled, &memory);
    if (st == S2P_OK) st = draw_groups(&entitled, width, out);
    free(memory);
    return st;
}

/* --- lines ---------------------------------------------------------------------------------------- */

typedef struct lines {
    const s2_chart *c;
    const s2_look *look;
    s2_end_label *label; /* [n_series] scratch */
    bool has_end_labels;
    int32_t columns, rows;
    double wide, tall, step_x, step_y;
    s2_axis across;
} lines;

static s2_axis axis_across(const s2_chart *c)
{
    double first = c->x[0], last = c->x[0];
    for (int32_t i = 1; i < c->n_points; i++) {
        first = fmin(first, c->x[i]);
        last = fmax(last, c->x[i]);
    }
    const bool is_point = !(last > first); /* one alone stands in the middle */
    const double gap = c->is_log ? (is_point ? 2.0 : pow(last / first, 0.08))
                                 : (is_point ? 1.0 : 0.08 * (last - first));
    return (s2_axis){ .low = c->is_log ? first / gap : first - gap,
                      .high = c->is_log ? last * gap : last + gap,
                      .is_log = c->is_log,
                      .n_ticks = c->n_points,
                      .tick = c->x };
}

static lines lay_out(const s2_chart *c, const s2_look *look, double width)
{
    const bool is_page = width >= S2_PLOT_PAGE;
    lines l = {
        .c = c, .look = look, .across = axis_across(c), .has_end_labels = c->n_panels == 1
    };
    const int32_t most = is_page ? 3 : 2;
    l.columns = c->n_panels < most ? c->n_panels : most;
    l.rows = (c->n_panels + l.columns - 1) / l.columns;
    const double names = l.has_end_labels ? s2_end_labels_width(c->series, c->n_series) : 8.0;
    const double gap = c->has_own_scales ? LEFT - 8.0 : GAP; /* room for numbers, or none needed */
    l.wide = (width - LEFT - names - (l.columns - 1) * gap) / l.columns;
    l.step_x = l.wide + gap;
    l.tall = c->n_panels == 1 ? (is_page ? 230.0 : 160.0) : is_page ? 130.0 : 105.0;
    l.step_y = HEAD + l.tall + 20.0;
    return l;
}

static s2p_status draw_panel(s2_plot *plot, const lines *l, int32_t p)
{
    const s2_chart *c = l->c;
    const int32_t column = p % l->columns, row = p / l->columns;
    s2_panel panel = { .x = LEFT + column * l->step_x,
                       .y = HEAD + row * l->step_y,
                       .width = l->wide,
                       .height = l->tall,
                       .title = c->n_panels == 1 ? NULL : c->panel[p],
                       .across = l->across };
    panel.across.label = p + l->columns >= c->n_panels ? c->across : NULL;
    panel.up.label = column == 0 ? c->up : NULL;
    panel.up.is_bare = column > 0 && !c->has_own_scales;
    range_of(c, c->has_own_scales ? p : -1, false, &panel.up.low, &panel.up.high);
    s2_plot_panel(plot, &panel);
    if (c->level) s2_plot_level(plot, &panel, c->level[p]);
    const double places = c->n_points > 1 ? c->n_points : 2;
    const double apart = fmin(3.0, 0.5 * l->wide / places / c->n_series);
    for (int pass = 0; pass < 2; pass++) /* the method of the paper last: nothing covers it */
        for (int32_t s = 0; s < c->n_series; s++) {
            if (l->look[s].is_ours != (pass == 1)) continue;
            const s2_series series = series_of(c, p, s, c->x);
            s2_panel beside = panel; /* intervals at one place are side by side */
            beside.x += apart * (s - 0.5 * (c->n_series - 1));
            s2_plot_line(plot, &beside, &series, &l->look[s]);
            s2_end_label *label = &l->label[s];
            *label = (s2_end_label){ c->series[s], (double)NAN, (double)NAN, l->look[s] };
            for (int32_t i = 0; i < c->n_points; i++)
                if (isfinite(series.y[i])) {
                    label->x = s2_plot_x(&beside, c->x[i]);
                    label->y = s2_plot_y(&beside, series.y[i]);
                }
        }
    return l->has_end_labels ? s2_plot_end_labels(plot, &panel, l->label, c->n_series) : S2P_OK;
}

static s2p_status draw_lines(const s2_chart *c, double width, s2_buffer *out)
{
    s2_look *look = looks_of(c);
    lines l = look ? lay_out(c, look, width) : (lines){ .c = c };
    l.label = calloc((size_t)c->n_series + 1, sizeof *l.label);
    s2p_status st = look && l.label ? S2P_OK : S2P_ENOMEM;
    if (st == S2P_OK) {
        bool has_level = false;
        for (int32_t p = 0; c->level && p < c->n_panels; p++)
            has_level = has_level || isfinite(c->level[p]);
        const s2_legend legend = { .n = l.has_end_labels ? 0 : c->n_series,
                                   .name = c->series,
                                   .look = look,
                                   .level = has_level ? c->level_word : NULL };
        const double legend_y = l.rows * l.step_y + 20.0;
        const double legend_height = s2_plot_legend(NULL, 0.0, 0.0, width - 16.0, &legend);
        s2_plot plot;
        s2_plot_begin(&plot, out, width, legend_y + legend_height, c->title, c->caption);
        for (int32_t p = 0; p < c->n_panels && st == S2P_OK; p++) st = draw_panel(&plot, &l, p);
        (void)s2_plot_legend(&plot, 8.0, legend_y + 2.0, width - 16.0, &legend);
        s2_plot_end(&plot);
    }
    free(look);
    free(l.label);
    return st == S2P_OK ? out->status : st;
}

/* --- a panel for each line ------------------------------------------------------------------------- */

static int32_t multiples_columns(double width) { return width >= S2_PLOT_PAGE ? 5 : 3; }

#define SMALL_TALL 66.0
#define SMALL_STEP (SMALL_TALL + HEAD)
#define HEADING 16.0

bool s2_chart_is_crowded(const s2_chart *c) { return c->n_series > MOST_LINES; }

double s2_multiples_height(const s2_chart *c, double width)
{
    const int32_t columns = multiples_columns(width);
    return HEADING + SMALL_STEP * ((c->n_series + columns - 1) / columns) + 32.0;
}

/* All other lines as a faint background, then the one that the panel is about. */
static void draw_one_of_many(s2_plot *plot, const s2_chart *c, int32_t p, int32_t s,
                             s2_panel *panel)
{
    s2_plot_panel(plot, panel);
    for (int32_t k = 0; k < c->n_series; k++) {
        bool is_first = true;
        const s2_series other = series_of(c, p, k, c->x);
        if (k == s) continue;
        s2_buffer_printf(plot->out, "<path class=\"back\" d=\"");
        for (int32_t i = 0; i < other.n; i++) {
            if (!isfinite(other.y[i])) continue;
            s2_buffer_printf(plot->out, "%c%.1f %.1f", is_first ? 'M' : 'L',
                             s2_plot_x(panel, c->x[i]), s2_plot_y(panel, other.y[i]));
            is_first = false;
        }
        s2_buffer_printf(plot->out, "\"/>\n");
    }
    if (c->level) s2_plot_level(plot, panel, c->level[p]);
    const s2_look look = look_of(c, s);
    const s2_series series = series_of(c, p, s, c->x);
    s2_plot_line(plot, panel, &series, &look);
    (void)s2_plot_paragraph(plot, panel->x, panel->y - 5.0, panel->width, 1,
                            S2_LETTERS_SMALL | (look.is_ours ? S2_LETTERS_BOLD : 0), c->series[s]);
}

void s2_plot_multiples(s2_plot *plot, const s2_chart *c, int32_t p, double top)
{
    const int32_t columns = multiples_columns(plot->width);
    const int32_t rows = (c->n_series + columns - 1) / columns;
    const double left = 32.0, wide = (plot->width - left - 8.0 + GAP) / columns - GAP;
    s2_panel panel = { .width = wide, .height = SMALL_TALL, .across = axis_across(c) };
    range_of(c, p, false, &panel.up.low, &panel.up.high);
    char heading[160];
    (void)snprintf(heading, sizeof heading, "%.70s%s%.70s", c->up ? c->up : "",
                   c->up && c->panel ? ", " : "", c->panel ? c->panel[p] : "");
    s2_plot_text(plot, left, top + 10.0, "start", S2_LETTERS_BOLD, heading);
    for (int32_t s = 0; s < c->n_series; s++) {
        panel.x = left + (s % columns) * (wide + GAP);
        panel.y = top + HEADING + HEAD - 4.0 + SMALL_STEP * (s / columns);
        panel.up.is_bare = s % columns > 0;
        panel.across.is_bare = s + columns < c->n_series;
        draw_one_of_many(plot, c, p, s, &panel);
    }
    const double y = top + HEADING + SMALL_STEP * rows + 26.0;
    const bool has_level = c->level && isfinite(c->level[p]) && c->level_word;
    s2_plot_text(plot, 0.5 * (left + plot->width), y, "middle", S2_LETTERS_PLAIN,
                 c->across ? c->across : "");
    if (has_level)
        (void)s2_plot_legend(plot, left, y, 120.0, &(s2_legend){ .level = c->level_word });
}

s2p_status s2_figure_lines(const s2_chart *c, double width, s2_buffer *out)
{
    s2_chart entitled;
    void *memory;
    s2_plot plot;
    s2p_status st = entitle(c, &entitled, &memory);
    if (st == S2P_OK && s2_chart_is_crowded(c)) {
        s2_plot_begin(&plot, out, width, s2_multiples_height(c, width), c->title, c->caption);
        s2_plot_multiples(&plot, &entitled, 0, 0.0);
        s2_plot_end(&plot);
        st = out->status;
    } else if (st == S2P_OK) {
        st = draw_lines(&entitled, width, out);
    }
    free(memory);
    return st;
}
