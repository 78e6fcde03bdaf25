/* drawing.h - what the drawings share: colors, the frame of an overlay, digits and letters.
 *
 * Private to src/image. Both writers of overlays draw in the same frame of whole pixels and in the
 * same colors, so the PNG and the SVG of one plan look alike.
 */
#ifndef S2_IMAGE_DRAWING_H
#define S2_IMAGE_DRAWING_H

#include "image/draw/overlay.h"

/* --- overlay_frame.c --- */

typedef struct s2_colour {
    uint8_t red, green, blue;
} s2_colour;

#define S2_COLOUR_KEPT ((s2_colour){ 255, 196, 46 })    /* outline of a kept token */
#define S2_COLOUR_REGION ((s2_colour){ 255, 255, 255 }) /* borders of regions and cells */
#define S2_COLOUR_SKIPPED ((s2_colour){ 46, 120, 214 }) /* ground of a token that never entered */
#define S2_COLOUR_MARKED ((s2_colour){ 40, 190, 90 })   /* ground of one that a box keeps */
#define S2_COLOUR_DROPPED ((s2_colour){ 214, 60, 50 })  /* ground of one that a box drops */
#define S2_COLOUR_SHADE ((s2_colour){ 12, 14, 20 })     /* halo of borders, plate of numbers */

typedef struct s2_frame {
    int32_t width, height; /* of the drawing */
    s2p_grid grid;         /* 0 x 0 without a layout */
    int32_t n_regions, n_cells;
    int32_t line;      /* thickness of a region border */
    int32_t max_share; /* tokens per thousand of the region that got most, for the tint */
} s2_frame;

/* Check what is to be drawn and choose the size. S2P_EINVAL names what does not fit together. */
s2p_status s2_frame_init(s2_frame *frame, const s2_overlay *overlay, s2p_error *error);

/* A rectangle of tokens, or one token, in pixels of the drawing. */
s2p_rect s2_frame_rect(const s2_frame *frame, s2p_rect tokens);

s2p_rect s2_frame_token(const s2_frame *frame, int32_t token);

/* [tokens] 1 for those that never entered the tower, to be freed; NULL: all did, or no memory. */
uint8_t *s2_frame_skipped(const s2_frame *frame, const s2_overlay *overlay);

/* Tint of region g by its share of its own tokens, and how strong: 0..255. */
s2_colour s2_frame_tint(const s2_frame *frame, const s2p_layout *layout, int32_t g, int *strength);

/* The plate for the share of region g: its place, and the height of the digits. It hides no kept
 * token: false when the region is too small for it, or full of them. */
bool s2_frame_plate(const s2_frame *frame, const s2_overlay *overlay, int32_t g, s2p_rect *plate,
                    int32_t *digit_height);

/* color over *pixel with strength 0..255. */
static inline void s2_blend(uint8_t *pixel, s2_colour colour, int strength)
{
    const uint8_t over[3] = { colour.red, colour.green, colour.blue };
    for (int c = 0; c < 3; c++)
        pixel[c] = (uint8_t)((pixel[c] * (255 - strength) + over[c] * strength + 127) / 255);
}

/* digits.c: numbers on a picture */

/* How wide a number is, and its pixels. */
int32_t s2_digits_width(int32_t value, int32_t height);
void s2_digits_draw(s2_image *image, int32_t value, int32_t x, int32_t y, int32_t height,
                    s2_colour colour);

/* letters.c: lines of text on a picture */
#define S2_LETTER_ADVANCE 6 /* pixels from one letter to the next, at scale 1 */
#define S2_LETTER_HEIGHT 9  /* seven above the line, two below */

/* Pixels that n letters take. */
int32_t s2_letters_width(size_t n, int32_t scale);

/* ASCII from (x, y), its upper left corner; anything else is shown as '?', once for each UTF-8
 * character. Text wider than `room` pixels ends in two dots. Returns the pixels it took. */
int32_t s2_letters_draw(s2_image *image, const char *text, int32_t x, int32_t y, int32_t room,
                        int32_t scale, s2_colour colour);

#endif /* S2_IMAGE_DRAWING_H */
