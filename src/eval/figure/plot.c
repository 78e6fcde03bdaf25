/* plot.c - the document, its text, and axes. */
#include "eval/figure/plot.h"

#include "base/markup.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define TICK 3.5
#define ROOT "s2fig"

static void put_text(s2_plot *p, const char *text)
{
    s2_markup_append(p->out, text, strlen(text), false);
}

/* --- the document --------------------------------------------------------------------------- */

typedef struct scheme {
    const char *paper, *ink, *faint, *grid, *back, *good, *bad;
} scheme;

static const scheme schemes[2] = {
    { "#ffffff", "#1d2027", "#5c616d", "#dcdee2", "#c3c7cf", "#146c2e", "#b3261e" },
    { "#16181d", "#e6e7ea", "#a4a9b6", "#3a3e48", "#565b68", "#6fd58c", "#ff8f85" },
};

static void put_scheme(s2_buffer *out, bool is_dark)
{
    const scheme *s = &schemes[is_dark];
    s2_buffer_printf(
        out,
        "." ROOT " .paper{fill:%s}." ROOT " text{fill:%s}." ROOT " .faint{fill:%s}." ROOT
        " .good{fill:%s}." ROOT " .bad{fill:%s}\n." ROOT " .axis,." ROOT " .frame,." ROOT
        " .level,." ROOT " .error{stroke:%s}." ROOT " .grid{stroke:%s}." ROOT
        " .band{fill:%s}." ROOT " .back{stroke:%s}." ROOT " .ring{fill:%s}\n",
        s->paper, s->ink, s->faint, s->good, s->bad, s->ink, s->grid, s->grid, s->back, s->paper);
    for (int32_t i = 0; i < S2_LOOK_COLOURS; i++)
        s2_buffer_printf(out, "." ROOT " .s%d{stroke:%s}." ROOT " .f%d{fill:%s}\n", i,
                         s2_look_hex(i, is_dark), i, s2_look_hex(i, is_dark));
}

void s2_plot_begin(s2_plot *p, s2_buffer *out, double width, double height, const char *title,
                   const char *description)
{
    *p = (s2_plot){ out, width, height };
    s2_buffer_printf(out,
                     "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"" ROOT " %s\" "
                     "width=\"%.4gin\" height=\"%.4gin\" viewBox=\"0 0 %.1f %.1f\" role=\"img\">\n"
                     "<title>",
                     width < 0.5 * (S2_PLOT_COLUMN + S2_PLOT_PAGE) ? "column" : "page",
                     width / 96.0, height / 96.0, width, height);
    put_text(p, title);
    s2_buffer_printf(out, "</title>\n<desc>");
    put_text(p, description);
    s2_buffer_printf(out, "</desc>\n<style>\n");
    s2_buffer_printf(
        out,
        "." ROOT " text{font-family:Helvetica,Arial,'Liberation Sans','Nimbus Sans','Noto Sans',"
        "'Noto Sans CJK SC','DejaVu Sans',sans-serif;font-size:%gpx}." ROOT
        " .small{font-size:%gpx}." ROOT " .bold{font-weight:bold}\n",
        S2_PLOT_FONT, S2_PLOT_SMALL);
    s2_buffer_printf(
        out, "." ROOT " .axis,." ROOT " .level,." ROOT " .frame,." ROOT
             " .error{fill:none;stroke-width:.8}." ROOT " .grid{fill:none;stroke-width:.5}." ROOT
             " .line{fill:none;stroke-width:1.3}." ROOT " .ours{stroke-width:2.2}." ROOT
             " .tie{fill:none;stroke-width:.5}." ROOT " .level{stroke-dasharray:4 3}." ROOT
             " .mark{stroke-width:1}." ROOT " .bare{fill:none;stroke-width:1.3}." ROOT
             " .range{fill:none;stroke-width:.8}." ROOT " .far{stroke-opacity:.45}." ROOT
             " .band{opacity:.5}." ROOT " .back{fill:none;stroke-width:.8}\n");
    put_scheme(out, false);
    s2_buffer_printf(out, "@media screen and (prefers-color-scheme:dark){\n");
    put_scheme(out, true);
    s2_buffer_printf(out, "}\n</style>\n<rect class=\"paper\" width=\"%.1f\" height=\"%.1f\"/>\n",
                     width, height);
}

void s2_plot_end(s2_plot *p) { s2_buffer_printf(p->out, "</svg>\n"); }

static void put_letters(s2_plot *p, unsigned letters)
{
    static const char *const classes[] = { "small", "bold", "faint", "good", "bad" };
    const char *before = " class=\"";
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        if (!(letters & 1u << i)) continue;
        s2_buffer_printf(p->out, "%s%s", before, classes[i]);
        before = " ";
    }
    s2_buffer_printf(p->out, letters ? "\">" : ">");
}

void s2_plot_text(s2_plot *p, double x, double y, const char *anchor, unsigned letters,
                  const char *text)
{
    s2_buffer_printf(p->out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"", x, y, anchor);
    put_letters(p, letters);
    put_text(p, text);
    s2_buffer_printf(p->out, "</text>\n");
}

static void put_turned(s2_plot *p, double x, double y, const char *anchor, int degrees,
                       unsigned letters, const char *text)
{
    s2_buffer_printf(p->out,
                     "<text text-anchor=\"%s\" transform=\"translate(%.1f %.1f) rotate(%d)\"",
                     anchor, x, y, degrees);
    put_letters(p, letters);
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
    const double share = share_of(&panel->up, value);
    return panel->y + panel->height * (panel->up.n_names > 0 ? share : 1.0 - share);
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
    const ticks t = ticks_of(&panel->up, panel->height, 30.0);
    const double x = panel->x - TICK - 2.5;
    double widest = 0.0;
    for (int32_t i = 0; i < t.n; i++) {
        const double y = s2_plot_y(panel, t.at[i]);
        put_line(p, "grid", panel->x, y, panel->x + panel->width, y);
        put_line(p, "axis", panel->x - TICK, y, panel->x, y);
        if (panel->up.is_bare) continue;
        s2_plot_text(p, x, y + 3.3, "end", S2_LETTERS_SMALL, t.text[i]);
        widest = fmax(widest, s2_text_width(t.text[i], S2_PLOT_SMALL));
    }
    for (int32_t i = 0; i < panel->up.n_names && !panel->up.is_bare; i++) {
        const bool is_ours = s2_look_of(panel->up.name[i], NULL).is_ours;
        s2_plot_text(p, x, s2_plot_y(panel, i) + 3.3, "end",
                     S2_LETTERS_SMALL | (is_ours ? S2_LETTERS_BOLD : 0), panel->up.name[i]);
        widest = fmax(widest, s2_text_width(panel->up.name[i], S2_PLOT_SMALL));
    }
    return widest;
}

static bool fits_side_by_side(const s2_axis *axis, double width, double *widest)
{
    *widest = 0.0;
    for (int32_t i = 0; i < axis->n_names; i++)
        *widest = fmax(*widest, s2_text_width(axis->name[i], S2_PLOT_SMALL));
    return *widest < width / axis->n_names - 4.0;
}

double s2_plot_names_height(const s2_axis *axis, double width)
{
    double widest;
    if (axis->n_names == 0 || fits_side_by_side(axis, width, &widest)) return 16.0;
    return 15.0 + 0.65 * widest;
}

/* Names that do not fit side by side stand aslant. */
static void draw_names(s2_plot *p, const s2_panel *panel)
{
    const double y = panel->y + panel->height;
    double widest;
    const bool is_level = fits_side_by_side(&panel->across, panel->width, &widest);
    for (int32_t i = 0; i < panel->across.n_names; i++) {
        const double x = s2_plot_x(panel, i);
        put_line(p, "axis", x, y, x, y + TICK);
        if (is_level)
            s2_plot_text(p, x, y + 13.5, "middle", S2_LETTERS_SMALL, panel->across.name[i]);
        else
            put_turned(p, x + 4.0, y + 11.0, "end", -40, S2_LETTERS_SMALL, panel->across.name[i]);
    }
}

static void draw_across(s2_plot *p, const s2_panel *panel)
{
    if (panel->across.n_names > 0) {
        draw_names(p, panel);
        return;
    }
    const ticks t = ticks_of(&panel->across, panel->width, 40.0);
    double free_from = -1e9; /* numbers that would touch the one before are left out */
    for (int32_t i = 0; i < t.n; i++) {
        const double x = s2_plot_x(panel, t.at[i]), y = panel->y + panel->height;
        const double half = 0.5 * s2_text_width(t.text[i], S2_PLOT_SMALL);
        put_line(p, "grid", x, panel->y, x, y);
        put_line(p, "axis", x, y, x, y + TICK);
        if (panel->across.is_bare || x - half < free_from) continue;
        s2_plot_text(p, x, y + 13.5, "middle", S2_LETTERS_SMALL, t.text[i]);
        free_from = x + half + 3.0;
    }
}

void s2_plot_panel(s2_plot *p, const s2_panel *panel)
{
    const double bottom = panel->y + panel->height;
    const double deep = s2_plot_names_height(&panel->across, panel->width);
    const double widest = draw_up(p, panel);
    draw_across(p, panel);
    put_line(p, "axis", panel->x, bottom, panel->x + panel->width, bottom);
    put_line(p, "axis", panel->x, panel->y, panel->x, bottom);
    if (panel->across.label)
        s2_plot_text(p, panel->x + 0.5 * panel->width, bottom + deep + 11.0, "middle",
                     S2_LETTERS_PLAIN, panel->across.label);
    if (panel->up.label)
        put_turned(p, panel->x - widest - 12.0, panel->y + 0.5 * panel->height, "middle", -90,
                   S2_LETTERS_PLAIN, panel->up.label);
    if (panel->title)
        s2_plot_text(p, panel->x + 0.5 * panel->width, panel->y - 6.0, "middle", S2_LETTERS_BOLD,
                     panel->title);
}
