/* connections.h - the sockets of the server, their deadlines, and limits for each address.
 *
 * The HTTP library's timeout restarts with every byte, so a client that sends a byte now and then could
 * stay for ever. Here every step has a deadline. The HTTP thread sets it and the ticking thread reads
 * it; the lock protects the list and is held while waiting exchanges are visited.
 */
#ifndef S2_SERVE_CONNECTIONS_H
#define S2_SERVE_CONNECTIONS_H

#include "base/error.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- addresses ------------------------------------------------------------------------------
 * One address may open so many connections and send so many wrong keys. Connections of this machine
 * itself are not limited: its users and a proxy in front of the server share one address. A right key
 * is served whatever its address sent before. */

#define S2_MAX_WRONG_KEYS 20 /* in a minute; then the address has to wait for a minute */
#define S2_WRONG_KEY_MS 60000.0
#define S2_N_ADDRESSES 256 /* remembered; the oldest is overwritten */

struct sockaddr;

typedef struct s2_address { /* IPv4 as mapped into IPv6; of IPv6 the first 64 bits */
    uint8_t bytes[16];
} s2_address;

s2_address s2_address_of(const struct sockaddr *address); /* NULL or a Unix socket: this machine */
bool s2_address_is_same(s2_address a, s2_address b);

#define S2_ADDRESS_TEXT 64
void s2_address_text(s2_address address,
                     char out[S2_ADDRESS_TEXT]); /* "10.0.0.5", "2001:db8::/64" */

bool s2_address_is_local(s2_address address); /* 127.0.0.1, ::1, a Unix socket */

typedef struct s2_wrong_keys { /* all zero: none; used by one thread */
    struct {
        s2_address address;
        double first_ms; /* 0: a free row */
        int32_t n;
    } row[S2_N_ADDRESSES];
} s2_wrong_keys;

/* A wrong key came from this address. */
void s2_wrong_keys_add(s2_wrong_keys *keys, s2_address address, double now_ms);

/* Milliseconds until a key from this address is checked again; 0: now. */
double s2_wrong_keys_wait(const s2_wrong_keys *keys, s2_address address, double now_ms);

/* --- proxies --------------------------------------------------------------------------------
 * The operator names those whose X-Forwarded-For is believed. */

#define S2_MAX_PROXIES 32

typedef struct s2_proxies { /* all zero: none */
    struct {
        uint8_t bytes[16]; /* IPv4 as mapped into IPv6 */
        int32_t bits;      /* of them that must be equal */
    } row[S2_MAX_PROXIES];
    size_t n;
    bool has_unix; /* what comes through the Unix socket */
} s2_proxies;

struct s2_head;

/* "10.0.0.5,192.168.0.0/16,2001:db8::/32,unix"; NULL: none. */
s2p_status s2_proxies_read(s2_proxies *out, const char *list, s2p_error *error);
bool s2_proxies_trust(const s2_proxies *proxies, const struct sockaddr *from);

/* Where a request that came from a trusted proxy began; `peer` if the header does not tell. */
s2_address s2_proxies_client(const s2_proxies *proxies, const struct s2_head *head,
                             s2_address peer);

/* --- connections ---------------------------------------------------------------------------- */

typedef struct s2_connection {
    struct s2_connection *next;
    s2_address address;
    bool is_proxy; /* a trusted one */
    int fd;
    double deadline_ms; /* 0: none */
    double body_ms;     /* start of the body; 0: no body is being received */
    size_t n_body;      /* bytes of the body so far */
    void *exchange;     /* the exchange that waits for the engine, or NULL */
} s2_connection;

typedef struct s2_connections { /* all zero but the lock: none */
    pthread_mutex_t lock;
    s2_connection *first;
    atomic_size_t n, n_reaped;
} s2_connections;

/* The next step must be complete within so many milliseconds; 0: no deadline. */
void s2_connection_within(s2_connection *c, double ms);

/* n more bytes of the body have arrived. */
void s2_connection_received(s2_connection *c, size_t n);

/* Called with the lock held; is_half_closed: the client sends no more, and may be gone. */
typedef void (*s2_connection_visit)(void *exchange, bool is_half_closed, void *user);

/* Closes connections past their deadline and visits those that wait. */
void s2_connections_tick(s2_connections *all, double now_ms, s2_connection_visit visit, void *user);

s2_connection *s2_connections_add(s2_connections *all, int fd,
                                  s2_address address); /* NULL: no memory */
size_t s2_connections_of(s2_connections *all, s2_address address);
void s2_connections_remove(s2_connections *all, s2_connection *c);
void s2_connection_wait(s2_connections *all, s2_connection *c, void *exchange);

#endif /* S2_SERVE_CONNECTIONS_H */
