/* received.c - the kernel for any CPU, and which variant this one gets. */
#define S2V_RECEIVED s2v_received_plain
#include "kernels/tower/received_kernel.h"

#include "kernels/cpuid.h"

size_t s2v_received_scratch(int32_t n, int32_t dim)
{
    const size_t width = (size_t)dim, rest = (size_t)n % S2V_RECEIVED_PANEL;
    const size_t n_padded = (size_t)n + (rest ? S2V_RECEIVED_PANEL - rest : 0);
    return n_padded * (width + S2V_RECEIVED_BLOCK + 1) + width * S2V_RECEIVED_BLOCK;
}

s2v_received s2v_received_at(size_t index)
{
    if (index == 0) return s2v_received_plain;
#if defined(S2V_X86_KERNELS)
    const s2_cpu cpu = s2_cpu_look(NULL);
    if (index == 1 && cpu.avx2 && cpu.fma) return s2v_received_avx2;
#endif
    return NULL;
}

s2v_received s2v_received_choose(void)
{
    const s2v_received fast = s2v_received_at(1);
    return fast ? fast : s2v_received_plain;
}
