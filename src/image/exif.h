/* exif.h - which way up a picture is. */
#ifndef S2_IMAGE_EXIF_H
#define S2_IMAGE_EXIF_H

#include "image/picture.h"

/* EXIF orientation 1..8 of a TIFF blob, with or without "Exif\0\0" before it; 1 for anything odd. */
int s2_exif_orientation(const uint8_t *blob, size_t n);

/* Turn and mirror as orientation 2..8 asks; 1 does nothing. */
s2p_status s2_image_orient(s2_image *image, int orientation, s2p_error *error);

#endif /* S2_IMAGE_EXIF_H */
