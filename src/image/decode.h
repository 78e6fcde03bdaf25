/* decode.h - what the three decoders share; private to src/image.
 *
 * A decoder reads its header, calls s2_source_admit, and only then allocates.
 */
#ifndef S2_IMAGE_DECODE_H
#define S2_IMAGE_DECODE_H

#include "image/image.h"

typedef struct s2_source { /* one decode call */
    const uint8_t *bytes;
    size_t n_bytes;
    s2_pixels pixels;
    s2_image_limits limits;
    double start; /* seconds, monotonic clock */
} s2_source;

/* Width, height and aspect ratio against the limits; the first thing after the header. */
s2p_status s2_source_admit(const s2_source *source, const char *format, int64_t width,
                           int64_t height, s2p_error *error);

/* True once limits.max_seconds have passed since the start. */
bool s2_source_is_late(const s2_source *source);
s2p_status s2_fail_late(const s2_source *source, const char *format, s2p_error *error);

/* Each fills *out (pixels owned) or leaves it alone. *orientation: EXIF 1..8, 1 when unknown. */
s2p_status s2_decode_jpeg(const s2_source *source, s2_image *out, int *orientation,
                          s2p_error *error);
s2p_status s2_decode_png(const s2_source *source, s2_image *out, int *orientation,
                         s2p_error *error);
s2p_status s2_decode_webp(const s2_source *source, s2_image *out, int *orientation,
                          s2p_error *error);

/* Pixels of 3 or 4 channels, then the 4 flattened to 3 over white, in place. */
uint8_t *s2_canvas_create(int64_t width, int64_t height, int channels, s2p_error *error);
void s2_canvas_flatten(uint8_t *rgba, size_t n_pixels);
void s2_image_adopt(s2_image *out, uint8_t *pixels, int64_t width, int64_t height,
                    s2_format format);

/* EXIF orientation 1..8 of a TIFF blob, with or without "Exif\0\0" before it; 1 for anything odd.
 */
int s2_exif_orientation(const uint8_t *blob, size_t n);

/* Turn and mirror as orientation 2..8 asks; 1 does nothing. */
s2p_status s2_image_orient(s2_image *image, int orientation, s2p_error *error);

#endif /* S2_IMAGE_DECODE_H */
