/* plot_labels.c - paragraphs, and names next to the ends of lines, moved apart where they would touch.
 *
 * Labels stay in the order of the ends. Those that are too close form a block whose middle is the mean
 * of the places its labels want: the solution of least squares, found by merging neighbors.
 */
#include "eval/figure/plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TIE 13.0 /* pixels from the axes to the names */

typedef struct block {
    double sum; /* of the places wanted, minus each label's place in the block */
    int32_t first, n;
} block;

static double start_of(const block *b, double step, double low, double high)
{
    const double latest = high - step * (b->n - 1);
    return fmax(low, fmin(b->sum / b->n, latest));
}

/* wanted: ascending and finite. */
static void spread(const double *wanted, int32_t n, double step, double low, double high, block *b,
                   double *out)
{
    int32_t n_blocks = 0;
    for (int32_t i = 0; i < n; i++) {
        b[n_blocks++] = (block){ wanted[i], i, 1 };
        while (n_blocks > 1) {
            block *last = &b[n_blocks - 1], *before = last - 1;
            const double end = start_of(before, step, low, high) + step * before->n;
            if (start_of(last, step, low, high) >= end - 1e-9) break;
            before->sum += last->sum - (double)last->n * step * before->n;
            before->n += last->n;
            n_blocks--;
        }
    }
    for (int32_t k = 0; k < n_blocks; k++)
        for (int32_t i = 0; i < b[k].n; i++)
            out[b[k].first + i] = start_of(&b[k], step, low, high) + step * i;
}

typedef struct place {
    double wanted;
    int32_t index;
} place;

static int compare_places(const void *a, const void *b)
{
    const place *x = a, *y = b;
    if (x->wanted != y->wanted) return x->wanted < y->wanted ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

s2p_status s2_spread_labels(const double *wanted, int32_t n, double step, double low, double high,
                            double *out)
{
    const size_t count = (size_t)n + 1;
    place *order = calloc(count, sizeof *order);
    double *sorted = calloc(count, sizeof *sorted), *placed = calloc(count, sizeof *placed);
    block *blocks = calloc(count, sizeof *blocks);
    const bool has_memory = order && sorted && placed && blocks;
    if (has_memory) {
        for (int32_t i = 0; i < n; i++) {
            const double place_of = isfinite(wanted[i]) ? wanted[i] : high;
            order[i] = (place){ fmax(low, fmin(place_of, high)), i };
            if (!isfinite(wanted[i])) order[i].wanted = high + 1.0;
        }
        qsort(order, (size_t)n, sizeof *order, compare_places);
        for (int32_t i = 0; i < n; i++) sorted[i] = order[i].wanted;
        spread(sorted, n, step, low, high, blocks, placed);
        for (int32_t i = 0; i < n; i++) out[order[i].index] = placed[i];
    }
    free(order);
    free(sorted);
    free(placed);
    free(blocks);
    return has_memory ? S2P_OK : S2P_ENOMEM;
}

double s2_end_labels_width(const char *const *name, int32_t n)
{
    double widest = 0.0;
    for (int32_t i = 0; i < n; i++) widest = fmax(widest, s2_text_width(name[i], S2_PLOT_SMALL));
    return widest * 1.04 + TIE + 12.0;
}

s2p_status s2_plot_end_labels(s2_plot *p, const s2_panel *panel, const s2_end_label *label,
                              int32_t n)
{
    double *wanted = calloc((size_t)n + 1, sizeof *wanted), *y = calloc((size_t)n + 1, sizeof *y);
    s2p_status st = wanted && y ? S2P_OK : S2P_ENOMEM;
    for (int32_t i = 0; st == S2P_OK && i < n; i++) wanted[i] = label[i].y;
    if (st == S2P_OK)
        st = s2_spread_labels(wanted, n, S2_LABEL_STEP, panel->y, panel->y + panel->height, y);
    const double edge = panel->x + panel->width;
    for (int32_t i = 0; st == S2P_OK && i < n; i++) {
        const s2_look *look = &label[i].look;
        if (!isfinite(label[i].y)) continue;
        s2_buffer_printf(p->out, "<path class=\"tie s%d\" d=\"M%.1f %.1fL%.1f %.1fH%.1f\"/>\n",
                         look->colour, label[i].x + 3.0, label[i].y, edge + 4.0, y[i],
                         edge + TIE - 4.0);
        s2_plot_mark(p, edge + TIE, y[i], look);
        s2_plot_text(p, edge + TIE + 7.0, y[i] + 3.3, "start",
                     S2_LETTERS_SMALL | (look->is_ours ? S2_LETTERS_BOLD : 0), label[i].text);
    }
    free(wanted);
    free(y);
    return st;
}

/* --- paragraphs ------------------------------------------------------------------------------- */

#define DOTS "..."
#define MAX_LINE 512 /* bytes; a wider line is cut */

int32_t s2_plot_paragraph(s2_plot *plot, double x, double y, double width, int32_t max_lines,
                          unsigned letters, const char *text)
{
    const double size = letters & S2_LETTERS_SMALL ? S2_PLOT_SMALL : S2_PLOT_FONT;
    const double bold = letters & S2_LETTERS_BOLD ? 0.93 : 1.0;
    int32_t n = 0;
    text += strspn(text, " \t\n");
    for (size_t next; *text && n < max_lines; text += next, n++) {
        char line[MAX_LINE + sizeof DOTS];
        size_t fits = s2_text_fit(text, width * bold, size, &next);
        if (fits == 0 && next == 0) break;
        const bool is_cut = n + 1 == max_lines && text[next];
        size_t unused;
        if (is_cut) fits = s2_text_fit(text, fmax(width * bold - 0.9 * size, 1.0), size, &unused);
        if (fits > MAX_LINE) fits = MAX_LINE; /* a cut character is shown as '?' */
        memcpy(line, text, fits);
        memcpy(line + fits, is_cut ? DOTS : "", is_cut ? sizeof DOTS : 1);
        if (plot) s2_plot_text(plot, x, y + n * S2_PLOT_LINE, "start", letters, line);
    }
    return n;
}
