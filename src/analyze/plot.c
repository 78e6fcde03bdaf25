/* plot.c - the document, axes, legends, and the marks of series. */
#include "analyze/plot.h"

#include "base/markup.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define FONT 12.0
#define LETTER 6.4 /* mean width of a letter at that size */
#define TICK 4.0

/* Dark on light and light on dark; neighbours differ in lightness too. */
static const char *const light[S2_PLOT_SERIES] = { "#0060a8", "#c84800", "#007d5b", "#9b3f7d",
                                                   "#8a6d00", "#2f8fc4", "#6b6b6b", "#b00020",
                                                   "#3f51b5", "#5d4037" };
static const char *const dark[S2_PLOT_SERIES] = { "#62b5f5", "#ff9350", "#4fd0a5", "#e79bcb",
                                                  "#e6c34a", "#a5dbf7", "#b8b8b8", "#ff7d8a",
                                                  "#9fa8ff", "#c9a396" };
static const char *const dashes[] = { "none", "7 3", "2 2", "8 3 2 3", "12 4" };

static void put_text(s2_plot *p, const char *text)
{
    s2_markup_append(p->out, text, strlen(text), false);
}

static double width_of(const char *text)
{
    double n = 0.0;
    for (; *text; text++) n += ((unsigned char)*text & 0xC0) != 0x80;
    return n * LETTER;
}

/* --- the document --------------------------------------------------------------------------- */

static void put_colours(s2_buffer *out, const char *const *colour, const char *paper,
                        const char *ink, const char *faint)
{
    s2_buffer_printf(out,
                     ".paper{fill:%s}text{fill:%s}.axis{stroke:%s}.level{stroke:%s}"
                     ".grid{stroke:%s}.frame{stroke:%s}.error{stroke:%s}\n",
                     paper, ink, ink, ink, faint, ink, ink);
    for (int32_t i = 0; i < S2_PLOT_SERIES; i++)
        s2_buffer_printf(out, ".s%d{stroke:%s}.f%d{fill:%s}\n", i, colour[i], i, colour[i]);
}

void s2_plot_begin(s2_plot *p, s2_buffer *out, double width, double height, const char *title,
                   const char *description)
{
    *p = (s2_plot){ out, width, height };
    s2_buffer_printf(out,
                     "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%g\" height=\"%g\" "
                     "viewBox=\"0 0 %g %g\" role=\"img\">\n<title>",
                     width, height, width, height);
    put_text(p, title);
    s2_buffer_printf(out, "</title>\n<desc>");
    put_text(p, description);
    s2_buffer_printf(out, "</desc>\n<style>\n");
    s2_buffer_printf(out,
                     "text{font-family:sans-serif;font-size:%gpx}.small{font-size:10.5px}"
                     ".title{font-weight:bold}\n"
                     ".axis,.level,.frame,.error{fill:none;stroke-width:1}.grid{fill:none;"
                     "stroke-width:0.6}.line{fill:none;stroke-width:1.8}"
                     ".level{stroke-dasharray:5 4}.mark{stroke-width:1.2}\n",
                     FONT);
    put_colours(out, light, "#ffffff", "#222222", "#d0d0d0");
    s2_buffer_printf(out, "@media screen and (prefers-color-scheme:dark){\n");
    put_colours(out, dark, "#16181d", "#e6e6e6", "#454952");
    s2_buffer_printf(out, "}\n</style>\n<rect class=\"paper\" width=\"%g\" height=\"%g\"/>\n",
                     width, height);
}

void s2_plot_end(s2_plot *p) { s2_buffer_printf(p->out, "</svg>\n"); }

void s2_plot_text(s2_plot *p, double x, double y, const char *anchor, bool is_small,
                  const char *text)
{
    s2_buffer_printf(p->out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"%s>", x, y, anchor,
                     is_small ? " class=\"small\"" : "");
    put_text(p, text);
    s2_buffer_printf(p->out, "</text>\n");
}

/* --- axes ------------------------------------------------------------------------------------- */

/* 0 to 1 along an axis. */
static double share_of(const s2_axis *a, double value)
{
    if (a->n_names > 0) return (value + 0.5) / a->n_names;
    if (a->is_log) return log(value / a->low) / log(a->high / a->low);
    return (value - a->low) / (a->high - a->low);
}

double s2_plot_x(const s2_panel *panel, double value)
{
    return panel->x + panel->width * share_of(&panel->across, value);
}

double s2_plot_y(const s2_panel *panel, double value)
{
    return panel->y + panel->height * (1.0 - share_of(&panel->up, value));
}

/* 1, 2 or 5 times a power of ten that cuts the range into about n parts. */
static double round_step(double range, double n)
{
    const double raw = range / n, power = pow(10.0, floor(log10(raw)));
    const double lead = raw / power;
    return power * (lead < 1.5 ? 1.0 : lead < 3.5 ? 2.0 : lead < 7.5 ? 5.0 : 10.0);
}

void s2_plot_range(const double *value, int32_t n, double *low, double *high)
{
    bool is_first = true;
    for (int32_t i = 0; i < n; i++) {
        if (!isfinite(value[i])) continue;
        if (is_first || value[i] < *low) *low = value[i];
        if (is_first || value[i] > *high) *high = value[i];
        is_first = false;
    }
    if (is_first) *low = *high = 0.0;
    if (*high - *low < 1e-9) *high = *low + 1.0;
    const double step = round_step(*high - *low, 5.0);
    *low = step * floor(*low / step);
    *high = step * ceil(*high / step);
}

static void put_number(char out[32], double value, double step)
{
    const int decimals = step >= 0.999 ? 0 : (int)ceil(-log10(step) - 1e-9);
    (void)snprintf(out, 32, "%.*f", decimals, fabs(value) < 1e-12 ? 0.0 : value);
    if (out[0] == '-') { /* a minus as long as a plus */
        char digits[32];
        (void)snprintf(digits, sizeof digits, "%s", out + 1);
        (void)snprintf(out, 32, "\xE2\x88\x92%.24s", digits);
    }
}

typedef struct ticks {
    int32_t n;
    double at[24];
    char text[24][32];
} ticks;

static ticks ticks_of(const s2_axis *a, double length, double apart)
{
    ticks t = { 0 };
    if (a->n_names > 0) return t;
    if (a->n_ticks > 0) {
        for (int32_t i = 0; i < a->n_ticks && t.n < 24; i++) {
            (void)snprintf(t.text[t.n], sizeof t.text[0], "%g", a->tick[i]);
            t.at[t.n++] = a->tick[i];
        }
        return t;
    }
    const double step = round_step(a->high - a->low, fmax(2.0, length / apart));
    for (double v = step * ceil(a->low / step - 1e-9); v <= a->high + 1e-9 * step && t.n < 24;
         v += step) {
        put_number(t.text[t.n], v, step);
        t.at[t.n++] = v;
    }
    return t;
}

static void put_line(s2_plot *p, const char *class, double x1, double y1, double x2, double y2)
{
    s2_buffer_printf(p->out,
                     "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n",
                     class, x1, y1, x2, y2);
}

static double draw_up(s2_plot *p, const s2_panel *panel)
{
    const ticks t = ticks_of(&panel->up, panel->height, 38.0);
    double widest = 0.0;
    for (int32_t i = 0; i < t.n; i++) {
        const double y = s2_plot_y(panel, t.at[i]);
        put_line(p, "grid", panel->x, y, panel->x + panel->width, y);
        put_line(p, "axis", panel->x - TICK, y, panel->x, y);
        if (panel->up.is_bare) continue;
        s2_plot_text(p, panel->x - TICK - 3.0, y + 4.0, "end", true, t.text[i]);
        widest = fmax(widest, width_of(t.text[i]));
    }
    for (int32_t i = 0; i < panel->up.n_names && !panel->up.is_bare; i++) {
        s2_plot_text(p, panel->x - TICK - 3.0, s2_plot_y(panel, i) + 4.0, "end", true,
                     panel->up.name[i]);
        widest = fmax(widest, width_of(panel->up.name[i]));
    }
    return widest;
}

/* Names that do not fit side by side stand aslant. Returns how far they reach down. */
static double draw_names(s2_plot *p, const s2_panel *panel)
{
    const double room = panel->width / panel->across.n_names, y = panel->y + panel->height;
    double widest = 0.0;
    for (int32_t i = 0; i < panel->across.n_names; i++)
        widest = fmax(widest, 0.92 * width_of(panel->across.name[i]));
    for (int32_t i = 0; i < panel->across.n_names; i++) {
        const double x = s2_plot_x(panel, i);
        put_line(p, "axis", x, y, x, y + TICK);
        if (widest < room - 4.0) {
            s2_plot_text(p, x, y + 17.0, "middle", true, panel->across.name[i]);
            continue;
        }
        s2_buffer_printf(p->out,
                         "<text class=\"small\" text-anchor=\"end\" transform=\"translate(%.1f "
                         "%.1f) rotate(-40)\">",
                         x + 4.0, y + 14.0);
        put_text(p, panel->across.name[i]);
        s2_buffer_printf(p->out, "</text>\n");
    }
    return widest < room - 4.0 ? 20.0 : 18.0 + 0.65 * widest;
}

static double draw_across(s2_plot *p, const s2_panel *panel)
{
    if (panel->across.n_names > 0) return draw_names(p, panel);
    const ticks t = ticks_of(&panel->across, panel->width, 60.0);
    for (int32_t i = 0; i < t.n; i++) {
        const double x = s2_plot_x(panel, t.at[i]), y = panel->y + panel->height;
        put_line(p, "grid", x, panel->y, x, y);
        put_line(p, "axis", x, y, x, y + TICK);
        s2_plot_text(p, x, y + 17.0, "middle", true, t.text[i]);
    }
    return 20.0;
}

void s2_plot_panel(s2_plot *p, const s2_panel *panel)
{
    const double bottom = panel->y + panel->height;
    const double widest = draw_up(p, panel), deep = draw_across(p, panel);
    put_line(p, "axis", panel->x, bottom, panel->x + panel->width, bottom);
    put_line(p, "axis", panel->x, panel->y, panel->x, bottom);
    if (panel->across.label)
        s2_plot_text(p, panel->x + 0.5 * panel->width, bottom + deep + 14.0, "middle", false,
                     panel->across.label);
    if (panel->up.label) {
        s2_buffer_printf(p->out,
                         "<text text-anchor=\"middle\" transform=\"translate(%.1f %.1f) "
                         "rotate(-90)\">",
                         panel->x - widest - 18.0, panel->y + 0.5 * panel->height);
        put_text(p, panel->up.label);
        s2_buffer_printf(p->out, "</text>\n");
    }
    if (panel->title) {
        s2_buffer_printf(p->out,
                         "<text class=\"title\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">",
                         panel->x + 0.5 * panel->width, panel->y - 10.0);
        put_text(p, panel->title);
        s2_buffer_printf(p->out, "</text>\n");
    }
}

/* --- series ------------------------------------------------------------------------------------ */

static void put_mark(s2_plot *p, double x, double y, int32_t which)
{
    const int32_t colour = which % S2_PLOT_SERIES;
    s2_buffer_printf(p->out, "<path class=\"mark s%d f%d\" d=\"", colour, colour);
    switch ((which + which / S2_PLOT_SERIES) % 6) {
    case 0: /* a circle of two arcs */
        s2_buffer_printf(p->out, "M%.1f %.1fa3.6 3.6 0 1 0 7.2 0a3.6 3.6 0 1 0 -7.2 0z", x - 3.6,
                         y);
        break;
    case 1:
        s2_buffer_printf(p->out, "M%.1f %.1fh6.6v6.6h-6.6z", x - 3.3, y - 3.3);
        break;
    case 2:
        s2_buffer_printf(p->out, "M%.1f %.1fl4.2 7.2h-8.4z", x, y - 4.4);
        break;
    case 3:
        s2_buffer_printf(p->out, "M%.1f %.1fl4.4 4.4l-4.4 4.4l-4.4 -4.4z", x, y - 4.4);
        break;
    case 4:
        s2_buffer_printf(p->out, "M%.1f %.1fl4.2 -7.2h-8.4z", x, y + 4.4);
        break;
    default:
        s2_buffer_printf(p->out, "M%.1f %.1fl6 6m0 -6l-6 6", x - 3.0, y - 3.0);
        break;
    }
    s2_buffer_printf(p->out, "\"/>\n");
}

static void put_error(s2_plot *p, const char *class, double x, double y_low, double y_high)
{
    if (!isfinite(y_low) || !isfinite(y_high)) return;
    s2_buffer_printf(p->out,
                     "<path class=\"%s\" fill=\"none\" d=\"M%.1f %.1fV%.1fM%.1f %.1fh6M%.1f "
                     "%.1fh6\"/>\n",
                     class, x, y_low, y_high, x - 3.0, y_low, x - 3.0, y_high);
}

void s2_plot_line(s2_plot *p, const s2_panel *panel, const s2_series *s, int32_t which)
{
    const int32_t colour = which % S2_PLOT_SERIES;
    char class[16];
    (void)snprintf(class, sizeof class, "s%d", colour);
    bool is_first = true;
    s2_buffer_printf(p->out, "<path class=\"line s%d\" stroke-dasharray=\"%s\" d=\"", colour,
                     dashes[which % 5]);
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
            put_error(p, class, x, s2_plot_y(panel, s->low[i]), s2_plot_y(panel, s->high[i]));
        put_mark(p, x, s2_plot_y(panel, s->y[i]), which);
    }
}

void s2_plot_level(s2_plot *p, const s2_panel *panel, double value)
{
    if (!isfinite(value)) return;
    const double y = s2_plot_y(panel, value);
    put_line(p, "level", panel->x, y, panel->x + panel->width, y);
}

double s2_plot_legend_level(s2_plot *p, double x, double y, const char *word)
{
    put_line(p, "level", x, y - 4.0, x + 30.0, y - 4.0);
    s2_plot_text(p, x + 36.0, y, "start", false, word);
    return 36.0 + width_of(word) + 14.0;
}

void s2_plot_bars(s2_plot *p, const s2_panel *panel, const s2_series *s, int32_t which,
                  int32_t n_bars)
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
                         which % S2_PLOT_SERIES, x + 0.04 * width, fmin(y, base), 0.92 * width,
                         fabs(y - base));
        if (s->low && s->high)
            put_error(p, "error", x + 0.5 * width, s2_plot_y(panel, s->low[i]),
                      s2_plot_y(panel, s->high[i]));
    }
    if (panel->up.low < 0.0 && panel->up.high > 0.0)
        put_line(p, "axis", panel->x, base, panel->x + panel->width, base);
}

double s2_plot_legend(s2_plot *p, double x, double y, double width, const char *const *name,
                      int32_t n, bool is_bar)
{
    double at = x, row = y;
    for (int32_t i = 0; i < n; i++) {
        const double room = 36.0 + width_of(name[i]) + 14.0;
        if (at > x && at + room > x + width) {
            at = x;
            row += 18.0;
        }
        if (is_bar) {
            s2_buffer_printf(p->out,
                             "<rect class=\"f%d\" x=\"%.1f\" y=\"%.1f\" width=\"12\" "
                             "height=\"12\"/>\n",
                             i % S2_PLOT_SERIES, at + 14.0, row - 10.0);
        } else {
            s2_buffer_printf(p->out,
                             "<path class=\"line s%d\" stroke-dasharray=\"%s\" d=\"M%.1f "
                             "%.1fh30\"/>\n",
                             i % S2_PLOT_SERIES, dashes[i % 5], at, row - 4.0);
            put_mark(p, at + 15.0, row - 4.0, i);
        }
        s2_plot_text(p, at + 36.0, row, "start", false, name[i]);
        at += room;
    }
    return row - y + 18.0;
}
