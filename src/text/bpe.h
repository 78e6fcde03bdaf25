/* bpe.h - byte-pair merging: which pairs join, and joining them by rank. */
#ifndef S2_TEXT_BPE_H
#define S2_TEXT_BPE_H

#include "base/error.h"

typedef struct s2v_merge {
    int32_t left, right; /* tokens; left < 0 marks an empty slot of the table */
    int32_t rank;        /* smaller joins first; equal ranks: the leftmost */
    int32_t token;       /* what they become */
} s2v_merge;

typedef struct s2v_merges { /* open addressing on (left, right), at most half full */
    s2v_merge *slot;
    size_t n_slots; /* a power of two */
} s2v_merges;

/* An empty table for up to n merges. */
s2p_status s2v_merges_init(s2v_merges *merges, size_t n, s2p_error *error);
void s2v_merges_free(s2v_merges *merges);

/* S2P_EINVAL: the pair is there already. S2P_ELIMIT: a list made to collide. */
s2p_status s2v_merges_add(s2v_merges *merges, s2v_merge merge);
const s2v_merge *s2v_merges_find(const s2v_merges *merges, int32_t left, int32_t right);

typedef struct s2v_bpe s2v_bpe; /* scratch for words; one per thread */

s2p_status s2v_bpe_create(s2v_bpe **out, s2p_error *error);
void s2v_bpe_free(s2v_bpe *bpe);

/* Join token[0..n) in place: the pair of the smallest rank first, the leftmost of equals, until
 * none is left. *n: tokens left. O(n log n). */
s2p_status s2v_bpe_join(s2v_bpe *bpe, const s2v_merges *merges, int32_t *token, size_t *n,
                        s2p_error *error);

#endif /* S2_TEXT_BPE_H */
