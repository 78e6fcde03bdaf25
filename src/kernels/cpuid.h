/* cpuid.h - which instructions this machine executes: the only CPU detection there is.
 *
 * An instruction can be used when the CPU has it and the operating system saves its registers; the
 * tiles of AMX also need the permission of the Linux kernel. A hypervisor may show the first and
 * refuse the rest.
 *
 * All functions are static inline, so that libs2prune, which exports s2p_ names only and stands on
 * libc and libm, uses the same code. The engine's kernels call s2_cpu_detect (cpu.h), which also
 * asks for the permission.
 */
#ifndef S2_KERNELS_CPUID_H
#define S2_KERNELS_CPUID_H

#include <stdbool.h>
#include <stdint.h>

typedef struct s2_cpu {
    bool avx2, fma, f16c;
    bool avx_vnni;
    bool avx512; /* F, BW, DQ and VL, in addition to AVX2, FMA and F16C */
    bool avx512_vnni, avx512_bf16;
    bool has_fast_bf16; /* AVX-512 BF16 at twice the rate of float32: AMD; Intel has half of it */
    bool amx_bf16, amx_int8; /* with AMX-TILE, permission granted */
    bool neon, neon_dotprod, neon_i8mm, neon_bf16;
} s2_cpu;

/* What the AVX2 kernels are compiled for: F16C reads the steps of blocks. */
static inline bool s2_cpu_has_avx2_set(const s2_cpu *cpu)
{
    return cpu->avx2 && cpu->fma && cpu->f16c;
}

#if defined(__x86_64__)
#include <cpuid.h>

typedef struct s2_cpuid {    /* the words of cpuid that s2_cpu_decide reads */
    uint32_t b0;             /* leaf 0: the first four letters of the vendor */
    uint32_t c1, b7, c7, d7; /* leaves 1 and 7 */
    uint32_t a71;            /* leaf 7.1 */
    uint32_t saved;          /* XCR0: register files the system saves; 0: none beyond SSE */
} s2_cpuid;

static inline bool s2_cpuid_has(uint32_t word, uint32_t wanted)
{
    return (word & wanted) == wanted;
}

/* The features that follow from these words. allow_tiles: requests permission for AMX, called only
 * where the CPU has it; NULL: AMX is not used. */
static inline s2_cpu s2_cpu_decide(const s2_cpuid *id, bool (*allow_tiles)(void))
{
    s2_cpu cpu = { .avx2 = false };
    const uint32_t ymm = 1u << 1 | 1u << 2, zmm = ymm | 1u << 5 | 1u << 6 | 1u << 7;
    const uint32_t tiles = 1u << 17 | 1u << 18;
    if (!s2_cpuid_has(id->saved, ymm)) return cpu;
    cpu.avx2 = s2_cpuid_has(id->b7, 1u << 5);
    cpu.fma = s2_cpuid_has(id->c1, 1u << 12);
    cpu.f16c = s2_cpuid_has(id->c1, 1u << 29);
    cpu.avx_vnni = cpu.avx2 && s2_cpuid_has(id->a71, 1u << 4);
    cpu.avx512 = s2_cpu_has_avx2_set(&cpu) && s2_cpuid_has(id->saved, zmm) &&
                 s2_cpuid_has(id->b7, 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31);
    cpu.avx512_vnni = cpu.avx512 && s2_cpuid_has(id->c7, 1u << 11);
    cpu.avx512_bf16 = cpu.avx512 && s2_cpuid_has(id->a71, 1u << 5);
    cpu.has_fast_bf16 = cpu.avx512_bf16 && id->b0 == 0x68747541u; /* "Auth" of AuthenticAMD */
    const bool amx = cpu.avx512_bf16 && s2_cpuid_has(id->saved, tiles) &&
                     s2_cpuid_has(id->d7, 1u << 22 | 1u << 24); /* AMX-BF16, AMX-TILE */
    if (amx && allow_tiles && allow_tiles()) {
        cpu.amx_bf16 = true;
        cpu.amx_int8 = s2_cpuid_has(id->d7, 1u << 25);
    }
    return cpu;
}

/* __get_cpuid asks for the highest leaf each time, and under a hypervisor every cpuid is a trap of
 * several microseconds: each leaf is read once. */
static inline s2_cpu s2_cpu_look(bool (*allow_tiles)(void))
{
    s2_cpuid id = { .saved = 0 };
    uint32_t highest, last, a, b, c, d;
    __cpuid(0, highest, id.b0, c, d);
    if (highest < 7) return (s2_cpu){ .avx2 = false };
    __cpuid(1, a, b, id.c1, d);
    const uint32_t osxsave = 1u << 27, avx = 1u << 28;
    if (s2_cpuid_has(id.c1, osxsave | avx))
        __asm__ volatile("xgetbv" : "=a"(id.saved), "=d"(d) : "c"(0));
    __cpuid_count(7, 0, last, id.b7, id.c7, id.d7);
    if (last >= 1) __cpuid_count(7, 1, id.a71, b, c, d);
    return s2_cpu_decide(&id, allow_tiles);
}

#elif defined(__aarch64__)
#if defined(__linux__)
#include <sys/auxv.h>
#endif

static inline s2_cpu s2_cpu_look(bool (*allow_tiles)(void))
{
    s2_cpu cpu = { .neon = true }; /* part of every 64-bit Arm */
    (void)allow_tiles;
#if defined(__linux__)
    const unsigned long words[2] = { getauxval(AT_HWCAP), getauxval(AT_HWCAP2) };
    cpu.neon_dotprod = (words[0] & 1ul << 20) != 0;
    cpu.neon_i8mm = (words[1] & 1ul << 13) != 0;
    cpu.neon_bf16 = (words[1] & 1ul << 14) != 0;
#endif
    return cpu;
}

#else
static inline s2_cpu s2_cpu_look(bool (*allow_tiles)(void))
{
    (void)allow_tiles;
    return (s2_cpu){ .avx2 = false };
}
#endif

#endif /* S2_KERNELS_CPUID_H */
