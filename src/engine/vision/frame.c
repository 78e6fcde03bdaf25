/* frame.c - what a frame holds, counted and given back. */
#include "engine/vision/frame.h"

#include <stdlib.h>

void s2v_frame_free(s2v_frame *frame)
{
    free(frame->patches);
    free(frame->blend);
    free(frame->row);
    free(frame->kept);
    free(frame->text);
    free(frame->own);
    *frame = (s2v_frame){ .n_views = 0 };
}

int32_t s2v_frame_tokens(const s2v_frame *frame)
{
    int32_t n = 0;
    for (int32_t p = 0; p < frame->n_parts; p++) n += s2v_part_tokens(&frame->part[p]);
    return n;
}

int32_t s2v_frame_all_tokens(const s2v_frame *frame)
{
    int32_t n = 0;
    for (int32_t p = 0; p < frame->n_parts; p++) n += s2v_part_all_tokens(&frame->part[p]);
    return n;
}
