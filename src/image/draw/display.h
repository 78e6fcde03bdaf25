/* display.h - a picture in a terminal. */
#ifndef S2_IMAGE_DISPLAY_H
#define S2_IMAGE_DISPLAY_H

#include "base/buffer.h"

typedef enum s2_display {
    S2_DISPLAY_NONE,
    S2_DISPLAY_KITTY,
    S2_DISPLAY_BLOCKS,
    S2_DISPLAY_ASCII
} s2_display;

/* Bytes for a terminal `columns` wide: kitty graphics, half blocks in 24-bit color, or plain
 * ASCII shades. S2_DISPLAY_NONE appends nothing. A tall picture is shown narrower. */
s2p_status s2_display_render(const s2p_image *picture, s2_display how, int32_t columns,
                             s2_buffer *out, s2p_error *error);

#endif /* S2_IMAGE_DISPLAY_H */
