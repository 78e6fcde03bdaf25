/* png_write.h - pixels to PNG. */
#ifndef S2_IMAGE_PNG_WRITE_H
#define S2_IMAGE_PNG_WRITE_H

#include "base/buffer.h"

/* Append a PNG (8-bit RGB) to `out`. */
s2p_status s2_png_encode(const s2p_image *image, s2_buffer *out, s2p_error *error);

#endif /* S2_IMAGE_PNG_WRITE_H */
