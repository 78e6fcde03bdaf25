/* prefill.h - the steps of s2v_session_prefill, for whoever takes them for several sessions. */
#ifndef S2_ENGINE_PREFILL_H
#define S2_ENGINE_PREFILL_H

#include "engine/prompt/job.h"

/* Its rows are laid out, and what the cache knows of it is in the session; or it is refused: close it. */
s2p_status s2v_prefill_open(s2v_job *job);

/* The conversation is no longer what it was before. */
void s2v_prefill_begin(s2v_job *job);

/* Of a prompt whose start was recalled: how long the rest of it took. */
void s2v_prefill_question_ran(s2v_job *job, double took_ms);

/* It ended like this; returns how it ends at last. stats: out, or NULL. */
s2p_status s2v_prefill_close(s2v_job *job, s2p_status status, s2v_stats *stats);

/* Instead, of one that is open and has not begun: the session is as it was. */
void s2v_prefill_undo(s2v_job *job);

/* From open to closed. */
s2p_status s2v_prefill_alone(s2v_job *job, s2v_stats *stats);

#endif /* S2_ENGINE_PREFILL_H */
