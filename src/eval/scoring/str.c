/* str.c - Python's strings on utf8proc's tables of Unicode. */
#include "eval/scoring/str.h"

#include "base/checked.h"

#include <string.h>
#include <utf8proc.h>

void s2e_scratch_free(s2e_scratch *scratch)
{
    s2_pool_free(&scratch->pool);
    scratch->failed = false;
}

s2p_status s2e_scratch_status(const s2e_scratch *scratch, s2p_error *error)
{
    return scratch->failed ? s2_fail_memory(error, sizeof(s2e_str), "an answer") : S2P_OK;
}

/* Room for n code points, or NULL. */
static int32_t *take(s2e_scratch *scratch, size_t n)
{
    size_t size;
    int32_t *code = s2_mul_size(n, sizeof *code, &size) ? s2_pool_take(&scratch->pool, size) : NULL;
    if (!code) scratch->failed = true;
    return code;
}

static size_t read_code(const uint8_t *text, size_t n, int32_t *code)
{
    const utf8proc_ssize_t used = utf8proc_iterate(text, (utf8proc_ssize_t)(n < 4 ? n : 4), code);
    if (used > 0) return (size_t)used;
    *code = 0xFFFD;
    return 1;
}

s2e_str s2e_str_of(s2e_scratch *scratch, const char *text)
{
    const size_t n_bytes = strlen(text);
    int32_t *code = take(scratch, n_bytes);
    s2e_str s = { code, 0 };
    for (size_t i = 0; code && i < n_bytes;)
        i += read_code((const uint8_t *)text + i, n_bytes - i, &code[s.n++]);
    return s;
}

const char *s2e_str_text(s2e_scratch *scratch, s2e_str s)
{
    size_t size, n = 0;
    uint8_t *text = s2_mul_size(s.n, 4, &size) && size < SIZE_MAX
                        ? s2_pool_take(&scratch->pool, size + 1)
                        : NULL;
    if (!text) {
        scratch->failed = true;
        return "";
    }
    for (size_t i = 0; i < s.n; i++) n += (size_t)utf8proc_encode_char(s.code[i], text + n);
    return (const char *)text;
}

size_t s2e_byte_of(const char *text, size_t index)
{
    const size_t n = strlen(text);
    size_t at = 0;
    int32_t code;
    while (index-- > 0 && at < n) at += read_code((const uint8_t *)text + at, n - at, &code);
    return at;
}

/* --- classes ------------------------------------------------------------------ */

bool s2e_is_space(int32_t c)
{
    if (c < 0x80) return c == ' ' || (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x1F);
    if (c == 0x85) return true;
    const utf8proc_category_t category = utf8proc_category(c);
    return category == UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_ZL ||
           category == UTF8PROC_CATEGORY_ZP;
}

bool s2e_is_letter(int32_t c)
{
    switch (utf8proc_category(c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
        return true;
    default:
        return false;
    }
}

bool s2e_is_digit(int32_t c) { return utf8proc_category(c) == UTF8PROC_CATEGORY_ND; }

bool s2e_is_word(int32_t c)
{
    const utf8proc_category_t category = utf8proc_category(c);
    return c == '_' || s2e_is_letter(c) || category == UTF8PROC_CATEGORY_ND ||
           category == UTF8PROC_CATEGORY_NL || category == UTF8PROC_CATEGORY_NO;
}

bool s2e_is_upper(int32_t c)
{
    const utf8proc_category_t category = utf8proc_category(c);
    return category == UTF8PROC_CATEGORY_LU ||
           (utf8proc_tolower(c) != c && category != UTF8PROC_CATEGORY_LT);
}

bool s2e_is_boundary(s2e_str s, size_t at)
{
    const bool before = at > 0 && s2e_is_word(s.code[at - 1]);
    const bool after = at < s.n && s2e_is_word(s.code[at]);
    return before != after;
}

char s2e_any_case_letter(int32_t c)
{
    if (c >= 'a' && c <= 'z') return (char)(c - 32);
    if (c >= 'A' && c <= 'Z') return (char)c;
    switch (c) { /* those that fold to a letter of ASCII */
    case 0x17F:
        return 'S';
    case 0x212A:
        return 'K';
    case 0x130:
    case 0x131:
        return 'I';
    default:
        return 0;
    }
}

/* --- methods ------------------------------------------------------------------ */

s2e_str s2e_slice(s2e_str s, size_t from, size_t to)
{
    if (to > s.n) to = s.n;
    if (from > to) from = to;
    return s.n ? (s2e_str){ s.code + from, to - from } : s;
}

static bool is_cased(int32_t c)
{
    const utf8proc_category_t category = utf8proc_category(c);
    return category == UTF8PROC_CATEGORY_LU || category == UTF8PROC_CATEGORY_LL ||
           category == UTF8PROC_CATEGORY_LT || utf8proc_tolower(c) != c || utf8proc_toupper(c) != c;
}

static bool is_case_ignorable(int32_t c)
{
    switch (utf8proc_category(c)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
        return true;
    default:
        return c == '\'' || c == '.' || c == ':' || c == 0xB7 || c == 0x387 || c == 0x5F4 ||
               c == 0x2018 || c == 0x2019 || c == 0x2024 || c == 0x2027;
    }
}

/* A capital sigma ends a word: a cased letter before it and none after it. */
static bool is_final_sigma(s2e_str s, size_t at)
{
    size_t i = at;
    while (i > 0 && is_case_ignorable(s.code[i - 1])) i--;
    if (i == 0 || !is_cased(s.code[i - 1])) return false;
    i = at + 1;
    while (i < s.n && is_case_ignorable(s.code[i])) i++;
    return i == s.n || !is_cased(s.code[i]);
}

s2e_str s2e_lower(s2e_scratch *scratch, s2e_str s)
{
    int32_t *code = s.n <= SIZE_MAX / 2 ? take(scratch, 2 * s.n) : NULL;
    s2e_str out = { code, 0 };
    for (size_t i = 0; code && i < s.n; i++) {
        const int32_t c = s.code[i];
        if (c == 0x3A3) {
            code[out.n++] = is_final_sigma(s, i) ? 0x3C2 : 0x3C3;
        } else if (c == 0x130) { /* the one letter whose small form is two */
            code[out.n++] = 'i';
            code[out.n++] = 0x307;
        } else {
            code[out.n++] = utf8proc_tolower(c);
        }
    }
    return out;
}

/* Full case folding has as many code points as the capital form, but for these two. */
size_t s2e_upper_length(s2e_str s)
{
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        int32_t folded[8];
        int boundary = 0;
        const utf8proc_ssize_t each =
            s.code[i] == 0x130 || s.code[i] == 0x1E9E
                ? 1
                : utf8proc_decompose_char(s.code[i], folded, 8, UTF8PROC_CASEFOLD, &boundary);
        n += each > 0 ? (size_t)each : 1;
    }
    return n;
}

s2e_str s2e_capitalize(s2e_scratch *scratch, s2e_str s)
{
    if (s.n == 0) return s;
    const s2e_str rest = s2e_slice(s2e_lower(scratch, s), s.code[0] == 0x130 ? 2 : 1, SIZE_MAX);
    int32_t *code = take(scratch, rest.n + 1);
    if (!code) return (s2e_str){ NULL, 0 };
    code[0] = utf8proc_totitle(s.code[0]);
    if (rest.n) memcpy(code + 1, rest.code, rest.n * sizeof *code);
    return (s2e_str){ code, rest.n + 1 };
}

s2e_str s2e_strip(s2e_str s)
{
    size_t from = 0, to = s.n;
    while (from < to && s2e_is_space(s.code[from])) from++;
    while (to > from && s2e_is_space(s.code[to - 1])) to--;
    return s2e_slice(s, from, to);
}

s2e_str s2e_rstrip_code(s2e_str s, int32_t code)
{
    size_t to = s.n;
    while (to > 0 && s.code[to - 1] == code) to--;
    return s2e_slice(s, 0, to);
}

s2e_str s2e_strip_code(s2e_str s, int32_t code)
{
    size_t from = 0;
    while (from < s.n && s.code[from] == code) from++;
    return s2e_rstrip_code(s2e_slice(s, from, s.n), code);
}

s2e_str s2e_replace(s2e_scratch *scratch, s2e_str s, const char *from, const char *to)
{
    const s2e_str old = s2e_str_of(scratch, from), new = s2e_str_of(scratch, to);
    size_t n = s.n, at = 0;
    for (size_t hit; (hit = s2e_find(s, old, at)) != S2E_NOT_FOUND; at = hit + old.n)
        n = n - old.n + new.n;
    int32_t *code = take(scratch, n);
    if (!code || old.n == 0) return s;
    s2e_str out = { code, 0 };
    for (size_t i = 0; i < s.n;) {
        const size_t hit = s2e_find(s, old, i), end = hit == S2E_NOT_FOUND ? s.n : hit;
        for (; i < end; i++) code[out.n++] = s.code[i];
        if (hit == S2E_NOT_FOUND) break;
        for (size_t k = 0; k < new.n; k++) code[out.n++] = new.code[k];
        i += old.n;
    }
    return out;
}

s2e_words s2e_split(s2e_scratch *scratch, s2e_str s)
{
    size_t n = 0, size;
    for (size_t i = 0; i < s.n; i++)
        n += !s2e_is_space(s.code[i]) && (i == 0 || s2e_is_space(s.code[i - 1]));
    s2e_str *word = s2_mul_size(n, sizeof *word, &size) ? s2_pool_take(&scratch->pool, size) : NULL;
    if (!word) {
        scratch->failed = true;
        return (s2e_words){ NULL, 0 };
    }
    s2e_words out = { word, 0 };
    for (size_t i = 0; i < s.n;) {
        while (i < s.n && s2e_is_space(s.code[i])) i++;
        const size_t first = i;
        while (i < s.n && !s2e_is_space(s.code[i])) i++;
        if (i > first) word[out.n++] = s2e_slice(s, first, i);
    }
    return out;
}

s2e_str s2e_join(s2e_scratch *scratch, s2e_words words)
{
    size_t n = words.n;
    for (size_t i = 0; i < words.n; i++) n += words.word[i].n;
    int32_t *code = take(scratch, n);
    s2e_str out = { code, 0 };
    for (size_t i = 0; code && i < words.n; i++) {
        if (i) code[out.n++] = ' ';
        for (size_t k = 0; k < words.word[i].n; k++) code[out.n++] = words.word[i].code[k];
    }
    return out;
}

bool s2e_same(s2e_str a, s2e_str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.code, b.code, a.n * sizeof *a.code) == 0);
}

bool s2e_is(s2e_str s, const char *ascii)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.code[i] != (uint8_t)ascii[i] || !ascii[i]) return false;
    return ascii[s.n] == '\0';
}

static bool is_at(s2e_str s, s2e_str needle, size_t at)
{
    return needle.n == 0 || memcmp(s.code + at, needle.code, needle.n * sizeof *needle.code) == 0;
}

size_t s2e_find(s2e_str s, s2e_str needle, size_t from)
{
    for (size_t i = from; i <= s.n && needle.n <= s.n - i; i++)
        if (is_at(s, needle, i)) return i;
    return S2E_NOT_FOUND;
}

size_t s2e_rfind(s2e_str s, s2e_str needle)
{
    if (needle.n > s.n) return S2E_NOT_FOUND;
    for (size_t i = s.n - needle.n + 1; i-- > 0;)
        if (is_at(s, needle, i)) return i;
    return S2E_NOT_FOUND;
}

bool s2e_has(s2e_str s, const char *ascii)
{
    const size_t n = strlen(ascii);
    for (size_t i = 0; n <= s.n && i <= s.n - n; i++) {
        size_t k = 0;
        while (k < n && s.code[i + k] == (uint8_t)ascii[k]) k++;
        if (k == n) return true;
    }
    return false;
}

bool s2e_has_word(s2e_words words, const char *ascii)
{
    for (size_t i = 0; i < words.n; i++)
        if (s2e_is(words.word[i], ascii)) return true;
    return false;
}

/* --- patterns ----------------------------------------------------------------- */

size_t s2e_match_word(s2e_str s, size_t at, const char *lower_ascii)
{
    size_t n = 0;
    for (; lower_ascii[n]; n++) {
        if (at + n >= s.n) return 0;
        const char c = lower_ascii[n];
        const int32_t code = s.code[at + n];
        if (code == c) continue;
        if (c < 'a' || c > 'z' || s2e_any_case_letter(code) != c - 32) return 0;
    }
    return n;
}

size_t s2e_skip_spaces(s2e_str s, size_t at)
{
    while (at < s.n && s2e_is_space(s.code[at])) at++;
    return at;
}
