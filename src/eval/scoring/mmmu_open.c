/* mmmu_open.c - the tail of a sentence after "is", "so", "answer", ...; its numbers; their readings. */
#include "eval/scoring/answer_reading.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- numbers ----------------------------------------------------------------------- */

static size_t skip_digits(s2e_str s, size_t at)
{
    while (at < s.n && s2e_is_digit(s.code[at])) at++;
    return at;
}

static bool is_code(s2e_str s, size_t at, int32_t code) { return at < s.n && s.code[at] == code; }

static bool is_e(s2e_str s, size_t at) { return is_code(s, at, 'e') || is_code(s, at, 'E'); }

/* An exponent at `at`: where it ends; `at` when there is none. */
static size_t skip_exponent(s2e_str s, size_t at)
{
    if (!is_e(s, at)) return at;
    size_t first = at + 1;
    if (is_code(s, first, '+') || is_code(s, first, '-')) first++;
    const size_t end = skip_digits(s, first);
    return end > first ? end : at;
}

/* Each of these: where a number that begins at `at` ends; `at` when none does. */

static size_t with_commas(s2e_str s, size_t at)
{
    const size_t first = at + is_code(s, at, '-');
    const size_t run = skip_digits(s, first);
    if (!s2e_is_boundary(s, first) || run == first || run - first > 3) return at;
    size_t end = run, good = at;
    while (is_code(s, end, ',') && skip_digits(s, end + 1) >= end + 4) {
        end += 4;
        if (s2e_is_boundary(s, end)) good = end;
    }
    return good;
}

static size_t scientific(s2e_str s, size_t at)
{
    const size_t first = at + is_code(s, at, '-');
    size_t end = skip_digits(s, first);
    if (end == first) return at;
    if (is_code(s, end, '.') && skip_digits(s, end + 1) > end + 1) end = skip_digits(s, end + 1);
    const size_t exponent = skip_exponent(s, end);
    return exponent > end ? exponent : at;
}

/* No exponent, comma or digit may follow. */
static bool may_end(s2e_str s, size_t at)
{
    return skip_exponent(s, at) == at && !is_code(s, at, ',') &&
           !(at < s.n && s2e_is_digit(s.code[at]));
}

static size_t simple(s2e_str s, size_t at)
{
    const size_t first = at + is_code(s, at, '-');
    const size_t run = skip_digits(s, first);
    if (is_code(s, run, '.')) { /* 12.5 and .5 */
        const size_t end = skip_digits(s, run + 1);
        if (end > run + 1 && may_end(s, end)) return end;
    }
    return run > first && s2e_is_boundary(s, run) && may_end(s, run) ? run : at;
}

s2e_words s2e_numbers_in(s2e_scratch *scratch, s2e_str text)
{
    static size_t (*const kinds[])(s2e_str, size_t) = { with_commas, scientific, simple };
    s2e_words out = { NULL, 0 };
    for (int pass = 0; pass < 2; pass++) { /* count, then fill */
        s2e_str *word = NULL;
        if (pass == 1) {
            word = s2_pool_take(&scratch->pool, out.n * sizeof *word);
            if (!word) scratch->failed = true;
            out = (s2e_words){ word, 0 };
            if (!word) return out;
        }
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
            for (size_t i = 0; i < text.n;) {
                const size_t end = kinds[k](text, i);
                if (end > i && word) word[out.n] = s2e_slice(text, i, end);
                out.n += end > i;
                i = end > i ? end : i + 1;
            }
    }
    return out;
}

/* --- float() ------------------------------------------------------------------------- */

static char digit_of(int32_t code)
{
    if (code >= 0x1D7CE && code <= 0x1D7FF) return (char)('0' + (code - 0x1D7CE) % 10);
    int value = 0; /* the ten of a script are together */
    while (value < 9 && s2e_is_digit(code - value - 1)) value++;
    return (char)('0' + value);
}

/* The separators 0x1c to 0x1f are spaces for strip() and not for float(). */
static bool is_around_number(int32_t code)
{
    return s2e_is_space(code) && !(code >= 0x1c && code <= 0x1f);
}

static s2e_str without_spaces(s2e_str s)
{
    size_t from = 0, to = s.n;
    while (from < to && is_around_number(s.code[from])) from++;
    while (to > from && is_around_number(s.code[to - 1])) to--;
    return s2e_slice(s, from, to);
}

bool s2e_float(s2e_scratch *scratch, s2e_str text, double *out)
{
    text = without_spaces(text);
    char *plain = s2_pool_take(&scratch->pool, text.n + 1);
    if (!plain) {
        scratch->failed = true;
        return false;
    }
    size_t n = 0, n_digits = 0;
    bool was_digit = false, point = false, exponent = false;
    const bool has_sign = text.n > 0 && (text.code[0] == '-' || text.code[0] == '+');
    const s2e_str bare = s2e_lower(scratch, s2e_slice(text, has_sign, text.n));
    if (s2e_is(bare, "inf") || s2e_is(bare, "infinity") || s2e_is(bare, "nan")) {
        *out = strtod(s2e_str_text(scratch, s2e_lower(scratch, text)), NULL);
        return true;
    }
    for (size_t i = 0; i < text.n; i++) {
        const int32_t c = text.code[i];
        const bool is_digit = s2e_is_digit(c);
        if (is_digit) {
            plain[n++] = c < 0x80 ? (char)c : digit_of(c);
            n_digits++;
        } else if (c == '_') { /* between two digits, and it means nothing */
            if (!was_digit || i + 1 == text.n || !s2e_is_digit(text.code[i + 1])) return false;
        } else if (c == '.') {
            if (point || exponent) return false;
            point = true;
            plain[n++] = '.';
        } else if (c == 'e' || c == 'E') {
            if (exponent || n_digits == 0) return false;
            exponent = true;
            n_digits = 0;
            plain[n++] = 'e';
        } else if (c == '+' || c == '-') {
            if (n > 0 && plain[n - 1] != 'e') return false;
            plain[n++] = (char)c;
        } else {
            return false;
        }
        was_digit = is_digit;
    }
    if (n_digits == 0) return false;
    *out = strtod(plain, NULL);
    return true;
}

/* --- readings ------------------------------------------------------------------------ */

static bool is_same_reading(const s2e_reading *a, const s2e_reading *b)
{
    if (a->is_number != b->is_number) return false;
    return a->is_number ? a->number == b->number : s2e_same(a->text, b->text);
}

static void add_reading(s2e_scratch *scratch, s2e_readings *all, s2e_reading reading)
{
    for (size_t i = 0; i < all->n; i++)
        if (is_same_reading(&all->reading[i], &reading)) return;
    if (all->n == all->capacity) {
        const size_t capacity = all->capacity ? 2 * all->capacity : 16;
        s2e_reading *grown = s2_pool_take(&scratch->pool, capacity * sizeof *grown);
        if (!grown) {
            scratch->failed = true;
            return;
        }
        if (all->n) memcpy(grown, all->reading, all->n * sizeof *grown);
        all->reading = grown;
        all->capacity = capacity;
    }
    all->reading[all->n++] = reading;
}

/* round(x, 2): of the exact value, half to even, as printf does it. */
static double two_decimals(double value)
{
    char text[400];
    const int n = snprintf(text, sizeof text, "%.2f", value);
    return n > 0 && (size_t)n < sizeof text ? strtod(text, NULL) : value;
}

static void read_one(s2e_scratch *scratch, s2e_readings *all, s2e_str text)
{
    double number;
    text = s2e_strip(text);
    if (s2e_float(scratch, s2e_replace(scratch, text, ",", ""), &number)) {
        add_reading(scratch, all,
                    (s2e_reading){ .is_number = true, .number = two_decimals(number) });
        return;
    }
    const s2e_str small = s2e_lower(scratch, text);
    if (small.n != 1) {
        add_reading(scratch, all, (s2e_reading){ .text = small });
        return;
    }
    int32_t *code = s2_pool_take(&scratch->pool, 3 * sizeof *code);
    if (!code) {
        scratch->failed = true;
        return;
    }
    code[0] = code[2] = ' ';
    code[1] = small.code[0];
    add_reading(scratch, all, (s2e_reading){ .text = { code, 2 } });
    add_reading(scratch, all, (s2e_reading){ .text = { code + 1, 2 } });
}

/* The shortest tail behind an indicator in a line; empty: none. */
static s2e_str tail_of(s2e_scratch *scratch, s2e_str line, bool is_last)
{
    static const char *const indicators[] = { "could be ", "so ",        "is ",
                                              "thus ",     "therefore ", "final ",
                                              "answer ",   "result ",    "=" };
    s2e_str shortest = { NULL, 0 };
    const size_t n = sizeof indicators / sizeof *indicators - !is_last; /* "=" in the last alone */
    for (size_t i = 0; i < n; i++) {
        const s2e_str indicator = s2e_str_of(scratch, indicators[i]);
        const size_t at = s2e_rfind(line, indicator);
        if (at == S2E_NOT_FOUND) continue;
        const s2e_str tail = s2e_strip(s2e_slice(line, at + indicator.n, line.n));
        if (shortest.n == 0 || tail.n < shortest.n) shortest = tail;
    }
    const bool is_trivial =
        shortest.n == 1 && shortest.code[0] < 0x80 && strchr(":,.!?;'", shortest.code[0]) != NULL;
    return is_trivial ? (s2e_str){ NULL, 0 } : shortest;
}

s2e_readings s2e_open_readings(s2e_scratch *scratch, s2e_str answer)
{
    const s2e_str text = s2e_lower(scratch, s2e_strip_code(s2e_strip(answer), '.'));
    s2e_str *key = s2_pool_take(&scratch->pool, (text.n + 1) * sizeof *key);
    s2e_readings all = { NULL, 0, 0 };
    size_t n = 0;
    if (!key) {
        scratch->failed = true;
        return all;
    }
    for (size_t from = 0; from <= text.n;) {
        size_t end = from;
        while (end < text.n && text.code[end] != '\n') end++;
        const s2e_str tail = tail_of(scratch, s2e_slice(text, from, end), end == text.n);
        if (tail.n) key[n++] = tail;
        from = end + 1;
    }
    if (n == 0) key[n++] = text;
    for (size_t i = 0; i < n; i++) read_one(scratch, &all, key[i]);
    for (size_t i = 0; i < n; i++) {
        const s2e_words numbers = s2e_numbers_in(scratch, key[i]);
        for (size_t k = 0; k < numbers.n; k++) read_one(scratch, &all, numbers.word[k]);
    }
    return all;
}

bool s2e_open_is_right(s2e_scratch *scratch, const s2e_readings *readings, const char *const *gold,
                       int32_t n_gold, size_t *hit)
{
    s2e_readings wanted = { NULL, 0, 0 };
    for (int32_t i = 0; i < n_gold; i++) read_one(scratch, &wanted, s2e_str_of(scratch, gold[i]));
    for (size_t i = 0; i < readings->n; i++)
        for (size_t k = 0; k < wanted.n; k++) {
            const s2e_reading *r = &readings->reading[i], *w = &wanted.reading[k];
            if (r->is_number != w->is_number) continue;
            if (r->is_number ? r->number == w->number
                             : s2e_find(r->text, w->text, 0) != S2E_NOT_FOUND) {
                *hit = i;
                return true;
            }
        }
    return false;
}
