/* answer.h - the answer of a session: none yet, ready to start. s2vlm.h has how it goes on. */
#ifndef S2_ENGINE_ANSWER_H
#define S2_ENGINE_ANSWER_H

#include "engine/run/session.h"

/* Forget the last answer and what its first token would have been picked from. */
void s2v_answer_clear(s2v_session *session);

/* After a prefill: the sampler is as new, with the session's options. */
s2p_status s2v_answer_start(s2v_session *session, s2p_error *error);

#endif /* S2_ENGINE_ANSWER_H */
