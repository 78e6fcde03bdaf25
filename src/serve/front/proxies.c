/* proxies.c - which address a request comes from when a proxy is in between.
 *
 * X-Forwarded-For is read from its end: every proxy appends the address it was contacted from, so the
 * first one from the end that is not a trusted proxy is the client. What is before it is the client's own claim.
 */
#include "serve/front/connections.h"
#include "serve/front/gate.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const uint8_t mapped[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF };

/* All 128 bits of an address, IPv4 as mapped into IPv6; false: it has none. */
static bool full_address(const struct sockaddr *from, uint8_t out[16])
{
    if (from && from->sa_family == AF_INET) {
        memcpy(out, mapped, sizeof mapped);
        memcpy(out + 12, &((const struct sockaddr_in *)(const void *)from)->sin_addr, 4);
        return true;
    }
    if (!from || from->sa_family != AF_INET6) return false;
    memcpy(out, &((const struct sockaddr_in6 *)(const void *)from)->sin6_addr, 16);
    return true;
}

/* "10.0.0.5", "2001:db8::1", "[2001:db8::1]:443", "10.0.0.5:1234" as a socket address. */
static bool parse_address(const char *text, size_t n, struct sockaddr_storage *out)
{
    char name[64];
    while (n > 0 && (text[n - 1] == ' ' || text[n - 1] == '\t')) n--;
    while (n > 0 && (*text == ' ' || *text == '\t')) text++, n--;
    if (n == 0 || n >= sizeof name) return false;
    memcpy(name, text, n);
    name[n] = '\0';
    char *start = name;
    if (*start == '[') {
        start++;
        start[strcspn(start, "]")] = '\0';
    } else if (strchr(start, ':') && strchr(start, ':') == strrchr(start, ':')) {
        *strchr(start, ':') = '\0';
    }
    *out = (struct sockaddr_storage){ .ss_family = AF_INET };
    if (inet_pton(AF_INET, start, &((struct sockaddr_in *)(void *)out)->sin_addr) == 1) return true;
    out->ss_family = AF_INET6;
    return inet_pton(AF_INET6, start, &((struct sockaddr_in6 *)(void *)out)->sin6_addr) == 1;
}

s2p_status s2_proxies_read(s2_proxies *out, const char *list, s2p_error *error)
{
    *out = (s2_proxies){ .n = 0 };
    while (list && *list) {
        const size_t n = strcspn(list, ","), n_address = strcspn(list, ",/");
        struct sockaddr_storage at;
        if (n == 4 && strncasecmp(list, "unix", 4) == 0) {
            out->has_unix = true;
        } else {
            uint8_t bytes[16] = { 0 };
            if (!parse_address(list, n_address, &at))
                return s2_fail(error, S2P_EINVAL,
                               "--trusted-proxy: '%.*s' is not an address, a network or 'unix'",
                               n < 80 ? (int)n : 80, list);
            (void)full_address((const struct sockaddr *)&at, bytes);
            const long most = at.ss_family == AF_INET ? 32 : 128;
            char *end = NULL;
            const long bits = n > n_address ? strtol(list + n_address + 1, &end, 10) : most;
            if (bits < 1 || bits > most || (end && end != list + n))
                return s2_fail(error, S2P_EINVAL, "--trusted-proxy: '%.*s' has an invalid prefix",
                               n < 80 ? (int)n : 80, list);
            if (out->n == S2_MAX_PROXIES)
                return s2_fail(error, S2P_ELIMIT, "--trusted-proxy: too many entries (limit %d)",
                               S2_MAX_PROXIES);
            memcpy(out->row[out->n].bytes, bytes, 16);
            out->row[out->n++].bits = (int32_t)(bits + (most == 32 ? 96 : 0));
        }
        list += n + (list[n] == ',');
    }
    return S2P_OK;
}

bool s2_proxies_trust(const s2_proxies *proxies, const struct sockaddr *from)
{
    uint8_t bytes[16];
    if (!full_address(from, bytes)) return proxies->has_unix;
    for (size_t i = 0; i < proxies->n; i++) {
        const int32_t whole = proxies->row[i].bits / 8, rest = proxies->row[i].bits % 8;
        const uint8_t *row = proxies->row[i].bytes;
        const unsigned mask = rest ? 0xFFu << (8 - rest) : 0u;
        if (memcmp(row, bytes, (size_t)whole) != 0) continue;
        if (rest && ((unsigned)(row[whole] ^ bytes[whole]) & mask & 0xFFu) != 0) continue;
        return true;
    }
    return false;
}

s2_address s2_proxies_client(const s2_proxies *proxies, const s2_head *head, s2_address peer)
{
    s2_address found = peer;
    for (size_t f = head->n_fields; f-- > 0;) {
        const s2_head_field *field = &head->field[f];
        if (strcasecmp(field->name, "X-Forwarded-For") != 0) continue;
        size_t end = field->n_value;
        for (;;) {
            size_t start = end;
            while (start > 0 && field->value[start - 1] != ',') start--;
            struct sockaddr_storage at;
            if (!parse_address(field->value + start, end - start, &at)) return found;
            found = s2_address_of((const struct sockaddr *)&at);
            if (!s2_proxies_trust(proxies, (const struct sockaddr *)&at)) return found;
            if (start == 0) break;
            end = start - 1;
        }
    }
    return found;
}
