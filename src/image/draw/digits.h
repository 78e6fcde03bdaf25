/* digits.h - numbers on a picture; private to src/image. */
#ifndef S2_IMAGE_DIGITS_H
#define S2_IMAGE_DIGITS_H

#include "image/draw/overlay_parts.h"

/* How wide a number is, and its pixels. */
int32_t s2_digits_width(int32_t value, int32_t height);
void s2_digits_draw(s2_image *image, int32_t value, int32_t x, int32_t y, int32_t height,
                    s2_colour colour);

#endif /* S2_IMAGE_DIGITS_H */
