/* side.h - a thread beside the scheduler's: pictures are decoded there, so that answers go on meanwhile.
 *
 * One thread: of all requests together one picture at a time is decoded. There are never more tasks than
 * the front may send jobs.
 */
#ifndef S2_SERVE_SIDE_H
#define S2_SERVE_SIDE_H

#include "serve/engine/channel.h"

typedef struct s2_side_task {
    struct s2_side_task *next;
    void (*run)(struct s2_side_task *task); /* the last use of the task by this thread */
} s2_side_task;

typedef struct s2_side {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t has_task;
    s2_side_task *first;
    s2_inbox *inbox; /* woken after each task */
} s2_side;

s2p_status s2_side_start(s2_side *side, s2_inbox *inbox, s2p_error *error);
void s2_side_add(s2_side *side, s2_side_task *task);

#endif /* S2_SERVE_SIDE_H */
