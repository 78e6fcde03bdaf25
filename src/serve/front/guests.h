/* guests.h - what one address may do: so many connections, so many wrong keys. This machine itself is not
 * counted: its own users and the proxy in front of the server share one address. */
#ifndef S2_SERVE_GUESTS_H
#define S2_SERVE_GUESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define S2_MAX_GUESSES 20 /* wrong keys in a minute; then the address waits for one */
#define S2_GUESS_MS 60000.0
#define S2_N_GUESTS 256 /* addresses remembered; the oldest makes room */

struct sockaddr;

typedef struct s2_guest { /* IPv4 as it is mapped into IPv6; IPv6 up to its network of 64 bits */
    uint8_t bytes[16];
} s2_guest;

s2_guest s2_guest_of(const struct sockaddr *address); /* NULL or no address: this machine */
bool s2_guest_is_same(s2_guest a, s2_guest b);
bool s2_guest_is_here(s2_guest guest); /* 127.0.0.1, ::1, a Unix socket */

typedef struct s2_guesses { /* all zero: none; of one thread */
    struct {
        s2_guest guest;
        double first_ms; /* 0: a free row */
        int32_t n;
    } row[S2_N_GUESTS];
} s2_guesses;

/* A wrong key came from there. */
void s2_guesses_add(s2_guesses *guesses, s2_guest guest, double now_ms);

/* Milliseconds until a key of theirs is looked at again; 0: now. */
double s2_guesses_wait(const s2_guesses *guesses, s2_guest guest, double now_ms);

#endif /* S2_SERVE_GUESTS_H */
