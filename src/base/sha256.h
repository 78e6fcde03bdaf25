/* sha256.h - FIPS 180-4, for fingerprints of files and selections. */
#ifndef S2_BASE_SHA256_H
#define S2_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define S2_SHA256_HEX 65 /* digits and the final NUL */

void s2_sha256(const void *data, size_t n, uint8_t out[32]);

/* The same in pieces: start, any number of adds, finish. */
typedef struct s2_sha256_state {
    uint32_t h[8];
    uint64_t n_bytes;
    size_t n_left; /* bytes of `left` that wait for a whole block */
    uint8_t left[64];
    void (*compress)(uint32_t h[8], const uint8_t *blocks, size_t n); /* for this CPU */
} s2_sha256_state;

void s2_sha256_start(s2_sha256_state *state);
void s2_sha256_start_plain(s2_sha256_state *state); /* without the CPU's instructions, for tests */
void s2_sha256_add(s2_sha256_state *state, const void *data, size_t n);
void s2_sha256_finish(s2_sha256_state *state, uint8_t out[32]);

void s2_sha256_hex(const uint8_t digest[32], char out[S2_SHA256_HEX]);

#endif /* S2_BASE_SHA256_H */
