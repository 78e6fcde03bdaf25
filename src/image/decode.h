/* decode.h - the one door for pictures from outside.
 *
 * The format is read from magic bytes, every limit is checked against the header before anything
 * is allocated, and the sentences are ours (no decoder text, no address).
 */
#ifndef S2_IMAGE_DECODE_H
#define S2_IMAGE_DECODE_H

#include "image/picture.h"
#include "image/source.h"

/* The defaults: 20 MiB, 2^25 pixels, side 16384, aspect 200, 500 scans, 5 s, strict. */
void s2_image_limits_init(s2_image_limits *limits);

/* limits NULL: the defaults. S2P_EFORMAT: not a picture, or a broken one. S2P_EUNSUPPORTED: a
 * kind we do not read (named in the sentence: GIF, BMP, TIFF, AVIF, HEIC, JPEG XL, CMYK JPEG,
 * animated WebP, ...). S2P_ELIMIT: beyond a limit (named, with both numbers). Of 16-bit samples
 * the upper byte is taken; of gray ones as reference 255 at most, because Pillow does that. *out is untouched unless S2P_OK. */
s2p_status s2_image_decode(const void *bytes, size_t n_bytes, s2_pixels pixels,
                           const s2_image_limits *limits, s2_image *out, s2p_error *error);

/* Read and decode a file, "-" for standard input; the sentence names the path. */
s2p_status s2_image_load(const char *path, s2_pixels pixels, const s2_image_limits *limits,
                         s2_image *out, s2p_error *error);

#endif /* S2_IMAGE_DECODE_H */
