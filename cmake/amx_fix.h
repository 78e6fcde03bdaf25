/* amx_fix.h - make ggml's AMX kernels survive GCC 12.
 *
 * GCC 12 tells its optimiser that _tile_loadconfig reads 8 bytes. It reads 64: the
 * stores that fill the rest of a configuration on the stack are dropped, and the first
 * tile instruction raises SIGILL. GCC 13 knows the size. Force-included into ggml-cpu.
 */
#ifndef S2_AMX_FIX_H
#define S2_AMX_FIX_H

#if defined(__AMX_TILE__) && defined(__GNUC__) && !defined(__clang__)
#include <immintrin.h>

struct s2_tile_config {
    char bytes[64];
};

static inline void s2_tile_loadconfig(const void *config)
{
    __asm__ volatile("ldtilecfg %0" : : "m"(*(const struct s2_tile_config *)config) : "memory");
}

/* The intrinsic may itself be a macro (at -O0); ours takes its place either way. */
#undef _tile_loadconfig
#define _tile_loadconfig s2_tile_loadconfig
#endif

#endif
