/* overlay.h - show where the tokens went, on the picture. */
#ifndef S2_IMAGE_OVERLAY_H
#define S2_IMAGE_OVERLAY_H

#include "base/buffer.h"
#include "image/image.h"

enum { S2_OVERLAY_KEPT = 1, S2_OVERLAY_DROPPED = 2 };

typedef struct s2_overlay { /* what to draw; NULL leaves it out */
    const s2p_image *picture;
    const s2p_layout *layout; /* region borders, shares as numbers, cell borders */
    const int32_t *keep;      /* [n_keep] tokens shown bright, the others dimmed */
    int32_t n_keep;
    const int32_t *entered; /* [n_entered] tokens that entered the tower; the others are tinted */
    int32_t n_entered;
    const uint8_t
        *mark; /* [tokens] S2_OVERLAY_KEPT or S2_OVERLAY_DROPPED: a box of the user says so */
    const char *caption; /* UTF-8, one line below the picture; in the SVG only */
} s2_overlay;

/* A new picture 960 to 1600 px long, so that borders and numbers can be read. Kept tokens: those
 * bright and outlined, the others dark, and blue where they never entered the tower. Marked ones have a green
 * or a red ground. keep NULL: regions
 * tinted by share instead. The caption is
 * left out: pixels have no font. S2P_EINVAL: no picture, or a kept token outside the grid. */
s2p_status s2_overlay_draw(const s2_overlay *overlay, s2_image *out, s2p_error *error);

/* overlay_svg.c: show where the tokens went, as SVG. */

/* A self-contained SVG: the picture inside as PNG, text as text, with <title> and <desc>. Bytes
 * that are not UTF-8 in the caption are shown as '?'. */
s2p_status s2_overlay_svg(const s2_overlay *overlay, s2_buffer *out, s2p_error *error);

#endif /* S2_IMAGE_OVERLAY_H */
