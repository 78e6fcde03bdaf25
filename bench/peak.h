/* peak.h - what a core does with nothing but fused multiply-adds on registers. */
#ifndef BENCH_PEAK_H
#define BENCH_PEAK_H

#if defined(__x86_64__)
#include "engine/vision/kernels/cpu.h"

#define PEAK_GFLOP (2e6 * 12 * 16 * 1e-9) /* of one call */

/* clang-format off */
#define PEAK_OP(register, i) "vfmadd231ps %%" register "14,%%" register "15,%%" register #i "\n"
#define PEAK_TWELVE(r)                                                        \
    PEAK_OP(r, 0) PEAK_OP(r, 1) PEAK_OP(r, 2) PEAK_OP(r, 3) PEAK_OP(r, 4)     \
    PEAK_OP(r, 5) PEAK_OP(r, 6) PEAK_OP(r, 7) PEAK_OP(r, 8) PEAK_OP(r, 9)     \
    PEAK_OP(r, 10) PEAK_OP(r, 11)
/* clang-format on */

/* Twelve chains hide the latency; 512 bits count twice, so half the turns do the same work. */
static inline void peak_f32(void)
{
    if (s2v_cpu_detect().avx512)
        for (int i = 0; i < 1000000; i++)
            __asm__ volatile(PEAK_TWELVE("zmm")::
                                 : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",
                                   "xmm8", "xmm9", "xmm10", "xmm11");
    else
        for (int i = 0; i < 2000000; i++)
            __asm__ volatile(PEAK_TWELVE("ymm")::
                                 : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",
                                   "xmm8", "xmm9", "xmm10", "xmm11");
}
#else
#define PEAK_GFLOP (1e6 * 12 * 8 * 1e-9)
static inline void peak_f32(void)
{
    typedef float four __attribute__((vector_size(16)));
    four sum[12] = { { 0 } }, x = { 1, 1, 1, 1 };
    for (int i = 0; i < 1000000; i++)
        for (int c = 0; c < 12; c++) {
            sum[c] += x * x;
            __asm__ volatile("" : "+w"(sum[c]));
        }
}
#endif

#endif /* BENCH_PEAK_H */
