/* shrink.h - a picture made smaller until its tokens fit a budget: the method `resize`. */
#ifndef S2_ENGINE_SHRINK_H
#define S2_ENGINE_SHRINK_H

#include "engine/vision/arch.h"

/* The grid of at most `budget` tokens that comes nearest to it in the shape of `grid`, with no more rows or
 * columns: each side is the exact one rounded down or up, of those that fit the most tokens, then the least
 * stretched. budget: from 1 on, below all tokens. */
s2p_grid s2v_shrunk_grid(s2p_grid grid, int32_t budget);

/* Change *options so that the picture becomes at most `budget` tokens. whole: its frame as they are now.
 * S2P_EUNSUPPORTED: the tower has one size, and that is more. */
s2p_status s2v_shrink(const s2v_model *model, const s2v_frame *whole, int32_t budget,
                      s2v_image_options *options, s2p_error *error);

#endif /* S2_ENGINE_SHRINK_H */
