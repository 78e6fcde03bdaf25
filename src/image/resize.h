/* resize.h - another size. */
#ifndef S2_IMAGE_RESIZE_H
#define S2_IMAGE_RESIZE_H

#include "image/picture.h"

/* Pillow's BICUBIC for 8-bit RGB, bit for bit. *out is untouched unless S2P_OK. */
s2p_status s2_image_resize(const s2p_image *in, int32_t width, int32_t height, s2_image *out,
                           s2p_error *error);

#endif /* S2_IMAGE_RESIZE_H */
