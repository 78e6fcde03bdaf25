/* channel.h - the engine's side of the socket to the front: jobs in, frames out. */
#ifndef S2_SERVE_CHANNEL_H
#define S2_SERVE_CHANNEL_H

#include "base/json.h"
#include "serve/protocol/frame.h"

#include <pthread.h>
#include <stdatomic.h>

/* --- jobs in --------------------------------------------------------------------------------
 * Read by a thread of their own, so that a cancellation arrives while a prompt is running. */

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
    s2_inbox_job *first; /* waiting and taken jobs, in order of arrival */
    struct s2_outbox *outbox;
    bool is_poked;             /* who waits for a job shall look around instead */
    atomic_uint_fast64_t beat; /* grows while the scheduler gets on */
    void (*gone)(void);        /* the front closed the socket or sent an invalid frame */
} s2_inbox;

/* `gone` is called from the reading thread, which also answers pings. */
s2p_status s2_inbox_start(s2_inbox *inbox, int fd, struct s2_outbox *outbox, void (*gone)(void),
                          s2p_error *error);

typedef enum s2_inbox_which {
    S2_INBOX_QUICK,
    S2_INBOX_ANY,
    S2_INBOX_WAIT_QUICK,
    S2_INBOX_WAIT
} s2_inbox_which;

/* The next job that is not taken yet; NULL: none. With WAIT: wait for it, or for a
 * poke. */
s2_inbox_job *s2_inbox_take(s2_inbox *inbox, s2_inbox_which which);

/* Whoever waits for a job, now or next, is woken. */
void s2_inbox_poke(s2_inbox *inbox);

/* The job has been answered. */
void s2_inbox_release(s2_inbox *inbox, s2_inbox_job *job);

/* --- frames out, by any thread ------------------------------------------------------------------ */

typedef struct s2_outbox {
    int fd;
    pthread_mutex_t lock;
    s2_buffer frame; /* scratch */
} s2_outbox;

void s2_outbox_init(s2_outbox *outbox, int fd);
void s2_outbox_free(s2_outbox *outbox);

void s2_outbox_bytes(s2_outbox *outbox, s2_frame_type type, uint64_t request, const void *bytes,
                     size_t n);

/* Takes over the reference; NULL (out of memory while it was built) becomes an error frame. */
void s2_outbox_json(s2_outbox *outbox, s2_frame_type type, uint64_t request, json_t *value);

typedef struct s2_refusal { /* why a job failed */
    s2p_status status;
    const char *message, *param; /* param: the field at fault, or NULL */
    int32_t n_prompt, n_ctx;     /* n_ctx above 0: the prompt does not fit into the context */
    bool is_ours;                /* not the client's fault */
} s2_refusal;

void s2_outbox_refuse(s2_outbox *outbox, uint64_t request, const s2_refusal *refusal);

#endif /* S2_SERVE_CHANNEL_H */
