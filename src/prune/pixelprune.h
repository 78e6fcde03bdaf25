/* pixelprune.h - the squares of a picture, one for each token, and the distance between two squares. */
#ifndef S2_PRUNE_PIXELPRUNE_H
#define S2_PRUNE_PIXELPRUNE_H

#include "s2prune.h"

#include <stdbool.h>

typedef struct s2p_squares {
    const s2p_image *image;
    s2p_grid grid;
    int32_t width, height; /* pixels of a square */
    s2p_distance metric;
    double threshold;
    int32_t most; /* the largest difference of two bytes; -1: the metric sums them */
} s2p_squares;

/* Whether the distance of squares a and b is at most the threshold. */
bool s2p_squares_alike(const s2p_squares *squares, int32_t a, int32_t b);

/* pixelprune_components.c: keeps all but a share of skip_ratio of each component. is_kept: [tokens] out. */
s2p_status s2p_squares_components(const s2p_squares *squares, double skip_ratio, bool *is_kept);

#endif /* S2_PRUNE_PIXELPRUNE_H */
