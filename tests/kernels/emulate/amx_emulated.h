/* amx_emulated.h - the tiles of AMX in plain C, one thread's worth.
 *
 * An instruction on tiles that were not configured ends the program, as the CPU would. The state is the
 * test's, so that it can look at what a kernel leaves behind.
 */
#ifndef TESTS_AMX_EMULATED_H
#define TESTS_AMX_EMULATED_H

#include "kernels/halves.h"

#include <immintrin.h> /* its macros of the same names give way */
#include <stdlib.h>

typedef struct emulated_tiles {
    s2v_tile_config config;
    uint8_t tile[8][1024];
} emulated_tiles;

extern emulated_tiles s2v_emulated_tiles;

#define S2V_LOAD_TILE_CONFIG(c) (s2v_emulated_tiles.config = (c))
#define S2V_STORE_TILE_CONFIG(c) ((c) = s2v_emulated_tiles.config)

static inline int emulated_rows(int t) { return s2v_emulated_tiles.config.rows[t]; }
static inline int emulated_width(int t) { return s2v_emulated_tiles.config.row_bytes[t]; }

static inline uint8_t *emulated_tile(int t)
{
    const bool has_size = emulated_rows(t) >= 1 && emulated_rows(t) <= 16 &&
                          emulated_width(t) >= 4 && emulated_width(t) <= 64;
    if (s2v_emulated_tiles.config.palette != 1 || !has_size) abort();
    return s2v_emulated_tiles.tile[t];
}

/* The sizes fit each other, as the CPU wants it: c [m][n], a [m][k], b [k][n]. */
static inline void emulated_check(int c, int a, int b)
{
    if (emulated_rows(c) != emulated_rows(a) || emulated_width(c) != emulated_width(b) ||
        emulated_width(a) != 4 * emulated_rows(b))
        abort();
}

static inline void emulated_tile_release(void)
{
    s2v_emulated_tiles.config = (s2v_tile_config){ .palette = 0 };
}

static inline void emulated_tile_zero(int t) { memset(emulated_tile(t), 0, 1024); }

static inline void emulated_tile_load(int t, const void *p, ptrdiff_t pitch)
{
    memset(emulated_tile(t), 0, 1024);
    for (int r = 0; r < emulated_rows(t); r++)
        memcpy(emulated_tile(t) + 64 * r, (const char *)p + r * pitch, (size_t)emulated_width(t));
}

static inline void emulated_tile_store(int t, void *p, ptrdiff_t pitch)
{
    for (int r = 0; r < emulated_rows(t); r++)
        memcpy((char *)p + r * pitch, emulated_tile(t) + 64 * r, (size_t)emulated_width(t));
}

static inline float emulated_tile_bf16(const uint8_t *p)
{
    uint16_t h;
    memcpy(&h, p, sizeof h);
    return (h & 0x7f80) == 0 ? 0.0f : s2v_float_of_bf16(h); /* denormals are zeros */
}

/* c[m][n] += sum over k of a[m][k pair] . b[k][n pair] */
static inline void emulated_tile_dpbf16ps(int c, int a, int b)
{
    const uint8_t *x = emulated_tile(a), *y = emulated_tile(b);
    emulated_check(c, a, b);
    for (int m = 0; m < emulated_rows(c); m++)
        for (int n = 0; n < emulated_width(c) / 4; n++) {
            float sum;
            memcpy(&sum, emulated_tile(c) + 64 * m + 4 * n, 4);
            for (int k = 0; k < emulated_rows(b); k++)
                for (int i = 0; i < 2; i++)
                    sum += emulated_tile_bf16(x + 64 * m + 4 * k + 2 * i) *
                           emulated_tile_bf16(y + 64 * k + 4 * n + 2 * i);
            memcpy(emulated_tile(c) + 64 * m + 4 * n, &sum, 4);
        }
}

/* The same with four bytes each, those of b signed. */
static inline void emulated_tile_bytes(int c, int a, int b, bool is_signed)
{
    const uint8_t *x = emulated_tile(a);
    const int8_t *y = (const int8_t *)emulated_tile(b);
    emulated_check(c, a, b);
    for (int m = 0; m < emulated_rows(c); m++)
        for (int n = 0; n < emulated_width(c) / 4; n++) {
            int32_t sum;
            memcpy(&sum, emulated_tile(c) + 64 * m + 4 * n, 4);
            for (int k = 0; k < emulated_rows(b); k++)
                for (int i = 0; i < 4; i++) {
                    const uint8_t left = x[64 * m + 4 * k + i];
                    sum += (is_signed ? (int8_t)left : left) * y[64 * k + 4 * n + i];
                }
            memcpy(emulated_tile(c) + 64 * m + 4 * n, &sum, 4);
        }
}

static inline void emulated_tile_dpbssd(int c, int a, int b) { emulated_tile_bytes(c, a, b, true); }
static inline void emulated_tile_dpbusd(int c, int a, int b)
{
    emulated_tile_bytes(c, a, b, false);
}

#undef _tile_zero
#undef _tile_loadd
#undef _tile_stream_loadd
#undef _tile_stored
#undef _tile_dpbf16ps
#undef _tile_dpbssd
#undef _tile_dpbusd
#define _tile_release emulated_tile_release
#define _tile_zero emulated_tile_zero
#define _tile_loadd emulated_tile_load
#define _tile_stream_loadd emulated_tile_load
#define _tile_stored emulated_tile_store
#define _tile_dpbf16ps emulated_tile_dpbf16ps
#define _tile_dpbssd emulated_tile_dpbssd
#define _tile_dpbusd emulated_tile_dpbusd

#endif /* TESTS_AMX_EMULATED_H */
