/* base64_decode.h - base64 to bytes, in pieces of any size. */
#ifndef S2_BASE_BASE64_DECODE_H
#define S2_BASE_BASE64_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct s2_base64 {
    uint32_t bits;   /* digits that wait for the rest of their four */
    uint8_t n_bits;  /* how many digits */
    uint8_t n_pads;  /* '=' seen */
    bool escapes;    /* set by the caller: the text is the inside of a JSON string */
    uint8_t escaped; /* 1: after a backslash; 2 to 5: digits of \uXXXX to come */
    uint32_t code;   /* of that \uXXXX */
    bool broken;     /* invalid base64 was found */
} s2_base64;

#define S2_BASE64_ROOM(n) (((n) / 4 + 2) * 3) /* most bytes that n characters more can give */

/* Decode n characters; white space between them is skipped. Returns the bytes put to out. */
size_t s2_base64_decode(s2_base64 *state, const void *text, size_t n, uint8_t *out);

/* Whether all input was base64, to the last '='. */
bool s2_base64_is_whole(const s2_base64 *state);

#endif /* S2_BASE_BASE64_DECODE_H */
