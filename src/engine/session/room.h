/* room.h - how many tokens the context holds, and how it grows if n_ctx was 0. */
#ifndef S2_ENGINE_SESSION_ROOM_H
#define S2_ENGINE_SESSION_ROOM_H

#include "engine/session/session.h"

#define S2V_MOST_ROWS (1 << 20) /* of a prompt, before pruning */

/* The context that a new session with n_ctx 0 gets for n tokens. */
int32_t s2v_room_for(const s2v_engine *engine, int64_t n);

/* The maximum context: options.n_ctx, or the model's training context if that was 0. */
int32_t s2v_room_most(const s2v_session *session);

/* Ensure that the context holds n tokens in total: it grows if allowed. S2P_ELIMIT, with advice for the
 * caller; S2P_ENOMEM. what: a phrase for the message, such as "12 tokens of the prompt". */
s2p_status s2v_room_make(s2v_session *session, int64_t n, const char *what, s2p_error *error);

/* Room for one more row in every layer. */
s2p_status s2v_room_for_token(s2v_session *session, s2p_error *error);

#endif /* S2_ENGINE_SESSION_ROOM_H */
