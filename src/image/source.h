/* source.h - the bytes of a picture on their way through a decoder, and their limits. */
#ifndef S2_IMAGE_SOURCE_H
#define S2_IMAGE_SOURCE_H

#include "base/error.h"

#include <stdbool.h>

/* What a picture with transparency or a rotation tag looks like. */
typedef enum s2_pixels {
    S2_PIXELS_REFERENCE, /* as Pillow's open().convert("RGB"): alpha dropped, not rotated */
    S2_PIXELS_VIEWER     /* as a viewer shows it: EXIF orientation applied, alpha over white */
} s2_pixels;

typedef struct s2_image_limits {
    size_t max_bytes;   /* compressed */
    int64_t max_pixels; /* width * height */
    int32_t max_side;
    int32_t max_aspect; /* longer side / shorter side */
    int32_t max_scans;  /* progressive JPEG */
    double max_seconds; /* decode wall time, where the decoder can be interrupted */
    bool strict;        /* a truncated file is an error, not a partly gray picture */
    bool *too_many;     /* NULL, or set when it is max_pixels that refuses the picture */
} s2_image_limits;

typedef struct s2_source { /* one decode call */
    const uint8_t *bytes;
    size_t n_bytes;
    s2_pixels pixels;
    s2_image_limits limits;
    double start_ms; /* of s2_now_ms */
} s2_source;

/* Width, height and aspect ratio against the limits; the first thing after the header. */
s2p_status s2_source_admit(const s2_source *source, const char *format, int64_t width,
                           int64_t height, s2p_error *error);

/* True once limits.max_seconds have passed since the start. */
bool s2_source_is_late(const s2_source *source);
s2p_status s2_fail_late(const s2_source *source, const char *format, s2p_error *error);

bool s2_source_has(const s2_source *source, size_t at, const char *bytes, size_t n);

#endif /* S2_IMAGE_SOURCE_H */
