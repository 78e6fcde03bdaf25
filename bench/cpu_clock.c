/* cpu_clock.c - preloaded into a program, its clocks read the CPU time it has used.
 *
 * With one compute thread a program then reports times that its neighbours on a shared machine do
 * not inflate. Loaded by bench/engine --clock cpu into every program it compares.
 */
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *time)
{
    if (clock == CLOCK_MONOTONIC || clock == CLOCK_REALTIME) clock = CLOCK_PROCESS_CPUTIME_ID;
    return (int)syscall(SYS_clock_gettime, clock, time);
}
