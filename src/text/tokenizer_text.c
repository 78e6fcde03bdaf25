/* tokenizer_text.c - tokens to text, as they come.
 *
 * A token may end in the middle of a character, so the stream holds back the bytes of
 * an unfinished one. Bytes that cannot go on become one U+FFFD per longest part that
 * could have (Unicode's "maximal subpart", what Python's errors="replace" does).
 *
 * SentencePiece puts a space before a text; so the first space of what is decoded goes again.
 */
#include "text/tokenizer_vocab.h"

#include "text/pieces.h"
#include "text/unicode.h"

#include <string.h>

static const uint8_t replacement[3] = { 0xEF, 0xBF, 0xBD }; /* U+FFFD */

/* The bytes an ordinary token spells; one that holds any other character is its own text. */
static size_t spelled_by(s2v_text text, uint8_t *out)
{
    const uint8_t *bytes = (const uint8_t *)text.data;
    size_t n = 0;
    for (size_t i = 0; i < text.size;) {
        int32_t code = -1;
        i += s2v_utf8_read(bytes + i, text.size - i, &code); /* UTF-8: checked at load */
        const int32_t byte = s2v_byte_of(code);
        if (byte < 0) {
            memcpy(out, text.data, text.size);
            return text.size;
        }
        out[n++] = (uint8_t)byte;
    }
    return n;
}

/* A piece as text: U+2581 is a space. */
static size_t text_of_piece(s2v_text text, uint8_t *out)
{
    static const char mark[] = "\xE2\x96\x81";
    size_t n = 0;
    for (size_t i = 0; i < text.size;) {
        const bool is_space = text.size - i >= 3 && memcmp(text.data + i, mark, 3) == 0;
        out[n++] = is_space ? ' ' : (uint8_t)text.data[i];
        i += is_space ? 3 : 1;
    }
    return n;
}

static size_t bytes_of(const s2v_tokenizer *t, int32_t token, bool with_special,
                       uint8_t out[S2V_TOKEN_MAX_BYTES])
{
    if (token < 0 || token >= t->n_tokens) return 0;
    const s2v_text text = s2v_token_text(t, token);
    switch (t->type[token]) {
    case S2V_TOKEN_NORMAL:
        return t->kind->by_score ? text_of_piece(text, out) : spelled_by(text, out);
    case S2V_TOKEN_BYTE:
        if (!t->kind->by_score) return 0;
        out[0] = (uint8_t)s2v_piece_byte(text); /* checked at load */
        return 1;
    case S2V_TOKEN_UNKNOWN:
        if (!t->kind->by_score) return 0;
        /* fall through */
    case S2V_TOKEN_CONTROL:
        if (!with_special) return 0;
        break;
    case S2V_TOKEN_USER_DEFINED:
        break;
    default:
        return 0; /* unused: nothing to show */
    }
    memcpy(out, text.data, text.size);
    return text.size;
}

void s2v_token_bytes(const s2v_tokenizer *tokenizer, int32_t token, bool with_special,
                     s2_buffer *out)
{
    uint8_t bytes[S2V_TOKEN_MAX_BYTES];
    s2_buffer_append(out, bytes, bytes_of(tokenizer, token, with_special, bytes));
}

/* What is held can never become a character. */
static void give_up(s2v_detokenizer *state, s2_buffer *out)
{
    if (state->n_held > 0) s2_buffer_append(out, replacement, sizeof replacement);
    state->n_held = 0;
}

void s2v_detokenize_bytes(s2v_detokenizer *state, const void *bytes, size_t n, s2_buffer *out)
{
    const uint8_t *byte = bytes;
    for (size_t i = 0; i < n; i++) {
        const uint8_t b = byte[i];
        if (state->n_held > 0 && !s2v_utf8_may_follow(state->held[0], state->n_held, b))
            give_up(state, out);
        if (state->n_held == 0 && b < 0x80) {
            s2_buffer_append(out, &b, 1);
            continue;
        }
        state->held[state->n_held++] = b;
        const size_t following = s2v_utf8_following(state->held[0]);
        if (following == 0) give_up(state, out);
        if (following > 0 && state->n_held == following + 1) {
            s2_buffer_append(out, state->held, state->n_held);
            state->n_held = 0;
        }
    }
}

void s2v_detokenize(const s2v_tokenizer *tokenizer, s2v_detokenizer *state, int32_t token,
                    s2_buffer *out)
{
    uint8_t bytes[S2V_TOKEN_MAX_BYTES];
    const size_t n = bytes_of(tokenizer, token, false, bytes);
    const bool is_added = tokenizer->adds_space && !state->has_begun && n > 0 && bytes[0] == ' ';
    state->has_begun |= n > 0;
    s2v_detokenize_bytes(state, bytes + is_added, n - is_added, out);
}

void s2v_detokenize_end(s2v_detokenizer *state, s2_buffer *out) { give_up(state, out); }
