/* listen.h - a socket that listens. */
#ifndef S2_SERVE_LISTEN_H
#define S2_SERVE_LISTEN_H

#include "base/error.h"

#include <stdbool.h>

/* host: an address or a name; *port 0: any, and out which. */
s2p_status s2_listen_tcp(const char *host, int32_t *port, int *fd, s2p_error *error);

/* A path; only the owner may connect. A socket that nobody listens on any more is replaced. */
s2p_status s2_listen_unix(const char *path, int *fd, s2p_error *error);

#endif /* S2_SERVE_LISTEN_H */
