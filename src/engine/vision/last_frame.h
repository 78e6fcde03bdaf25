/* last_frame.h - the picture of the last prompt as the tower's input, kept for the next question
 * about it.
 *
 * To find a picture in the engine's cache, it must be resized, cut and hashed: with a small model
 * that is a quarter of the time of an answer. Comparing its pixels with the last ones is cheaper.
 */
#ifndef S2_ENGINE_LAST_FRAME_H
#define S2_ENGINE_LAST_FRAME_H

#include "engine/vision/frame.h"

#include <stdbool.h>

typedef struct s2v_last_frame { /* all zero: none */
    uint8_t *pixels;            /* [height][width][3] of the source */
    int32_t width, height;
    s2v_image_options options;
    s2v_framing usual;
    s2v_frame frame; /* n_views 0: currently lent out */
} s2v_last_frame;

/* Whether it is this picture with the same options. Then *out is its frame, with the key, and belongs
 * to the caller until s2v_last_frame_keep. */
bool s2v_last_frame_take(s2v_last_frame *last, const s2p_image *image,
                         const s2v_image_options *options, s2v_framing usual, s2v_frame *out);

/* Return the frame of this picture, or replace the kept one; *frame is then empty. A frame too large
 * to keep stays in *frame. */
void s2v_last_frame_keep(s2v_last_frame *last, const s2p_image *image,
                         const s2v_image_options *options, s2v_framing usual, int32_t patch_row,
                         s2v_frame *frame);

void s2v_last_frame_free(s2v_last_frame *last);

#endif /* S2_ENGINE_LAST_FRAME_H */
