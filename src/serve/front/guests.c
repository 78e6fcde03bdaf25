/* guests.c - a short table, walked: wrong keys are rare, and a full table only forgets the oldest. */
#include "serve/front/guests.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

static const uint8_t mapped[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF };

s2_guest s2_guest_of(const struct sockaddr *address)
{
    s2_guest guest = { { 0 } };
    if (address && address->sa_family == AF_INET) {
        memcpy(guest.bytes, mapped, sizeof mapped);
        memcpy(guest.bytes + 12, &((const struct sockaddr_in *)(const void *)address)->sin_addr, 4);
    } else if (address && address->sa_family == AF_INET6) {
        memcpy(guest.bytes, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, 16);
        if (memcmp(guest.bytes, mapped, sizeof mapped) != 0) memset(guest.bytes + 8, 0, 8);
    }
    return guest;
}

bool s2_guest_is_same(s2_guest a, s2_guest b)
{
    return memcmp(a.bytes, b.bytes, sizeof a.bytes) == 0;
}

bool s2_guest_is_here(s2_guest guest)
{
    static const s2_guest none = { { 0 } }; /* ::1 as well, without its last 64 bits */
    static const uint8_t loopback[4] = { 127, 0, 0, 1 };
    return s2_guest_is_same(guest, none) ||
           (memcmp(guest.bytes, mapped, sizeof mapped) == 0 &&
            memcmp(guest.bytes + 12, loopback, sizeof loopback) == 0);
}

void s2_guesses_add(s2_guesses *guesses, s2_guest guest, double now_ms)
{
    size_t at = 0;
    if (s2_guest_is_here(guest)) return;
    for (size_t i = 0; i < S2_N_GUESTS; i++) {
        if (guesses->row[i].n > 0 && s2_guest_is_same(guesses->row[i].guest, guest)) {
            at = i;
            break;
        }
        if (guesses->row[i].first_ms < guesses->row[at].first_ms) at = i;
    }
    const bool is_known = guesses->row[at].n > 0 && s2_guest_is_same(guesses->row[at].guest, guest);
    if (!is_known || now_ms - guesses->row[at].first_ms > S2_GUESS_MS) {
        guesses->row[at].guest = guest;
        guesses->row[at].first_ms = now_ms;
        guesses->row[at].n = 0;
    }
    if (++guesses->row[at].n == S2_MAX_GUESSES)
        guesses->row[at].first_ms = now_ms; /* the minute to wait begins now */
}

double s2_guesses_wait(const s2_guesses *guesses, s2_guest guest, double now_ms)
{
    for (size_t i = 0; i < S2_N_GUESTS; i++)
        if (guesses->row[i].n >= S2_MAX_GUESSES && s2_guest_is_same(guesses->row[i].guest, guest)) {
            const double left = guesses->row[i].first_ms + S2_GUESS_MS - now_ms;
            return left > 0.0 ? left : 0.0;
        }
    return 0.0;
}
