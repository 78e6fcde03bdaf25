/* matcher.h - follow a grammar byte by byte.
 *
 * Where an answer is, is a set of configurations: a state and a stack of calls. Stacks and sets are kept
 * once each, so a set is a number, and sets with their transitions by byte form a deterministic automaton
 * that is made while it is walked. Its memory is bounded: s2c_matcher_tidy forgets everything but one set.
 */
#ifndef S2_CONSTRAIN_MATCHER_H
#define S2_CONSTRAIN_MATCHER_H

#include "constrain/grammar.h"

enum { S2C_DEAD = -1, S2C_MAX_CONFIGURATIONS = 2048 };

typedef struct s2c_matcher s2c_matcher;

/* The grammar must live as long. NULL without memory. */
s2c_matcher *s2c_matcher_create(const s2c_grammar *grammar);
void s2c_matcher_free(s2c_matcher *m); /* NULL is fine */

int32_t s2c_matcher_start(const s2c_matcher *m); /* the set before the first byte */

/* The set after one more byte; S2C_DEAD where it is not allowed or the matcher failed. */
int32_t s2c_matcher_step(s2c_matcher *m, int32_t set, uint8_t byte);
bool s2c_matcher_may_end(const s2c_matcher *m, int32_t set);

/* The bytes that may follow, as 256 bits; their number. */
int32_t s2c_matcher_next_bytes(const s2c_matcher *m, int32_t set, uint64_t bits[4]);

/* S2P_OK, or S2P_ELIMIT: the grammar is too ambiguous; S2P_ENOMEM. */
s2p_status s2c_matcher_status(const s2c_matcher *m);

/* Frees memory when much is in use. Returns the new number of `set`; other numbers are then void, and
 * the generation has changed. */
int32_t s2c_matcher_tidy(s2c_matcher *m, int32_t set);
int32_t s2c_matcher_generation(const s2c_matcher *m);

/* A set that allows the same next `n_bytes` bytes and may be the same for many: counters that are further
 * than that from their bounds do not count. */
int32_t s2c_matcher_canonical(s2c_matcher *m, int32_t set, int32_t n_bytes);

/* For masks. Returns true when whatever is allowed next is inside the free text of a string, or one of
 * the bytes that are special there ('"', '\\' and controls); *n_left: characters that still fit. */
bool s2c_matcher_in_string(const s2c_matcher *m, int32_t set, int64_t *n_left);

#endif /* S2_CONSTRAIN_MATCHER_H */
