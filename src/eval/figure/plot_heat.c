/* plot_heat.c - maps of numbers as colors.
 *
 * Dark blue to light yellow through gray: lightness rises steadily, so the map reads in gray print,
 * and no two colors are confused by those who see no red or no green. The colors are the same in
 * the light and the dark scheme: they stand for numbers.
 */
#include "eval/figure/plot.h"

#include "base/markup.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct rgb {
    double red, green, blue;
} rgb;

static rgb colour_of(double share)
{
    static const rgb stops[] = { { 0, 32, 77 },     { 36, 62, 108 },   { 85, 91, 108 },
                                 { 124, 123, 120 }, { 165, 156, 116 }, { 209, 192, 98 },
                                 { 255, 233, 69 } };
    const int32_t last = (int32_t)(sizeof stops / sizeof *stops) - 1;
    const double at = fmin(fmax(share, 0.0), 1.0) * last;
    const int32_t i = at >= last ? last - 1 : (int32_t)at;
    const double part = at - i;
    return (rgb){ stops[i].red + part * (stops[i + 1].red - stops[i].red),
                  stops[i].green + part * (stops[i + 1].green - stops[i].green),
                  stops[i].blue + part * (stops[i + 1].blue - stops[i].blue) };
}

static void put_cell(s2_plot *p, double x, double y, double width, double height, double share)
{
    const rgb c = colour_of(share);
    s2_buffer_printf(p->out,
                     "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" "
                     "fill=\"#%02x%02x%02x\"/>\n",
                     x, y, width, height, (unsigned)(c.red + 0.5), (unsigned)(c.green + 0.5),
                     (unsigned)(c.blue + 0.5));
}

void s2_plot_heat(s2_plot *p, double x, double y, double width, double height, const s2_heat *h)
{
    const double w = width / h->cols, t = height / h->rows;
    const double range = h->high > h->low ? h->high - h->low : 1.0;
    s2_buffer_printf(p->out, "<g shape-rendering=\"crispEdges\">\n");
    for (int32_t r = 0; r < h->rows; r++)
        for (int32_t c = 0; c < h->cols; c++) {
            const double value = h->value[r * h->cols + c];
            if (isfinite(value))
                put_cell(p, x + c * w, y + r * t, w + 0.05, t + 0.05, (value - h->low) / range);
        }
    s2_buffer_printf(p->out, "</g>\n");
    for (int32_t r = 0; h->has_numbers && r < h->rows; r++)
        for (int32_t c = 0; c < h->cols; c++) {
            const double value = h->value[r * h->cols + c];
            if (!isfinite(value)) continue;
            const bool is_dark = (value - h->low) / range < 0.5;
            s2_buffer_printf(p->out,
                             "<text class=\"small\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" "
                             "style=\"fill:%s\">%.2f</text>\n",
                             x + (c + 0.5) * w, y + (r + 0.5) * t + 3.3,
                             is_dark ? "#ffffff" : "#111111", value);
        }
    s2_buffer_printf(p->out,
                     "<rect class=\"frame\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
                     "height=\"%.1f\"/>\n",
                     x, y, width, height);
}

void s2_plot_colour_bar(s2_plot *p, double x, double y, double height, double low, double high,
                        const char *label)
{
    const int32_t steps = 64;
    const double top = high > low ? high : low + 1.0;
    s2_buffer_printf(p->out, "<g shape-rendering=\"crispEdges\">\n");
    for (int32_t i = 0; i < steps; i++)
        put_cell(p, x, y + height * (steps - 1 - i) / steps, 10.0, height / steps + 0.3,
                 (i + 0.5) / steps);
    s2_buffer_printf(p->out, "</g>\n");
    for (int32_t i = 0; i <= 4; i++) {
        char text[32];
        const double at = y + height * (4 - i) / 4;
        (void)snprintf(text, sizeof text, "%.2f", low + (top - low) * i / 4);
        s2_buffer_printf(p->out, "<path class=\"axis\" d=\"M%.1f %.1fh3\"/>\n", x + 10.0, at);
        s2_plot_text(p, x + 15.0, at + 3.3, "start", S2_LETTERS_SMALL, text);
    }
    s2_buffer_printf(p->out,
                     "<text class=\"small\" text-anchor=\"middle\" transform=\"translate(%.1f "
                     "%.1f) rotate(-90)\">",
                     x + 48.0, y + 0.5 * height);
    s2_markup_append(p->out, label, strlen(label), false);
    s2_buffer_printf(p->out, "</text>\n");
}
