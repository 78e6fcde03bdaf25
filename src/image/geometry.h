/* geometry.h - how large a picture becomes before the tower sees it. */
#ifndef S2_IMAGE_GEOMETRY_H
#define S2_IMAGE_GEOMETRY_H

#include "base/error.h"

typedef struct s2_size {
    int32_t width, height;
} s2_size;

/* Qwen's dynamic size: both sides to multiples of `factor` (half to even), then scaled into
 * [min_pixels, max_pixels]. S2P_EUNSUPPORTED when the aspect ratio is above 200. */
s2p_status s2_smart_resize(s2_size in, int32_t factor, int64_t min_pixels, int64_t max_pixels,
                           s2_size *out);

typedef struct s2_anyres {        /* LLaVA-OneVision, anyres_max_9 */
    s2_size best;                 /* of the 36 pinpoints 384 * {1..6} x 384 * {1..6} */
    int32_t n_views;              /* base view and tiles */
    int32_t full_rows, full_cols; /* tokens of the tiled picture after unpadding */
    int32_t rows, cols;           /* the same after shrinking, if they are too many */
    int32_t n_tokens;             /* base + rows * cols + one newline per row */
} s2_anyres;

/* Tile and token counts for one picture; base: tokens per side of a view (27). */
s2_anyres s2_anyres_plan(s2_size in, int32_t tile, int32_t base);

/* InternVL: columns and rows of at most `most` tiles, at least `least`, whose ratio is nearest to the
 * picture's; of several the larger ones while the picture has more than half their pixels. */
s2_size s2_nearest_tiles(s2_size in, int32_t tile, int32_t least, int32_t most);

/* SmolVLM: the longer side becomes `longest`, the other one follows and is even (*fitted); then both are
 * widened to multiples of `tile` (*tiled). S2P_EUNSUPPORTED where a side would be 0 or above 2^20. */
s2p_status s2_longest_side_tiles(s2_size in, int32_t tile, int32_t longest, s2_size *fitted,
                                 s2_size *tiled);

#endif /* S2_IMAGE_GEOMETRY_H */
