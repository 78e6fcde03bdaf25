/* pixelprune_components.c - PixelPrune's `conncomp`: connected components of alike squares.
 *
 * Neighbors (left and right, above and below) within the threshold belong together. A component of
 * n squares keeps max(1, n - rint(n * skip_ratio)) of them, evenly spaced in raster order, at the
 * places torch.linspace gives: float32 steps, the second half counted from the end, truncated.
 */
#include "prune/pixelprune.h"

#include <math.h>
#include <stdlib.h>

/* The representative of a component; the way there is halved. */
static int32_t find(int32_t *parent, int32_t t)
{
    while (parent[t] != t) {
        parent[t] = parent[parent[t]];
        t = parent[t];
    }
    return t;
}

/* The smaller index represents both, so that a representative comes first in raster order. */
static void join(int32_t *parent, int32_t a, int32_t b)
{
    a = find(parent, a);
    b = find(parent, b);
    if (a < b)
        parent[b] = a;
    else
        parent[a] = b;
}

/* Place i of k in a list of n, k >= 2. */
static int32_t spaced(int32_t i, int32_t k, int32_t n)
{
    const float end = (float)(n - 1), step = end / (float)(k - 1);
    if (i < k / 2) return (int32_t)(step * (float)i);
    const float back = step * (float)(k - 1 - i);
    return (int32_t)(end - back);
}

s2p_status s2p_squares_components(const s2p_squares *s, double skip_ratio, bool *is_kept)
{
    const int32_t cols = s->grid.cols, n = s->grid.rows * cols;
    int32_t *parent = malloc(4 * (size_t)n * sizeof *parent);
    if (!parent) return S2P_ENOMEM;
    int32_t *size = parent + n, *first = size + n, *member = first + n;
    for (int32_t t = 0; t < n; t++) parent[t] = t;
    for (int32_t t = 0; t < n; t++) {
        if (t % cols + 1 < cols && s2p_squares_alike(s, t, t + 1)) join(parent, t, t + 1);
        if (t + cols < n && s2p_squares_alike(s, t, t + cols)) join(parent, t, t + cols);
    }
    /* Members of a component side by side, ascending. */
    for (int32_t t = 0; t < n; t++) size[t] = 0;
    for (int32_t t = 0; t < n; t++) size[find(parent, t)]++;
    for (int32_t t = 0, at = 0; t < n; at += size[t++]) first[t] = at;
    for (int32_t t = 0; t < n; t++) {
        is_kept[t] = false;
        member[first[find(parent, t)]++] = t;
    }
    for (int32_t t = 0; t < n; t++) {
        if (size[t] == 0) continue;
        const int32_t *of = member + first[t] - size[t];
        int32_t k = size[t] - (int32_t)rint(size[t] * skip_ratio);
        if (k < 1) k = 1;
        is_kept[of[0]] = true;
        for (int32_t i = 1; i < k; i++) is_kept[of[spaced(i, k, size[t])]] = true;
    }
    free(parent);
    return S2P_OK;
}
