/* json_scan.c - a value ends where its brackets close, a string at its quote, anything else before
 * what cannot be part of it. One small machine, fed from a file or from memory. */
#include "eval/readers/json_scan.h"

#include <string.h>

typedef struct outline {
    uint64_t depth;
    bool started, in_string, escaped, done;
} outline;

static bool is_space(uint8_t c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

/* How many of n bytes belong to the value; o->done: it ends there. */
static size_t follow(outline *o, const uint8_t *p, size_t n)
{
    size_t i = 0;
    while (i < n && !o->done) {
        const uint8_t c = p[i];
        if (o->in_string && !o->escaped && c != '"' && c != '\\') { /* most of most files */
            while (i < n && p[i] != '"' && p[i] != '\\') i++;
            continue;
        }
        if (o->in_string) {
            if (o->escaped) {
                o->escaped = false;
            } else if (c == '\\') {
                o->escaped = true;
            } else if (c == '"') {
                o->in_string = false;
                o->done = o->depth == 0;
            }
        } else if (c == '"') {
            if (o->started && o->depth == 0) { /* a word ends where a string begins */
                o->done = true;
                return i;
            }
            o->in_string = true;
        } else if (c == '{' || c == '[') {
            o->depth++;
        } else if (c == '}' || c == ']') {
            if (o->depth == 0) { /* of the array or object around */
                o->done = true;
                return i;
            }
            o->done = --o->depth == 0;
        } else if (o->depth == 0 && (c == ',' || c == ':' || is_space(c))) {
            o->done = true;
            return i;
        }
        o->started = true;
        i++;
    }
    return i;
}

s2p_status s2e_json_peek(s2e_input *input, int *c, s2p_error *error)
{
    for (;; input->at++) {
        bool end;
        TRY(s2e_input_fill(input, &end, error));
        *c = end ? -1 : input->window[input->at];
        if (end || !is_space((uint8_t)*c)) return S2P_OK;
    }
}

static void keep(s2_buffer *out, const uint8_t *p, size_t n)
{
    if (out && out->status == S2P_OK) s2_buffer_append(out, p, n);
}

static void empty(s2_buffer *out)
{
    if (!out) return;
    out->size = 0;
    out->status = S2P_OK;
}

s2p_status s2e_json_take(s2e_input *input, s2_buffer *out, bool *whole, s2p_error *error)
{
    outline o = { .depth = 0 };
    empty(out);
    while (!o.done) {
        bool end;
        TRY(s2e_input_fill(input, &end, error));
        if (end) break;
        const uint8_t *p = input->window + input->at;
        const size_t n = follow(&o, p, input->n - input->at);
        keep(out, p, n);
        input->at += n;
    }
    *whole = o.done || (o.depth == 0 && !o.in_string); /* a word may end with the file */
    return S2P_OK;
}

s2p_status s2e_json_take_line(s2e_input *input, s2_buffer *out, bool *whole, s2p_error *error)
{
    empty(out);
    *whole = true;
    for (;;) {
        bool end;
        TRY(s2e_input_fill(input, &end, error));
        if (end) return S2P_OK;
        const uint8_t *p = input->window + input->at;
        const size_t left = input->n - input->at;
        const uint8_t *stop = memchr(p, '\n', left);
        const size_t n = stop ? (size_t)(stop - p) : left;
        keep(out, p, n);
        input->at += n + (stop != NULL);
        if (stop) return S2P_OK;
    }
}

size_t s2e_json_value_size(const char *text, size_t at, size_t n)
{
    outline o = { .depth = 0 };
    const size_t size = follow(&o, (const uint8_t *)text + at, n - at);
    return o.done || (o.depth == 0 && !o.in_string) ? size : 0;
}

size_t s2e_json_skip_space(const char *text, size_t at, size_t n)
{
    while (at < n && is_space((uint8_t)text[at])) at++;
    return at;
}
