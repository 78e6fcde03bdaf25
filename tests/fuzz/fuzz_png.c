/* fuzz_png.c - PNG files through the one decode entry, in both policies, strict and not. */
#include "fuzz_image.h"

static uint32_t crc_of(const uint8_t *bytes, size_t n)
{
    uint32_t crc = 0xFFFFFFFFu;
    for (size_t i = 0; i < n; i++) {
        crc ^= bytes[i];
        for (int k = 0; k < 8; k++) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0u);
    }
    return ~crc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    (void)fuzz_decode(data, size);
    /* With the checksums put right, else no change would come past them. */
    uint8_t *bytes = malloc(size > 0 ? size : 1);
    if (!bytes) return 0;
    if (size > 0) memcpy(bytes, data, size);
    for (size_t at = 8; at + 12 <= size;) {
        const uint8_t *head = bytes + at;
        const uint32_t n =
            (uint32_t)head[0] << 24 | (uint32_t)head[1] << 16 | (uint32_t)head[2] << 8 | head[3];
        if (n > size - at - 12) break;
        const uint32_t crc = crc_of(bytes + at + 4, n + (size_t)4);
        for (uint32_t k = 0; k < 4; k++) bytes[at + 8 + n + k] = (uint8_t)(crc >> (24 - 8 * k));
        at += (size_t)n + 12;
    }
    (void)fuzz_decode(bytes, size);
    free(bytes);
    return 0;
}
