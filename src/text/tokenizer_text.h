/* tokenizer_text.h - tokens to text. */
#ifndef S2_TEXT_TOKENIZER_TEXT_H
#define S2_TEXT_TOKENIZER_TEXT_H

#include "base/buffer.h"

#include <stdbool.h>

typedef struct s2v_tokenizer s2v_tokenizer;

/* Append the bytes of one token as it is inside a text (control and unknown tokens as their text when with_special, else nothing;
 * user-defined ones always as their text; ids that are no token: nothing). */
void s2v_token_bytes(const s2v_tokenizer *tokenizer, int32_t token, bool with_special,
                     s2_buffer *out);

/* Streaming: feed tokens, take text that ends on a whole UTF-8 character. */
typedef struct s2v_detokenizer {
    uint8_t held[8]; /* an unfinished character */
    size_t n_held;
    bool has_begun; /* a token has shown something */
} s2v_detokenizer;

/* Append to `out` what is whole now; control tokens show nothing. Bytes that can never become UTF-8
 * turn into U+FFFD, one for each longest part that could have, as Python's errors="replace" does.
 */
void s2v_detokenize(const s2v_tokenizer *tokenizer, s2v_detokenizer *state, int32_t token,
                    s2_buffer *out);
/* The same on bytes from elsewhere. */
void s2v_detokenize_bytes(s2v_detokenizer *state, const void *bytes, size_t n, s2_buffer *out);
/* The end: an unfinished character becomes U+FFFD. */
void s2v_detokenize_end(s2v_detokenizer *state, s2_buffer *out);

#endif /* S2_TEXT_TOKENIZER_TEXT_H */
