/* prefix.h - the pictures of the last prompt, pruned and ready for another question.
 *
 * With options.keep_prefix a session remembers everything a conversation's first
 * prompt has before its question: the system prompt, the pictures, the token that
 * closes the last one. Another prompt that starts the same way, after a reset, runs
 * only its question. What comes out is equal bit for bit to a run from scratch: the
 * question always runs in chunks of its own (layers.c), so the graphs are the same
 * and so are their inputs.
 *
 *     key     tokens before the question, what the tower and the method would read of
 *             each picture, method and parameters: SHA-256 over all of it
 *     value   the slots of the prefix, which stay where they are at the start of the
 *             cache; of layers that lost slots after they had run (S2Prune: layer 0)
 *             a copy of them all, which the question has to see, and of those left
 *
 * The copies take at most 4 * rows before the question * bytes of a key, in each layer
 * that lost slots, and never more than S2V_PREFIX_MAX_BYTES together. Where memory is
 * missing nothing is remembered, and no prefill fails for it. A method that sees the
 * question leaves something else for each: nothing is remembered of its prompts.
 */
#ifndef S2_ENGINE_PREFIX_H
#define S2_ENGINE_PREFIX_H

#include "engine/run/plans.h"

#include <stdbool.h>

#define S2V_PREFIX_MAX_BYTES ((size_t)256 << 20)

typedef struct s2v_prefix_layer {
    int32_t n_ran;   /* slots of the prefix when the layer ran: what the question sees */
    int32_t n_left;  /* slots of the prefix once all is done */
    uint8_t *ran;    /* keys, then values of those; NULL: none left since, they are in the cache */
    uint8_t *behind; /* the same of those left; NULL with `ran` */
} s2v_prefix_layer;

typedef struct s2v_prefix { /* all zero: nothing; layers but not ready: a prefill is making it */
    bool is_ready;          /* the rest counts, and the slots are in the cache */
    uint8_t key[32];
    int32_t n_layers;
    s2v_prefix_layer *layer; /* [n_layers], owned */
    s2v_plans plans;         /* while the session shows others */
    s2v_stats stats;         /* of the prefill that made it: tokens and stages of the pictures */
    size_t n_bytes;          /* of all copies */
} s2v_prefix;

struct s2v_session;
struct s2v_job;

void s2v_prefix_forget(s2v_prefix *prefix);

/* Before a prefill replaces the session's plans: those of the prefix are kept. */
void s2v_prefix_hold_plans(struct s2v_session *session);

/* Once the rows are laid out. True: the prefix is the one remembered, its slots and plans are back,
 * and the rows are those of the question: run it, then settle. False: all has to run; what was
 * remembered is gone, unless this is a later turn of its conversation, and this prompt's prefix will
 * be remembered if it can be. */
bool s2v_prefix_recall(struct s2v_job *job);
s2p_status s2v_prefix_settle(struct s2v_job *job);

/* Of a prefix being made: before slots leave the first n_layers layers, and when all is done. */
void s2v_prefix_save(struct s2v_session *session, int32_t n_layers);
void s2v_prefix_remember(struct s2v_job *job);

#endif /* S2_ENGINE_PREFIX_H */
