/* sha256.h - FIPS 180-4, for fingerprints of files and selections. */
#ifndef S2_BASE_SHA256_H
#define S2_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

void s2_sha256(const void *data, size_t n, uint8_t out[32]);

#endif /* S2_BASE_SHA256_H */
