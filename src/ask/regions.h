/* regions.h - the boxes and masks of one picture: paint on its pixels, regions for the engine. */
#ifndef S2_ASK_REGIONS_H
#define S2_ASK_REGIONS_H

#include "ask/boxes.h"
#include "image/image.h"
#include "s2vlm.h"

typedef struct
    s2a_regions {       /* of one picture, as the engine takes them; free with s2a_regions_free */
    s2p_region *region; /* [n] */
    int32_t n;
    uint8_t **mask; /* [n_masks] */
    int32_t n_masks;
} s2a_regions;

/* Reads the picture of a mask. */
typedef s2p_status (*s2a_mask_reader)(const char *path, void *user, s2_image *out,
                                      s2p_error *error);

/* Picture `index` (from 0): paints the blank boxes and returns the rest in *out. A mask marks pixels that
 * are at least half as bright as white. S2P_EINVAL: a box lies outside of the picture, or a mask has another size.
 * On failure the picture may be partly painted. */
s2p_status s2a_boxes_apply(const s2a_boxes *boxes, int32_t index, s2_image *picture,
                           s2a_mask_reader reader, void *user, s2a_regions *out, s2p_error *error);
/* What each token of a grid over the picture is: 0, S2_OVERLAY_KEPT or S2_OVERLAY_DROPPED. shown: as in
 * image/token_marks.h. mark: [tokens] out. */
void s2a_regions_mark(const s2a_regions *regions, s2_size size, s2_size shown, s2p_grid grid,
                      uint8_t *mark);

void s2a_regions_free(s2a_regions *regions); /* all zero is fine */

#endif /* S2_ASK_REGIONS_H */
