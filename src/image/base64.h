/* base64.h - bytes as text, for SVG, HTML and terminals. */
#ifndef S2_IMAGE_BASE64_H
#define S2_IMAGE_BASE64_H

#include "base/buffer.h"

/* Append the base64 of n bytes, padded with '='. */
void s2_base64_append(s2_buffer *out, const uint8_t *bytes, size_t n);

#endif /* S2_IMAGE_BASE64_H */
