/* cors.c - pages of the origins in --cors-origins: the preflight of the browser, and what they may read.
 *
 * A browser asks before it sends JSON or a key to another origin, and this question has no key itself.
 */
#include "serve/front/gate.h"

#include <stdio.h>
#include <string.h>

#define MAX_HEADER_LIST 1024

bool s2_cors_is_preflight(const s2_access *access, const s2_head *head)
{
    return strcmp(head->method, "OPTIONS") == 0 && head->preflight_method &&
           s2_access_is_shared(access, head->origin);
}

/* The headers the page wants to send, if that is a list of names: clients of OpenAI and Anthropic have
 * about ten of their own, and a header alone changes nothing here. */
static const char *allowed_headers(const s2_head *head)
{
    static const char names[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_, ";
    const char *list = head->preflight_headers;
    const size_t n = list ? strspn(list, names) : 0;
    return n > 0 && n <= MAX_HEADER_LIST && list[n] == '\0'
               ? list
               : "Authorization, Content-Type, X-Api-Key, X-Request-Id";
}

void s2_cors_headers(const s2_access *access, const s2_head *head, s2_add_header *add, void *user)
{
    if (!s2_access_is_shared(access, head->origin)) return;
    add(user, "Access-Control-Allow-Origin", head->origin);
    add(user, "Vary", "Origin");
    if (!s2_cors_is_preflight(access, head)) {
        add(user, "Access-Control-Expose-Headers", "X-Request-Id, Retry-After");
        return;
    }
    add(user, "Access-Control-Allow-Methods", "GET, HEAD, POST");
    add(user, "Access-Control-Allow-Headers", allowed_headers(head));
    add(user, "Access-Control-Max-Age", "7200"); /* what Chromium remembers at most */
    if (head->private_network) add(user, "Access-Control-Allow-Private-Network", "true");
}
