/* cpu.c - cpuid, xgetbv, arch_prctl; on Arm the auxiliary vector. */
#if defined(__linux__)
#define _GNU_SOURCE /* syscall */
#endif
#include "kernels/cpu.h"

#include <stdint.h>

#if defined(__x86_64__)
#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

/* XCR0: which register files the operating system saves and restores. */
static uint32_t saved_registers(void)
{
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

/* Linux enlarges a process's signal frames for the 8 KiB of tiles only when asked. The permission
 * holds for all threads, also those started before. */
static bool allow_tiles(void)
{
#if defined(__linux__) && defined(SYS_arch_prctl)
    const long request_permission = 0x1023, tile_data = 18;
    return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
#else
    return false;
#endif
}

static bool has(uint32_t word, uint32_t wanted) { return (word & wanted) == wanted; }

s2v_cpu s2v_cpu_decide(const s2v_cpuid *id, bool (*allow)(void))
{
    s2v_cpu cpu = { .avx2 = false };
    const uint32_t fma = 1u << 12, f16c = 1u << 29;
    const uint32_t ymm = 1u << 1 | 1u << 2, zmm = ymm | 1u << 5 | 1u << 6 | 1u << 7;
    const uint32_t tiles = 1u << 17 | 1u << 18;
    if (!has(id->saved, ymm)) return cpu;
    cpu.avx2 = has(id->b7, 1u << 5) && has(id->c1, fma | f16c);
    cpu.avx512 =
        cpu.avx2 && has(id->saved, zmm) && has(id->b7, 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31);
    cpu.avx512_vnni = cpu.avx512 && has(id->c7, 1u << 11);
    cpu.avx512_bf16 = cpu.avx512 && has(id->a71, 1u << 5);
    cpu.avx512_bf16_gains = cpu.avx512_bf16 && id->b0 == 0x68747541u; /* "Auth", enticAMD */
    cpu.avx_vnni = cpu.avx2 && has(id->a71, 1u << 4);
    const bool tile = cpu.avx512 && has(id->saved, tiles) && has(id->d7, 1u << 24);
    const bool tile_bf16 = tile && cpu.avx512_bf16 && has(id->d7, 1u << 22);
    const bool tile_int8 = tile_bf16 && has(id->d7, 1u << 25);
    if (tile_bf16 && allow()) {
        cpu.amx_bf16 = tile_bf16;
        cpu.amx_int8 = tile_int8;
    }
    return cpu;
}

s2v_cpu s2v_cpu_detect(void)
{
    s2v_cpuid id = { .saved = 0 };
    uint32_t highest, last, a, b, c, d;
    __cpuid(0, highest, id.b0, c, d);
    if (highest < 7) return (s2v_cpu){ .avx2 = false };
    __cpuid(1, a, b, id.c1, d);
    const uint32_t osxsave = 1u << 27, avx = 1u << 28;
    if (has(id.c1, osxsave | avx)) id.saved = saved_registers();
    __cpuid_count(7, 0, last, id.b7, id.c7, id.d7);
    if (last >= 1) __cpuid_count(7, 1, id.a71, b, c, d);
    return s2v_cpu_decide(&id, allow_tiles);
}

#elif defined(__aarch64__)
#if defined(__linux__)
#include <sys/auxv.h>
#endif

s2v_cpu s2v_cpu_detect(void)
{
    s2v_cpu cpu = { .neon = true }; /* part of every 64-bit Arm */
#if defined(__linux__)
    const unsigned long more = getauxval(AT_HWCAP2);
    cpu.neon_i8mm = (more & 1ul << 13) != 0;
    cpu.neon_bf16 = (more & 1ul << 14) != 0;
#endif
    return cpu;
}

#else
s2v_cpu s2v_cpu_detect(void) { return (s2v_cpu){ .avx2 = false }; }
#endif
