/* picture.h - a seeded picture for tests: noise in one corner, a ramp elsewhere. */
#ifndef TESTS_PICTURE_H
#define TESTS_PICTURE_H

#include "check.h"
#include "s2prune.h"

static inline s2p_image make_picture(uint8_t *pixels, int32_t width, int32_t height, uint32_t seed)
{
    for (int32_t y = 0; y < height; y++)
        for (int32_t x = 0; x < width; x++)
            for (int32_t c = 0; c < 3; c++) {
                const int is_busy = x > width / 2 && y < height / 2;
                pixels[(y * width + x) * 3 + c] =
                    (uint8_t)(is_busy ? next_random(&seed) : (uint32_t)(x + 2 * y + 40 * c));
            }
    return (s2p_image){ width, height, (ptrdiff_t)width * 3, pixels };
}

#endif /* TESTS_PICTURE_H */
