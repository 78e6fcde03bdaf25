/* markup.c - escape what a document would read as its own. */
#include "base/markup.h"

#include <stdlib.h>
#include <string.h>

size_t s2_markup_character(const char *text, size_t n)
{
    const unsigned char *p = (const unsigned char *)text;
    if (n == 0) return 0;
    const size_t length = p[0] < 0x80   ? 1
                          : p[0] < 0xC2 ? 0
                          : p[0] < 0xE0 ? 2
                          : p[0] < 0xF0 ? 3
                          : p[0] < 0xF5 ? 4
                                        : 0;
    if (length == 0 || length > n) return 0;
    uint32_t code = length < 2 ? p[0] : p[0] & (0x7Fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((p[i] & 0xC0) != 0x80) return 0;
        code = code << 6 | (p[i] & 0x3Fu);
    }
    const bool is_overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
    const bool is_refused = code < 0x20 || (code >= 0x7F && code < 0xA0) ||
                            (code >= 0xD800 && code < 0xE000) || code == 0xFFFE || code == 0xFFFF ||
                            code > 0x10FFFF;
    return is_overlong || is_refused ? 0 : length;
}

/* What stands for an ASCII character; NULL: itself. */
static const char *escape_of(char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

void s2_markup_append(s2_buffer *out, const char *text, size_t n, bool has_lines)
{
    while (n > 0) {
        const size_t length = s2_markup_character(text, n);
        const char *escape = escape_of(*text);
        if (escape)
            s2_buffer_append(out, escape, strlen(escape));
        else if (length > 0 || (has_lines && (*text == '\n' || *text == '\t')))
            s2_buffer_append(out, text, length > 0 ? length : 1);
        else
            s2_buffer_append(out, "?", 1);
        const size_t step = length > 0 ? length : 1;
        text += step;
        n -= step;
    }
}

/* U+061C, U+200E, U+200F, U+2028 to U+202E, U+2066 to U+2069 */
bool s2_markup_misleads(const char *text, size_t length)
{
    const unsigned char *p = (const unsigned char *)text;
    if (length == 2) return p[0] == 0xD8 && p[1] == 0x9C;
    if (length != 3 || p[0] != 0xE2) return false;
    return (p[1] == 0x80 && (p[2] == 0x8E || p[2] == 0x8F || (p[2] >= 0xA8 && p[2] <= 0xAE))) ||
           (p[1] == 0x81 && p[2] >= 0xA6 && p[2] <= 0xA9);
}

void s2_terminal_append(s2_buffer *out, const char *text, size_t n, bool has_lines)
{
    while (n > 0) {
        const size_t length = s2_markup_character(text, n);
        const bool is_space = has_lines && (*text == '\n' || *text == '\t');
        if (is_space || (length > 0 && !s2_markup_misleads(text, length)))
            s2_buffer_append(out, text, length > 0 ? length : 1);
        else
            s2_buffer_append(out, "?", 1);
        const size_t step = length > 0 ? length : 1;
        text += step;
        n -= step;
    }
}

static bool is_number(const char *text)
{
    char *end;
    (void)strtod(text, &end);
    return end != text && *end == '\0';
}

void s2_csv_append(s2_buffer *out, const char *text)
{
    const bool is_formula = text[0] && strchr("=+-@\t\r", text[0]) && !is_number(text);
    const bool is_quoted = text[strcspn(text, ",\"\r\n")] != '\0';
    if (is_quoted) s2_buffer_append(out, "\"", 1);
    if (is_formula) s2_buffer_append(out, "'", 1);
    for (; *text; text++) {
        if (*text == '"') s2_buffer_append(out, "\"", 1);
        s2_buffer_append(out, text, 1);
    }
    if (is_quoted) s2_buffer_append(out, "\"", 1);
}
