/* resize.h - another size. */
#ifndef S2_IMAGE_RESIZE_H
#define S2_IMAGE_RESIZE_H

#include "image/picture.h"

typedef enum s2_resize { /* which Pillow: they differ in the order of the two passes */
                         S2_RESIZE_PILLOW = 0,  /* up to 12: across, then down */
                         S2_RESIZE_PILLOW13 = 1 /* 13: down first where that is less work */
} s2_resize;

/* Pillow's BICUBIC for 8-bit RGB, bit for bit. *out is untouched unless S2P_OK. */
s2p_status s2_image_resize_as(const s2p_image *in, int32_t width, int32_t height, s2_resize how,
                              s2_image *out, s2p_error *error);

/* As Pillow up to 12. */
s2p_status s2_image_resize(const s2p_image *in, int32_t width, int32_t height, s2_image *out,
                           s2p_error *error);

#endif /* S2_IMAGE_RESIZE_H */
