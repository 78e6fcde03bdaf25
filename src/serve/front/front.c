/* front.c - listen, start the engine, look after both until a signal says enough. */
#include "serve/front/front.h"

#include "base/clock.h"
#include "serve/front/http.h"
#include "serve/front/listen.h"
#include "serve/front/remote_job.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define TICK_NS 50000000L
#define MAX_QUEUE_BYTES ((size_t)256 << 20)

static s2p_status open_socket(const s2_front_options *o, int *fd, char *url, size_t capacity,
                              s2p_error *error)
{
    int32_t port = o->port;
    if (o->unix_socket) {
        (void)snprintf(url, capacity, "unix:%s", o->unix_socket);
        return s2_listen_unix(o->unix_socket, fd, error);
    }
    TRY(s2_listen_tcp(o->host, &port, fd, error));
    const bool is_v6 = strchr(o->host, ':') != NULL;
    (void)snprintf(url, capacity, "%s://%s%.200s%s:%d", o->ssl_key ? "https" : "http",
                   is_v6 ? "[" : "", o->host, is_v6 ? "]" : "", port);
    return S2P_OK;
}

/* New keys for old; those of a file that is not right are not taken. */
static void read_keys_again(s2_server *server)
{
    const s2_front_options *o = server->options;
    s2p_error error = { S2P_OK, "" };
    s2_access fresh = o->access;
    fresh.n_keys = o->n_fixed_keys;
    if (s2_access_read_keys(&fresh, o->key_file, &error) != S2P_OK) {
        o->log(error.message);
        return;
    }
    pthread_mutex_lock(&server->access_lock);
    server->access = fresh;
    pthread_mutex_unlock(&server->access_lock);
    o->log("the keys were read again");
}

/* Until a signal comes; or the model cannot be loaded at all. */
static s2p_status look_after(s2_server *server, const char *url, const sigset_t *signals,
                             s2p_error *error)
{
    const struct timespec tick = { .tv_nsec = TICK_NS };
    bool was_ready = false;
    for (;;) {
        const int signal_number = sigtimedwait(signals, NULL, &tick);
        if (signal_number == SIGHUP) read_keys_again(server);
        if (signal_number > 0 && signal_number != SIGHUP) return S2P_OK;
        s2_http_tick(server);
        if (was_ready) continue;
        s2_link_state state;
        s2_link_get_state(server->link, &state);
        if (!state.has_been_ready && state.n_deaths > 0)
            return s2_fail(error, S2P_EFORMAT, "the model cannot be served; the reason is above");
        json_t *hello = state.is_ready ? s2_link_hello(server->link) : NULL;
        if (!hello) continue;
        was_ready = true;
        if (server->options->ready)
            server->options->ready(server->options, url, hello,
                                   (s2_now_ms() - server->started_ms) / 1e3);
        json_decref(hello);
    }
}

/* What runs may finish; what waits may run; nothing new. A second signal ends it. */
static void drain(s2_server *server, const sigset_t *signals)
{
    const struct timespec tick = { .tv_nsec = TICK_NS };
    const double end = s2_now_ms() + server->options->drain_s * 1e3;
    s2_link_state state;
    atomic_store(&server->is_draining, true);
    do {
        s2_http_tick(server);
        s2_link_get_state(server->link, &state);
    } while (state.n_running + state.n_queued + atomic_load(&server->n_fetching) > 0 &&
             s2_now_ms() < end && sigtimedwait(signals, NULL, &tick) < 0);
    for (int i = 0; i < 4; i++) (void)sigtimedwait(signals, NULL, &tick); /* last bytes go out */
}

s2p_status s2_front_run(const s2_front_options *options, s2p_error *error)
{
    s2_server server = { .options = options, .access = options->access, .started_ms = s2_now_ms() };
    struct MHD_Daemon *daemon = NULL;
    int fd = -1;
    char url[300];
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    if (options->key_file) sigaddset(&signals, SIGHUP); /* else a terminal that closes ends it */
    (void)pthread_sigmask(SIG_BLOCK, &signals, NULL);   /* threads made from here on inherit it */
    (void)signal(SIGPIPE, SIG_IGN);
    pthread_mutex_init(&server.connections.lock, NULL);
    pthread_mutex_init(&server.access_lock, NULL);
    s2p_status st = open_socket(options, &fd, url, sizeof url, error);
    const s2_link_options link = { .argv = options->engine_argv,
                                   .n_parallel = options->n_parallel,
                                   .n_queue = options->n_queue,
                                   .max_queue_bytes = MAX_QUEUE_BYTES,
                                   .log = options->log };
    if (st == S2P_OK) st = s2_link_start(&server.link, &link, error);
    if (st == S2P_OK) st = s2_http_start(&daemon, &server, fd, error);
    if (st == S2P_OK) {
        fd = -1; /* the daemon's */
        st = look_after(&server, url, &signals, error);
        if (st == S2P_OK) drain(&server, &signals);
    }
    if (fd >= 0) close(fd);
    s2_remote_jobs_end(&server);
    s2_link_stop(server.link); /* ends every job, so that nothing is suspended */
    s2_http_stop(daemon);
    if (options->unix_socket && st == S2P_OK) (void)unlink(options->unix_socket);
    pthread_mutex_destroy(&server.access_lock);
    pthread_mutex_destroy(&server.connections.lock);
    return st;
}
