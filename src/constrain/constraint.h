/* constraint.h - a compiled schema or grammar, and one answer that follows it.
 *
 * A constraint is read-only and shared; a guide belongs to one answer. After each token the guide knows
 * which tokens may follow; masks are kept for the places an answer comes back to.
 */
#ifndef S2_CONSTRAIN_CONSTRAINT_H
#define S2_CONSTRAIN_CONSTRAINT_H

#include "constrain/schema.h"
#include "constrain/vocabulary.h"

typedef enum s2c_kind {
    S2C_JSON_SCHEMA, /* text: the schema */
    S2C_JSON_VALUE,  /* any JSON object; no text */
    S2C_GBNF,        /* text: the grammar */
    S2C_TOOLS        /* text: as s2c_tools takes it */
} s2c_kind;

typedef struct s2c_constraint s2c_constraint;
typedef struct s2c_guide s2c_guide;

s2p_status s2c_constraint_create(s2c_constraint **out, s2c_kind kind, const char *text, size_t n,
                                 s2c_whitespace whitespace, s2p_error *error);
void s2c_constraint_free(s2c_constraint *c); /* NULL is fine */

size_t s2c_constraint_bytes(const s2c_constraint *c); /* of memory */

/* NULL: it holds from the first byte on. Else it begins after this text, wherever an answer has it. */
const char *s2c_constraint_trigger(const s2c_constraint *c);

/* Is the text allowed from the first byte on, and may it end there? */
s2p_status s2c_constraint_check(const s2c_constraint *c, const char *text, size_t n,
                                bool *is_allowed, bool *is_complete);

/* Constraint and vocabulary must live as long as the guide. */
s2p_status s2c_guide_create(s2c_guide **out, const s2c_constraint *c, const s2c_vocabulary *v,
                            s2p_error *error);
void s2c_guide_free(s2c_guide *guide); /* NULL is fine */
void s2c_guide_restart(s2c_guide *guide);

/* Takes the bytes of a token that was chosen. S2P_EINVAL: it is not allowed here. */
s2p_status s2c_guide_accept(s2c_guide *guide, const char *bytes, size_t n, s2p_error *error);
bool s2c_guide_allows(s2c_guide *guide, const char *bytes, size_t n); /* without taking them */

bool s2c_guide_may_end(const s2c_guide *guide);
bool s2c_guide_must_end(const s2c_guide *guide); /* nothing can follow */

/* The tokens that may follow: [n_words] bits, valid until the next call. NULL: the grammar is too ambiguous
 * to go on, or there is no memory; *error says which. */
const uint64_t *s2c_guide_mask(s2c_guide *guide, s2p_error *error);

#endif /* S2_CONSTRAIN_CONSTRAINT_H */
