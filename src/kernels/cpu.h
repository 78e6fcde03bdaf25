/* cpu.h - cpuid.h for the kernels of tower and decoder, which may use AMX. */
#ifndef S2_KERNELS_CPU_H
#define S2_KERNELS_CPU_H

#include "kernels/cpuid.h"

/* Asks the Linux kernel for the tiles of AMX where the CPU has them. What is computed with them is
 * still to be tried: see s2v_kernels_tested in tower/kernels.h. */
s2_cpu s2_cpu_detect(void);

#endif /* S2_KERNELS_CPU_H */
