/* json_cut.c - follow keys through a JSON text, skipping what is not on the way. */
#include "serve/structured/json_cut.h"

#include <stdlib.h>
#include <string.h>

typedef struct cursor {
    const char *text;
    size_t n, at;
} cursor;

static char peek(const cursor *c) { return c->at < c->n ? c->text[c->at] : '\0'; }

static void skip_space(cursor *c)
{
    while (c->at < c->n && strchr(" \t\r\n", c->text[c->at]) && c->text[c->at]) c->at++;
}

static void skip_string(cursor *c)
{
    for (c->at++; c->at < c->n && c->text[c->at] != '"'; c->at++)
        if (c->text[c->at] == '\\') c->at++;
    c->at++;
}

/* From its first byte to after its last. */
static void skip_value(cursor *c)
{
    size_t depth = 0;
    do {
        const char byte = peek(c);
        if (byte == '"') {
            skip_string(c);
            continue;
        }
        if (byte == '{' || byte == '[') {
            depth++;
            c->at++;
        } else if (byte == '}' || byte == ']') {
            if (depth == 0) return;
            depth--;
            c->at++;
        } else if (depth > 0) {
            c->at++;
        } else { /* a number or a word */
            while (c->at < c->n && !strchr(",]} \t\r\n", c->text[c->at])) c->at++;
        }
    } while (depth > 0 && c->at < c->n);
}

/* The cursor is at the first byte of a list or an object; afterwards at that of the member. */
static bool enter(cursor *c, const char *step)
{
    const bool is_list = step[0] == '#';
    size_t index = is_list ? strtoul(step + 1, NULL, 10) : 0;
    if (peek(c) != (is_list ? '[' : '{')) return false;
    for (c->at++; c->at < c->n; c->at++) {
        skip_space(c);
        if (is_list) {
            if (peek(c) == ']') return false;
            if (index-- == 0) return true;
        } else {
            if (peek(c) != '"') return false;
            const size_t start = c->at + 1;
            skip_string(c);
            const bool is_it = c->at <= c->n && c->at - 1 - start == strlen(step) &&
                               memcmp(c->text + start, step, strlen(step)) == 0;
            skip_space(c);
            if (peek(c) != ':') return false;
            c->at++;
            skip_space(c);
            if (is_it) return true;
        }
        skip_value(c);
        skip_space(c);
        if (peek(c) != ',') return false;
    }
    return false;
}

bool s2_json_cut(const char *text, size_t n, const char *const *path, const char **out,
                 size_t *n_out)
{
    cursor c = { text, n, 0 };
    skip_space(&c);
    for (; *path; path++)
        if (!enter(&c, *path)) return false;
    const size_t start = c.at;
    skip_value(&c);
    if (c.at > n || c.at <= start) return false;
    *out = text + start;
    *n_out = c.at - start;
    return true;
}
