/* regions.c - regions checked, and what they say of tokens. */
#include "engine/vision/regions.h"

#include "base/error.h"
#include "image/token_marks.h"

#include <math.h>
#include <string.h>

s2p_status s2v_regions_check(const s2v_image_options *options, int32_t picture, s2_size size,
                             s2p_error *error)
{
    const int32_t n = options->n_regions;
    if (n < 0 || n > S2P_MAX_REGIONS || (n > 0 && !options->regions))
        return s2_fail(error, S2P_ELIMIT, "picture %d has %d regions; the limit is %d", picture + 1,
                       n, S2P_MAX_REGIONS);
    for (int32_t i = 0; i < n; i++) {
        const s2p_region *r = &options->regions[i];
        if (r->kind != S2P_REGION_KEEP && r->kind != S2P_REGION_DROP)
            return s2_fail(error, S2P_EINVAL, "region %d of picture %d has an unknown kind", i + 1,
                           picture + 1);
        if (r->mask) continue;
        if (!isfinite(r->x) || !isfinite(r->y) || !isfinite(r->width) || !isfinite(r->height) ||
            !(r->width > 0.0) || !(r->height > 0.0))
            return s2_fail(error, S2P_EINVAL,
                           "region %d of picture %d has no area: %g,%g and %g by %g pixels", i + 1,
                           picture + 1, r->x, r->y, r->width, r->height);
        if (r->x >= size.width || r->y >= size.height || r->x + r->width <= 0.0 ||
            r->y + r->height <= 0.0)
            return s2_fail(error, S2P_EINVAL,
                           "region %d of picture %d, %g,%g and %g by %g pixels, lies outside of "
                           "the picture of %dx%d pixels",
                           i + 1, picture + 1, r->x, r->y, r->width, r->height, size.width,
                           size.height);
    }
    return S2P_OK;
}

void s2v_regions_mark(const s2v_image_options *options, s2_size size, s2_size shown, s2p_grid grid,
                      uint8_t *mark)
{
    const size_t n = (size_t)grid.rows * (size_t)grid.cols;
    memset(mark, S2V_MARK_NONE, n);
    for (int32_t i = 0; i < options->n_regions; i++) {
        const s2p_region *r = &options->regions[i];
        const uint8_t kind = r->kind == S2P_REGION_DROP ? S2V_MARK_DROP : S2V_MARK_KEEP;
        if (r->mask)
            s2_mark_pixels(r->mask, size, shown, grid, kind, mark);
        else
            s2_mark_box(r->x, r->y, r->width, r->height, size, shown, grid, kind, mark);
    }
    for (size_t t = 0; t < n; t++)
        if (mark[t] & S2V_MARK_DROP) mark[t] = S2V_MARK_DROP;
}
