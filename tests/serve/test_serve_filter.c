/* test_serve_filter.c - every call the engine process must not make is denied; what it needs works. */
#define _GNU_SOURCE /* syscall, clone flags */
#include "check.h"

#include "serve/engine/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static int channel[2]; /* a socket that is open, as the one to the front is */

/* The child exits with this when a call that must fail worked, or one that must work failed. */
#define WRONG 9

static void expect(long result, int error)
{
    if (result != -1 || errno != error) _exit(WRONG);
}

static void expect_works(long result)
{
    if (result < 0) _exit(WRONG);
}

/* --- paths: an error, as libraries try some of them --------------------------------------------- */

static void open_secret(void) { expect(open("/etc/passwd", O_RDONLY), EACCES); }
static void open_memory(void) { expect(open("/proc/1/mem", O_RDONLY), EACCES); }
static void open_environment(void) { expect(open("/proc/self/environ", O_RDONLY), EACCES); }
static void open_folder(void) { expect(open("/", O_RDONLY | O_DIRECTORY), EACCES); }
static void make_file(void)
{
    expect(open("/tmp/s2prune-sandbox", O_WRONLY | O_CREAT, 0600), EACCES);
}
static void write_file(void) { expect(open("/proc/self/comm", O_WRONLY), EACCES); }
static void look_up(void)
{
    struct stat info;
    char text[64];
    expect(stat("/etc/passwd", &info), EACCES);
    expect(lstat("/etc/passwd", &info), EACCES);
    expect(access("/etc/passwd", R_OK), EACCES);
    expect(readlink("/proc/self/exe", text, sizeof text), EACCES);
    expect(syscall(SYS_newfstatat, AT_FDCWD, "/etc/passwd", &info, 0), EACCES);
    expect(syscall(SYS_newfstatat, channel[0], "/etc/passwd", &info, AT_EMPTY_PATH), EACCES);
    expect(syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", text, sizeof text), EACCES);
    expect(syscall(SYS_faccessat, AT_FDCWD, "/etc/passwd", R_OK, 0), EACCES);
    expect(syscall(SYS_statx, AT_FDCWD, "/etc/passwd", 0, 0x7ff, text), EACCES);
}

/* --- memory: nothing that can be executed -------------------------------------------------------- */

static void map_code(void)
{
    const int read_write = PROT_READ | PROT_WRITE;
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
    expect((long)(intptr_t)mmap(NULL, 4096, read_write | PROT_EXEC, flags, -1, 0), EPERM);
    expect((long)(intptr_t)mmap(NULL, 4096, PROT_EXEC, flags, -1, 0), EPERM);
    void *page = mmap(NULL, 4096, read_write, flags, -1, 0);
    if (page == MAP_FAILED) _exit(WRONG);
    expect(mprotect(page, 4096, PROT_READ | PROT_EXEC), EPERM);
    expect(mprotect(page, 4096, read_write | PROT_EXEC), EPERM);
}

static void poison_page(void)
{
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    expect(syscall(SYS_madvise, page, 4096, 100), EINVAL); /* MADV_HWPOISON */
    expect(syscall(SYS_madvise, page, 4096, 101), EINVAL);
}

/* --- other processes ------------------------------------------------------------------------------ */

static void limit_others(void)
{
    cpu_set_t cpus;
    struct sched_param parameter = { 0 };
    CPU_ZERO(&cpus);
    CPU_SET(0, &cpus);
    expect(syscall(SYS_sched_setaffinity, getppid(), sizeof cpus, &cpus), EPERM);
    expect(syscall(SYS_sched_getaffinity, getppid(), sizeof cpus, &cpus), ENOSYS);
    expect(syscall(SYS_sched_setscheduler, getppid(), SCHED_OTHER, &parameter), EPERM);
    expect(syscall(SYS_sched_getscheduler, getppid()), EPERM);
    expect(syscall(SYS_sched_getparam, getppid(), &parameter), EPERM);
    expect(setpriority(PRIO_PROCESS, (id_t)getppid(), 5), EPERM);
    expect(setpriority(PRIO_USER, 0, 5), EPERM);
    expect(getpriority(PRIO_PROCESS, (id_t)getppid()), EPERM);
}

static void own_signals(void) /* of a descriptor: the kernel would signal its owner */
{
    expect(fcntl(channel[0], F_SETOWN, getppid()), EPERM);
    expect(fcntl(channel[0], F_SETSIG, SIGKILL), EPERM);
    expect(fcntl(channel[0], F_SETFL, O_ASYNC), EPERM);
    expect(fcntl(channel[0], F_NOTIFY, 0), EPERM);
    expect(syscall(SYS_ioctl, channel[0], 0x8901 /* FIOSETOWN */, channel), ENOTTY);
}

static void start_with_clone3(void) { expect(syscall(SYS_clone3, NULL, 0), ENOSYS); }

static void (*const refused[])(void) = { open_secret,  open_memory, open_environment,
                                         open_folder,  make_file,   write_file,
                                         look_up,      map_code,    poison_page,
                                         limit_others, own_signals, start_with_clone3 };

/* --- what no library of ours does: the end of the process ----------------------------------------- */

typedef struct attempt {
    const char *name;
    long number, argument[6];
} attempt;

#define HERE ((long)(intptr_t) "/tmp/s2prune-sandbox")
#define PLACE ((long)(intptr_t)place)

static char place[4096]; /* room for whatever a call wants to write */

static const attempt *all_attempts(size_t *n)
{
    static attempt list[80];
    const struct sockaddr_un address = { .sun_family = AF_UNIX,
                                         .sun_path = "/tmp/s2prune-sandbox" };
    memcpy(place, &address, sizeof address);
    const long pid = getppid(), everyone = -1,
               thread_flags = CLONE_VM | CLONE_THREAD | CLONE_SIGHAND;
    const attempt attempts[] = {
        { "execve", SYS_execve, { HERE, 0, 0 } },
        { "execveat", SYS_execveat, { AT_FDCWD, HERE, 0, 0, 0 } },
        { "fork", SYS_clone, { SIGCHLD } },
        { "fork as glibc", SYS_clone, { CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD } },
        { "process that shares memory", SYS_clone, { CLONE_VM | CLONE_VFORK | SIGCHLD } },
        { "user namespace", SYS_clone, { CLONE_NEWUSER | SIGCHLD } },
        { "network namespace", SYS_clone, { CLONE_NEWNET | CLONE_NEWUSER | SIGCHLD } },
        { "odd thread", SYS_clone, { thread_flags } },
        { "traced thread", SYS_clone, { thread_flags | CLONE_UNTRACED } },
        { "unshare", SYS_unshare, { CLONE_NEWUSER } },
        { "setns", SYS_setns, { 0, 0 } },
        { "socket", SYS_socket, { AF_INET, SOCK_STREAM, 0 } },
        { "socketpair", SYS_socketpair, { AF_UNIX, SOCK_STREAM, 0, PLACE } },
        { "connect", SYS_connect, { channel[0], PLACE, sizeof address } },
        { "bind", SYS_bind, { channel[0], PLACE, sizeof address } },
        { "sendto an address", SYS_sendto, { channel[0], PLACE, 1, 0, PLACE, sizeof address } },
        { "sendmsg", SYS_sendmsg, { channel[0], PLACE, 0 } },
        { "recvmsg", SYS_recvmsg, { channel[0], PLACE, 0 } },
        { "kill", SYS_kill, { pid, 0 } },
        { "kill everyone", SYS_kill, { everyone, 0 } },
        { "tkill", SYS_tkill, { pid, 0 } },
        { "tgkill", SYS_tgkill, { pid, pid, 0 } },
        { "rt_sigqueueinfo", SYS_rt_sigqueueinfo, { pid, 0, PLACE } },
        { "rt_tgsigqueueinfo", SYS_rt_tgsigqueueinfo, { pid, pid, 0, PLACE } },
        { "pidfd_open", 434, { pid, 0 } },
        { "pidfd_send_signal", 424, { 0, 0, 0, 0 } },
        { "pidfd_getfd", 438, { 0, 0, 0 } },
        { "ptrace", SYS_ptrace, { 16 /* PTRACE_ATTACH */, pid, 0, 0 } },
        { "process_vm_readv", SYS_process_vm_readv, { pid, PLACE, 0, PLACE, 0, 0 } },
        { "process_vm_writev", SYS_process_vm_writev, { pid, PLACE, 0, PLACE, 0, 0 } },
        { "kcmp", SYS_kcmp, { pid, pid, 0, 0, 0 } },
        { "prlimit of another", SYS_prlimit64, { pid, RLIMIT_NOFILE, 0, PLACE } },
        { "prlimit that sets", SYS_prlimit64, { 0, RLIMIT_NOFILE, PLACE, 0 } },
        { "memfd_create", SYS_memfd_create, { HERE, 0 } },
        { "pkey_mprotect", SYS_pkey_mprotect, { PLACE, 4096, PROT_READ, -1 } },
        { "shmget", SYS_shmget, { 0, 4096, 0600 } },
        { "remap_file_pages", SYS_remap_file_pages, { PLACE, 4096, 0, 0, 0 } },
        { "userfaultfd", SYS_userfaultfd, { 0 } },
        { "personality", SYS_personality, { 0x0400000 /* READ_IMPLIES_EXEC */ } },
        { "unlinkat", SYS_unlinkat, { AT_FDCWD, HERE, 0 } },
        { "renameat2", SYS_renameat2, { AT_FDCWD, HERE, AT_FDCWD, HERE, 0 } },
        { "mkdirat", SYS_mkdirat, { AT_FDCWD, HERE, 0700 } },
        { "symlinkat", SYS_symlinkat, { HERE, AT_FDCWD, HERE } },
        { "linkat", SYS_linkat, { AT_FDCWD, HERE, AT_FDCWD, HERE, 0 } },
        { "fchmodat", SYS_fchmodat, { AT_FDCWD, HERE, 0700 } },
        { "fchownat", SYS_fchownat, { AT_FDCWD, HERE, 0, 0, 0 } },
        { "truncate", SYS_truncate, { HERE, 0 } },
        { "ftruncate", SYS_ftruncate, { 0, 0 } },
        { "pwrite64", SYS_pwrite64, { 1, PLACE, 0, 0 } },
        { "getdents64", SYS_getdents64, { 0, PLACE, 64 } },
        { "openat2", 437, { AT_FDCWD, HERE, PLACE, 24 } },
        { "open_by_handle_at", SYS_open_by_handle_at, { AT_FDCWD, PLACE, 0 } },
        { "name_to_handle_at", SYS_name_to_handle_at, { AT_FDCWD, HERE, PLACE, PLACE, 0 } },
        { "inotify_init1", SYS_inotify_init1, { 0 } },
        { "chdir", SYS_chdir, { HERE } },
        { "chroot", SYS_chroot, { HERE } },
        { "mount", SYS_mount, { HERE, HERE, HERE, 0, 0 } },
        { "bpf", SYS_bpf, { 0, PLACE, 0 } },
        { "perf_event_open", SYS_perf_event_open, { PLACE, 0, -1, -1, 0 } },
        { "io_uring_setup", 425, { 1, PLACE } },
        { "seccomp", SYS_seccomp, { 0, 0, 0 } },
        { "prctl", SYS_prctl, { PR_SET_DUMPABLE, 1, 0, 0, 0 } },
        { "keyctl", SYS_keyctl, { 0, 0, 0, 0, 0 } },
        { "setuid", SYS_setuid, { 0 } },
        { "capset", SYS_capset, { PLACE, PLACE } },
        { "reboot", SYS_reboot, { 0, 0, 0, 0 } },
        { "a number there is not", 100000, { 0 } },
#ifdef __x86_64__
        { "set the FS segment", SYS_arch_prctl, { 0x1002, PLACE } },
        { "fork, the old call", SYS_fork, { 0 } },
        { "vfork, the old call", SYS_vfork, { 0 } },
        { "iopl", SYS_iopl, { 3 } },
        { "getpid of x32", 0x40000000 + 39, { 0 } },
#endif
    };
    _Static_assert(sizeof attempts <= sizeof list, "the list is longer than its room");
    memcpy(list, attempts, sizeof attempts);
    *n = COUNT_OF(attempts);
    return list;
}

/* --- what works ----------------------------------------------------------------------------------- */

static void *nothing(void *user) { return user; }

static void use_threads(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, nothing, NULL) != 0 || pthread_join(thread, NULL) != 0)
        _exit(WRONG);
}

static void use_memory(void)
{
    void *room = malloc(64 << 20);
    if (!room) _exit(WRONG);
    free(room);
}

static void use_channel(void)
{
    char byte = 'x';
    expect_works(send(channel[0], &byte, 1, MSG_NOSIGNAL));
    expect_works(recv(channel[1], &byte, 1, 0));
}

static void use_open_file(void)
{
    struct stat info;
    char byte;
    expect_works(syscall(SYS_fstat, channel[0], &info));
    expect_works(fcntl(channel[0], F_GETFL));
    expect(pread(channel[0], &byte, 1, 0), ESPIPE);
}

static void use_own_limits(void)
{
    struct rlimit limit;
    cpu_set_t cpus;
    expect_works(getrlimit(RLIMIT_NOFILE, &limit));
    expect_works(sched_getaffinity(0, sizeof cpus, &cpus));
}

static void signal_itself(void)
{
    (void)signal(SIGUSR1, SIG_IGN);
    expect_works(raise(SIGUSR1));
}

#ifdef __x86_64__
/* The engine asks for tiles once; a machine without them answers EINVAL, which is an answer. */
static void ask_for_tiles(void) { (void)syscall(SYS_arch_prctl, 0x1023, 18); }
#endif

static void (*const works[])(void) = { use_threads,   use_memory,     use_channel,
                                       use_open_file, use_own_limits, signal_itself,
#ifdef __x86_64__
                                       ask_for_tiles
#endif
};

/* --- trying --------------------------------------------------------------------------------------- */

static int wait_for_end(pid_t pid)
{
    int status = -1;
    while (waitpid(pid, &status, 0) < 0) continue;
    return status;
}

/* The status of a child that enters and then tries. */
static int try_it(void (*what)(void))
{
    const pid_t pid = fork();
    if (pid == 0) {
        if (s2_sandbox_enter(NULL) != S2P_OK) _exit(8);
        what();
        _exit(0);
    }
    return wait_for_end(pid);
}

static void denied(void **state)
{
    (void)state;
    size_t n;
    const attempt *list = all_attempts(&n);
    for (size_t i = 0; i < n; i++) {
        const pid_t pid = fork();
        if (pid == 0) {
            const long *a = list[i].argument;
            if (s2_sandbox_enter(NULL) != S2P_OK) _exit(8);
            (void)syscall(list[i].number, a[0], a[1], a[2], a[3], a[4], a[5]);
            _exit(0);
        }
        const int status = wait_for_end(pid);
        if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSYS)
            fail_msg("%s: status %d", list[i].name, status);
    }
}

static void run_all(void (*const list[])(void), size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const int status = try_it(list[i]);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) fail_msg("%zu: status %d", i, status);
    }
}

static void fails(void **state)
{
    (void)state;
    run_all(refused, COUNT_OF(refused));
}

static void allowed(void **state)
{
    (void)state;
    run_all(works, COUNT_OF(works));
}

/* Threads that run already are in it, too. */
static atomic_int is_inside;

static void *try_in_thread(void *user)
{
    (void)user;
    while (!is_inside) sched_yield();
    expect(open("/etc/passwd", O_RDONLY), EACCES);
    return NULL;
}

static void every_thread(void **state)
{
    (void)state;
    const pid_t pid = fork();
    if (pid == 0) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, try_in_thread, NULL) != 0) _exit(WRONG);
        if (s2_sandbox_enter(NULL) != S2P_OK) _exit(8);
        is_inside = 1;
        (void)pthread_join(thread, NULL);
        _exit(0);
    }
    const int status = wait_for_end(pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void)
{
    if (!s2_sandbox_is_here()) return 77;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, channel) != 0) return 1;
    const struct CMUnitTest tests[] = { cmocka_unit_test(denied), cmocka_unit_test(fails),
                                        cmocka_unit_test(allowed), cmocka_unit_test(every_thread) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
