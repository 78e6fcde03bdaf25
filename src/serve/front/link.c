/* link.c - start the engine process, send it jobs, receive frames, restart it when it dies. */
#define _GNU_SOURCE /* pipe2 */
#include "serve/front/link.h"

#include "base/clock.h"
#include "base/json_limit.h"
#include "base/sanitizer.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define ENGINE_FD 3 /* in the engine process */
#define FIRST_WAIT_MS 100.0
#define LONGEST_WAIT_MS 5000.0
#define STEADY_MS 10000.0 /* after this time the delay of the next restart is the first again */
#define MAX_QUICK 16      /* quick jobs that run at once */
#define MAX_HELLO 4096    /* values */
#define REPLY_MS 10000.0  /* for the answer to a ping, at most */
#define PINGS 8           /* in the time for an answer */
#define MOST_FAILED 2     /* loads in a row */

struct s2_link {
    s2_link_options options;
    pthread_t thread;
    pthread_mutex_t lock; /* of everything below except fd and received, used by the thread only */
    int wake[2];          /* a pipe: a byte wakes the thread */
    bool is_stopping;
    s2_link_job *first; /* in order of arrival, running and waiting */
    size_t queue_bytes;
    uint64_t last_request;
    s2_link_state state;
    int n_failed; /* loads in a row */
    json_t *hello;
    double wait_ms, start_at, ready_at;
    int fd;
    s2_buffer received;
    /* of the thread, too: when it was heard; when the first ping without an answer was sent, 0: none is;
     * the last beat, and when it changed or nothing was to be done */
    double heard_ms, ping_ms, pinged_ms, beat_ms;
    uint64_t beat;
};

/* --- the process ------------------------------------------------------------------------ */

static bool spawn(s2_link *l)
{
    int pair[2];
    pid_t pid = -1;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return false;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pair[1], ENGINE_FD);
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    const int failed = posix_spawn(&pid, "/proc/self/exe", &actions, &attributes, l->options.argv,
                                   l->options.environment);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    close(pair[1]);
    if (failed) {
        close(pair[0]);
        return false;
    }
    l->fd = pair[0];
    if (l->options.silent_ms > 0.0) { /* one that does not read must not stop the thread */
        const struct timeval most = { .tv_sec = (time_t)(l->options.silent_ms / 1e3) + 1 };
        (void)setsockopt(l->fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
    }
    l->heard_ms = l->beat_ms = l->pinged_ms = s2_now_ms();
    l->ping_ms = 0.0;
    pthread_mutex_lock(&l->lock);
    l->state.pid = (int)pid;
    l->state.n_starts++;
    l->state.why[0] = '\0';
    (void)snprintf(l->state.step, sizeof l->state.step, "starting");
    l->state.done = 0.0;
    pthread_mutex_unlock(&l->lock);
    return true;
}

/* Ends the jobs the engine was running; called without the lock. */
static void end_running(s2_link *l, s2_job_end how)
{
    for (;;) {
        pthread_mutex_lock(&l->lock);
        s2_link_job **at = &l->first;
        while (*at && !(*at)->is_running) at = &(*at)->next;
        s2_link_job *job = *at;
        if (job) *at = job->next;
        pthread_mutex_unlock(&l->lock);
        if (!job) return;
        job->end(job, how);
    }
}

/* Ends the jobs of the queue; called without the lock. */
static void end_waiting(s2_link *l, s2_job_end how)
{
    pthread_mutex_lock(&l->lock);
    for (s2_link_job *job = l->first; job; job = job->next) job->is_running = true;
    l->queue_bytes = 0;
    pthread_mutex_unlock(&l->lock);
    end_running(l, how);
}

/* Under the sanitizer an engine that is not needed any more looks for leaks before it ends, once its socket
 * is shut down. */
static void let_it_look(s2_link *l)
{
#if S2_HAS_SANITIZER
    siginfo_t info = { .si_pid = 0 };
    pthread_mutex_lock(&l->lock);
    const bool is_over = l->is_stopping;
    pthread_mutex_unlock(&l->lock);
    if (!is_over) return;
    (void)shutdown(l->fd, SHUT_RDWR);
    for (int i = 0; i < 3000 && info.si_pid == 0; i++) {
        (void)usleep(10000);
        if (waitid(P_PID, (id_t)l->state.pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0) return;
    }
#else
    (void)l;
#endif
}

/* Collects the engine process and schedules the next one. */
static void reap(s2_link *l)
{
    char text[160];
    int status = 0;
    const int pid = l->state.pid;
    let_it_look(l);
    (void)kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    close(l->fd);
    l->fd = -1;
    l->received.size = 0;
    pthread_mutex_lock(&l->lock);
    const bool was_loaded = l->state.is_ready, is_parked = l->state.is_parked;
    const bool was_steady = l->state.is_ready && s2_now_ms() - l->ready_at > STEADY_MS;
    l->wait_ms = was_steady || l->wait_ms == 0.0 ? FIRST_WAIT_MS : 2.0 * l->wait_ms;
    if (l->wait_ms > LONGEST_WAIT_MS) l->wait_ms = LONGEST_WAIT_MS;
    l->start_at = s2_now_ms() + l->wait_ms;
    l->state.pid = 0;
    l->state.is_ready = l->state.is_stuck = false;
    if (is_parked) { /* as it should */
        l->wait_ms = l->start_at = 0.0;
        pthread_mutex_unlock(&l->lock);
        return;
    }
    l->state.n_deaths++;
    const bool is_failed = l->options.is_on_demand && !was_loaded;
    if (is_failed) l->state.is_parked = true;
    const bool is_again = !was_loaded && l->state.has_been_ready && !is_failed;
    l->n_failed = is_again ? l->n_failed + 1 : 0;
    l->state.is_failed = l->n_failed >= MOST_FAILED;
    const bool has_failed = l->state.is_failed;
    const double wait_ms = l->wait_ms, ready_at = l->ready_at;
    const bool is_stopping = l->is_stopping;
    pthread_mutex_unlock(&l->lock);
    if (is_stopping) return;
    if (is_failed) {
        (void)snprintf(text, sizeof text,
                       "the model %.80s could not be loaded; see the message above",
                       l->options.name);
        l->options.log(text);
        end_waiting(l, S2_JOB_FAILED);
        return;
    }
    if (has_failed) end_waiting(l, S2_JOB_FAILED);
    if (l->state.why[0]) l->options.log(l->state.why); /* written by this thread only */
    if (WIFSIGNALED(status))
        (void)snprintf(text, sizeof text,
                       "the engine was killed by signal %d; restarting in %.1f s", WTERMSIG(status),
                       wait_ms / 1e3);
    else if (ready_at == 0.0) /* it has printed the reason */
        (void)snprintf(text, sizeof text, "the engine exited with code %d", WEXITSTATUS(status));
    else
        (void)snprintf(text, sizeof text, "the engine exited with code %d; restarting in %.1f s",
                       WEXITSTATUS(status), wait_ms / 1e3);
    l->options.log(text);
}

/* --- sending ---------------------------------------------------------------------------- */

/* Ends jobs that were cancelled before they ran; called without the lock. */
static void end_cancelled(s2_link *l)
{
    for (;;) {
        pthread_mutex_lock(&l->lock);
        s2_link_job **at = &l->first;
        while (*at && ((*at)->is_running || !(*at)->is_cancelled)) at = &(*at)->next;
        s2_link_job *job = *at;
        if (job) {
            *at = job->next;
            l->queue_bytes -= job->frame.size;
        }
        pthread_mutex_unlock(&l->lock);
        if (!job) return;
        job->end(job, S2_JOB_CANCELLED);
    }
}

static int32_t sessions_of(const s2_link_job *job)
{
    return job->n_answers > 1 ? job->n_answers : 1;
}

/* Sends everything that can be sent: cancellations, then jobs that may run. The engine reads on a thread
 * of its own, so sending never waits for an answer. False: the engine is gone. */
static bool send_all(s2_link *l)
{
    end_cancelled(l);
    for (;;) {
        int32_t n_running = 0, n_quick = 0;
        uint64_t cancelled = 0;
        s2_link_job *ready = NULL;
        pthread_mutex_lock(&l->lock);
        for (s2_link_job *job = l->first; job; job = job->next) {
            if (job->is_running && !job->is_quick) n_running += sessions_of(job);
            n_quick += job->is_running && job->is_quick;
            if (!cancelled && job->is_running && job->is_cancelled) {
                cancelled = job->request;
                job->is_cancelled = false; /* reported once */
            }
        }
        bool is_full = false; /* nothing overtakes a job that waits for sessions */
        const bool may_run = l->state.is_ready && !l->state.is_parked && !cancelled;
        for (s2_link_job *job = l->first; may_run && job && !ready; job = job->next) {
            if (job->is_running) continue;
            const bool fits = job->is_quick
                                  ? n_quick < MAX_QUICK
                                  : !is_full && (n_running == 0 || n_running + sessions_of(job) <=
                                                                       l->options.n_parallel);
            is_full |= !fits && !job->is_quick;
            if (fits) ready = job;
        }
        if (ready) {
            ready->is_running = true;
            ready->started_ms = s2_now_ms();
            l->queue_bytes -= ready->frame.size;
        }
        pthread_mutex_unlock(&l->lock);
        if (!cancelled && !ready) return true;
        bool is_sent;
        if (cancelled) {
            uint8_t header[S2_FRAME_HEADER];
            s2_frame_header(S2_FRAME_CANCEL, cancelled, 0, header);
            is_sent = s2_frame_send(l->fd, header, sizeof header);
        } else {
            is_sent = s2_frame_send(l->fd, ready->frame.data, ready->frame.size);
            s2_buffer_free(&ready->frame);
        }
        if (!is_sent) return false;
    }
}

/* --- receiving -------------------------------------------------------------------------- */

/* Until the model is loaded: progress, then hello. False: not valid. */
static bool receive_loading(s2_link *l, const s2_frame *frame)
{
    json_t *json = NULL;
    const bool is_hello = frame->type == S2_FRAME_HELLO;
    if (s2_json_parse_few(frame->payload, frame->n, "loading", MAX_HELLO, &json, NULL) != S2P_OK)
        return !is_hello;
    pthread_mutex_lock(&l->lock);
    if (is_hello) {
        json_decref(l->hello);
        l->hello = json_incref(json);
        l->state.is_ready = l->state.has_been_ready = true;
        l->state.is_failed = false;
        l->n_failed = 0;
        l->ready_at = l->beat_ms = s2_now_ms();
    } else {
        const char *step = s2_json_string(json, "step");
        (void)snprintf(l->state.step, sizeof l->state.step, "%.60s", step ? step : "");
        l->state.done = json_number_value(json_object_get(json, "done"));
    }
    pthread_mutex_unlock(&l->lock);
    json_decref(json);
    return true;
}

/* The last words of an engine, which may be in the hands of others: a line of plain letters. */
static bool receive_why(s2_link *l, const s2_frame *frame)
{
    pthread_mutex_lock(&l->lock);
    const size_t most = sizeof l->state.why - 1, n = frame->n < most ? frame->n : most;
    for (size_t i = 0; i < n; i++) {
        const uint8_t c = frame->payload[i];
        l->state.why[i] = c >= 0x20 && c <= 0x7e ? (char)c : '?';
    }
    l->state.why[n] = '\0';
    pthread_mutex_unlock(&l->lock);
    return true;
}

static bool receive_beat(s2_link *l, const s2_frame *frame)
{
    uint64_t beat;
    if (frame->n != sizeof beat) return false;
    memcpy(&beat, frame->payload, sizeof beat);
    if (beat != l->beat) l->beat_ms = s2_now_ms();
    l->beat = beat;
    return true;
}

static bool receive_for_job(s2_link *l, const s2_frame *frame)
{
    pthread_mutex_lock(&l->lock);
    s2_link_job **at = &l->first;
    while (*at && (!(*at)->is_running || (*at)->request != frame->request)) at = &(*at)->next;
    s2_link_job *job = *at;
    const bool is_last = frame->type == S2_FRAME_DONE || frame->type == S2_FRAME_BYTES ||
                         frame->type == S2_FRAME_ERROR;
    if (job && is_last) {
        *at = job->next;
        l->state.used_ms = s2_now_ms();
    }
    pthread_mutex_unlock(&l->lock);
    if (!job) return false; /* not one of its jobs */
    job->receive(job, frame);
    if (is_last) job->end(job, S2_JOB_ANSWERED);
    return true;
}

/* All frames that have arrived. False: the engine is gone, or a frame is invalid. */
static bool receive_all(s2_link *l)
{
    if (!s2_frame_receive(l->fd, &l->received)) return false;
    size_t at = 0, used = 1;
    bool is_fine = true;
    l->heard_ms = s2_now_ms();
    l->ping_ms = 0.0;
    while (is_fine) {
        s2_frame frame;
        is_fine = s2_frame_parse(l->received.data + at, l->received.size - at, &frame, &used,
                                 NULL) == S2P_OK;
        if (!is_fine || used == 0) break;
        is_fine = frame.type == S2_FRAME_HELLO || frame.type == S2_FRAME_LOADING
                      ? receive_loading(l, &frame)
                  : frame.type == S2_FRAME_BROKEN ? receive_why(l, &frame)
                  : frame.type == S2_FRAME_BEAT   ? receive_beat(l, &frame)
                                                  : receive_for_job(l, &frame);
        at += used;
    }
    memmove(l->received.data, l->received.data + at, l->received.size - at);
    l->received.size -= at;
    return is_fine;
}

/* --- signs of life ------------------------------------------------------------------------ */

/* Whether something is silent for too long; state.why says what. Sends pings. */
static bool is_silent(s2_link *l)
{
    const double now = s2_now_ms(), most = l->options.silent_ms;
    const double reply = most < REPLY_MS ? most : REPLY_MS;
    if (l->fd < 0 || most == 0.0) return false;
    pthread_mutex_lock(&l->lock);
    const bool is_ready = l->state.is_ready;
    bool is_working = false;
    for (const s2_link_job *job = l->first; job; job = job->next) is_working |= job->is_running;
    pthread_mutex_unlock(&l->lock);
    if (!is_ready || !is_working) l->beat_ms = now;
    if (is_ready && l->ping_ms == 0.0 && now - l->pinged_ms >= reply / PINGS) {
        uint8_t header[S2_FRAME_HEADER];
        s2_frame_header(S2_FRAME_PING, 0, 0, header);
        l->ping_ms = l->pinged_ms = now;
        (void)s2_frame_send(l->fd, header, sizeof header);
    }
    const struct {
        double ms, most;
        const char *what;
    } silence[] = { { is_ready ? 0.0 : now - l->heard_ms, most, "load the model" },
                    { l->ping_ms > 0.0 ? now - l->ping_ms : 0.0, reply, "answer" },
                    { now - l->beat_ms, most, "get on with its work" } };
    bool is_any = false, is_half = false;
    pthread_mutex_lock(&l->lock);
    for (size_t i = 0; i < sizeof silence / sizeof *silence && !is_any; i++) {
        is_half |= silence[i].ms > 0.5 * silence[i].most;
        is_any = silence[i].ms > silence[i].most;
        if (is_any)
            (void)snprintf(l->state.why, sizeof l->state.why, "the engine did not %s for %.0f s",
                           silence[i].what, silence[i].most / 1e3);
    }
    l->state.is_stuck = is_half;
    pthread_mutex_unlock(&l->lock);
    return is_any;
}

/* --- the thread ------------------------------------------------------------------------- */

static void *run_link(void *user)
{
    s2_link *l = user;
    for (;;) {
        pthread_mutex_lock(&l->lock);
        const bool is_stopping = l->is_stopping, is_parked = l->state.is_parked;
        bool is_needed = !is_parked;
        for (const s2_link_job *job = l->first; job; job = job->next) is_needed |= job->is_running;
        pthread_mutex_unlock(&l->lock);
        if (is_stopping) break;
        if (l->fd >= 0 && !is_needed) reap(l);
        const double now = s2_now_ms();
        if (l->fd < 0 && !is_parked && now >= l->start_at && !spawn(l)) {
            l->start_at = now + LONGEST_WAIT_MS;
            l->options.log("the engine cannot be started; retrying in 5 s");
        }
        bool is_alive = l->fd < 0 || send_all(l);
        if (l->fd < 0) end_cancelled(l);
        struct pollfd fds[2] = { { .fd = l->wake[0], .events = POLLIN },
                                 { .fd = l->fd, .events = POLLIN } };
        const double look = fmin(l->options.silent_ms, REPLY_MS) / PINGS;
        const int timeout = l->fd >= 0 && look > 0.0  ? (int)look + 1
                            : l->fd >= 0 || is_parked ? -1
                                                      : (int)(l->start_at - s2_now_ms()) + 1;
        if (is_alive && poll(fds, 2, timeout < -1 ? 0 : timeout) > 0) {
            char bytes[256];
            if (fds[0].revents) (void)!read(l->wake[0], bytes, sizeof bytes);
            if (l->fd >= 0 && fds[1].revents) is_alive = receive_all(l);
        }
        const bool is_stuck = is_alive && is_silent(l);
        if (!is_alive || is_stuck) {
            reap(l);
            end_running(l, is_stuck ? S2_JOB_STUCK : S2_JOB_LOST);
        }
    }
    if (l->fd >= 0) reap(l);
    end_running(l, S2_JOB_STOPPED);
    end_waiting(l, S2_JOB_STOPPED);
    return NULL;
}

static void wake(s2_link *l) { (void)!write(l->wake[1], "", 1); }

s2p_status s2_link_start(s2_link **out, const s2_link_options *options, s2p_error *error)
{
    *out = NULL;
    s2_link *l = calloc(1, sizeof *l);
    if (!l) return s2_fail_memory(error, sizeof *l, "the link to the engine");
    l->options = *options;
    l->state.is_parked = options->is_on_demand;
    l->fd = -1;
    s2_buffer_init(&l->received, 2 * (S2_FRAME_MAX + S2_FRAME_HEADER));
    pthread_mutex_init(&l->lock, NULL);
    if (pipe2(l->wake, O_CLOEXEC | O_NONBLOCK) != 0) {
        free(l);
        return s2_fail(error, S2P_EIO, "cannot create a pipe: %s", strerror(errno));
    }
    if (pthread_create(&l->thread, NULL, run_link, l) != 0) {
        close(l->wake[0]);
        close(l->wake[1]);
        free(l);
        return s2_fail(error, S2P_ENOMEM, "cannot start a thread for the link to the engine");
    }
    *out = l;
    return S2P_OK;
}

void s2_link_stop(s2_link *l)
{
    if (!l) return;
    pthread_mutex_lock(&l->lock);
    l->is_stopping = true;
    pthread_mutex_unlock(&l->lock);
    wake(l);
    pthread_join(l->thread, NULL);
    close(l->wake[0]);
    close(l->wake[1]);
    s2_buffer_free(&l->received);
    json_decref(l->hello);
    pthread_mutex_destroy(&l->lock);
    free(l);
}

/* --- from other threads ------------------------------------------------------------------ */

void s2_link_park(s2_link *l, bool is_parked)
{
    pthread_mutex_lock(&l->lock);
    l->state.is_parked = is_parked;
    pthread_mutex_unlock(&l->lock);
    wake(l);
}

s2p_status s2_link_submit(s2_link *l, s2_link_job *job)
{
    int32_t n = 0;
    pthread_mutex_lock(&l->lock);
    s2_link_job **end = &l->first;
    for (; *end; end = &(*end)->next) n += !(*end)->is_running;
    const bool is_failed = l->state.is_failed;
    const bool is_full = l->is_stopping || is_failed || n >= l->options.n_queue ||
                         l->queue_bytes + job->frame.size > l->options.max_queue_bytes;
    if (is_full) {
        l->state.n_refused++;
    } else {
        job->request = ++l->last_request;
        job->next = NULL;
        job->is_running = job->is_cancelled = false;
        job->started_ms = 0.0;
        job->queued_ms = l->state.used_ms = s2_now_ms();
        /* the header was written before the request number was known */
        s2_frame_header(job->is_quick ? S2_FRAME_QUICK : S2_FRAME_JOB, job->request,
                        job->frame.size - S2_FRAME_HEADER, job->frame.data);
        l->queue_bytes += job->frame.size;
        *end = job;
    }
    pthread_mutex_unlock(&l->lock);
    if (!is_full) wake(l);
    return is_failed ? S2P_EIO : is_full ? S2P_ELIMIT : S2P_OK;
}

void s2_link_cancel(s2_link *l, s2_link_job *job)
{
    pthread_mutex_lock(&l->lock);
    s2_link_job *at = l->first;
    while (at && at != job) at = at->next;
    if (at) at->is_cancelled = true;
    pthread_mutex_unlock(&l->lock);
    if (at) wake(l);
}

void s2_link_get_state(s2_link *l, s2_link_state *out)
{
    pthread_mutex_lock(&l->lock);
    *out = l->state;
    out->n_running = out->n_queued = 0;
    for (const s2_link_job *job = l->first; job; job = job->next) {
        if (!job->is_running && out->n_queued == 0) out->waits_since_ms = job->queued_ms;
        *(job->is_running ? &out->n_running : &out->n_queued) += 1;
    }
    out->ready_in_ms = l->state.is_ready ? 0.0 : l->wait_ms + 1000.0;
    pthread_mutex_unlock(&l->lock);
}

json_t *s2_link_hello(s2_link *l)
{
    pthread_mutex_lock(&l->lock);
    json_t *hello = l->hello ? json_deep_copy(l->hello) : NULL;
    pthread_mutex_unlock(&l->lock);
    return hello;
}

void s2_link_get_model(s2_link *l, s2_model_info *out)
{
    json_t *hello = s2_link_hello(l);
    const char *model = s2_json_string(hello, "model"), *ggml = s2_json_string(hello, "ggml");
    *out = (s2_model_info){ .n_ctx = 1 << 20 };
    (void)snprintf(out->model, sizeof out->model, "%s", model ? model : "");
    (void)snprintf(out->ggml, sizeof out->ggml, "%s", ggml ? ggml : "");
    (void)s2_json_int(hello, "n_ctx", &out->n_ctx);
    json_decref(hello);
}
