/* loop.h - HTTP/1.1 on one thread: connections, requests one after the other, answers.
 *
 * The loop knows bytes. What a request means and what is answered say the calls of its owner, all of
 * them on the thread of the loop:
 *
 *     open -> { begin -> request -> body ... -> handle -> reply [-> pull ...] -> done } ... -> close
 *
 * A request that cannot be read in one way only goes to `malformed` instead of `request`; its answer is
 * the last one of the connection.
 */
#ifndef S2_SERVE_HTTP_LOOP_H
#define S2_SERVE_HTTP_LOOP_H

#include "serve/front/http/socket.h"
#include "serve/front/server.h"

typedef struct s2_reply {
    int status;
    s2_buffer headers; /* lines; the loop adds lengths, date and end */
    const uint8_t *body;
    size_t n_body;
    bool is_stream; /* the body is pulled */
} s2_reply;

#define S2_PULL_NOTHING 0 /* now; the exchange is pushed when there is something */
#define S2_PULL_END (-1)
#define S2_PULL_BROKEN (-2)

struct sockaddr;

typedef struct s2_loop_calls {
    bool (*accepts)(s2_server *server, const struct sockaddr *from);
    s2_connection *(*open)(s2_server *server, int fd, const struct sockaddr *from);
    void (*begin)(s2_server *server, s2_connection *c); /* the first byte of a request */
    /* The exchange, which the loop keeps until `done`; its answer may be known already. *is_sound: the
     * head was found to be right, so that it is certain where the request ends. NULL: no memory. */
    s2_exchange *(*request)(s2_server *server, s2_connection *c, const s2_head *head,
                            bool *is_sound);
    s2_exchange *(*malformed)(s2_server *server, s2_connection *c, const s2_http_error *error);
    void (*refuse)(s2_exchange *x, const s2_http_error *error); /* its body is malformed */
    void (*body)(s2_exchange *x, const uint8_t *data, size_t n);
    void (*handle)(s2_exchange *x);
    bool (*has_answer)(s2_exchange *x);           /* before the body is complete */
    bool (*reply)(s2_exchange *x, s2_reply *out); /* false: not yet, the exchange will be pushed */
    ssize_t (*pull)(s2_exchange *x, uint8_t *out, size_t room);
    void (*done)(s2_exchange *x); /* sent, or the client has gone; releases it */
    void (*ended)(s2_server *server, s2_connection *c); /* the last answer is sent */
    void (*close)(s2_server *server, s2_connection *c); /* before the descriptor is closed */
} s2_loop_calls;

typedef struct s2_http s2_http;

/* fd: a listening socket, closed at the end. calls and server: borrowed. */
s2p_status s2_loop_start(s2_http **out, s2_server *server, const s2_loop_calls *calls, int fd,
                         size_t max_connections, s2p_error *error);
void s2_loop_stop(s2_http *loop); /* NULL is fine */

#endif /* S2_SERVE_HTTP_LOOP_H */
