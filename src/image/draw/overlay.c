/* overlay.c - the plan drawn on the picture.
 *
 * With kept tokens: those in full color with a thin outline, the rest dark and
 * nearly gray, and blue what never entered the tower. Without: regions tinted by the part of their tokens they may keep.
 * Over both: fine cell borders, region borders with a dark halo (readable on any
 * ground), and each region's share on a plate in its corner, or wherever it
 * hides no kept token.
 */
#include "image/draw/drawing.h"

#include <stdlib.h>
#include <string.h>

#define CELL_STRENGTH 110
#define HALO_STRENGTH 150
#define PLATE_STRENGTH 215
#define LIFT_STRENGTH 60
#define SKIPPED_STRENGTH 140
#define MARKED_STRENGTH 90

static uint8_t *pixel_at(s2_image *image, int32_t x, int32_t y)
{
    return image->pixels + image->view.stride * y + (ptrdiff_t)3 * x;
}

static int32_t clamp(int32_t value, int32_t low, int32_t high)
{
    return value < low ? low : value > high ? high : value;
}

static s2p_rect inside(const s2_image *image, s2p_rect r)
{
    const int32_t w = image->view.width, h = image->view.height;
    return (s2p_rect){ clamp(r.row0, 0, h), clamp(r.col0, 0, w), clamp(r.row1, 0, h),
                       clamp(r.col1, 0, w) };
}

/* Color over a rectangle of pixels, cut at the edge of the picture. */
static void fill_rect(s2_image *image, s2p_rect r, s2_colour colour, int strength)
{
    r = inside(image, r);
    for (int32_t y = r.row0; y < r.row1; y++)
        for (int32_t x = r.col0; x < r.col1; x++) s2_blend(pixel_at(image, x, y), colour, strength);
}

/* A border of the given thickness just inside a rectangle. */
static void outline(s2_image *image, s2p_rect r, int32_t thick, s2_colour colour, int strength)
{
    const int32_t half = (r.row1 - r.row0) / 2;
    const int32_t t = thick < half ? thick : half;
    fill_rect(image, (s2p_rect){ r.row0, r.col0, r.row0 + t, r.col1 }, colour, strength);
    fill_rect(image, (s2p_rect){ r.row1 - t, r.col0, r.row1, r.col1 }, colour, strength);
    fill_rect(image, (s2p_rect){ r.row0 + t, r.col0, r.row1 - t, r.col0 + thick }, colour,
              strength);
    fill_rect(image, (s2p_rect){ r.row0 + t, r.col1 - thick, r.row1 - t, r.col1 }, colour,
              strength);
}

/* Mix with gray, then darken, both in twentieths: what the model will not see, or a calm ground for
 * a tint. */
static void fade(s2_image *image, s2p_rect r, int colour, int gray_part)
{
    r = inside(image, r);
    for (int32_t y = r.row0; y < r.row1; y++) {
        for (int32_t x = r.col0; x < r.col1; x++) {
            uint8_t *p = pixel_at(image, x, y);
            const int gray = (p[0] * 77 + p[1] * 150 + p[2] * 29) >> 8;
            for (int c = 0; c < 3; c++) p[c] = (uint8_t)((colour * p[c] + gray_part * gray) / 20);
        }
    }
}

static s2p_status draw_kept(s2_image *image, const s2_frame *frame, const s2_overlay *overlay,
                            s2p_error *error)
{
    const int32_t n = frame->grid.rows * frame->grid.cols;
    uint8_t *is_kept = calloc((size_t)n, 1);
    if (!is_kept) return s2_fail_memory(error, (size_t)n, "overlay");
    for (int32_t i = 0; i < overlay->n_keep; i++) is_kept[overlay->keep[i]] = 1;
    for (int32_t i = 0; i < n; i++)
        if (!is_kept[i]) fade(image, s2_frame_token(frame, i), 4, 4);
    free(is_kept);
    return S2P_OK;
}

static void draw_tints(s2_image *image, const s2_frame *frame, const s2p_layout *layout)
{
    for (int32_t g = 0; g < frame->n_regions; g++) {
        const s2p_rect r = s2_frame_rect(frame, layout->region[g]);
        int strength;
        const s2_colour colour = s2_frame_tint(frame, layout, g, &strength);
        fade(image, r, 1, 19);
        fill_rect(image, r, S2_COLOUR_REGION,
                  LIFT_STRENGTH); /* light ground: yellow stays yellow */
        fill_rect(image, r, colour, strength);
    }
}

/* Tokens that never entered the tower. */
static void draw_skipped(s2_image *image, const s2_frame *frame, const s2_overlay *overlay)
{
    uint8_t *is_skipped = s2_frame_skipped(frame, overlay);
    for (int32_t i = 0; is_skipped && i < frame->grid.rows * frame->grid.cols; i++)
        if (is_skipped[i])
            fill_rect(image, s2_frame_token(frame, i), S2_COLOUR_SKIPPED, SKIPPED_STRENGTH);
    free(is_skipped);
}

/* Tokens that a box of the user keeps or drops. */
static void draw_marked(s2_image *image, const s2_frame *frame, const s2_overlay *overlay)
{
    for (int32_t i = 0; overlay->mark && i < frame->grid.rows * frame->grid.cols; i++)
        if (overlay->mark[i])
            fill_rect(image, s2_frame_token(frame, i),
                      overlay->mark[i] == S2_OVERLAY_KEPT ? S2_COLOUR_MARKED : S2_COLOUR_DROPPED,
                      overlay->mark[i] == S2_OVERLAY_KEPT ? MARKED_STRENGTH : SKIPPED_STRENGTH);
}

/* A border line belongs to both neighbors: it lies across the edge, so only the upper and left
 * edge of each rectangle is drawn, once. */
static void draw_cells(s2_image *image, const s2_frame *frame, const s2p_layout *layout)
{
    for (int32_t i = 0; i < frame->n_cells; i++) {
        const s2p_rect r = s2_frame_rect(frame, layout->cell[i]);
        fill_rect(image, (s2p_rect){ r.row0, r.col0, r.row0 + 1, r.col1 }, S2_COLOUR_REGION,
                  CELL_STRENGTH);
        fill_rect(image, (s2p_rect){ r.row0 + 1, r.col0, r.row1, r.col0 + 1 }, S2_COLOUR_REGION,
                  CELL_STRENGTH);
    }
}

static void draw_regions(s2_image *image, const s2_frame *frame, const s2p_layout *layout)
{
    const int32_t before = frame->line / 2, after = frame->line - before;
    for (int32_t pass = 0; pass < 2; pass++) { /* all halos, then all lines */
        const int32_t halo = pass == 0 ? 1 : 0;
        const s2_colour colour = pass == 0 ? S2_COLOUR_SHADE : S2_COLOUR_REGION;
        const int strength = pass == 0 ? HALO_STRENGTH : 255;
        for (int32_t g = 0; g < frame->n_regions; g++) {
            const s2p_rect r = s2_frame_rect(frame, layout->region[g]);
            if (r.row0 > 0)
                fill_rect(
                    image,
                    (s2p_rect){ r.row0 - before - halo, r.col0, r.row0 + after + halo, r.col1 },
                    colour, strength);
            if (r.col0 > 0)
                fill_rect(
                    image,
                    (s2p_rect){ r.row0, r.col0 - before - halo, r.row1, r.col0 + after + halo },
                    colour, strength);
        }
    }
}

static void draw_shares(s2_image *image, const s2_frame *frame, const s2_overlay *overlay)
{
    const s2p_layout *layout = overlay->layout;
    for (int32_t g = 0; g < frame->n_regions; g++) {
        s2p_rect plate;
        int32_t height;
        if (!s2_frame_plate(frame, overlay, g, &plate, &height)) continue;
        /* Three bars make a rectangle with its corners cut. */
        fill_rect(image, (s2p_rect){ plate.row0 + 1, plate.col0, plate.row1 - 1, plate.col1 },
                  S2_COLOUR_SHADE, PLATE_STRENGTH);
        fill_rect(image, (s2p_rect){ plate.row0, plate.col0 + 1, plate.row0 + 1, plate.col1 - 1 },
                  S2_COLOUR_SHADE, PLATE_STRENGTH);
        fill_rect(image, (s2p_rect){ plate.row1 - 1, plate.col0 + 1, plate.row1, plate.col1 - 1 },
                  S2_COLOUR_SHADE, PLATE_STRENGTH);
        const int32_t width = s2_digits_width(layout->share[g], height);
        s2_digits_draw(image, layout->share[g], plate.col0 + (plate.col1 - plate.col0 - width) / 2,
                       plate.row0 + (plate.row1 - plate.row0 - height) / 2, height,
                       S2_COLOUR_REGION);
    }
}

s2p_status s2_overlay_draw(const s2_overlay *overlay, s2_image *out, s2p_error *error)
{
    s2_frame frame;
    TRY(s2_frame_init(&frame, overlay, error));
    s2_image image;
    TRY(s2_image_resize(overlay->picture, frame.width, frame.height, &image, error));

    s2p_status st = S2P_OK;
    if (overlay->layout) {
        if (overlay->keep)
            st = draw_kept(&image, &frame, overlay, error);
        else
            draw_tints(&image, &frame, overlay->layout);
        draw_skipped(&image, &frame, overlay);
        draw_marked(&image, &frame, overlay);
        draw_cells(&image, &frame, overlay->layout);
        for (int32_t i = 0; overlay->keep && i < overlay->n_keep; i++)
            outline(&image, s2_frame_token(&frame, overlay->keep[i]), frame.line, S2_COLOUR_KEPT,
                    255);
        draw_regions(&image, &frame, overlay->layout);
        draw_shares(&image, &frame, overlay);
    }
    if (st != S2P_OK) {
        s2_image_free(&image);
        return st;
    }
    *out = image;
    return S2P_OK;
}
