/* shrink.h - reduces a picture until its tokens fit a budget: the method `resize`. */
#ifndef S2_ENGINE_SHRINK_H
#define S2_ENGINE_SHRINK_H

#include "engine/vision/arch.h"

/* The grid of at most `budget` tokens with nearly the shape of `grid`, and no more rows or columns:
 * each side is the exact one rounded down or up; of those that fit, the one with the most tokens, then
 * the least stretched. budget: at least 1, less than all tokens. */
s2p_grid s2v_shrunk_grid(s2p_grid grid, int32_t budget);

/* Change *options so that the picture becomes at most `budget` tokens. whole: its frame with the current
 * options. S2P_EUNSUPPORTED: the tower has one size, which has more tokens. */
s2p_status s2v_shrink(const s2v_model *model, const s2v_frame *whole, int32_t budget,
                      s2v_image_options *options, s2p_error *error);

#endif /* S2_ENGINE_SHRINK_H */
