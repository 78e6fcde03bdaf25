/* kernels.h - the inner loops that touch every pixel or every hidden state.
 *
 * laplacian.c is the reference: plain C, always built, always tested. Each variant
 * has its own file and gives the same bits: the pixel kernels use integers, and the
 * distance adds in an order that every variant can follow (see S2P_LANES). A table is
 * chosen once, when a plan is created, and passed down; there is no global state.
 */
#ifndef S2_PRUNE_KERNELS_H
#define S2_PRUNE_KERNELS_H

#include "s2prune.h"

typedef struct s2p_kernels {
    const char *name; /* "scalar", "avx2", "avx512", "neon" */

    /* Process one more row. `rgb` is the picture row below `mid`; its gray, as in Pillow's mode "L",
     *     down[x] = (19595 R + 38470 G + 7471 B + 32768) >> 16
     * is written for all columns, and with it the Laplacian of the same columns,
     *     L = up[x] + down[x] + mid[x - 1] + mid[x + 1] - 4 mid[x]
     * is added to moments[i] where edge[i] <= x < edge[i + 1]. edge: [n + 1] rising from 0 to the
     * width; n >= 1. Reads rgb[0 .. 3 width), up[0 .. width), mid[-1 .. width + 1): the caller
     * repeats the outermost values in the margins of `mid`. */
    void (*laplacian_row)(const uint8_t *rgb, const uint8_t *up, const uint8_t *mid, uint8_t *down,
                          const int32_t *edge, int32_t n, s2p_moments *moments);

    /* || a - b ||_2 of two rows, differences and result in float32; the sum is a double. */
    float (*distance)(const float *a, const float *b, int32_t dim);
} s2p_kernels;

/* Element i of a distance goes to partial sum i mod S2P_LANES; then the upper half is added to the
 * lower half until one is left. The square of a float is exact in a double, so with or without
 * fused multiply-add this is one number, whatever the width of the vectors. */
#define S2P_LANES 16

/* The end of a distance: n < S2P_LANES elements after the last full vector, and the partial sums. */
float s2p_finish_distance(double lane[S2P_LANES], const float *a, const float *b, int32_t n);

extern const s2p_kernels s2p_kernels_scalar;
#if defined(S2P_X86_KERNELS)
extern const s2p_kernels s2p_kernels_avx2, s2p_kernels_avx512;
#elif defined(S2P_NEON_KERNELS)
extern const s2p_kernels s2p_kernels_neon;
#endif

/* The fastest table this CPU can run. */
const s2p_kernels *s2p_kernels_choose(void);

/* Every table this CPU can run, scalar first; NULL past the end. For tests and benchmarks. */
const s2p_kernels *s2p_kernels_at(size_t index);

#endif /* S2_PRUNE_KERNELS_H */
