/* image.h - the door of this room: file bytes to pixels and back.
 *
 * picture.h    pixels as owned memory
 * decode.h     JPEG, PNG, WebP to pixels
 * resize.h     Pillow's bicubic
 * png_write.h  pixels to PNG
 * jpeg_write.h pixels to JPEG and back, as a harness does that saves pictures
 */
#ifndef S2_IMAGE_H
#define S2_IMAGE_H

#include "image/decode.h"
#include "image/jpeg_write.h"
#include "image/picture.h"
#include "image/png_write.h"
#include "image/resize.h"

#endif /* S2_IMAGE_H */
