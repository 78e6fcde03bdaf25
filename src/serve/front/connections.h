/* connections.h - the sockets of the server and how long each may take.
 *
 * The HTTP library's timeout starts anew with every byte; a client that sends one now and then would
 * stay for ever. Here every step has a moment at which it must be over. The thread of HTTP sets it, the
 * one that ticks reads it; the lock is for the list, and held while what waits is looked after.
 */
#ifndef S2_SERVE_CONNECTIONS_H
#define S2_SERVE_CONNECTIONS_H

#include "serve/front/guests.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct s2_connection {
    struct s2_connection *next;
    s2_guest guest;
    int fd;
    double deadline_ms; /* 0: none */
    double body_ms;     /* when its body began to come; 0: none does */
    size_t n_body;      /* bytes of it so far */
    void *exchange;     /* what it waits for, NULL: nothing */
    void *begun;        /* an exchange of which only the target came; of the thread of HTTP */
} s2_connection;

typedef struct s2_connections { /* all zero but the lock: none */
    pthread_mutex_t lock;
    s2_connection *first;
    atomic_size_t n, n_reaped;
} s2_connections;

/* A step begins and must be over in so many milliseconds; 0: whenever. */
void s2_connection_within(s2_connection *c, double ms);

/* n bytes of a body more. */
void s2_connection_received(s2_connection *c, size_t n);

/* Called with the lock: what a connection waits for, whether its client has left. */
typedef void (*s2_connection_visit)(void *exchange, bool is_gone, void *user);

/* Close those that take too long; look after those that wait. */
void s2_connections_tick(s2_connections *all, double now_ms, s2_connection_visit visit, void *user);

s2_connection *s2_connections_add(s2_connections *all, int fd,
                                  s2_guest guest); /* NULL: no memory */
size_t s2_connections_of(s2_connections *all, s2_guest guest);
void s2_connections_remove(s2_connections *all, s2_connection *c);
void s2_connection_wait(s2_connections *all, s2_connection *c, void *exchange);

#endif /* S2_SERVE_CONNECTIONS_H */
