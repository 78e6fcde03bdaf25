/* overlay_frame.c - sizes, places and colors of an overlay.
 *
 * The drawing is 960 to 1600 pixels long: smaller pictures are enlarged so that a
 * token is more than a few pixels, larger ones reduced so that lines stay visible.
 */
#include "image/draw/drawing.h"

#include <stdlib.h>
#include <string.h>

#define MIN_LONG_SIDE 960
#define MAX_LONG_SIDE 1600
#define PLACES 7 /* a plate is tried at, in either direction */

static s2p_status check_overlay(const s2_overlay *overlay, s2p_error *error)
{
    const s2p_image *picture = overlay->picture;
    const s2p_layout *layout = overlay->layout;
    if (!picture || !picture->pixels || picture->width < 1 || picture->height < 1)
        return s2_fail(error, S2P_EINVAL, "an overlay needs a picture");
    if (overlay->keep && !layout)
        return s2_fail(error, S2P_EINVAL, "kept tokens need a layout to be drawn");
    if (!layout) return S2P_OK;
    if (layout->grid.rows < 1 || layout->grid.cols < 1 || layout->grid.rows > S2P_MAX_SIDE ||
        layout->grid.cols > S2P_MAX_SIDE || layout->side < 0 || layout->side > S2P_MAX_SIDE)
        return s2_fail(error, S2P_EINVAL, "overlay grid is %dx%d tokens with %d regions per side",
                       (int)layout->grid.rows, (int)layout->grid.cols, (int)layout->side);
    for (int32_t i = 0; overlay->entered && i < overlay->n_entered; i++)
        if (overlay->entered[i] < 0 || overlay->entered[i] >= layout->grid.rows * layout->grid.cols)
            return s2_fail(error, S2P_EINVAL, "token %d is outside the grid of %dx%d",
                           (int)overlay->entered[i], (int)layout->grid.rows,
                           (int)layout->grid.cols);
    for (int32_t i = 0; overlay->keep && i < overlay->n_keep; i++)
        if (overlay->keep[i] < 0 || overlay->keep[i] >= layout->grid.rows * layout->grid.cols)
            return s2_fail(error, S2P_EINVAL, "kept token %d is outside the grid of %dx%d",
                           (int)overlay->keep[i], (int)layout->grid.rows, (int)layout->grid.cols);
    return S2P_OK;
}

static int32_t per_thousand(const s2p_layout *layout, int32_t g)
{
    const s2p_rect r = layout->region[g];
    const int64_t n = (int64_t)(r.row1 - r.row0) * (r.col1 - r.col0);
    return n > 0 ? (int32_t)(1000 * (int64_t)layout->share[g] / n) : 0;
}

s2p_status s2_frame_init(s2_frame *frame, const s2_overlay *overlay, s2p_error *error)
{
    TRY(check_overlay(overlay, error));
    const int64_t w = overlay->picture->width, h = overlay->picture->height;
    const int64_t longer = w > h ? w : h;
    const int64_t target = longer < MIN_LONG_SIDE   ? MIN_LONG_SIDE
                           : longer > MAX_LONG_SIDE ? MAX_LONG_SIDE
                                                    : longer;
    const int64_t wide = (w * target + longer / 2) / longer;
    const int64_t high = (h * target + longer / 2) / longer;
    *frame = (s2_frame){ .width = (int32_t)(wide > 0 ? wide : 1),
                         .height = (int32_t)(high > 0 ? high : 1),
                         .line = target >= 1200 ? 3 : 2 };

    const s2p_layout *layout = overlay->layout;
    if (!layout) return S2P_OK;
    frame->grid = layout->grid;
    if (layout->region && layout->share) frame->n_regions = layout->side * layout->side;
    if (layout->cell) frame->n_cells = layout->side > 0 ? layout->budget : 0;
    for (int32_t g = 0; g < frame->n_regions; g++)
        if (per_thousand(layout, g) > frame->max_share) frame->max_share = per_thousand(layout, g);
    return S2P_OK;
}

s2p_rect s2_frame_rect(const s2_frame *frame, s2p_rect tokens)
{
    const int64_t w = frame->width, h = frame->height;
    const int64_t rows = frame->grid.rows, cols = frame->grid.cols;
    return (s2p_rect){ .row0 = (int32_t)((tokens.row0 * h + rows / 2) / rows),
                       .col0 = (int32_t)((tokens.col0 * w + cols / 2) / cols),
                       .row1 = (int32_t)((tokens.row1 * h + rows / 2) / rows),
                       .col1 = (int32_t)((tokens.col1 * w + cols / 2) / cols) };
}

s2p_rect s2_frame_token(const s2_frame *frame, int32_t token)
{
    const int32_t row = token / frame->grid.cols, col = token % frame->grid.cols;
    return s2_frame_rect(frame, (s2p_rect){ row, col, row + 1, col + 1 });
}

uint8_t *s2_frame_skipped(const s2_frame *frame, const s2_overlay *overlay)
{
    const size_t n = (size_t)frame->grid.rows * (size_t)frame->grid.cols;
    uint8_t *is_skipped = overlay->entered && n > 0 ? malloc(n) : NULL;
    if (!is_skipped) return NULL;
    memset(is_skipped, 1, n);
    for (int32_t i = 0; i < overlay->n_entered; i++) is_skipped[overlay->entered[i]] = 0;
    return is_skipped;
}

s2_colour s2_frame_tint(const s2_frame *frame, const s2p_layout *layout, int32_t g, int *strength)
{
    /* Dark blue for regions that give up most, then violet and orange to yellow. */
    static const s2_colour stops[] = {
        { 18, 16, 66 }, { 98, 32, 122 }, { 206, 52, 92 }, { 250, 118, 40 }, { 255, 196, 40 },
    };
    const int32_t n_steps = (int32_t)(sizeof stops / sizeof *stops) - 1;
    const int32_t top = frame->max_share > 0 ? frame->max_share : 1;
    const int32_t at = (int32_t)((int64_t)per_thousand(layout, g) * n_steps * 256 / top);
    const int32_t i = at / 256 < n_steps ? at / 256 : n_steps - 1;
    const int32_t f = at - 256 * i;
    uint8_t mixed[3] = { stops[i].red, stops[i].green, stops[i].blue };
    s2_blend(mixed, stops[i + 1], f > 255 ? 255 : f);
    *strength = 150;
    return (s2_colour){ mixed[0], mixed[1], mixed[2] };
}

static bool has_overlap(s2p_rect a, s2p_rect b)
{
    return a.row0 < b.row1 && b.row0 < a.row1 && a.col0 < b.col1 && b.col0 < a.col1;
}

/* Kept tokens are ascending: those of the rows of a region lie together. */
static bool hides_kept(const s2_frame *frame, const s2_overlay *overlay, s2p_rect region,
                       s2p_rect plate)
{
    int32_t low = 0, high = overlay->keep ? overlay->n_keep : 0;
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        if (overlay->keep[middle] < region.row0 * frame->grid.cols)
            low = middle + 1;
        else
            high = middle;
    }
    for (int32_t i = low; overlay->keep && i < overlay->n_keep; i++) {
        if (overlay->keep[i] >= region.row1 * frame->grid.cols) return false;
        if (has_overlap(s2_frame_token(frame, overlay->keep[i]), plate)) return true;
    }
    return false;
}

bool s2_frame_plate(const s2_frame *frame, const s2_overlay *overlay, int32_t g, s2p_rect *plate,
                    int32_t *digit_height)
{
    const s2p_layout *layout = overlay->layout;
    const s2p_rect r = s2_frame_rect(frame, layout->region[g]);
    const int32_t w = r.col1 - r.col0, h = r.row1 - r.row0;
    int32_t size = (w < h ? w : h) / 8;
    if (size > 17) size = 17;
    if (size < 10) size = 10;
    const int32_t pad = size / 2, gap = frame->line + 2;
    const int32_t wide = s2_digits_width(layout->share[g], size) + 2 * pad;
    const int32_t high = size + 2 * (pad - 1);
    if (wide + 2 * gap > w || high + 2 * gap > h) return false;
    *digit_height = size;
    const int32_t down = h - high - 2 * gap, right = w - wide - 2 * gap;
    for (int32_t place = 0; place < PLACES * PLACES; place++) { /* from the upper left corner */
        const int32_t row = r.row0 + gap + down * (place / PLACES) / (PLACES - 1);
        const int32_t col = r.col0 + gap + right * (place % PLACES) / (PLACES - 1);
        *plate = (s2p_rect){ row, col, row + high, col + wide };
        if (!hides_kept(frame, overlay, layout->region[g], *plate)) return true;
    }
    return false;
}
