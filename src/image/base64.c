/* base64.c - RFC 4648, standard alphabet. */
#include "image/base64.h"

void s2_base64_append(s2_buffer *out, const uint8_t *bytes, size_t n)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < n; i += 3) {
        const size_t left = n - i;
        const uint32_t group = (uint32_t)bytes[i] << 16 |
                               (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
                               (left > 2 ? bytes[i + 2] : 0u);
        const char text[4] = { digit[group >> 18], digit[group >> 12 & 63],
                               left > 1 ? digit[group >> 6 & 63] : '=',
                               left > 2 ? digit[group & 63] : '=' };
        s2_buffer_append(out, text, sizeof text);
    }
}
