/* server.h - what all requests share, and one request with its answer.
 *
 * An exchange is a request and its answer, between the HTTP thread and the engine thread:
 *
 *     HTTP thread     head, body -> handle -> submit -> suspend ... resume -> answer
 *     engine thread                            frames -> output, wake ...
 *
 * Both hold a reference. Output is added with the lock held.
 */
#ifndef S2_SERVE_SERVER_H
#define S2_SERVE_SERVER_H

#include "serve/front/chat_request.h"
#include "serve/front/connections.h"
#include "serve/front/front.h"
#include "serve/front/link.h"
#include "serve/front/models.h"
#include "serve/front/http/ready.h"
#include "serve/front/record.h"
#include "serve/structured/tool_text.h"

struct s2_http; /* http/loop.h */
struct s2_server;
struct wire;

typedef struct s2_choice { /* one of the answers to a request */
    bool has_role;
    char id[64];         /* what ids of its calls are made from */
    s2_tool_text tools;  /* where the text may have calls; */
    json_t *calls;       /* those that were found; owned, NULL: none yet */
    s2_buffer thoughts;  /* what came before it, of an answer that is not streamed; */
    s2_buffer text;      /* of an answer that is not streamed, or of another API, */
    json_t *tokens;      /* and its token probabilities; owned, NULL: none yet */
    size_t n_token_text; /* bytes of the frames they came in */
    size_t n_lead;       /* bytes of the text before the first call */
    bool is_cut;         /* it ended by its length */
} s2_choice;

typedef struct s2_chat_answer { /* an answer in progress, for an OpenAI client */
    char id[40], model[320], fingerprint[80];
    int64_t created;
    bool includes_usage, wants_progress, has_logprobs, streams;
    bool has_tools;   /* the text may have calls */
    int32_t n_events; /* of a stream, where they are numbered */
    int32_t n_parts;  /* of a stream, where they are announced, */
    bool is_in_text;  /* and whether the last one is a text that goes on */
    json_t *repeated; /* fields of the request that the answer shows; owned, or NULL */
    s2_choice choice[S2_CHAT_MAX_ANSWERS];
    int32_t n_choices, at; /* the choice that is being sent */
} s2_chat_answer;

typedef struct s2_exchange {
    atomic_int n_references;
    pthread_mutex_t lock;
    struct s2_server *server;
    struct wire *wire; /* where its answer goes; HTTP thread only */
    bool is_ready;     /* in the list of ready.h */
    struct s2_exchange *next_ready;
    atomic_bool is_asked; /* the client sends no more: is it still there? */
    double probed_ms;     /* when that was last asked */
    s2_connection *connection;
    char *target; /* as the client wrote it, owned */
    s2_head head; /* valid while the request is handled */
    const struct s2_route *route;
    s2_buffer body;
    bool is_seen, is_too_large;

    uint64_t salt;  /* of the engine's cache; 0: shared */
    s2_link *link;  /* of the model that is asked */
    double told_ms; /* when the client was last told that it loads */
    s2_link_job job;
    bool has_job;                                                  /* the engine thread may call */
    void (*receive)(struct s2_exchange *x, const s2_frame *frame); /* with the lock */
    const char *result_type;                                       /* of S2_FRAME_BYTES */
    s2_chat_answer chat;
    s2_record record;
    double asked_ms, sent_ms; /* time of the request; time of the last output */

    int status; /* HTTP status of the answer; 0: not known yet */
    const char *content_type;
    const char *allow; /* of a 405 */
    int retry_after_s;
    s2_buffer out;
    size_t n_taken;
    bool may_stream; /* requested: the head can be sent before there is an answer */
    bool streams;    /* text/event-stream; out grows until is_done */
    bool is_done, is_suspended, is_gone;
    const struct s2_asset *asset; /* a file of the web page, sent instead of `out` */
} s2_exchange;

s2_exchange *s2_exchange_create(struct s2_server *server, const char *target); /* NULL: no memory */
void s2_exchange_release(s2_exchange *x);

/* --- the answer; with the lock once a job was submitted --------------------------------- */

void s2_exchange_json(s2_exchange *x, int status, json_t *value); /* takes over the reference */
void s2_exchange_text(s2_exchange *x, int status, const char *type, const void *text, size_t n);
void s2_exchange_fail(s2_exchange *x, const s2_http_error *error);

/* The head of a stream can be sent; events; the end. */
void s2_exchange_stream(s2_exchange *x);
void s2_exchange_event(s2_exchange *x, json_t *value); /* takes over the reference */
void s2_exchange_line(s2_exchange *x, const char *line);
void s2_exchange_json_line(s2_exchange *x, json_t *value); /* takes over the reference */
void s2_exchange_finish(s2_exchange *x);

/* A failure in the middle of a stream, or instead of an answer. */
void s2_exchange_break(s2_exchange *x, const s2_http_error *error);

/* Resumes the connection if there is something to send. */
void s2_exchange_wake(s2_exchange *x);

/* --- the server ------------------------------------------------------------------------------ */

#define S2_N_STATUS 600

struct s2_door;

typedef struct s2_server {
    const s2_front_options *options;
    s2_models models;
    s2_connections connections;
    s2_ready ready;
    s2_wrong_keys wrong_keys;    /* HTTP thread only */
    s2_access access;            /* its keys change on SIGHUP; */
    pthread_mutex_t access_lock; /* held to read or change them */
    atomic_bool is_leaving;      /* /health says so; requests are still accepted, */
    atomic_bool is_draining;     /* and now no longer */
    atomic_bool is_over;         /* no more pictures are fetched */
    atomic_int n_fetching;       /* requests whose pictures are being fetched */
    atomic_uint_fast64_t n_requests, n_answers[S2_N_STATUS / 100]; /* by the class of the status */
    atomic_uint_fast64_t n_prompt_tokens, n_generated, n_image_tokens, n_image_tokens_full,
        n_cached;
    atomic_uint_fast64_t n_towers, n_passes, n_pass_tokens; /* of the engine since its start */
    s2_histograms histograms;
    double started_ms;
} s2_server;

/* A row of the route table. */
typedef struct s2_route {
    const char *method, *path;
    bool is_public;
    bool (*handle)(s2_exchange *x, s2_http_error *error); /* false: refused */
    const struct s2_door *door;                           /* of another API (api/door.h), or NULL */
} s2_route;

/* --- HTTP: one thread that reads requests and sends answers ------------------------------------ */

/* fd: a listening socket, closed at the end. */
s2p_status s2_http_start(struct s2_http **out, s2_server *server, int fd, s2p_error *error);
void s2_http_stop(struct s2_http *http); /* NULL is fine */

/* Every 50 ms: enforces deadlines, notices clients that have disconnected, keeps streams alive. */
void s2_http_tick(s2_server *server);

#endif /* S2_SERVE_SERVER_H */
