/* http.c - between libmicrohttpd and the exchanges.
 *
 * The library reports a request as its target (on_target), head and body in pieces (on_access) and its
 * end (on_completed). It pulls a stream (read_stream); while there is nothing to send, the connection is
 * suspended.
 */
#include "serve/front/routes.h"

#include "base/clock.h"
#include "serve/front/page.h"

#include <microhttpd.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <time.h>

#define MAX_CONNECTIONS 1024u
#define OTHER_FILES 64u                      /* descriptors other than connections of clients */
#define CONNECTION_MEMORY ((size_t)48 << 10) /* a head of 32 KiB fits */
#define BLOCK ((size_t)16 << 10)
#define PING_MS 15000.0
#define LOADING_MS 1000.0 /* between two comments about a model that loads */
#define HEAD_MS 10000.0   /* after this time the head of a stream is sent, even without content */
#define CSP                                                                                 \
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; " \
    "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

/* --- the head --------------------------------------------------------------------------- */

static enum MHD_Result add_field(void *user, enum MHD_ValueKind kind, const char *name,
                                 size_t n_name, const char *value, size_t n_value)
{
    s2_head *head = user;
    (void)kind;
    if (head->n_fields <= S2_GATE_MAX_FIELDS)
        head->field[head->n_fields++] =
            (s2_head_field){ name, value ? value : "", n_name, value ? n_value : 0 };
    return MHD_YES;
}

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

static bool check_head(s2_exchange *x, const char *method, const char *version,
                       s2_http_error *error)
{
    s2_server *server = x->server;
    const s2_access *access = &server->options->access;
    x->head.method = method;
    x->head.target = x->target;
    x->head.version = version;
    (void)MHD_get_connection_values_n(x->http, MHD_HEADER_KIND, add_field, &x->head);
    const bool is_sound = s2_gate_check(&x->head, error);
    if (is_sound && x->connection->is_proxy)
        x->record.client = s2_proxies_client(&server->options->proxies, &x->head, x->record.client);
    s2_record_name(&x->record, is_sound ? x->head.request_id : NULL);
    if (!is_sound || !s2_access_check_names(access, &x->head, error)) return false;
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

static void add_header(struct MHD_Response *response, const char *name, const char *value)
{
    (void)MHD_add_response_header(response, name, value);
}

static void add_cors_header(void *response, const char *name, const char *value)
{
    add_header(response, name, value);
}

static ssize_t read_stream(void *user, uint64_t position, char *out, size_t room)
{
    s2_exchange *x = user;
    ssize_t n;
    (void)position;
    pthread_mutex_lock(&x->lock);
    const size_t left = x->out.size - x->n_taken;
    if (x->is_gone || x->out.status != S2P_OK) {
        n = MHD_CONTENT_READER_END_WITH_ERROR;
    } else if (left > 0) {
        n = (ssize_t)(left < room ? left : room);
        memcpy(out, x->out.data + x->n_taken, (size_t)n);
        x->n_taken += (size_t)n;
        if (x->n_taken == x->out.size) x->n_taken = x->out.size = 0;
        s2_connection_within(x->connection, x->server->options->send_s * 1e3);
    } else if (x->is_done) {
        n = MHD_CONTENT_READER_END_OF_STREAM;
    } else {
        n = 0;
        x->is_suspended = true;
        s2_connection_within(x->connection, 0.0);
        MHD_suspend_connection(x->http);
    }
    pthread_mutex_unlock(&x->lock);
    return n;
}

static void release(void *user) { s2_exchange_release(user); }

static struct MHD_Response *asset_response(s2_exchange *x)
{
    const s2_asset *a = x->asset;
    const bool takes_gzip = x->head.accept_encoding && strstr(x->head.accept_encoding, "gzip");
    const bool is_packed = takes_gzip && a->n_packed > 0;
    const bool is_known = x->head.if_none_match && strcmp(x->head.if_none_match, a->tag) == 0;
    x->status = is_known ? 304 : 200;
    /* the library does not write to it */
    struct MHD_Response *response = MHD_create_response_from_buffer(
        is_known    ? 0
        : is_packed ? a->n_packed
                    : a->n_plain,
        (void *)(uintptr_t)(is_packed ? a->packed : a->plain), MHD_RESPMEM_PERSISTENT);
    if (!response) return NULL;
    if (is_packed) add_header(response, "Content-Encoding", "gzip");
    add_header(response, "ETag", a->tag);
    add_header(response, "Vary", "Accept-Encoding");
    add_header(response, "Content-Security-Policy", CSP);
    add_header(response, "Referrer-Policy", "no-referrer");
    add_header(response, "Cache-Control",
               strncmp(a->path, "/assets/", 8) == 0 ? "public, max-age=31536000, immutable"
                                                    : "no-cache");
    return response;
}

/* With the lock held, once the status is known. */
static enum MHD_Result answer(s2_exchange *x)
{
    struct MHD_Response *response;
    double within = x->server->options->send_s * 1e3;
    if (x->asset) {
        response = asset_response(x);
    } else if (x->streams) {
        within = 0.0;
        response =
            MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, read_stream, x, release);
        if (response) atomic_fetch_add(&x->n_references, 1);
    } else {
        response = MHD_create_response_from_buffer(
            x->out.size, x->out.data ? (void *)x->out.data : "", MHD_RESPMEM_MUST_COPY);
    }
    if (!response) return MHD_NO;
    const char *type = x->asset ? x->asset->type : x->content_type;
    if (type) add_header(response, "Content-Type", type);
    add_header(response, "X-Request-Id", x->record.id);
    add_header(response, "X-Content-Type-Options", "nosniff");
    if (!x->asset) add_header(response, "Cache-Control", "no-store");
    if (x->allow) add_header(response, "Allow", x->allow);
    if (x->status == 401) add_header(response, "WWW-Authenticate", "Bearer");
    if (x->retry_after_s > 0) {
        char text[32];
        (void)snprintf(text, sizeof text, "%d", x->retry_after_s);
        add_header(response, "Retry-After", text);
    }
    s2_cors_headers(&x->server->options->access, &x->head, add_cors_header, response);
    s2_connection_within(x->connection, within);
    if (x->status >= 0 && x->status < S2_N_STATUS)
        atomic_fetch_add(&x->server->n_answers[x->status / 100], 1u);
    const enum MHD_Result result = MHD_queue_response(x->http, (unsigned)x->status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result refuse(s2_exchange *x, const s2_http_error *error)
{
    x->asset = NULL;
    s2_exchange_fail(x, error);
    return answer(x);
}

/* Answers, or suspends the connection until there is an answer. */
static enum MHD_Result settle(s2_exchange *x)
{
    enum MHD_Result result = MHD_YES;
    pthread_mutex_lock(&x->lock);
    if (x->status || x->asset) {
        result = answer(x);
    } else {
        x->is_suspended = true;
        MHD_suspend_connection(x->http);
    }
    pthread_mutex_unlock(&x->lock);
    return result;
}

/* --- callbacks of the library ------------------------------------------------------------- */

/* The library does not report requests again that it refuses by itself. */
static void forget_begun(s2_connection *c)
{
    if (c->begun) s2_exchange_release(c->begun);
    c->begun = NULL;
}

static void *on_target(void *user, const char *target, struct MHD_Connection *connection)
{
    s2_server *server = user;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    s2_connection *c = info ? info->socket_context : NULL;
    if (!c) return NULL;
    s2_exchange *x = s2_exchange_create(server, target);
    if (!x) return NULL;
    x->http = connection;
    x->connection = c;
    x->record.client = c->address;
    x->record.arrived_ms = s2_now_ms();
    forget_begun(c);
    c->begun = x;
    s2_connection_within(c, server->options->header_s * 1e3);
    return x;
}

static enum MHD_Result on_access(void *user, struct MHD_Connection *connection, const char *url,
                                 const char *method, const char *version, const char *data,
                                 size_t *size, void **context)
{
    s2_exchange *x = *context;
    s2_server *server = user;
    s2_http_error error;
    (void)connection;
    (void)url;
    if (!x) return MHD_NO;
    if (!x->is_seen) {
        x->is_seen = true;
        x->connection->begun = NULL;
        atomic_fetch_add(&server->n_requests, 1u);
        if (!check_head(x, method, version, &error)) return refuse(x, &error);
        s2_connection_within(x->connection, server->options->body_s * 1e3);
        return MHD_YES;
    }
    if (*size > 0) {
        s2_connection_received(x->connection, *size);
        if (!x->is_too_large) s2_buffer_append(&x->body, data, *size);
        if (x->body.status != S2P_OK) {
            x->is_too_large = true;
            s2_buffer_free(&x->body);
        }
        *size = 0;
        return MHD_YES;
    }
    if (!x->is_handled) {
        x->is_handled = true;
        s2_connection_within(x->connection, 0.0);
        bool is_fine = true;
        if (x->is_too_large)
            is_fine = s2_http_fail(&error, 413, NULL, "request body too large (limit %zu bytes)",
                                   server->options->max_body);
        else if (x->route && strcmp(x->route->method, "POST") == 0 &&
                 atomic_load(&server->is_draining))
            is_fine = s2_http_fail(&error, 503, NULL, "the server is shutting down");
        else if (x->route)
            is_fine = x->route->handle(x, &error);
        if (!is_fine) return refuse(x, &error);
    }
    return settle(x);
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

static void on_completed(void *user, struct MHD_Connection *connection, void **context,
                         enum MHD_RequestTerminationCode code)
{
    s2_exchange *x = *context;
    s2_server *server = user;
    (void)connection;
    (void)code;
    if (!x) return;
    *context = NULL;
    if (x->connection->begun == x) x->connection->begun = NULL;
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

/* Whether this address may open one more connection. */
static enum MHD_Result on_arrival(void *user, const struct sockaddr *address, socklen_t n)
{
    s2_server *server = user;
    const s2_address from = s2_address_of(address);
    const int32_t most = server->options->n_per_address;
    (void)n;
    return most == 0 || s2_address_is_local(from) ||
                   s2_proxies_trust(&server->options->proxies, address) ||
                   s2_connections_of(&server->connections, from) < (size_t)most
               ? MHD_YES
               : MHD_NO;
}

static void on_connection(void *user, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode code)
{
    s2_server *server = user;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info =
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        const union MHD_ConnectionInfo *from =
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
        s2_connection *c = info ? s2_connections_add(&server->connections, info->connect_fd,
                                                     s2_address_of(from ? from->client_addr : NULL))
                                : NULL;
        if (c) {
            c->is_proxy =
                s2_proxies_trust(&server->options->proxies, from ? from->client_addr : NULL);
            s2_connection_within(c, server->options->header_s * 1e3);
        }
        *context = c;
    } else if (*context) {
        forget_begun(*context);
        s2_connections_remove(&server->connections, *context);
        *context = NULL;
    }
}

/* --- the daemon --------------------------------------------------------------------------- */

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

s2p_status s2_http_start(struct MHD_Daemon **out, s2_server *server, int fd, s2p_error *error)
{
    const s2_front_options *o = server->options;
    /* poll: with epoll the library does not always notice that a client has disconnected */
    unsigned flags = MHD_USE_POLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC;
    if (o->ssl_key) flags |= MHD_USE_TLS;
    *out = MHD_start_daemon(
        flags, 0, on_arrival, server, on_access, server, MHD_OPTION_LISTEN_SOCKET, fd,
        MHD_OPTION_NOTIFY_COMPLETED, on_completed, server, MHD_OPTION_NOTIFY_CONNECTION,
        on_connection, server, MHD_OPTION_URI_LOG_CALLBACK, on_target, server,
        MHD_OPTION_CONNECTION_LIMIT, connection_limit(o), MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        CONNECTION_MEMORY, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)(o->idle_s > o->body_s ? o->idle_s : o->body_s) + 1u,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, o->ssl_key ? MHD_OPTION_HTTPS_MEM_KEY : MHD_OPTION_END,
        o->ssl_key, MHD_OPTION_HTTPS_MEM_CERT, o->ssl_cert, MHD_OPTION_END);
    if (*out) return S2P_OK;
    return s2_fail(error, S2P_EIO,
                   o->ssl_key
                       ? "cannot start HTTPS; check that key and certificate are PEM files of one "
                         "pair"
                       : "cannot start HTTP");
}

void s2_http_stop(struct MHD_Daemon *daemon)
{
    if (daemon) MHD_stop_daemon(daemon);
}

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

/* Called with the lock of the connections, so the exchange exists. */
static void visit(void *exchange, bool is_gone, void *user)
{
    s2_exchange *x = exchange;
    const double now = *(const double *)user;
    if (is_gone) s2_link_cancel(x->link, &x->job);
    pthread_mutex_lock(&x->lock);
    const double silent = now - x->sent_ms;
    if (is_gone && x->streams) {
        x->is_gone = true;
    } else if (is_gone && !x->status) { /* an answer makes the library close the socket */
        s2_http_error left = { .status = 0 };
        (void)s2_http_fail(&left, 400, NULL, "the client closed the connection");
        s2_exchange_fail(x, &left);
    }
    const bool is_late = x->may_stream && !x->status && now - x->asked_ms > HEAD_MS;
    if (is_late) s2_exchange_stream(x);
    const bool has_comments = !x->content_type || strcmp(x->content_type, "text/event-stream") == 0;
    if (has_comments && (is_late || (x->streams && !x->is_done && silent > PING_MS)))
        s2_exchange_line(x, ": ping\n\n");
    if (!is_gone) tell_loading(x, now);
    s2_exchange_wake(x);
    pthread_mutex_unlock(&x->lock);
}

void s2_http_tick(s2_server *server)
{
    double now = s2_now_ms();
    s2_connections_tick(&server->connections, now, visit, &now);
}
