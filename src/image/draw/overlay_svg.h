/* overlay_svg.h - show where the tokens went, as SVG. */
#ifndef S2_IMAGE_OVERLAY_SVG_H
#define S2_IMAGE_OVERLAY_SVG_H

#include "base/buffer.h"
#include "image/draw/overlay.h"

/* A self-contained SVG: the picture inside as PNG, text as text, with <title> and <desc>. Bytes
 * that are not UTF-8 in the caption are shown as '?'. */
s2p_status s2_overlay_svg(const s2_overlay *overlay, s2_buffer *out, s2p_error *error);

#endif /* S2_IMAGE_OVERLAY_SVG_H */
