/* kept.c - figures and JSON of a plan.
 *
 * The JSON is written as it goes, not built as a tree first: a plan may have a million regions.
 */
#include "ask/kept.h"

#include "base/error.h"
#include "image/image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EDGE 2 /* rows and columns of the margin */
#define MAX_PIXELS ((int64_t)1 << 26)

bool s2a_is_edge(s2p_grid grid, int32_t token)
{
    const int32_t row = token / grid.cols, col = token % grid.cols;
    return row < EDGE || col < EDGE || row >= grid.rows - EDGE || col >= grid.cols - EDGE;
}

bool s2a_is_center(s2p_grid grid, int32_t token)
{
    const int32_t row = token / grid.cols, col = token % grid.cols;
    return row >= grid.rows / 4 && row < grid.rows - grid.rows / 4 && col >= grid.cols / 4 &&
           col < grid.cols - grid.cols / 4;
}

int64_t s2a_count_common(const int32_t *a, int32_t n_a, const int32_t *b, int32_t n_b)
{
    int64_t n = 0;
    for (int32_t i = 0, k = 0; i < n_a && k < n_b;) {
        const int32_t x = a[i], y = b[k];
        n += x == y;
        i += x <= y;
        k += y <= x;
    }
    return n;
}

/* 17 digits give back the same number, read as a float or as a double; ".0" keeps it a real. */
static void put_real(s2_buffer *out, const char *name, double value)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%.17g", value);
    s2_buffer_printf(out, "\"%s\":%s%s", name, text, strpbrk(text, ".e") ? "" : ".0");
}

json_t *s2a_region_json(const s2p_layout *layout, int32_t g)
{
    const s2p_rect r = layout->region[g], p = layout->support[g];
    return json_pack("{s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:f,s:f,s:i}", "r0", r.row0, "r1", r.row1,
                     "c0", r.col0, "c1", r.col1, "y0", p.row0, "y1", p.row1, "x0", p.col0, "x1",
                     p.col1, "var", (double)layout->raw[g], "score", (double)layout->score[g],
                     "budget", layout->share[g]);
}

static void put_region(s2_buffer *out, const s2p_layout *layout, int32_t g)
{
    json_t *region = s2a_region_json(layout, g);
    if (g > 0) s2_buffer_append(out, ",", 1);
    if (region)
        (void)s2_json_write(region, 17, out);
    else
        out->status = S2P_ENOMEM;
    json_decref(region);
}

json_t *s2a_skipped_json(s2p_grid grid, const int32_t *entered, int32_t n_entered)
{
    json_t *array = json_array();
    for (int32_t t = 0, i = 0; entered && t < grid.rows * grid.cols; t++) {
        if (i < n_entered && entered[i] == t)
            i++;
        else
            json_array_append_new(array, json_integer(t));
    }
    return array;
}

s2p_status s2a_tower_tokens(const s2p_image *picture, s2p_grid grid, int32_t unit,
                            const s2p_pixelprune *before, int32_t **out, int32_t *n,
                            s2p_error *error)
{
    const int32_t n_tokens = grid.rows * grid.cols;
    const int64_t n_pixels = (int64_t)n_tokens * unit * unit;
    s2_image resized;
    *out = NULL;
    if (n_pixels > MAX_PIXELS)
        return s2_fail(error, S2P_ELIMIT,
                       "%dx%d tokens of %dx%d pixels are %lld pixels; the limit is %lld", grid.rows,
                       grid.cols, unit, unit, (long long)n_pixels, (long long)MAX_PIXELS);
    TRY(s2_image_resize(picture, grid.cols * unit, grid.rows * unit, &resized, error));
    *out = malloc((size_t)n_tokens * sizeof **out);
    s2p_status st = *out ? s2p_pixelprune_select(&resized.view, grid, before, *out, n) : S2P_ENOMEM;
    s2_image_free(&resized);
    if (st == S2P_OK) return S2P_OK;
    free(*out);
    *out = NULL;
    return s2_fail(error, st, "PixelPrune: %s", s2p_status_text(st));
}

void s2a_plan_json(const s2p_layout *layout, int32_t width, int32_t height, const int32_t *keep,
                   int32_t n_keep, const int32_t *entered, int32_t n_entered, s2_buffer *out)
{
    s2_buffer_printf(out, "{\"schema\":\"s2prune.plan/1\",\"image\":{\"width\":%d,\"height\":%d},",
                     width, height);
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
    if (n_keep > 0) {
        s2_buffer_printf(out, ",\"keep\":[");
        for (int32_t i = 0; i < n_keep; i++)
            s2_buffer_printf(out, "%s%d", i > 0 ? "," : "", keep[i]);
        s2_buffer_printf(out, "]");
    }
    if (entered) {
        json_t *skipped = s2a_skipped_json(layout->grid, entered, n_entered);
        s2_buffer_printf(out, ",\"skipped\":");
        if (!skipped || s2_json_write(skipped, 17, out) != S2P_OK) out->status = S2P_ENOMEM;
        json_decref(skipped);
    }
    s2_buffer_printf(out, "}\n");
}
