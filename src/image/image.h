/* image.h - the door of this room: file bytes to pixels and back. */
#ifndef S2_IMAGE_IMAGE_H
#define S2_IMAGE_IMAGE_H

#include "base/buffer.h"
#include "base/error.h"
#include "image/geometry.h"

#include <stdbool.h>

/* picture.c: pictures as owned memory. */
typedef enum s2_format {
    S2_FORMAT_JPEG,
    S2_FORMAT_PNG,
    S2_FORMAT_WEBP,
    S2_FORMAT_GIF,
    S2_FORMAT_BMP,
    S2_FORMAT_TIFF,
    S2_FORMAT_HEIF /* HEIC and AVIF */
} s2_format;

typedef struct s2_image { /* owned pixels; .view is what everyone else takes */
    s2p_image view;
    s2_format format; /* of the file it was decoded from; 0 for a picture made here */
    uint8_t *pixels;
    s2_size stored; /* of the file, when the picture was decoded at a reduced scale; else 0 */
} s2_image;

/* A picture whose pixels are not yet set, rows without gaps. *out is untouched unless S2P_OK. */
s2p_status s2_image_create(int32_t width, int32_t height, s2_image *out, s2p_error *error);
void s2_image_free(s2_image *image); /* NULL and an all-zero picture are fine */

/* Pillow's convert("L"). gray: [height][width] out. */
void s2_image_gray(const s2p_image *in, uint8_t *gray);

/* --- for decoders --- */

/* Pixels of 3 or 4 channels, then the 4 flattened to 3 over white, in place. */
uint8_t *s2_canvas_create(int64_t width, int64_t height, int channels, s2p_error *error);
void s2_canvas_flatten(uint8_t *rgba, size_t n_pixels);

/* Pixels of 3 channels become a picture, which owns them from now on. */
void s2_image_adopt(s2_image *out, uint8_t *pixels, int64_t width, int64_t height,
                    s2_format format);

/* decode.c: the one door for pictures from outside.
 *
 * The format is read from magic bytes, every limit is checked against the header before anything
 * is allocated, and the sentences are ours (no decoder text, no address).
 */

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
    bool
        bounded; /* refuse formats whose decoder cannot be held to these limits: TIFF, HEIC, AVIF */
    /* Larger pictures are decoded at 1/2, 1/4 or 1/8 where the format can do that (JPEG), so that
     * they have at most this many pixels, or at 1/8. 0: never. */
    int64_t reduce_pixels;
    bool *too_many; /* NULL, or set when it is max_pixels that refuses the picture */
} s2_image_limits;

/* The defaults: 20 MiB, 2^25 pixels, side 16384, aspect 200, 500 scans, 5 s, strict, no reduced
 * scale, every format. */
void s2_image_limits_init(s2_image_limits *limits);

/* For pictures that the user of a program names, where waiting is up to them: 512 MiB, max_pixels as
 * given, side 65535, 60 s; JPEG files above 2^25 pixels at a reduced scale. */
void s2_image_limits_local(s2_image_limits *limits, int64_t max_pixels);

/* limits NULL: the defaults. JPEG, PNG, WebP, GIF and BMP, and TIFF, HEIC and AVIF where their
 * libraries were found at build time; of several pictures in a file the first. S2P_EFORMAT: not a
 * picture, or a broken one. S2P_EUNSUPPORTED: a kind we do not read (named in the sentence, with the
 * command that converts it: PDF, JPEG XL, animated WebP, ...). S2P_ELIMIT: beyond a limit (named, with
 * both numbers). Of 16-bit samples the upper byte is taken; of gray ones in PNG as reference 255 at
 * most, because Pillow does that. *out is untouched unless S2P_OK. */
s2p_status s2_image_decode(const void *bytes, size_t n_bytes, s2_pixels pixels,
                           const s2_image_limits *limits, s2_image *out, s2p_error *error);

/* The size a picture's header states, without decoding it; refusals as above, of headers alone.
 * A file that is cut off or broken behind its header has a size. */
s2p_status s2_image_measure(const void *bytes, size_t n_bytes, s2_size *out, s2p_error *error);

/* Read and decode a file, "-" for standard input; the sentence names the path. */
s2p_status s2_image_load(const char *path, s2_pixels pixels, const s2_image_limits *limits,
                         s2_image *out, s2p_error *error);

/* resize.c: another size. */
typedef enum s2_resize { /* which Pillow: they differ in the order of the two passes */
                         S2_RESIZE_PILLOW = 0,  /* up to 12: across, then down */
                         S2_RESIZE_PILLOW13 = 1 /* 13: down first where that is less work */
} s2_resize;

/* Pillow's BICUBIC for 8-bit RGB, bit for bit. *out is untouched unless S2P_OK. */
s2p_status s2_image_resize_as(const s2p_image *in, int32_t width, int32_t height, s2_resize how,
                              s2_image *out, s2p_error *error);

typedef enum s2_filter { S2_FILTER_BICUBIC, S2_FILTER_LANCZOS, S2_FILTER_BILINEAR } s2_filter;

/* The same with Pillow's BICUBIC, LANCZOS or BILINEAR. */
s2p_status s2_image_resize_with(const s2p_image *in, int32_t width, int32_t height,
                                s2_filter filter, s2_resize how, s2_image *out, s2p_error *error);

/* As Pillow up to 12. */
s2p_status s2_image_resize(const s2p_image *in, int32_t width, int32_t height, s2_image *out,
                           s2p_error *error);

/* png_write.c: pixels to PNG. */

/* Append a PNG (8-bit RGB) to `out`. */
s2p_status s2_png_encode(const s2p_image *image, s2_buffer *out, s2p_error *error);

/* jpeg_write.c: pixels to JPEG, as Pillow's save("JPEG", quality=N) has them. */

/* Append a JPEG to `out`: baseline, libjpeg's tables for `quality` (1 to 100), color at half the
 * resolution, the accurate integer transform. Those are Pillow's own defaults, so the pixels that
 * come back are the ones it would read. */
s2p_status s2_jpeg_encode(const s2p_image *image, int32_t quality, s2_buffer *out,
                          s2p_error *error);

#endif /* S2_IMAGE_IMAGE_H */
