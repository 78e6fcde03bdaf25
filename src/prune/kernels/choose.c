/* choose.c - which kernels this CPU can run.
 *
 * A variant needs two things: the instructions, and an operating system that saves
 * their registers. Both are asked for here directly, because the compilers' own
 * helper for it lives in their support library and the rule is libc and libm only.
 */
#include "prune/kernels/kernels.h"

#if defined(S2P_X86_KERNELS)
#include <cpuid.h>
#include <stdbool.h>

typedef struct cpu_features {
    bool avx2, avx512;
} cpu_features;

/* XCR0: which register files the operating system saves and restores. */
static uint32_t saved_registers(void)
{
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

/* __get_cpuid asks for the highest leaf each time, and under a hypervisor every question is a
 * trap of several microseconds: ask once. */
static cpu_features detect(void)
{
    const uint32_t osxsave = 1u << 27, avx = 1u << 28;                      /* leaf 1 ecx */
    const uint32_t avx2 = 1u << 5, avx512 = 1u << 16 | 1u << 30 | 1u << 31; /* leaf 7 ebx */
    const uint32_t ymm = 1u << 1 | 1u << 2, zmm = ymm | 1u << 5 | 1u << 6 | 1u << 7; /* XCR0 */
    cpu_features found = { false, false };
    uint32_t highest, a, b, c, d;
    __cpuid(0, highest, b, c, d);
    if (highest < 7) return found;
    __cpuid(1, a, b, c, d);
    if ((c & osxsave) == 0 || (c & avx) == 0) return found;
    const uint32_t saved = saved_registers();
    if ((saved & ymm) != ymm) return found;
    __cpuid_count(7, 0, a, b, c, d);
    found.avx2 = (b & avx2) != 0;
    found.avx512 = found.avx2 && (b & avx512) == avx512 && (saved & zmm) == zmm;
    return found;
}
#endif

#define MAX_TABLES 3

/* Every table that runs here, slowest first; returns how many. */
static size_t list_tables(const s2p_kernels *table[MAX_TABLES])
{
    size_t n = 0;
    table[n++] = &s2p_kernels_scalar;
#if defined(S2P_X86_KERNELS)
    const cpu_features cpu = detect();
    if (cpu.avx2) table[n++] = &s2p_kernels_avx2;
    if (cpu.avx512) table[n++] = &s2p_kernels_avx512;
#elif defined(S2P_NEON_KERNELS)
    table[n++] = &s2p_kernels_neon; /* part of every 64-bit Arm */
#endif
    return n;
}

const s2p_kernels *s2p_kernels_choose(void)
{
    const s2p_kernels *table[MAX_TABLES];
    return table[list_tables(table) - 1];
}

const s2p_kernels *s2p_kernels_at(size_t index)
{
    const s2p_kernels *table[MAX_TABLES];
    return index < list_tables(table) ? table[index] : NULL;
}
