/* gray.c - Pillow's convert("L"): ITU-R 601 luma with 16 fractional bits, rounded to nearest. */
#include "image/image.h"

void s2_image_gray(const s2p_image *in, uint8_t *gray)
{
    for (int32_t y = 0; y < in->height; y++) {
        const uint8_t *p = in->pixels + in->stride * y;
        for (int32_t x = 0; x < in->width; x++, p += 3)
            *gray++ = (uint8_t)((19595u * p[0] + 38470u * p[1] + 7471u * p[2] + 32768u) >> 16);
    }
}
