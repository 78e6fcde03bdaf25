/* plan_report.c - what `plan` prints. */
#include "plan/plan_report.h"

#include "ask/kept.h"

#include <stdio.h>
#include <string.h>

#define TABLE_MAX_SIDE 32 /* wider tables do not fit a terminal */
#define LINE_WIDTH 96u

static int32_t area(s2p_rect r) { return (r.row1 - r.row0) * (r.col1 - r.col0); }

/* --- JSON ----------------------------------------------------------------- */

void s2_plan_json(const s2_plan_report *report, s2_buffer *out)
{
    s2a_plan_json(&report->layout, report->width, report->height, report->keep, report->n_keep,
                  report->entered, report->n_entered, out);
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
    if (report->entered) {
        const int32_t n = layout->grid.rows * layout->grid.cols;
        s2_buffer_printf(out, "%d of %d tokens would enter the tower, %.0f %% would not\n",
                         report->n_entered, n, 100.0 * (n - report->n_entered) / n);
    }
    if (report->n_marked + report->n_dropped > 0)
        s2_buffer_printf(out, "boxes keep %d tokens and drop %d; the plan is about the others\n",
                         report->n_marked, report->n_dropped);
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
