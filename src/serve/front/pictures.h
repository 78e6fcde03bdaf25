/* pictures.h - pictures that are not in the request itself: files of one folder, and other servers. */
#ifndef S2_SERVE_PICTURES_H
#define S2_SERVE_PICTURES_H

#include "base/buffer.h"
#include "serve/front/http_error.h"

#include <stdatomic.h>

struct sockaddr;

/* --- files --------------------------------------------------------------------------------- */

/* "file://photos/a.jpg", as llama-server takes it: the path is below `folder`. Links and ".." are not
 * followed, so nothing outside can be named. Every failure has the same message (400). */
bool s2_media_read(const char *folder, const char *url, const char *param, size_t max_bytes,
                   s2_buffer *out, s2_http_error *error);

/* --- which servers; no network here -------------------------------------------------------- */

/* A list such as "pictures.example,http://10.0.0.5:9000": host names, or "*" for any. HTTPS on port
 * 443 unless an item says http:// or another port. */
bool s2_remote_allows(const char *list, const char *scheme, const char *host, long port);

/* The list names this very address, so the operator means it, whatever network it is in. */
bool s2_remote_names_address(const char *list, const struct sockaddr *address);

/* An address of the public network: not this machine, a private network, a cloud's metadata service,
 * or any of them wrapped into IPv6. */
bool s2_address_is_public(const struct sockaddr *address);

/* --- fetching, by libcurl -------------------------------------------------------------------- */

#define S2_REMOTE_SECONDS 10 /* including redirects */
#define S2_REMOTE_MAX_BYTES ((size_t)10 << 20)

/* Whether the list allows this URL; the 403 names the field, not the reason. */
bool s2_remote_check(const char *list, const char *url, const char *param, s2_http_error *error);

/* Appends the body to *out. Blocks: call it on a thread of its own. Every failure has the same message,
 * so that a client learns nothing about other networks. *is_over: stop early. */
bool s2_remote_fetch(const char *list, const char *url, const char *param,
                     const atomic_bool *is_over, s2_buffer *out, s2_http_error *error);

/* Once, before there are threads; false: the program was built without libcurl. */
bool s2_remote_init(void);

/* Whether each item of such a list has a host and a port that exists. */
s2p_status s2_remote_check_list(const char *list, s2p_error *error);

#endif /* S2_SERVE_PICTURES_H */
