/* tiles.h - the tiles of AMX: configured for the duration of a call, then restored.
 *
 * ldtilecfg and sttilecfg are written as assembler because GCC 12 assumes that its
 * _tile_loadconfig reads 8 bytes of the 64 and drops the stores to the rest.
 */
#ifndef S2_ENGINE_TOWER_TILES_H
#define S2_ENGINE_TOWER_TILES_H

#include <stdint.h>

typedef struct s2v_tile_config { /* as the instruction reads it; palette 0: no tiles */
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} __attribute__((aligned(64))) s2v_tile_config;

_Static_assert(sizeof(s2v_tile_config) == 64, "what ldtilecfg reads");

#ifdef S2V_EMULATE_AMX
#include "emulate/amx_emulated.h" /* the instructions in plain C, for tests */
#else
#include <immintrin.h>
#define S2V_LOAD_TILE_CONFIG(config) __asm__ volatile("ldtilecfg %0" : : "m"(config) : "memory")
#define S2V_STORE_TILE_CONFIG(config) __asm__ volatile("sttilecfg %0" : "=m"(config) : : "memory")
#endif

/* Palette 1: eight tiles of 16 rows of 64 bytes. */
static inline void s2v_tiles_enter(s2v_tile_config *before)
{
    s2v_tile_config ours = { .palette = 1 };
    for (int i = 0; i < 8; i++) {
        ours.rows[i] = 16;
        ours.row_bytes[i] = 64;
    }
    S2V_STORE_TILE_CONFIG(*before);
    S2V_LOAD_TILE_CONFIG(ours);
}

static inline void s2v_tiles_leave(const s2v_tile_config *before)
{
    if (before->palette)
        S2V_LOAD_TILE_CONFIG(*before);
    else
        _tile_release();
}

#endif /* S2_ENGINE_TOWER_TILES_H */
