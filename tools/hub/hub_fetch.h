/* hub_fetch.h - bytes from a hub over HTTP: a small document, or a file that may take hours. */
#ifndef S2_TOOLS_HUB_FETCH_H
#define S2_TOOLS_HUB_FETCH_H

#include "base/buffer.h"
#include "hub/hub_choose.h"
#include "progress.h"

typedef struct s2_hub_server {
    const char *endpoint; /* "https://host" without a final slash */
    const char *token;    /* or NULL; sent to the endpoint only, not to where it redirects */
} s2_hub_server;

/* GET endpoint/path into an initialised buffer, whose max is the limit. */
s2p_status s2_hub_get(const s2_hub_server *server, const char *path, s2_buffer *out,
                      s2p_error *error);

/* GET endpoint/path into `target`, through `target`.partial: goes on where an earlier attempt stopped,
 * is renamed when all bytes are there and have the SHA-256 of `file`. One process at a time; others
 * wait. Wrong bytes are removed. */
s2p_status s2_hub_download(const s2_hub_server *server, const char *path, const s2_hub_file *file,
                           const char *target, s2_progress *progress, s2p_error *error);

#endif /* S2_TOOLS_HUB_FETCH_H */
