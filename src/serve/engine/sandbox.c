/* sandbox.c - a seccomp filter: a list of calls, and a few whose arguments are looked at. */
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
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define THIS_MACHINE AUDIT_ARCH_X86_64
#else
#define THIS_MACHINE AUDIT_ARCH_AARCH64
#endif

/* Memory, threads, clocks, the socket that is open already, files read (limits of the control group,
 * pages of the model). */
static const int allowed[] = {
    SYS_read,
    SYS_write,
    SYS_readv,
    SYS_writev,
    SYS_pread64,
    SYS_recvfrom,
    SYS_sendto,
    SYS_recvmsg,
    SYS_sendmsg,
    SYS_ppoll,
    SYS_close,
    SYS_lseek,
    SYS_fstat,
    SYS_newfstatat,
    SYS_statx,
    SYS_readlinkat,
    SYS_faccessat,
    SYS_getdents64,
    SYS_mmap,
    SYS_munmap,
    SYS_mprotect,
    SYS_mremap,
    SYS_madvise,
    SYS_brk,
    SYS_mlock,
    SYS_munlock,
    SYS_membarrier,
    SYS_futex,
    SYS_clone,
    SYS_set_robust_list,
    SYS_rseq,
    SYS_exit,
    SYS_exit_group,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_sigaltstack,
    SYS_tgkill,
    SYS_tkill,
    SYS_gettid,
    SYS_getpid,
    SYS_getppid,
    SYS_getuid,
    SYS_geteuid,
    SYS_getgid,
    SYS_getegid,
    SYS_sched_yield,
    SYS_sched_getaffinity,
    SYS_sched_setaffinity,
    SYS_sched_getparam,
    SYS_sched_getscheduler,
    SYS_sched_setscheduler,
    SYS_sched_get_priority_max,
    SYS_sched_get_priority_min,
    SYS_setpriority,
    SYS_getpriority,
    SYS_getcpu,
    SYS_clock_gettime,
    SYS_clock_getres,
    SYS_clock_nanosleep,
    SYS_nanosleep,
    SYS_gettimeofday,
    SYS_getrandom,
    SYS_uname,
    SYS_sysinfo,
    SYS_getrusage,
    SYS_prlimit64,
    SYS_restart_syscall,
    SYS_fcntl,
    SYS_dup,
#if defined(__x86_64__)
    SYS_poll,
    SYS_stat,
    SYS_lstat,
    SYS_access,
    SYS_readlink,
    SYS_time,
#endif
};

#define N_ALLOWED (sizeof allowed / sizeof *allowed)
#define WORD(member) ((uint32_t)offsetof(struct seccomp_data, member))
#define LOAD(at) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at)
#define ANSWER(value) BPF_STMT(BPF_RET | BPF_K, value)
#define REQUEST_PERMISSION 0x1023 /* ARCH_REQ_XCOMP_PERM: headers of older kernels lack it */
#define WRITES (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND)

int s2_sandbox_is_here(void) { return 1; }

s2p_status s2_sandbox_enter(s2p_error *error)
{
    struct sock_filter code[N_ALLOWED * 2 + 24];
    size_t n = 0;
    const struct sock_filter first[] = {
        LOAD(WORD(arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, THIS_MACHINE, 1, 0),
        ANSWER(SECCOMP_RET_KILL_PROCESS),
        LOAD(WORD(nr)),
        /* openat: to read only */
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 4),
        LOAD(WORD(args[2])),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, WRITES, 0, 1),
        ANSWER(SECCOMP_RET_KILL_PROCESS),
        ANSWER(SECCOMP_RET_ALLOW),
        /* clone3 hides its flags behind a pointer: the C library then takes clone; no terminals */
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
        ANSWER(SECCOMP_RET_ERRNO | ENOSYS),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 1),
        ANSWER(SECCOMP_RET_ERRNO | ENOTTY),
#if defined(__x86_64__)
        /* arch_prctl: to ask for the tiles of AMX, which our kernels and ggml's do when they first look
         * at the CPU; anything else it can do is refused */
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_arch_prctl, 0, 4),
        LOAD(WORD(args[0])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, REQUEST_PERMISSION, 1, 0),
        ANSWER(SECCOMP_RET_KILL_PROCESS),
        ANSWER(SECCOMP_RET_ALLOW),
#endif
    };
    memcpy(code, first, sizeof first);
    n = sizeof first / sizeof *first;
    for (size_t i = 0; i < N_ALLOWED; i++) {
        code[n++] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)allowed[i], 0, 1);
        code[n++] = (struct sock_filter)ANSWER(SECCOMP_RET_ALLOW);
    }
    code[n++] = (struct sock_filter)ANSWER(SECCOMP_RET_KILL_PROCESS);
    const struct sock_fprog program = { .len = (unsigned short)n, .filter = code };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0)
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
