/* inbox.h - jobs as they come in, read by a thread of their own: a client that leaves is heard of
 * while its picture is being looked at. */
#ifndef S2_SERVE_INBOX_H
#define S2_SERVE_INBOX_H

#include "serve/protocol/frame.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct s2_inbox_job {
    struct s2_inbox_job *next;
    uint64_t request;
    uint8_t *payload; /* [n] of the frame, owned */
    size_t n;
    atomic_bool is_cancelled;
    bool is_quick; /* needs no session */
    bool is_taken;
} s2_inbox_job;

typedef struct s2_inbox {
    int fd;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t has_job;
    s2_inbox_job *first; /* those that wait and those taken, in order of arrival */
    void (*gone)(void);  /* the front closed the socket, or talks nonsense */
} s2_inbox;

/* `gone` is called from the reading thread. */
s2p_status s2_inbox_start(s2_inbox *inbox, int fd, void (*gone)(void), s2p_error *error);

typedef enum s2_inbox_which { S2_INBOX_QUICK, S2_INBOX_ANY, S2_INBOX_WAIT } s2_inbox_which;

/* The next job that was not taken; NULL: there is none. S2_INBOX_WAIT: any, when it comes. */
s2_inbox_job *s2_inbox_take(s2_inbox *inbox, s2_inbox_which which);

/* The job has been answered. */
void s2_inbox_release(s2_inbox *inbox, s2_inbox_job *job);

#endif /* S2_SERVE_INBOX_H */
