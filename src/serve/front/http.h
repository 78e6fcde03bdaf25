/* http.h - libmicrohttpd: one thread that reads heads and bodies and sends answers. */
#ifndef S2_SERVE_HTTP_H
#define S2_SERVE_HTTP_H

#include "serve/front/server.h"

struct MHD_Daemon;

/* fd: a socket that listens; the daemon closes it. */
s2p_status s2_http_start(struct MHD_Daemon **out, s2_server *server, int fd, s2p_error *error);
void s2_http_stop(struct MHD_Daemon *daemon); /* NULL is fine */

/* Every 50 ms: who takes too long, who has left, who has heard nothing for a while. */
void s2_http_tick(s2_server *server);

#endif /* S2_SERVE_HTTP_H */
