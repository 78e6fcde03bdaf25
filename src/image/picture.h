/* picture.h - pictures as owned memory. */
#ifndef S2_IMAGE_PICTURE_H
#define S2_IMAGE_PICTURE_H

#include "base/error.h"

typedef enum s2_format { S2_FORMAT_JPEG, S2_FORMAT_PNG, S2_FORMAT_WEBP } s2_format;

typedef struct s2_image { /* owned pixels; .view is what everyone else takes */
    s2p_image view;
    s2_format format; /* of the file it was decoded from; 0 for a picture made here */
    uint8_t *pixels;
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

#endif /* S2_IMAGE_PICTURE_H */
