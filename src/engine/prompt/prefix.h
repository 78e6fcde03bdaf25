/* prefix.h - the cached start of a prompt, pruned and ready for another question.
 *
 * The second of two stages (the first: vision/tower_cache.h). The engine's cache stores
 * everything that a conversation's first prompt has before its question: the system prompt, the
 * pictures, the token that closes the last one. Another prompt of any session that starts the same
 * way runs only its question. The result is bit-identical to a run from scratch: the
 * question always runs in separate chunks (layers.c), so the graphs and their inputs are the
 * same.
 *
 *     key     SHA-256 over model and device (identity.h), type of the cache, batch and threads,
 *             tokens before the question, keys of the pictures (tower_cache.h), signals that
 *             the method reads, method and all its parameters, budgets
 *     value   prefix_bytes.h
 *
 * The result of a method that sees the question differs for each question: its prompts are not
 * cached, and only the first stage serves them. If there is no room, nothing is cached, and the
 * prefill does not fail.
 */
#ifndef S2_ENGINE_PREFIX_H
#define S2_ENGINE_PREFIX_H

#include "engine/cache/cache.h"
#include "engine/prompt/prefix_bytes.h"

typedef struct s2v_slots_before { /* of a layer, before some were removed */
    s2v_cache_block *block;       /* keys, then values; NULL: none were removed */
    int32_t n;
} s2v_slots_before;

typedef struct s2v_prefix { /* of one prefill; all zero: nothing */
    uint8_t key[S2V_KEY_BYTES];
    s2v_slots_before *before; /* [n_layers], owned: a prefix is being recorded */
    s2v_cache_block *found;   /* found in the cache */
    s2v_prefix_parts parts;   /* of that */
} s2v_prefix;

struct s2v_prefill;

/* Call after the rows are laid out. True: this prompt's prefix was cached, its slots and plans are
 * loaded, and the rows are those of the question: run it, then settle. False: everything must run,
 * and the prefix will be cached if possible. */
bool s2v_prefix_recall(struct s2v_prefill *prefill);
s2p_status s2v_prefix_settle(struct s2v_prefill *prefill);

/* While recording a prefix: call before slots leave the first n_layers layers, and at the end. */
void s2v_prefix_save(struct s2v_prefill *prefill, int32_t n_layers);
void s2v_prefix_remember(struct s2v_prefill *prefill);

/* Release everything, however the prefill ended. */
void s2v_prefix_end(struct s2v_prefill *prefill);

#endif /* S2_ENGINE_PREFIX_H */
