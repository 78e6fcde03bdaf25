/* nfa.h - automata over characters: what a pattern, a format or a bounded number allows.
 *
 * They can be intersected, tested for emptiness, run on a text, and written into a grammar.
 */
#ifndef S2_CONSTRAIN_NFA_H
#define S2_CONSTRAIN_NFA_H

#include "constrain/characters.h"

enum { S2C_NFA_MAX_STATES = 65536, S2C_NO_LENGTH = INT32_MAX };

typedef struct s2c_nfa_edge {
    int32_t low, high; /* low < 0: an empty edge, or a mark of regex.c */
    int32_t to, next;
} s2c_nfa_edge;

typedef struct s2c_nfa {
    int32_t *first; /* [n] first edge of a state, -1: none */
    s2c_nfa_edge *edge;
    int32_t n, n_edges, capacity, edge_capacity;
    int32_t start, end;
    s2p_status status; /* the first failure; builders go on and do nothing */
} s2c_nfa;

enum { S2C_NFA_EMPTY = -1 };

void s2c_nfa_init(s2c_nfa *a); /* no states: start and end are for the caller to make */
void s2c_nfa_free(s2c_nfa *a);
int32_t s2c_nfa_state(s2c_nfa *a);
void s2c_nfa_edge_add(s2c_nfa *a, int32_t from, int32_t to, int32_t low, int32_t high);
void s2c_nfa_class(s2c_nfa *a, int32_t from, int32_t to, const s2c_class *set);

/* What both allow. The steps are counted in `g`. S2P_ELIMIT: too many states. */
s2p_status s2c_nfa_both(const s2c_nfa *a, const s2c_nfa *b, s2c_nfa *out, s2c_grammar *g);

/* Texts of min to max characters (S2C_NO_LENGTH: no maximum). */
s2p_status s2c_nfa_of_length(int32_t min, int32_t max, s2c_nfa *out);

bool s2c_nfa_is_empty(const s2c_nfa *a); /* also without memory */
bool s2c_nfa_accepts(const s2c_nfa *a, const char *text, size_t n);

/* Writes it into a grammar, from one state to another. */
void s2c_nfa_emit(const s2c_nfa *a, s2c_grammar *g, int32_t from, int32_t to,
                  s2c_spelling spelling);

/* regex.c: a pattern of ECMA-262, searched for in a text unless it is anchored. `what` is "/pattern" or
 * the like for sentences. */
s2p_status s2c_regex(const char *pattern, size_t n, const char *what, s2c_nfa *out, s2c_grammar *g,
                     s2p_error *error);

#endif /* S2_CONSTRAIN_NFA_H */
