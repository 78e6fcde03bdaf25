/* choose.c - which kernels this CPU can run.
 *
 * The detection is that of the engine's kernels, as inline code: the compilers' own helper for it is
 * in their support library, and this library depends on libc and libm only.
 */
#include "prune/kernels/kernels.h"

#include "kernels/cpuid.h"

#define MAX_TABLES 3

/* Every table that runs here, slowest first; returns how many. */
static size_t list_tables(const s2p_kernels *table[MAX_TABLES])
{
    size_t n = 0;
    table[n++] = &s2p_kernels_scalar;
#if defined(S2P_X86_KERNELS)
    const s2_cpu cpu = s2_cpu_look(NULL);
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
