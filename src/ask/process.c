/* process.c - start, talk to and end a process. The only file that does.
 *
 * Its standard input is a socket: with MSG_NOSIGNAL, writing without a reader is an error, while a
 * pipe would raise SIGPIPE. All descriptors are closed on exec, or the next process would
 * keep the input of this one open.
 */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE 1 /* pipe2 */
#endif

#include "ask/process.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SLICE_MS 100.0  /* between two questions whether to go on */
#define GRACE_MS 1000.0 /* from the end of its input to its own end */
#define MAX_NOTE 400u   /* bytes of a line of its standard error that are shown */
#define MAX_NOTES 100   /* lines of it */
#define CHUNK ((size_t)1 << 16)

struct s2a_process {
    s2a_process_options options;
    pid_t pid;               /* 0: it was waited for */
    int in, out, err;        /* ends of ours; below 0: closed */
    char note[MAX_NOTE + 1]; /* the line of its standard error that is being read */
    char last[MAX_NOTE + 1]; /* the one before */
    size_t n_note;
    int n_notes;
};

/* --- starting ------------------------------------------------------------------------------ */

static void close_fd(int *fd)
{
    if (*fd >= 0) (void)close(*fd);
    *fd = -1;
}

/* The signal of our death reaches our child alone, and most shells start the command as a child of
 * theirs: this one passes it on to the whole group. It keeps no end of ours open while it waits. */
static const char wrapper[] = "exec 3<&0; trap 'kill -KILL 0' TERM; /bin/sh -c \"$1\" <&3 3<&- & "
                              "exec 0<&- 1>&- 2>&- 3<&-; wait $!";

/* Only what may be called between fork and exec. */
static _Noreturn void become(const char *command, int in, int out, int err)
{
    const char *const text[] = { "sh", "-c", wrapper, "sh", command };
    char *words[sizeof text / sizeof *text + 1] = { NULL };
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) words[i] = (char *)(uintptr_t)text[i];
    sigset_t none;
    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)signal(SIGPIPE, SIG_DFL);
    if (dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0 &&
        dup2(err, STDERR_FILENO) >= 0)
        (void)execv("/bin/sh", words);
    _exit(127);
}

/* Never 0, 1 or 2: those are the places the ends go to. */
static bool move_up(int *fd)
{
    if (*fd > STDERR_FILENO) return true;
    const int moved = fcntl(*fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    (void)close(*fd);
    *fd = moved;
    return moved >= 0;
}

static bool make_ends(int in[2], int out[2], int err[2])
{
    bool is_made = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in) == 0 &&
                   pipe2(out, O_CLOEXEC) == 0 && pipe2(err, O_CLOEXEC) == 0;
    for (int i = 0; is_made && i < 2; i++)
        is_made = move_up(&in[i]) && move_up(&out[i]) && move_up(&err[i]);
    return is_made && fcntl(in[0], F_SETFL, O_NONBLOCK) == 0 &&
           fcntl(out[0], F_SETFL, O_NONBLOCK) == 0 && fcntl(err[0], F_SETFL, O_NONBLOCK) == 0;
}

s2p_status s2a_process_start(const s2a_process_options *options, s2a_process **out_process,
                             s2p_error *error)
{
    int in[2] = { -1, -1 }, out[2] = { -1, -1 }, err[2] = { -1, -1 };
    *out_process = NULL;
    s2a_process *p = calloc(1, sizeof *p);
    if (!p) return s2_fail_memory(error, sizeof *p, "a process");
    const pid_t pid = make_ends(in, out, err) ? fork() : -1;
    const int why = errno;
    if (pid == 0) become(options->command, in[1], out[1], err[1]);
    close_fd(&in[1]);
    close_fd(&out[1]);
    close_fd(&err[1]);
    if (pid < 0) {
        close_fd(&in[0]);
        close_fd(&out[0]);
        close_fd(&err[0]);
        free(p);
        return s2_fail(error, S2P_EIO, "it cannot be started: %s", strerror(why));
    }
    (void)setpgid(pid, pid); /* as in the child: whichever is first */
    *p =
        (s2a_process){ .options = *options, .pid = pid, .in = in[0], .out = out[0], .err = err[0] };
    *out_process = p;
    return S2P_OK;
}

/* --- its standard error -------------------------------------------------------------------- */

static void end_note(s2a_process *p)
{
    if (p->n_note == 0) return;
    p->note[p->n_note] = '\0';
    memcpy(p->last, p->note, p->n_note + 1);
    p->n_note = 0;
    if (p->n_notes > MAX_NOTES || !p->options.note) return;
    p->options.note(p->n_notes < MAX_NOTES ? p->last
                                           : "further lines of its standard error are not shown",
                    p->options.user);
    p->n_notes++;
}

static void take_notes(s2a_process *p)
{
    char chunk[4096];
    for (int i_chunk = 0; p->err >= 0; i_chunk++) {
        /* A flood must not keep us from looking at the clock. */
        const ssize_t n = i_chunk < 16 ? read(p->err, chunk, sizeof chunk) : -1;
        if (n < 0 && i_chunk < 16 && errno == EINTR) continue;
        if (n < 0) return; /* nothing more for now */
        if (n == 0) break;
        for (ssize_t i = 0; i < n; i++) {
            const unsigned char c = (unsigned char)chunk[i];
            if (c == '\n' || c == '\r')
                end_note(p);
            else if (p->n_note < MAX_NOTE)
                p->note[p->n_note++] =
                    c < 0x20 || c == 0x7F ? ' ' : (char)c; /* no terminal codes */
        }
    }
    end_note(p);
    close_fd(&p->err);
}

/* --- ending --------------------------------------------------------------------------------- */

static void wait_ms(double ms)
{
    const struct timespec time = { .tv_nsec = (long)(ms * 1e6) };
    (void)nanosleep(&time, NULL);
}

/* Until it ends, or has had its time; it stays a zombie, so that its group has no other meaning yet.
 */
static bool wait_for_end(const s2a_process *p, double ms)
{
    const double until = s2_now_ms() + ms;
    for (;;) {
        siginfo_t info = { .si_pid = 0 };
        if (waitid(P_PID, (id_t)p->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
            info.si_pid == p->pid)
            return true;
        if (s2_now_ms() >= until) return false;
        wait_ms(5.0);
    }
}

/* Whatever it started goes with it. *status: as of waitpid, -1 when it had to be killed. */
static void finish(s2a_process *p, double grace_ms, int *status)
{
    close_fd(&p->in);
    const bool is_over = wait_for_end(p, grace_ms);
    (void)kill(-p->pid, SIGKILL);
    int how = -1;
    pid_t waited;
    while ((waited = waitpid(p->pid, &how, 0)) < 0 && errno == EINTR) continue;
    *status = is_over && waited == p->pid ? how : -1;
    p->pid = 0;
    take_notes(p);
    close_fd(&p->out);
    close_fd(&p->err);
}

void s2a_process_end(s2a_process *p)
{
    int status;
    if (!p) return;
    if (p->pid > 0) finish(p, GRACE_MS, &status);
    free(p);
}

/* It closed its output, or its input: how did it end, and what did it say last? */
static s2p_status fail_ended(s2a_process *p, s2p_error *error)
{
    char how[80];
    int status;
    finish(p, GRACE_MS, &status);
    if (status == -1)
        (void)snprintf(how, sizeof how, "it closed its output and was killed");
    else if (WIFSIGNALED(status) || WEXITSTATUS(status) > 128) /* a shell says 128 + signal */
        (void)snprintf(how, sizeof how, "it was killed by signal %d",
                       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status) - 128);
    else if (WEXITSTATUS(status) == 127)
        (void)snprintf(how, sizeof how, "its command was not found (status 127)");
    else
        (void)snprintf(how, sizeof how, "it exited with status %d before it answered",
                       WEXITSTATUS(status));
    return s2_fail(error, S2P_EIO, "%s%s%.200s", how,
                   p->last[0] ? "; its last line on standard error: " : "", p->last);
}

/* --- talking -------------------------------------------------------------------------------- */

typedef struct talk {
    const s2a_piece *piece;
    size_t n_pieces, i, at; /* the next byte to send */
    s2_buffer *line;
    size_t max;
    bool is_whole; /* the end of the line is there */
} talk;

/* false: its input is closed. */
static bool send_some(s2a_process *p, talk *t)
{
    while (t->i < t->n_pieces) {
        const s2a_piece *piece = &t->piece[t->i];
        if (t->at == piece->n) {
            t->i++;
            t->at = 0;
            continue;
        }
        const size_t n = piece->n - t->at < CHUNK ? piece->n - t->at : CHUNK;
        const ssize_t sent = send(p->in, (const char *)piece->data + t->at, n, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
        t->at += (size_t)sent;
    }
    return true;
}

static s2p_status receive_some(s2a_process *p, talk *t, bool *is_closed, s2p_error *error)
{
    char chunk[4096];
    for (;;) {
        const ssize_t n = read(p->out, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return S2P_OK; /* nothing more for now */
        *is_closed = n == 0;
        if (n == 0) return S2P_OK;
        if (t->is_whole)
            return s2_fail(error, S2P_EIO, "it wrote more than one line for an answer");
        const char *end = memchr(chunk, '\n', (size_t)n);
        s2_buffer_append(t->line, chunk, end ? (size_t)(end - chunk) : (size_t)n);
        if (t->line->status == S2P_ENOMEM) return s2_fail_memory(error, t->max, "an answer");
        if (t->line->status != S2P_OK || t->line->size > t->max)
            return s2_fail(error, S2P_EIO, "it wrote more than %zu bytes without the end of a line",
                           t->max);
        t->is_whole = end != NULL;
        if (end && end + 1 < chunk + n)
            return s2_fail(error, S2P_EIO, "it wrote more than one line for an answer");
    }
}

static s2p_status exchange(s2a_process *p, talk *t, s2p_error *error)
{
    const double until = s2_now_ms() + p->options.timeout_ms;
    for (;;) {
        bool is_closed = false;
        const bool is_open = send_some(p, t);
        TRY(receive_some(p, t, &is_closed, error));
        take_notes(p);
        const bool is_sent = t->i == t->n_pieces;
        if (t->is_whole && is_sent) return S2P_OK;
        if (is_closed || !is_open) return fail_ended(p, error);
        if (p->options.cancelled && p->options.cancelled(p->options.user))
            return s2_fail(error, S2P_ECANCELLED, "interrupted while a method was running");
        const double left = until - s2_now_ms();
        if (left <= 0.0)
            return s2_fail(error, S2P_EIO, "it %s within %.10g seconds",
                           t->is_whole ? "did not read the whole request" : "gave no answer",
                           p->options.timeout_ms * 1e-3);
        struct pollfd fds[3] = { { .fd = p->out, .events = POLLIN },
                                 { .fd = p->err, .events = POLLIN }, /* below 0: ignored */
                                 { .fd = is_sent ? -1 : p->in, .events = POLLOUT } };
        (void)poll(fds, 3, (int)(left < SLICE_MS ? left + 1.0 : SLICE_MS));
    }
}

s2p_status s2a_process_ask(s2a_process *p, const s2a_piece *pieces, size_t n_pieces, size_t max,
                           s2_buffer *line, s2p_error *error)
{
    talk t = { .piece = pieces, .n_pieces = n_pieces, .line = line, .max = max };
    int status;
    if (p->pid == 0) return s2_fail(error, S2P_EIO, "it is not running");
    line->size = 0;
    /* What is there before the question cannot be its answer. */
    char early;
    if (n_pieces > 0 && read(p->out, &early, 1) == 1) {
        finish(p, 0.0, &status);
        return s2_fail(error, S2P_EIO, "it wrote output before the first request");
    }
    const s2p_status st = exchange(p, &t, error);
    if (st != S2P_OK && p->pid > 0) finish(p, 0.0, &status);
    return st;
}
