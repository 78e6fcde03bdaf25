/* jpeg_write.h - pixels to JPEG, as Pillow's save("JPEG", quality=N) has them. */
#ifndef S2_IMAGE_JPEG_WRITE_H
#define S2_IMAGE_JPEG_WRITE_H

#include "base/buffer.h"

/* Append a JPEG to `out`: baseline, libjpeg's tables for `quality` (1 to 100), colour at half the
 * resolution, the accurate integer transform. Those are Pillow's own defaults, so the pixels that
 * come back are the ones it would read. */
s2p_status s2_jpeg_encode(const s2p_image *image, int32_t quality, s2_buffer *out,
                          s2p_error *error);

#endif /* S2_IMAGE_JPEG_WRITE_H */
