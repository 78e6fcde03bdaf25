/* peak.h - what a core does with nothing but the multiply-adds of a unit, on registers.
 *
 * Twelve chains hide the latency. They start at zero: what happens to be in the registers could be
 * denormal, which is a hundred times slower. Each unit is that of a table of kernels, and runs only where the
 * table does.
 */
#ifndef BENCH_PEAK_H
#define BENCH_PEAK_H

#include "kernels/cpu.h"

#include <string.h>

typedef struct peak_unit {
    const char *table; /* the table of kernels that multiplies with it */
    const char *name;  /* for people */
    void (*run)(void); /* PEAK_TURNS times twelve instructions */
    double operations; /* of one instruction: a multiply-add counts two */
} peak_unit;

#define PEAK_TURNS 1000000

#if defined(__x86_64__)

#define PEAK_CLOBBERS                                                                        \
    "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", \
        "xmm11", "xmm12", "xmm13"
/* clang-format off */
#define PEAK_OP(op, r, i) op " %%" r "14,%%" r "15,%%" r #i "\n"
#define PEAK_TWELVE(op, r)                                                                  \
    PEAK_OP(op, r, 0) PEAK_OP(op, r, 1) PEAK_OP(op, r, 2) PEAK_OP(op, r, 3)                 \
    PEAK_OP(op, r, 4) PEAK_OP(op, r, 5) PEAK_OP(op, r, 6) PEAK_OP(op, r, 7)                 \
    PEAK_OP(op, r, 8) PEAK_OP(op, r, 9) PEAK_OP(op, r, 10) PEAK_OP(op, r, 11)
/* a product of pairs and the addition of its result: what one VNNI instruction does */
#define PEAK_PAIR(i) "vpmaddwd %%ymm14,%%ymm15,%%ymm12\nvpaddd %%ymm12,%%ymm" #i ",%%ymm" #i "\n"
#define PEAK_PAIRS                                                                          \
    PEAK_PAIR(0) PEAK_PAIR(1) PEAK_PAIR(2) PEAK_PAIR(3) PEAK_PAIR(4) PEAK_PAIR(5)           \
    PEAK_PAIR(6) PEAK_PAIR(7) PEAK_PAIR(8) PEAK_PAIR(9) PEAK_PAIR(10) PEAK_PAIR(11)
#define PEAK_TILES(op)                                                                      \
    op " %%tmm6,%%tmm4,%%tmm0\n" op " %%tmm7,%%tmm4,%%tmm1\n"                               \
    op " %%tmm6,%%tmm5,%%tmm2\n" op " %%tmm7,%%tmm5,%%tmm3\n"
/* clang-format on */
#define PEAK_FUNCTION(name, text)                                                     \
    static inline void name(void)                                                     \
    {                                                                                 \
        __asm__ volatile("vzeroall" ::: PEAK_CLOBBERS, "xmm14", "xmm15");             \
        for (int i = 0; i < PEAK_TURNS; i++) __asm__ volatile(text::: PEAK_CLOBBERS); \
    }
/* Palette 1, eight tiles of 16 rows of 64 bytes; afterwards those that were there: ggml sets its own
 * once and relies on them. */
#define PEAK_TILE_FUNCTION(name, op)                                                    \
    static inline void name(void)                                                       \
    {                                                                                   \
        _Alignas(64) unsigned char config[64] = { 1 }, before[64];                      \
        for (int i = 0; i < 8; i++) {                                                   \
            config[16 + 2 * i] = 64;                                                    \
            config[48 + i] = 16;                                                        \
        }                                                                               \
        __asm__ volatile("sttilecfg %0" : "=m"(before));                                \
        __asm__ volatile("ldtilecfg %0" ::"m"(config));                                 \
        for (int i = 0; i < PEAK_TURNS / 16; i++)                                       \
            __asm__ volatile(PEAK_TILES(op) PEAK_TILES(op) PEAK_TILES(op)::: "memory"); \
        if (before[0])                                                                  \
            __asm__ volatile("ldtilecfg %0" ::"m"(before));                             \
        else                                                                            \
            __asm__ volatile("tilerelease");                                            \
    }

PEAK_FUNCTION(peak_f32_avx2, PEAK_TWELVE("vfmadd231ps", "ymm"))
PEAK_FUNCTION(peak_f32_avx512, PEAK_TWELVE("vfmadd231ps", "zmm"))
PEAK_FUNCTION(peak_bf16_avx512, PEAK_TWELVE("vdpbf16ps", "zmm"))
PEAK_FUNCTION(peak_int8_avx2, PEAK_PAIRS)
PEAK_FUNCTION(peak_int8_avxvnni, PEAK_TWELVE("%{vex%} vpdpbusd", "ymm"))
PEAK_FUNCTION(peak_int8_avx512, PEAK_TWELVE("vpdpbusd", "zmm"))
PEAK_TILE_FUNCTION(peak_bf16_amx, "tdpbf16ps")
PEAK_TILE_FUNCTION(peak_int8_amx, "tdpbssd")

static const peak_unit peak_units[] = {
    { "avx2", "f32, 256 bits", peak_f32_avx2, 16 },
    { "avx512", "f32, 512 bits", peak_f32_avx512, 32 },
    { "avx512-bf16", "bf16 pairs, 512 bits", peak_bf16_avx512, 64 },
    { "amx-bf16", "bf16 tiles", peak_bf16_amx, 2.0 * 16 * 16 * 32 / 16 },
    { "avx2-int8", "16-bit pairs, 256 bits", peak_int8_avx2, 32 },
    { "avx-vnni", "bytes, 256 bits", peak_int8_avxvnni, 64 },
    { "avx512-vnni", "bytes, 512 bits", peak_int8_avx512, 128 },
    { "amx-int8", "byte tiles", peak_int8_amx, 2.0 * 16 * 16 * 64 / 16 },
};
#else
static inline void peak_f32_plain(void)
{
    typedef float four __attribute__((vector_size(16)));
    four sum[12] = { { 0 } }, x = { 1, 1, 1, 1 };
    for (int i = 0; i < PEAK_TURNS; i++)
        for (int c = 0; c < 12; c++) {
            sum[c] += x * x;
            __asm__ volatile("" : "+w"(sum[c]));
        }
}

static const peak_unit peak_units[] = { { "neon", "f32, 128 bits", peak_f32_plain, 8 } };
#endif

/* The unit a table multiplies with; one that is not listed: the float32 unit. */
static inline const peak_unit *peak_of(const char *table)
{
    const size_t n = sizeof peak_units / sizeof *peak_units;
    for (size_t i = 0; i < n; i++)
        if (strcmp(peak_units[i].table, table) == 0) return &peak_units[i];
#if defined(__x86_64__)
    return &peak_units[s2_cpu_detect().avx512 ? 1 : 0];
#else
    return &peak_units[0];
#endif
}

/* 1e9 operations of one call. */
static inline double peak_gflop(const peak_unit *unit)
{
    return 12e-9 * PEAK_TURNS * unit->operations;
}

#endif /* BENCH_PEAK_H */
