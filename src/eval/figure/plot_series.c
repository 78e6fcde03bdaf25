/* plot_series.c - marks, lines, bars, dots and legends. */
#include "eval/figure/plot.h"

#include "base/markup.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- marks -------------------------------------------------------------------------------- */

void s2_plot_mark(s2_plot *p, double x, double y, const s2_look *look)
{
    static const struct shape {
        double dx, dy; /* of the beginning */
        const char *path, *class;
    } shapes[S2_LOOK_MARKS] = {
        [S2_MARK_CIRCLE] = { -2.8, 0.0, "a2.8 2.8 0 1 0 5.6 0a2.8 2.8 0 1 0 -5.6 0z", "mark" },
        [S2_MARK_SQUARE] = { -2.5, -2.5, "h5v5h-5z", "mark" },
        [S2_MARK_UP] = { 0.0, -3.3, "l3.2 5.6h-6.4z", "mark" },
        [S2_MARK_DIAMOND] = { 0.0, -3.5, "l3.5 3.5l-3.5 3.5l-3.5 -3.5z", "mark" },
        [S2_MARK_DOWN] = { 0.0, 3.3, "l3.2 -5.6h-6.4z", "mark" },
        [S2_MARK_CROSS] = { -2.6, -2.6, "l5.2 5.2m0 -5.2l-5.2 5.2", "mark bare" },
        [S2_MARK_PLUS] = { -3.2, 0.0, "h6.4m-3.2 -3.2v6.4", "mark bare" },
        [S2_MARK_RING] = { -2.6, 0.0, "a2.6 2.6 0 1 0 5.2 0a2.6 2.6 0 1 0 -5.2 0z", "mark ring" },
    };
    const struct shape *s = &shapes[look->mark];
    const bool is_filled = s->class[4] == '\0';
    s2_buffer_printf(p->out, "<path class=\"%s s%d", s->class, look->colour);
    if (is_filled) s2_buffer_printf(p->out, " f%d", look->colour);
    s2_buffer_printf(p->out, "\" d=\"M%.1f %.1f%s\"/>\n", x + s->dx, y + s->dy, s->path);
}

static void put_range(s2_plot *p, const char *class, double x, double y_low, double y_high)
{
    if (!isfinite(y_low) || !isfinite(y_high)) return;
    s2_buffer_printf(p->out, "<path class=\"%s\" d=\"M%.1f %.1fV%.1fM%.1f %.1fh4M%.1f %.1fh4\"/>\n",
                     class, x, y_low, y_high, x - 2.0, y_low, x - 2.0, y_high);
}

/* --- lines --------------------------------------------------------------------------------- */

static void put_stroke(s2_plot *p, const s2_look *look)
{
    s2_buffer_printf(p->out, "<path class=\"line s%d%s\" stroke-dasharray=\"%s\" d=\"",
                     look->colour, look->is_ours ? " ours" : "", s2_look_dash(look->dash));
}

/* A group whose numbers a browser shows under the pointer. */
static void put_tip(s2_plot *p, const s2_series *s, int32_t i)
{
    s2_buffer_printf(p->out, "<g><title>");
    s2_markup_append(p->out, s->name, strlen(s->name), false);
    s2_buffer_printf(p->out, ", %g: %.1f", s->x[i], s->y[i]);
    if (s->low && s->high && isfinite(s->low[i]) && isfinite(s->high[i]))
        s2_buffer_printf(p->out, " [%.1f, %.1f]", s->low[i], s->high[i]);
    s2_buffer_printf(p->out, "</title>");
}

void s2_plot_line(s2_plot *p, const s2_panel *panel, const s2_series *s, const s2_look *look)
{
    char class[32];
    (void)snprintf(class, sizeof class, "range s%d", look->colour);
    bool is_first = true;
    put_stroke(p, look);
    for (int32_t i = 0; i < s->n; i++) {
        if (!isfinite(s->y[i])) continue;
        s2_buffer_printf(p->out, "%c%.1f %.1f", is_first ? 'M' : 'L', s2_plot_x(panel, s->x[i]),
                         s2_plot_y(panel, s->y[i]));
        is_first = false;
    }
    s2_buffer_printf(p->out, "\"/>\n");
    for (int32_t i = 0; i < s->n; i++) {
        if (!isfinite(s->y[i])) continue;
        const double x = s2_plot_x(panel, s->x[i]);
        if (s->low && s->high)
            put_range(p, class, x, s2_plot_y(panel, s->low[i]), s2_plot_y(panel, s->high[i]));
        if (s->name) put_tip(p, s, i);
        s2_plot_mark(p, x, s2_plot_y(panel, s->y[i]), look);
        if (s->name) s2_buffer_printf(p->out, "</g>\n");
    }
}

void s2_plot_level(s2_plot *p, const s2_panel *panel, double value)
{
    if (!isfinite(value)) return;
    const double y = s2_plot_y(panel, value);
    s2_buffer_printf(p->out, "<path class=\"level\" d=\"M%.1f %.1fH%.1f\"/>\n", panel->x, y,
                     panel->x + panel->width);
}

/* --- bars and dots --------------------------------------------------------------------------- */

void s2_plot_bars(s2_plot *p, const s2_panel *panel, const s2_series *s, int32_t which,
                  int32_t n_bars, const s2_look *look)
{
    const double room = panel->width / panel->across.n_names, width = 0.82 * room / n_bars;
    const double from = fmin(fmax(0.0, panel->up.low), panel->up.high);
    const double base = s2_plot_y(panel, from);
    for (int32_t i = 0; i < s->n; i++) {
        if (!isfinite(s->y[i])) continue;
        const double x = s2_plot_x(panel, s->x[i]) - 0.41 * room + width * which;
        const double y = s2_plot_y(panel, s->y[i]);
        s2_buffer_printf(p->out,
                         "<rect class=\"f%d\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
                         "height=\"%.1f\"/>\n",
                         look->colour, x + 0.04 * width, fmin(y, base), 0.92 * width,
                         fabs(y - base));
        if (s->low && s->high)
            put_range(p, "error", x + 0.5 * width, s2_plot_y(panel, s->low[i]),
                      s2_plot_y(panel, s->high[i]));
    }
    if (panel->up.low < 0.0 && panel->up.high > 0.0)
        s2_buffer_printf(p->out, "<path class=\"axis\" d=\"M%.1f %.1fH%.1f\"/>\n", panel->x, base,
                         panel->x + panel->width);
}

void s2_plot_dot(s2_plot *p, const s2_panel *panel, int32_t which, double value, double low,
                 double high, const s2_look *look)
{
    const double y = s2_plot_y(panel, which);
    if (!isfinite(value)) return;
    if (isfinite(low) && isfinite(high))
        s2_buffer_printf(p->out, "<path class=\"range s%d\" d=\"M%.1f %.1fH%.1f\"/>\n",
                         look->colour, s2_plot_x(panel, low), y, s2_plot_x(panel, high));
    s2_plot_mark(p, s2_plot_x(panel, value), y, look);
}

/* --- legends ---------------------------------------------------------------------------------- */

#define SWATCH 26.0 /* a piece of line with its mark */
#define LEGEND_STEP 13.5

static void put_entry(s2_plot *p, double x, double y, const s2_legend *l, int32_t i)
{
    const s2_look *look = &l->look[i];
    if (l->is_bar) {
        s2_buffer_printf(p->out,
                         "<rect class=\"f%d\" x=\"%.1f\" y=\"%.1f\" width=\"9\" height=\"9\"/>\n",
                         look->colour, x + 10.0, y - 8.0);
    } else {
        put_stroke(p, look);
        s2_buffer_printf(p->out, "M%.1f %.1fh%.1f\"/>\n", x, y - 3.4, SWATCH - 4.0);
        s2_plot_mark(p, x + 0.5 * (SWATCH - 4.0), y - 3.4, look);
    }
    s2_plot_text(p, x + SWATCH, y, "start", look->is_ours ? S2_LETTERS_BOLD : S2_LETTERS_PLAIN,
                 l->name[i]);
}

double s2_plot_legend(s2_plot *p, double x, double y, double width, const s2_legend *l)
{
    const int32_t before = l->level ? 1 : 0, n = l->n + before;
    double widest = l->level ? s2_text_width(l->level, S2_PLOT_FONT) : 0.0;
    for (int32_t i = 0; i < l->n; i++)
        widest = fmax(widest, s2_text_width(l->name[i], S2_PLOT_FONT));
    const double pitch = SWATCH + 1.05 * widest + 8.0;
    const int32_t fitting = (int32_t)fmax(1.0, floor((width + 8.0) / pitch));
    const int32_t rows = (n + fitting - 1) / fitting,
                  columns = rows > 0 ? (n + rows - 1) / rows : 1;
    for (int32_t i = 0; p && i < n; i++) {
        const double at = x + pitch * (i % columns), row = y + LEGEND_STEP * (i / columns);
        if (i >= before) {
            put_entry(p, at, row, l, i - before);
            continue;
        }
        s2_buffer_printf(p->out, "<path class=\"level\" d=\"M%.1f %.1fh%.1f\"/>\n", at, row - 3.4,
                         SWATCH - 4.0);
        s2_plot_text(p, at + SWATCH, row, "start", S2_LETTERS_PLAIN, l->level);
    }
    return LEGEND_STEP * rows;
}
