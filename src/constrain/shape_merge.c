/* shape_merge.c - what two shapes allow together, kind by kind. */
#include "constrain/shape.h"

#include <string.h>

s2p_status s2c_list_join(s2c_compiler *c, s2c_list a, s2c_list b, s2c_list *out)
{
    int32_t *node = s2c_take(c, ((size_t)a.n + (size_t)b.n + 1) * sizeof *node);
    if (!node) return S2P_ELIMIT;
    int32_t n = 0;
    for (int32_t i = 0, k = 0; i < a.n || k < b.n;) {
        const int32_t next =
            k == b.n || (i < a.n && a.node[i] <= b.node[k]) ? a.node[i] : b.node[k];
        while (i < a.n && a.node[i] == next) i++;
        while (k < b.n && b.node[k] == next) k++;
        node[n++] = next;
    }
    *out = (s2c_list){ n, node };
    return S2P_OK;
}

const s2c_property *s2c_find_property(const s2c_shape *shape, const char *key, size_t size)
{
    for (int32_t i = 0; i < shape->n_properties; i++)
        if (s2c_same_text(shape->property[i].key, shape->property[i].size, key, size))
            return &shape->property[i];
    return NULL;
}

bool s2c_requires(const s2c_shape *shape, const char *key, size_t size)
{
    for (int32_t i = 0; i < shape->n_required; i++)
        if (s2c_same_text(shape->required[i].key, shape->required[i].size, key, size)) return true;
    return false;
}

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

static s2p_status merge_arrays(s2c_compiler *c, const s2c_shape *a, const s2c_shape *b,
                               s2c_shape *out)
{
    out->min_items = larger(a->min_items, b->min_items);
    out->max_items = smaller(a->max_items, b->max_items);
    const int32_t n = a->n_prefix > b->n_prefix ? a->n_prefix : b->n_prefix;
    s2c_list *prefix = s2c_take(c, ((size_t)n + 1) * sizeof *prefix);
    if (!prefix) return S2P_ELIMIT;
    for (int32_t i = 0; i < n; i++) {
        const s2c_list none = { 0, NULL };
        TRY(s2c_list_join(c,
                          i < a->n_prefix ? a->prefix[i]
                          : a->has_rest   ? a->rest
                                          : none,
                          i < b->n_prefix ? b->prefix[i]
                          : b->has_rest   ? b->rest
                                          : none,
                          &prefix[i]));
    }
    out->n_prefix = n;
    out->prefix = prefix;
    out->has_rest = a->has_rest || b->has_rest;
    return s2c_list_join(c, a->rest, b->rest, &out->rest);
}

/* The properties of `from` that are not there yet, under the other's rule for further keys. */
static s2p_status add_properties(s2c_compiler *c, const s2c_shape *from, const s2c_shape *other,
                                 s2c_property *to, int32_t *n, bool is_first)
{
    for (int32_t i = 0; i < from->n_properties; i++) {
        const s2c_property *p = &from->property[i];
        const s2c_property *same = s2c_find_property(other, p->key, p->size);
        if (!s2c_count(c->g, other->n_properties / 8 + 1)) return c->g->status;
        if (same && !is_first) continue;
        const s2c_list none = { 0, NULL };
        to[*n] = *p;
        TRY(s2c_list_join(c, p->schemas,
                          same                    ? same->schemas
                          : other->has_additional ? other->additional
                                                  : none,
                          &to[*n].schemas));
        (*n)++;
    }
    return S2P_OK;
}

static s2p_status merge_objects(s2c_compiler *c, const s2c_shape *a, const s2c_shape *b,
                                s2c_shape *out)
{
    const size_t n_all = (size_t)a->n_properties + (size_t)b->n_properties + 1;
    const size_t n_needed = (size_t)a->n_required + (size_t)b->n_required + 1;
    s2c_property *property = s2c_take(c, n_all * sizeof *property);
    s2c_property *required = s2c_take(c, n_needed * sizeof *required);
    if (!property || !required) return S2P_ELIMIT;
    int32_t n = 0;
    TRY(add_properties(c, a, b, property, &n, true));
    TRY(add_properties(c, b, a, property, &n, false));
    out->property = property;
    out->n_properties = n;
    n = 0;
    for (int32_t i = 0; i < a->n_required; i++) required[n++] = a->required[i];
    if (!s2c_count(c->g, (int64_t)a->n_required * b->n_required / 8)) return c->g->status;
    for (int32_t i = 0; i < b->n_required; i++)
        if (!s2c_requires(a, b->required[i].key, b->required[i].size))
            required[n++] = b->required[i];
    out->required = required;
    out->n_required = n;
    out->has_additional = a->has_additional || b->has_additional;
    out->min_properties = larger(a->min_properties, b->min_properties);
    out->max_properties = smaller(a->max_properties, b->max_properties);
    out->count_node = a->count_node >= 0 ? a->count_node : b->count_node;
    return s2c_list_join(c, a->additional, b->additional, &out->additional);
}

static s2p_status merge_values(s2c_compiler *c, const s2c_shape *a, const s2c_shape *b,
                               s2c_shape *out)
{
    out->has_values = a->has_values || b->has_values;
    if (!a->has_values || !b->has_values) {
        out->values = a->has_values ? a->values : b->values;
        return S2P_OK;
    }
    int32_t *node = s2c_take(c, ((size_t)a->values.n + 1) * sizeof *node), n = 0;
    if (!node) return S2P_ELIMIT;
    for (int32_t i = 0; i < a->values.n; i++)
        for (int32_t k = 0; k < b->values.n; k++) {
            if (c->g->status != S2P_OK) return c->g->status;
            if (!s2c_same_value(c, a->values.node[i], b->values.node[k])) continue;
            node[n++] = a->values.node[i];
            break;
        }
    out->values = (s2c_list){ n, node };
    return S2P_OK;
}

s2p_status s2c_merge(s2c_compiler *c, const s2c_shape *a, const s2c_shape *b, int32_t node,
                     s2c_shape *out, bool *is_possible)
{
    if (!s2c_count(c->g, 1)) return c->g->status;
    *out = *a;
    out->kinds = a->kinds & b->kinds;
    out->mentioned = a->mentioned | b->mentioned;
    if (!s2c_numbers_merge(&out->number, &b->number))
        return s2c_refuse(c, node,
                          "the least common multiple of two multipleOf is too large (limit 1000)");
    out->min_length = larger(a->min_length, b->min_length);
    out->max_length = smaller(a->max_length, b->max_length);
    TRY(s2c_list_join(c, a->patterns, b->patterns, &out->patterns));
    TRY(merge_arrays(c, a, b, out));
    TRY(merge_objects(c, a, b, out));
    TRY(merge_values(c, a, b, out));
    TRY(s2c_list_join(c, a->branches, b->branches, &out->branches));
    *is_possible = out->kinds != 0 && !(out->has_values && out->values.n == 0);
    return S2P_OK;
}
