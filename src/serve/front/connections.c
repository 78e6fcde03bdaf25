/* connections.c - a list that is checked twenty times a second. */
#if defined(__linux__)
#define _GNU_SOURCE /* POLLRDHUP */
#endif
#include "serve/front/connections.h"

#include "base/clock.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>

#define SLOW_AFTER_MS 5000.0 /* from then on a body must be faster than the next line */
#define SLOW_BYTES_PER_MS 8.192

#ifndef POLLRDHUP
#define POLLRDHUP 0
#endif

s2_connection *s2_connections_add(s2_connections *all, int fd, s2_address address)
{
    s2_connection *c = calloc(1, sizeof *c);
    if (!c) return NULL;
    c->fd = fd;
    c->address = address;
    pthread_mutex_lock(&all->lock);
    c->next = all->first;
    all->first = c;
    all->n++;
    pthread_mutex_unlock(&all->lock);
    return c;
}

size_t s2_connections_of(s2_connections *all, s2_address address)
{
    size_t n = 0;
    pthread_mutex_lock(&all->lock);
    for (const s2_connection *c = all->first; c; c = c->next)
        n += s2_address_is_same(c->address, address);
    pthread_mutex_unlock(&all->lock);
    return n;
}

void s2_connections_remove(s2_connections *all, s2_connection *c)
{
    pthread_mutex_lock(&all->lock);
    s2_connection **at = &all->first;
    while (*at && *at != c) at = &(*at)->next;
    if (*at) {
        *at = c->next;
        all->n--;
    }
    pthread_mutex_unlock(&all->lock);
    free(c);
}

void s2_connection_within(s2_connection *c, double ms)
{
    c->deadline_ms = ms > 0.0 ? s2_now_ms() + ms : 0.0;
    c->body_ms = 0.0;
}

void s2_connection_received(s2_connection *c, size_t n)
{
    if (c->body_ms == 0.0) {
        c->n_body = 0;
        c->body_ms = s2_now_ms();
    }
    c->n_body += n;
}

void s2_connection_wait(s2_connections *all, s2_connection *c, void *exchange)
{
    pthread_mutex_lock(&all->lock);
    c->exchange = exchange;
    pthread_mutex_unlock(&all->lock);
}

void s2_connections_tick(s2_connections *all, double now_ms, s2_connection_visit visit, void *user)
{
    pthread_mutex_lock(&all->lock);
    for (s2_connection *c = all->first; c; c = c->next) {
        const double begun = c->body_ms, deadline = c->deadline_ms;
        const double body = begun > 0.0 ? now_ms - begun : 0.0;
        const bool is_slow =
            body > SLOW_AFTER_MS && (double)c->n_body < SLOW_BYTES_PER_MS * (body - SLOW_AFTER_MS);
        if (is_slow || (deadline > 0.0 && now_ms > deadline)) {
            (void)shutdown(c->fd, SHUT_RDWR);
            c->deadline_ms = 0.0;
            c->body_ms = 0.0;
            all->n_reaped++;
        }
        if (c->exchange) {
            struct pollfd fd = { .fd = c->fd, .events = POLLRDHUP };
            const bool is_half_closed = poll(&fd, 1, 0) > 0 && (fd.revents & POLLRDHUP);
            visit(c->exchange, is_half_closed, user);
        }
    }
    pthread_mutex_unlock(&all->lock);
}
