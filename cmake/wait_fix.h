/* wait_fix.h - let ggml's waiting threads sleep, so that a core can be shared.
 *
 * The threads of a graph wait for each other at every node, in ggml_barrier(), and spin there for as
 * long as it takes. When another process has one of the cores, the threads on the others burn their
 * own time for nothing, and generation becomes many times slower. Force-included into ggml-cpu,
 * which is built without OpenMP (whose threads can be told to sleep by an environment variable only).
 *
 * Here a thread at a barrier spins for a moment, which is all it takes on a quiet machine, then it
 * sleeps until some barrier opens. It sleeps a millisecond at most: nothing depends on being woken.
 * Where waits turn out longer than the moment, it is a quarter for the next; where sleep was for
 * nothing, it is twice as long.
 *
 *     thread that waits                      thread that comes last
 *       spins at most SPIN_NS                  counts the barrier as passed
 *       n_sleepers++, remembers n_opened       if n_sleepers > 0: n_opened++, wakes all
 *       looks at the barrier again
 *       sleeps while n_opened is the same
 *
 * The two places are found by the names ggml gives them; with others this file does nothing.
 */
#ifndef S2_WAIT_FIX_H
#define S2_WAIT_FIX_H

#if defined(__linux__) && !defined(__cplusplus) && !defined(GGML_USE_OPENMP)
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define S2_SPIN_NS 50000
#define S2_LEAST_SPIN_NS 500
#define S2_SLEEP_NS 1000000
#define S2_PAUSES 32 /* between two looks at the clock */

static atomic_int s2_n_sleepers, s2_n_opened; /* of all pools: being woken too often is no harm */

static _Thread_local struct {
    int64_t since; /* when the thread began to spin; 0: it has not looked at the clock yet */
    int64_t spin_ns;
    unsigned n_pauses;
    int n_opened;
    bool is_sleeper, has_slept;
} s2_waiter = { .spin_ns = S2_SPIN_NS };

static inline void s2_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield" ::: "memory");
#endif
}

static inline int64_t s2_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline void s2_stop_waiting(void)
{
    if (s2_waiter.is_sleeper) atomic_fetch_sub(&s2_n_sleepers, 1);
    s2_waiter.is_sleeper = false;
}

/* What a wait that ended asleep says about the next. */
static inline void s2_learn(int64_t waited)
{
    int64_t spin_ns = waited < S2_SPIN_NS ? s2_waiter.spin_ns * 2 : s2_waiter.spin_ns / 4;
    if (spin_ns > S2_SPIN_NS) spin_ns = S2_SPIN_NS;
    if (spin_ns < S2_LEAST_SPIN_NS) spin_ns = S2_LEAST_SPIN_NS;
    s2_waiter.spin_ns = spin_ns;
    s2_waiter.has_slept = false;
}

static inline void s2_wait(void)
{
    if (s2_waiter.is_sleeper) { /* and the barrier has been looked at since it became one */
        const struct timespec most = { 0, S2_SLEEP_NS };
        syscall(SYS_futex, &s2_n_opened, FUTEX_WAIT_PRIVATE, s2_waiter.n_opened, &most, NULL, 0);
        s2_stop_waiting();
        return;
    }
    s2_pause();
    if (++s2_waiter.n_pauses % S2_PAUSES != 0) return;
    const int64_t now = s2_clock_ns();
    if (s2_waiter.since == 0) s2_waiter.since = now;
    if (now - s2_waiter.since < s2_waiter.spin_ns) return;
    s2_waiter.n_pauses = S2_PAUSES - 1; /* it has spun enough: next time it sleeps again */
    s2_waiter.is_sleeper = s2_waiter.has_slept = true;
    atomic_fetch_add(&s2_n_sleepers, 1);
    s2_waiter.n_opened = atomic_load(&s2_n_opened);
}

/* A thread has added to one of the counters: it arrives at a barrier, or opens it. */
static inline int s2_counted(int before, bool opens)
{
    s2_stop_waiting();
    if (s2_waiter.has_slept) s2_learn(s2_clock_ns() - s2_waiter.since);
    s2_waiter.since = 0;
    s2_waiter.n_pauses = 0;
    if (opens && atomic_load(&s2_n_sleepers) > 0) {
        atomic_fetch_add(&s2_n_opened, 1);
        syscall(SYS_futex, &s2_n_opened, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
    }
    return before;
}

#undef atomic_fetch_add_explicit
#define atomic_fetch_add_explicit(counter, n, order) \
    s2_counted(atomic_fetch_add(counter, n),         \
               __builtin_strcmp(#counter, "&tp->n_barrier_passed") == 0)

/* "(void)" in the definition of the function, which is then used by nobody; "()" in calls. */
#define ggml_thread_cpu_relax(argument) S2_RELAX_##argument
#define S2_RELAX_void __attribute__((unused)) s2_unused_relax(void)
#define S2_RELAX_ (__builtin_strcmp(__func__, "ggml_barrier") == 0 ? s2_wait() : s2_pause())
#endif

#endif
