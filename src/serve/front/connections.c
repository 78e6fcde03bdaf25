/* connections.c - a list, walked twenty times a second. */
#if defined(__linux__)
#define _GNU_SOURCE /* POLLRDHUP */
#endif
#include "serve/front/connections.h"

#include "base/clock.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>

#define SLOW_AFTER_MS 5000.0 /* a body that is slower than this from then on is too slow */
#define SLOW_BYTES_PER_MS 8.192

#ifndef POLLRDHUP
#define POLLRDHUP 0
#endif

s2_connection *s2_connections_add(s2_connections *all, int fd, s2_guest guest)
{
    s2_connection *c = calloc(1, sizeof *c);
    if (!c) return NULL;
    c->fd = fd;
    c->guest = guest;
    pthread_mutex_lock(&all->lock);
    c->next = all->first;
    all->first = c;
    all->n++;
    pthread_mutex_unlock(&all->lock);
    return c;
}

size_t s2_connections_of(s2_connections *all, s2_guest guest)
{
    size_t n = 0;
    pthread_mutex_lock(&all->lock);
    for (const s2_connection *c = all->first; c; c = c->next)
        n += s2_guest_is_same(c->guest, guest);
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

static bool is_late(const s2_connection *c, double now)
{
    const double begun = c->body_ms, deadline = c->deadline_ms;
    const double body = begun > 0.0 ? now - begun : 0.0;
    return (deadline > 0.0 && now > deadline) ||
           (body > SLOW_AFTER_MS && (double)c->n_body < SLOW_BYTES_PER_MS * (body - SLOW_AFTER_MS));
}

static bool has_left(const s2_connection *c)
{
    struct pollfd fd = { .fd = c->fd, .events = POLLRDHUP };
    return poll(&fd, 1, 0) > 0 && (fd.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

void s2_connections_tick(s2_connections *all, double now_ms, s2_connection_visit visit, void *user)
{
    pthread_mutex_lock(&all->lock);
    for (s2_connection *c = all->first; c; c = c->next) {
        if (is_late(c, now_ms)) {
            (void)shutdown(c->fd, SHUT_RDWR);
            c->deadline_ms = 0.0;
            c->body_ms = 0.0;
            all->n_reaped++;
        }
        if (c->exchange) visit(c->exchange, has_left(c), user);
    }
    pthread_mutex_unlock(&all->lock);
}
