/* base64_decode.c - RFC 4648, standard alphabet, four digits at a time where nothing else is in the
 * way. Python pads what it writes, so text without its '=' was cut. */
#include "base/base64_decode.h"

#define N 0x80 /* what no digit has */

static const uint8_t digit_of[256] = {
    N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,
    N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  62, N,  N,  N,  63,
    52, 53, 54, 55, 56, 57, 58, 59, 60, 61, N,  N,  N,  N,  N,  N,  N,  0,  1,  2,  3,  4,  5,  6,
    7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, N,  N,  N,  N,  N,
    N,  26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48,
    49, 50, 51, N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,
    N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,
    N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,
    N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,
    N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,
    N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,
};

static int hex_of(uint8_t c)
{
    if (c >= '0' && c <= '9') return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* One character that may be anything; the number of bytes it completed. */
static size_t take_one(s2_base64 *s, uint8_t c, uint8_t *out)
{
    if (c == ' ' || c == '\n' || c == '\r' || c == '\t') return 0;
    if (c == '=') {
        s->n_pads++;
        if (s->n_bits < 2 || s->n_bits + s->n_pads > 4) s->broken = true;
        return 0;
    }
    const uint8_t value = digit_of[c];
    if (value == N || s->n_pads > 0) {
        s->broken = true;
        return 0;
    }
    s->bits = s->bits << 6 | value;
    if (++s->n_bits < 4) return 0; /* the rest of the group, or its pads, is to come */
    out[0] = (uint8_t)(s->bits >> 16);
    out[1] = (uint8_t)(s->bits >> 8);
    out[2] = (uint8_t)s->bits;
    s->bits = s->n_bits = 0;
    return 3;
}

/* The same inside a JSON string, where writers put a backslash before '/' or spell '=' as \u003d. */
static size_t take_escaped(s2_base64 *s, uint8_t c, uint8_t *out)
{
    if (s->escaped == 0) {
        if (c != '\\') return take_one(s, c, out);
        s->escaped = 1;
        return 0;
    }
    if (s->escaped == 1) {
        s->escaped = c == 'u' ? 2 : 0;
        s->code = 0;
        if (c == 'u') return 0;
        if (c == 'n' || c == 'r' || c == 't') return 0;
        if (c == '/') return take_one(s, c, out);
        s->broken = true;
        return 0;
    }
    const int digit = hex_of(c);
    if (digit < 0) s->broken = true;
    s->code = s->code << 4 | ((uint32_t)digit & 15u);
    if (++s->escaped <= 5) return 0;
    s->escaped = 0;
    if (s->code > 127) s->broken = true;
    return take_one(s, (uint8_t)(s->code & 127), out);
}

/* What an unfinished group holds, once its pads say that it is the last. */
static size_t finish_group(s2_base64 *s, uint8_t *out)
{
    if (s->n_pads == 0 || s->n_bits + s->n_pads != 4) return 0;
    const uint32_t bits = s->bits << (6 * s->n_pads);
    out[0] = (uint8_t)(bits >> 16);
    if (s->n_bits == 3) out[1] = (uint8_t)(bits >> 8);
    const size_t n = s->n_bits - 1u;
    s->bits = 0;
    s->n_bits = 4; /* full: a further digit or pad is one too many */
    s->n_pads = 4;
    return n;
}

size_t s2_base64_decode(s2_base64 *state, const void *text, size_t n, uint8_t *out)
{
    const uint8_t *in = text, *const end = in + n;
    uint8_t *const start = out;
    while (in < end && !state->broken) {
        if (state->n_bits == 0 && state->escaped == 0 && state->n_pads == 0) {
            for (; end - in >= 4; in += 4, out += 3) {
                const uint8_t a = digit_of[in[0]], b = digit_of[in[1]], c = digit_of[in[2]],
                              d = digit_of[in[3]];
                if ((a | b | c | d) & N) break;
                const uint32_t bits = (uint32_t)a << 18 | (uint32_t)b << 12 | (uint32_t)c << 6 | d;
                out[0] = (uint8_t)(bits >> 16);
                out[1] = (uint8_t)(bits >> 8);
                out[2] = (uint8_t)bits;
            }
            if (in == end) break;
        }
        out += state->escapes ? take_escaped(state, *in, out) : take_one(state, *in, out);
        out += state->n_pads < 4 ? finish_group(state, out) : 0;
        in++;
    }
    return (size_t)(out - start);
}

bool s2_base64_is_whole(const s2_base64 *state)
{
    return !state->broken && state->escaped == 0 && (state->n_bits == 0 || state->n_pads == 4);
}
