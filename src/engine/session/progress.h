/* progress.h - whoever waits for a prefill is told how far it is, and may stop it.
 *
 *     "picture"   pictures cut into patches        one by one
 *     "tower"     pictures seen                    twice in each block of the tower
 *     "layers"    rows through layers of the decoder    twice in each layer
 *
 * Between two such places no thread computes: other sessions may run meanwhile. Nothing is drawn
 * differently for it, so results are the same bit for bit whether anyone watches or not.
 */
#ifndef S2_ENGINE_PROGRESS_H
#define S2_ENGINE_PROGRESS_H

#include "engine/backend/graph.h"

struct s2v_session;

typedef struct s2v_progress {
    s2v_progress_callback call; /* NULL: the engine's is told */
    void *user;
    double from, to;    /* the picture the tower sees, of all pictures */
    double done, total; /* rows times layers */
} s2v_progress;

/* Tell it; S2P_ECANCELLED if it wants no more. */
s2p_status s2v_progress_tell(struct s2v_session *session, const char *step, double done,
                             s2p_error *error);

/* Who is told while a graph runs that takes `step` from one share to another. */
s2v_watch s2v_progress_watch(const struct s2v_session *session, const char *step, double from,
                             double to);

#endif /* S2_ENGINE_PROGRESS_H */
