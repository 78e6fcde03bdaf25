/* literal.c - the part of Python's grammar that repr() writes, by recursive descent. */
#include "eval/readers/literal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct parser {
    const char *text;
    size_t n, at;
    s2e_arena *arena;
    s2p_error *error;
} parser;

static s2p_status fail(const parser *p, const char *what)
{
    return s2_fail(p->error, S2P_EFORMAT, "no list literal at byte %zu: %s", p->at, what);
}

static s2p_status fail_memory(const parser *p)
{
    return s2e_arena_fail(p->arena, "a list literal", p->error);
}

static int peek(const parser *p) { return p->at < p->n ? (uint8_t)p->text[p->at] : -1; }

static void skip_space(parser *p)
{
    while (p->at < p->n && p->text[p->at] && strchr(" \t\r\n\f", p->text[p->at])) p->at++;
}

static int hex_of(int c)
{
    if (c >= '0' && c <= '9') return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool take_hex(parser *p, int n_digits, uint32_t *out)
{
    *out = 0;
    for (int i = 0; i < n_digits; i++, p->at++) {
        const int digit = hex_of(peek(p));
        if (digit < 0) return false;
        *out = *out << 4 | (uint32_t)digit;
    }
    return true;
}

static size_t put_utf8(uint32_t c, char *out)
{
    const size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const uint8_t mark[] = { 0, 0, 0xC0, 0xE0, 0xF0 };
    for (size_t i = n; i-- > 1; c >>= 6) out[i] = (char)(0x80 | (c & 0x3F));
    out[0] = (char)(n == 1 ? c : mark[n] | c);
    return n;
}

/* What follows a backslash; bytes put to out. */
static s2p_status take_escape(parser *p, char *out, size_t *n_out)
{
    static const char letters[] = "abfnrtv\\'\"/", codes[] = "\a\b\f\n\r\t\v\\'\"/";
    *n_out = 0;
    const int c = peek(p);
    if (c < 0) return fail(p, "the text ends inside a string");
    p->at++;
    const char *letter = c ? strchr(letters, c) : NULL;
    if (letter) {
        out[(*n_out)++] = codes[letter - letters];
        return S2P_OK;
    }
    if (c == '\n') return S2P_OK; /* the line goes on */
    uint32_t code = 0;
    if (c >= '0' && c <= '7') {
        code = (uint32_t)(c - '0');
        for (int i = 1; i < 3 && peek(p) >= '0' && peek(p) <= '7'; i++)
            code = code * 8 + (uint32_t)(p->text[p->at++] - '0');
    } else if (c == 'x' || c == 'u' || c == 'U') {
        if (!take_hex(p, c == 'x' ? 2 : c == 'u' ? 4 : 8, &code)) return fail(p, "a broken escape");
        if (code >= 0xD800 && code < 0xDC00 && p->n - p->at >= 6 && p->text[p->at] == '\\' &&
            p->text[p->at + 1] == 'u') { /* JSON writes two halves */
            uint32_t low;
            p->at += 2;
            if (!take_hex(p, 4, &low) || low < 0xDC00 || low > 0xDFFF)
                return fail(p, "an incomplete character");
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        }
    } else { /* Python keeps an unknown escape as it is */
        out[0] = '\\';
        out[1] = (char)c;
        *n_out = 2;
        return S2P_OK;
    }
    if (code == 0 || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
        return fail(p, "an invalid character");
    *n_out = put_utf8(code, out);
    return S2P_OK;
}

/* Characters of the string at the quote as it is written, quotes included; 0 when it does not end. */
static size_t written_size(const parser *p, size_t at)
{
    const char quote = p->text[at];
    for (size_t i = at + 1; i < p->n; i++) {
        if (p->text[i] == quote) return i + 1 - at;
        if (p->text[i] == '\\') i++;
    }
    return 0;
}

/* The string at the quote, appended to out: escapes only get shorter. */
static s2p_status take_string(parser *p, char *out, size_t *n)
{
    const int quote = peek(p);
    p->at++;
    for (;;) {
        const int c = peek(p);
        if (c < 0) return fail(p, "the text ends inside a string");
        p->at++;
        if (c == quote) return S2P_OK;
        size_t more = 1;
        if (c == '\\')
            TRY(take_escape(p, out + *n, &more));
        else
            out[*n] = (char)c;
        *n += more;
    }
}

static bool is_quote(int c) { return c == '\'' || c == '"'; }

static s2p_status parse_string(parser *p, s2e_value *out)
{
    size_t room = 1, n = 0;
    for (parser ahead = *p; is_quote(peek(&ahead)); skip_space(&ahead)) {
        const size_t size = written_size(p, ahead.at);
        if (size == 0) return fail(p, "a string that does not end");
        room += size;
        ahead.at += size;
    }
    char *text = s2e_arena_take(p->arena, room);
    if (!text) return fail_memory(p);
    for (; is_quote(peek(p)); skip_space(p)) TRY(take_string(p, text, &n));
    text[n] = '\0';
    if (!s2e_text_is_clean(text, n)) return fail(p, "a string that is not UTF-8 without NUL");
    *out = (s2e_value){ .type = S2E_TEXT, .n = n, .text = text };
    return S2P_OK;
}

static s2p_status parse_word(parser *p, s2e_value *out)
{
    static const struct {
        const char *word;
        s2e_value value;
    } known[] = {
        { "None", { .type = S2E_NONE } },
        { "nan", { .type = S2E_NONE } },
        { "null", { .type = S2E_NONE } },
        { "True", { .type = S2E_BOOL, .truth = true } },
        { "true", { .type = S2E_BOOL, .truth = true } },
        { "False", { .type = S2E_BOOL, .truth = false } },
        { "false", { .type = S2E_BOOL, .truth = false } },
    };
    char word[64];
    size_t n = 0;
    while (n + 1 < sizeof word && p->at + n < p->n && p->text[p->at + n] &&
           !strchr(" \t\r\n\f,:[](){}'\"", p->text[p->at + n])) {
        word[n] = p->text[p->at + n];
        n++;
    }
    word[n] = '\0';
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(word, known[i].word) != 0) continue;
        *out = known[i].value;
        p->at += n;
        return S2P_OK;
    }
    if (n == 0 || !strchr("+-.0123456789", word[0]) || strpbrk(word, "xXnN"))
        return fail(p, "neither a string, a number nor a list");
    char *end;
    errno = 0;
    const long long whole = strtoll(word, &end, 10);
    *out = (s2e_value){ .type = S2E_INT, .whole = whole };
    if (*end || errno) *out = (s2e_value){ .type = S2E_REAL, .real = strtod(word, &end) };
    if (*end) return fail(p, "no number");
    p->at += n;
    return S2P_OK;
}

static s2p_status parse_value(parser *p, int depth, s2e_value *out);

/* Items grow by doubling in the arena; what they leave behind is at most as much again. */
static s2p_status add_item(parser *p, s2e_value **item, size_t n, size_t *capacity)
{
    if (n < *capacity) return S2P_OK;
    const size_t larger = *capacity ? 2 * *capacity : 8;
    s2e_value *copy = s2e_arena_take(p->arena, larger * sizeof *copy);
    if (!copy) return fail_memory(p);
    if (n) memcpy(copy, *item, n * sizeof *copy);
    *item = copy;
    *capacity = larger;
    return S2P_OK;
}

/* A list, a tuple or, with names, a dict. */
static s2p_status parse_items(parser *p, int depth, s2e_value *out)
{
    const int open = p->text[p->at++];
    const int closing = open == '[' ? ']' : open == '(' ? ')' : '}';
    s2e_value *item = NULL, *key = NULL;
    size_t n = 0, capacity = 0, key_capacity = 0;
    for (skip_space(p); peek(p) != closing; skip_space(p)) {
        TRY(add_item(p, &item, n, &capacity));
        TRY(add_item(p, &key, n, &key_capacity));
        if (open == '{') {
            if (!is_quote(peek(p))) return fail(p, "a key that is not a string");
            TRY(parse_string(p, &key[n]));
            skip_space(p);
            if (peek(p) != ':') return fail(p, "no colon after a key");
            p->at++;
        }
        TRY(parse_value(p, depth + 1, &item[n]));
        n++;
        skip_space(p);
        if (peek(p) == closing) break;
        if (peek(p) != ',') return fail(p, p->at < p->n ? "no comma" : "the text ends inside it");
        p->at++;
    }
    p->at++;
    *out = (s2e_value){ .type = S2E_LIST, .n = n, .item = item };
    if (open != '{') return S2P_OK;
    const char **name = s2e_arena_take(p->arena, (n + 1) * sizeof *name);
    if (!name) return fail_memory(p);
    for (size_t i = 0; i < n; i++) name[i] = key[i].text;
    out->type = S2E_STRUCT;
    out->name = name;
    return S2P_OK;
}

static s2p_status parse_value(parser *p, int depth, s2e_value *out)
{
    if (depth > S2E_LITERAL_MAX_DEPTH)
        return s2_fail(p->error, S2P_ELIMIT, "a list literal is nested more than %d deep",
                       S2E_LITERAL_MAX_DEPTH);
    skip_space(p);
    const int c = peek(p);
    if (c == '[' || c == '(' || c == '{') return parse_items(p, depth, out);
    if (is_quote(c)) return parse_string(p, out);
    return parse_word(p, out);
}

s2p_status s2e_literal_parse(const char *text, size_t n, s2e_arena *arena, const s2e_value **out,
                             s2p_error *error)
{
    *out = NULL;
    parser p = { .text = text, .n = n, .arena = arena, .error = error };
    s2e_value *value = s2e_arena_take(arena, sizeof *value);
    if (!value) return fail_memory(&p);
    TRY(parse_value(&p, 0, value));
    skip_space(&p);
    if (p.at < n) return fail(&p, "unexpected text after the end");
    *out = value;
    return S2P_OK;
}
