/* prefix.h - the start of a prompt, pruned and ready for another question.
 *
 * The second of two stages (the first: vision/tower_cache.h). The engine's cache remembers
 * everything a conversation's first prompt has before its question: the system prompt, the
 * pictures, the token that closes the last one. Another prompt of any session that starts the same
 * way runs only its question. What comes out is equal bit for bit to a run from scratch: the
 * question always runs in chunks of its own (layers.c), so the graphs are the same and so are
 * their inputs.
 *
 *     key     SHA-256 over model and device (identity.h), type of the cache, batch and threads,
 *             tokens before the question, keys of the pictures (tower_cache.h), what the method
 *             would read of each, method and all its parameters, budgets
 *     value   prefix_bytes.h
 *
 * A method that sees the question leaves something else for each: nothing is remembered of its
 * prompts, and only the first stage serves them. Where there is no room nothing is remembered,
 * and no prefill fails for it.
 */
#ifndef S2_ENGINE_PREFIX_H
#define S2_ENGINE_PREFIX_H

#include "engine/cache/cache.h"
#include "engine/prompt/prefix_bytes.h"

typedef struct s2v_slots_before { /* of a layer, before some left */
    s2v_cache_block *block;       /* keys, then values; NULL: none have left */
    int32_t n;
} s2v_slots_before;

typedef struct s2v_prefix { /* of one prefill; all zero: nothing */
    uint8_t key[S2V_KEY_BYTES];
    s2v_slots_before *before; /* [n_layers], owned: a prefix is being made */
    s2v_cache_block *found;   /* it is there */
    s2v_prefix_parts parts;   /* of that */
} s2v_prefix;

struct s2v_prefill;

/* Once the rows are laid out. True: this prompt's prefix is known, its slots and plans are there,
 * and the rows are those of the question: run it, then settle. False: all has to run, and the
 * prefix will be remembered if it can be. */
bool s2v_prefix_recall(struct s2v_prefill *prefill);
s2p_status s2v_prefix_settle(struct s2v_prefill *prefill);

/* Of a prefix being made: before slots leave the first n_layers layers, and when all is done. */
void s2v_prefix_save(struct s2v_prefill *prefill, int32_t n_layers);
void s2v_prefix_remember(struct s2v_prefill *prefill);

/* However the prefill ended: nothing of it is in use any more. */
void s2v_prefix_end(struct s2v_prefill *prefill);

#endif /* S2_ENGINE_PREFIX_H */
