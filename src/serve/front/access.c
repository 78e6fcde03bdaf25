/* access.c - keys as digests, compared without a branch on their bytes. */
#include "serve/front/gate.h"

#include "base/file.h"
#include "base/sha256.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#define MAX_KEY_FILE 65536
#define BEARER "Bearer "

/* --- keys ------------------------------------------------------------------------------- */

s2p_status s2_access_add_key(s2_access *access, const char *key, size_t n, s2p_error *error)
{
    if (n == 0) return s2_fail(error, S2P_EINVAL, "a key must not be empty");
    for (size_t i = 0; i < n; i++) /* no header could bring it */
        if ((uint8_t)key[i] < ' ' || key[i] == 0x7F || (key[i] == ' ' && (i == 0 || i + 1 == n)))
            return s2_fail(error, S2P_EINVAL,
                           "a key must not have control characters, nor spaces at its ends");
    if (access->n_keys == S2_MAX_KEYS)
        return s2_fail(error, S2P_ELIMIT, "too many keys (limit %d)", S2_MAX_KEYS);
    s2_sha256(key, n, access->key[access->n_keys++]);
    return S2P_OK;
}

s2p_status s2_access_read_keys(s2_access *access, const char *path, s2p_error *error)
{
    struct stat info;
    if (stat(path, &info) != 0)
        return s2_fail(error, S2P_EIO, "cannot read key file '%.200s': %s", path, strerror(errno));
    if (info.st_mode & (S_IRWXG | S_IRWXO))
        return s2_fail(error, S2P_EINVAL,
                       "key file '%.200s' is accessible to other users; run chmod 600 on it", path);
    s2_buffer text;
    s2_buffer_init(&text, MAX_KEY_FILE);
    s2p_status st = s2_file_read(path, &text, error);
    const bool has_mark = text.size >= 3 && memcmp(text.data, "\xEF\xBB\xBF", 3) == 0;
    int32_t n_lines = 0;
    for (size_t at = has_mark ? 3 : 0; st == S2P_OK && at < text.size;) {
        const uint8_t *line = text.data + at, *end = memchr(line, '\n', text.size - at);
        size_t n = end ? (size_t)(end - line) : text.size - at;
        at += n + 1;
        if (n > 0 && line[n - 1] == '\r') n--;
        n_lines++;
        s2p_error why = { S2P_OK, "" };
        if (n > 0) st = s2_access_add_key(access, (const char *)line, n, &why);
        if (st != S2P_OK)
            st = s2_fail(error, st, "key file '%.200s', line %d: %s", path, (int)n_lines,
                         why.message);
    }
    s2_buffer_free(&text);
    if (st == S2P_OK && access->n_keys == 0)
        st = s2_fail(error, S2P_EINVAL, "key file '%.200s' contains no key", path);
    return st;
}

int32_t s2_access_find_key(const s2_access *access, const s2_head *head)
{
    const char *given = "";
    const size_t n_bearer = strlen(BEARER);
    if (head->authorization && strncasecmp(head->authorization, BEARER, n_bearer) == 0)
        given = head->authorization + n_bearer;
    else if (head->api_key)
        given = head->api_key;
    uint8_t digest[32];
    s2_sha256(given, strlen(given), digest);
    /* compares with every byte of every key, so that the time does not depend on the result */
    uint32_t number = 0;
    for (size_t k = 0; k < access->n_keys; k++) {
        uint32_t difference = 0;
        for (size_t i = 0; i < 32; i++) difference |= (uint32_t)(access->key[k][i] ^ digest[i]);
        const uint32_t is_same = (difference - 1u) >> 31; /* 1 if there is none */
        number |= (0u - is_same) & (uint32_t)(k + 1);
    }
    return (int32_t)number;
}

uint64_t s2_access_salt(const s2_access *access, int32_t number)
{
    static const char purpose[] = "salt of the cache";
    uint8_t digest[32];
    uint64_t salt;
    s2_sha256_state h;
    if (number < 1 || (size_t)number > access->n_keys) return 0;
    s2_sha256_start(&h);
    s2_sha256_add(&h, purpose, sizeof purpose);
    s2_sha256_add(&h, access->key[number - 1], sizeof access->key[0]);
    s2_sha256_finish(&h, digest);
    memcpy(&salt, digest, sizeof salt);
    return (salt >> 1) | 1;
}

bool s2_access_check_key(const s2_access *access, const s2_head *head, s2_http_error *error)
{
    return access->n_keys == 0 || s2_access_find_key(access, head) > 0 ||
           s2_http_fail(error, 401, NULL,
                        "invalid or missing API key; send Authorization: Bearer KEY");
}

/* --- names ------------------------------------------------------------------------------ */

bool s2_host_is_loopback(const char *host)
{
    return strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0 ||
           strcasecmp(host, "localhost") == 0;
}

/* Whether text[0..n) is an item of a comma-separated list. */
static bool is_listed(const char *list, const char *text, size_t n)
{
    while (list && *list) {
        const size_t length = strcspn(list, ",");
        if (length == n && strncasecmp(list, text, n) == 0) return true;
        list += length + (list[length] == ',');
    }
    return false;
}

bool s2_access_is_shared(const s2_access *access, const char *origin)
{
    return origin && is_listed(access->cors_origins, origin, strlen(origin));
}

/* "" or ":8080" */
static bool is_port_or_nothing(const char *text)
{
    const size_t n = text[0] == ':' ? strspn(text + 1, "0123456789") : 0;
    if (!text[0]) return true;
    return n > 0 && n <= 5 && text[1 + n] == '\0' && strtol(text + 1, NULL, 10) <= 65535;
}

bool s2_access_check_names(const s2_access *access, const s2_head *head, s2_http_error *error)
{
    /* the name in "name:port" or "[name]:port" */
    const bool has_brackets = head->host[0] == '[';
    const char *name = head->host + has_brackets;
    const size_t n = strcspn(name, has_brackets ? "]" : ":");
    if ((has_brackets && name[n] != ']') || !is_port_or_nothing(name + n + has_brackets))
        return s2_http_fail(error, 400, NULL, "invalid header Host");
    char text[64];
    struct in6_addr room;
    (void)snprintf(text, sizeof text, "%.*s", n < sizeof text ? (int)n : 0, name);
    /* an address, unlike a name, cannot be pointed elsewhere */
    const bool is_address =
        inet_pton(AF_INET, text, &room) == 1 || inet_pton(AF_INET6, text, &room) == 1;
    if (!is_address && !is_listed("localhost", name, n) && !is_listed(access->host, name, n) &&
        !is_listed(access->allowed_hosts, name, n))
        return s2_http_fail(error, 403, NULL,
                            "host name '%.60s' is not allowed; see --allowed-hosts", head->host);
    if (!head->origin || s2_access_is_shared(access, head->origin)) return true;
    const char *after = strstr(head->origin, "://");
    if (after && strcasecmp(after + 3, head->host) == 0) return true;
    return s2_http_fail(error, 403, NULL, "origin '%.60s' is not allowed; see --cors-origins",
                        head->origin);
}
