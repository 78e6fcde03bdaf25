/* grammar.h - what an answer may look like, as automata over bytes that call each other.
 *
 * A rule is an automaton with one start and one end. Its edges are empty, a range of bytes, a call of
 * another rule, or a counted repetition of one (X{min,max}: a counter at run time, never copies).
 * Readers of schemas, patterns and GBNF fill a grammar; s2c_grammar_finish then makes it safe to run:
 *
 *   - every call and every repetition consumes at least one byte (a rule that may be empty gets a start
 *     without the empty text, and its callers an empty edge), so matching cannot loop;
 *   - left recursion is refused;
 *   - states from which no end is reached are removed, so matching never meets a dead end;
 *   - every state knows how many nested calls it needs at least, so that a bound on the depth of the
 *     stack never cuts off the only way out.
 *
 * Objects are the one special construct: their keys come in the order of the schema, each optional
 * unless required, which as plain automata grows with the square of the keys. They are one trie of the
 * names; the state is a node and the index of the next key.
 *
 * Everything is counted against one limit of steps and one of memory (docs/STRUCTURED.md).
 */
#ifndef S2_CONSTRAIN_GRAMMAR_H
#define S2_CONSTRAIN_GRAMMAR_H

#include "base/error.h"

#include <stdbool.h>

enum {
    S2C_MAX_STATES = 500000,
    S2C_MAX_RULES = 40000,
    S2C_MAX_DEPTH = 256, /* nested calls while matching */
    S2C_MAX_STEPS =
        2000000, /* compile steps, of 10 to 50 ns: edges made, pairs merged, values compared */
    S2C_NEVER = 1 << 20,       /* needed depth of a state that reaches no end */
    S2C_MAX_COUNT = INT32_MAX, /* as maximum of a repetition: no maximum */
};

typedef enum s2c_edge_kind { S2C_EMPTY, S2C_BYTES, S2C_CALL, S2C_REPEAT } s2c_edge_kind;

typedef struct s2c_edge {
    uint8_t kind, low, high; /* S2C_BYTES: low to high, both included */
    int32_t id;              /* S2C_CALL: rule; S2C_REPEAT: repetition */
    int32_t to;
    int32_t next; /* of the same state; -1: last */
} s2c_edge;

typedef struct s2c_state {
    int32_t edge; /* first edge; -1: none */
    int32_t need; /* nested calls needed to reach the end of its rule; S2C_NEVER: not reached */
    int32_t
        object; /* >= 0: the state before the key `key` of this object; its edges are for analysis only */
    int32_t key;
    bool is_end;  /* of a rule */
    bool is_tail; /* nothing but the end of the rule can follow */
    bool is_free; /* any character of a string may follow and lead here again (for masks) */
} s2c_state;

typedef struct s2c_rule {
    int32_t start, end;
    int32_t run_start; /* start without the empty text */
    bool is_nullable;
} s2c_rule;

typedef struct s2c_repeat {
    int32_t rule, min, max;
    bool is_character; /* the rule is one character of a string (for masks) */
} s2c_repeat;

/* A node of the trie of an object's key names, spelled as in JSON with the closing quote. */
typedef struct s2c_key_node {
    int32_t child, sibling; /* -1: none */
    int32_t terminal;       /* key whose spelling ends here; -1: none */
    int32_t first, n_keys;  /* keys below, ascending, in key_list */
    uint8_t byte;
} s2c_key_node;

typedef struct s2c_object {
    int32_t root; /* key node */
    int32_t n_keys;
    int32_t first_key; /* in keys */
    int32_t after;     /* state after the last key */
} s2c_object;

typedef struct s2c_key {
    int32_t value; /* state after the key's closing quote */
    int32_t
        last; /* from this key on, the last one that may be next: the next required one, or the last */
    bool may_end; /* no key from this one on is required */
} s2c_key;

typedef struct s2c_grammar {
    s2c_state *state;
    s2c_edge *edge;
    s2c_rule *rule;
    s2c_repeat *repeat;
    s2c_object *object;
    s2c_key *key;
    s2c_key_node *node;
    int32_t *key_list;
    int32_t n_states, n_edges, n_rules, n_repeats, n_objects, n_keys, n_nodes, n_key_list;
    int32_t max_states, max_edges, max_rules, max_repeats, max_objects, max_keys, max_nodes,
        max_key_list;
    int32_t root; /* rule */
    int64_t n_steps;
    s2p_status status; /* the first failure; builders go on and do nothing */
} s2c_grammar;

void s2c_grammar_init(s2c_grammar *g);
void s2c_grammar_free(s2c_grammar *g);

/* Builders. After a failure they return 0 and do nothing; s2c_grammar_finish reports it. */
int32_t s2c_new_state(s2c_grammar *g);
int32_t s2c_new_rule(s2c_grammar *g); /* with a start and an end */
int32_t s2c_new_repeat(s2c_grammar *g, int32_t rule, int32_t min, int32_t max);
void s2c_empty(s2c_grammar *g, int32_t from, int32_t to);
void s2c_bytes(s2c_grammar *g, int32_t from, int32_t to, uint8_t low, uint8_t high);
void s2c_call(s2c_grammar *g, int32_t from, int32_t to, int32_t rule);
void s2c_repeat_edge(s2c_grammar *g, int32_t from, int32_t to, int32_t repeat);
void s2c_text(s2c_grammar *g, int32_t from, int32_t to, const void *text, size_t n);

/* One of several texts, sharing their beginnings: [n] texts with sizes. Sorts both arrays. */
typedef struct s2c_span {
    const char *data;
    size_t size;
    int32_t to; /* state after it */
} s2c_span;
void s2c_texts(s2c_grammar *g, int32_t from, s2c_span *text, int32_t n);

/* The keys of an object: spelling[i] (with the closing quote) leads to spelling[i].to. Returns the
 * states before key i as `before[i]`, i from 0 to n_keys; the caller links before[n_keys]. A key that
 * is required cannot be skipped. */
void s2c_keys(s2c_grammar *g, const s2c_span *spelling, const bool *is_required, int32_t n_keys,
              int32_t *before);

/* Counts steps; false once the limit is reached. A search through n names or the like counts n / 8 + 1, so
 * that a step is about the same time wherever it is made. */
bool s2c_count(s2c_grammar *g, int64_t n_steps);

/* Makes the grammar ready to run from rule `root`. S2P_ELIMIT: too large; S2P_EINVAL: left recursion,
 * or no text satisfies it (*is_empty). `name_of` names a rule in sentences; NULL: not known. */
s2p_status s2c_grammar_finish(s2c_grammar *g, int32_t root, const char *(*name_of)(void *, int32_t),
                              void *context, bool *is_empty, s2p_error *error);

#endif /* S2_CONSTRAIN_GRAMMAR_H */
