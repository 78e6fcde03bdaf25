/* progress.c - call the session's callback, or else the engine's. */
#include "engine/session/progress.h"

#include "engine/session/session.h"

void s2v_session_set_progress(s2v_session *session, s2v_progress_callback progress, void *user)
{
    session->progress.call = progress;
    session->progress.user = user;
}

s2v_watch s2v_progress_watch(const s2v_session *s, const char *step, double from, double to)
{
    const s2v_engine_options *o = &s->engine->options;
    const bool is_own = s->progress.call != NULL;
    return (s2v_watch){ .call = is_own ? s->progress.call : o->progress,
                        .user = is_own ? s->progress.user : o->user,
                        .step = step,
                        .from = from,
                        .to = to };
}

s2p_status s2v_progress_tell(s2v_session *s, const char *step, double done, s2p_error *error)
{
    const s2v_watch w = s2v_progress_watch(s, step, done, done);
    if (!w.call || w.call(step, done, w.user) == 0) return S2P_OK;
    return s2_fail(error, S2P_ECANCELLED, "the prompt was cancelled");
}
