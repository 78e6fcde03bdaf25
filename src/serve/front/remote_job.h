/* remote_job.h - a request whose pictures are on other servers: they are fetched on a thread of their own,
 * so that nobody else waits for them, and then the request goes on. */
#ifndef S2_SERVE_REMOTE_JOB_H
#define S2_SERVE_REMOTE_JOB_H

#include "serve/front/chat_request.h"
#include "serve/front/server.h"

#define S2_REMOTE_AT_ONCE 4 /* requests; more hear 429 */

typedef bool (*s2_remote_then)(s2_exchange *x, const s2_chat_request *request,
                               s2_http_error *error);

/* Takes over what *request holds when it returns true. `then` is called on that thread. */
bool s2_remote_job_start(s2_exchange *x, s2_chat_request *request, s2_remote_then then,
                         s2_http_error *error);

/* None is left when this returns. */
void s2_remote_jobs_end(s2_server *server);

#endif /* S2_SERVE_REMOTE_JOB_H */
