/* picture.c - pictures as owned memory: make, flatten, free; and their gray. */
#include "image/image.h"

#include "base/checked.h"

#include <stdbool.h>

#include <stdlib.h>
#include <string.h>

uint8_t *s2_canvas_create(int64_t width, int64_t height, int channels, s2p_error *error)
{
    size_t n_bytes = 0;
    const bool fits = width > 0 && height > 0 && width <= INT32_MAX && height <= INT32_MAX &&
                      s2_mul_size((size_t)width, (size_t)height, &n_bytes) &&
                      s2_mul_size(n_bytes, (size_t)channels, &n_bytes) && n_bytes <= PTRDIFF_MAX;
    uint8_t *pixels = fits ? malloc(n_bytes) : NULL;
    if (!pixels) (void)s2_fail_memory(error, fits ? n_bytes : SIZE_MAX, "pixels");
    return pixels;
}

/* Over white, rounded to nearest: c' = (a c + (255 - a) 255) / 255. The write position never
 * overtakes the read position, so one buffer serves both. */
void s2_canvas_flatten(uint8_t *rgba, size_t n_pixels)
{
    for (size_t i = 0; i < n_pixels; i++) {
        const unsigned alpha = rgba[4 * i + 3];
        for (size_t c = 0; c < 3; c++)
            rgba[3 * i + c] =
                (uint8_t)((alpha * rgba[4 * i + c] + (255 - alpha) * 255 + 127) / 255);
    }
}

void s2_image_adopt(s2_image *out, uint8_t *pixels, int64_t width, int64_t height, s2_format format)
{
    *out = (s2_image){
        .view = { .width = (int32_t)width,
                  .height = (int32_t)height,
                  .stride = (ptrdiff_t)(3 * width),
                  .pixels = pixels },
        .format = format,
        .pixels = pixels,
    };
}

s2p_status s2_image_create(int32_t width, int32_t height, s2_image *out, s2p_error *error)
{
    if (width < 1 || height < 1)
        return s2_fail(error, S2P_EINVAL, "a picture of %dx%d px cannot be made", (int)width,
                       (int)height);
    uint8_t *pixels = s2_canvas_create(width, height, 3, error);
    if (!pixels) return S2P_ENOMEM;
    s2_image_adopt(out, pixels, width, height, (s2_format)0);
    return S2P_OK;
}

void s2_image_free(s2_image *image)
{
    if (!image) return;
    free(image->pixels);
    memset(image, 0, sizeof *image);
}

/* ITU-R 601 luma with 16 fractional bits, rounded to nearest. */
void s2_image_gray(const s2p_image *in, uint8_t *gray)
{
    for (int32_t y = 0; y < in->height; y++) {
        const uint8_t *p = in->pixels + in->stride * y;
        for (int32_t x = 0; x < in->width; x++, p += 3)
            *gray++ = (uint8_t)((19595u * p[0] + 38470u * p[1] + 7471u * p[2] + 32768u) >> 16);
    }
}
