/* test_serve_sandbox.c - what the engine process may not do ends it; what it must do works. */
#define _GNU_SOURCE /* syscall */
#include "check.h"

#include "serve/engine/sandbox.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void run_program(void) { (void)execl("/bin/true", "true", (char *)NULL); }
static void make_socket(void) { (void)socket(AF_INET, SOCK_STREAM, 0); }
static void make_file(void) { (void)open("/tmp/s2prune-sandbox", O_WRONLY | O_CREAT, 0600); }
static void write_file(void) { (void)open("/proc/self/comm", O_WRONLY); }
static void remove_file(void) { (void)unlink("/tmp/s2prune-sandbox"); }
static void signal_others(void) { (void)kill(getppid(), 0); }
static void make_folder(void) { (void)mkdir("/tmp/s2prune-sandbox-folder", 0700); }

static void read_file(void)
{
    if (open("/proc/self/status", O_RDONLY) < 0) _exit(9);
}

static void *nothing(void *user) { return user; }

static void use_threads(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, nothing, NULL) != 0 || pthread_join(thread, NULL) != 0)
        _exit(9);
}

static void use_memory(void)
{
    void *room = malloc(64 << 20);
    if (!room) _exit(9);
    free(room);
}

#ifdef __x86_64__
/* The engine asks for tiles once; a machine without them answers EINVAL, which is an answer. */
static void ask_for_tiles(void) { (void)syscall(SYS_arch_prctl, 0x1023, 18); }
static void set_segment(void) { (void)syscall(SYS_arch_prctl, 0x1001, 0); }
#endif

/* The status of a child that enters and then tries. */
static int try_it(void (*what)(void))
{
    const pid_t pid = fork();
    if (pid == 0) {
        if (s2_sandbox_enter(NULL) != S2P_OK) _exit(8);
        what();
        _exit(0);
    }
    int status = -1;
    while (waitpid(pid, &status, 0) < 0) continue;
    return status;
}

static void forbidden(void **state)
{
    (void)state;
    void (*const tries[])(void) = {
        run_program, make_socket, make_file, write_file, remove_file, signal_others, make_folder,
#ifdef __x86_64__
        set_segment,
#endif
    };
    for (size_t i = 0; i < COUNT_OF(tries); i++) {
        const int status = try_it(tries[i]);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
    }
}

static void allowed(void **state)
{
    (void)state;
    void (*const tries[])(void) = {
        read_file,
        use_threads,
        use_memory,
#ifdef __x86_64__
        ask_for_tiles,
#endif
    };
    for (size_t i = 0; i < COUNT_OF(tries); i++) {
        const int status = try_it(tries[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

int main(void)
{
    if (!s2_sandbox_is_here()) return 77;
    const struct CMUnitTest tests[] = { cmocka_unit_test(forbidden), cmocka_unit_test(allowed) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
