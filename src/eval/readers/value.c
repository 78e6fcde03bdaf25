/* value.c - cells as text and numbers, whichever form the file had them in. */
#include "eval/readers/value.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const s2e_value *s2e_value_member(const s2e_value *value, const char *name)
{
    if (!value || value->type != S2E_STRUCT) return NULL;
    for (size_t i = 0; i < value->n; i++)
        if (strcmp(value->name[i], name) == 0) return &value->item[i];
    return NULL;
}

/* Fewest digits that give the same number back; a whole one keeps ".0". */
static int print_real(double real, char out[40])
{
    if (isnan(real)) return snprintf(out, 40, "nan");
    if (isinf(real)) return snprintf(out, 40, real < 0 ? "-inf" : "inf");
    int n = 0;
    for (int digits = 15; digits <= 17; digits++) {
        n = snprintf(out, 40, "%.*g", digits, real);
        if (strtod(out, NULL) == real) break;
    }
    if (!strpbrk(out, ".e")) n += snprintf(out + n, 40 - (size_t)n, ".0");
    return n;
}

const char *s2e_value_text(const s2e_value *value, s2e_arena *arena)
{
    char text[40];
    int n = 0;
    if (!value) return NULL;
    switch (value->type) {
    case S2E_TEXT:
        return value->text;
    case S2E_BOOL:
        return value->truth ? "True" : "False";
    case S2E_INT:
        n = snprintf(text, sizeof text, "%lld", (long long)value->whole);
        break;
    case S2E_REAL:
        n = print_real(value->real, text);
        break;
    case S2E_NONE:
    case S2E_BYTES:
    case S2E_LIST:
    case S2E_STRUCT:
    case S2E_PLACE:
        return NULL;
    }
    return s2e_arena_text(arena, text, (size_t)n);
}

bool s2e_value_real(const s2e_value *value, double *out)
{
    if (!value) return false;
    if (value->type == S2E_REAL) *out = value->real;
    if (value->type == S2E_INT) *out = (double)value->whole;
    if (value->type == S2E_REAL || value->type == S2E_INT) return true;
    if (value->type != S2E_TEXT || value->n == 0) return false;
    char *end;
    *out = strtod(value->text, &end);
    return *end == '\0';
}

bool s2e_value_int(const s2e_value *value, int64_t *out)
{
    if (!value) return false;
    if (value->type == S2E_INT) {
        *out = value->whole;
        return true;
    }
    if (value->type == S2E_TEXT && value->n > 0) {
        char *end;
        errno = 0;
        const long long whole = strtoll(value->text, &end, 10);
        if (*end == '\0' && errno == 0) {
            *out = whole;
            return true;
        }
    }
    double real;
    if (!s2e_value_real(value, &real) || !(fabs(real) < 9007199254740992.0) || real != floor(real))
        return false; /* beyond 2^53 a real no longer says which whole number it was */
    *out = (int64_t)real;
    return true;
}

size_t s2e_value_places(const s2e_value *value, const s2e_place **out, size_t max)
{
    if (!value) return 0;
    if (value->type == S2E_PLACE) {
        if (max > 0) out[0] = value->place;
        return 1;
    }
    if (value->type == S2E_STRUCT) {
        const s2e_value *bytes = s2e_value_member(value, "bytes");
        return bytes && bytes->type == S2E_PLACE ? s2e_value_places(bytes, out, max) : 0;
    }
    size_t n = 0;
    for (size_t i = 0; value->type == S2E_LIST && i < value->n; i++) {
        const s2e_value *item = &value->item[i];
        if (item->type != S2E_LIST) n += s2e_value_places(item, out + n, n < max ? max - n : 0);
    }
    return n;
}

bool s2e_text_is_nan(const char *text, size_t n)
{
    static const char *const nan_text[] = { "",     "#N/A",     "#N/A N/A", "#NA",    "-1.#IND",
                                            "-NaN", "-1.#QNAN", "-nan",     "1.#IND", "1.#QNAN",
                                            "<NA>", "N/A",      "NA",       "NULL",   "NaN",
                                            "None", "n/a",      "nan",      "null" };
    for (size_t i = 0; n <= 8 && i < sizeof nan_text / sizeof *nan_text; i++)
        if (strlen(nan_text[i]) == n && memcmp(nan_text[i], text, n) == 0) return true;
    return false;
}

/* Bytes of the UTF-8 character at p, of at most n; 0: none that is valid. */
static size_t character_size(const uint8_t *p, size_t n)
{
    if (p[0] < 0x80) return p[0] != 0;
    const size_t size = p[0] >= 0xF0 ? 4 : p[0] >= 0xE0 ? 3 : 2;
    if (p[0] < 0xC2 || p[0] > 0xF4 || size > n) return 0;
    for (size_t i = 1; i < size; i++)
        if ((p[i] & 0xC0) != 0x80) return 0;
    if (p[0] == 0xE0 && p[1] < 0xA0) return 0; /* longer than needed */
    if (p[0] == 0xED && p[1] > 0x9F) return 0; /* surrogates */
    if (p[0] == 0xF0 && p[1] < 0x90) return 0;
    if (p[0] == 0xF4 && p[1] > 0x8F) return 0; /* beyond U+10FFFF */
    return size;
}

bool s2e_text_is_clean(const char *text, size_t n)
{
    const uint8_t *p = (const uint8_t *)text;
    for (size_t i = 0; i < n;) {
        const size_t size = character_size(p + i, n - i);
        if (size == 0) return false;
        i += size;
    }
    return true;
}
