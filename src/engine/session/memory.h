/* memory.h - the memory of a session, counted before it is allocated: of this machine and of the device.
 *
 * A backend that runs out of memory during a graph may end the process, so the largest graphs are
 * measured before the first one runs.
 */
#ifndef S2_ENGINE_SESSION_MEMORY_H
#define S2_ENGINE_SESSION_MEMORY_H

#include "engine/session/session.h"

/* Check the sizes and types of a session and set the defaults, for a session and for an estimate. */
s2p_status s2v_session_settle(s2v_session_options *options, const s2v_engine *engine,
                              s2p_error *error);

/* Reserve the KV cache and the largest graph of a session from the engine's limit (max_memory), before they
 * are allocated; the session has a graph, but no KV cache yet. S2P_ENOMEM, with the numbers, if they do not
 * fit. Give back: when the session ends; without effect if nothing was reserved. */
s2p_status s2v_memory_take(s2v_session *session, s2v_kv_types type, s2p_error *error);
void s2v_memory_give_back(s2v_session *session);

/* Replace the reservation by one for a context of n_ctx tokens, of this machine and of the device. If that
 * is refused, nothing changes. On success options.n_ctx is n_ctx. */
s2p_status s2v_memory_grow(s2v_session *session, int32_t n_ctx, s2p_error *error);

typedef struct s2v_reach { /* of a prompt */
    int32_t n_rows;        /* of all its tokens, before pruning */
    int64_t longest;       /* slots of the layer that sees most rows */
    uint64_t wider_here,
        wider_device; /* bytes of layers whose memory is too small during the prefill */
} s2v_reach;

/* Reserve memory for a prompt that is longer than the context before pruning; S2P_ENOMEM with the
 * numbers. End: after the prefill. */
s2p_status s2v_memory_take_prompt(s2v_session *session, const s2v_reach *reach, s2p_error *error);
void s2v_memory_end_prompt(s2v_session *session);

/* Check that the KV cache of the device's layers fits, before it is allocated. */
s2p_status s2v_reserve_cache(const s2v_session *session, s2v_kv_types type, s2p_error *error);

/* Check that the largest graphs fit: a full batch at the end of the context, whose memory is allocated;
 * and the memory used during a prompt: the tower's for a picture of the largest usual size, then the
 * unrounded keys and values of a layer. */
s2p_status s2v_reserve_graphs(s2v_session *session, s2v_kv_types type, s2p_error *error);

typedef struct
    s2v_estimated {         /* a prompt, for an estimate; all zero: text as long as the context */
    int32_t n_rows;         /* before pruning */
    const int32_t *reaches; /* [n_layers] rows that reach each layer, or NULL */
    int64_t picture_pixels; /* of the largest picture; 0: none */
    uint64_t other_frames;  /* bytes of the tower's input for the other pictures */
} s2v_estimated;

/* engine: without weights. session: options as passed, without defaults. */
s2p_status s2v_memory_estimate(s2v_engine *engine, const s2v_session_options *session,
                               const s2v_estimated *estimated, s2v_memory *out, s2p_error *error);

typedef struct s2v_tower_needs { /* bytes for one picture */
    uint64_t here, device;       /* of the graph */
    uint64_t frame;              /* of its input, kept until the prompt is finished */
} s2v_tower_needs;

/* For a gray picture of side x side pixels, seen whole. */
s2p_status s2v_reserve_tower(const s2v_session *session, int32_t side, s2v_tower_needs *out,
                             s2p_error *error);

#endif /* S2_ENGINE_SESSION_MEMORY_H */
