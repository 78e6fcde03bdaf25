/* loop.c - poll, read, hand over, send. */
#if defined(__linux__)
#define _GNU_SOURCE /* accept4 */
#endif
#include "serve/front/http/loop.h"

#include "base/clock.h"
#include "serve/front/http/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BLOCK ((size_t)16 << 10)
#define MAX_IN ((size_t)64 << 10)
#define FULL_WAIT_MS 100 /* no descriptor is left: when the next client is tried */

typedef enum state {
    READING_HEAD,
    READING_BODY,
    WAITING, /* for an answer */
    SENDING,
    LEAVING, /* the last answer is sent: what still arrives is thrown away until the client closes */
    CLOSED
} state;

typedef struct wire {
    s2_socket socket;
    s2_connection *connection;
    s2_exchange *x; /* the request, from its head to the end of its answer */
    state state;
    bool has_begun, has_ended; /* a byte of the request is here; the client sends no more */
    bool is_last, is_chunked, wants_write;
    s2_head_reader head_reader;
    s2_body_reader body_reader;
    s2_head head; /* its strings are in head_text */
    char *head_text;
    s2_buffer in, out; /* received and not read; to be sent, n_sent of them are */
    size_t n_sent;
    s2_reply reply;
    size_t n_replied; /* bytes of its body that are in `out` */
} wire;

struct s2_http {
    s2_server *server;
    const s2_loop_calls *calls;
    pthread_t thread;
    int fd;
    s2_tls *tls;
    wire **wire;
    struct pollfd *poll; /* wake, listen, wires */
    size_t n, max;
    bool is_full; /* of descriptors: clients wait */
    atomic_bool is_stopping;
};

/* --- sending ------------------------------------------------------------------------------ */

static const char *reason_of(int status)
{
    static const struct {
        int status;
        const char *reason;
    } known[] = { { 200, "OK" },
                  { 204, "No Content" },
                  { 304, "Not Modified" },
                  { 400, "Bad Request" },
                  { 401, "Unauthorized" },
                  { 403, "Forbidden" },
                  { 404, "Not Found" },
                  { 405, "Method Not Allowed" },
                  { 411, "Length Required" },
                  { 413, "Content Too Large" },
                  { 414, "URI Too Long" },
                  { 415, "Unsupported Media Type" },
                  { 429, "Too Many Requests" },
                  { 431, "Request Header Fields Too Large" },
                  { 500, "Internal Server Error" },
                  { 501, "Not Implemented" },
                  { 503, "Service Unavailable" } };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].status == status) return known[i].reason;
    return status < 400 ? "OK" : "Error";
}

static void add_date(s2_buffer *out)
{
    static const char days[] = "SunMonTueWedThuFriSat";
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    const time_t now = time(NULL);
    struct tm t;
    if (!gmtime_r(&now, &t)) return;
    s2_buffer_printf(out, "Date: %.3s, %02d %.3s %d %02d:%02d:%02d GMT\r\n", days + 3 * t.tm_wday,
                     t.tm_mday, months + 3 * t.tm_mon, 1900 + t.tm_year, t.tm_hour, t.tm_min,
                     t.tm_sec);
}

/* The head of the answer. */
static void start_answer(wire *w)
{
    const s2_reply *reply = &w->reply;
    const bool is_old = w->head.version && strcmp(w->head.version, "HTTP/1.0") == 0;
    const bool is_head = w->head.method && strcmp(w->head.method, "HEAD") == 0;
    const bool has_body = reply->status != 204 && reply->status != 304;
    w->is_chunked = reply->is_stream && !is_old;
    w->is_last |= is_old || s2_head_lists(&w->head, "Connection", "close");
    s2_buffer_printf(&w->out, "HTTP/1.1 %d %s\r\n", reply->status, reason_of(reply->status));
    add_date(&w->out);
    s2_buffer_append(&w->out, reply->headers.data, reply->headers.size);
    if (w->is_chunked)
        s2_buffer_printf(&w->out, "Transfer-Encoding: chunked\r\n");
    else if (has_body && !reply->is_stream)
        s2_buffer_printf(&w->out, "Content-Length: %zu\r\n", reply->n_body);
    s2_buffer_printf(&w->out, w->is_last ? "Connection: close\r\n\r\n" : "\r\n");
    w->n_replied = is_head || !has_body ? reply->n_body : 0;
    w->state = SENDING;
}

/* Appends more of the body to `out`. False: nothing is available now, or the body is complete
 * (*is_over). */
static bool fill(s2_http *h, wire *w, bool *is_over)
{
    uint8_t block[BLOCK];
    *is_over = false;
    if (!w->reply.is_stream) {
        const size_t left = w->reply.n_body - w->n_replied, n = left < BLOCK ? left : BLOCK;
        *is_over = left == 0;
        if (n > 0) s2_buffer_append(&w->out, w->reply.body + w->n_replied, n);
        w->n_replied += n;
        return n > 0;
    }
    const ssize_t n = h->calls->pull(w->x, block, sizeof block);
    if (n == S2_PULL_NOTHING) return false;
    if (n > 0) {
        if (w->is_chunked) s2_buffer_printf(&w->out, "%zx\r\n", (size_t)n);
        s2_buffer_append(&w->out, block, (size_t)n);
        if (w->is_chunked) s2_buffer_append(&w->out, "\r\n", 2);
        return true;
    }
    if (n == S2_PULL_BROKEN)
        w->out.status = S2P_EIO; /* the client must not believe it is complete */
    if (w->is_chunked) s2_buffer_append(&w->out, "0\r\n\r\n", 5);
    w->reply.is_stream = false; /* nothing is pulled any more */
    w->reply.n_body = w->n_replied = 0;
    *is_over = true;
    return false;
}

static void forget_request(s2_http *h, wire *w)
{
    if (w->x) {
        w->x->wire = NULL;
        h->calls->done(w->x);
    }
    w->x = NULL;
    free(w->head_text);
    w->head_text = NULL;
    memset(&w->head_reader, 0, sizeof w->head_reader);
    w->head.n_fields = 0;
    w->head.method = w->head.version = NULL;
    s2_buffer_free(&w->reply.headers);
    memset(&w->reply, 0, sizeof w->reply);
    w->has_begun = false;
}

/* Sends what there is. False: nothing more can be done now. */
static bool send_answer(s2_http *h, wire *w)
{
    if (w->n_sent > 0) {
        w->out.size -= w->n_sent;
        memmove(w->out.data, w->out.data + w->n_sent, w->out.size);
        w->n_sent = 0;
    }
    for (;;) {
        bool is_over = false;
        while (w->out.size - w->n_sent < BLOCK && fill(h, w, &is_over)) continue;
        if (w->out.status != S2P_OK) {
            w->state = CLOSED;
            return false;
        }
        if (w->n_sent == w->out.size) {
            s2_buffer_free(&w->out);
            w->n_sent = 0;
            if (!is_over) return false; /* a stream that has nothing to say */
            forget_request(h, w);
            w->state = w->is_last ? LEAVING : READING_HEAD;
            if (w->is_last) {
                s2_socket_end(&w->socket);
                h->calls->ended(h->server, w->connection);
            }
            return true;
        }
        const ssize_t n =
            s2_socket_write(&w->socket, w->out.data + w->n_sent, w->out.size - w->n_sent);
        if (n == S2_SOCKET_BROKEN) w->state = CLOSED;
        w->wants_write = n == S2_SOCKET_AGAIN;
        if (n < 0) return false;
        w->n_sent += (size_t)n;
        if (w->n_sent < w->out.size) continue;
        w->out.size = w->n_sent = 0;
    }
}

/* Interim bytes, while there is no answer yet. */
static void send_continue(wire *w)
{
    static const char text[] = "HTTP/1.1 100 Continue\r\n\r\n";
    if (s2_socket_write(&w->socket, (const uint8_t *)text, sizeof text - 1) !=
        (ssize_t)sizeof text - 1)
        w->state = CLOSED; /* 25 bytes fit, or the client does not read */
}

/* --- reading ------------------------------------------------------------------------------ */

static void drop_input(wire *w, size_t n)
{
    memmove(w->in.data, w->in.data + n, w->in.size - n);
    w->in.size -= n;
    if (w->in.size == 0) s2_buffer_free(&w->in);
}

/* Answers at once, as the last thing on this connection. */
static bool refuse(s2_http *h, wire *w, const s2_http_error *error)
{
    if (w->x)
        h->calls->refuse(w->x, error);
    else
        w->x = h->calls->malformed(h->server, w->connection, error);
    if (w->x) w->x->wire = w;
    w->is_last = true;
    w->state = w->x ? WAITING : CLOSED;
    return true;
}

static bool read_head(s2_http *h, wire *w)
{
    size_t n_head = 0;
    s2_http_error error;
    if (w->in.size == 0) return false;
    if (!w->has_begun) h->calls->begin(h->server, w->connection);
    w->has_begun = true;
    const s2_read got = s2_read_head(&w->head_reader, w->in.data, w->in.size, &n_head, &error);
    if (got == S2_READ_REFUSED) return refuse(h, w, &error);
    if (got == S2_READ_MORE) return false;
    w->head_text = malloc(n_head + 1);
    if (!w->head_text) {
        w->state = CLOSED;
        return false;
    }
    memcpy(w->head_text, w->in.data, n_head);
    w->head_text[n_head] = '\0';
    drop_input(w, n_head);
    if (!s2_head_split(w->head_text, n_head, &w->head, &error)) return refuse(h, w, &error);
    bool is_sound = false;
    w->x = h->calls->request(h->server, w->connection, &w->head, &is_sound);
    if (!w->x) {
        w->state = CLOSED;
        return false;
    }
    w->x->wire = w;
    w->head = w->x->head; /* with what the gate has read in it */
    const bool has_body = is_sound && (w->head.is_chunked || w->head.content_length > 0);
    const bool is_answered = h->calls->has_answer(w->x);
    w->is_last |= !is_sound || (is_answered && has_body);
    w->state = WAITING;
    if (is_answered) return true;
    if (!has_body) {
        h->calls->handle(w->x);
        return true;
    }
    s2_body_begin(&w->body_reader, &w->head);
    w->state = READING_BODY;
    if (w->in.size == 0 && s2_head_lists(&w->head, "Expect", "100-continue") &&
        strcmp(w->head.version, "HTTP/1.0") != 0)
        send_continue(w);
    return true;
}

static bool read_body(s2_http *h, wire *w)
{
    s2_http_error error;
    static const uint8_t nothing[1] = { 0 };
    const uint8_t *data = w->in.data ? w->in.data : nothing; /* an empty buffer has no data */
    size_t at = 0, used = 1;
    s2_read got = S2_READ_MORE;
    while (got != S2_READ_END && got != S2_READ_REFUSED && !h->calls->has_answer(w->x)) {
        got = s2_read_body(&w->body_reader, data + at, w->in.size - at, &used, &error);
        if (got == S2_READ_PIECE) h->calls->body(w->x, data + at, used);
        at += used;
        if (got != S2_READ_END && used == 0) break;
    }
    if (at > 0) drop_input(w, at);
    if (got == S2_READ_REFUSED) return refuse(h, w, &error);
    const bool is_answered = h->calls->has_answer(w->x);
    if (!is_answered && got != S2_READ_END) return false;
    w->state = WAITING;
    if (is_answered)
        w->is_last = true; /* in the middle of the body */
    else
        h->calls->handle(w->x);
    return true;
}

/* As far as it goes without waiting. */
static void proceed(s2_http *h, wire *w)
{
    bool goes_on = true;
    while (goes_on) switch (w->state) {
        case READING_HEAD:
            goes_on = read_head(h, w);
            break;
        case READING_BODY:
            goes_on = read_body(h, w);
            break;
        case WAITING:
            s2_buffer_free(&w->reply.headers);
            s2_buffer_init(&w->reply.headers, BLOCK);
            goes_on = h->calls->reply(w->x, &w->reply);
            if (goes_on) start_answer(w);
            break;
        case SENDING:
            goes_on = send_answer(h, w);
            break;
        case LEAVING:
            if (w->in.size > 0) drop_input(w, w->in.size);
            goes_on = false;
            break;
        default:
            goes_on = false;
        }
    const bool is_reading = w->state == READING_HEAD || w->state == READING_BODY;
    if (!w->has_ended || !(is_reading || w->state == LEAVING)) return;
    if (is_reading && w->has_begun) { /* refused once: then it is the last one */
        s2_http_error error;
        (void)s2_http_fail(&error, 400, NULL, "the request ends before it is complete");
        if (refuse(h, w, &error)) proceed(h, w);
        return;
    }
    w->state = CLOSED;
}

static bool wants_input(const wire *w)
{
    return !w->has_ended && w->in.size < MAX_IN &&
           (w->state == READING_HEAD || w->state == READING_BODY || w->state == LEAVING);
}

/* Everything the socket has, as long as it is wanted. */
static void receive(s2_http *h, wire *w)
{
    /* one client does not keep the thread; what TLS has decrypted already is not announced again */
    for (int turn = 0; wants_input(w) && (turn < 64 || w->socket.session); turn++) {
        const size_t had = w->in.size, room = MAX_IN - had < BLOCK ? MAX_IN - had : BLOCK;
        uint8_t *at = s2_buffer_extend(&w->in, room);
        if (!at) {
            w->state = CLOSED;
            return;
        }
        const ssize_t n = s2_socket_read(&w->socket, at, room);
        w->in.size = had + (n > 0 ? (size_t)n : 0);
        if (w->in.size == 0) s2_buffer_free(&w->in);
        if (n == S2_SOCKET_BROKEN) w->state = CLOSED;
        if (n == 0) w->has_ended = true;
        if (n == S2_SOCKET_AGAIN || n == S2_SOCKET_BROKEN) return;
        proceed(h, w);
    }
}

/* --- connections -------------------------------------------------------------------------- */

static void close_wire(s2_http *h, size_t i)
{
    wire *w = h->wire[i];
    forget_request(h, w);
    h->calls->close(h->server, w->connection);
    s2_socket_close(&w->socket);
    s2_buffer_free(&w->in);
    s2_buffer_free(&w->out);
    free(w);
    h->wire[i] = h->wire[--h->n];
    h->is_full = false;
}

static bool set_flags(int fd)
{
    const int yes = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes); /* fails for Unix sockets */
    return fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 &&
           fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) == 0;
}

static void accept_one(s2_http *h)
{
    struct sockaddr_storage from = { .ss_family = AF_UNSPEC };
    socklen_t n = sizeof from;
    const int fd = accept(h->fd, (struct sockaddr *)&from, &n);
    if (fd < 0) {
        h->is_full = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
        return;
    }
    const struct sockaddr *address = (const struct sockaddr *)&from;
    wire *w = set_flags(fd) && h->calls->accepts(h->server, address) ? calloc(1, sizeof *w) : NULL;
    if (w && !s2_socket_open(&w->socket, fd, h->tls)) {
        free(w);
        w = NULL;
    }
    if (!w) {
        close(fd);
        return;
    }
    s2_buffer_init(&w->in, MAX_IN);
    s2_buffer_init(&w->out, 4 * BLOCK);
    w->connection = h->calls->open(h->server, fd, address);
    if (!w->connection) {
        s2_socket_close(&w->socket);
        free(w);
        return;
    }
    h->wire[h->n++] = w;
    receive(h, w); /* it may have sent something already */
}

/* Exchanges that were pushed by others. */
static void take_ready(s2_http *h)
{
    char bytes[256];
    while (read(h->server->ready.wake[0], bytes, sizeof bytes) > 0) continue;
    for (s2_exchange *x = s2_ready_pop(&h->server->ready); x; x = s2_ready_pop(&h->server->ready)) {
        wire *w = x->wire;
        if (w && w->x == x) {
            if (atomic_exchange(&x->is_asked, false) && w->state == WAITING) send_continue(w);
            if (w->state == WAITING || (w->state == SENDING && !w->wants_write)) {
                proceed(h, w);
                receive(h, w);
            }
        }
        s2_exchange_release(x);
    }
}

/* --- the thread --------------------------------------------------------------------------- */

static short events_of(const wire *w)
{
    const bool writes = w->wants_write || w->socket.wants_write;
    return (short)((wants_input(w) ? POLLIN : 0) | (writes ? POLLOUT : 0));
}

static void serve_wire(s2_http *h, wire *w, short events)
{
    const bool is_reading = wants_input(w);
    if ((events & (POLLERR | POLLNVAL)) || ((events & POLLHUP) && !is_reading)) {
        w->state = CLOSED;
        return;
    }
    if (events & POLLOUT) {
        w->wants_write = false;
        proceed(h, w);
    }
    if (events) receive(h, w);
}

static void close_gone(s2_http *h)
{
    for (size_t i = h->n; i-- > 0;)
        if (h->wire[i]->state == CLOSED) close_wire(h, i);
}

static void *run_loop(void *user)
{
    s2_http *h = user;
    while (!atomic_load(&h->is_stopping)) {
        const bool accepts = h->n < h->max && !h->is_full;
        const size_t n = h->n;
        h->poll[0] = (struct pollfd){ .fd = h->server->ready.wake[0], .events = POLLIN };
        h->poll[1] = (struct pollfd){ .fd = accepts ? h->fd : -1, .events = POLLIN };
        for (size_t i = 0; i < n; i++)
            h->poll[2 + i] =
                (struct pollfd){ .fd = h->wire[i]->socket.fd, .events = events_of(h->wire[i]) };
        const int got = poll(h->poll, (nfds_t)(2 + n), h->is_full ? FULL_WAIT_MS : -1);
        h->is_full = false;
        if (got < 0) continue; /* a signal */
        for (size_t i = 0; i < n; i++)
            if (h->poll[2 + i].revents) serve_wire(h, h->wire[i], h->poll[2 + i].revents);
        if (h->poll[0].revents) take_ready(h);
        close_gone(h);
        /* One at a time: its connections before this one have ended meanwhile, perhaps, and must not
         * count against its address. */
        if (accepts && (h->poll[1].revents & POLLIN)) accept_one(h);
        close_gone(h);
    }
    return NULL;
}

static void free_loop(s2_http *h)
{
    free(h->wire);
    free(h->poll);
    s2_tls_close(h->tls);
    free(h);
}

s2p_status s2_loop_start(s2_http **out, s2_server *server, const s2_loop_calls *calls, int fd,
                         size_t max_connections, s2p_error *error)
{
    const s2_front_options *o = server->options;
    *out = NULL;
    s2_http *h = calloc(1, sizeof *h);
    if (!h) return s2_fail_memory(error, sizeof *h, "HTTP");
    h->server = server;
    h->calls = calls;
    h->fd = fd;
    h->max = max_connections;
    h->wire = calloc(h->max, sizeof *h->wire);
    h->poll = calloc(h->max + 2, sizeof *h->poll);
    s2p_status st = S2P_OK;
    if (!h->wire || !h->poll)
        st = s2_fail_memory(error, h->max * (sizeof *h->wire + sizeof *h->poll), "HTTP");
    if (st == S2P_OK && o->ssl_key) st = s2_tls_open(&h->tls, o->ssl_key, o->ssl_cert, error);
    if (st == S2P_OK && pthread_create(&h->thread, NULL, run_loop, h) != 0)
        st = s2_fail(error, S2P_ENOMEM, "cannot start a thread for HTTP");
    if (st != S2P_OK)
        free_loop(h);
    else
        *out = h;
    return st;
}

void s2_loop_stop(s2_http *h)
{
    if (!h) return;
    atomic_store(&h->is_stopping, true);
    s2_ready_push(&h->server->ready, NULL);
    (void)pthread_join(h->thread, NULL);
    while (h->n > 0) close_wire(h, h->n - 1);
    for (s2_exchange *x = s2_ready_pop(&h->server->ready); x; x = s2_ready_pop(&h->server->ready))
        s2_exchange_release(x);
    close(h->fd);
    free_loop(h);
}
