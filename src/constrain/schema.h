/* schema.h - a JSON schema as a grammar of the answers that satisfy it.
 *
 * Two promises. Sound: every complete answer validates. Narrow: not every valid document can be written;
 * keys come in the order of the schema and every value has one spelling. What cannot be enforced while
 * text is generated is refused with its JSON pointer (docs/STRUCTURED.md has the table of keywords).
 */
#ifndef S2_CONSTRAIN_SCHEMA_H
#define S2_CONSTRAIN_SCHEMA_H

#include "constrain/grammar.h"

typedef enum s2c_whitespace {
    S2C_LINE,    /* one optional space after ':' and ',' */
    S2C_COMPACT, /* none */
    S2C_PRETTY   /* also one line end and up to 32 spaces around members */
} s2c_whitespace;

/* Fills and finishes an initialized grammar. */
s2p_status s2c_schema(s2c_grammar *g, const char *text, size_t n, s2c_whitespace whitespace,
                      s2p_error *error);

/* One of several schemas in a grammar: a rule for it. The caller finishes the grammar. */
s2p_status s2c_schema_rule(s2c_grammar *g, const char *text, size_t n, s2c_whitespace whitespace,
                           int32_t *rule, s2p_error *error);

#endif /* S2_CONSTRAIN_SCHEMA_H */
