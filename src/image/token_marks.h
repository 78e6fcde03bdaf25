/* token_marks.h - which tokens of a grid over a picture show a box or a mask. */
#ifndef S2_IMAGE_TOKEN_MARKS_H
#define S2_IMAGE_TOKEN_MARKS_H

#include "image/geometry.h"
#include "s2prune.h"

/* `kind` is added to the bits of each token that shows any part of the box, in pixels of a picture of `size`.
 * shown: the size in which the grid lies over it: equal, or padded or cropped around its middle. */
void s2_mark_box(double x, double y, double width, double height, s2_size size, s2_size shown,
                 s2p_grid grid, uint8_t kind, uint8_t *mark);

/* The same of every pixel of mask[height][width] that is not 0. */
void s2_mark_pixels(const uint8_t *mask, s2_size size, s2_size shown, s2p_grid grid, uint8_t kind,
                    uint8_t *mark);

#endif /* S2_IMAGE_TOKEN_MARKS_H */
