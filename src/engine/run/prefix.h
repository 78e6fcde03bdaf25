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
 *     value   the cells of the prefix, which stay where they are at the start of the
 *             cache; of layers that lost cells after they had run (S2Prune: layer 0)
 *             a copy of them all, which the question has to see, and of those left
 *
 * The copies take at most 4 * rows before the question * bytes of a key, in each layer
 * that lost cells, and never more than S2V_PREFIX_MAX_BYTES together. Where memory is
 * missing nothing is remembered, and no prefill fails for it.
 */
#ifndef S2_ENGINE_PREFIX_H
#define S2_ENGINE_PREFIX_H

#include "s2vlm.h"

#include <stdbool.h>
#include <stddef.h>

#define S2V_PREFIX_MAX_BYTES ((size_t)256 << 20)

typedef struct s2v_prefix_layer {
    int32_t n_ran;   /* cells of the prefix when the layer ran: what the question sees */
    int32_t n_left;  /* cells of the prefix once all is done */
    uint8_t *ran;    /* keys, then values of those; NULL: none left since, they are in the cache */
    uint8_t *behind; /* the same of those left; NULL with `ran` */
} s2v_prefix_layer;

typedef struct s2v_prefix {
    bool is_ready; /* the rest counts, and the cells are in the cache */
    uint8_t key[32];
    int32_t n_layers;
    s2v_prefix_layer *layer;        /* [n_layers], owned */
    struct s2v_picture_plan *plans; /* [n_plans] owned, while the session shows others */
    int32_t n_plans;
    s2v_stats stats; /* of the prefill that made it: tokens and stages of the pictures */
    size_t n_bytes;  /* of all copies */
} s2v_prefix;

struct s2v_session;
struct s2v_job;

void s2v_prefix_forget(s2v_prefix *prefix);

/* Before a prefill replaces the session's plans: those of the prefix are kept. */
void s2v_prefix_hold_plans(struct s2v_session *session);

/* S2P_EINVAL for a method that sees the question, in a session that keeps prefixes. */
s2p_status s2v_prefix_check(const struct s2v_job *job);

/* Once the rows are laid out: if the prefix is the one remembered, its cells and plans are back,
 * the rows are those of the question, and job->is_recalled says so. Else what was remembered is
 * gone, unless this is a later turn of its conversation. */
void s2v_prefix_recall(struct s2v_job *job);

/* Instead of all stages, after a recall: the question alone. */
s2p_status s2v_prefix_run(struct s2v_job *job);

/* Otherwise: before cells leave the first n_layers layers, and when all is done. */
void s2v_prefix_save(struct s2v_job *job, int32_t n_layers);
void s2v_prefix_remember(struct s2v_job *job);

#endif /* S2_ENGINE_PREFIX_H */
