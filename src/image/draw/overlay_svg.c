/* overlay_svg.c - the same overlay as text: one self-contained SVG.
 *
 * The picture is inside as PNG, everything drawn on it is a few long paths, numbers
 * and caption stay text. All coordinates are whole, so the bytes depend on nothing
 * but the input (no decimal points, no locale).
 */
#include "image/draw/drawing.h"
#include "image/draw/overlay.h"

#include "base/markup.h"
#include "image/base64.h"

#include <stdlib.h>
#include <string.h>

#define CAPTION_HEIGHT 40
#define CAPTION_SIZE 20

/* Text for an element. */
static void append_text(s2_buffer *out, const char *text)
{
    s2_markup_append(out, text, strlen(text), false);
}

static void append_colour(s2_buffer *out, s2_colour c)
{
    s2_buffer_printf(out, "#%02x%02x%02x", c.red, c.green, c.blue);
}

static void append_rect(s2_buffer *out, s2p_rect r)
{
    s2_buffer_printf(out, "M%d %dH%dV%dH%dZ", (int)r.col0, (int)r.row0, (int)r.col1, (int)r.row1,
                     (int)r.col0);
}

static void append_words(s2_buffer *out, const s2_overlay *overlay, const s2_frame *frame)
{
    s2_buffer_printf(out, "<title id=\"t\">");
    append_text(out, overlay->caption ? overlay->caption : "Visual tokens of a picture");
    s2_buffer_printf(out, "</title>\n<desc id=\"d\">A picture of %d by %d pixels",
                     (int)overlay->picture->width, (int)overlay->picture->height);
    if (frame->grid.rows > 0)
        s2_buffer_printf(out, ", cut into a grid of %d by %d tokens", (int)frame->grid.cols,
                         (int)frame->grid.rows);
    if (frame->n_regions > 0)
        s2_buffer_printf(out, "; a budget of %d tokens spread over %d regions in %d cells",
                         (int)overlay->layout->budget, (int)frame->n_regions, (int)frame->n_cells);
    if (overlay->keep)
        s2_buffer_printf(out, "; the %d kept tokens are bright, the others dimmed",
                         (int)overlay->n_keep);
    if (overlay->entered)
        s2_buffer_printf(out, "; %d blue ones never entered the tower",
                         (int)(frame->grid.rows * frame->grid.cols - overlay->n_entered));
    s2_buffer_printf(out, ".</desc>\n");
}

/* is_calm: nearly gray, as a ground for tints. */
static s2p_status append_picture(s2_buffer *out, const s2p_image *picture, const s2_frame *frame,
                                 bool is_calm, s2p_error *error)
{
    s2_image smaller = { 0 };
    s2p_status st = S2P_OK;
    if (picture->width > frame->width) {
        st = s2_image_resize(picture, frame->width, frame->height, &smaller, error);
        picture = &smaller.view;
    }
    s2_buffer png;
    s2_buffer_init(&png, out->max);
    if (st == S2P_OK) st = s2_png_encode(picture, &png, error);
    if (st == S2P_OK) {
        if (is_calm)
            s2_buffer_printf(out, "<filter id=\"calm\"><feColorMatrix type=\"saturate\" "
                                  "values=\"0.1\"/></filter>\n");
        s2_buffer_printf(out,
                         "<image%s width=\"%d\" height=\"%d\" preserveAspectRatio=\"none\" "
                         "href=\"data:image/png;base64,",
                         is_calm ? " filter=\"url(#calm)\"" : "", (int)frame->width,
                         (int)frame->height);
        s2_base64_append(out, png.data, png.size);
        s2_buffer_printf(out, "\"/>\n");
    }
    s2_buffer_free(&png);
    s2_image_free(&smaller);
    return st;
}

/* A dark sheet over everything, with a hole at each kept token. */
static void append_dimmed(s2_buffer *out, const s2_overlay *overlay, const s2_frame *frame)
{
    s2_buffer_printf(out, "<path fill=\"");
    append_colour(out, S2_COLOUR_SHADE);
    s2_buffer_printf(out, "\" fill-opacity=\"0.68\" fill-rule=\"evenodd\" d=\"");
    append_rect(out, (s2p_rect){ 0, 0, frame->height, frame->width });
    for (int32_t i = 0; i < overlay->n_keep; i++)
        append_rect(out, s2_frame_token(frame, overlay->keep[i]));
    s2_buffer_printf(out, "\"/>\n");
}

static void append_tints(s2_buffer *out, const s2p_layout *layout, const s2_frame *frame)
{
    for (int32_t g = 0; g < frame->n_regions; g++) {
        int strength;
        const s2_colour colour = s2_frame_tint(frame, layout, g, &strength);
        const s2p_rect r = s2_frame_rect(frame, layout->region[g]);
        s2_buffer_printf(out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"",
                         (int)r.col0, (int)r.row0, (int)(r.col1 - r.col0), (int)(r.row1 - r.row0));
        append_colour(out, colour);
        s2_buffer_printf(out, "\" fill-opacity=\"0.%02d\"/>\n", strength * 99 / 255);
    }
}

/* Borders of n rectangles of tokens as one path. */
static void append_borders(s2_buffer *out, const s2_frame *frame, const s2p_rect *rects, int32_t n,
                           s2_colour colour, int32_t thick, int hundredths)
{
    s2_buffer_printf(out, "<path fill=\"none\" stroke=\"");
    append_colour(out, colour);
    s2_buffer_printf(out, "\" stroke-width=\"%d\" stroke-opacity=\"0.%02d\" d=\"", (int)thick,
                     hundredths);
    for (int32_t i = 0; i < n; i++) append_rect(out, s2_frame_rect(frame, rects[i]));
    s2_buffer_printf(out, "\"/>\n");
}

static void append_skipped(s2_buffer *out, const s2_overlay *overlay, const s2_frame *frame)
{
    uint8_t *is_skipped = s2_frame_skipped(frame, overlay);
    if (!is_skipped) return;
    s2_buffer_printf(out, "<path fill=\"");
    append_colour(out, S2_COLOUR_SKIPPED);
    s2_buffer_printf(out, "\" fill-opacity=\"0.55\" d=\"");
    for (int32_t i = 0; i < frame->grid.rows * frame->grid.cols; i++)
        if (is_skipped[i]) append_rect(out, s2_frame_token(frame, i));
    s2_buffer_printf(out, "\"/>\n");
    free(is_skipped);
}

static void append_marked(s2_buffer *out, const s2_overlay *overlay, const s2_frame *frame,
                          uint8_t mark)
{
    bool has_one = false;
    for (int32_t i = 0; overlay->mark && i < frame->grid.rows * frame->grid.cols; i++) {
        if (overlay->mark[i] != mark) continue;
        if (!has_one) {
            s2_buffer_printf(out, "<path fill=\"");
            append_colour(out, mark == S2_OVERLAY_KEPT ? S2_COLOUR_MARKED : S2_COLOUR_DROPPED);
            s2_buffer_printf(out, "\" fill-opacity=\"%s\" d=\"",
                             mark == S2_OVERLAY_KEPT ? "0.35" : "0.55");
        }
        has_one = true;
        append_rect(out, s2_frame_token(frame, i));
    }
    if (has_one) s2_buffer_printf(out, "\"/>\n");
}

static void append_kept(s2_buffer *out, const s2_overlay *overlay, const s2_frame *frame)
{
    s2_buffer_printf(out, "<path fill=\"none\" stroke=\"");
    append_colour(out, S2_COLOUR_KEPT);
    s2_buffer_printf(out, "\" stroke-width=\"%d\" d=\"", (int)frame->line);
    for (int32_t i = 0; i < overlay->n_keep; i++)
        append_rect(out, s2_frame_token(frame, overlay->keep[i]));
    s2_buffer_printf(out, "\"/>\n");
}

static void append_shares(s2_buffer *out, const s2_overlay *overlay, const s2_frame *frame)
{
    const s2p_layout *layout = overlay->layout;
    s2_buffer_printf(out, "<g font-family=\"Helvetica,Arial,sans-serif\" font-weight=\"bold\" "
                          "text-anchor=\"middle\">\n");
    for (int32_t g = 0; g < frame->n_regions; g++) {
        s2p_rect plate;
        int32_t height;
        if (!s2_frame_plate(frame, overlay, g, &plate, &height)) continue;
        const int w = plate.col1 - plate.col0, h = plate.row1 - plate.row0;
        s2_buffer_printf(out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"3\" fill=\"",
                         (int)plate.col0, (int)plate.row0, w, h);
        append_colour(out, S2_COLOUR_SHADE);
        s2_buffer_printf(
            out, "\" fill-opacity=\"0.85\"/><text x=\"%d\" y=\"%d\" font-size=\"%d\" fill=\"",
            (int)plate.col0 + w / 2, (int)plate.row0 + (h + height) / 2, (int)(height * 4 / 3));
        append_colour(out, S2_COLOUR_REGION);
        s2_buffer_printf(out, "\">%d</text>\n", (int)layout->share[g]);
    }
    s2_buffer_printf(out, "</g>\n");
}

static void append_layout(s2_buffer *out, const s2_overlay *overlay, const s2_frame *frame)
{
    const s2p_layout *layout = overlay->layout;
    if (overlay->keep)
        append_dimmed(out, overlay, frame);
    else
        append_tints(out, layout, frame);
    append_skipped(out, overlay, frame);
    append_marked(out, overlay, frame, S2_OVERLAY_KEPT);
    append_marked(out, overlay, frame, S2_OVERLAY_DROPPED);
    append_borders(out, frame, layout->cell, frame->n_cells, S2_COLOUR_REGION, 1, 40);
    if (overlay->keep) append_kept(out, overlay, frame);
    append_borders(out, frame, layout->region, frame->n_regions, S2_COLOUR_SHADE, frame->line + 2,
                   60);
    append_borders(out, frame, layout->region, frame->n_regions, S2_COLOUR_REGION, frame->line, 99);
    append_shares(out, overlay, frame);
}

s2p_status s2_overlay_svg(const s2_overlay *overlay, s2_buffer *out, s2p_error *error)
{
    s2_frame frame;
    TRY(s2_frame_init(&frame, overlay, error));
    const int width = frame.width;
    const int height = frame.height + (overlay->caption ? CAPTION_HEIGHT : 0);
    s2_buffer_printf(out,
                     "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                     "viewBox=\"0 0 %d %d\" role=\"img\" aria-labelledby=\"t d\">\n",
                     width, height, width, height);
    append_words(out, overlay, &frame);
    TRY(append_picture(out, overlay->picture, &frame, overlay->layout && !overlay->keep, error));
    if (overlay->layout) append_layout(out, overlay, &frame);
    if (overlay->caption) {
        s2_buffer_printf(out,
                         "<rect y=\"%d\" width=\"%d\" height=\"%d\" fill=\"#ffffff\"/>\n"
                         "<text x=\"12\" y=\"%d\" font-family=\"Helvetica,Arial,sans-serif\" "
                         "font-size=\"%d\" fill=\"#202228\">",
                         (int)frame.height, width, CAPTION_HEIGHT, (int)frame.height + 27,
                         CAPTION_SIZE);
        append_text(out, overlay->caption);
        s2_buffer_printf(out, "</text>\n");
    }
    s2_buffer_printf(out, "</svg>\n");
    if (out->status == S2P_ELIMIT)
        return s2_fail(error, S2P_ELIMIT, "SVG is larger than %zu bytes", out->max);
    return out->status == S2P_OK ? S2P_OK
                                 : s2_fail(error, out->status, "out of memory for the SVG");
}
