/* gbnf.c - llama.cpp's grammar notation, read into automata.
 *
 * Grammars are over characters there and over bytes here, which is the same language. A repetition with
 * counts becomes a counter, not copies. Left recursion, rules that cannot end and references to single
 * tokens (<name>, <[5]>) are refused; so is a rule that is defined twice.
 */
#include "constrain/gbnf.h"

#include "base/suggest.h"
#include "constrain/characters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NESTING = 200, MAX_NAME = 128, N_BUCKETS = 4096 };

typedef struct named_rule {
    char name[MAX_NAME + 1];
    size_t at; /* where it was met first */
    int32_t rule;
    int32_t next; /* in its bucket; -1: last */
    bool is_defined;
} named_rule;

typedef struct reader {
    s2c_grammar *g;
    const char *text;
    size_t n, at;
    named_rule *rule;
    int32_t n_rules, max_rules;
    int32_t bucket[N_BUCKETS]; /* first of rule + 1 by a hash of the name; 0: none */
    s2p_error *error;
} reader;

static s2p_status refuse(const reader *r, size_t at, const char *what)
{
    size_t line = 1, column = 1;
    for (size_t i = 0; i < at && i < r->n; i++) {
        column++;
        if (r->text[i] == '\n') {
            line++;
            column = 1;
        }
    }
    return s2_fail(r->error, S2P_EINVAL, "line %zu, column %zu: %s", line, column, what);
}

static bool is_name_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
}

static char peek(const reader *r) { return r->at < r->n ? r->text[r->at] : '\0'; }

/* Spaces, tabs and comments; line ends too where a rule may go on. */
static void skip_space(reader *r, bool over_lines)
{
    while (r->at < r->n) {
        const char c = r->text[r->at];
        if (c == '#')
            while (r->at < r->n && r->text[r->at] != '\n' && r->text[r->at] != '\r') r->at++;
        else if (c == ' ' || c == '\t' || (over_lines && (c == '\n' || c == '\r')))
            r->at++;
        else
            break;
    }
}

/* Reads a name and finds its rule; made when it is met first. */
static s2p_status read_name(reader *r, named_rule **out)
{
    const size_t at = r->at;
    while (r->at < r->n && is_name_byte(r->text[r->at])) r->at++;
    const size_t size = r->at - at;
    if (size == 0) return refuse(r, at, "expected the name of a rule");
    if (size > MAX_NAME) return refuse(r, at, "the name of a rule is too long (limit 128)");
    uint32_t hash = 0;
    for (size_t i = 0; i < size; i++) hash = (hash ^ (uint8_t)r->text[at + i]) * 0x9E3779B1u;
    int32_t *first = &r->bucket[hash >> 20];
    int32_t n_seen = 1;
    for (int32_t i = *first - 1; i >= 0; i = r->rule[i].next, n_seen++)
        if (memcmp(r->rule[i].name, r->text + at, size) == 0 && r->rule[i].name[size] == '\0') {
            *out = &r->rule[i];
            return s2c_count(r->g, n_seen) ? S2P_OK
                                           : S2P_ELIMIT; /* names may share a bucket on purpose */
        }
    if (!s2c_count(r->g, n_seen)) return S2P_ELIMIT;
    if (r->n_rules == r->max_rules) {
        const int32_t wanted = r->max_rules ? 2 * r->max_rules : 32;
        named_rule *grown = realloc(r->rule, (size_t)wanted * sizeof *grown);
        if (!grown) return s2_fail_memory(r->error, (size_t)wanted * sizeof *grown, "the rules");
        r->rule = grown;
        r->max_rules = wanted;
    }
    *out = &r->rule[r->n_rules++];
    **out = (named_rule){ .at = at, .rule = s2c_new_rule(r->g), .next = *first - 1 };
    *first = r->n_rules;
    memcpy((*out)->name, r->text + at, size);
    return r->g->status;
}

static s2p_status read_hex(reader *r, int32_t n_digits, int32_t *code)
{
    const size_t at = r->at;
    int64_t value = 0;
    for (int32_t i = 0; i < n_digits; i++, r->at++) {
        const char c = peek(r);
        const int32_t digit = c >= '0' && c <= '9'   ? c - '0'
                              : c >= 'a' && c <= 'f' ? c - 'a' + 10
                              : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                     : -1;
        if (digit < 0) return refuse(r, at, "an escape has too few hexadecimal digits");
        value = value * 16 + digit;
    }
    if (value > S2C_LAST_CHARACTER || (value >= 0xD800 && value <= 0xDFFF))
        return refuse(r, at, "an escape names no character");
    *code = (int32_t)value;
    return S2P_OK;
}

/* One character of a literal or a class. */
static s2p_status read_character(reader *r, int32_t *code)
{
    const size_t at = r->at;
    if (peek(r) != '\\') {
        const int32_t size = s2c_read_utf8(r->text + r->at, r->n - r->at, code);
        if (size == 0) return refuse(r, at, "invalid UTF-8");
        r->at += (size_t)size;
        return S2P_OK;
    }
    r->at++;
    const char c = peek(r);
    r->at++;
    switch (c) {
    case 'x':
        return read_hex(r, 2, code);
    case 'u':
        return read_hex(r, 4, code);
    case 'U':
        return read_hex(r, 8, code);
    case 't':
        *code = '\t';
        return S2P_OK;
    case 'r':
        *code = '\r';
        return S2P_OK;
    case 'n':
        *code = '\n';
        return S2P_OK;
    case '\\':
    case '"':
    case '[':
    case ']':
    case '-':
    case '^':
        *code = c;
        return S2P_OK;
    default:
        return refuse(r, at, "unknown escape");
    }
}

static s2p_status read_literal(reader *r, int32_t from, int32_t to)
{
    const size_t at = r->at++;
    int32_t state = from;
    while (peek(r) != '"') {
        int32_t code;
        if (r->at >= r->n || peek(r) == '\n')
            return refuse(r, at, "a text in quotes is not closed");
        TRY(read_character(r, &code));
        char bytes[4];
        const int32_t size = s2c_write_utf8(code, bytes), next = s2c_new_state(r->g);
        s2c_text(r->g, state, next, bytes, (size_t)size);
        state = next;
        if (r->g->status != S2P_OK) return r->g->status;
    }
    r->at++;
    s2c_empty(r->g, state, to);
    return S2P_OK;
}

static s2p_status read_class(reader *r, int32_t from, int32_t to)
{
    const size_t at = r->at++;
    s2c_class set;
    set.n = 0;
    const bool is_inverted = peek(r) == '^';
    if (is_inverted) r->at++;
    while (peek(r) != ']') {
        int32_t low, high;
        if (r->at >= r->n) return refuse(r, at, "a class in brackets is not closed");
        TRY(read_character(r, &low));
        high = low;
        if (peek(r) == '-' && r->at + 1 < r->n && r->text[r->at + 1] != ']') {
            r->at++;
            TRY(read_character(r, &high));
        }
        if (high < low) return refuse(r, at, "a range in brackets ends before it begins");
        if (!s2c_class_add(&set, low, high))
            return refuse(r, at, "a class has too many ranges (limit 512)");
    }
    r->at++;
    if (is_inverted) s2c_class_invert(&set);
    s2c_characters(r->g, from, to, set.range, set.n, S2C_UTF8);
    return S2P_OK;
}

static s2p_status read_count(reader *r, int32_t *count)
{
    const size_t at = r->at;
    int64_t value = 0;
    while (peek(r) >= '0' && peek(r) <= '9' && value < S2C_MAX_COUNT)
        value = value * 10 + (r->text[r->at++] - '0');
    if (r->at == at) return refuse(r, at, "expected a number of repetitions");
    if (value >= S2C_MAX_COUNT)
        return refuse(r, at, "a number of repetitions is too large (limit 2147483646)");
    *count = (int32_t)value;
    return S2P_OK;
}

/* {m}, {m,} or {m,n}; the brace is next. */
static s2p_status read_counts(reader *r, int32_t *min, int32_t *max)
{
    const size_t at = r->at++;
    skip_space(r, true);
    TRY(read_count(r, min));
    *max = *min;
    skip_space(r, true);
    if (peek(r) == ',') {
        r->at++;
        skip_space(r, true);
        *max = S2C_MAX_COUNT;
        if (peek(r) != '}') TRY(read_count(r, max));
        skip_space(r, true);
    }
    if (peek(r) != '}') return refuse(r, at, "a number of repetitions is not closed");
    r->at++;
    if (*max < *min)
        return refuse(r, at, "the largest number of repetitions is below the smallest");
    return S2P_OK;
}

/* Replaces the fragment from *a to *b by its repetitions, for each sign that follows it. */
static s2p_status read_repetitions(reader *r, int32_t *a, int32_t *b)
{
    s2c_grammar *g = r->g;
    for (;;) {
        int32_t min = 0, max = S2C_MAX_COUNT;
        switch (peek(r)) {
        case '*':
            r->at++;
            break;
        case '+':
            min = 1, r->at++;
            break;
        case '?':
            max = 1, r->at++;
            break;
        case '{':
            TRY(read_counts(r, &min, &max));
            break;
        default:
            return g->status;
        }
        const int32_t from = s2c_new_state(g), to = s2c_new_state(g), rule = s2c_new_rule(g);
        if (g->status != S2P_OK) return g->status;
        if (min == 0) s2c_empty(g, from, to);
        if (max == 1 || (max == S2C_MAX_COUNT && min <= 1)) { /* needs no counter */
            s2c_empty(g, from, *a);
            s2c_empty(g, *b, to);
            if (max > 1) s2c_empty(g, *b, *a);
        } else if (max > 1) {
            s2c_empty(g, g->rule[rule].start, *a);
            s2c_empty(g, *b, g->rule[rule].end);
            s2c_repeat_edge(g, from, to, s2c_new_repeat(g, rule, min, max));
        }
        *a = from;
        *b = to;
    }
}

static s2p_status read_alternatives(reader *r, int32_t from, int32_t to, int32_t depth);

static bool is_rule_head(const reader *r)
{
    size_t at = r->at;
    while (at < r->n && is_name_byte(r->text[at])) at++;
    while (at < r->n && (r->text[at] == ' ' || r->text[at] == '\t')) at++;
    return at + 3 <= r->n && memcmp(r->text + at, "::=", 3) == 0;
}

static s2p_status read_sequence(reader *r, int32_t from, int32_t to, int32_t depth)
{
    s2c_grammar *g = r->g;
    int32_t state = from;
    for (skip_space(r, depth > 0); r->at < r->n; skip_space(r, depth > 0)) {
        const char c = peek(r);
        if (c == '|' || c == ')' || c == '\n' || c == '\r') break;
        int32_t a = s2c_new_state(g), b = s2c_new_state(g);
        const size_t at = r->at;
        if (c == '"') {
            TRY(read_literal(r, a, b));
        } else if (c == '[') {
            TRY(read_class(r, a, b));
        } else if (c == '.') {
            const s2c_range any = { 0, S2C_LAST_CHARACTER };
            r->at++;
            s2c_characters(g, a, b, &any, 1, S2C_UTF8);
        } else if (c == '(') {
            if (depth == MAX_NESTING)
                return refuse(r, at, "parentheses are nested too deep (limit 200)");
            r->at++;
            TRY(read_alternatives(r, a, b, depth + 1));
            if (peek(r) != ')') return refuse(r, at, "a parenthesis is not closed");
            r->at++;
        } else if (is_name_byte(c)) {
            named_rule *rule;
            if (depth > 0 && is_rule_head(r)) return refuse(r, at, "a parenthesis is not closed");
            TRY(read_name(r, &rule));
            s2c_call(g, a, b, rule->rule);
        } else if (c == '<') {
            return refuse(r, at, "references to single tokens are not supported");
        } else {
            return refuse(r, at,
                          c == '*' || c == '+' || c == '?' || c == '{'
                              ? "there is nothing to repeat"
                              : "unexpected character");
        }
        TRY(read_repetitions(r, &a, &b));
        s2c_empty(g, state, a);
        state = b;
    }
    s2c_empty(g, state, to);
    return g->status;
}

static s2p_status read_alternatives(reader *r, int32_t from, int32_t to, int32_t depth)
{
    TRY(read_sequence(r, from, to, depth));
    while (peek(r) == '|') {
        r->at++;
        skip_space(r, true);
        TRY(read_sequence(r, from, to, depth));
    }
    return S2P_OK;
}

static s2p_status read_rules(reader *r)
{
    for (skip_space(r, true); r->at < r->n; skip_space(r, true)) {
        const size_t at = r->at;
        named_rule *rule;
        TRY(read_name(r, &rule));
        skip_space(r, false);
        if (r->n - r->at < 3 || memcmp(r->text + r->at, "::=", 3) != 0)
            return refuse(r, r->at, "expected ::= after the name of a rule");
        r->at += 3;
        if (rule->is_defined) return refuse(r, at, "this rule is defined twice");
        rule->is_defined = true;
        const int32_t id = rule->rule;
        skip_space(r, true);
        if (is_name_byte(peek(r)) && is_rule_head(r)) return refuse(r, at, "this rule is empty");
        if (r->g->status != S2P_OK) return r->g->status;
        TRY(read_alternatives(r, r->g->rule[id].start, r->g->rule[id].end, 0));
        if (peek(r) == ')') return refuse(r, r->at, "a parenthesis is closed that was not opened");
    }
    return S2P_OK;
}

static const char *name_of(void *context, int32_t rule)
{
    const reader *r = context;
    for (int32_t i = 0; i < r->n_rules; i++)
        if (r->rule[i].rule == rule) return r->rule[i].name;
    return NULL;
}

static const char *next_defined(const void *context, size_t index)
{
    const reader *r = context;
    for (int32_t i = 0; i < r->n_rules; i++)
        if (r->rule[i].is_defined && index-- == 0) return r->rule[i].name;
    return NULL;
}

/* Every rule that is used must be there. */
static s2p_status check_defined(reader *r, int32_t *root)
{
    *root = -1;
    for (int32_t i = 0; i < r->n_rules; i++) {
        const named_rule *rule = &r->rule[i];
        if (rule->is_defined && strcmp(rule->name, "root") == 0) *root = rule->rule;
        if (rule->is_defined) continue;
        char sentence[2 * MAX_NAME + 64];
        const char *near = s2_suggest(rule->name, next_defined, r);
        snprintf(sentence, sizeof sentence, "there is no rule '%s'%s%s%s", rule->name,
                 near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
        return refuse(r, rule->at, sentence);
    }
    if (*root < 0) return s2_fail(r->error, S2P_EINVAL, "there is no rule 'root'");
    return S2P_OK;
}

s2p_status s2c_gbnf(s2c_grammar *g, const char *text, size_t n, s2p_error *error)
{
    if (n > S2C_MAX_TEXT)
        return s2_fail(error, S2P_ELIMIT, "the grammar has %zu bytes (limit %d)", n, S2C_MAX_TEXT);
    reader r = { .g = g, .text = text, .n = n, .error = error };
    int32_t root = -1;
    bool is_empty;
    s2p_status st =
        memchr(text, '\0', n) ? refuse(&r, 0, "the grammar has a byte 0") : read_rules(&r);
    if (st == S2P_OK) st = check_defined(&r, &root);
    if (st == S2P_OK || g->status != S2P_OK)
        st = s2c_grammar_finish(g, root < 0 ? 0 : root, name_of, &r, &is_empty, error);
    free(r.rule);
    return st;
}
