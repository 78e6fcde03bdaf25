/* shape.h - what a schema says of each kind of value, merged over allOf, anyOf, oneOf and $ref.
 *
 * A schema becomes alternatives; each says which kinds of value it allows and has one record for each
 * kind. Values inside (items, properties) stay lists of schemas that must all hold: they are merged when
 * they are met, so that recursion is no special case.
 */
#ifndef S2_CONSTRAIN_SHAPE_H
#define S2_CONSTRAIN_SHAPE_H

#include "constrain/document.h"
#include "constrain/number.h"

enum {
    S2C_IS_NULL = 1,
    S2C_IS_BOOLEAN = 2,
    S2C_IS_NUMBER = 4,
    S2C_IS_STRING = 8,
    S2C_IS_ARRAY = 16,
    S2C_IS_OBJECT = 32,
    S2C_IS_ANY = 63,
    S2C_MAX_ALTERNATIVES = 256
};

typedef struct s2c_list { /* schemas that must all hold, ascending */
    int32_t n;
    const int32_t *node;
} s2c_list;

typedef struct s2c_property {
    const char *key;
    size_t size;
    s2c_list schemas;
} s2c_property;

typedef struct s2c_shape {
    uint32_t kinds;     /* allowed by type */
    uint32_t mentioned; /* kinds that keywords speak of */
    s2c_numbers number;
    /* string */
    int64_t min_length, max_length;
    s2c_list patterns; /* nodes of pattern and format */
    /* array */
    int64_t min_items, max_items;
    int32_t n_prefix;
    const s2c_list *prefix;
    bool has_rest;
    s2c_list rest;
    /* object */
    int32_t n_properties, n_required;
    const s2c_property *property;
    const s2c_property *required; /* schemas unused */
    bool has_additional;
    s2c_list additional;
    int64_t min_properties, max_properties;
    int32_t count_node; /* of minProperties or maxProperties, for sentences; S2C_NO_NODE */
    /* enum and const */
    bool has_values;
    s2c_list values;
    s2c_list branches; /* of oneOf that were taken and could not be proved apart yet */
} s2c_shape;

typedef struct s2c_shapes {
    int32_t n;
    const s2c_shape *shape;
} s2c_shapes;

/* Everything a compilation owns. */
typedef struct s2c_compiler s2c_compiler;
struct s2c_compiler {
    s2c_document document;
    s2c_grammar *g;
    s2p_error *error;
    struct s2c_block *blocks; /* memory */
    size_t n_bytes;
    s2c_nfa automaton;     /* of the patterns that a value was compared with last, */
    s2c_list automaton_of; /* and these; n 0: none yet */
    uint8_t *is_open; /* [nodes] being expanded: a reference that leads here again has no end */
    bool ignores_siblings; /* of $ref: draft 7 and older */
    int32_t depth;
    /* s2c_expand and s2c_expand_all: judging a shape needs what expanding it needs, in a circle */
    s2p_status (*expand)(s2c_compiler *c, int32_t node, s2c_shapes *out);
    s2p_status (*expand_all)(s2c_compiler *c, s2c_list schemas, s2c_shapes *out);
};

/* compiler.c */
void *s2c_take(s2c_compiler *c, size_t n); /* zeroed; NULL: no memory, or the limit of 64 MiB */
void s2c_release(s2c_compiler *c);

/* Equal as in JSON; false, too, once the limit of steps is reached. */
bool s2c_same_value(s2c_compiler *c, int32_t a, int32_t b);

s2p_status s2c_refuse(s2c_compiler *c, int32_t node, const char *format, ...) S2_PRINTF(3, 4);

/* The alternatives of one schema, and of several that must all hold. */
s2p_status s2c_expand(s2c_compiler *c, int32_t node, s2c_shapes *out);
s2p_status s2c_expand_all(s2c_compiler *c, s2c_list schemas, s2c_shapes *out);

/* shape_merge.c */
s2p_status s2c_list_join(s2c_compiler *c, s2c_list a, s2c_list b, s2c_list *out);
s2p_status s2c_merge(s2c_compiler *c, const s2c_shape *a, const s2c_shape *b, int32_t node,
                     s2c_shape *out, bool *is_possible);

/* shape_judge.c: values and shapes judged as a validator would. */
s2p_status s2c_shape_accepts(s2c_compiler *c, const s2c_shape *shape, int32_t value, bool *accepts);
s2p_status s2c_shapes_are_apart(s2c_compiler *c, const s2c_shape *a, const s2c_shape *b,
                                bool *apart);

/* The oneOf of which a and b are different branches; S2C_NO_NODE: none. */
int32_t s2c_rival_branches(const s2c_compiler *c, const s2c_shape *a, const s2c_shape *b);

/* No text that is written for `a` satisfies `b`: objects that list their keys have no others then. */
s2p_status s2c_is_never_written(s2c_compiler *c, const s2c_shape *a, const s2c_shape *b,
                                bool *never);

/* schema_string.c: what all patterns, formats and lengths of a shape allow. */
s2p_status s2c_string_automaton(s2c_compiler *c, const s2c_shape *shape, s2c_nfa *out);

/* The schemas a property or an item must satisfy; false: it is not mentioned. */
const s2c_property *s2c_find_property(const s2c_shape *shape, const char *key, size_t size);
bool s2c_requires(const s2c_shape *shape, const char *key, size_t size);

#endif /* S2_CONSTRAIN_SHAPE_H */
