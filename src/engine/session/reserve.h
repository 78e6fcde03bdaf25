/* reserve.h - memory of the device, counted and taken when a session starts.
 *
 * A backend that runs out in the middle of a graph may not come back, so the largest graphs are
 * measured before the first. On the CPU there is nothing to do.
 */
#ifndef S2_ENGINE_RESERVE_H
#define S2_ENGINE_RESERVE_H

#include "engine/session/session.h"

/* The cache of the device's layers has room; before it is allocated. */
s2p_status s2v_reserve_cache(const s2v_session *session, s2v_kv_types type, s2p_error *error);

/* The largest graphs have: a full batch at the end of the context, whose memory is taken; and what
 * is taken while a prompt runs, the tower's on a picture of the largest usual size and after it the
 * unrounded keys and values of a layer. */
s2p_status s2v_reserve_graphs(s2v_session *session, s2p_error *error);

/* The first of them, drawn into session->graph; its cache may be an outline. */
s2p_status s2v_reserve_draw(s2v_session *session, s2p_error *error);

typedef struct s2v_tower_needs { /* bytes for one picture */
    uint64_t here, device;       /* of the graph */
    uint64_t frame;              /* of what it reads, kept until the prompt is done */
} s2v_tower_needs;

/* For a gray picture of side x side pixels, seen whole. */
s2p_status s2v_reserve_tower(const s2v_session *session, int32_t side, s2v_tower_needs *out,
                             s2p_error *error);

#endif /* S2_ENGINE_RESERVE_H */
