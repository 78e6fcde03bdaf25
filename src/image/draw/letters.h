/* letters.h - lines of text on a picture; private to src/image. */
#ifndef S2_IMAGE_LETTERS_H
#define S2_IMAGE_LETTERS_H

#include "image/draw/overlay_parts.h"

#define S2_LETTER_ADVANCE 6 /* pixels from one letter to the next, at scale 1 */
#define S2_LETTER_HEIGHT 9  /* seven above the line, two below */

/* Pixels that n letters take. */
int32_t s2_letters_width(size_t n, int32_t scale);

/* ASCII from (x, y), its upper left corner; anything else is shown as '?', once for each UTF-8
 * character. Text wider than `room` pixels ends in two dots. Returns the pixels it took. */
int32_t s2_letters_draw(s2_image *image, const char *text, int32_t x, int32_t y, int32_t room,
                        int32_t scale, s2_colour colour);

#endif /* S2_IMAGE_LETTERS_H */
