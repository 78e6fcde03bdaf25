/* document.c - a JSON text as a tree that keeps the order of keys and the spelling of numbers. */
#include "constrain/document.h"

#include "constrain/characters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NODES = 200000 };

typedef struct parser {
    s2c_document *d;
    const char *text;
    size_t n, at;
    s2p_error *error;
} parser;

static s2p_status refuse(const parser *p, const char *why)
{
    return s2_fail(p->error, S2P_EINVAL, "byte %zu of the JSON text: %s", p->at, why);
}

static void skip_space(parser *p)
{
    while (p->at < p->n && (p->text[p->at] == ' ' || p->text[p->at] == '\t' ||
                            p->text[p->at] == '\n' || p->text[p->at] == '\r'))
        p->at++;
}

static char peek(const parser *p) { return p->at < p->n ? p->text[p->at] : '\0'; }

static s2p_status new_node(parser *p, int32_t parent, s2c_type type, int32_t *out)
{
    s2c_document *d = p->d;
    if (d->n == MAX_NODES)
        return s2_fail(p->error, S2P_ELIMIT, "the JSON text has more than %d values", MAX_NODES);
    if (d->n == d->capacity) {
        const int32_t wanted = d->capacity ? 2 * d->capacity : 64;
        s2c_node *grown = realloc(d->node, (size_t)wanted * sizeof *grown);
        if (!grown)
            return s2_fail_memory(p->error, (size_t)wanted * sizeof *grown, "the JSON text");
        d->node = grown;
        d->capacity = wanted;
    }
    d->node[d->n] =
        (s2c_node){ .type = type, .child = S2C_NO_NODE, .next = S2C_NO_NODE, .parent = parent };
    *out = d->n++;
    return S2P_OK;
}

static s2p_status read_hex(parser *p, int32_t *code)
{
    *code = 0;
    for (int32_t i = 0; i < 4; i++, p->at++) {
        const char c = peek(p);
        const int32_t digit = c >= '0' && c <= '9'   ? c - '0'
                              : c >= 'a' && c <= 'f' ? c - 'a' + 10
                              : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                     : -1;
        if (digit < 0) return refuse(p, "invalid \\u escape");
        *code = *code * 16 + digit;
    }
    return S2P_OK;
}

/* The opening quote is next. Decoded bytes are never more than written ones, so `strings` is large enough. */
static s2p_status read_string(parser *p, const char **out, size_t *size)
{
    static const char named[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    char *to = p->d->strings + p->d->n_strings;
    *out = to;
    for (p->at++; peek(p) != '"';) {
        int32_t code;
        if (p->at >= p->n) return refuse(p, "a string is not closed");
        if ((uint8_t)peek(p) < 0x20) return refuse(p, "a control character in a string");
        if (peek(p) != '\\') {
            const int32_t length = s2c_read_utf8(p->text + p->at, p->n - p->at, &code);
            if (length == 0) return refuse(p, "invalid UTF-8");
            memcpy(to, p->text + p->at, (size_t)length);
            to += length;
            p->at += (size_t)length;
            continue;
        }
        p->at++;
        const char c = peek(p);
        const char *at = c ? strchr(named, c) : NULL;
        p->at++;
        if (at) {
            *to++ = meant[at - named];
            continue;
        }
        if (c != 'u') return refuse(p, "unknown escape in a string");
        TRY(read_hex(p, &code));
        if (code >= 0xD800 && code <= 0xDBFF) {
            int32_t low;
            if (p->n - p->at < 6 || p->text[p->at] != '\\' || p->text[p->at + 1] != 'u')
                return refuse(p, "half a surrogate pair in a string");
            p->at += 2;
            TRY(read_hex(p, &low));
            if (low < 0xDC00 || low > 0xDFFF) return refuse(p, "half a surrogate pair in a string");
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        } else if (code >= 0xDC00 && code <= 0xDFFF) {
            return refuse(p, "half a surrogate pair in a string");
        }
        to += s2c_write_utf8(code, to);
    }
    p->at++;
    *size = (size_t)(to - *out);
    p->d->n_strings += *size;
    return S2P_OK;
}

static s2p_status read_number(parser *p, s2c_node *node)
{
    const size_t from = p->at;
    if (peek(p) == '-') p->at++;
    const size_t digits = p->at;
    while (peek(p) >= '0' && peek(p) <= '9') p->at++;
    if (p->at == digits) return refuse(p, "unexpected character");
    if (p->text[digits] == '0' && p->at - digits > 1) return refuse(p, "a number starts with 0");
    if (peek(p) == '.') {
        const size_t point = p->at++;
        while (peek(p) >= '0' && peek(p) <= '9') p->at++;
        if (p->at == point + 1) return refuse(p, "a number has no digits after the point");
    }
    if (peek(p) == 'e' || peek(p) == 'E') {
        p->at++;
        if (peek(p) == '+' || peek(p) == '-') p->at++;
        const size_t exponent = p->at;
        while (peek(p) >= '0' && peek(p) <= '9') p->at++;
        if (p->at == exponent) return refuse(p, "a number has no digits in its exponent");
    }
    node->text = p->text + from;
    node->size = p->at - from;
    return S2P_OK;
}

static s2p_status read_word(parser *p, const char *word)
{
    const size_t n = strlen(word);
    if (p->n - p->at < n || memcmp(p->text + p->at, word, n) != 0)
        return refuse(p, "unexpected character");
    p->at += n;
    return S2P_OK;
}

static int compare_keys(const void *left, const void *right)
{
    const s2c_node *a = *(const s2c_node *const *)left, *b = *(const s2c_node *const *)right;
    const size_t n = a->key_size < b->key_size ? a->key_size : b->key_size;
    const int order = n > 0 ? memcmp(a->key, b->key, n) : 0;
    if (order != 0) return order;
    return (a->key_size > b->key_size) - (a->key_size < b->key_size);
}

/* No key twice. Sorted, because an object may have thousands of them. */
static s2p_status check_keys(parser *p, int32_t object)
{
    const s2c_document *d = p->d;
    const int32_t n = d->node[object].n_children;
    const s2c_node **member = malloc(((size_t)n + 1) * sizeof *member);
    if (!member) return s2_fail_memory(p->error, (size_t)n * sizeof *member, "the JSON text");
    int32_t k = 0;
    for (int32_t c = d->node[object].child; c >= 0; c = d->node[c].next) member[k++] = &d->node[c];
    qsort(member, (size_t)n, sizeof *member, compare_keys);
    bool is_twice = false;
    for (int32_t i = 1; i < n; i++) is_twice |= compare_keys(&member[i - 1], &member[i]) == 0;
    free(member);
    return is_twice ? refuse(p, "an object has a key twice") : S2P_OK;
}

static s2p_status read_value(parser *p, int32_t parent, int32_t depth, int32_t *out);

static s2p_status read_members(parser *p, int32_t self, bool is_object, int32_t depth)
{
    const char close = is_object ? '}' : ']';
    int32_t last = S2C_NO_NODE;
    p->at++;
    skip_space(p);
    if (peek(p) == close) {
        p->at++;
        return S2P_OK;
    }
    for (;;) {
        const char *key = NULL;
        size_t key_size = 0;
        int32_t child;
        skip_space(p);
        if (is_object) {
            if (peek(p) != '"') return refuse(p, "expected a key");
            TRY(read_string(p, &key, &key_size));
            skip_space(p);
            if (peek(p) != ':') return refuse(p, "expected ':'");
            p->at++;
        }
        TRY(read_value(p, self, depth + 1, &child));
        s2c_document *d = p->d;
        d->node[child].key = key;
        d->node[child].key_size = key_size;
        if (last >= 0)
            d->node[last].next = child;
        else
            d->node[self].child = child;
        d->node[self].n_children++;
        last = child;
        skip_space(p);
        const char c = peek(p);
        if (c != ',' && c != close)
            return refuse(p, "expected ',' or the end of an array or object");
        p->at++;
        if (c == close) return is_object ? check_keys(p, self) : S2P_OK;
    }
}

static s2p_status read_inside(parser *p, s2c_type type, int32_t depth, int32_t node)
{
    switch (type) {
    case S2C_OBJECT:
    case S2C_ARRAY:
        return read_members(p, node, type == S2C_OBJECT, depth);
    case S2C_STRING: {
        const char *text;
        size_t size;
        TRY(read_string(p, &text, &size));
        p->d->node[node].text = text;
        p->d->node[node].size = size;
        return S2P_OK;
    }
    case S2C_TRUE:
        return read_word(p, "true");
    case S2C_FALSE:
        return read_word(p, "false");
    case S2C_NULL:
        return read_word(p, "null");
    default:
        return read_number(p, &p->d->node[node]);
    }
}

static s2p_status read_value(parser *p, int32_t parent, int32_t depth, int32_t *out)
{
    skip_space(p);
    const size_t from = p->at;
    const char c = peek(p);
    const s2c_type type = c == '{'   ? S2C_OBJECT
                          : c == '[' ? S2C_ARRAY
                          : c == '"' ? S2C_STRING
                          : c == 't' ? S2C_TRUE
                          : c == 'f' ? S2C_FALSE
                          : c == 'n' ? S2C_NULL
                                     : S2C_NUMBER;
    if (depth > S2C_MAX_NESTING)
        return s2_fail(p->error, S2P_ELIMIT, "the JSON text is nested deeper than %d",
                       S2C_MAX_NESTING);
    TRY(new_node(p, parent, type, out));
    TRY(read_inside(p, type, depth, *out));
    p->d->node[*out].raw = p->text + from;
    p->d->node[*out].raw_size = p->at - from;
    return S2P_OK;
}

s2p_status s2c_document_read(s2c_document *d, const char *text, size_t n, s2p_error *error)
{
    parser p = { .d = d, .text = text, .n = n, .error = error };
    int32_t root;
    *d = (s2c_document){ 0 };
    d->strings = malloc(n + 1);
    if (!d->strings) return s2_fail_memory(error, n + 1, "the JSON text");
    s2p_status st = read_value(&p, S2C_NO_NODE, 0, &root);
    skip_space(&p);
    if (st == S2P_OK && p.at != n) st = refuse(&p, "text after the value");
    if (st != S2P_OK) s2c_document_free(d);
    return st;
}

void s2c_document_free(s2c_document *d)
{
    free(d->node);
    free(d->strings);
    *d = (s2c_document){ 0 };
}

bool s2c_same_text(const char *a, size_t n_a, const char *b, size_t n_b)
{
    return n_a == n_b && (n_a == 0 || memcmp(a, b, n_a) == 0);
}

bool s2c_is_text(const s2c_node *node, const char *text)
{
    return node->type == S2C_STRING && s2c_same_text(node->text, node->size, text, strlen(text));
}

static int32_t find_member(const s2c_document *d, int32_t object, const char *key, size_t n)
{
    if (object < 0 || d->node[object].type != S2C_OBJECT) return S2C_NO_NODE;
    for (int32_t c = d->node[object].child; c >= 0; c = d->node[c].next)
        if (s2c_same_text(d->node[c].key, d->node[c].key_size, key, n)) return c;
    return S2C_NO_NODE;
}

int32_t s2c_member(const s2c_document *d, int32_t object, const char *key)
{
    return find_member(d, object, key, strlen(key));
}

void s2c_pointer(const s2c_document *d, int32_t node, char *out, size_t size)
{
    int32_t path[S2C_MAX_NESTING + 2], n = 0;
    for (int32_t at = node; at > 0 && n < S2C_MAX_NESTING + 2; at = d->node[at].parent)
        path[n++] = at;
    size_t used = 0;
    out[0] = '\0';
    if (n == 0) snprintf(out, size, "/");
    while (n > 0 && used + 1 < size) {
        const s2c_node *c = &d->node[path[--n]];
        char part[128];
        size_t length = 0;
        if (c->key) {
            for (size_t i = 0; i < c->key_size && length + 3 < sizeof part; i++) {
                const char b = c->key[i];
                if (b == '~' || b == '/') part[length++] = '~';
                part[length++] = (char)(b == '~'            ? '0'
                                        : b == '/'          ? '1'
                                        : (uint8_t)b < 0x20 ? '?'
                                                            : b);
            }
        } else {
            int32_t index = 0;
            for (int32_t s = d->node[c->parent].child; &d->node[s] != c; s = d->node[s].next)
                index++;
            length = (size_t)snprintf(part, sizeof part, "%d", index);
        }
        if (used + length + 2 > size) break;
        out[used++] = '/';
        memcpy(out + used, part, length);
        used += length;
        out[used] = '\0';
    }
}

static int32_t hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

int32_t s2c_resolve(const s2c_document *d, const char *pointer, size_t n)
{
    int32_t at = 0;
    for (size_t i = 0; i < n && at >= 0;) {
        char part[512];
        size_t length = 0;
        if (pointer[i++] != '/') return S2C_NO_NODE;
        for (; i < n && pointer[i] != '/'; i++) {
            char c = pointer[i];
            if (c == '%' && i + 2 < n && hex_digit(pointer[i + 1]) >= 0 &&
                hex_digit(pointer[i + 2]) >= 0) {
                c = (char)(hex_digit(pointer[i + 1]) * 16 + hex_digit(pointer[i + 2]));
                i += 2;
            }
            if (c == '~' && i + 1 < n && (pointer[i + 1] == '0' || pointer[i + 1] == '1'))
                c = pointer[++i] == '0' ? '~' : '/';
            if (length == sizeof part) return S2C_NO_NODE;
            part[length++] = c;
        }
        if (d->node[at].type == S2C_ARRAY) {
            int64_t index = length == 0 || length > 9 ? -1 : 0;
            for (size_t k = 0; k < length && index >= 0; k++)
                index = part[k] >= '0' && part[k] <= '9' ? index * 10 + (part[k] - '0') : -1;
            int32_t child = index < 0 ? S2C_NO_NODE : d->node[at].child;
            while (child >= 0 && index-- > 0) child = d->node[child].next;
            at = child;
        } else {
            at = find_member(d, at, part, length);
        }
    }
    return at;
}
