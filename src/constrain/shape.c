/* shape.c - from the keywords of a schema to its alternatives. */
#include "constrain/shape.h"

#include <string.h>

enum { MAX_EXPANSIONS = 200 };

static const s2c_shape any_shape = { .kinds = S2C_IS_ANY,
                                     .max_length = INT64_MAX,
                                     .max_items = INT64_MAX,
                                     .max_properties = INT64_MAX,
                                     .count_node = S2C_NO_NODE };

static const s2c_node *at(const s2c_compiler *c, int32_t node) { return &c->document.node[node]; }
static int32_t member(const s2c_compiler *c, int32_t node, const char *key)
{
    return s2c_member(&c->document, node, key);
}

/* Keywords that only a validator of whole documents can check. */
static s2p_status refuse_keywords(s2c_compiler *c, int32_t node)
{
    static const char *const never[] = {
        "not",           "if",          "dependentSchemas", "dependentRequired",
        "dependencies",  "contains",    "unevaluatedItems", "unevaluatedProperties",
        "propertyNames", "$dynamicRef", "$recursiveRef"
    };
    for (size_t i = 0; i < sizeof never / sizeof *never; i++) {
        const int32_t found = member(c, node, never[i]);
        if (found >= 0)
            return s2c_refuse(
                c, found, "%s cannot be enforced while text is generated; leave it out", never[i]);
    }
    const int32_t unique = member(c, node, "uniqueItems");
    if (unique >= 0 && at(c, unique)->type == S2C_TRUE)
        return s2c_refuse(c, unique,
                          "uniqueItems cannot be enforced while text is generated; leave it out");
    const int32_t patterns = member(c, node, "patternProperties");
    if (patterns >= 0 && (at(c, patterns)->type != S2C_OBJECT || at(c, patterns)->n_children > 0))
        return s2c_refuse(
            c, patterns,
            "patternProperties cannot be enforced while text is generated; leave it out");
    return S2P_OK;
}

static s2p_status read_one_type(s2c_compiler *c, int32_t node, s2c_shape *s, bool *has_integer)
{
    static const struct {
        const char *name;
        uint32_t kind;
    } types[] = { { "null", S2C_IS_NULL },     { "boolean", S2C_IS_BOOLEAN },
                  { "number", S2C_IS_NUMBER }, { "string", S2C_IS_STRING },
                  { "array", S2C_IS_ARRAY },   { "object", S2C_IS_OBJECT } };
    if (s2c_is_text(at(c, node), "integer")) {
        *has_integer = true;
        return S2P_OK;
    }
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (s2c_is_text(at(c, node), types[i].name)) {
            s->kinds |= types[i].kind;
            return S2P_OK;
        }
    return s2c_refuse(
        c, node,
        "a type is null, boolean, integer, number, string, array or object, or a list of these");
}

static s2p_status read_types(s2c_compiler *c, int32_t node, s2c_shape *s)
{
    const int32_t type = member(c, node, "type");
    if (type < 0) return S2P_OK;
    bool has_integer = false;
    s->kinds = 0;
    if (at(c, type)->type == S2C_ARRAY) {
        for (int32_t t = at(c, type)->child; t >= 0; t = at(c, t)->next)
            TRY(read_one_type(c, t, s, &has_integer));
    } else {
        TRY(read_one_type(c, type, s, &has_integer));
    }
    s->number.is_integer = has_integer && !(s->kinds & S2C_IS_NUMBER);
    if (has_integer) s->kinds |= S2C_IS_NUMBER;
    return S2P_OK;
}

static s2p_status read_values(s2c_compiler *c, int32_t node, s2c_shape *s)
{
    const int32_t list = member(c, node, "enum"), one = member(c, node, "const");
    if (list >= 0) {
        if (at(c, list)->type != S2C_ARRAY) return s2c_refuse(c, list, "enum must be an array");
        int32_t *values = s2c_take(c, ((size_t)at(c, list)->n_children + 1) * sizeof *values),
                n = 0;
        if (!values) return S2P_ELIMIT;
        for (int32_t v = at(c, list)->child; v >= 0; v = at(c, v)->next) values[n++] = v;
        s->has_values = true;
        s->values = (s2c_list){ n, values };
    }
    if (one >= 0) {
        int32_t *value = s2c_take(c, sizeof *value);
        if (!value) return S2P_ELIMIT;
        *value = one;
        bool is_there = !s->has_values;
        for (int32_t i = 0; i < s->values.n; i++)
            is_there |= s2c_same_value(c, s->values.node[i], one);
        s->has_values = true;
        s->values = (s2c_list){ is_there ? 1 : 0, value };
    }
    return S2P_OK;
}

static s2p_status read_decimal(s2c_compiler *c, int32_t node, const char *name, s2c_decimal *out)
{
    if (at(c, node)->type != S2C_NUMBER) return s2c_refuse(c, node, "%s must be a number", name);
    if (!s2c_decimal_read(at(c, node)->text, at(c, node)->size, out))
        return s2c_refuse(c, node, "%s has too many digits (limit %d)", name, S2C_MAX_DIGITS);
    return S2P_OK;
}

static s2p_status read_numbers(s2c_compiler *c, int32_t node, s2c_shape *s)
{
    static const struct {
        const char *name;
        bool is_min, excludes;
    } bounds[] = { { "minimum", true, false },
                   { "exclusiveMinimum", true, true },
                   { "maximum", false, false },
                   { "exclusiveMaximum", false, true } };
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        const int32_t found = member(c, node, bounds[i].name);
        if (found < 0) continue;
        s2c_numbers one = { .has_min = bounds[i].is_min,
                            .has_max = !bounds[i].is_min,
                            .excludes_min = bounds[i].excludes,
                            .excludes_max = bounds[i].excludes };
        TRY(read_decimal(c, found, bounds[i].name, bounds[i].is_min ? &one.min : &one.max));
        (void)s2c_numbers_merge(&s->number, &one);
        s->mentioned |= S2C_IS_NUMBER;
    }
    const int32_t step = member(c, node, "multipleOf");
    if (step < 0) return S2P_OK;
    s2c_decimal value;
    TRY(read_decimal(c, step, "multipleOf", &value));
    if (value.n == 0 || value.is_negative) return s2c_refuse(c, step, "multipleOf must be above 0");
    if (!s2c_numbers_set_multiple(&s->number, &value))
        return s2c_refuse(
            c, step, "multipleOf must have at most 9 decimals, and at most 1000 without the point");
    s->mentioned |= S2C_IS_NUMBER;
    return S2P_OK;
}

static s2p_status read_size(s2c_compiler *c, int32_t node, const char *name, uint32_t kind,
                            s2c_shape *s, int64_t *out)
{
    const int32_t found = member(c, node, name);
    if (found < 0) return S2P_OK;
    s2c_decimal value;
    TRY(read_decimal(c, found, name, &value));
    if (value.is_negative || !s2c_decimal_is_integer(&value) || value.point > 15)
        return s2c_refuse(c, found, "%s must be a whole number from 0 on", name);
    int64_t size = 0;
    for (int32_t i = 0; i < value.point; i++) size = size * 10 + (i < value.n ? value.digit[i] : 0);
    *out = size;
    s->mentioned |= kind;
    return S2P_OK;
}

static s2p_status one_schema(s2c_compiler *c, int32_t node, s2c_list *out)
{
    int32_t *list = s2c_take(c, sizeof *list);
    if (!list) return S2P_ELIMIT;
    list[0] = node;
    *out = (s2c_list){ 1, list };
    return S2P_OK;
}

static s2p_status read_strings(s2c_compiler *c, int32_t node, s2c_shape *s)
{
    TRY(read_size(c, node, "minLength", S2C_IS_STRING, s, &s->min_length));
    TRY(read_size(c, node, "maxLength", S2C_IS_STRING, s, &s->max_length));
    static const char *const names[] = { "pattern", "format" };
    for (int32_t i = 0; i < 2; i++) {
        const int32_t found = member(c, node, names[i]);
        if (found < 0) continue;
        s2c_list one;
        if (at(c, found)->type != S2C_STRING)
            return s2c_refuse(c, found, "%s must be a string", names[i]);
        TRY(one_schema(c, found, &one));
        TRY(s2c_list_join(c, s->patterns, one, &s->patterns));
        s->mentioned |= S2C_IS_STRING;
    }
    return S2P_OK;
}

static s2p_status read_arrays(s2c_compiler *c, int32_t node, s2c_shape *s)
{
    TRY(read_size(c, node, "minItems", S2C_IS_ARRAY, s, &s->min_items));
    TRY(read_size(c, node, "maxItems", S2C_IS_ARRAY, s, &s->max_items));
    int32_t prefix = member(c, node, "prefixItems"), rest = member(c, node, "items");
    if (prefix < 0 && rest >= 0 && at(c, rest)->type == S2C_ARRAY) { /* as in draft 7 */
        prefix = rest;
        rest = member(c, node, "additionalItems");
    }
    if (prefix >= 0) {
        if (at(c, prefix)->type != S2C_ARRAY)
            return s2c_refuse(c, prefix, "prefixItems must be an array");
        s2c_list *list = s2c_take(c, ((size_t)at(c, prefix)->n_children + 1) * sizeof *list);
        if (!list) return S2P_ELIMIT;
        for (int32_t i = at(c, prefix)->child; i >= 0; i = at(c, i)->next)
            TRY(one_schema(c, i, &list[s->n_prefix++]));
        s->prefix = list;
        s->mentioned |= S2C_IS_ARRAY;
    }
    if (rest >= 0) {
        TRY(one_schema(c, rest, &s->rest));
        s->has_rest = true;
        s->mentioned |= S2C_IS_ARRAY;
    }
    return S2P_OK;
}

static s2p_status read_objects(s2c_compiler *c, int32_t node, s2c_shape *s)
{
    TRY(read_size(c, node, "minProperties", S2C_IS_OBJECT, s, &s->min_properties));
    TRY(read_size(c, node, "maxProperties", S2C_IS_OBJECT, s, &s->max_properties));
    s->count_node = member(c, node, "minProperties");
    if (s->count_node < 0 || s->min_properties == 0)
        s->count_node = member(c, node, "maxProperties");
    const int32_t all = member(c, node, "properties"), needed = member(c, node, "required"),
                  further = member(c, node, "additionalProperties");
    if (all >= 0) {
        if (at(c, all)->type != S2C_OBJECT)
            return s2c_refuse(c, all, "properties must be an object");
        s2c_property *list = s2c_take(c, ((size_t)at(c, all)->n_children + 1) * sizeof *list);
        if (!list) return S2P_ELIMIT;
        for (int32_t p = at(c, all)->child; p >= 0; p = at(c, p)->next) {
            s2c_property *one = &list[s->n_properties++];
            one->key = at(c, p)->key;
            one->size = at(c, p)->key_size;
            TRY(one_schema(c, p, &one->schemas));
        }
        s->property = list;
        s->mentioned |= S2C_IS_OBJECT;
    }
    if (needed >= 0) {
        if (at(c, needed)->type != S2C_ARRAY)
            return s2c_refuse(c, needed, "required must be an array of strings");
        s2c_property *list = s2c_take(c, ((size_t)at(c, needed)->n_children + 1) * sizeof *list);
        if (!list) return S2P_ELIMIT;
        s->required = list;
        for (int32_t p = at(c, needed)->child; p >= 0; p = at(c, p)->next) {
            if (at(c, p)->type != S2C_STRING)
                return s2c_refuse(c, needed, "required must be an array of strings");
            if (!s2c_count(c->g, s->n_required / 8 + 1)) return c->g->status;
            if (s2c_requires(s, at(c, p)->text, at(c, p)->size)) continue;
            list[s->n_required].key = at(c, p)->text;
            list[s->n_required++].size = at(c, p)->size;
        }
        s->mentioned |= S2C_IS_OBJECT;
    }
    if (further >= 0) {
        TRY(one_schema(c, further, &s->additional));
        s->has_additional = true;
        s->mentioned |= S2C_IS_OBJECT;
    }
    return S2P_OK;
}

/* Every pair of one alternative of each. */
static s2p_status cross(s2c_compiler *c, s2c_shapes a, s2c_shapes b, int32_t node, s2c_shapes *out)
{
    s2c_shape *list = s2c_take(
        c, (size_t)(a.n * b.n < S2C_MAX_ALTERNATIVES ? a.n * b.n + 1 : S2C_MAX_ALTERNATIVES) *
               sizeof *list);
    if (!list) return S2P_ELIMIT;
    int32_t n = 0;
    for (int32_t i = 0; i < a.n; i++)
        for (int32_t k = 0; k < b.n; k++) {
            s2c_shape both;
            bool is_possible;
            TRY(s2c_merge(c, &a.shape[i], &b.shape[k], node, &both, &is_possible));
            if (!is_possible) continue;
            if (n == S2C_MAX_ALTERNATIVES)
                return s2c_refuse(c, node, "more than %d alternatives together",
                                  S2C_MAX_ALTERNATIVES);
            list[n++] = both;
        }
    *out = (s2c_shapes){ n, list };
    return S2P_OK;
}

static s2p_status join(s2c_compiler *c, s2c_shapes a, s2c_shapes b, int32_t node, s2c_shapes *out)
{
    if (a.n + b.n > S2C_MAX_ALTERNATIVES)
        return s2c_refuse(c, node, "more than %d alternatives", S2C_MAX_ALTERNATIVES);
    s2c_shape *list = s2c_take(c, ((size_t)a.n + (size_t)b.n + 1) * sizeof *list);
    if (!list) return S2P_ELIMIT;
    if (a.n > 0) memcpy(list, a.shape, (size_t)a.n * sizeof *list);
    if (b.n > 0) memcpy(list + a.n, b.shape, (size_t)b.n * sizeof *list);
    *out = (s2c_shapes){ a.n + b.n, list };
    return S2P_OK;
}

/* The branches of anyOf or oneOf. Those of oneOf must cannot be combined: what cannot be proved here may be
 * clear once all schemas that hold together are merged, so the branch is noted. */
static s2p_status read_branches(s2c_compiler *c, int32_t list, bool are_exclusive, s2c_shapes *out)
{
    *out = (s2c_shapes){ 0 };
    if (at(c, list)->type != S2C_ARRAY || at(c, list)->n_children == 0)
        return s2c_refuse(c, list, "%s must be an array of schemas",
                          are_exclusive ? "oneOf" : "anyOf");
    bool are_apart = true;
    for (int32_t b = at(c, list)->child; b >= 0; b = at(c, b)->next) {
        s2c_shapes branch;
        TRY(s2c_expand(c, b, &branch));
        for (int32_t i = 0; are_exclusive && are_apart && i < out->n; i++)
            for (int32_t k = 0; are_apart && k < branch.n; k++)
                TRY(s2c_shapes_are_apart(c, &out->shape[i], &branch.shape[k], &are_apart));
        if (are_exclusive && branch.n > 0) {
            s2c_shape *noted = s2c_take(c, (size_t)branch.n * sizeof *noted);
            s2c_list one;
            if (!noted) return S2P_ELIMIT;
            TRY(one_schema(c, b, &one));
            for (int32_t i = 0; i < branch.n; i++) {
                noted[i] = branch.shape[i];
                TRY(s2c_list_join(c, noted[i].branches, one, &noted[i].branches));
            }
            branch.shape = noted;
        }
        TRY(join(c, *out, branch, list, out));
    }
    if (!are_exclusive || !are_apart) return S2P_OK;
    s2c_shape *plain =
        s2c_take(c, ((size_t)out->n + 1) * sizeof *plain); /* proved: nothing to note */
    if (!plain) return S2P_ELIMIT;
    int32_t n = 0;
    for (int32_t b = at(c, list)->child; b >= 0; b = at(c, b)->next) {
        s2c_shapes branch;
        TRY(s2c_expand(c, b, &branch));
        for (int32_t i = 0; i < branch.n && n < out->n; i++) plain[n++] = branch.shape[i];
    }
    *out = (s2c_shapes){ n, plain };
    return S2P_OK;
}

/* The $id that gives a reference another base than the root, so that # means another document: of a schema
 * around it, and from 2019 on of its own schema too. S2C_NO_NODE: none. */
static int32_t other_base(const s2c_compiler *c, int32_t ref)
{
    int32_t node = at(c, ref)->parent;
    if (c->ignores_siblings && node > 0) node = at(c, node)->parent;
    for (; node > 0; node = at(c, node)->parent) {
        const int32_t id = at(c, node)->type == S2C_OBJECT ? member(c, node, "$id") : S2C_NO_NODE;
        if (id < 0 || at(c, id)->type != S2C_STRING) continue;
        if (at(c, id)->size > 0 && at(c, id)->text[0] != '#') return id; /* else an anchor */
    }
    return S2C_NO_NODE;
}

static s2p_status follow(s2c_compiler *c, int32_t ref, s2c_shapes *out)
{
    const s2c_node *node = at(c, ref);
    if (node->type != S2C_STRING) return s2c_refuse(c, ref, "$ref must be a string");
    if (node->size == 0 || node->text[0] != '#')
        return s2c_refuse(c, ref, "only references within the schema are supported (#/...)");
    const int32_t target = s2c_resolve(&c->document, node->text + 1, node->size - 1);
    int64_t n_passed = (int64_t)node->size; /* what was searched on the way */
    for (int32_t up = target; up >= 0; up = at(c, up)->parent) n_passed += at(c, up)->n_children;
    if (!s2c_count(c->g, n_passed / 8 + 1)) return c->g->status;
    const int32_t base = other_base(c, ref);
    if (base >= 0)
        return s2c_refuse(c, base,
                          "references within a schema that has an $id of its own are not "
                          "supported; leave $id out");
    if (target < 0)
        return s2c_refuse(c, ref, "$ref is a redirect to an invalid address: '%.*s'",
                          (int)(node->size < 80 ? node->size : 80), node->text);
    return s2c_expand(c, target, out);
}

static s2p_status expand_object(s2c_compiler *c, int32_t node, s2c_shapes *out)
{
    const int32_t ref = member(c, node, "$ref");
    if (ref >= 0 && c->ignores_siblings) return follow(c, ref, out);
    TRY(refuse_keywords(c, node));
    s2c_shape *own = s2c_take(c, sizeof *own);
    if (!own) return S2P_ELIMIT;
    *own = any_shape;
    TRY(read_types(c, node, own));
    TRY(read_values(c, node, own));
    TRY(read_numbers(c, node, own));
    TRY(read_strings(c, node, own));
    TRY(read_arrays(c, node, own));
    TRY(read_objects(c, node, own));
    const bool is_possible = own->kinds != 0 && !(own->has_values && own->values.n == 0);
    s2c_shapes shapes = { is_possible ? 1 : 0, own }, more;
    if (ref >= 0) { /* the target's keys come first */
        TRY(follow(c, ref, &more));
        TRY(cross(c, more, shapes, node, &shapes));
    }
    const int32_t all = member(c, node, "allOf"), any = member(c, node, "anyOf"),
                  one = member(c, node, "oneOf");
    if (all >= 0) {
        if (at(c, all)->type != S2C_ARRAY || at(c, all)->n_children == 0)
            return s2c_refuse(c, all, "allOf must be an array of schemas");
        for (int32_t s = at(c, all)->child; s >= 0; s = at(c, s)->next) {
            TRY(s2c_expand(c, s, &more));
            TRY(cross(c, shapes, more, all, &shapes));
        }
    }
    if (any >= 0) {
        TRY(read_branches(c, any, false, &more));
        TRY(cross(c, shapes, more, any, &shapes));
    }
    if (one >= 0) {
        TRY(read_branches(c, one, true, &more));
        TRY(cross(c, shapes, more, one, &shapes));
    }
    *out = shapes;
    return S2P_OK;
}

s2p_status s2c_expand(s2c_compiler *c, int32_t node, s2c_shapes *out)
{
    /* some 30 keywords are looked for among its members */
    if (!s2c_count(c->g, 8 + 4 * (int64_t)at(c, node)->n_children)) return c->g->status;
    *out = (s2c_shapes){ 0 };
    switch (at(c, node)->type) {
    case S2C_FALSE:
        return S2P_OK;
    case S2C_TRUE:
        *out = (s2c_shapes){ 1, &any_shape };
        return S2P_OK;
    case S2C_OBJECT:
        break;
    default:
        return s2c_refuse(c, node, "a schema must be an object or a boolean");
    }
    if (c->is_open[node]) return s2c_refuse(c, node, "it refers to itself without an end");
    if (c->depth == MAX_EXPANSIONS)
        return s2c_refuse(c, node, "references are nested too deep (limit %d)", MAX_EXPANSIONS);
    c->is_open[node] = 1;
    c->depth++;
    const s2p_status st = expand_object(c, node, out);
    c->depth--;
    c->is_open[node] = 0;
    return st;
}

s2p_status s2c_expand_all(s2c_compiler *c, s2c_list schemas, s2c_shapes *out)
{
    *out = (s2c_shapes){ 1, &any_shape };
    for (int32_t i = 0; i < schemas.n; i++) {
        s2c_shapes one;
        TRY(s2c_expand(c, schemas.node[i], &one));
        if (i == 0)
            *out = one;
        else
            TRY(cross(c, *out, one, schemas.node[i], out));
    }
    return S2P_OK;
}
