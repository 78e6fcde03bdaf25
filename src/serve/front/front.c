/* front.c - listen, start the engine, supervise both until a signal arrives. */
#if defined(__linux__)
#define _GNU_SOURCE /* SOCK_CLOEXEC */
#endif
#include "serve/front/routes.h"

#include "base/clock.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define BACKLOG 511
#define TICK_NS 50000000L

/* --- sockets --------------------------------------------------------------------------- */

/* host: an address or a name. *port 0: any free port, and out which. */
static s2p_status listen_tcp(const char *host, int32_t *port, int *fd, s2p_error *error)
{
    char service[16];
    const int yes = 1;
    struct addrinfo *list = NULL;
    struct sockaddr_storage bound;
    socklen_t n = sizeof bound;
    const struct addrinfo hints = { .ai_family = AF_UNSPEC,
                                    .ai_socktype = SOCK_STREAM,
                                    .ai_flags = AI_PASSIVE | AI_NUMERICSERV };
    (void)snprintf(service, sizeof service, "%d", *port);
    const int failed = getaddrinfo(host, service, &hints, &list);
    if (failed)
        return s2_fail(error, S2P_EINVAL, "cannot listen on '%.100s': %s", host,
                       gai_strerror(failed));
    *fd = socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (*fd >= 0) (void)setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    const bool is_listening = *fd >= 0 && bind(*fd, list->ai_addr, list->ai_addrlen) == 0 &&
                              listen(*fd, BACKLOG) == 0 &&
                              getsockname(*fd, (struct sockaddr *)&bound, &n) == 0;
    const int why = errno;
    freeaddrinfo(list);
    if (!is_listening) {
        if (*fd >= 0) close(*fd);
        *fd = -1;
        return s2_fail(error, S2P_EIO, "cannot listen on %.100s port %d: %s", host, *port,
                       strerror(why));
    }
    *port = ntohs(bound.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&bound)->sin6_port
                                              : ((struct sockaddr_in *)&bound)->sin_port);
    return S2P_OK;
}

/* Only the owner may connect. A socket that nobody listens on any more is replaced. */
static s2p_status listen_unix(const char *path, int *fd, s2p_error *error)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    struct stat info;
    if (strlen(path) >= sizeof at.sun_path)
        return s2_fail(error, S2P_EINVAL, "the path of the socket is longer than %zu bytes",
                       sizeof at.sun_path - 1);
    memcpy(at.sun_path, path, strlen(path) + 1);
    *fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (*fd < 0) return s2_fail(error, S2P_EIO, "cannot create a socket: %s", strerror(errno));
    if (lstat(path, &info) == 0 && S_ISSOCK(info.st_mode) &&
        connect(*fd, (const struct sockaddr *)&at, sizeof at) != 0 && errno == ECONNREFUSED)
        (void)unlink(path);
    const mode_t mask = umask(S_IRWXG | S_IRWXO);
    const bool is_bound =
        bind(*fd, (const struct sockaddr *)&at, sizeof at) == 0 && listen(*fd, BACKLOG) == 0;
    const int why = errno;
    (void)umask(mask);
    if (is_bound) return S2P_OK;
    close(*fd);
    *fd = -1;
    return s2_fail(error, S2P_EIO, "cannot listen on '%.200s': %s", path, strerror(why));
}

static s2p_status open_socket(const s2_front_options *o, int *fd, char *url, size_t capacity,
                              s2p_error *error)
{
    int32_t port = o->port;
    if (o->unix_socket) {
        (void)snprintf(url, capacity, "unix:%s", o->unix_socket);
        return listen_unix(o->unix_socket, fd, error);
    }
    TRY(listen_tcp(o->host, &port, fd, error));
    const bool is_v6 = strchr(o->host, ':') != NULL;
    (void)snprintf(url, capacity, "%s://%s%.200s%s:%d", o->ssl_key ? "https" : "http",
                   is_v6 ? "[" : "", o->host, is_v6 ? "]" : "", port);
    return S2P_OK;
}

/* --- running ---------------------------------------------------------------------------- */

/* Until a signal arrives, or the model cannot be loaded. */
static s2p_status supervise(s2_server *server, const char *url, const sigset_t *signals,
                            s2p_error *error)
{
    const struct timespec tick = { .tv_nsec = TICK_NS };
    const s2_front_options *o = server->options;
    bool was_ready = false;
    for (;;) {
        const int signal_number = sigtimedwait(signals, NULL, &tick);
        if (signal_number > 0 && signal_number != SIGHUP) return S2P_OK;
        if (signal_number == SIGHUP) { /* new keys; if the file cannot be read, the old ones stay */
            s2p_error why = { S2P_OK, "" };
            s2_access fresh = o->access;
            fresh.n_keys = o->n_fixed_keys;
            if (s2_access_read_keys(&fresh, o->key_file, &why) == S2P_OK) {
                pthread_mutex_lock(&server->access_lock);
                server->access = fresh;
                pthread_mutex_unlock(&server->access_lock);
                o->log("the key file was read again");
            } else {
                o->log(why.message);
            }
        }
        s2_http_tick(server);
        s2_models_tick(&server->models);
        if (was_ready) continue;
        s2p_error why = { S2P_OK, "" };
        const bool is_ready = s2_models_are_ready(&server->models, &why);
        if (!is_ready && why.status != S2P_OK) return s2_fail(error, why.status, "%s", why.message);
        if (!is_ready) continue;
        json_t *hello = NULL;
        for (int32_t i = 0; i < o->n_models && !hello; i++)
            if (o->model[i].is_pinned) hello = s2_link_hello(server->models.link[i]);
        was_ready = true;
        if (o->ready) o->ready(o, url, hello, (s2_now_ms() - server->started_ms) / 1e3);
        json_decref(hello);
    }
}

/* A load balancer notices that this server leaves; then requests that were accepted may finish, and no new
 * ones are accepted. A second signal ends either early. */
static void drain(s2_server *server, const sigset_t *signals)
{
    const struct timespec tick = { .tv_nsec = TICK_NS };
    const double leave = s2_now_ms() + server->options->leave_s * 1e3;
    const double end = leave + server->options->drain_s * 1e3;
    s2_link_state state;
    atomic_store(&server->is_leaving, true);
    while (s2_now_ms() < leave && sigtimedwait(signals, NULL, &tick) < 0) {
        s2_http_tick(server);
        s2_models_tick(&server->models);
    }
    atomic_store(&server->is_draining, true);
    do {
        s2_http_tick(server);
        s2_models_tick(&server->models);
        s2_models_state(&server->models, &state);
    } while (state.n_running + state.n_queued + atomic_load(&server->n_fetching) > 0 &&
             s2_now_ms() < end && sigtimedwait(signals, NULL, &tick) < 0);
    for (int i = 0; i < 4; i++) (void)sigtimedwait(signals, NULL, &tick); /* send the last bytes */
}

s2p_status s2_front_run(const s2_front_options *options, s2p_error *error)
{
    s2_server server = { .options = options, .access = options->access, .started_ms = s2_now_ms() };
    struct s2_http *http = NULL;
    int fd = -1;
    char url[300];
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    if (options->key_file)
        sigaddset(&signals, SIGHUP); /* otherwise closing the terminal ends the server */
    (void)pthread_sigmask(SIG_BLOCK, &signals, NULL); /* inherited by all threads created later */
    (void)signal(SIGPIPE, SIG_IGN);
    pthread_mutex_init(&server.connections.lock, NULL);
    pthread_mutex_init(&server.access_lock, NULL);
    TRY(s2_ready_open(&server.ready, error));
    s2p_status st = open_socket(options, &fd, url, sizeof url, error);
    if (st == S2P_OK) st = s2_models_start(&server.models, options, error);
    if (st == S2P_OK) st = s2_http_start(&http, &server, fd, error);
    if (st == S2P_OK) {
        fd = -1; /* owned by it */
        st = supervise(&server, url, &signals, error);
        if (st == S2P_OK) drain(&server, &signals);
    }
    if (fd >= 0) close(fd);
    s2_remote_jobs_end(&server);
    s2_models_stop(&server.models); /* ends every job, so that no connection is suspended */
    s2_http_stop(http);
    s2_ready_close(&server.ready);
    if (options->unix_socket && st == S2P_OK) (void)unlink(options->unix_socket);
    pthread_mutex_destroy(&server.access_lock);
    pthread_mutex_destroy(&server.connections.lock);
    return st;
}
