/* http.c - between the bytes (http/loop.h) and the exchanges: what a request may do, what is answered. */
#include "serve/front/routes.h"

#include "base/clock.h"
#include "serve/front/http/loop.h"
#include "serve/front/page.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <time.h>

#define MAX_CONNECTIONS 1024u
#define OTHER_FILES 64u /* descriptors other than connections of clients */
#define PING_MS 15000.0
#define LOADING_MS 1000.0 /* between two comments about a model that loads */
#define LINGER_MS 5000.0  /* for a client to read the last answer and close */
#define HEAD_MS 10000.0   /* after this time the head of a stream is sent, even without content */
#define CSP                                                                                 \
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; " \
    "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

/* --- the head --------------------------------------------------------------------------- */

/* Checks what the head says about the body, before it arrives. */
static bool check_body(s2_exchange *x, s2_http_error *error)
{
    const s2_front_options *o = x->server->options;
    const s2_head *head = &x->head;
    static const char json[] = "application/json";
    const size_t n = sizeof json - 1;
    const char *type = head->content_type;
    if (strcmp(head->method, "POST") != 0) {
        if (head->is_chunked || head->content_length > 0)
            return s2_http_fail(error, 400, NULL, "%s does not take a body", head->method);
        return true;
    }
    if (head->content_length < 0 && !head->is_chunked)
        return s2_http_fail(error, 411, NULL, "missing header Content-Length");
    if (head->content_length > (int64_t)o->max_body)
        return s2_http_fail(error, 413, NULL, "request body too large: %lld bytes (limit %zu)",
                            (long long)head->content_length, o->max_body);
    if (!type || strncasecmp(type, json, n) != 0 ||
        (type[n] != '\0' && type[n] != ';' && type[n] != ' '))
        return s2_http_fail(error, 415, NULL, "the content type must be application/json");
    x->body.max = o->max_body;
    return true;
}

static const s2_asset *find_asset(const char *path, size_t n)
{
    for (const s2_asset *asset = s2_page_assets; asset->path; asset++)
        if (strlen(asset->path) == n && memcmp(asset->path, path, n) == 0) return asset;
    return NULL;
}

/* A right key is always served. Against guessing, an address that sent many wrong ones has to wait
 * before it is told about the next. */
static bool check_key(s2_exchange *x, s2_http_error *error)
{
    s2_server *server = x->server;
    const s2_address client = x->record.client;
    const double now = s2_now_ms();
    pthread_mutex_lock(&server->access_lock);
    x->record.key = s2_access_find_key(&server->access, &x->head);
    if (server->options->cache_per_key) x->salt = s2_access_salt(&server->access, x->record.key);
    const bool is_fine = s2_access_check_key(&server->access, &x->head, error);
    pthread_mutex_unlock(&server->access_lock);
    const bool is_guess = x->head.authorization || x->head.api_key;
    if (is_fine || !is_guess || server->options->n_per_address == 0) return is_fine;
    const double wait = s2_wrong_keys_wait(&server->wrong_keys, client, now);
    if (wait > 0.0) {
        (void)s2_http_fail(error, 429, NULL, "too many wrong API keys from this address");
        error->retry_after_s = 1 + (int)(wait / 1e3);
    } else {
        s2_wrong_keys_add(&server->wrong_keys, client, now);
    }
    return false;
}

/* *is_sound: it can be read in one way only. */
static bool check_head(s2_exchange *x, bool *is_sound, s2_http_error *error)
{
    s2_server *server = x->server;
    const s2_access *access = &server->options->access;
    const char *method = x->head.method;
    *is_sound = s2_gate_check(&x->head, error);
    if (*is_sound && x->connection->is_proxy)
        x->record.client = s2_proxies_client(&server->options->proxies, &x->head, x->record.client);
    s2_record_name(&x->record, *is_sound ? x->head.request_id : NULL);
    if (!*is_sound || !s2_access_check_names(access, &x->head, error)) return false;
    if (s2_cors_is_preflight(access, &x->head)) { /* before the key: a browser does not send it */
        s2_exchange_text(x, 204, NULL, "", 0);
        return check_body(x, error);
    }
    const size_t n = s2_target_path(x->target);
    const bool is_get = strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
    if (server->options->has_ui && is_get && (x->asset = find_asset(x->target, n)))
        return check_body(x, error);
    x->route = s2_route_find(method, x->target, n, &x->allow);
    if (!(x->route && x->route->is_public) && !check_key(x, error)) return false;
    if (!x->route && x->allow)
        return s2_http_fail(error, 405, NULL, "method not allowed; use %s", x->allow);
    if (!x->route) return s2_http_fail(error, 404, NULL, "unknown path");
    x->allow = NULL;
    return check_body(x, error);
}

/* --- answers ---------------------------------------------------------------------------- */

static void add_header(void *user, const char *name, const char *value)
{
    s2_buffer_printf(user, "%s: %s\r\n", name, value);
}

static ssize_t pull_stream(s2_exchange *x, uint8_t *out, size_t room)
{
    ssize_t n = S2_PULL_NOTHING;
    pthread_mutex_lock(&x->lock);
    const size_t left = x->out.size - x->n_taken;
    if (x->is_gone || x->out.status != S2P_OK) {
        n = S2_PULL_BROKEN;
    } else if (left > 0) {
        n = (ssize_t)(left < room ? left : room);
        memcpy(out, x->out.data + x->n_taken, (size_t)n);
        x->n_taken += (size_t)n;
        if (x->n_taken == x->out.size) x->n_taken = x->out.size = 0;
        s2_connection_within(x->connection, x->server->options->send_s * 1e3);
    } else if (x->is_done) {
        n = S2_PULL_END;
    } else {
        x->is_suspended = true;
        s2_connection_within(x->connection, 0.0);
    }
    pthread_mutex_unlock(&x->lock);
    return n;
}

static void reply_asset(s2_exchange *x, s2_reply *out)
{
    const s2_asset *a = x->asset;
    const bool takes_gzip = x->head.accept_encoding && strstr(x->head.accept_encoding, "gzip");
    const bool is_packed = takes_gzip && a->n_packed > 0;
    const bool is_known = x->head.if_none_match && strcmp(x->head.if_none_match, a->tag) == 0;
    x->status = is_known ? 304 : 200;
    out->body = is_packed ? a->packed : a->plain;
    out->n_body = is_known ? 0 : is_packed ? a->n_packed : a->n_plain;
    if (is_packed) add_header(&out->headers, "Content-Encoding", "gzip");
    add_header(&out->headers, "ETag", a->tag);
    add_header(&out->headers, "Vary", "Accept-Encoding");
    add_header(&out->headers, "Content-Security-Policy", CSP);
    add_header(&out->headers, "Referrer-Policy", "no-referrer");
    add_header(&out->headers, "Cache-Control",
               strncmp(a->path, "/assets/", 8) == 0 ? "public, max-age=31536000, immutable"
                                                    : "no-cache");
}

/* Once the status is known; otherwise the exchange is pushed when it is. */
static bool reply(s2_exchange *x, s2_reply *out)
{
    s2_buffer *headers = &out->headers;
    pthread_mutex_lock(&x->lock);
    const bool is_known = x->status || x->asset;
    x->is_suspended = !is_known;
    if (is_known) {
        if (x->asset) {
            reply_asset(x, out);
        } else if (x->streams) {
            out->is_stream = true;
        } else { /* nothing is added to it any more */
            out->body = x->out.data;
            out->n_body = x->out.size;
        }
        out->status = x->status;
        const char *type = x->asset ? x->asset->type : x->content_type;
        if (type) add_header(headers, "Content-Type", type);
        add_header(headers, "X-Request-Id", x->record.id);
        add_header(headers, "X-Content-Type-Options", "nosniff");
        if (!x->asset) add_header(headers, "Cache-Control", "no-store");
        if (x->allow) add_header(headers, "Allow", x->allow);
        if (x->status == 401) add_header(headers, "WWW-Authenticate", "Bearer");
        if (x->retry_after_s > 0)
            s2_buffer_printf(headers, "Retry-After: %d\r\n", x->retry_after_s);
        s2_cors_headers(&x->server->options->access, &x->head, add_header, headers);
        s2_connection_within(x->connection, x->streams ? 0.0 : x->server->options->send_s * 1e3);
        if (x->status >= 0 && x->status < S2_N_STATUS)
            atomic_fetch_add(&x->server->n_answers[x->status / 100], 1u);
    }
    pthread_mutex_unlock(&x->lock);
    return is_known;
}

static void refuse(s2_exchange *x, const s2_http_error *error)
{
    pthread_mutex_lock(&x->lock);
    x->asset = NULL;
    s2_exchange_fail(x, error);
    pthread_mutex_unlock(&x->lock);
}

/* --- requests ----------------------------------------------------------------------------- */

static s2_exchange *create(s2_server *server, s2_connection *c, const char *target)
{
    s2_exchange *x = s2_exchange_create(server, target);
    if (!x) return NULL;
    x->connection = c;
    x->record.client = c->address;
    x->record.arrived_ms = s2_now_ms();
    x->is_seen = true;
    atomic_fetch_add(&server->n_requests, 1u);
    return x;
}

static void on_begin(s2_server *server, s2_connection *c)
{
    s2_connection_within(c, server->options->header_s * 1e3);
}

static s2_exchange *on_request(s2_server *server, s2_connection *c, const s2_head *head,
                               bool *is_sound)
{
    s2_http_error error;
    s2_exchange *x = create(server, c, head->target);
    if (!x) return NULL;
    x->head = *head;
    if (!check_head(x, is_sound, &error))
        refuse(x, &error);
    else
        s2_connection_within(c, server->options->body_s * 1e3);
    return x;
}

static s2_exchange *on_malformed(s2_server *server, s2_connection *c, const s2_http_error *error)
{
    s2_exchange *x = create(server, c, "");
    if (!x) return NULL;
    s2_record_name(&x->record, NULL);
    refuse(x, error);
    return x;
}

static bool has_answer(s2_exchange *x) { return x->status || x->asset; }

static void on_body(s2_exchange *x, const uint8_t *data, size_t n)
{
    s2_http_error error;
    s2_connection_received(x->connection, n);
    s2_buffer_append(&x->body, data, n);
    if (x->body.status == S2P_OK) return;
    (void)s2_http_fail(&error, 413, NULL, "request body too large (limit %zu bytes)",
                       x->server->options->max_body);
    refuse(x, &error);
}

static void on_handle(s2_exchange *x)
{
    s2_http_error error;
    bool is_fine = true;
    s2_connection_within(x->connection, 0.0);
    if (has_answer(x)) return;
    if (x->route && strcmp(x->route->method, "POST") == 0 && atomic_load(&x->server->is_draining))
        is_fine = s2_http_fail(&error, 503, NULL, "the server is shutting down");
    else if (x->route)
        is_fine = x->route->handle(x, &error);
    if (!is_fine) refuse(x, &error);
}

/* The line of the access log. With the lock held. */
static void log_request(s2_exchange *x)
{
    const s2_front_options *o = x->server->options;
    struct timespec now;
    s2_buffer line;
    if (!o->log_request || !x->is_seen) return;
    clock_gettime(CLOCK_REALTIME, &now);
    const s2_record_words words = { .method = x->route ? x->route->method : NULL,
                                    .route = x->asset   ? x->asset->path
                                             : x->route ? x->route->path
                                                        : NULL,
                                    .model = x->chat.model,
                                    .status = x->status,
                                    .now_ms = s2_now_ms(),
                                    .unix_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 };
    s2_buffer_init(&line, 4096);
    s2_record_line(&x->record, &words, o->log_as_json, &line);
    s2_buffer_append(&line, "", 1);
    if (line.status == S2P_OK) o->log_request((const char *)line.data);
    s2_buffer_free(&line);
}

static void on_done(s2_exchange *x)
{
    s2_server *server = x->server;
    s2_connection_wait(&server->connections, x->connection, NULL);
    pthread_mutex_lock(&x->lock);
    x->is_gone = true;
    x->is_suspended = false;
    if (x->has_job && x->record.started_ms == 0.0) x->record.started_ms = x->job.started_ms;
    log_request(x);
    pthread_mutex_unlock(&x->lock);
    if (x->has_job) s2_link_cancel(x->link, &x->job);
    s2_connection_within(x->connection, server->options->idle_s * 1e3);
    s2_exchange_release(x);
}

/* --- connections -------------------------------------------------------------------------- */

/* Whether this address may open one more connection. */
static bool on_arrival(s2_server *server, const struct sockaddr *address)
{
    const s2_address from = s2_address_of(address);
    const int32_t most = server->options->n_per_address;
    return most == 0 || s2_address_is_local(from) ||
           s2_proxies_trust(&server->options->proxies, address) ||
           s2_connections_of(&server->connections, from) < (size_t)most;
}

static s2_connection *on_open(s2_server *server, int fd, const struct sockaddr *from)
{
    s2_connection *c = s2_connections_add(&server->connections, fd, s2_address_of(from));
    if (!c) return NULL;
    c->is_proxy = s2_proxies_trust(&server->options->proxies, from);
    s2_connection_within(c, server->options->header_s * 1e3);
    return c;
}

static void on_end(s2_server *server, s2_connection *c)
{
    (void)server;
    s2_connection_within(c, LINGER_MS);
}

static void on_close(s2_server *server, s2_connection *c)
{
    s2_connections_remove(&server->connections, c);
}

/* The number of connections there are descriptors for, after raising the limit if possible. A connection
 * that cannot be accepted would be retried in a busy loop. */
static unsigned connection_limit(const s2_front_options *o)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0) return MAX_CONNECTIONS;
    const rlim_t wanted = MAX_CONNECTIONS + OTHER_FILES, had = files.rlim_cur;
    if (had >= wanted) return MAX_CONNECTIONS;
    files.rlim_cur = files.rlim_max < wanted ? files.rlim_max : wanted;
    if (setrlimit(RLIMIT_NOFILE, &files) != 0) files.rlim_cur = had;
    if (files.rlim_cur >= wanted) return MAX_CONNECTIONS;
    const unsigned n = files.rlim_cur > 2 * OTHER_FILES ? (unsigned)files.rlim_cur - OTHER_FILES
                                                        : (unsigned)files.rlim_cur / 2u;
    char text[96];
    (void)snprintf(text, sizeof text, "at most %u connections; see 'ulimit -n'", n);
    o->log(text);
    return n;
}

s2p_status s2_http_start(s2_http **out, s2_server *server, int fd, s2p_error *error)
{
    static const s2_loop_calls calls = { .accepts = on_arrival,
                                         .open = on_open,
                                         .begin = on_begin,
                                         .request = on_request,
                                         .malformed = on_malformed,
                                         .refuse = refuse,
                                         .body = on_body,
                                         .handle = on_handle,
                                         .has_answer = has_answer,
                                         .reply = reply,
                                         .pull = pull_stream,
                                         .done = on_done,
                                         .ended = on_end,
                                         .close = on_close };
    return s2_loop_start(out, server, &calls, fd, connection_limit(server->options), error);
}

void s2_http_stop(s2_http *http) { s2_loop_stop(http); }

/* --- the clock ---------------------------------------------------------------------------- */

/* A comment, for a client whose stream waits for its model. */
static void tell_loading(s2_exchange *x, double now)
{
    s2_link_state state;
    if (!x->may_stream || x->is_done || x->record.first_ms > 0.0 || x->n_taken < x->out.size ||
        now - (x->told_ms > 0.0 ? x->told_ms : x->asked_ms) < LOADING_MS)
        return;
    x->told_ms = now;
    s2_link_get_state(x->link, &state);
    if (state.is_ready) return;
    char text[128];
    if (state.is_parked || state.pid == 0)
        (void)snprintf(text, sizeof text, ": waiting for the model to load\n\n");
    else
        (void)snprintf(text, sizeof text, ": loading the model (%s, %.0f %%)\n\n", state.step,
                       100.0 * state.done);
    s2_exchange_stream(x);
    if (strcmp(x->content_type, "text/event-stream") == 0) s2_exchange_line(x, text);
}

/* A client that sends no more may still read. Where nothing has been sent, one that has gone is found
 * by what it does with an interim answer; HTTP/1.0 has none. With the lock held. */
static void probe(s2_exchange *x, double now)
{
    s2_http_error left = { .status = 0 };
    if (x->status || (x->probed_ms > 0.0 && now - x->probed_ms < PING_MS)) return;
    x->probed_ms = now;
    if (strcmp(x->head.version, "HTTP/1.0") != 0) {
        atomic_store(&x->is_asked, true);
        s2_ready_push(&x->server->ready, x);
    } else {
        (void)s2_http_fail(&left, 400, NULL, "the client closed the connection");
        s2_exchange_fail(x, &left);
    }
}

/* Called with the lock of the connections, so the exchange exists. */
static void visit(void *exchange, bool is_half_closed, void *user)
{
    s2_exchange *x = exchange;
    const double now = *(const double *)user;
    pthread_mutex_lock(&x->lock);
    const double silent = now - x->sent_ms;
    if (is_half_closed) probe(x, now);
    const bool is_late = x->may_stream && !x->status && now - x->asked_ms > HEAD_MS;
    if (is_late) s2_exchange_stream(x);
    const bool has_comments = !x->content_type || strcmp(x->content_type, "text/event-stream") == 0;
    if (has_comments && (is_late || (x->streams && !x->is_done && silent > PING_MS)))
        s2_exchange_line(x, ": ping\n\n");
    tell_loading(x, now);
    s2_exchange_wake(x);
    pthread_mutex_unlock(&x->lock);
}

void s2_http_tick(s2_server *server)
{
    double now = s2_now_ms();
    s2_connections_tick(&server->connections, now, visit, &now);
}
