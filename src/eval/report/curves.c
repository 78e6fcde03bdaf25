/* curves.c - panels two by two, tokens across on a scale of doublings, mean score up.
 *
 * Colours are eight that all common kinds of colour vision tell apart; after them the lines are
 * dashed in another way.
 */
#include "eval/report/documents.h"

#include "eval/metrics.h"
#include "eval/report/escape.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PANEL_WIDTH = 460, PANEL_HEIGHT = 300, LEFT = 46, TOP = 34, RIGHT = 14, BOTTOM = 40 };
enum { LEGEND_ROW = 18, LEGEND_WIDTH = 130 };

static const char *const colour[] = { "#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                      "#56b4e9", "#b8860b", "#882255", "#555555" };
static const char *const dash[] = { "", "6 3", "2 3", "8 3 2 3" };
#define MOST_TICKS 12
#define N_COLOURS ((int32_t)(sizeof colour / sizeof *colour))

typedef struct panel {
    const s2e_task_results *task;
    s2e_interval *interval; /* [n_results] */
    double x, y;            /* of its corner */
    double low, high;       /* scores */
    double first, last;     /* tokens, base-2 logarithms */
    int32_t n_methods;
} panel;

static double across(const panel *p, double tokens)
{
    const double span = p->last > p->first ? p->last - p->first : 1.0;
    return p->x + LEFT + (log2(tokens) - p->first) / span * (PANEL_WIDTH - LEFT - RIGHT - 20) +
           10.0;
}

/* Intervals of several methods at one budget stand beside each other. */
static double beside(const panel *p, int32_t which)
{
    return (which - 0.5 * (p->n_methods - 1)) * fmin(4.0, 16.0 / p->n_methods);
}

static double up(const panel *p, double score)
{
    const double share = (score - p->low) / (p->high - p->low);
    return p->y + PANEL_HEIGHT - BOTTOM - share * (PANEL_HEIGHT - TOP - BOTTOM);
}

static bool is_pruned(const s2e_result *r)
{
    return !s2a_budget_is_none(r->budget) && r->image_tokens >= 1.0;
}

static s2p_status measure(panel *p, s2e_protocol protocol)
{
    double low = 100.0, high = 0.0;
    p->first = 1e9;
    p->last = -1e9;
    for (int32_t i = 0; i < p->task->n_results; i++) {
        const s2e_result *r = &p->task->result[i];
        TRY(s2e_interval_of(p->task->set, r->score[protocol], &p->interval[i]));
        low = fmin(low, p->interval[i].low);
        high = fmax(high, p->interval[i].high);
        if (!is_pruned(r)) continue;
        p->first = fmin(p->first, log2(r->image_tokens));
        p->last = fmax(p->last, log2(r->image_tokens));
    }
    p->low = 10.0 * floor(low / 10.0);
    p->high = 10.0 * ceil(high / 10.0);
    if (p->high <= p->low) p->high = p->low + 10.0;
    return S2P_OK;
}

static void draw_axes(const panel *p, s2_buffer *out)
{
    const double right = p->x + PANEL_WIDTH - RIGHT, bottom = p->y + PANEL_HEIGHT - BOTTOM;
    s2_buffer_printf(out, "<text x=\"%.0f\" y=\"%.0f\" class=\"t\">", p->x + LEFT, p->y + 20);
    s2e_html_text(out, p->task->task->title);
    s2_buffer_printf(out, ": mean score, %%</text>\n");
    const double step = p->high - p->low > 50.0 ? 20.0 : 10.0;
    for (double v = p->low; v <= p->high + 1e-9; v += step)
        s2_buffer_printf(out,
                         "<path d=\"M%.1f %.1fH%.1f\" class=\"g\"/><text x=\"%.1f\" y=\"%.1f\" "
                         "class=\"n\" text-anchor=\"end\">%.0f</text>\n",
                         p->x + LEFT, up(p, v), right, p->x + LEFT - 6, up(p, v) + 4, v);
    double shown[MOST_TICKS]; /* the budgets themselves, where they do not touch */
    int32_t n_shown = 0;
    for (int32_t i = 0; i < p->task->n_results && n_shown < MOST_TICKS; i++) {
        const s2e_result *r = &p->task->result[i];
        if (!is_pruned(r)) continue;
        const double x = across(p, r->image_tokens);
        int32_t k = 0;
        while (k < n_shown && fabs(shown[k] - x) >= 30.0) k++;
        if (k < n_shown) continue;
        shown[n_shown++] = x;
        s2_buffer_printf(out,
                         "<text x=\"%.1f\" y=\"%.1f\" class=\"n\" text-anchor=\"middle\">%.0f"
                         "</text>\n",
                         x, bottom + 16, r->image_tokens);
    }
    s2_buffer_printf(out,
                     "<text x=\"%.1f\" y=\"%.1f\" class=\"n\" text-anchor=\"middle\">visual tokens "
                     "kept</text>\n",
                     (p->x + LEFT + right) / 2, bottom + 32);
}

/* The methods of a run, by their first column; -1 past the end. */
static int32_t method_at(const s2e_task_results *task, int32_t index)
{
    int32_t n = 0;
    for (int32_t i = 0; i < task->n_results; i++) {
        if (!is_pruned(&task->result[i])) continue;
        int32_t k = 0;
        while (strcmp(task->result[k].column.method, task->result[i].column.method) != 0) k++;
        if (k == i && n++ == index) return i;
    }
    return -1;
}

static int compare_tokens(const void *a, const void *b)
{
    const s2e_result *x = *(const s2e_result *const *)a, *y = *(const s2e_result *const *)b;
    return (x->image_tokens > y->image_tokens) - (x->image_tokens < y->image_tokens);
}

static void draw_method(const panel *p, int32_t first, int32_t which, s2_buffer *out)
{
    const s2e_result *point[S2A_MAX_SETTINGS];
    int32_t n = 0;
    for (int32_t i = first; i < p->task->n_results; i++)
        if (is_pruned(&p->task->result[i]) &&
            strcmp(p->task->result[i].column.method, p->task->result[first].column.method) == 0)
            point[n++] = &p->task->result[i];
    qsort(point, (size_t)n, sizeof(const s2e_result *), compare_tokens);
    s2_buffer_printf(out,
                     "<g stroke=\"%s\" fill=\"%s\"><path fill=\"none\" stroke-dasharray=\"%s\" "
                     "stroke-width=\"2\" d=\"",
                     colour[which % N_COLOURS], colour[which % N_COLOURS],
                     dash[which / N_COLOURS % 4]);
    for (int32_t i = 0; i < n; i++)
        s2_buffer_printf(out, "%s%.1f %.1f", i ? "L" : "M",
                         across(p, point[i]->image_tokens) + beside(p, which),
                         up(p, p->interval[point[i] - p->task->result].value));
    s2_buffer_printf(out, "\"/>\n");
    for (int32_t i = 0; i < n; i++) {
        const s2e_interval *v = &p->interval[point[i] - p->task->result];
        const double x = across(p, point[i]->image_tokens) + beside(p, which);
        s2_buffer_printf(out,
                         "<path d=\"M%.1f %.1fV%.1f\"/><circle cx=\"%.1f\" cy=\"%.1f\" "
                         "r=\"3\"><title>%s, %.0f tokens: %.1f [%.1f, %.1f]</title></circle>\n",
                         x, up(p, v->low), up(p, v->high), x, up(p, v->value),
                         point[i]->column.method, point[i]->image_tokens, v->value, v->low,
                         v->high);
    }
    s2_buffer_printf(out, "</g>\n");
}

static s2p_status draw_panel(panel *p, s2e_protocol protocol, s2_buffer *out, s2p_error *error)
{
    if (measure(p, protocol) != S2P_OK) return s2_fail_memory(error, 1, "the intervals");
    if (p->last < p->first) return S2P_OK; /* nothing is pruned */
    draw_axes(p, out);
    for (int32_t i = 0; i < p->task->n_results; i++)
        if (s2a_budget_is_none(p->task->result[i].budget))
            s2_buffer_printf(out,
                             "<path d=\"M%.1f %.1fH%.1f\" class=\"f\"/><text x=\"%.1f\" y=\"%.1f\" "
                             "class=\"n\">all tokens</text>\n",
                             p->x + LEFT, up(p, p->interval[i].value), p->x + PANEL_WIDTH - RIGHT,
                             p->x + LEFT + 20, up(p, p->interval[i].value) - 4);
    while (method_at(p->task, p->n_methods) >= 0) p->n_methods++;
    for (int32_t m = 0, first; (first = method_at(p->task, m)) >= 0; m++)
        draw_method(p, first, m, out);
    return S2P_OK;
}

static int32_t draw_legend(const s2e_task_results *task, double y, double width, s2_buffer *out)
{
    const int32_t n_across = (int32_t)((width - LEFT) / LEGEND_WIDTH);
    int32_t m = 0;
    for (int32_t first; (first = method_at(task, m)) >= 0; m++) {
        const double x = LEFT + LEGEND_WIDTH * (m % n_across);
        const double row = y + LEGEND_ROW * (m / n_across);
        s2_buffer_printf(out,
                         "<path d=\"M%.0f %.0fh24\" stroke=\"%s\" stroke-width=\"2\" "
                         "stroke-dasharray=\"%s\"/><text x=\"%.0f\" y=\"%.0f\" class=\"n\">%s"
                         "</text>\n",
                         x, row - 4, colour[m % N_COLOURS], dash[m / N_COLOURS % 4], x + 30, row,
                         task->result[first].column.method);
    }
    return m;
}

s2p_status s2e_curves_write(const s2e_results *results, s2_buffer *out, s2p_error *error)
{
    const int32_t n = results->n_tasks, n_across = n > 1 ? 2 : 1;
    const int32_t n_down = (n + n_across - 1) / n_across;
    const double width = n_across * PANEL_WIDTH;
    int32_t n_methods = 0;
    while (n > 0 && method_at(&results->task[0], n_methods) >= 0) n_methods++;
    const int32_t per_row = (int32_t)((width - LEFT) / LEGEND_WIDTH);
    const double height =
        n_down * PANEL_HEIGHT + LEGEND_ROW * ((n_methods + per_row - 1) / per_row) + 20.0;
    s2_buffer_printf(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" "
        "height=\"%.0f\" role=\"img\" font-family=\"sans-serif\" font-size=\"12\">\n"
        "<title>Accuracy by budget</title><desc>Mean score in percent over the visual tokens kept, "
        "one line for each method, 95 percent intervals; dashed: every token.</desc>\n"
        "<style>.t{font-size:14px;font-weight:bold;fill:currentColor}.n{fill:currentColor}"
        ".g{stroke:currentColor;stroke-opacity:.15;fill:none}"
        ".f{stroke:currentColor;stroke-dasharray:4 4;fill:none}</style>\n",
        width, height, width, height);
    s2p_status st = S2P_OK;
    for (int32_t t = 0; t < n && st == S2P_OK; t++) {
        panel p = { .task = &results->task[t],
                    .x = PANEL_WIDTH * (t % n_across),
                    .y = PANEL_HEIGHT * (t / n_across) };
        p.interval = calloc((size_t)p.task->n_results + 1, sizeof *p.interval);
        st = p.interval ? draw_panel(&p, results->protocol, out, error)
                        : s2_fail_memory(error, sizeof *p.interval, "the curves");
        free(p.interval);
    }
    if (n > 0) (void)draw_legend(&results->task[0], n_down * PANEL_HEIGHT + 16.0, width, out);
    s2_buffer_printf(out, "</svg>\n");
    return st == S2P_OK ? out->status : st;
}

static s2p_status write_curves(const s2e_report_input *in, s2_buffer *out, s2p_error *error)
{
    return s2e_curves_write(in->results, out, error);
}

const s2e_document document_curves = { "curves.svg", write_curves };
