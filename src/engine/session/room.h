/* room.h - how many tokens the context holds, and more where that was left open. */
#ifndef S2_ENGINE_SESSION_ROOM_H
#define S2_ENGINE_SESSION_ROOM_H

#include "engine/session/session.h"

#define S2V_MOST_ROWS (1 << 20) /* of a prompt, before pruning */

/* The context a new session of open size comes to have for n tokens. */
int32_t s2v_room_for(const s2v_engine *engine, int64_t n);

/* The most tokens the context may come to hold: options.n_ctx, or where that was 0 as many as the model
 * was trained with. */
int32_t s2v_room_most(const s2v_session *session);

/* The context holds n tokens, those there included: it grows if it may. S2P_ELIMIT, with what the caller
 * could ask for; S2P_ENOMEM. what: a phrase for the sentence, as "12 tokens of the prompt". */
s2p_status s2v_room_make(s2v_session *session, int64_t n, const char *what, s2p_error *error);

/* Room for one more row in every layer. */
s2p_status s2v_room_for_token(s2v_session *session, s2p_error *error);

#endif /* S2_ENGINE_SESSION_ROOM_H */
