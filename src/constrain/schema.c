/* schema.c - a JSON schema as a grammar: one rule for each list of schemas that must all hold. */
#include "constrain/schema.h"

#include "constrain/gbnf.h"
#include "constrain/shape.h"

#include <stdlib.h>
#include <string.h>

enum { N_BUCKETS = 4096 };

typedef struct known_rule { /* the rule of a list of schemas */
    s2c_list schemas;
    int32_t rule;
    int32_t next; /* in its bucket; -1: last */
} known_rule;

typedef struct writer {
    s2c_compiler c;
    s2c_grammar *g;
    s2c_whitespace whitespace;
    known_rule *known;
    int32_t bucket[N_BUCKETS]; /* first of known + 1 by a hash of the schemas; 0: none */
    int32_t n_known, max_known, n_written;
    int32_t character; /* rule: one character of a string; -1: not made yet */
} writer;

static const s2c_range any_character = { 0, S2C_LAST_CHARACTER };

/* The rule for these schemas; it is written later, so that schemas may refer to each other. */
static s2p_status rule_of(writer *w, s2c_list schemas, int32_t *rule)
{
    uint32_t hash = 0;
    for (int32_t i = 0; i < schemas.n; i++) hash = (hash ^ (uint32_t)schemas.node[i]) * 0x9E3779B1u;
    int32_t *first = &w->bucket[hash >> 20];
    int32_t n_seen = 1;
    for (int32_t i = *first - 1; i >= 0; i = w->known[i].next, n_seen++)
        if (w->known[i].schemas.n == schemas.n &&
            (schemas.n == 0 || memcmp(w->known[i].schemas.node, schemas.node,
                                      (size_t)schemas.n * sizeof *schemas.node) == 0)) {
            *rule = w->known[i].rule;
            return S2P_OK;
        }
    if (!s2c_count(w->g, n_seen + schemas.n / 8)) return w->g->status;
    if (w->n_known == w->max_known) {
        const int32_t wanted = w->max_known ? 2 * w->max_known : 64;
        known_rule *grown = realloc(w->known, (size_t)wanted * sizeof *grown);
        if (!grown) return s2_fail_memory(w->c.error, (size_t)wanted * sizeof *grown, "the schema");
        w->known = grown;
        w->max_known = wanted;
    }
    *rule = s2c_new_rule(w->g);
    w->known[w->n_known++] = (known_rule){ schemas, *rule, *first - 1 };
    *first = w->n_known;
    return w->g->status;
}

/* White space that is allowed between two tokens. */
static int32_t space(writer *w, int32_t from, bool after_sign)
{
    s2c_grammar *g = w->g;
    if (w->whitespace == S2C_COMPACT || (w->whitespace == S2C_LINE && !after_sign)) return from;
    const int32_t to = s2c_new_state(g);
    s2c_empty(g, from, to);
    if (after_sign) s2c_bytes(g, from, to, ' ', ' ');
    if (w->whitespace == S2C_PRETTY) {
        int32_t at = s2c_new_state(g);
        s2c_bytes(g, from, at, '\n', '\n');
        for (int32_t i = 0; i <= 32 && g->status == S2P_OK; i++) {
            s2c_empty(g, at, to);
            const int32_t next = s2c_new_state(g);
            if (i < 32) s2c_bytes(g, at, next, ' ', ' ');
            at = next;
        }
    }
    return to;
}

static int32_t sign(writer *w, int32_t from, char byte)
{
    const int32_t to = s2c_new_state(w->g);
    s2c_bytes(w->g, from, to, (uint8_t)byte, (uint8_t)byte);
    return to;
}

static s2p_status write_string(writer *w, const s2c_shape *s, int32_t from, int32_t to)
{
    s2c_grammar *g = w->g;
    if (s->max_length < s->min_length) return S2P_OK;
    const int32_t first = sign(w, from, '"'), last = s2c_new_state(g);
    s2c_bytes(g, last, to, '"', '"');
    if (s->patterns.n > 0) {
        s2c_nfa automaton;
        const s2p_status st = s2c_string_automaton(&w->c, s, &automaton);
        if (st == S2P_OK) s2c_nfa_emit(&automaton, g, first, last, S2C_IN_STRING);
        s2c_nfa_free(&automaton);
        return st;
    }
    if (s->min_length == 0 && s->max_length == INT64_MAX) {
        s2c_empty(g, first, last);
        s2c_characters(g, first, first, &any_character, 1, S2C_IN_STRING);
        if (g->status == S2P_OK) g->state[first].is_free = true;
        return g->status;
    }
    if (w->character < 0) {
        w->character = s2c_new_rule(g);
        if (g->status != S2P_OK) return g->status;
        const s2c_rule *rule = &g->rule[w->character];
        s2c_characters(g, rule->start, rule->end, &any_character, 1, S2C_IN_STRING);
        if (g->status == S2P_OK) g->state[g->rule[w->character].start].is_free = true;
    }
    const int64_t most = S2C_MAX_COUNT - 1;
    if (s->min_length > most)
        return s2_fail(w->c.error, S2P_ELIMIT, "minLength is above %lld", (long long)most);
    if (s->min_length == 0) s2c_empty(g, first, last);
    if (s->max_length == 0) return g->status;
    const int32_t max = s->max_length > most ? S2C_MAX_COUNT : (int32_t)s->max_length;
    const int32_t repeat = s2c_new_repeat(g, w->character, (int32_t)s->min_length, max);
    if (g->status == S2P_OK) g->repeat[repeat].is_character = true;
    s2c_repeat_edge(g, first, last, repeat);
    return g->status;
}

static s2p_status write_number(writer *w, const s2c_shape *s, int32_t from, int32_t to)
{
    s2c_nfa automaton;
    s2p_status st = s2c_numbers_automaton(&s->number, &automaton, w->g);
    if (st == S2P_OK) s2c_nfa_emit(&automaton, w->g, from, to, S2C_UTF8);
    s2c_nfa_free(&automaton);
    if (st == S2P_ELIMIT && w->g->status == S2P_OK)
        st = s2_fail(w->c.error, S2P_ELIMIT,
                     "the bounds of a number with multipleOf need more than %d states",
                     S2C_NFA_MAX_STATES);
    return st;
}

/* `before` times `rule`, min to max times, from `from` to `to`. */
static void write_times(s2c_grammar *g, int32_t rule, int64_t min, int64_t max, int32_t from,
                        int32_t to)
{
    const int64_t most = S2C_MAX_COUNT - 1;
    if (max < min || min > most) return;
    if (min == 0) s2c_empty(g, from, to);
    if (max == 0) return;
    s2c_repeat_edge(
        g, from, to,
        s2c_new_repeat(g, rule, (int32_t)min, max > most ? S2C_MAX_COUNT : (int32_t)max));
}

static s2p_status write_array(writer *w, const s2c_shape *s, int32_t from, int32_t to)
{
    s2c_grammar *g = w->g;
    const s2c_list any = { 0, NULL };
    int32_t at = space(w, sign(w, from, '['), false), item;
    const int32_t close = s2c_new_state(g);
    s2c_bytes(g, space(w, close, false), to, ']', ']');
    int64_t max = s->max_items;
    /* Nothing follows the listed items unless the schema requires it. */
    if (!s->has_rest && s->n_prefix > 0 && s->min_items <= s->n_prefix && max > s->n_prefix)
        max = s->n_prefix;
    for (int32_t i = 0; i < s->n_prefix && i < max && g->status == S2P_OK; i++) {
        if (i >= s->min_items) s2c_empty(g, at, close);
        if (i > 0) at = space(w, sign(w, at, ','), true);
        TRY(rule_of(w, s->prefix[i], &item));
        const int32_t next = s2c_new_state(g);
        s2c_call(g, at, next, item);
        at = next;
    }
    const int64_t n = s->n_prefix < max ? s->n_prefix : max;
    const int64_t least = s->min_items > n ? s->min_items - n : 0,
                  most = max == INT64_MAX ? max : max - n;
    if (most < least) return g->status;
    if (least == 0) s2c_empty(g, at, close);
    if (most == 0) return g->status;
    TRY(rule_of(w, s->has_rest ? s->rest : any, &item));
    const int32_t more = s2c_new_rule(g); /* a comma and an item */
    if (g->status != S2P_OK) return g->status;
    const int32_t end = g->rule[more].end;
    s2c_call(g, space(w, sign(w, g->rule[more].start, ','), true), end, item);
    if (n > 0) {
        write_times(g, more, least > 0 ? least : 1, most, at, close);
    } else {
        const int32_t first = s2c_new_state(g);
        s2c_call(g, at, first, item);
        write_times(g, more, least > 1 ? least - 1 : 0, most == INT64_MAX ? most : most - 1, first,
                    close);
    }
    return g->status;
}

/* A colon and a value of these schemas. */
static s2p_status write_member(writer *w, s2c_list schemas, int32_t from, int32_t to)
{
    int32_t rule;
    TRY(rule_of(w, schemas, &rule));
    s2c_call(w->g, space(w, sign(w, from, ':'), true), to, rule);
    return w->g->status;
}

/* Any key except the named ones, after its opening quote, with its closing quote. The names form a
 * trie of characters: whatever leaves it is free, and a name itself may not end. */
static s2p_status write_other_key(writer *w, const s2c_property *named, int32_t n, int32_t from,
                                  int32_t to)
{
    s2c_grammar *g = w->g;
    const int32_t free_text = s2c_new_state(g);
    s2c_bytes(g, free_text, to, '"', '"');
    s2c_characters(g, free_text, free_text, &any_character, 1, S2C_IN_STRING);
    if (g->status == S2P_OK) g->state[free_text].is_free = true;
    if (n == 0) {
        s2c_empty(g, from, free_text);
        return g->status;
    }
    typedef struct node {
        int32_t state, code, child, sibling;
        bool is_name;
    } node;
    size_t n_max = 1;
    for (int32_t i = 0; i < n; i++) n_max += named[i].size;
    node *trie = s2c_take(&w->c, n_max * sizeof *trie);
    if (!trie) return S2P_ELIMIT;
    int32_t n_nodes = 1;
    trie[0] = (node){ .state = from, .child = -1, .sibling = -1 };
    for (int32_t i = 0; i < n; i++) {
        int32_t at = 0, code;
        for (size_t k = 0; k < named[i].size;) {
            k += (size_t)s2c_read_utf8(named[i].key + k, named[i].size - k, &code);
            int32_t next = trie[at].child;
            while (next >= 0 && trie[next].code != code) next = trie[next].sibling;
            if (next < 0) {
                next = n_nodes++;
                trie[next] = (node){ s2c_new_state(g), code, -1, trie[at].child, false };
                trie[at].child = next;
            }
            at = next;
        }
        trie[at].is_name = true;
    }
    for (int32_t i = 0; i < n_nodes && g->status == S2P_OK; i++) {
        s2c_class others;
        others.n = 0;
        if (!trie[i].is_name) s2c_bytes(g, trie[i].state, to, '"', '"');
        for (int32_t k = trie[i].child; k >= 0; k = trie[k].sibling) {
            const s2c_range one = { trie[k].code, trie[k].code };
            if (!s2c_class_add(&others, one.low, one.high))
                return s2_fail(w->c.error, S2P_ELIMIT,
                               "an object has too many keys that differ in one character");
            s2c_characters(g, trie[i].state, trie[k].state, &one, 1, S2C_IN_STRING);
        }
        s2c_class_invert(&others);
        s2c_characters(g, trie[i].state, free_text, others.range, others.n, S2C_IN_STRING);
    }
    return g->status;
}

/* The key as JSON with its closing quote. */
static char *spell_key(writer *w, const s2c_property *p, size_t *size)
{
    char *out = s2c_take(&w->c, p->size * 6 + 8);
    size_t n = 0;
    if (!out) return NULL;
    for (size_t i = 0; i < p->size;) {
        int32_t code = 0;
        i += (size_t)s2c_read_utf8(p->key + i, p->size - i, &code);
        char one[8];
        const int32_t length = s2c_spell(code, one);
        memcpy(out + n, one, (size_t)length);
        n += (size_t)length;
    }
    out[n++] = '"';
    *size = n;
    return out;
}

/* All keys with a name: those with a property, then those that are only required. */
static s2p_status named_keys(writer *w, const s2c_shape *s, s2c_property **out, int32_t *n)
{
    const s2c_list any = { 0, NULL };
    s2c_property *list =
        s2c_take(&w->c, ((size_t)s->n_properties + (size_t)s->n_required + 1) * sizeof *list);
    if (!list) return S2P_ELIMIT;
    *n = 0;
    for (int32_t i = 0; i < s->n_properties; i++) list[(*n)++] = s->property[i];
    for (int32_t i = 0; i < s->n_required; i++) {
        const s2c_property *key = &s->required[i];
        if (!s2c_count(w->g, s->n_properties / 8 + 1)) return w->g->status;
        if (s2c_find_property(s, key->key, key->size)) continue;
        list[*n] = *key;
        list[(*n)++].schemas = s->has_additional ? s->additional : any;
    }
    *out = list;
    return S2P_OK;
}

/* An object without named keys: any key, min to max members. */
static s2p_status write_map(writer *w, const s2c_shape *s, int32_t open, int32_t close)
{
    s2c_grammar *g = w->g;
    const s2c_list any = { 0, NULL }, schemas = s->has_additional ? s->additional : any;
    if (s->min_properties > 1)
        return s2c_refuse(
            &w->c, s->count_node,
            "minProperties above 1 cannot be enforced without named keys: a key could come twice");
    if (s->min_properties == 0) s2c_empty(g, open, close);
    if (s->max_properties == 0) return g->status;
    const int32_t member = s2c_new_rule(g), more = s2c_new_rule(g), first = s2c_new_state(g);
    if (g->status != S2P_OK) return g->status;
    const int32_t key = s2c_new_state(g), member_end = g->rule[member].end,
                  more_end = g->rule[more].end;
    TRY(write_other_key(w, NULL, 0, sign(w, g->rule[member].start, '"'), key));
    TRY(write_member(w, schemas, key, member_end));
    s2c_call(g, space(w, sign(w, g->rule[more].start, ','), true), more_end, member);
    s2c_call(g, open, first, member);
    write_times(g, more, 0, s->max_properties == INT64_MAX ? INT64_MAX : s->max_properties - 1,
                first, close);
    return g->status;
}

static s2p_status write_object(writer *w, const s2c_shape *s, int32_t from, int32_t to)
{
    s2c_grammar *g = w->g;
    s2c_property *named = NULL;
    int32_t n = 0;
    TRY(named_keys(w, s, &named, &n));
    const int32_t open = space(w, sign(w, from, '{'), false), close = s2c_new_state(g);
    s2c_bytes(g, space(w, close, false), to, '}', '}');
    if (n == 0) return write_map(w, s, open, close);

    s2c_shapes further = { 0 };
    if (s->has_additional) TRY(s2c_expand_all(&w->c, s->additional, &further));
    const bool is_open = further.n > 0;
    if (s->min_properties > s->n_required ||
        (s->max_properties != INT64_MAX && (is_open || s->max_properties < n)))
        return s2c_refuse(
            &w->c, s->count_node,
            "a number of properties cannot be enforced together with named keys, unless required "
            "and properties imply it");
    s2c_span *spelling = s2c_take(&w->c, (size_t)n * sizeof *spelling);
    bool *is_required = s2c_take(&w->c, (size_t)n * sizeof *is_required);
    int32_t *before = s2c_take(&w->c, ((size_t)n + 1) * sizeof *before);
    if (!spelling || !is_required || !before) return S2P_ELIMIT;
    int32_t last_required = -1;
    for (int32_t i = 0; i < n; i++) {
        if (!s2c_count(g, s->n_required / 8 + 1)) return g->status;
        is_required[i] = s2c_requires(s, named[i].key, named[i].size);
        if (is_required[i]) last_required = i;
        spelling[i].to = s2c_new_state(g);
        spelling[i].data = spell_key(w, &named[i], &spelling[i].size);
        if (!spelling[i].data) return S2P_ELIMIT;
    }
    s2c_keys(g, spelling, is_required, n, before);
    if (last_required < 0) s2c_empty(g, open, close);
    s2c_bytes(g, open, before[0], '"', '"');
    for (int32_t i = 0; i < n && g->status == S2P_OK; i++) {
        const int32_t after = s2c_new_state(g);
        TRY(write_member(w, named[i].schemas, spelling[i].to, after));
        if (i >= last_required) s2c_empty(g, after, close);
        if (i + 1 < n || is_open)
            s2c_bytes(g, space(w, sign(w, after, ','), true), before[i + 1], '"', '"');
    }
    if (is_open) {
        const int32_t key = s2c_new_state(g), after = s2c_new_state(g);
        TRY(write_other_key(w, named, n, before[n], key));
        TRY(write_member(w, s->additional, key, after));
        s2c_empty(g, after, close);
        s2c_bytes(g, space(w, sign(w, after, ','), true), before[n], '"', '"');
    }
    return g->status;
}

/* A value of an enum or const, as the schema writes it. */
static s2p_status write_value(writer *w, int32_t value, int32_t from, int32_t to)
{
    const s2c_document *d = &w->c.document;
    const s2c_node *v = &d->node[value];
    s2c_grammar *g = w->g;
    switch (v->type) {
    case S2C_NULL:
        s2c_text(g, from, to, "null", 4);
        return g->status;
    case S2C_FALSE:
        s2c_text(g, from, to, "false", 5);
        return g->status;
    case S2C_TRUE:
        s2c_text(g, from, to, "true", 4);
        return g->status;
    case S2C_NUMBER:
        s2c_text(g, from, to, v->text, v->size);
        return g->status;
    case S2C_STRING: {
        const s2c_property as_key = { .key = v->text, .size = v->size };
        size_t size;
        const char *text = spell_key(w, &as_key, &size);
        if (!text) return S2P_ELIMIT;
        s2c_text(g, sign(w, from, '"'), to, text, size);
        return g->status;
    }
    default:
        break;
    }
    const bool is_object = v->type == S2C_OBJECT;
    int32_t at = space(w, sign(w, from, is_object ? '{' : '['), false);
    for (int32_t m = v->child; m >= 0 && g->status == S2P_OK; m = d->node[m].next) {
        if (m != v->child) at = space(w, sign(w, at, ','), true);
        if (is_object) {
            const s2c_property key = { .key = d->node[m].key, .size = d->node[m].key_size };
            size_t size;
            const char *text = spell_key(w, &key, &size);
            if (!text) return S2P_ELIMIT;
            const int32_t next = s2c_new_state(g);
            s2c_text(g, sign(w, at, '"'), next, text, size);
            at = space(w, sign(w, next, ':'), true);
        }
        const int32_t next = s2c_new_state(g);
        TRY(write_value(w, m, at, next));
        at = next;
    }
    s2c_bytes(g, space(w, at, false), to, is_object ? '}' : ']', is_object ? '}' : ']');
    return g->status;
}

static s2p_status write_values(writer *w, const s2c_shape *s, int32_t from, int32_t to)
{
    s2c_grammar *g = w->g;
    s2c_span *text = s2c_take(&w->c, ((size_t)s->values.n + 1) * sizeof *text);
    int32_t n = 0;
    if (!text) return S2P_ELIMIT;
    s2c_shape rest = *s;
    rest.has_values = false;
    for (int32_t i = 0; i < s->values.n && g->status == S2P_OK; i++) {
        const int32_t value = s->values.node[i];
        const s2c_node *v = &w->c.document.node[value];
        bool accepts;
        TRY(s2c_shape_accepts(&w->c, &rest, value, &accepts));
        if (!accepts) continue;
        if (v->type != S2C_STRING) {
            TRY(write_value(w, value, from, to));
            continue;
        }
        const s2c_property as_key = { .key = v->text, .size = v->size };
        text[n].data = spell_key(w, &as_key, &text[n].size);
        if (!text[n].data) return S2P_ELIMIT;
        text[n++].to = to;
    }
    if (n > 0) s2c_texts(g, sign(w, from, '"'), text, n); /* strings share their beginnings */
    return g->status;
}

static s2p_status write_shape(writer *w, const s2c_shape *s, int32_t from, int32_t to)
{
    s2c_grammar *g = w->g;
    if (s->has_values) return write_values(w, s, from, to);
    const uint32_t kinds = s->kinds == S2C_IS_ANY && s->mentioned ? s->mentioned : s->kinds;
    if (kinds & S2C_IS_NULL) s2c_text(g, from, to, "null", 4);
    if (kinds & S2C_IS_BOOLEAN) {
        s2c_text(g, from, to, "true", 4);
        s2c_text(g, from, to, "false", 5);
    }
    if (kinds & S2C_IS_NUMBER) TRY(write_number(w, s, from, to));
    if (kinds & S2C_IS_STRING) TRY(write_string(w, s, from, to));
    if (kinds & S2C_IS_ARRAY) TRY(write_array(w, s, from, to));
    if (kinds & S2C_IS_OBJECT) TRY(write_object(w, s, from, to));
    return g->status;
}

static s2p_status write_all(writer *w, int32_t *root)
{
    s2c_compiler *c = &w->c;
    const s2c_list first = { 1, (const int32_t[]){ 0 } };
    const int32_t dialect = s2c_member(&c->document, 0, "$schema");
    if (dialect >= 0) {
        const s2c_node *d = &c->document.node[dialect];
        for (size_t i = 0; d->type == S2C_STRING && i + 7 <= d->size; i++)
            c->ignores_siblings |= memcmp(d->text + i, "draft-0", 7) == 0;
    }
    TRY(rule_of(w, first, root));
    for (; w->n_written < w->n_known; w->n_written++) {
        const known_rule known = w->known[w->n_written];
        s2c_shapes shapes;
        TRY(s2c_expand_all(c, known.schemas, &shapes));
        for (int32_t i = 0; i < shapes.n; i++)
            for (int32_t k = 0; k < shapes.n; k++) {
                const int32_t rivals = s2c_rival_branches(c, &shapes.shape[i], &shapes.shape[k]);
                bool never = true;
                if (rivals >= 0)
                    TRY(s2c_is_never_written(c, &shapes.shape[i], &shapes.shape[k], &never));
                if (!never)
                    return s2c_refuse(
                        c, rivals,
                        "the branches of oneOf cannot be distinguished while text is generated; "
                        "use anyOf");
            }
        for (int32_t i = 0; i < shapes.n; i++)
            TRY(write_shape(w, &shapes.shape[i], w->g->rule[known.rule].start,
                            w->g->rule[known.rule].end));
    }
    return S2P_OK;
}

s2p_status s2c_schema_rule(s2c_grammar *g, const char *text, size_t n, s2c_whitespace whitespace,
                           int32_t *rule, s2p_error *error)
{
    if (n > S2C_MAX_TEXT)
        return s2_fail(error, S2P_ELIMIT, "the schema has %zu bytes (limit %d)", n, S2C_MAX_TEXT);
    writer w = { .g = g,
                 .whitespace = whitespace,
                 .character = -1,
                 .c = {
                     .g = g, .error = error, .expand = s2c_expand, .expand_all = s2c_expand_all } };
    TRY(s2c_document_read(&w.c.document, text, n, error));
    w.c.is_open = calloc((size_t)w.c.document.n + 1, 1);
    const s2p_status st = w.c.is_open ? write_all(&w, rule)
                                      : s2_fail_memory(error, (size_t)w.c.document.n, "the schema");
    free(w.known);
    s2c_release(&w.c);
    return st;
}

s2p_status s2c_schema(s2c_grammar *g, const char *text, size_t n, s2c_whitespace whitespace,
                      s2p_error *error)
{
    int32_t root = 0;
    bool is_empty = false;
    s2p_status st = s2c_schema_rule(g, text, n, whitespace, &root, error);
    if (st == S2P_OK || g->status != S2P_OK) {
        st = s2c_grammar_finish(g, root, NULL, NULL, &is_empty, error);
        if (is_empty) st = s2_fail(error, S2P_EINVAL, "/: nothing can satisfy the schema");
    }
    return st;
}
