/* estimate.h - memory of this machine a session will take, counted before it is taken. */
#ifndef S2_ENGINE_ESTIMATE_H
#define S2_ENGINE_ESTIMATE_H

#include "engine/session/session.h"

/* The cache and the largest graph of a session whose graph memory is there and whose cache is not yet:
 * S2P_ENOMEM with the numbers when they are not available. */
s2p_status s2v_estimate_check(s2v_session *session, s2v_kv_types type, s2p_error *error);

#endif /* S2_ENGINE_ESTIMATE_H */
