/* plan_report.c - what `plan` prints.
 *
 * The JSON is written as it goes, not built as a tree first: a plan may have a million regions.
 */
#include "plan_report.h"

#include <stdio.h>
#include <string.h>

#define TABLE_MAX_SIDE 32 /* wider tables do not fit a terminal */
#define LINE_WIDTH 96u

static int32_t area(s2p_rect r) { return (r.row1 - r.row0) * (r.col1 - r.col0); }

/* --- JSON ----------------------------------------------------------------- */

/* 17 digits give back the same number, read as a float or as a double; ".0" keeps it a real. */
static void put_real(s2_buffer *out, const char *name, double value)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%.17g", value);
    s2_buffer_printf(out, "\"%s\":%s%s", name, text, strpbrk(text, ".e") ? "" : ".0");
}

json_t *s2_region_json(const s2p_layout *layout, int32_t g)
{
    const s2p_rect r = layout->region[g], p = layout->support[g];
    return json_pack("{s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:f,s:f,s:i}", "r0", r.row0, "r1", r.row1,
                     "c0", r.col0, "c1", r.col1, "y0", p.row0, "y1", p.row1, "x0", p.col0, "x1",
                     p.col1, "var", (double)layout->raw[g], "score", (double)layout->score[g],
                     "budget", layout->share[g]);
}

static void put_region(s2_buffer *out, const s2p_layout *layout, int32_t g)
{
    json_t *region = s2_region_json(layout, g);
    if (g > 0) s2_buffer_append(out, ",", 1);
    if (region)
        (void)s2_json_write(region, 17, out);
    else
        out->status = S2P_ENOMEM;
    json_decref(region);
}

void s2_plan_json(const s2_plan_report *report, s2_buffer *out)
{
    const s2p_layout *layout = &report->layout;
    s2_buffer_printf(out, "{\"schema\":\"s2prune.plan/1\",\"image\":{\"width\":%d,\"height\":%d},",
                     report->width, report->height);
    s2_buffer_printf(out, "\"tokens\":[%d,%d],\"grid\":%d,\"budget\":%d,\"regions\":[",
                     layout->grid.rows, layout->grid.cols, layout->side, layout->budget);
    for (int32_t g = 0; g < layout->side * layout->side; g++) put_region(out, layout, g);
    s2_buffer_printf(out, "],\"cells\":[");
    for (int32_t i = 0; i < layout->budget; i++) {
        const s2p_rect c = layout->cell[i];
        s2_buffer_printf(out, "%s[%d,%d,%d,%d]", i > 0 ? "," : "", c.row0, c.row1, c.col0, c.col1);
    }
    s2_buffer_printf(out, "],");
    put_real(out, "heterogeneity", layout->heterogeneity);
    if (report->n_keep > 0) {
        s2_buffer_printf(out, ",\"keep\":[");
        for (int32_t i = 0; i < report->n_keep; i++)
            s2_buffer_printf(out, "%s%d", i > 0 ? "," : "", report->keep[i]);
        s2_buffer_printf(out, "]");
    }
    s2_buffer_printf(out, "}\n");
}

/* --- text ----------------------------------------------------------------- */

void s2_plan_table(const s2p_layout *layout, const char *title, s2_buffer *out)
{
    const int32_t n = layout->side * layout->side;
    int32_t sum = 0, least = layout->share[0], most = layout->share[0], n_full = 0;
    s2_buffer_printf(out, "\n%s\n", title);
    for (int32_t g = 0; g < n; g++) {
        const int32_t share = layout->share[g];
        sum += share;
        if (share < least) least = share;
        if (share > most) most = share;
        n_full += share == area(layout->region[g]);
    }
    const int width = most > 999 ? 8 : most > 99 ? 5 : 4;
    for (int32_t g = 0; g < n && layout->side <= TABLE_MAX_SIDE; g++)
        s2_buffer_printf(out, "%*d%s", width, layout->share[g], (g + 1) % layout->side ? "" : "\n");
    if (layout->side > TABLE_MAX_SIDE)
        s2_buffer_printf(out, "  (a table of %dx%d is left out; -o json has it)\n", layout->side,
                         layout->side);
    s2_buffer_printf(out, "  sum %d   min %d   max %d   saturated %d\n", sum, least, most, n_full);
}

void s2_plan_head(const s2_plan_report *report, s2_buffer *out)
{
    const s2p_layout *layout = &report->layout;
    s2_buffer_printf(out, "%s  %dx%d   grid %dx%d tokens, %dx%d regions, budget %d\n", report->path,
                     report->width, report->height, layout->grid.rows, layout->grid.cols,
                     layout->side, layout->side, layout->budget);
    const bool is_paper = strcmp(report->allocator, "laplacian") == 0;
    s2_buffer_printf(out, "heterogeneity H = %.3g (std/mean of %s%s)\n", layout->heterogeneity,
                     is_paper ? "Laplacian variance" : "the regions' measure, allocator ",
                     is_paper ? "" : report->allocator);
    s2_plan_table(layout, "tokens per region", out);
}

void s2_plan_tail(const s2_plan_report *report, s2_buffer *out)
{
    if (report->n_keep > 0) {
        s2_buffer_printf(out, "\nkept %d of %d tokens\n", report->n_keep,
                         report->layout.grid.rows * report->layout.grid.cols);
        size_t line = out->size;
        for (int32_t i = 0; i < report->n_keep; i++) {
            if (i > 0 && out->size - line > LINE_WIDTH) {
                s2_buffer_append(out, "\n", 1);
                line = out->size;
            }
            s2_buffer_printf(out, "%s%d", out->size == line ? "  " : " ", report->keep[i]);
        }
        s2_buffer_append(out, "\n", 1);
    }
    const s2_plan_timings t = report->timings;
    s2_buffer_printf(out,
                     "\ntime %.1f ms (decode %.1f, structure and allocation %.1f, drawing %.1f)\n",
                     t.decode + t.plan + t.draw, t.decode, t.plan, t.draw);
}
