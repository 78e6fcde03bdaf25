/* fuzz_image.h - what the image fuzz targets do with their bytes. */
#ifndef S2_FUZZ_IMAGE_H
#define S2_FUZZ_IMAGE_H

#include "fuzz.h"
#include "image/image.h"

#include <string.h>

/* Decode one way. The promises of the header hold: nothing is touched on failure, and a picture
 * obeys the limits. */
static inline void fuzz_decode_once(const uint8_t *data, size_t size, s2_pixels pixels, bool strict)
{
    s2_image_limits limits;
    s2_image_limits_init(&limits);
    limits.max_pixels = 1 << 18;
    limits.max_scans = 20;
    limits.strict = strict;
    s2_image image, untouched;
    memset(&image, 0x5A, sizeof image);
    untouched = image;
    s2p_error error = { S2P_OK, "" };
    const s2p_status st = s2_image_decode(data, size, pixels, &limits, &image, &error);
    if (st != S2P_OK) {
        PROMISE(memcmp(&image, &untouched, sizeof image) == 0);
        PROMISE(error.status == st);
        return;
    }
    const s2p_image *view = &image.view;
    ACCEPTED();
    PROMISE(view->width >= 1 && view->height >= 1 && view->stride >= 3 * (ptrdiff_t)view->width);
    PROMISE((int64_t)view->width * view->height <= limits.max_pixels);
    volatile uint8_t sum = 0; /* reads every byte, for the sanitizers */
    for (int32_t y = 0; y < view->height; y++)
        for (ptrdiff_t x = 0; x < 3 * (ptrdiff_t)view->width; x++)
            sum = (uint8_t)(sum + view->pixels[view->stride * y + x]);
    s2_image_free(&image);
}

static inline int fuzz_decode(const uint8_t *data, size_t size)
{
    fuzz_decode_once(data, size, S2_PIXELS_REFERENCE, true);
    fuzz_decode_once(data, size, S2_PIXELS_VIEWER, false);
    return 0;
}

#endif /* S2_FUZZ_IMAGE_H */
