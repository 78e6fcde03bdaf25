/* test_serve_streams.c [MS] - a thousand streams at once through the front, with an engine that only counts.
 *
 * The front starts "itself" as the engine: this program again, which waits for all jobs and then gives each
 * a piece in turn, N_EVENTS times, MS apart. Nothing may be lost or come in another order. How long pieces
 * took is printed, not judged.
 */
#define _GNU_SOURCE /* kill, poll */
#include "base/clock.h"
#include "serve/front/front.h"
#include "serve/protocol/frame.h"

#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define N_STREAMS 1000
#define N_EVENTS 200
#define N_CONNECTIONS 1024 /* docs/SERVER.md */
#ifdef S2_NO_MEMORY_BAR
#define MAX_RSS_KIB LONG_MAX
#else
#define MAX_RSS_KIB (128 << 10)
#endif
#define ENGINE_FD 3
#define WAIT_MS 60000.0

static const char *pace = "10";

/* --- the engine --------------------------------------------------------------------------- */

static void put_frame(s2_buffer *out, s2_frame_type type, uint64_t request, const char *text)
{
    uint8_t header[S2_FRAME_HEADER];
    s2_frame_header(type, request, strlen(text), header);
    s2_buffer_append(out, header, sizeof header);
    s2_buffer_append(out, text, strlen(text));
}

static int run_engine(int pace_ms)
{
    static uint64_t job[N_STREAMS];
    size_t n = 0;
    s2_buffer in, out;
    s2_buffer_init(&in, (size_t)64 << 20);
    s2_buffer_init(&out, (size_t)64 << 20);
    put_frame(&out, S2_FRAME_HELLO, 0, "{\"model\":\"mock\",\"n_ctx\":4096,\"ggml\":\"none\"}");
    if (!s2_frame_send(ENGINE_FD, out.data, out.size)) return 1;
    while (n < N_STREAMS && s2_frame_receive(ENGINE_FD, &in)) {
        s2_frame frame;
        size_t at = 0, used;
        while (s2_frame_parse(in.data + at, in.size - at, &frame, &used, NULL) == S2P_OK && used) {
            if (frame.type == S2_FRAME_JOB && n < N_STREAMS) job[n++] = frame.request;
            at += used;
        }
        memmove(in.data, in.data + at, in.size - at);
        in.size -= at;
    }
    for (int event = 0; event <= N_EVENTS; event++) {
        const struct timespec pause = { .tv_nsec = pace_ms * 1000000L };
        (void)nanosleep(&pause, NULL);
        out.size = 0;
        char text[64];
        for (size_t i = 0; i < n; i++) {
            (void)snprintf(text, sizeof text, "%d@%.3f;", event, s2_now_ms());
            put_frame(&out, event < N_EVENTS ? S2_FRAME_TEXT : S2_FRAME_DONE, job[i],
                      event < N_EVENTS ? text : "{\"finish_reason\":\"stop\"}");
        }
        if (!s2_frame_send(ENGINE_FD, out.data, out.size)) return 1;
    }
    while (s2_frame_receive(ENGINE_FD, &in)) in.size = 0;
    return 0;
}

/* --- the front ------------------------------------------------------------------------------ */

static int told[2];

static void say_ready(const s2_front_options *options, const char *url, const json_t *hello,
                      double took_s)
{
    (void)options;
    (void)hello;
    (void)took_s;
    const uint16_t port = (uint16_t)strtol(strrchr(url, ':') + 1, NULL, 10);
    if (write(told[1], &port, sizeof port) != sizeof port) _exit(1);
}

static void say_nothing(const char *text) { (void)text; }

static pid_t start_front(uint16_t *port)
{
    assert_int_equal(pipe2(told, O_CLOEXEC), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        struct rlimit files; /* few: the front asks for what it needs */
        if (getrlimit(RLIMIT_NOFILE, &files) != 0) _exit(1);
        files.rlim_cur = 128;
        (void)setrlimit(RLIMIT_NOFILE, &files);
        char *argv[] = { (char *)(uintptr_t) "mock", (char *)(uintptr_t) "engine",
                         (char *)(uintptr_t)pace, NULL };
        const s2_front_options options = { .host = "127.0.0.1",
                                           .access = { .host = "127.0.0.1" },
                                           .model = { { .argv = argv, .is_pinned = true } },
                                           .n_models = 1,
                                           .n_parallel = N_STREAMS,
                                           .n_queue = N_STREAMS,
                                           .max_body = 65536,
                                           .header_s = 60,
                                           .body_s = 60,
                                           .idle_s = 60,
                                           .send_s = 60,
                                           .has_metrics = true,
                                           .log = say_nothing,
                                           .ready = say_ready };
        _exit(s2_front_run(&options, NULL) == S2P_OK ? 0 : 1);
    }
    close(told[1]);
    assert_int_equal(read(told[0], port, sizeof *port), sizeof *port);
    close(told[0]);
    return pid;
}

static void stop_front(pid_t pid)
{
    int status = 1;
    (void)kill(pid, SIGTERM);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* VmRSS, VmHWM: KiB. */
static long memory_of(pid_t pid, const char *name)
{
    char path[64], line[256];
    long kib = -1;
    (void)snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file))
        if (strncmp(line, name, strlen(name)) == 0) kib = strtol(line + strlen(name) + 1, NULL, 10);
    (void)fclose(file);
    return kib;
}

/* --- clients ---------------------------------------------------------------------------------- */

typedef struct client {
    int fd;
    s2_buffer got;
} client;

static void join(client *c, uint16_t port)
{
    const struct sockaddr_in at = { .sin_family = AF_INET,
                                    .sin_port = htons(port),
                                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    s2_buffer_init(&c->got, (size_t)1 << 20);
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(c->fd >= 0);
    assert_int_equal(connect(c->fd, (const struct sockaddr *)&at, sizeof at), 0);
}

static void leave(client *c)
{
    close(c->fd);
    c->fd = -1;
    s2_buffer_free(&c->got);
}

static void ask(client *c, const char *text)
{
    assert_true(s2_frame_send(c->fd, text, strlen(text)));
}

/* The age of the last piece in these bytes; below 0: none is whole. */
static double age_of(const char *text, size_t n)
{
    while (n > 0 && text[n - 1] != ';') n--;
    size_t at = n;
    while (at > 0 && text[at - 1] != '@') at--;
    return at > 0 && n > 0 ? s2_now_ms() - strtod(text + at, NULL) : -1.0;
}

/* What is there; false: the other side has closed. */
static bool hear(client *c, double *age)
{
    uint8_t bytes[16384];
    const ssize_t n = recv(c->fd, bytes, sizeof bytes - 1, MSG_DONTWAIT);
    if (n <= 0) return n < 0;
    bytes[n] = 0;
    *age = age_of((const char *)bytes, (size_t)n);
    s2_buffer_append(&c->got, bytes, (size_t)n);
    assert_int_equal(c->got.status, S2P_OK);
    return true;
}

/* The bytes of a chunked body, in place; a text. */
static char *body_of(client *c)
{
    s2_buffer_append(&c->got, "", 1);
    char *text = (char *)c->got.data, *body = strstr(text, "\r\n\r\n");
    assert_non_null(body);
    char *from = body + 4, *to = body;
    for (;;) {
        char *end;
        const size_t n = strtoul(from, &end, 16);
        assert_true(n <= (size_t)(text + c->got.size - end));
        if (n == 0) break;
        memmove(to, end + 2, n);
        to += n;
        from = end + 2 + n + 2;
    }
    *to = '\0';
    return body;
}

static void check_stream(client *c)
{
    assert_memory_equal(c->got.data, "HTTP/1.1 200", 12);
    const char *at = strstr(body_of(c), "\"content\":\"\""); /* the role, first */
    int n = 0;
    assert_non_null(at);
    for (at++; (at = strstr(at, "\"content\":\"")); n++) {
        at += strlen("\"content\":\"");
        if (*at == '"') fail_msg("a piece without text");
        assert_int_equal(strtol(at, NULL, 10), n);
        if (!strstr(at, "\"finish_reason\":\"stop\"")) fail_msg("the end is missing");
    }
    assert_int_equal(n, N_EVENTS);
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* --- tests ------------------------------------------------------------------------------------- */

static const char request[] =
    "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
    "Content-Type: application/json\r\nConnection: close\r\n"
    "Content-Length: 62\r\n\r\n"
    "{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}],\"stream\":true}   ";

static void test_thousand_streams(void **state)
{
    (void)state;
    static client all[N_STREAMS];
    static struct pollfd fds[N_STREAMS];
    static double age[N_STREAMS * N_EVENTS];
    size_t n_open = N_STREAMS, n_ages = 0;
    uint16_t port;
    const pid_t front = start_front(&port);
    for (size_t i = 0; i < N_STREAMS; i++) {
        join(&all[i], port);
        ask(&all[i], request);
        fds[i] = (struct pollfd){ .fd = all[i].fd, .events = POLLIN };
    }
    const double end = s2_now_ms() + WAIT_MS;
    while (n_open > 0) {
        assert_true(s2_now_ms() < end);
        (void)poll(fds, N_STREAMS, 1000);
        for (size_t i = 0; i < N_STREAMS; i++) {
            if (fds[i].fd < 0 || !fds[i].revents) continue;
            double one = -1.0;
            if (!hear(&all[i], &one)) {
                fds[i].fd = -1;
                n_open--;
            }
            if (one >= 0.0 && n_ages < N_STREAMS * N_EVENTS) age[n_ages++] = one;
        }
    }
    const long kib = memory_of(front, "VmHWM:");
    for (size_t i = 0; i < N_STREAMS; i++) {
        check_stream(&all[i]);
        leave(&all[i]);
    }
    qsort(age, n_ages, sizeof *age, compare_doubles);
    print_message(
        "%d streams, %d pieces each: the front had %ld MiB; a piece took %.1f ms, 99 of 100 at "
        "most %.1f ms\n",
        N_STREAMS, N_EVENTS, kib / 1024, n_ages ? age[n_ages / 2] : 0.0,
        n_ages ? age[n_ages * 99 / 100] : 0.0);
    assert_true(kib > 0 && kib <= MAX_RSS_KIB);
    stop_front(front);
}

static bool is_answered(client *c, int wait_ms)
{
    struct pollfd fd = { .fd = c->fd, .events = POLLIN };
    double age;
    if (poll(&fd, 1, wait_ms) <= 0) return false;
    assert_true(hear(c, &age));
    assert_memory_equal(c->got.data, "HTTP/1.1 200", 12);
    return true;
}

/* One more than there may be waits until another leaves; those that are there are served. */
static void test_limit(void **state)
{
    (void)state;
    static const char health[] = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
    static client all[N_CONNECTIONS];
    client more;
    uint16_t port;
    const pid_t front = start_front(&port);
    for (size_t i = 0; i < N_CONNECTIONS; i++) {
        join(&all[i], port);
        ask(&all[i], health); /* it is there once it is answered */
        assert_true(is_answered(&all[i], (int)WAIT_MS));
        all[i].got.size = 0;
    }
    join(&more, port);
    ask(&more, health);
    assert_false(is_answered(&more, 300));
    ask(&all[N_CONNECTIONS - 1], health);
    assert_true(is_answered(&all[N_CONNECTIONS - 1], (int)WAIT_MS));
    leave(&all[0]);
    assert_true(is_answered(&more, (int)WAIT_MS));
    leave(&more);
    for (size_t i = 1; i < N_CONNECTIONS; i++) leave(&all[i]);
    stop_front(front);
}

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "engine") == 0)
        return run_engine((int)strtol(argv[2], NULL, 10));
    if (argc > 1) pace = argv[1];
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_max < N_CONNECTIONS + 128) return 77;
    files.rlim_cur = N_CONNECTIONS + 128;
    if (setrlimit(RLIMIT_NOFILE, &files) != 0) return 77;
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_thousand_streams),
                                        cmocka_unit_test(test_limit) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
