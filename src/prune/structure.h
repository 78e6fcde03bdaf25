/* structure.h - the pixel stage with scratch memory from the caller. */
#ifndef S2_PRUNE_STRUCTURE_H
#define S2_PRUNE_STRUCTURE_H

#include "prune/kernels/kernels.h"

typedef struct s2p_rows { /* scratch grown to the widest picture seen; all zero: none yet */
    uint8_t *gray;        /* three rows, each with a margin of one value on both sides */
    int32_t *edges;       /* [2][width + 1] column and row boundaries of the regions */
    int32_t width;        /* widest picture that fits */
} s2p_rows;

typedef enum s2p_measure { S2P_MEASURE_LAPLACIAN, S2P_MEASURE_INTENSITY } s2p_measure;

/* Moments of every region, [side * side]. Refusals as s2p_laplacian(); nothing is written then. */
s2p_status s2p_measure_regions(const s2p_image *image, s2p_grid grid, int32_t side,
                               s2p_measure measure, const s2p_kernels *kernels, s2p_rows *rows,
                               s2p_moments *out);

void s2p_rows_free(s2p_rows *rows);

#endif /* S2_PRUNE_STRUCTURE_H */
