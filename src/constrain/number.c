/* number.c - numbers between bounds, and multiples, exactly in decimal.
 *
 * Spelling: no leading zeros, no "-0", at most 18 digits before the point (more where a bound has more)
 * and 17 after it; an exponent of up to three digits only where nothing bounds the number. A bound is an
 * automaton that compares digits while they are read: which side of the bound a number is on is known
 * at its end, when its length is. A multiple is an automaton of remainders.
 */
#include "constrain/number.h"

#include <stdlib.h>
#include <string.h>

enum { BELOW, EQUAL, ABOVE };

bool s2c_decimal_read(const char *text, size_t n, s2c_decimal *out)
{
    *out = (s2c_decimal){ 0 };
    int64_t exponent = 0;
    int32_t point = 0;
    bool after_point = false;
    size_t i = 0;
    if (i < n && text[i] == '-') {
        out->is_negative = true;
        i++;
    }
    for (; i < n && text[i] != 'e' && text[i] != 'E'; i++) {
        if (text[i] == '.') {
            after_point = true;
            continue;
        }
        const uint8_t digit = (uint8_t)(text[i] - '0');
        if (out->n == 0 && digit == 0) {
            if (after_point) point--;
            continue;
        }
        if (!after_point) point++;
        if (out->n == S2C_MAX_DIGITS) return false;
        out->digit[out->n++] = digit;
    }
    if (i < n) {
        const bool is_negative = i + 1 < n && text[i + 1] == '-';
        for (i += i + 1 < n && (text[i + 1] == '-' || text[i + 1] == '+') ? 2u : 1u; i < n; i++)
            if (exponent < 100000) exponent = exponent * 10 + (text[i] - '0');
        if (is_negative) exponent = -exponent;
    }
    while (out->n > 0 && out->digit[out->n - 1] == 0) out->n--;
    if (out->n == 0) {
        out->is_negative = false;
        return true;
    }
    if (point + exponent > S2C_MAX_DIGITS || point + exponent < -S2C_MAX_DIGITS) return false;
    out->point = point + (int32_t)exponent;
    return true;
}

static int32_t compare_magnitudes(const s2c_decimal *a, const s2c_decimal *b)
{
    if (a->n == 0 || b->n == 0) return (a->n > 0) - (b->n > 0);
    if (a->point != b->point) return a->point < b->point ? -1 : 1;
    for (int32_t i = 0; i < a->n || i < b->n; i++) {
        const int32_t x = i < a->n ? a->digit[i] : 0, y = i < b->n ? b->digit[i] : 0;
        if (x != y) return x < y ? -1 : 1;
    }
    return 0;
}

int32_t s2c_decimal_compare(const s2c_decimal *a, const s2c_decimal *b)
{
    if (a->is_negative != b->is_negative) return a->is_negative ? -1 : 1;
    const int32_t order = compare_magnitudes(a, b);
    return a->is_negative ? -order : order;
}

bool s2c_decimal_is_integer(const s2c_decimal *a) { return a->n <= a->point || a->n == 0; }

static int64_t gcd(int64_t a, int64_t b)
{
    while (b != 0) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

bool s2c_numbers_set_multiple(s2c_numbers *a, const s2c_decimal *step)
{
    if (step->n == 0 || step->is_negative) return false;
    int64_t value = 0;
    const int32_t places = step->n > step->point ? step->n - step->point : 0;
    if (places > 9) return false;
    for (int32_t i = 0; i < step->n || i < step->point; i++) {
        value = value * 10 + (i < step->n ? step->digit[i] : 0);
        if (value > 1000) return false;
    }
    a->multiple = (int32_t)value;
    a->places = places;
    return true;
}

static bool merge_multiples(s2c_numbers *a, const s2c_numbers *b)
{
    if (b->multiple == 0) return true;
    if (a->multiple == 0) {
        a->multiple = b->multiple;
        a->places = b->places;
        return true;
    }
    int64_t x = a->multiple, y = b->multiple;
    const int32_t places = a->places > b->places ? a->places : b->places;
    for (int32_t i = a->places; i < places; i++) x *= 10;
    for (int32_t i = b->places; i < places; i++) y *= 10;
    int64_t step = x / gcd(x, y) * y;
    int32_t left = places;
    while (left > 0 && step % 10 == 0) {
        step /= 10;
        left--;
    }
    if (step > 1000) return false;
    a->multiple = (int32_t)step;
    a->places = left;
    return true;
}

bool s2c_numbers_merge(s2c_numbers *a, const s2c_numbers *b)
{
    a->is_integer |= b->is_integer;
    if (b->has_min) {
        const int32_t order = a->has_min ? s2c_decimal_compare(&b->min, &a->min) : 1;
        if (order > 0) {
            a->min = b->min;
            a->excludes_min = b->excludes_min;
        } else if (order == 0) {
            a->excludes_min |= b->excludes_min;
        }
        a->has_min = true;
    }
    if (b->has_max) {
        const int32_t order = a->has_max ? s2c_decimal_compare(&b->max, &a->max) : -1;
        if (order < 0) {
            a->max = b->max;
            a->excludes_max = b->excludes_max;
        } else if (order == 0) {
            a->excludes_max |= b->excludes_max;
        }
        a->has_max = true;
    }
    return merge_multiples(a, b);
}

/* value times 10^places, modulo the multiple; false when it is not a whole number. */
static bool remainder_of(const s2c_numbers *a, const s2c_decimal *value, int64_t *rest)
{
    if (value->n - value->point > a->places) return false;
    *rest = 0;
    for (int32_t i = 0; i < value->point + a->places; i++)
        *rest = (*rest * 10 + (i < value->n ? value->digit[i] : 0)) % a->multiple;
    return true;
}

bool s2c_numbers_accept(const s2c_numbers *a, const s2c_decimal *value)
{
    int64_t rest = 0;
    if (a->is_integer && !s2c_decimal_is_integer(value)) return false;
    if (a->has_min && s2c_decimal_compare(value, &a->min) < (a->excludes_min ? 1 : 0)) return false;
    if (a->has_max && s2c_decimal_compare(value, &a->max) > (a->excludes_max ? -1 : 0))
        return false;
    return a->multiple == 0 || value->n == 0 || (remainder_of(a, value, &rest) && rest == 0);
}

static bool is_below(const s2c_numbers *a, const s2c_numbers *b)
{
    if (!a->has_max || !b->has_min) return false;
    const int32_t order = s2c_decimal_compare(&a->max, &b->min);
    return order < 0 || (order == 0 && (a->excludes_max || b->excludes_min));
}

bool s2c_numbers_are_apart(const s2c_numbers *a, const s2c_numbers *b)
{
    return is_below(a, b) || is_below(b, a);
}

/* One digit against the digit of a bound: three edges. */
static void compare_digit(s2c_nfa *a, int32_t from, int32_t digit, int32_t below, int32_t equal,
                          int32_t above)
{
    if (digit > 0) s2c_nfa_edge_add(a, from, below, '0', '0' + digit - 1);
    s2c_nfa_edge_add(a, from, equal, '0' + digit, '0' + digit);
    if (digit < 9) s2c_nfa_edge_add(a, from, above, '0' + digit + 1, '9');
}

/* Magnitudes on one side of a bound: those whose comparison with it is in `wanted` (bits). */
static s2p_status make_bound(const s2c_decimal *bound, uint32_t wanted, s2c_nfa *out)
{
    s2c_nfa_init(out);
    const int32_t n_whole =
        bound->n > 0 && bound->point > 0 ? bound->point : 1; /* digits before the point */
    const int32_t n_part = bound->n > 0 ? bound->n - bound->point : 0;
    const int32_t n_fraction = n_part > 0 ? n_part : 0;
    out->end = s2c_nfa_state(out);
    int32_t fixed[3]; /* in the fraction, decided already */
    for (int32_t i = 0; i < 3; i++) {
        fixed[i] = s2c_nfa_state(out);
        s2c_nfa_edge_add(out, fixed[i], fixed[i], '0', '9');
        if (wanted >> i & 1)
            s2c_nfa_edge_add(out, fixed[i], out->end, S2C_NFA_EMPTY, S2C_NFA_EMPTY);
    }
    /* equal[j]: in the fraction, the first j digits are the bound's */
    int32_t equal = s2c_nfa_state(out);
    const int32_t first_equal = equal;
    for (int32_t j = 0; j < n_fraction && out->status == S2P_OK; j++) {
        const int32_t at = bound->point + j; /* may be before the first digit: 0.05 */
        const int32_t next = s2c_nfa_state(out);
        compare_digit(out, equal, at >= 0 ? bound->digit[at] : 0, fixed[BELOW], next, fixed[ABOVE]);
        if (wanted >> BELOW & 1)
            s2c_nfa_edge_add(out, equal, out->end, S2C_NFA_EMPTY, S2C_NFA_EMPTY);
        equal = next;
    }
    s2c_nfa_edge_add(out, equal, equal, '0', '0');
    s2c_nfa_edge_add(out, equal, fixed[ABOVE], '1', '9');
    if (wanted >> EQUAL & 1) s2c_nfa_edge_add(out, equal, out->end, S2C_NFA_EMPTY, S2C_NFA_EMPTY);

    /* whole[p][c]: p digits before the point were read, their comparison with the bound's first p is c */
    int32_t(*whole)[3] = malloc(((size_t)n_whole + 2) * sizeof *whole);
    if (!whole) return S2P_ENOMEM;
    for (int32_t p = 0; p <= n_whole + 1; p++)
        for (int32_t c = 0; c < 3; c++) whole[p][c] = s2c_nfa_state(out);
    for (int32_t p = 0; p <= n_whole + 1 && out->status == S2P_OK; p++)
        for (int32_t c = 0; c < 3; c++) {
            const int32_t from = whole[p][c];
            if (p < n_whole && c == EQUAL) {
                const int32_t digit =
                    bound->n > 0 && bound->point > 0 && p < bound->n ? bound->digit[p] : 0;
                compare_digit(out, from, digit, whole[p + 1][BELOW], whole[p + 1][EQUAL],
                              whole[p + 1][ABOVE]);
            } else {
                s2c_nfa_edge_add(out, from, whole[p <= n_whole ? p + 1 : p][c], '0', '9');
            }
            if (p == 0) continue;
            const int32_t side = p < n_whole ? BELOW : p > n_whole ? ABOVE : c;
            s2c_nfa_edge_add(out, from, side == EQUAL ? first_equal : fixed[side], '.', '.');
            const int32_t verdict = side == EQUAL && n_fraction > 0 ? BELOW : side;
            if (wanted >> verdict & 1)
                s2c_nfa_edge_add(out, from, out->end, S2C_NFA_EMPTY, S2C_NFA_EMPTY);
        }
    out->start = whole[0][EQUAL];
    free(whole);
    return out->status;
}

/* Magnitudes as they are spelled. */
static s2p_status make_form(int32_t n_whole, int32_t n_fraction, bool has_exponent, s2c_nfa *out)
{
    s2c_nfa_init(out);
    out->start = s2c_nfa_state(out);
    out->end = s2c_nfa_state(out);
    const int32_t done = s2c_nfa_state(out);
    int32_t at = s2c_nfa_state(out);
    s2c_nfa_edge_add(out, out->start, done, '0', '0');
    s2c_nfa_edge_add(out, out->start, at, '1', '9');
    for (int32_t i = 1; out->status == S2P_OK; i++) {
        s2c_nfa_edge_add(out, at, done, S2C_NFA_EMPTY, S2C_NFA_EMPTY);
        if (i == n_whole) break;
        const int32_t next = s2c_nfa_state(out);
        s2c_nfa_edge_add(out, at, next, '0', '9');
        at = next;
    }
    s2c_nfa_edge_add(out, done, out->end, S2C_NFA_EMPTY, S2C_NFA_EMPTY);
    int32_t exponent = -1;
    if (has_exponent) {
        exponent = s2c_nfa_state(out);
        const int32_t sign = s2c_nfa_state(out);
        s2c_nfa_edge_add(out, exponent, sign, 'E', 'E');
        s2c_nfa_edge_add(out, exponent, sign, 'e', 'e');
        int32_t digit = s2c_nfa_state(out);
        s2c_nfa_edge_add(out, sign, digit, S2C_NFA_EMPTY, S2C_NFA_EMPTY);
        s2c_nfa_edge_add(out, sign, digit, '+', '+');
        s2c_nfa_edge_add(out, sign, digit, '-', '-');
        for (int32_t i = 0; i < 3; i++) {
            const int32_t next = s2c_nfa_state(out);
            s2c_nfa_edge_add(out, digit, next, '0', '9');
            s2c_nfa_edge_add(out, next, out->end, S2C_NFA_EMPTY, S2C_NFA_EMPTY);
            digit = next;
        }
        s2c_nfa_edge_add(out, done, exponent, S2C_NFA_EMPTY, S2C_NFA_EMPTY);
    }
    at = s2c_nfa_state(out);
    if (n_fraction > 0) s2c_nfa_edge_add(out, done, at, '.', '.');
    for (int32_t i = 0; i < n_fraction && out->status == S2P_OK; i++) {
        const int32_t next = s2c_nfa_state(out);
        s2c_nfa_edge_add(out, at, next, '0', '9');
        s2c_nfa_edge_add(out, next, out->end, S2C_NFA_EMPTY, S2C_NFA_EMPTY);
        if (exponent >= 0) s2c_nfa_edge_add(out, next, exponent, S2C_NFA_EMPTY, S2C_NFA_EMPTY);
        at = next;
    }
    return out->status;
}

/* Numbers whose value times 10^places is a multiple; at most `places` digits after the point. */
static s2p_status make_multiple(int32_t step, int32_t places, s2c_nfa *out)
{
    s2c_nfa_init(out);
    const int32_t first = s2c_nfa_state(out);
    for (int32_t i = 1; i < step * (places + 2); i++) (void)s2c_nfa_state(out);
    out->end = s2c_nfa_state(out);
    out->start = first;
    for (int32_t f = -1; f <= places && out->status == S2P_OK; f++) { /* -1: before the point */
        int64_t scale = 1;
        for (int32_t i = f < 0 ? 0 : f; i < places; i++) scale = scale * 10 % step;
        for (int32_t r = 0; r < step; r++) {
            const int32_t from = (f + 1) * step + r;
            if (r * scale % step == 0)
                s2c_nfa_edge_add(out, from, out->end, S2C_NFA_EMPTY, S2C_NFA_EMPTY);
            if (f < 0 && places > 0) s2c_nfa_edge_add(out, from, step + r, '.', '.');
            for (int32_t d = 0; d < 10 && f < places; d++)
                s2c_nfa_edge_add(out, from, (f < 0 ? 0 : f + 2) * step + (r * 10 + d) % step,
                                 '0' + d, '0' + d);
        }
    }
    return out->status;
}

/* *a becomes what both allow; both are freed. */
static s2p_status narrow(s2c_nfa *a, s2c_nfa *b, s2p_status made, s2c_grammar *g)
{
    s2c_nfa both;
    s2c_nfa_init(&both);
    const s2p_status st = made != S2P_OK ? made : s2c_nfa_both(a, b, &both, g);
    s2c_nfa_free(a);
    s2c_nfa_free(b);
    *a = both;
    return st;
}

/* Copies `a` into `out` between two states. */
static void insert(const s2c_nfa *a, s2c_nfa *out, int32_t from, int32_t to)
{
    const int32_t first = out->n;
    for (int32_t i = 0; i < a->n; i++) (void)s2c_nfa_state(out);
    for (int32_t i = 0; i < a->n && out->status == S2P_OK; i++)
        for (int32_t e = a->first[i]; e >= 0; e = a->edge[e].next)
            s2c_nfa_edge_add(out, first + i, first + a->edge[e].to, a->edge[e].low,
                             a->edge[e].high);
    if (a->n == 0) return;
    s2c_nfa_edge_add(out, from, first + a->start, S2C_NFA_EMPTY, S2C_NFA_EMPTY);
    s2c_nfa_edge_add(out, first + a->end, to, S2C_NFA_EMPTY, S2C_NFA_EMPTY);
}

s2p_status s2c_numbers_automaton(const s2c_numbers *a, s2c_nfa *out, s2c_grammar *g)
{
    static const s2c_decimal zero = { 0 };
    const bool is_free = !a->has_min && !a->has_max && a->multiple == 0;
    int32_t n_whole = S2C_INTEGER_DIGITS, n_fraction = a->is_integer ? 0 : S2C_FRACTION_DIGITS;
    if (a->has_min && a->min.point > n_whole) n_whole = a->min.point + 1;
    if (a->has_max && a->max.point > n_whole) n_whole = a->max.point + 1;
    if (a->multiple > 0 && n_fraction > a->places) n_fraction = a->places;
    s2c_nfa_init(out);
    out->start = s2c_nfa_state(out);
    out->end = s2c_nfa_state(out);
    const int32_t minus = s2c_nfa_state(out);
    s2c_nfa_edge_add(out, out->start, minus, '-', '-');
    s2p_status st = S2P_OK;
    for (int32_t side = 0; side < 2 && st == S2P_OK; side++) { /* 0: from zero up; 1: below zero */
        const bool has_low =
            side == 0 ? a->has_min && !a->min.is_negative : a->has_max && a->max.is_negative;
        const bool has_high = side == 0 ? a->has_max : a->has_min;
        const s2c_decimal *low = side == 0 ? &a->min : &a->max,
                          *high = side == 0 ? &a->max : &a->min;
        const bool excludes_low = side == 0 ? a->excludes_min : a->excludes_max;
        const bool excludes_high = side == 0 ? a->excludes_max : a->excludes_min;
        if (has_high && high->is_negative != (side == 1) && (side == 1 || high->n > 0)) {
            continue; /* nothing on this side of zero: high is on the other */
        }
        s2c_nfa form, part;
        st = make_form(n_whole, n_fraction, is_free && !a->is_integer, &form);
        if (st == S2P_OK && side == 1 && !(is_free && !a->is_integer))
            st = narrow(&form, &part, make_bound(&zero, 1u << ABOVE, &part), g);
        if (st == S2P_OK && has_low)
            st = narrow(&form, &part,
                        make_bound(low, 1u << ABOVE | (excludes_low ? 0u : 1u << EQUAL), &part), g);
        if (st == S2P_OK && has_high)
            st = narrow(&form, &part,
                        make_bound(high, 1u << BELOW | (excludes_high ? 0u : 1u << EQUAL), &part),
                        g);
        if (st == S2P_OK && a->multiple > 1)
            st = narrow(&form, &part, make_multiple(a->multiple, a->places, &part), g);
        if (st == S2P_OK) insert(&form, out, side == 0 ? out->start : minus, out->end);
        s2c_nfa_free(&form);
    }
    return st == S2P_OK ? out->status : st;
}
