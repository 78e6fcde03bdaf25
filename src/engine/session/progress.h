/* progress.h - reports the progress of a prefill to a callback, which may cancel it.
 *
 *     "picture"   pictures cut into patches        one by one
 *     "tower"     pictures seen                    twice in each block of the tower
 *     "layers"    rows through layers of the decoder    twice in each layer
 *
 * Between two such places no thread computes: other sessions may run meanwhile. The graphs are the
 * same, so results are bit-identical with and without a callback.
 */
#ifndef S2_ENGINE_PROGRESS_H
#define S2_ENGINE_PROGRESS_H

#include "engine/backend/graph.h"

struct s2v_session;

typedef struct s2v_progress {
    s2v_progress_callback call; /* NULL: use the engine's */
    void *user;
    double from, to;    /* the picture the tower sees, of all pictures */
    double done, total; /* rows times layers */
} s2v_progress;

/* Call it; S2P_ECANCELLED if it cancels. */
s2p_status s2v_progress_tell(struct s2v_session *session, const char *step, double done,
                             s2p_error *error);

/* The callback for a graph that advances `step` from one fraction to another. */
s2v_watch s2v_progress_watch(const struct s2v_session *session, const char *step, double from,
                             double to);

#endif /* S2_ENGINE_PROGRESS_H */
