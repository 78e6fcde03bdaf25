/* remote_fetch.c - one parser for URLs, libcurl's, and one place where an address is checked: when its socket
 * is opened. So neither a name that changes its address nor a spelling that another parser reads
 * differently gets through. */
#include "serve/front/pictures.h"

#include "base/clock.h"

#ifdef S2_HAS_CURL
#include <curl/curl.h>
#include <stdlib.h>
#include <sys/socket.h>

#define MAX_REDIRECTS 3

bool s2_remote_init(void) { return curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK; }

/* --- which URLs ---------------------------------------------------------------------------- */

static bool is_allowed(const char *list, CURLU *url)
{
    char *scheme = NULL, *host = NULL, *port = NULL, *user = NULL;
    bool is_fine = curl_url_get(url, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
                   curl_url_get(url, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
                   curl_url_get(url, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK &&
                   curl_url_get(url, CURLUPART_USER, &user, 0) != CURLUE_OK;
    is_fine = is_fine && s2_remote_allows(list, scheme, host, strtol(port, NULL, 10));
    curl_free(scheme);
    curl_free(host);
    curl_free(port);
    curl_free(user);
    return is_fine;
}

bool s2_remote_check(const char *list, const char *url, const char *param, s2_http_error *error)
{
    CURLU *parsed = curl_url();
    const bool is_fine = parsed && curl_url_set(parsed, CURLUPART_URL, url, 0) == CURLUE_OK &&
                         is_allowed(list, parsed);
    curl_url_cleanup(parsed);
    return is_fine ||
           s2_http_fail(error, 403, param,
                        "%s: images of this server may not be fetched; send a data URI", param);
}

/* --- one request --------------------------------------------------------------------------- */

typedef struct fetch {
    const char *list;
    const atomic_bool *is_over;
    s2_buffer *out;
} fetch;

static curl_socket_t open_socket(void *user, curlsocktype purpose, struct curl_sockaddr *address)
{
    const fetch *f = user;
    (void)purpose;
    if (!s2_address_is_public(&address->addr) && !s2_remote_names_address(f->list, &address->addr))
        return CURL_SOCKET_BAD;
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

static size_t take(char *data, size_t size, size_t n, void *user)
{
    const fetch *f = user;
    s2_buffer_append(f->out, data, size * n);
    return f->out->status == S2P_OK ? size * n : 0;
}

static int watch(void *user, curl_off_t total, curl_off_t now, curl_off_t up_total, curl_off_t up)
{
    const fetch *f = user;
    (void)total, (void)now, (void)up_total, (void)up;
    return atomic_load(f->is_over);
}

bool s2_remote_fetch(const char *list, const char *url, const char *param,
                     const atomic_bool *is_over, s2_buffer *out, s2_http_error *error)
{
    const double end = s2_now_ms() + 1e3 * S2_REMOTE_SECONDS;
    const size_t start = out->size;
    CURL *curl = curl_easy_init();
    CURLU *parsed = curl_url();
    fetch f = { .list = list, .is_over = is_over, .out = out };
    bool is_fine = false;
    const char *next = url; /* the target of a redirect belongs to the handle */
    out->max = start + S2_REMOTE_MAX_BYTES;
    for (int i = 0; curl && parsed && next && i <= MAX_REDIRECTS && s2_now_ms() < end; i++) {
        long status = 0;
        if (curl_url_set(parsed, CURLUPART_URL, next, 0) != CURLUE_OK || !is_allowed(list, parsed))
            break;
        out->size = start; /* drop the body of a redirect */
        next = NULL;
        curl_easy_setopt(curl, CURLOPT_CURLU, parsed);
        curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
        curl_easy_setopt(curl, CURLOPT_PROXY, ""); /* no proxy, not even one of the environment */
        curl_easy_setopt(curl, CURLOPT_USERAGENT, "s2prune");
        curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
        curl_easy_setopt(curl, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
        curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
        curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)(end - s2_now_ms()));
        curl_easy_setopt(curl, CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)S2_REMOTE_MAX_BYTES);
        curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, open_socket);
        curl_easy_setopt(curl, CURLOPT_OPENSOCKETDATA, &f);
        curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take);
        curl_easy_setopt(curl, CURLOPT_WRITEDATA, &f);
        curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
        curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, watch);
        curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &f);
        if (curl_easy_perform(curl) != CURLE_OK) break;
        curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
        curl_easy_getinfo(curl, CURLINFO_REDIRECT_URL, &next);
        is_fine = status == 200 && out->size > start;
        if (is_fine) break;
    }
    curl_url_cleanup(parsed);
    curl_easy_cleanup(curl);
    return is_fine || s2_http_fail(error, 400, param, "%s: the image could not be fetched", param);
}

#else /* !S2_HAS_CURL: nothing can be fetched */

bool s2_remote_init(void) { return false; }

bool s2_remote_check(const char *list, const char *url, const char *param, s2_http_error *error)
{
    (void)list, (void)url;
    return s2_http_fail(error, 403, param,
                        "%s: fetching images from other servers is disabled; send a data URI",
                        param);
}

bool s2_remote_fetch(const char *list, const char *url, const char *param,
                     const atomic_bool *is_over, s2_buffer *out, s2_http_error *error)
{
    (void)is_over, (void)out;
    return s2_remote_check(list, url, param, error);
}

#endif
