/* exchange.h - one request and its answer, between the thread of HTTP and that of the engine.
 *
 *     HTTP thread     head, body -> handle -> submit -> suspend ... resume -> answer
 *     engine thread                            frames -> output, wake ...
 *
 * Both hold a reference. Output is added with the lock held.
 */
#ifndef S2_SERVE_EXCHANGE_H
#define S2_SERVE_EXCHANGE_H

#include "serve/front/connections.h"
#include "serve/front/gate.h"
#include "serve/front/link.h"

#include <stdatomic.h>

struct MHD_Connection;
struct s2_server; /* server.h */

typedef struct s2_chat_answer { /* of an answer on its way to an OpenAI client */
    char id[40], model[320], fingerprint[80];
    int64_t created;
    bool includes_usage, wants_progress, has_logprobs, has_role;
    s2_buffer text;      /* when it is not streamed, */
    json_t *tokens;      /* and how likely each token was; owned, NULL: none yet */
    size_t n_token_text; /* bytes the engine told all that in */
} s2_chat_answer;

typedef struct s2_exchange {
    atomic_int n_references;
    pthread_mutex_t lock;
    struct s2_server *server;
    struct MHD_Connection *http;
    s2_connection *connection;
    char *target; /* as the client wrote it, owned */
    s2_head head; /* valid while the request is handled */
    const struct s2_route *route;
    s2_buffer body;
    bool is_seen, is_handled, is_too_large;

    s2_link_job job;
    bool has_job;                                               /* the engine thread may call */
    void (*hear)(struct s2_exchange *x, const s2_frame *frame); /* with the lock */
    const char *result_type;                                    /* of S2_FRAME_BYTES */
    s2_chat_answer chat;
    double asked_ms, sent_ms; /* when; when something was last sent */

    int status; /* of the answer; 0: not known yet */
    const char *content_type;
    const char *allow; /* of a 405 */
    int retry_after_s;
    s2_buffer out;
    size_t n_taken;
    bool may_stream; /* asked for: its head can go out before there is an answer */
    bool streams;    /* text/event-stream; out grows until is_done */
    bool is_done, is_suspended, is_gone;
    const struct s2_asset *asset; /* a file of the page instead of `out` */
} s2_exchange;

s2_exchange *s2_exchange_create(struct s2_server *server, const char *target); /* NULL: no memory */
void s2_exchange_release(s2_exchange *x);

/* --- the answer; with the lock once a job was submitted --------------------------------- */

void s2_exchange_json(s2_exchange *x, int status, json_t *value); /* takes over the reference */
void s2_exchange_text(s2_exchange *x, int status, const char *type, const void *text, size_t n);
void s2_exchange_fail(s2_exchange *x, const s2_http_error *error);

/* The head of a stream may go out; events; the end. */
void s2_exchange_stream(s2_exchange *x);
void s2_exchange_event(s2_exchange *x, json_t *value); /* takes over the reference */
void s2_exchange_line(s2_exchange *x, const char *line);
void s2_exchange_finish(s2_exchange *x);

/* A failure in the middle of a stream, or instead of an answer. */
void s2_exchange_break(s2_exchange *x, const s2_http_error *error);

/* Let HTTP go on if there is something for it. */
void s2_exchange_wake(s2_exchange *x);

#endif /* S2_SERVE_EXCHANGE_H */
