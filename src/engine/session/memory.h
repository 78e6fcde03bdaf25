/* memory.h - what a session takes, counted before it is taken: of this machine and of the device.
 *
 * A backend that runs out in the middle of a graph may not come back, so the largest graphs are
 * measured before the first.
 */
#ifndef S2_ENGINE_SESSION_MEMORY_H
#define S2_ENGINE_SESSION_MEMORY_H

#include "engine/session/session.h"

/* Check the sizes and types of a session and put in the defaults, for a session and for an estimate. */
s2p_status s2v_session_settle(s2v_session_options *options, const s2v_engine *engine,
                              s2p_error *error);

/* Count the cache and the largest graph of a session towards what its engine may take (max_memory), before
 * any of it is allocated; the session has a graph, and no cache yet. S2P_ENOMEM with the numbers when
 * they are not available. Give back: when the session ends; where nothing was taken it does nothing. */
s2p_status s2v_memory_take(s2v_session *session, s2v_kv_types type, s2p_error *error);
void s2v_memory_give_back(s2v_session *session);

/* Instead of what it has taken: a context of n_ctx tokens, of this machine and of the device. Where that
 * is refused the session has what it had. options.n_ctx is n_ctx then. */
s2p_status s2v_memory_grow(s2v_session *session, int32_t n_ctx, s2p_error *error);

typedef struct s2v_reach { /* of a prompt */
    int32_t n_rows;        /* of all its tokens, before pruning */
    int64_t longest;       /* slots of the layer that sees most of it */
    uint64_t wider_here,
        wider_device; /* bytes of layers whose own memory is too small for a while */
} s2v_reach;

/* Count what a prompt takes that is longer than the context before it is pruned; S2P_ENOMEM with the
 * numbers. End: the prefill is over. */
s2p_status s2v_memory_take_prompt(s2v_session *session, const s2v_reach *reach, s2p_error *error);
void s2v_memory_end_prompt(s2v_session *session);

/* The cache of the device's layers has room; before it is allocated. */
s2p_status s2v_reserve_cache(const s2v_session *session, s2v_kv_types type, s2p_error *error);

/* The largest graphs have: a full batch at the end of the context, whose memory is taken; and what
 * is taken while a prompt runs, the tower's on a picture of the largest usual size and after it the
 * unrounded keys and values of a layer. */
s2p_status s2v_reserve_graphs(s2v_session *session, s2v_kv_types type, s2p_error *error);

typedef struct
    s2v_estimated {         /* a prompt, for an estimate; all zero: text as long as the context */
    int32_t n_rows;         /* before pruning */
    const int32_t *reaches; /* [n_layers] rows that reach each layer, or NULL */
    int64_t picture_pixels; /* of the largest picture; 0: none */
    uint64_t other_frames;  /* bytes of what the tower reads of the others */
} s2v_estimated;

/* engine: an outline. session: read, not settled. */
s2p_status s2v_memory_estimate(s2v_engine *engine, const s2v_session_options *session,
                               const s2v_estimated *estimated, s2v_memory *out, s2p_error *error);

typedef struct s2v_tower_needs { /* bytes for one picture */
    uint64_t here, device;       /* of the graph */
    uint64_t frame;              /* of what it reads, kept until the prompt is done */
} s2v_tower_needs;

/* For a gray picture of side x side pixels, seen whole. */
s2p_status s2v_reserve_tower(const s2v_session *session, int32_t side, s2v_tower_needs *out,
                             s2p_error *error);

#endif /* S2_ENGINE_SESSION_MEMORY_H */
