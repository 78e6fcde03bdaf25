/* regions.h - parts of a picture whose tokens stay or go whatever the method selects. */
#ifndef S2_ENGINE_REGIONS_H
#define S2_ENGINE_REGIONS_H

#include "image/geometry.h"
#include "s2vlm.h"

enum { S2V_MARK_NONE = 0, S2V_MARK_KEEP = 1, S2V_MARK_DROP = 2 };

/* S2P_EINVAL: a region has no numbers, no area, or lies outside of the picture. S2P_ELIMIT: too many. */
s2p_status s2v_regions_check(const s2v_image_options *options, int32_t picture, s2_size size,
                             s2p_error *error);

/* What each token of a grid over the picture is. shown: the size of the picture as its framing shows it,
 * padded or cropped around its middle. mark: [tokens] out; a dropped token is not kept. */
void s2v_regions_mark(const s2v_image_options *options, s2_size size, s2_size shown, s2p_grid grid,
                      uint8_t *mark);

#endif /* S2_ENGINE_REGIONS_H */
