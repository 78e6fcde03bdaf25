/* server.h - what all requests share. */
#ifndef S2_SERVE_SERVER_H
#define S2_SERVE_SERVER_H

#include "serve/front/exchange.h"
#include "serve/front/front.h"

#define S2_N_STATUS 600

typedef struct s2_server {
    const s2_front_options *options;
    s2_link *link;
    s2_connections connections;
    s2_guesses guesses;          /* of the thread of HTTP */
    s2_access access;            /* its keys change on SIGHUP; */
    pthread_mutex_t access_lock; /* they are read and changed with it */
    atomic_bool is_draining;
    atomic_bool is_over;   /* nothing more is fetched */
    atomic_int n_fetching; /* requests whose pictures are on their way */
    atomic_uint_fast64_t n_requests,
        n_answers[S2_N_STATUS / 100]; /* by the hundred of the status */
    atomic_uint_fast64_t n_prompt_tokens, n_generated, n_image_tokens, n_image_tokens_full,
        n_cached;
    atomic_uint_fast64_t n_towers, n_passes, n_pass_tokens; /* of the engine since it was started */
    double started_ms;
} s2_server;

/* A row of the table of routes. */
typedef struct s2_route {
    const char *method, *path;
    bool is_public;
    bool (*handle)(s2_exchange *x, s2_http_error *error); /* false: refused */
} s2_route;

#endif /* S2_SERVE_SERVER_H */
