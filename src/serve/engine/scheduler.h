/* scheduler.h - who runs when: prompts as they come, a token for each session that answers, and in
 * between what needs no session. */
#ifndef S2_SERVE_SCHEDULER_H
#define S2_SERVE_SCHEDULER_H

#include "serve/engine/quick_jobs.h"

typedef struct s2_scheduler s2_scheduler;

/* Takes over the session of *opened as the first one; the rest is borrowed. Further sessions are
 * created when they are needed. */
s2p_status s2_scheduler_create(s2_scheduler **out, s2a_opened *opened, const s2_quick *quick,
                               s2_inbox *inbox, s2p_error *error);
void s2_scheduler_free(s2_scheduler *scheduler);

/* Serve until the process ends. */
void s2_scheduler_run(s2_scheduler *scheduler);

#endif /* S2_SERVE_SCHEDULER_H */
