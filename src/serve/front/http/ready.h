/* ready.h - exchanges that have something to send, from any thread to the HTTP thread. */
#ifndef S2_SERVE_READY_H
#define S2_SERVE_READY_H

#include "base/error.h"

#include <pthread.h>

struct s2_exchange;

typedef struct s2_ready {
    pthread_mutex_t lock;
    struct s2_exchange *first; /* each with a reference of its own */
    int wake[2];               /* a pipe: a byte wakes the thread */
} s2_ready;

s2p_status s2_ready_open(s2_ready *ready, s2p_error *error);
void s2_ready_close(s2_ready *ready); /* it has to be empty */

/* Wakes the thread; x NULL: for nothing in particular. An exchange that is there already stays once. */
void s2_ready_push(s2_ready *ready, struct s2_exchange *x);

/* One of them, with its reference; NULL: none is left. */
struct s2_exchange *s2_ready_pop(s2_ready *ready);

#endif /* S2_SERVE_READY_H */
