/* last_frame.c - pixels to compare, and the frame they became. */
#include "engine/vision/last_frame.h"

#include <stdlib.h>
#include <string.h>

#define MAX_BYTES ((size_t)32 << 20) /* pixels and patches together */

static bool is_same_before(const s2v_image_options *a, const s2v_image_options *b)
{
    const s2p_pixelprune *x = &a->pixelprune, *y = &b->pixelprune;
    if (!a->before_tower || !b->before_tower) return !a->before_tower && !b->before_tower;
    if (a->n_regions > 0 || b->n_regions > 0) return false; /* they decide what enters */
    return x->scan == y->scan && x->metric == y->metric && x->threshold == y->threshold &&
           x->sliding == y->sliding && x->skip_ratio == y->skip_ratio;
}

static bool is_same(const s2v_last_frame *last, const s2p_image *image, const s2v_image_options *o,
                    s2v_framing usual)
{
    const s2v_image_options *l = &last->options;
    if (!last->pixels || last->width != image->width || last->height != image->height ||
        last->usual != usual || l->width != o->width || l->height != o->height ||
        l->min_pixels != o->min_pixels || l->max_pixels != o->max_pixels ||
        l->framing != o->framing || l->no_newline != o->no_newline || l->resize != o->resize ||
        !is_same_before(l, o))
        return false;
    const size_t n = 3 * (size_t)image->width;
    for (int32_t y = 0; y < image->height; y++)
        if (memcmp(last->pixels + (size_t)y * n, image->pixels + y * image->stride, n) != 0)
            return false;
    return true;
}

bool s2v_last_frame_take(s2v_last_frame *last, const s2p_image *image,
                         const s2v_image_options *options, s2v_framing usual, s2v_frame *out)
{
    if (last->frame.n_views == 0 || !is_same(last, image, options, usual)) return false;
    *out = last->frame;
    last->frame = (s2v_frame){ .n_views = 0 };
    return true;
}

void s2v_last_frame_keep(s2v_last_frame *last, const s2p_image *image,
                         const s2v_image_options *options, s2v_framing usual, int32_t patch_row,
                         s2v_frame *frame)
{
    if (!is_same(last, image, options, usual)) {
        const size_t row = 3 * (size_t)image->width, n = row * (size_t)image->height;
        const size_t n_patches = (size_t)frame->n_views * (size_t)frame->n_patches;
        s2v_last_frame_free(last);
        if (n + n_patches * (size_t)patch_row * sizeof *frame->patches > MAX_BYTES) return;
        last->pixels = malloc(n);
        if (!last->pixels) return;
        for (int32_t y = 0; y < image->height; y++)
            memcpy(last->pixels + (size_t)y * row, image->pixels + y * image->stride, row);
        last->width = image->width;
        last->height = image->height;
        last->options = *options;
        last->options.regions = NULL; /* was borrowed */
        last->usual = usual;
    }
    s2v_frame_free(&last->frame);
    last->frame = *frame;
    *frame = (s2v_frame){ .n_views = 0 };
}

void s2v_last_frame_free(s2v_last_frame *last)
{
    free(last->pixels);
    s2v_frame_free(&last->frame);
    *last = (s2v_last_frame){ .pixels = NULL };
}
