/* link.h - the engine process as the front sees it: jobs in, frames out, and when it dies another.
 *
 * A thread owns the process and the socket. Jobs wait in a queue, first come, first served; as many
 * run at once as the engine has sessions, those that need none besides. When the engine dies the
 * jobs it had are lost and the queue stays; it is started again after 0.1 s, then 0.2 s, up to 5 s.
 */
#ifndef S2_SERVE_LINK_H
#define S2_SERVE_LINK_H

#include "base/json.h"
#include "serve/protocol/frame.h"

typedef struct s2_link s2_link;

typedef enum s2_job_end {
    S2_JOB_ANSWERED,  /* a frame ended it */
    S2_JOB_LOST,      /* the engine died with it */
    S2_JOB_CANCELLED, /* it never began */
    S2_JOB_STOPPED    /* the server ends */
} s2_job_end;

typedef struct s2_link_job { /* part of what the caller owns; unchanged between submit and end */
    uint64_t request;        /* given by submit */
    s2_buffer frame;         /* to be sent: from s2_job_encode with request 0 */
    bool is_quick;
    /* Both from the thread of the link. `heard`: a frame that is its own. `end`: exactly once, and
     * nothing after it. */
    void (*heard)(struct s2_link_job *job, const s2_frame *frame);
    void (*end)(struct s2_link_job *job, s2_job_end how);

    struct s2_link_job *next; /* the link's own */
    bool is_running, is_cancelled;
} s2_link_job;

typedef struct s2_link_options { /* all borrowed until the link is stopped */
    char *const *argv;           /* the program of the engine; the socket is its descriptor 3 */
    int32_t n_parallel, n_queue;
    size_t max_queue_bytes;
    void (*log)(const char *text);
} s2_link_options;

s2p_status s2_link_start(s2_link **out, const s2_link_options *options, s2p_error *error);
void s2_link_stop(s2_link *link); /* ends every job; NULL is fine */

/* S2P_ELIMIT: the queue is full; the job was not taken. */
s2p_status s2_link_submit(s2_link *link, s2_link_job *job);

/* Its client is gone; `end` follows. */
void s2_link_cancel(s2_link *link, s2_link_job *job);

typedef struct s2_link_state {
    bool is_ready; /* the model is loaded */
    bool has_been_ready;
    int32_t n_running, n_queued;
    uint64_t n_starts, n_deaths, n_refused;
    char step[64]; /* of loading */
    double done;
    int pid;
    double ready_in_ms; /* estimate: when the engine may be back */
} s2_link_state;

void s2_link_get_state(s2_link *link, s2_link_state *out);

/* What the engine said about itself, a new reference; NULL before it did. */
json_t *s2_link_hello(s2_link *link);

#endif /* S2_SERVE_LINK_H */
