/* front.h - the process clients talk to: HTTP, keys, limits, a queue. The model is in another process, which
 * may crash without ending this one. */
#ifndef S2_SERVE_FRONT_H
#define S2_SERVE_FRONT_H

#include "serve/front/connections.h"
#include "serve/front/gate.h"

#define S2_FRONT_MAX_MODELS 64

typedef struct s2_front_model { /* borrowed */
    const char *name;           /* for clients; ignored if there is only one */
    char *const *argv;          /* how its engine is started; the socket is its descriptor 3 */
    uint64_t bytes;             /* of its files */
    bool is_pinned;             /* loaded at the start, and never unloaded */
} s2_front_model;

typedef struct s2_front_options {   /* all borrowed */
    const char *host;               /* an address or a name */
    const char *unix_socket;        /* instead of host and port, or NULL */
    const char *ssl_key, *ssl_cert; /* PEM texts, or NULL */
    int32_t port;                   /* 0: any free port */
    s2_access access;
    const char *key_file; /* read again on SIGHUP, or NULL */
    size_t n_fixed_keys;  /* the first keys of `access`, which are not from that file */
    s2_front_model model[S2_FRONT_MAX_MODELS];
    int32_t n_models;
    uint64_t models_bytes;           /* of loaded models, at most; for several */
    char *const *engine_environment; /* ended by NULL */
    const char *virtual_models, *results_dir;
    const char *media_path;  /* clients may name pictures below this folder, or NULL */
    const char *image_hosts; /* pictures may be fetched from these (pictures.h), or NULL */
    int32_t n_parallel, n_queue;
    int32_t n_per_address; /* connections of one address; 0: no limit */
    size_t max_body;
    int64_t max_image_pixels; /* for the page */
    int32_t header_s, body_s, idle_s, send_s, drain_s;
    int32_t stuck_s; /* the longest silence of an engine; 0: any */
    int32_t leave_s; /* after SIGTERM requests are accepted as long, while /health says otherwise */
    s2_proxies proxies; /* whose X-Forwarded-For is believed */
    bool has_ui, has_metrics, may_crash;
    bool cache_per_key; /* pictures and prompts of one key are not found with another */
    bool log_as_json;
    void (*log_request)(const char *line); /* one for each request; NULL: none */
    void (*log)(const char *text);         /* a line for the operator */
    void (*ready)(const struct s2_front_options *options, const char *url, const json_t *hello,
                  double took_s); /* pinned models are loaded; hello: of the first, or NULL */
} s2_front_options;

/* Serve until SIGTERM or SIGINT; then drain. */
s2p_status s2_front_run(const s2_front_options *options, s2p_error *error);

#endif /* S2_SERVE_FRONT_H */
