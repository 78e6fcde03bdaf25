/* addresses.c - client addresses, and a short table of those that sent wrong keys. A linear search is enough:
 * wrong keys are rare, and a full table overwrites its oldest row. */
#include "serve/front/connections.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

static const uint8_t mapped[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF };

s2_address s2_address_of(const struct sockaddr *from)
{
    s2_address address = { { 0 } };
    if (from && from->sa_family == AF_INET) {
        memcpy(address.bytes, mapped, sizeof mapped);
        memcpy(address.bytes + 12, &((const struct sockaddr_in *)(const void *)from)->sin_addr, 4);
    } else if (from && from->sa_family == AF_INET6) {
        memcpy(address.bytes, &((const struct sockaddr_in6 *)(const void *)from)->sin6_addr, 16);
        if (memcmp(address.bytes, mapped, sizeof mapped) != 0) memset(address.bytes + 8, 0, 8);
    }
    return address;
}

void s2_address_text(s2_address address, char out[S2_ADDRESS_TEXT])
{
    static const s2_address none = { { 0 } };
    const bool is_v4 = memcmp(address.bytes, mapped, sizeof mapped) == 0;
    if (s2_address_is_local(address) && s2_address_is_same(address, none)) {
        memcpy(out, "local", 6);
        return;
    }
    if (!inet_ntop(is_v4 ? AF_INET : AF_INET6, address.bytes + (is_v4 ? 12 : 0), out,
                   S2_ADDRESS_TEXT - 4))
        out[0] = '\0';
    if (!is_v4) memcpy(out + strlen(out), "/64", 4);
}

bool s2_address_is_same(s2_address a, s2_address b)
{
    return memcmp(a.bytes, b.bytes, sizeof a.bytes) == 0;
}

bool s2_address_is_local(s2_address address)
{
    static const s2_address none = { { 0 } }; /* ::1 as well, without its last 64 bits */
    static const uint8_t loopback[4] = { 127, 0, 0, 1 };
    return s2_address_is_same(address, none) ||
           (memcmp(address.bytes, mapped, sizeof mapped) == 0 &&
            memcmp(address.bytes + 12, loopback, sizeof loopback) == 0);
}

void s2_wrong_keys_add(s2_wrong_keys *keys, s2_address address, double now_ms)
{
    size_t at = 0;
    for (size_t i = 0; i < S2_N_ADDRESSES; i++) {
        if (keys->row[i].n > 0 && s2_address_is_same(keys->row[i].address, address)) {
            at = i;
            break;
        }
        if (keys->row[i].first_ms < keys->row[at].first_ms) at = i;
    }
    const bool is_known = keys->row[at].n > 0 && s2_address_is_same(keys->row[at].address, address);
    if (!is_known || now_ms - keys->row[at].first_ms > S2_WRONG_KEY_MS) {
        keys->row[at].address = address;
        keys->row[at].first_ms = now_ms;
        keys->row[at].n = 0;
    }
    if (++keys->row[at].n == S2_MAX_WRONG_KEYS)
        keys->row[at].first_ms = now_ms; /* the waiting time starts now */
}

double s2_wrong_keys_wait(const s2_wrong_keys *keys, s2_address address, double now_ms)
{
    for (size_t i = 0; i < S2_N_ADDRESSES; i++)
        if (keys->row[i].n >= S2_MAX_WRONG_KEYS &&
            s2_address_is_same(keys->row[i].address, address)) {
            const double left = keys->row[i].first_ms + S2_WRONG_KEY_MS - now_ms;
            return left > 0.0 ? left : 0.0;
        }
    return 0.0;
}
