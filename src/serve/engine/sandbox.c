/* sandbox.c - a seccomp filter: a table of calls, and what their arguments may be.
 *
 * A call that is not in the table ends the process. A call whose arguments are not allowed fails with
 * the error of its row, or ends the process where there is none: libraries ask for some things that
 * they can do without (a file, a thread's affinity), and none of them ever forks or signals another
 * process. Nothing here needs more of the kernel than seccomp of Linux 3.17.
 */
#if defined(__linux__)
#define _GNU_SOURCE /* syscall */
#endif
#include "serve/engine/sandbox.h"

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define THIS_MACHINE AUDIT_ARCH_X86_64
#else
#define THIS_MACHINE AUDIT_ARCH_AARCH64
#endif

#define MAX_CHECKS 3
#define MAX_VALUES 6

#define WORD(member) ((uint32_t)offsetof(struct seccomp_data, member))
#define LOW(i) (WORD(args) + 8 * (i)) /* both machines are little-endian */
#define HIGH(i) (LOW(i) + 4)

typedef struct check { /* a word of the arguments: with these bits it is one of these values */
    uint32_t word, mask;
    uint32_t value[MAX_VALUES];
    uint32_t n;
} check;

typedef struct call {
    int number;
    int error; /* of a call that fails a check; 0: the process ends */
    check check[MAX_CHECKS];
} call;

#define ALL 0xFFFFFFFFu
/* clang-format off */
#define IS(word, ...) { (word), ALL, { __VA_ARGS__ }, sizeof((uint32_t[]){ __VA_ARGS__ }) / 4 }
#define HAS_NONE_OF(word, bits) { (word), (bits), { 0 }, 1 }
#define IS_NULL(i) IS(LOW(i), 0), IS(HIGH(i), 0)
#define NEVER(error) (error), { { WORD(nr), 0, { 1 }, 1 } } /* no bits are not 1 */
/* clang-format on */

/* What the C library passes to create a thread; musl adds a bit that does nothing. */
#define THREAD                                                                          \
    (CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | \
     CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID)
#define MUSL_THREAD (THREAD | CLONE_DETACHED)

#define REQUEST_PERMISSION 0x1023     /* ARCH_REQ_XCOMP_PERM: headers of older kernels lack it */
#define PRIVILEGED_ADVICE (ALL ^ 31u) /* bits of 100 and 101, with which root breaks pages */

/* Memory, threads, clocks, and descriptors that are open already. */
static const call calls[] = {
    { .number = SYS_read },
    { .number = SYS_write },
    { .number = SYS_readv },
    { .number = SYS_writev },
    { .number = SYS_pread64 },
    { .number = SYS_recvfrom },
    { SYS_sendto, 0, { IS_NULL(4) } }, /* to the front only */
    { .number = SYS_ppoll },
    { .number = SYS_close },
    { .number = SYS_lseek },
    { .number = SYS_fstat },
    { .number = SYS_munmap },
    { .number = SYS_mremap },
    { .number = SYS_brk },
    { .number = SYS_mlock },
    { .number = SYS_munlock },
    { .number = SYS_membarrier },
    { .number = SYS_futex },
    { .number = SYS_set_robust_list },
    { .number = SYS_rseq },
    { .number = SYS_exit },
    { .number = SYS_exit_group },
    { .number = SYS_rt_sigaction },
    { .number = SYS_rt_sigprocmask },
    { .number = SYS_rt_sigreturn },
    { .number = SYS_sigaltstack },
    { .number = SYS_gettid },
    { .number = SYS_getpid },
    { .number = SYS_getppid },
    { .number = SYS_getuid },
    { .number = SYS_geteuid },
    { .number = SYS_getgid },
    { .number = SYS_getegid },
    { .number = SYS_sched_yield },
    { .number = SYS_sched_get_priority_max },
    { .number = SYS_sched_get_priority_min },
    { .number = SYS_getcpu },
    { .number = SYS_clock_gettime },
    { .number = SYS_clock_getres },
    { .number = SYS_clock_nanosleep },
    { .number = SYS_nanosleep },
    { .number = SYS_gettimeofday },
    { .number = SYS_getrandom },
    { .number = SYS_uname },
    { .number = SYS_sysinfo },
    { .number = SYS_getrusage },
    { .number = SYS_restart_syscall },
    { .number = SYS_dup },
#if defined(__x86_64__)
    { .number = SYS_poll },
    { .number = SYS_time },
    /* the tiles of AMX, which our kernels and ggml's ask for when they first look at the CPU */
    { SYS_arch_prctl, 0, { IS(LOW(0), REQUEST_PERMISSION) } },
#endif

    /* no memory that can be executed: everything was loaded before */
    { SYS_mmap, EPERM, { HAS_NONE_OF(LOW(2), PROT_EXEC) } },
    { SYS_mprotect, EPERM, { HAS_NONE_OF(LOW(2), PROT_EXEC) } },
    { SYS_madvise, EINVAL, { HAS_NONE_OF(LOW(2), PRIVILEGED_ADVICE) } },

    /* threads, and signals to this process; clone3 hides its flags behind a pointer, and the C library
     * then takes clone */
    { SYS_clone, 0, { IS(LOW(0), THREAD, MUSL_THREAD) } },
    { SYS_clone3, NEVER(ENOSYS) },

    /* this process or thread only, which 0 means */
    { SYS_prlimit64, 0, { IS(LOW(0), 0), IS_NULL(2) } },
    /* pthread_getattr_np takes this error as fine */
    { SYS_sched_getaffinity, ENOSYS, { IS(LOW(0), 0) } },
    { SYS_sched_setaffinity, EPERM, { IS(LOW(0), 0) } },
    { SYS_sched_getparam, EPERM, { IS(LOW(0), 0) } },
    { SYS_sched_getscheduler, EPERM, { IS(LOW(0), 0) } },
    { SYS_sched_setscheduler, EPERM, { IS(LOW(0), 0) } },
    { SYS_getpriority, EPERM, { IS(LOW(0), 0), IS(LOW(1), 0) } },
    { SYS_setpriority, EPERM, { IS(LOW(0), 0), IS(LOW(1), 0) } },

    /* not the owner of a descriptor, who gets its signals */
    { SYS_fcntl, EPERM, { IS(LOW(1), F_GETFD, F_SETFD, F_GETFL, F_DUPFD_CLOEXEC) } },
    { SYS_ioctl, NEVER(ENOTTY) },

    /* no paths */
    { SYS_openat, NEVER(EACCES) },
    { SYS_newfstatat, NEVER(EACCES) },
    { SYS_statx, NEVER(EACCES) },
    { SYS_readlinkat, NEVER(EACCES) },
    { SYS_faccessat, NEVER(EACCES) },
#if defined(__x86_64__)
    { SYS_open, NEVER(EACCES) },
    { SYS_stat, NEVER(EACCES) },
    { SYS_lstat, NEVER(EACCES) },
    { SYS_access, NEVER(EACCES) },
    { SYS_readlink, NEVER(EACCES) },
#endif
};

#define N_CALLS (sizeof calls / sizeof *calls)
#define MAX_CODE (N_CALLS * (5 + MAX_CHECKS * (MAX_VALUES + 3)))

typedef struct program {
    struct sock_filter code[MAX_CODE];
    unsigned short n;
} program;

int s2_sandbox_is_here(void) { return 1; }

static void put(program *p, uint16_t what, uint32_t value, size_t if_true, size_t if_false)
{
    p->code[p->n++] = (struct sock_filter){ what, (uint8_t)if_true, (uint8_t)if_false, value };
}

static void put_load(program *p, uint32_t word) { put(p, BPF_LD | BPF_W | BPF_ABS, word, 0, 0); }

static void put_answer(program *p, uint32_t answer) { put(p, BPF_RET | BPF_K, answer, 0, 0); }

/* Goes on where the word has one of the values, and answers `refusal` otherwise. */
static void put_check(program *p, const check *c, uint32_t refusal)
{
    put_load(p, c->word);
    if (c->mask != ALL) put(p, BPF_ALU | BPF_AND | BPF_K, c->mask, 0, 0);
    for (uint32_t i = 0; i < c->n; i++) put(p, BPF_JMP | BPF_JEQ | BPF_K, c->value[i], c->n - i, 0);
    put_answer(p, refusal);
}

/* Expects the number of the call as loaded, and leaves it so for the next row. */
static void put_call(program *p, const call *c)
{
    const unsigned short start = p->n;
    put(p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)c->number, 0, 0);
    for (size_t i = 0; i < MAX_CHECKS && c->check[i].n > 0; i++)
        put_check(p, &c->check[i],
                  c->error ? SECCOMP_RET_ERRNO | (uint32_t)c->error : SECCOMP_RET_KILL_PROCESS);
    put_answer(p, SECCOMP_RET_ALLOW);
    p->code[start].jf = (uint8_t)(p->n - start - 1);
}

s2p_status s2_sandbox_enter(s2p_error *error)
{
    program p = { .n = 0 };
    const call signals = { SYS_tgkill, 0, { IS(LOW(0), (uint32_t)getpid()) } };
    put_load(&p, WORD(arch));
    put(&p, BPF_JMP | BPF_JEQ | BPF_K, THIS_MACHINE, 1, 0);
    put_answer(&p, SECCOMP_RET_KILL_PROCESS);
    put_load(&p, WORD(nr));
    for (size_t i = 0; i < N_CALLS; i++) put_call(&p, &calls[i]);
    put_call(&p, &signals);
    put_answer(&p, SECCOMP_RET_KILL_PROCESS);
    const struct sock_fprog filter = { .len = p.n, .filter = p.code };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) != 0)
        return s2_fail(error, S2P_EUNSUPPORTED, "the kernel refuses the sandbox: %s",
                       strerror(errno));
    return S2P_OK;
}

#else

int s2_sandbox_is_here(void) { return 0; }

s2p_status s2_sandbox_enter(s2p_error *error)
{
    return s2_fail(error, S2P_EUNSUPPORTED, "there is no sandbox for this system");
}

#endif
