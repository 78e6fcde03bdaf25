/* shape_judge.c - values and shapes judged as a validator would: which values of an enum fit the other
 * keywords, and whether two branches of oneOf can ever both hold.
 *
 * Here a keyword says nothing about other kinds of value, as in JSON Schema; that a shape without a
 * type writes only the kinds its keywords speak of is decided when it is written.
 */
#include "constrain/shape.h"

#include <string.h>

static uint32_t kind_of(s2c_type type)
{
    switch (type) {
    case S2C_NULL:
        return S2C_IS_NULL;
    case S2C_FALSE:
    case S2C_TRUE:
        return S2C_IS_BOOLEAN;
    case S2C_NUMBER:
        return S2C_IS_NUMBER;
    case S2C_STRING:
        return S2C_IS_STRING;
    case S2C_ARRAY:
        return S2C_IS_ARRAY;
    default:
        return S2C_IS_OBJECT;
    }
}

/* Does the value satisfy all of these schemas? */
static s2p_status all_accept(s2c_compiler *c, s2c_list schemas, int32_t value, bool *accepts)
{
    *accepts = true;
    for (int32_t i = 0; i < schemas.n && *accepts; i++) {
        s2c_shapes shapes;
        TRY(c->expand(c, schemas.node[i], &shapes));
        int32_t taken = -1;
        for (int32_t k = 0; k < shapes.n && *accepts; k++) {
            bool fits;
            TRY(s2c_shape_accepts(c, &shapes.shape[k], value, &fits));
            if (fits && taken >= 0 &&
                s2c_rival_branches(c, &shapes.shape[taken], &shapes.shape[k]) >= 0)
                *accepts = false; /* two branches of one oneOf */
            if (fits && taken < 0) taken = k;
        }
        *accepts &= taken >= 0;
    }
    return S2P_OK;
}

static s2p_status accepts_string(s2c_compiler *c, const s2c_shape *s, const s2c_node *v,
                                 bool *accepts)
{
    int64_t length = 0;
    for (size_t i = 0; i < v->size; i++) length += ((uint8_t)v->text[i] & 0xC0) != 0x80;
    *accepts = length >= s->min_length && length <= s->max_length;
    if (!*accepts || s->patterns.n == 0) return S2P_OK;
    const s2c_list *last = &c->automaton_of; /* values come many at a time */
    if (last->n != s->patterns.n ||
        memcmp(last->node, s->patterns.node, (size_t)last->n * sizeof *last->node) != 0) {
        s2c_shape only = *s; /* lengths were compared */
        only.min_length = 0;
        only.max_length = INT64_MAX;
        s2c_nfa_free(&c->automaton);
        c->automaton_of.n = 0;
        TRY(s2c_string_automaton(c, &only, &c->automaton));
        c->automaton_of = s->patterns;
    }
    const int64_t n_states = c->automaton.n, n_edges = c->automaton.n_edges;
    if (!s2c_count(c->g, n_states / 8 + (int64_t)v->size * n_edges / 16)) return c->g->status;
    *accepts = s2c_nfa_accepts(&c->automaton, v->text, v->size);
    return S2P_OK;
}

static s2p_status accepts_array(s2c_compiler *c, const s2c_shape *s, int32_t value, bool *accepts)
{
    const s2c_document *d = &c->document;
    int32_t i = 0;
    *accepts =
        d->node[value].n_children >= s->min_items && d->node[value].n_children <= s->max_items;
    for (int32_t item = d->node[value].child; item >= 0 && *accepts;
         item = d->node[item].next, i++) {
        if (i < s->n_prefix)
            TRY(all_accept(c, s->prefix[i], item, accepts));
        else if (s->has_rest)
            TRY(all_accept(c, s->rest, item, accepts));
    }
    return S2P_OK;
}

static s2p_status accepts_object(s2c_compiler *c, const s2c_shape *s, int32_t value, bool *accepts)
{
    const s2c_document *d = &c->document;
    *accepts = d->node[value].n_children >= s->min_properties &&
               d->node[value].n_children <= s->max_properties;
    const int64_t n_pairs = (int64_t)d->node[value].n_children * (s->n_required + s->n_properties);
    if (!s2c_count(c->g, n_pairs / 8)) return c->g->status;
    for (int32_t i = 0; i < s->n_required && *accepts; i++) {
        bool is_there = false;
        for (int32_t m = d->node[value].child; m >= 0; m = d->node[m].next)
            is_there |= s2c_same_text(d->node[m].key, d->node[m].key_size, s->required[i].key,
                                      s->required[i].size);
        *accepts = is_there;
    }
    for (int32_t m = d->node[value].child; m >= 0 && *accepts; m = d->node[m].next) {
        const s2c_property *p = s2c_find_property(s, d->node[m].key, d->node[m].key_size);
        if (p)
            TRY(all_accept(c, p->schemas, m, accepts));
        else if (s->has_additional)
            TRY(all_accept(c, s->additional, m, accepts));
    }
    return S2P_OK;
}

s2p_status s2c_shape_accepts(s2c_compiler *c, const s2c_shape *s, int32_t value, bool *accepts)
{
    const s2c_node *v = &c->document.node[value];
    if (!s2c_count(c->g, 4)) return c->g->status;
    *accepts = (s->kinds & kind_of(v->type)) != 0;
    if (*accepts && s->has_values) {
        bool is_there = false;
        for (int32_t i = 0; i < s->values.n && !is_there; i++)
            is_there = s2c_same_value(c, s->values.node[i], value);
        *accepts = is_there;
    }
    if (!*accepts) return S2P_OK;
    switch (v->type) {
    case S2C_NUMBER: {
        s2c_decimal number;
        *accepts =
            s2c_decimal_read(v->text, v->size, &number) && s2c_numbers_accept(&s->number, &number);
        return S2P_OK;
    }
    case S2C_STRING:
        return accepts_string(c, s, v, accepts);
    case S2C_ARRAY:
        return accepts_array(c, s, value, accepts);
    case S2C_OBJECT:
        return accepts_object(c, s, value, accepts);
    default:
        return S2P_OK;
    }
}

static s2p_status strings_are_apart(s2c_compiler *c, const s2c_shape *a, const s2c_shape *b,
                                    bool *apart)
{
    *apart = a->max_length < b->min_length || b->max_length < a->min_length ||
             a->max_length < a->min_length || b->max_length < b->min_length;
    if (*apart || a->patterns.n == 0 || b->patterns.n == 0) return S2P_OK;
    s2c_shape both = *a;
    if (b->min_length > both.min_length) both.min_length = b->min_length;
    if (b->max_length < both.max_length) both.max_length = b->max_length;
    TRY(s2c_list_join(c, a->patterns, b->patterns, &both.patterns));
    s2c_nfa automaton;
    const s2p_status st = s2c_string_automaton(c, &both, &automaton);
    *apart = st == S2P_OK && s2c_nfa_is_empty(&automaton);
    s2c_nfa_free(&automaton);
    return st;
}

/* No value satisfies both lists, as far as can be proved. */
static bool lists_are_apart(s2c_compiler *c, s2c_list a, s2c_list b)
{
    s2c_shapes x, y;
    if (c->expand_all(c, a, &x) != S2P_OK || c->expand_all(c, b, &y) != S2P_OK) return false;
    for (int32_t i = 0; i < x.n; i++)
        for (int32_t k = 0; k < y.n; k++) {
            bool apart;
            if (s2c_shapes_are_apart(c, &x.shape[i], &y.shape[k], &apart) != S2P_OK || !apart)
                return false;
        }
    return true;
}

/* The shape allows no key of this name. */
static bool forbids(s2c_compiler *c, const s2c_shape *s, const char *key, size_t size)
{
    const s2c_property *p = s2c_find_property(s, key, size);
    if (!p && !s->has_additional) return false;
    s2c_shapes shapes;
    return c->expand_all(c, p ? p->schemas : s->additional, &shapes) == S2P_OK && shapes.n == 0;
}

static bool objects_are_apart(s2c_compiler *c, const s2c_shape *a, const s2c_shape *b)
{
    const int64_t n_names = (int64_t)a->n_properties + b->n_properties + b->n_required;
    if (!s2c_count(c->g, ((int64_t)a->n_required + b->n_required) * n_names / 8)) return false;
    for (int32_t i = 0; i < a->n_required; i++) {
        const s2c_property *key = &a->required[i];
        if (forbids(c, b, key->key, key->size)) return true;
        const s2c_property *x = s2c_find_property(a, key->key, key->size);
        const s2c_property *y = s2c_find_property(b, key->key, key->size);
        if (x && y && s2c_requires(b, key->key, key->size) &&
            lists_are_apart(c, x->schemas, y->schemas))
            return true;
    }
    for (int32_t i = 0; i < b->n_required; i++)
        if (forbids(c, a, b->required[i].key, b->required[i].size)) return true;
    return false;
}

s2p_status s2c_shapes_are_apart(s2c_compiler *c, const s2c_shape *a, const s2c_shape *b,
                                bool *apart)
{
    if (!s2c_count(c->g, 16)) return c->g->status;
    for (int32_t side = 0; side < 2; side++) { /* no value of one's list satisfies the other */
        const s2c_shape *x = side == 0 ? a : b, *y = side == 0 ? b : a;
        if (!x->has_values) continue;
        *apart = true;
        for (int32_t i = 0; i < x->values.n && *apart; i++) {
            bool first, second;
            TRY(s2c_shape_accepts(c, x, x->values.node[i], &first));
            TRY(s2c_shape_accepts(c, y, x->values.node[i], &second));
            *apart = !(first && second);
        }
        return S2P_OK;
    }
    const uint32_t common = a->kinds & b->kinds;
    *apart = (common & (S2C_IS_NULL | S2C_IS_BOOLEAN)) == 0;
    if (*apart && common & S2C_IS_NUMBER) *apart = s2c_numbers_are_apart(&a->number, &b->number);
    if (*apart && common & S2C_IS_STRING) TRY(strings_are_apart(c, a, b, apart));
    if (*apart && common & S2C_IS_ARRAY)
        *apart = a->max_items < b->min_items || b->max_items < a->min_items;
    if (*apart && common & S2C_IS_OBJECT)
        *apart = a->max_properties < b->min_properties || b->max_properties < a->min_properties ||
                 objects_are_apart(c, a, b);
    return S2P_OK;
}

int32_t s2c_rival_branches(const s2c_compiler *c, const s2c_shape *a, const s2c_shape *b)
{
    for (int32_t i = 0; i < a->branches.n; i++)
        for (int32_t k = 0; k < b->branches.n; k++) {
            const int32_t x = a->branches.node[i], y = b->branches.node[k];
            const int32_t parent = c->document.node[x].parent;
            if (x != y && parent == c->document.node[y].parent) return parent;
        }
    return S2C_NO_NODE;
}

s2p_status s2c_is_never_written(s2c_compiler *c, const s2c_shape *a, const s2c_shape *b,
                                bool *never)
{
    TRY(s2c_shapes_are_apart(c, a, b, never));
    if (*never || a->has_values) return S2P_OK;
    /* Only the kinds that are written count, and objects are closed unless additionalProperties says more. */
    s2c_shape written = *a;
    if (a->kinds == S2C_IS_ANY && a->mentioned) written.kinds = a->mentioned;
    if (written.kinds & b->kinds & S2C_IS_OBJECT && !a->has_additional &&
        (a->n_properties > 0 || a->n_required > 0))
        for (int32_t i = 0; i < b->n_required; i++) {
            const s2c_property *key = &b->required[i];
            if (s2c_find_property(a, key->key, key->size) || s2c_requires(a, key->key, key->size))
                continue;
            written.kinds &= ~(uint32_t)S2C_IS_OBJECT;
        }
    return s2c_shapes_are_apart(c, &written, b, never);
}
