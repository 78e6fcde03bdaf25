/* characters.c - sets of characters, and how they are written as bytes of UTF-8 or of a JSON string.
 *
 * A range of code points becomes byte ranges by cutting it where the number of bytes changes and then
 * where a leading part is not complete: U+0100 to U+1FFF is C4-DF 80-BF, E0 A0-BF 80-BF and
 * E1 80-BF 80-BF. So overlong forms, surrogates and values above U+10FFFF have no path.
 */
#include "constrain/characters.h"

#include <stdio.h>
#include <string.h>

bool s2c_class_add(s2c_class *c, int32_t low, int32_t high)
{
    int32_t i = 0;
    while (i < c->n && c->range[i].high < low - 1) i++;
    int32_t last = i; /* ranges i to last - 1 touch the new one */
    while (last < c->n && c->range[last].low <= high + 1) {
        if (c->range[last].low < low) low = c->range[last].low;
        if (c->range[last].high > high) high = c->range[last].high;
        last++;
    }
    if (c->n - (last - i) + 1 > S2C_MAX_RANGES) return false;
    memmove(&c->range[i + 1], &c->range[last], (size_t)(c->n - last) * sizeof *c->range);
    c->range[i] = (s2c_range){ low, high };
    c->n += 1 - (last - i);
    return true;
}

void s2c_class_invert(s2c_class *c)
{
    s2c_class out;
    out.n = 0;
    int32_t next = 0;
    for (int32_t i = 0; i < c->n; i++) {
        if (c->range[i].low > next) s2c_class_add(&out, next, c->range[i].low - 1);
        next = c->range[i].high + 1;
    }
    if (next <= S2C_LAST_CHARACTER) s2c_class_add(&out, next, S2C_LAST_CHARACTER);
    *c = out;
}

bool s2c_class_has(const s2c_class *c, int32_t code)
{
    for (int32_t i = 0; i < c->n; i++)
        if (code >= c->range[i].low && code <= c->range[i].high) return true;
    return false;
}

int32_t s2c_write_utf8(int32_t code, char out[4])
{
    uint8_t *b = (uint8_t *)out;
    if (code < 0x80) {
        b[0] = (uint8_t)code;
        return 1;
    }
    const int32_t n = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (int32_t i = n - 1; i > 0; i--, code >>= 6) b[i] = (uint8_t)(0x80 | (code & 0x3F));
    b[0] = (uint8_t)((n == 2 ? 0xC0 : n == 3 ? 0xE0 : 0xF0) | code);
    return n;
}

int32_t s2c_read_utf8(const char *text, size_t n, int32_t *code)
{
    const uint8_t *b = (const uint8_t *)text;
    if (n == 0) return 0;
    *code = b[0];
    if (b[0] < 0x80) return 1;
    const int32_t size = b[0] >= 0xF0 ? 4 : b[0] >= 0xE0 ? 3 : 2;
    if (b[0] < 0xC2 || b[0] > 0xF4 || (size_t)size > n) return 0;
    int32_t c = b[0] & (0xFF >> (size + 1));
    for (int32_t i = 1; i < size; i++) {
        if ((b[i] & 0xC0) != 0x80) return 0;
        c = c << 6 | (b[i] & 0x3F);
    }
    static const int32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    if (c < least[size] || c > S2C_LAST_CHARACTER || (c >= 0xD800 && c <= 0xDFFF)) return 0;
    *code = c;
    return size;
}

int32_t s2c_spell(int32_t code, char out[8])
{
    static const char named[] = "\b\t\n\f\r\"\\", letter[] = "btnfr\"\\";
    const char *at = code > 0 && code < 0x80 ? strchr(named, code) : NULL;
    if (at) {
        out[0] = '\\';
        out[1] = letter[at - named];
        return 2;
    }
    if (code >= 0x20) return s2c_write_utf8(code, out);
    char text[8];
    snprintf(text, sizeof text, "\\u%04x", (unsigned)code & 0x1F);
    memcpy(out, text, 6);
    return 6;
}

/* Edges for the bytes [i, n) of two characters of the same number of bytes, low to high. */
static void add_bytes(s2c_grammar *g, int32_t from, int32_t to, const uint8_t *low,
                      const uint8_t *high, int32_t n)
{
    if (n == 1) {
        s2c_bytes(g, from, to, low[0], high[0]);
        return;
    }
    if (low[0] == high[0]) {
        const int32_t next = s2c_new_state(g);
        s2c_bytes(g, from, next, low[0], low[0]);
        add_bytes(g, next, to, low + 1, high + 1, n - 1);
        return;
    }
    uint8_t first[4] = { 0x80, 0x80, 0x80, 0x80 }, last[4] = { 0xBF, 0xBF, 0xBF, 0xBF };
    uint8_t begin = low[0], end = high[0];
    if (memcmp(low + 1, first, (size_t)n - 1) != 0) { /* the lowest lead byte is not complete */
        const int32_t next = s2c_new_state(g);
        s2c_bytes(g, from, next, begin, begin);
        add_bytes(g, next, to, low + 1, last, n - 1);
        begin++;
    }
    if (memcmp(high + 1, last, (size_t)n - 1) != 0) {
        const int32_t next = s2c_new_state(g);
        s2c_bytes(g, from, next, end, end);
        add_bytes(g, next, to, first, high + 1, n - 1);
        end--;
    }
    if (begin > end) return;
    const int32_t next = s2c_new_state(g);
    s2c_bytes(g, from, next, begin, end);
    add_bytes(g, next, to, first, last, n - 1);
}

static void add_utf8(s2c_grammar *g, int32_t from, int32_t to, int32_t low, int32_t high)
{
    static const int32_t cut[] = { 0x7F, 0x7FF, 0xD7FF, 0xDFFF, 0xFFFF, S2C_LAST_CHARACTER };
    for (size_t i = 0; i < sizeof cut / sizeof *cut && low <= high; i++) {
        if (low > cut[i]) continue;
        const int32_t end = high < cut[i] ? high : cut[i];
        if (cut[i] != 0xDFFF) { /* U+D800 to U+DFFF are surrogates */
            char a[4], b[4];
            const int32_t n = s2c_write_utf8(low, a);
            (void)s2c_write_utf8(end, b);
            add_bytes(g, from, to, (const uint8_t *)a, (const uint8_t *)b, n);
        }
        low = end + 1;
    }
}

void s2c_characters(s2c_grammar *g, int32_t from, int32_t to, const s2c_range *range, int32_t n,
                    s2c_spelling spelling)
{
    if (spelling == S2C_UTF8) {
        for (int32_t i = 0; i < n; i++) add_utf8(g, from, to, range[i].low, range[i].high);
        return;
    }
    s2c_span escaped[34];
    char text[34][8];
    int32_t n_escaped = 0;
    for (int32_t i = 0; i < n; i++) {
        int32_t low = range[i].low;
        for (int32_t code = low; code <= range[i].high && code <= '\\'; code++) {
            if (code >= 0x20 && code != '"' && code != '\\') continue;
            if (low < code) add_utf8(g, from, to, low, code - 1);
            low = code + 1;
            const int32_t size = s2c_spell(code, text[n_escaped]);
            escaped[n_escaped] = (s2c_span){ text[n_escaped], (size_t)size, to };
            n_escaped++;
        }
        if (low <= range[i].high) add_utf8(g, from, to, low, range[i].high);
    }
    if (n_escaped > 0) s2c_texts(g, from, escaped, n_escaped);
}
