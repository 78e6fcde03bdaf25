/* remote_rules.c - names as libcurl's parser reads them, addresses as they are connected to. A name can
 * change its address at any time, so the address is checked when the socket is opened. */
#include "serve/front/pictures.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#define MAX_HOST 256
#define HTTP "http://"
#define HTTPS "https://"

typedef struct rule { /* one item of the list */
    bool is_plain;    /* http */
    char host[MAX_HOST];
    long port;
} rule;

/* Parses the item at `list`; returns what follows it. */
static const char *next_rule(const char *list, rule *out)
{
    const size_t n = strcspn(list, ",");
    char item[MAX_HOST + 16];
    (void)snprintf(item, sizeof item, "%.*s", (int)n, list);
    const char *at = item;
    out->is_plain = strncasecmp(at, HTTP, strlen(HTTP)) == 0;
    if (out->is_plain)
        at += strlen(HTTP);
    else if (strncasecmp(at, HTTPS, strlen(HTTPS)) == 0)
        at += strlen(HTTPS);
    const char *bracket = at[0] == '[' ? strchr(at, ']') : NULL;
    const char *colon = strchr(bracket ? bracket : at, ':');
    out->port = colon ? strtol(colon + 1, NULL, 10) : out->is_plain ? 80 : 443;
    (void)snprintf(out->host, sizeof out->host, "%.*s", colon ? (int)(colon - at) : (int)strlen(at),
                   at);
    return list + n + (list[n] == ',');
}

s2p_status s2_remote_check_list(const char *list, s2p_error *error)
{
    while (list && *list) {
        rule r;
        const int n = (int)strcspn(list, ",");
        const char *const item = list;
        list = next_rule(list, &r);
        const char *scheme = strstr(item, "://");
        const char *at = scheme && scheme < item + n ? scheme + 3 : item;
        const char *end = item + n;
        const char *bracket = at[0] == '[' ? memchr(at, ']', (size_t)(end - at)) : NULL;
        const char *colon =
            memchr(bracket ? bracket : at, ':', (size_t)(end - (bracket ? bracket : at)));
        const size_t n_port = colon ? (size_t)(item + n - colon) - 1 : 0;
        const bool has_number = !colon || (n_port > 0 && strspn(colon + 1, "0123456789") == n_port);
        if (n >= MAX_HOST || !r.host[0] || strpbrk(r.host, "/@ ") || !has_number || r.port < 1 ||
            r.port > 65535)
            return s2_fail(error, S2P_EINVAL,
                           "--allow-image-urls '%.*s' is not a host with an optional scheme (http, "
                           "https) and port (1 to 65535)",
                           n < 200 ? n : 200, item);
    }
    return S2P_OK;
}

bool s2_remote_allows(const char *list, const char *scheme, const char *host, long port)
{
    const bool is_plain = strcmp(scheme, "http") == 0;
    if (!is_plain && strcmp(scheme, "https") != 0) return false;
    while (list && *list) {
        rule r;
        list = next_rule(list, &r);
        const bool is_host = strcmp(r.host, "*") == 0 || strcasecmp(r.host, host) == 0;
        if (is_host && r.is_plain == is_plain && r.port == port) return true;
    }
    return false;
}

bool s2_remote_names_address(const char *list, const struct sockaddr *address)
{
    char text[INET6_ADDRSTRLEN + 2] = "";
    if (address->sa_family == AF_INET) {
        (void)inet_ntop(AF_INET, &((const struct sockaddr_in *)(const void *)address)->sin_addr,
                        text, sizeof text);
    } else if (address->sa_family == AF_INET6) {
        char bare[INET6_ADDRSTRLEN] = "";
        (void)inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr,
                        bare, sizeof bare);
        (void)snprintf(text, sizeof text, "[%s]", bare);
    }
    while (list && *list) {
        rule r;
        list = next_rule(list, &r);
        if (text[0] && strcasecmp(r.host, text) == 0) return true;
    }
    return false;
}

static bool is_public_v4(uint32_t a)
{
    static const struct {
        uint32_t network;
        int bits;
    } closed[] = {
        { 0x00000000, 8 },  /* this network */
        { 0x0A000000, 8 },  /* private */
        { 0x64400000, 10 }, /* carrier-grade NAT */
        { 0x7F000000, 8 },  /* loopback */
        { 0xA9FE0000, 16 }, /* link-local, metadata of clouds */
        { 0xAC100000, 12 }, /* private */
        { 0xC0000000, 24 }, /* protocol assignments */
        { 0xC0000200, 24 }, /* documentation */
        { 0xC0586300, 24 }, /* 6to4 relays */
        { 0xC0A80000, 16 }, /* private */
        { 0xC6120000, 15 }, /* benchmarks */
        { 0xC6336400, 24 }, /* documentation */
        { 0xCB007100, 24 }, /* documentation */
        { 0xE0000000, 3 },  /* multicast, reserved, broadcast */
    };
    for (size_t i = 0; i < sizeof closed / sizeof *closed; i++)
        if ((a ^ closed[i].network) >> (32 - closed[i].bits) == 0) return false;
    return true;
}

/* Global unicast is 2000::/3; the rest (loopback, mapped IPv4, NAT64, unique local, link-local, site-local,
 * multicast) is not public, and of it neither tunnels nor documentation are. */
static bool is_public_v6(const uint8_t a[16])
{
    if (a[0] >> 5 != 1) return false;
    if (a[0] == 0x20 && a[1] == 0x01 && a[2] < 0x02)
        return false; /* 2001::/23, Teredo among them */
    if (a[0] == 0x20 && a[1] == 0x01 && a[2] == 0x0D && a[3] == 0xB8) return false;
    if (a[0] == 0x20 && a[1] == 0x02) return false;                  /* 6to4 */
    return !(a[0] == 0x3F && a[1] == 0xFF && (a[2] & 0xF0) == 0x00); /* documentation */
}

bool s2_address_is_public(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET)
        return is_public_v4(
            ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr));
    if (address->sa_family == AF_INET6)
        return is_public_v6(
            ((const struct sockaddr_in6 *)(const void *)address)->sin6_addr.s6_addr);
    return false;
}
