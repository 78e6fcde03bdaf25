/* vit_tiles.h - a picture as tiles of the tower's size, and whole: InternVL and SmolVLM.
 *
 * The tokens of the tiles are one grid over the picture, those of the whole another. In the prompt the
 * tiles come first, row by row; the whole picture is last.
 */
#ifndef S2_ENGINE_VIT_TILES_H
#define S2_ENGINE_VIT_TILES_H

#include "engine/vision/towers/vit_tower.h"

typedef struct
    vit_marks { /* text among the tokens of a picture, special tokens in it; NULL: none */
    const char *before_tile;
    bool names_tiles;       /* then "<row_R_col_C>", counted from 1 */
    const char *after_line; /* of tiles */
    const char *before_whole, *after_whole;
    const char *before_single; /* instead of before_whole where there are no tiles */
} vit_marks;

typedef struct vit_tiling { /* what the frame of a picture is made of */
    int32_t rows, cols;     /* tiles; 1 and 1: only the whole picture */
    s2v_framing framing;
    s2_size size;           /* pixels of the tiled picture */
    const s2p_image *tiled; /* of that size; NULL without tiles, or if only rows are needed */
    const s2p_image *whole; /* of one tile; NULL: only rows are needed */
    const vit_marks *marks; /* NULL: no text */
} vit_tiling;

/* The framings and sizes of these models. *is_whole: without tiles. *tiles: as requested by
 * options->width and height; 0: not requested. */
s2p_status s2v_vit_tiles_asked(const s2v_model *model, const s2v_image_options *options,
                               bool *is_whole, s2_size *tiles, s2p_error *error);

s2p_status s2v_vit_tiles_frame(const s2v_model *model, const vit_tiling *tiling, s2v_frame *out,
                               s2p_error *error);

#endif /* S2_ENGINE_VIT_TILES_H */
