/* cpu.h - what this machine really executes.
 *
 * An instruction is there when the CPU has it, the operating system saves its registers, and, for
 * Intel's tiles, the kernel has given this process permission. A hypervisor may show the first and
 * refuse the rest.
 */
#ifndef S2_ENGINE_TOWER_CPU_H
#define S2_ENGINE_TOWER_CPU_H

#include <stdbool.h>
#include <stdint.h>

typedef struct s2v_cpu {
    bool avx2;   /* with FMA and F16C */
    bool avx512; /* F, BW, DQ and VL */
    bool avx512_bf16;
    bool avx512_bf16_gains; /* at twice the rate of float32: AMD's; Intel's run at half of it */
    bool avx512_vnni;
    bool avx_vnni;
    bool amx_bf16, amx_int8; /* permission granted; the self-test of the table is still to come */
    bool neon, neon_bf16, neon_i8mm;
} s2v_cpu;

s2v_cpu s2v_cpu_detect(void);

#if defined(__x86_64__)
typedef struct s2v_cpuid {   /* what x86-64 says about itself */
    uint32_t b0;             /* leaf 0: the first four letters of the maker's name */
    uint32_t c1, b7, c7, d7; /* words of leaves 1 and 7 */
    uint32_t a71;            /* leaf 7.1 */
    uint32_t saved;          /* XCR0: registers the system saves; 0: it saves none of these */
} s2v_cpuid;

/* What follows from it. allow: asks the kernel for tiles; not called where there are none. */
s2v_cpu s2v_cpu_decide(const s2v_cpuid *id, bool (*allow)(void));
#endif

#endif /* S2_ENGINE_TOWER_CPU_H */
