/* decoder.h - one format: how it begins and who reads it. One file each, listed in decode.c.
 *
 * A decoder reads its header, calls s2_source_admit, and only then allocates.
 */
#ifndef S2_IMAGE_DECODER_H
#define S2_IMAGE_DECODER_H

#include "image/geometry.h"
#include "image/image.h"

/* source.c: the bytes of a picture on their way through a decoder, and their limits. */
typedef struct s2_source { /* one decode call */
    const uint8_t *bytes;
    size_t n_bytes;
    s2_pixels pixels;
    s2_image_limits limits;
    double start_ms;   /* of s2_now_ms */
    s2_size *measured; /* NULL, or only the size is wanted: admitting it ends the decoding */
} s2_source;

/* Width, height and aspect ratio against the limits; the first thing after the header. */
s2p_status s2_source_admit(const s2_source *source, const char *format, int64_t width,
                           int64_t height, s2p_error *error);

/* True once limits.max_seconds have passed since the start. */
bool s2_source_is_late(const s2_source *source);
s2p_status s2_fail_late(const s2_source *source, const char *format, s2p_error *error);

bool s2_source_has(const s2_source *source, size_t at, const char *bytes, size_t n);

typedef struct s2_decoder {
    const char *name;                       /* with its article: "a GIF" */
    bool is_unbounded;                      /* the library behind it cannot be held to the limits */
    bool (*knows)(const s2_source *source); /* by its first bytes */

    /* Fill *out (pixels owned) or leave it alone. *orientation: EXIF 1..8, 1 when unknown. */
    s2p_status (*decode)(const s2_source *source, s2_image *out, int *orientation,
                         s2p_error *error);
} s2_decoder;

/* exif.c: which way up a picture is. */

/* EXIF orientation 1..8 of a TIFF blob, with or without "Exif\0\0" before it; 1 for anything odd. */
int s2_exif_orientation(const uint8_t *blob, size_t n);

/* Rotate and mirror as orientation 2..8 asks; 1 does nothing. */
s2p_status s2_image_orient(s2_image *image, int orientation, s2p_error *error);

#endif /* S2_IMAGE_DECODER_H */
