/* unicode.c - code points, their classes and NFC, on utf8proc's tables.
 *
 * utf8proc decomposes and composes one stretch of text well, but it sorts marks by
 * swapping neighbors: a megabyte of marks in the wrong order would keep it busy
 * for hours. The class of a mark is a byte, so a counting sort puts any run in
 * order in one pass; the rest is utf8proc's.
 */
#include "text/unicode.h"

#include "base/checked.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#define FIRST_COMPOSABLE 0x300 /* below it nothing composes, decomposed or not: already NFC */

s2v_class s2v_class_of(int32_t code)
{
    switch (code) { /* white space that is not a separator by category */
    case '\t':
    case '\n':
    case '\v':
    case '\f':
    case '\r':
    case 0x85:
        return S2V_SPACE;
    default:
        break;
    }
    switch (utf8proc_category(code)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
        return S2V_LETTER;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
        return S2V_NUMBER;
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
        return S2V_SPACE;
    default:
        return S2V_OTHER;
    }
}

bool s2v_is_mark(int32_t code)
{
    const utf8proc_category_t category = utf8proc_category(code);
    return category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_MC ||
           category == UTF8PROC_CATEGORY_ME;
}

/* --- UTF-8 ------------------------------------------------------------------ */

size_t s2v_utf8_following(uint8_t lead)
{
    if (lead < 0xC2 || lead > 0xF4) return 0;
    return lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
}

bool s2v_utf8_may_follow(uint8_t lead, size_t at, uint8_t byte)
{
    uint8_t low = 0x80, high = 0xBF;
    if (at == 1) { /* no overlong forms, no surrogates, nothing beyond U+10FFFF */
        if (lead == 0xE0) low = 0xA0;
        if (lead == 0xED) high = 0x9F;
        if (lead == 0xF0) low = 0x90;
        if (lead == 0xF4) high = 0x8F;
    }
    return byte >= low && byte <= high;
}

size_t s2v_utf8_read(const uint8_t *bytes, size_t n, int32_t *code)
{
    const uint8_t lead = bytes[0];
    if (lead < 0x80) {
        *code = lead;
        return 1;
    }
    const size_t following = s2v_utf8_following(lead);
    if (following == 0 || n <= following) return 0;
    int32_t value = lead & (0x3F >> following);
    for (size_t i = 1; i <= following; i++) {
        if (!s2v_utf8_may_follow(lead, i, bytes[i])) return 0;
        value = value << 6 | (bytes[i] & 0x3F);
    }
    *code = value;
    return following + 1;
}

size_t s2v_utf8_write(int32_t code, uint8_t out[4])
{
    const uint32_t c = (uint32_t)code;
    if (c < 0x80) {
        out[0] = (uint8_t)c;
        return 1;
    }
    const size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--) out[i] = (uint8_t)(0x80 | (c >> 6 * (n - 1 - i) & 0x3F));
    out[0] = (uint8_t)((0xF00u >> n & 0xFF) | c >> 6 * (n - 1));
    return n;
}

/* --- normal form C ------------------------------------------------------------ */

void s2v_codes_free(s2v_codes *codes)
{
    free(codes->code);
    *codes = (s2v_codes){ .code = NULL };
}

static s2p_status reserve_codes(s2v_codes *codes, size_t n, s2p_error *error)
{
    size_t n_bytes;
    if (n <= codes->capacity) return S2P_OK;
    if (!s2_mul_size(n, sizeof *codes->code, &n_bytes))
        return s2_fail(error, S2P_ELIMIT, "a text of %zu characters is too long", n);
    int32_t *code = realloc(codes->code, n_bytes);
    if (!code) return s2_fail_memory(error, n_bytes, "the characters of a text");
    codes->code = code;
    codes->capacity = n;
    return S2P_OK;
}

static int mark_class(int32_t code) { return utf8proc_get_property(code)->combining_class; }

/* Code points of the canonical decomposition of `code`; written to `out` when they fit in `room`.
 */
static size_t decompose(int32_t code, int32_t *out, size_t room)
{
    int boundary = 0;
    const utf8proc_ssize_t n = utf8proc_decompose_char(
        code, out, (utf8proc_ssize_t)room, UTF8PROC_STABLE | UTF8PROC_DECOMPOSE, &boundary);
    return n > 0 ? (size_t)n : 0;
}

/* Stable order of a run of marks by class. spare: [n]. */
static void sort_marks(int32_t *mark, size_t n, int32_t *spare)
{
    size_t start[257] = { 0 };
    for (size_t i = 0; i < n; i++) start[mark_class(mark[i]) + 1]++;
    for (size_t c = 0; c < 256; c++) start[c + 1] += start[c];
    for (size_t i = 0; i < n; i++) spare[start[mark_class(mark[i])]++] = mark[i];
    memcpy(mark, spare, n * sizeof *mark);
}

/* Put every run of marks in order. The spare room lies behind the text. */
static void reorder(int32_t *code, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool in_order = true;
        const size_t first = i;
        for (; i < n && mark_class(code[i]) > 0; i++)
            if (i > first && mark_class(code[i]) < mark_class(code[i - 1])) in_order = false;
        if (!in_order) sort_marks(code + first, i - first, code + n);
    }
}

/* Where: what stands before the byte says it, whatever the text is a part of. */
static s2p_status fail_utf8(const uint8_t *text, size_t at, s2p_error *error)
{
    size_t first = at > 20 ? at - 20 : 0;
    while (first < at && (text[first] & 0xC0) == 0x80) first++; /* a whole character */
    if (at == 0)
        return s2_fail(error, S2P_EFORMAT, "the text is not UTF-8: it begins with byte 0x%02X",
                       text[at]);
    return s2_fail(error, S2P_EFORMAT, "the text is not UTF-8: byte 0x%02X after '%.*s'", text[at],
                   (int)(at - first), (const char *)text + first);
}

s2p_status s2v_codes_read(const uint8_t *text, size_t n, s2v_codes *out, bool with_space,
                          s2p_error *error)
{
    out->n = 0;
    TRY(reserve_codes(out, n + 1, error));
    if (with_space) out->code[out->n++] = ' ';
    for (size_t i = 0; i < n;) {
        const size_t used = s2v_utf8_read(text + i, n - i, &out->code[out->n]);
        if (used == 0) return fail_utf8(text, i, error);
        out->n++;
        i += used;
    }
    return S2P_OK;
}

/* Decomposed length of the text; is_plain: it is NFC as it stands. */
static s2p_status measure_text(const uint8_t *text, size_t n, size_t *n_codes, bool *is_plain,
                               s2p_error *error)
{
    *n_codes = 0;
    *is_plain = true;
    for (size_t i = 0; i < n;) {
        int32_t code;
        const size_t used = s2v_utf8_read(text + i, n - i, &code);
        if (used == 0) return fail_utf8(text, i, error);
        if (code >= FIRST_COMPOSABLE) *is_plain = false;
        *n_codes += code < 0x80 ? 1 : decompose(code, NULL, 0);
        i += used;
    }
    return S2P_OK;
}

s2p_status s2v_nfc(const uint8_t *text, size_t n, s2v_codes *out, s2p_error *error)
{
    size_t n_codes, room;
    bool is_plain;
    out->n = 0;
    TRY(measure_text(text, n, &n_codes, &is_plain, error));
    if (!s2_add_size(n_codes, n_codes, &room))
        return s2_fail(error, S2P_ELIMIT, "a text of %zu characters is too long", n_codes);
    TRY(reserve_codes(out, is_plain ? n_codes : room, error));

    for (size_t i = 0; i < n;) {
        int32_t code;
        i += s2v_utf8_read(text + i, n - i, &code);
        if (is_plain)
            out->code[out->n++] = code;
        else
            out->n += decompose(code, out->code + out->n, n_codes - out->n);
    }
    if (is_plain) return S2P_OK;
    reorder(out->code, out->n);
    out->n = (size_t)utf8proc_normalize_utf32(out->code, (utf8proc_ssize_t)out->n,
                                              UTF8PROC_STABLE | UTF8PROC_COMPOSE);
    return S2P_OK;
}
