/* document.h - a JSON text as a tree that keeps the order of keys and the spelling of numbers.
 *
 * A schema's order is the order of the answer, and 0.07 must stay 0.07: readers that make doubles of
 * numbers lose both. Duplicate keys, invalid UTF-8 and nesting beyond 64 are refused.
 */
#ifndef S2_CONSTRAIN_DOCUMENT_H
#define S2_CONSTRAIN_DOCUMENT_H

#include "base/error.h"

#include <stdbool.h>

enum { S2C_MAX_NESTING = 64, S2C_NO_NODE = -1 };

typedef enum s2c_type {
    S2C_NULL,
    S2C_FALSE,
    S2C_TRUE,
    S2C_NUMBER,
    S2C_STRING,
    S2C_ARRAY,
    S2C_OBJECT
} s2c_type;

typedef struct s2c_node {
    s2c_type type;
    int32_t child, next, parent; /* S2C_NO_NODE: none */
    int32_t n_children;
    const char *key; /* of a member, UTF-8 without escapes; NULL: not a member */
    size_t key_size;
    const char *text; /* string: without escapes; number: as it is written */
    size_t size;
    const char *raw; /* the value as it is written */
    size_t raw_size;
} s2c_node;

typedef struct s2c_document {
    s2c_node *node; /* node 0 is the root */
    int32_t n, capacity;
    char *strings; /* decoded keys and strings */
    size_t n_strings;
} s2c_document;

/* `text` must live as long as the document. */
s2p_status s2c_document_read(s2c_document *d, const char *text, size_t n, s2p_error *error);
void s2c_document_free(s2c_document *d);

int32_t s2c_member(const s2c_document *d, int32_t object,
                   const char *key);                      /* S2C_NO_NODE: not there */
bool s2c_is_text(const s2c_node *node, const char *text); /* a string with this text */
bool s2c_same_text(const char *a, size_t n_a, const char *b, size_t n_b);

/* "/properties/age" into out; cut when it is longer. */
void s2c_pointer(const s2c_document *d, int32_t node, char *out, size_t size);

/* The node a JSON pointer (with %XX and ~0, ~1) leads to from the root; S2C_NO_NODE: none. */
int32_t s2c_resolve(const s2c_document *d, const char *pointer, size_t n);

#endif /* S2_CONSTRAIN_DOCUMENT_H */
