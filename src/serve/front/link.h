/* link.h - the engine process as the front sees it: jobs in, frames out, restarted when it dies.
 *
 * A thread owns the process and the socket. Jobs wait in a queue, first come, first served; as many
 * run at once as the engine has sessions, in addition to those that need no session. A job of several
 * answers takes a session for each; one that takes more than there are runs alone. When the engine
 * dies, its running jobs are lost and the queue stays; it is restarted after 0.1 s, then 0.2 s, up to
 * 5 s. One that does not answer pings, does not get on with what it computes, or says nothing while
 * it loads, is ended. Where it cannot be loaded again twice in a row, waiting jobs end and new ones are
 * refused until it can.
 */
#ifndef S2_SERVE_LINK_H
#define S2_SERVE_LINK_H

#include "base/json.h"
#include "serve/protocol/frame.h"

typedef struct s2_link s2_link;

typedef enum s2_job_end {
    S2_JOB_ANSWERED,  /* a frame ended it */
    S2_JOB_LOST,      /* the engine died with it */
    S2_JOB_STUCK,     /* the engine was ended with it, because it did not get on */
    S2_JOB_CANCELLED, /* it never began */
    S2_JOB_FAILED,    /* the model cannot be loaded */
    S2_JOB_STOPPED    /* the server is shutting down */
} s2_job_end;

typedef struct s2_link_job { /* inside a struct of the caller; unchanged between submit and end */
    uint64_t request;        /* set by submit */
    s2_buffer frame;         /* to be sent: from s2_job_encode with request 0 */
    bool is_quick;
    int32_t n_answers; /* sessions it takes at once; 0 counts as 1 */
    /* Both are called on the thread of the link: `receive` for each frame of this job, `end` exactly
     * once, as the last call. */
    void (*receive)(struct s2_link_job *job, const s2_frame *frame);
    void (*end)(struct s2_link_job *job, s2_job_end how);

    struct s2_link_job *next; /* of the link */
    bool is_running, is_cancelled;
    double queued_ms, started_ms; /* when it came; when the engine got it, 0: not yet */
} s2_link_job;

typedef struct s2_link_options { /* all borrowed until the link is stopped */
    char *const *argv;           /* the program of the engine; the socket is its descriptor 3 */
    const char *name;            /* of the model, for the log; "": none */
    bool is_on_demand; /* it begins parked, and parks itself where the model cannot be loaded */
    char *const *environment; /* ended by NULL */
    int32_t n_parallel, n_queue;
    size_t max_queue_bytes;
    double silent_ms; /* the longest time without a sign of progress; 0: any */
    void (*log)(const char *text);
} s2_link_options;

s2p_status s2_link_start(s2_link **out, const s2_link_options *options, s2p_error *error);
void s2_link_stop(s2_link *link); /* ends every job; NULL is fine */

/* Parked: the engine finishes what it runs and ends; jobs wait in the queue until it may start again. */
void s2_link_park(s2_link *link, bool is_parked);

/* S2P_ELIMIT: the queue is full; S2P_EIO: the engine cannot be loaded. The job was not accepted. */
s2p_status s2_link_submit(s2_link *link, s2_link_job *job);

/* The client has disconnected; `end` follows. */
void s2_link_cancel(s2_link *link, s2_link_job *job);

typedef struct s2_link_state {
    bool is_ready; /* the model is loaded */
    bool has_been_ready, is_parked;
    bool is_stuck;  /* it was silent for half of the time it may be */
    bool is_failed; /* it cannot be loaded again; it is tried every 5 s */
    int32_t n_running, n_queued;
    uint64_t n_starts, n_deaths, n_refused;
    char step[64]; /* of loading */
    char why[200]; /* the engine that died last: what it said at its end; "": nothing */
    double done;
    int pid;
    double used_ms;        /* when a job last came or ended; 0: never */
    double waits_since_ms; /* when the first job in the queue came */
    double ready_in_ms;    /* estimate: when the engine may be back */
} s2_link_state;

void s2_link_get_state(s2_link *link, s2_link_state *out);

/* The hello frame of the engine, a new reference; NULL before it arrived. */
json_t *s2_link_hello(s2_link *link);

typedef struct s2_model_info { /* from the hello frame */
    char model[200], ggml[48]; /* "" before it arrived */
    int32_t n_ctx;
} s2_model_info;

void s2_link_get_model(s2_link *link, s2_model_info *out);

#endif /* S2_SERVE_LINK_H */
