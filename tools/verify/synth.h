/* synth.h - pictures and scores made from integers only, so that a few numbers in a golden file
 * stand for a whole picture.
 */
#ifndef S2_TOOLS_SYNTH_H
#define S2_TOOLS_SYNTH_H

#include "image/image.h"

#define S2_SYNTH_MAX_PIXELS (1 << 26)

typedef struct s2_xorshift { /* 32-bit xorshift 13, 17, 5 */
    uint32_t state;          /* not 0 */
} s2_xorshift;

uint32_t s2_xorshift_next(s2_xorshift *generator);
uint32_t s2_hash32(uint32_t a, uint32_t b, uint32_t c, uint32_t d);

/* kind: flat, noise, grad, bump, check, vnoise, rects. On success *out is a picture the caller
 * frees with s2_image_free. S2P_EINVAL: an unknown kind, or sizes it cannot have. */
s2p_status s2_synth_picture(const char *kind, uint32_t seed, int32_t width, int32_t height,
                            s2_image *out, s2p_error *error);

/* Scores in [0, 1), or with levels > 0 whole numbers below it, which tie often. erc: [n] out. */
void s2_synth_erc(uint32_t seed, int32_t levels, int32_t n, float *erc);

/* CRC-32 as zlib and PNG have it. */
uint32_t s2_crc32(const uint8_t *data, size_t n);

#endif /* S2_TOOLS_SYNTH_H */
