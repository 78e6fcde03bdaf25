/* cpu.c - the CPU detection of cpuid.h, with the permission for AMX. */
#if defined(__linux__)
#define _GNU_SOURCE /* syscall */
#endif
#include "kernels/cpu.h"

#if defined(__linux__) && defined(__x86_64__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

/* Linux enlarges a process's signal frames for the 8 KiB of tiles only on request. The permission
 * holds for all threads, including those already running. */
static bool allow_tiles(void)
{
#if defined(__linux__) && defined(__x86_64__) && defined(SYS_arch_prctl)
    const long request_permission = 0x1023, tile_data = 18;
    return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
#else
    return false;
#endif
}

s2_cpu s2_cpu_detect(void) { return s2_cpu_look(allow_tiles); }
