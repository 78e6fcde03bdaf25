/* regex.c - patterns of ECMA-262 as automata over characters.
 *
 * Taken: literals, classes, . \d \w \s \D \W \S, escapes, groups, alternation and all quantifiers (lazy
 * ones allow the same texts). Refused: what no automaton over characters can do (look-around,
 * backreferences, word boundaries), \p and named groups.
 *
 * A pattern is searched for. So it is read between two loops over any character, and the text between
 * two marks: ^ reads the first mark, $ the second, and a loop reads a mark where there is no anchor.
 * Taking the marks away leaves the automaton of the texts in which the pattern is found.
 */
#include "constrain/nfa.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_NESTING = 200, BEGIN = -2, END = -3, MAX_PATTERN = 16384 };

typedef struct regex {
    const char *text;
    size_t n, at;
    s2c_nfa *out;
    s2c_grammar *g;
    const char *what;
    s2p_error *error;
} regex;

static s2p_status refuse(const regex *r, const char *why)
{
    return s2_fail(r->error, S2P_EINVAL, "%s: at character %zu of the pattern: %s", r->what,
                   r->at + 1, why);
}

static char peek(const regex *r) { return r->at < r->n ? r->text[r->at] : '\0'; }
static bool is_at_end(const regex *r) { return r->at >= r->n; }
static void add_empty(regex *r, int32_t from, int32_t to)
{
    s2c_nfa_edge_add(r->out, from, to, S2C_NFA_EMPTY, S2C_NFA_EMPTY);
}

/* \d \w \s into a class; the capital letters invert. */
static void add_named(s2c_class *set, char name)
{
    static const s2c_range digits[] = { { '0', '9' } };
    static const s2c_range words[] = { { '0', '9' }, { 'A', 'Z' }, { '_', '_' }, { 'a', 'z' } };
    static const s2c_range spaces[] = { { 0x09, 0x0D },     { 0x20, 0x20 },     { 0xA0, 0xA0 },
                                        { 0x1680, 0x1680 }, { 0x2000, 0x200A }, { 0x2028, 0x2029 },
                                        { 0x202F, 0x202F }, { 0x205F, 0x205F }, { 0x3000, 0x3000 },
                                        { 0xFEFF, 0xFEFF } };
    const char lower = (char)(name | 0x20);
    const s2c_range *range = lower == 'd' ? digits : lower == 'w' ? words : spaces;
    const size_t n = lower == 'd'   ? sizeof digits / sizeof *digits
                     : lower == 'w' ? sizeof words / sizeof *words
                                    : sizeof spaces / sizeof *spaces;
    s2c_class one;
    one.n = 0;
    for (size_t i = 0; i < n; i++) s2c_class_add(&one, range[i].low, range[i].high);
    if (name != lower) s2c_class_invert(&one);
    for (int32_t i = 0; i < one.n; i++) s2c_class_add(set, one.range[i].low, one.range[i].high);
}

static s2p_status read_hex(regex *r, int32_t n_digits, int32_t *code)
{
    *code = 0;
    for (int32_t i = 0; i < n_digits; i++, r->at++) {
        const char c = peek(r);
        const int32_t digit = c >= '0' && c <= '9'   ? c - '0'
                              : c >= 'a' && c <= 'f' ? c - 'a' + 10
                              : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                     : -1;
        if (digit < 0) return refuse(r, "an escape has too few hexadecimal digits");
        *code = *code * 16 + digit;
    }
    return S2P_OK;
}

static s2p_status read_unicode(regex *r, int32_t *code)
{
    if (peek(r) == '{') {
        int64_t value = 0;
        int32_t digit;
        for (r->at++; peek(r) != '}';) {
            TRY(read_hex(r, 1, &digit));
            value = value * 16 + digit;
            if (value > S2C_LAST_CHARACTER) return refuse(r, "an escape names no character");
        }
        r->at++;
        *code = (int32_t)value;
    } else {
        TRY(read_hex(r, 4, code));
        if (*code >= 0xD800 && *code <= 0xDBFF && r->n - r->at >= 6 && r->text[r->at] == '\\' &&
            r->text[r->at + 1] == 'u') { /* two halves of one character */
            int32_t low;
            r->at += 2;
            TRY(read_hex(r, 4, &low));
            if (low < 0xDC00 || low > 0xDFFF) return refuse(r, "half a surrogate pair");
            *code = 0x10000 + ((*code - 0xD800) << 10) + (low - 0xDC00);
        }
    }
    if (*code >= 0xD800 && *code <= 0xDFFF) return refuse(r, "half a surrogate pair");
    return S2P_OK;
}

/* After the backslash: a class (\d, ...) added to the set, or one character as *code (else -1). */
static s2p_status read_escape(regex *r, s2c_class *set, int32_t *code)
{
    const char c = peek(r);
    *code = -1;
    if (is_at_end(r)) return refuse(r, "a backslash at the end");
    r->at++;
    switch (c) {
    case 'd':
    case 'D':
    case 'w':
    case 'W':
    case 's':
    case 'S':
        add_named(set, c);
        return S2P_OK;
    case 't':
        *code = '\t';
        return S2P_OK;
    case 'n':
        *code = '\n';
        return S2P_OK;
    case 'r':
        *code = '\r';
        return S2P_OK;
    case 'f':
        *code = '\f';
        return S2P_OK;
    case 'v':
        *code = '\v';
        return S2P_OK;
    case 'x':
        return read_hex(r, 2, code);
    case 'u':
        return read_unicode(r, code);
    case 'b':
    case 'B':
        return refuse(r, "word boundaries are not supported");
    case 'p':
    case 'P':
        return refuse(r, "properties of characters (\\p) are not supported");
    case 'c':
        return refuse(r, "control escapes (\\c) are not supported");
    case '0':
        if (peek(r) >= '0' && peek(r) <= '9') return refuse(r, "octal escapes are not supported");
        *code = 0;
        return S2P_OK;
    default:
        break;
    }
    if (c >= '1' && c <= '9') return refuse(r, "backreferences are not supported");
    if (c == 'k') return refuse(r, "named groups are not supported");
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return refuse(r, "unknown escape");
    r->at--;
    const int32_t size = s2c_read_utf8(r->text + r->at, r->n - r->at, code);
    if (size == 0) return refuse(r, "invalid UTF-8");
    r->at += (size_t)size;
    return S2P_OK;
}

static s2p_status read_one(regex *r, s2c_class *set, int32_t *code)
{
    if (peek(r) == '\\') {
        r->at++;
        if (peek(r) == 'b') { /* in brackets it is a backspace */
            r->at++;
            *code = '\b';
            return S2P_OK;
        }
        if (peek(r) == '-') {
            r->at++;
            *code = '-';
            return S2P_OK;
        }
        return read_escape(r, set, code);
    }
    const int32_t size = s2c_read_utf8(r->text + r->at, r->n - r->at, code);
    if (size == 0) return refuse(r, "invalid UTF-8");
    r->at += (size_t)size;
    return S2P_OK;
}

static s2p_status read_class(regex *r, s2c_class *set)
{
    const bool is_inverted = peek(r) == '^';
    if (is_inverted) r->at++;
    while (peek(r) != ']') {
        int32_t low, high;
        if (is_at_end(r)) return refuse(r, "a class in brackets is not closed");
        TRY(read_one(r, set, &low));
        high = low;
        if (peek(r) == '-' && r->at + 1 < r->n && r->text[r->at + 1] != ']') {
            r->at++;
            TRY(read_one(r, set, &high));
            if (low < 0 || high < 0)
                return refuse(r, "a class such as \\d cannot be the end of a range");
            if (high < low) return refuse(r, "a range in brackets ends before it begins");
        }
        if (low >= 0 && !s2c_class_add(set, low, high))
            return refuse(r, "a class has too many ranges (limit 512)");
    }
    r->at++;
    if (is_inverted) s2c_class_invert(set);
    return S2P_OK;
}

/* {m}, {m,}, {m,n} at the brace; false: the brace is a character. */
static bool read_counts(regex *r, int32_t *min, int32_t *max)
{
    size_t at = r->at + 1;
    int64_t value[2] = { -1, -1 };
    int32_t i = 0;
    for (; at < r->n && r->text[at] != '}'; at++) {
        const char c = r->text[at];
        if (c == ',' && i == 0 && value[0] >= 0) {
            i = 1;
        } else if (c >= '0' && c <= '9') {
            if (value[i] < 0) value[i] = 0;
            if (value[i] < S2C_NO_LENGTH) value[i] = value[i] * 10 + (c - '0');
        } else {
            return false;
        }
    }
    if (at >= r->n || value[0] < 0) return false;
    const int64_t most = S2C_NO_LENGTH - 1;
    *min = (int32_t)(value[0] < most ? value[0] : most);
    *max = i == 0         ? *min
           : value[1] < 0 ? S2C_NO_LENGTH
                          : (int32_t)(value[1] < most ? value[1] : most);
    r->at = at + 1;
    return true;
}

static s2p_status read_alternatives(regex *r, int32_t from, int32_t to, int32_t depth);

/* One atom without its quantifier, from state to state. */
static s2p_status read_atom(regex *r, int32_t from, int32_t to, int32_t depth)
{
    s2c_class set;
    set.n = 0;
    int32_t code = -1;
    const char c = peek(r);
    const size_t begin = r->at;
    switch (c) {
    case '(':
        if (depth == MAX_NESTING) return refuse(r, "parentheses are nested too deep (limit 200)");
        r->at++;
        if (peek(r) == '?') {
            if (r->n - r->at >= 2 && r->text[r->at + 1] == ':') {
                r->at += 2;
            } else if (r->n - r->at >= 3 && r->text[r->at + 1] == '<' &&
                       r->text[r->at + 2] != '=' && r->text[r->at + 2] != '!') {
                return refuse(r, "named groups are not supported");
            } else {
                return refuse(r, "look-ahead and look-behind are not supported");
            }
        }
        TRY(read_alternatives(r, from, to, depth + 1));
        if (peek(r) != ')') return refuse(r, "a parenthesis is not closed");
        r->at++;
        return S2P_OK;
    case '[':
        r->at++;
        TRY(read_class(r, &set));
        break;
    case '.': /* anything but line ends */
        r->at++;
        s2c_class_add(&set, '\n', '\n');
        s2c_class_add(&set, '\r', '\r');
        s2c_class_add(&set, 0x2028, 0x2029);
        s2c_class_invert(&set);
        break;
    case '*':
    case '+':
    case '?':
        return refuse(r, "there is nothing to repeat");
    case '\\':
        r->at++;
        TRY(read_escape(r, &set, &code));
        break;
    default:
        TRY(read_one(r, &set, &code));
        break;
    }
    if (code >= 0) s2c_class_add(&set, code, code);
    s2c_nfa_class(r->out, from, to, &set);
    /* its text, and where each range went among the others */
    const int64_t n = set.n;
    return s2c_count(r->g, 1 + (int64_t)(r->at - begin) / 4 + n + n * n / 64) ? S2P_OK
                                                                              : r->g->status;
}

/* An atom and its quantifier. Counts repeat the atom's text, up to the limit of states. */
static s2p_status read_piece(regex *r, int32_t from, int32_t to, int32_t depth)
{
    const size_t begin = r->at;
    if (peek(r) == '^' || peek(r) == '$') {
        const int32_t mark = peek(r) == '^' ? BEGIN : END;
        s2c_nfa_edge_add(r->out, from, to, mark, mark);
        r->at++;
        if (peek(r) == '*' || peek(r) == '+' || peek(r) == '?')
            return refuse(r, "there is nothing to repeat");
        return S2P_OK;
    }
    int32_t first = s2c_nfa_state(r->out), last = s2c_nfa_state(r->out), min = 1, max = 1;
    TRY(read_atom(r, first, last, depth));
    switch (peek(r)) {
    case '*':
        min = 0, max = S2C_NO_LENGTH, r->at++;
        break;
    case '+':
        max = S2C_NO_LENGTH, r->at++;
        break;
    case '?':
        min = 0, r->at++;
        break;
    case '{':
        (void)read_counts(r, &min, &max);
        break;
    default:
        break;
    }
    const bool is_quantified = r->text[r->at - 1] == '*' || r->text[r->at - 1] == '+' ||
                               r->text[r->at - 1] == '?' || r->text[r->at - 1] == '}';
    if (is_quantified && peek(r) == '?') r->at++; /* lazy */
    const size_t end = r->at;
    if (max < min) return refuse(r, "the largest number of repetitions is below the smallest");
    if (max == 0) {
        add_empty(r, from, to);
        return r->out->status;
    }
    int32_t at = from;
    for (int32_t i = 0; r->out->status == S2P_OK; i++) {
        if (!s2c_count(r->g, 1)) return r->g->status;
        if (i > 0) { /* once more */
            first = s2c_nfa_state(r->out);
            last = s2c_nfa_state(r->out);
            r->at = begin;
            TRY(read_atom(r, first, last, depth));
        }
        add_empty(r, at, first);
        if (i >= min) add_empty(r, at, to);
        at = last;
        if (max == S2C_NO_LENGTH && i + 1 >= min) {
            add_empty(r, last, first);
            break;
        }
        if (i + 1 == max) break;
    }
    add_empty(r, at, to);
    r->at = end;
    return r->out->status;
}

static s2p_status read_alternatives(regex *r, int32_t from, int32_t to, int32_t depth)
{
    for (;;) {
        int32_t at = from;
        while (!is_at_end(r) && peek(r) != '|' && peek(r) != ')') {
            const int32_t next = s2c_nfa_state(r->out);
            TRY(read_piece(r, at, next, depth));
            if (r->out->status != S2P_OK) return r->out->status;
            at = next;
        }
        add_empty(r, at, to);
        if (peek(r) != '|' || is_at_end(r)) return r->out->status;
        r->at++;
    }
}

/* Marks every state reached from `start` by empty edges. */
static void reach(const s2c_nfa *a, int32_t start, uint8_t *seen, int32_t *stack)
{
    int32_t n = 0;
    memset(seen, 0, (size_t)a->n);
    seen[start] = 1;
    stack[n++] = start;
    while (n > 0)
        for (int32_t e = a->first[stack[--n]]; e >= 0; e = a->edge[e].next) {
            if (a->edge[e].low != S2C_NFA_EMPTY || seen[a->edge[e].to]) continue;
            seen[a->edge[e].to] = 1;
            stack[n++] = a->edge[e].to;
        }
}

/* Marks every state from which empty edges lead to the end: backwards, over edges listed by target. */
static void find_ends(s2c_nfa *a, uint8_t *ends, int32_t *stack)
{
    int32_t *last = malloc((size_t)a->n * sizeof *last);
    int32_t *before = malloc(((size_t)a->n_edges + 1) * sizeof *before);
    int32_t *from = malloc(((size_t)a->n_edges + 1) * sizeof *from), n = 0;
    if (!last || !before || !from) {
        a->status = S2P_ENOMEM;
    } else {
        for (int32_t s = 0; s < a->n; s++) last[s] = -1;
        for (int32_t s = 0; s < a->n; s++)
            for (int32_t e = a->first[s]; e >= 0; e = a->edge[e].next) {
                if (a->edge[e].low != S2C_NFA_EMPTY) continue;
                from[e] = s;
                before[e] = last[a->edge[e].to];
                last[a->edge[e].to] = e;
            }
        ends[a->end] = 1;
        stack[n++] = a->end;
        while (n > 0)
            for (int32_t e = last[stack[--n]]; e >= 0; e = before[e]) {
                if (ends[from[e]]) continue;
                ends[from[e]] = 1;
                stack[n++] = from[e];
            }
    }
    free(last);
    free(before);
    free(from);
}

/* Takes the marks away: the text begins behind the first and ends before the second. */
static s2p_status remove_marks(s2c_nfa *a)
{
    const int32_t start = s2c_nfa_state(a), end = s2c_nfa_state(a);
    if (a->status != S2P_OK) return a->status;
    uint8_t *seen = malloc((size_t)a->n), *ends = calloc((size_t)a->n, 1);
    int32_t *stack = malloc((size_t)a->n * sizeof *stack);
    if (!seen || !ends || !stack) {
        a->status = S2P_ENOMEM;
    } else {
        reach(a, a->start, seen, stack);
        const int32_t n_edges = a->n_edges;
        for (int32_t s = 0; s < a->n; s++)
            for (int32_t e = a->first[s]; e >= 0 && seen[s]; e = a->edge[e].next)
                if (a->edge[e].low == BEGIN && e < n_edges)
                    s2c_nfa_edge_add(a, start, a->edge[e].to, S2C_NFA_EMPTY, S2C_NFA_EMPTY);
        find_ends(a, ends, stack);
        for (int32_t s = 0; s < a->n; s++)
            for (int32_t e = a->first[s]; e >= 0; e = a->edge[e].next)
                if (a->edge[e].low == END && ends[a->edge[e].to]) {
                    s2c_nfa_edge_add(a, s, end, S2C_NFA_EMPTY, S2C_NFA_EMPTY);
                    break;
                }
        for (int32_t s = 0; s < a->n && a->status == S2P_OK; s++)
            for (int32_t *e = &a->first[s]; *e >= 0;) {
                if (a->edge[*e].low == BEGIN || a->edge[*e].low == END)
                    *e = a->edge[*e].next;
                else
                    e = &a->edge[*e].next;
            }
        a->start = start;
        a->end = end;
    }
    free(seen);
    free(ends);
    free(stack);
    return a->status;
}

s2p_status s2c_regex(const char *pattern, size_t n, const char *what, s2c_nfa *out, s2c_grammar *g,
                     s2p_error *error)
{
    s2c_nfa_init(out);
    regex r = { .text = pattern, .n = n, .out = out, .g = g, .what = what, .error = error };
    if (n > MAX_PATTERN)
        return s2_fail(error, S2P_ELIMIT, "%s: the pattern has %zu bytes (limit %d)", what, n,
                       MAX_PATTERN);
    const int32_t before = s2c_nfa_state(out), first = s2c_nfa_state(out),
                  last = s2c_nfa_state(out), after = s2c_nfa_state(out);
    for (int32_t i = 0; i < 2; i++) {
        const int32_t loop = i == 0 ? before : after, mark = i == 0 ? BEGIN : END;
        s2c_nfa_edge_add(out, loop, loop, 0, S2C_LAST_CHARACTER);
        s2c_nfa_edge_add(out, loop, loop, mark, mark);
    }
    add_empty(&r, before, first);
    add_empty(&r, last, after);
    out->start = before;
    out->end = after;
    s2p_status st = read_alternatives(&r, first, last, 0);
    if (st == S2P_OK && !is_at_end(&r))
        st = refuse(&r, "a parenthesis is closed that was not opened");
    if (st == S2P_OK) st = remove_marks(out);
    if (st == S2P_ELIMIT || out->status == S2P_ELIMIT)
        st = s2_fail(error, S2P_ELIMIT, "%s: the pattern needs more than %d states", what,
                     S2C_NFA_MAX_STATES);
    else if (st == S2P_ENOMEM)
        st = s2_fail(error, S2P_ENOMEM, "%s: no memory for the pattern", what);
    return st;
}
