/* unicode.h - code points: in and out of UTF-8, classes, and normal form C. */
#ifndef S2_TEXT_UNICODE_H
#define S2_TEXT_UNICODE_H

#include "base/error.h"

#include <stdbool.h>

/* What the splitting pattern tells apart; every code point is exactly one. */
typedef enum s2v_class {
    S2V_OTHER,  /* marks, punctuation, symbols, controls, unassigned */
    S2V_LETTER, /* \p{L} */
    S2V_NUMBER, /* \p{N} */
    S2V_SPACE   /* \s, line ends included */
} s2v_class;

s2v_class s2v_class_of(int32_t code);

bool s2v_is_mark(int32_t code); /* \p{M}: combines with a character before it */

/* The code point at the start of `bytes`, and how many bytes it takes; 0 when they are not UTF-8
 * (overlong forms, surrogates and cut-off sequences are not). n >= 1. */
size_t s2v_utf8_read(const uint8_t *bytes, size_t n, int32_t *code);

/* 1 to 4 bytes of a valid code point. */
size_t s2v_utf8_write(int32_t code, uint8_t out[4]);

/* How a sequence of UTF-8 goes on: bytes expected after the lead byte, 0 when `lead` cannot lead
 * (or is ASCII); and whether `byte` may stand at position `at` (1..3) after it. */
size_t s2v_utf8_following(uint8_t lead);
bool s2v_utf8_may_follow(uint8_t lead, size_t at, uint8_t byte);

typedef struct s2v_codes { /* code points of a text; keeps its memory for the next text */
    int32_t *code;
    size_t n, capacity;
} s2v_codes;

void s2v_codes_free(s2v_codes *codes);

/* The code points of a text as they are, after a space if asked for, replacing what `out` held.
 * S2P_EFORMAT: not UTF-8. */
s2p_status s2v_codes_read(const uint8_t *text, size_t n, s2v_codes *out, bool with_space,
                          s2p_error *error);

/* The same brought to NFC. */
s2p_status s2v_nfc(const uint8_t *text, size_t n, s2v_codes *out, s2p_error *error);

#endif /* S2_TEXT_UNICODE_H */
