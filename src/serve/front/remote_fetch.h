/* remote_fetch.h - the bytes of a picture on another server, by libcurl. Blocks: call it on a thread
 * that nobody waits for. */
#ifndef S2_SERVE_REMOTE_FETCH_H
#define S2_SERVE_REMOTE_FETCH_H

#include "base/buffer.h"
#include "serve/front/http_error.h"

#include <stdatomic.h>

#define S2_REMOTE_SECONDS 10 /* with all redirects */
#define S2_REMOTE_MAX_BYTES ((size_t)10 << 20)

/* Whether the list (see remote_rules.h) allows this URL; a 403 names the field, not the reason. */
bool s2_remote_check(const char *list, const char *url, const char *param, s2_http_error *error);

/* Append the body to *out. Whatever goes wrong, the client hears the same sentence: it must not learn
 * what other networks look like from here. *is_over: stop early. */
bool s2_remote_fetch(const char *list, const char *url, const char *param,
                     const atomic_bool *is_over, s2_buffer *out, s2_http_error *error);

/* Once, before there are threads; false: the program was built without libcurl. */
bool s2_remote_init(void);

#endif /* S2_SERVE_REMOTE_FETCH_H */
