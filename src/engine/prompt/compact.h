/* compact.h - apply a plan: the only place where tokens leave a sequence. */
#ifndef S2_ENGINE_COMPACT_H
#define S2_ENGINE_COMPACT_H

#include "engine/session/session.h"

/* Keep rows keep[0..n_keep) of the prompt, in this order (-1: a row of zeros at position -1): hidden
 * states, positions, and the cache of the first n_layers layers. */
s2p_status s2v_compact(s2v_session *session, const int32_t *keep, int32_t n_keep, int32_t n_layers,
                       s2p_error *error);

/* What a plan merges goes into the rows that will stay. alive, row: [n] tokens and their rows. */
s2p_status s2v_merge_rows(s2v_session *session, const s2p_plan *plan, const int32_t *alive,
                          const int32_t *row, int32_t n, s2p_error *error);

#endif /* S2_ENGINE_COMPACT_H */
