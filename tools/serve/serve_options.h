/* serve_options.h - options of `serve`; both of its processes read the same command line. */
#ifndef S2_TOOLS_SERVE_OPTIONS_H
#define S2_TOOLS_SERVE_OPTIONS_H

#include "asking/asker.h"

typedef struct serve_options {
    ask_options ask; /* first: the shared rows point into it */
    int32_t method;
    s2a_budget budget;
    const char *alias, *virtual_models, *detail_map, *models;
    int32_t models_mib;
    const char *host, *unix_socket, *api_key_file, *ssl_key, *ssl_cert, *allowed_hosts,
        *cors_origins, *trusted_proxy, *results_dir, *image_hosts, *media_path;
    s2_list api_keys;
    int32_t port, parallel, queue, per_address, max_body, cache_mib, header_s, body_s, idle_s,
        send_s, drain_s, stuck_s, leave_s, log_format, cache_per_key;
    bool no_ui, metrics, is_open, no_sandbox, may_crash, log_requests;
} serve_options;

extern const s2_option s2_serve_rows[];

#endif /* S2_TOOLS_SERVE_OPTIONS_H */
