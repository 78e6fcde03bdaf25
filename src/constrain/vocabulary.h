/* vocabulary.h - the tokens of a model as bytes, ordered for masks.
 *
 * All texts form one tree by their bytes, laid out depth first, so that a branch that is not allowed is
 * skipped in one step. Tokens of plain text (characters that mean nothing special inside a JSON string) are
 * also counted by their number of characters: inside a string they are allowed without a look at the tree.
 */
#ifndef S2_CONSTRAIN_VOCABULARY_H
#define S2_CONSTRAIN_VOCABULARY_H

#include "constrain/matcher.h"

enum { S2C_MAX_SLICES = 17 }; /* plain tokens of 1 to 16 characters, and of more */

typedef struct s2c_tree_node {
    int32_t skip;        /* the node after this one's branch */
    int32_t first_token; /* in tokens */
    uint16_t n_tokens;   /* that end here */
    uint16_t depth;      /* bytes from the root to here */
    uint8_t byte;
} s2c_tree_node;

typedef struct s2c_tree {
    s2c_tree_node *node;
    int32_t n;
    int32_t *tokens; /* ordered by bytes */
} s2c_tree;

typedef struct s2c_vocabulary {
    int32_t n_tokens, longest; /* longest: bytes of a token */
    size_t n_words;            /* 64 tokens each */
    s2c_tree all, special;     /* special: the tokens that are not plain */
    uint64_t *slice[S2C_MAX_SLICES];
    int32_t *n_characters; /* [n_tokens] of plain tokens; 0: not plain */
} s2c_vocabulary;

/* text_of: the bytes of a token; NULL: it is never allowed (control tokens, unused ones). They must live as
 * long as the call. S2P_EUNSUPPORTED: some byte has no token of its own, so that an answer could get stuck. */
s2p_status s2c_vocabulary_create(s2c_vocabulary **out, int32_t n_tokens,
                                 const char *(*text_of)(void *context, int32_t token, size_t *size),
                                 void *context, s2p_error *error);
void s2c_vocabulary_free(s2c_vocabulary *v); /* NULL is fine */

/* The tokens that may follow, as bits: [n_words]. The matcher's status says whether it failed. */
void s2c_vocabulary_mask(const s2c_vocabulary *v, s2c_matcher *m, int32_t set, uint64_t *bits);

#endif /* S2_CONSTRAIN_VOCABULARY_H */
