/* regions.c - boxes in pixels of the picture as it was decoded, masks read, blank boxes painted. */
#include "ask/regions.h"

#include "image/draw/overlay.h"
#include "image/token_marks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PAINT 127 /* the gray that towers take for nothing */

/* The size of the file as it is displayed: a picture that was decoded at a reduced scale may be turned. */
static s2_size displayed(const s2_image *picture)
{
    const s2_size now = { picture->view.width, picture->view.height }, was = picture->stored;
    if (was.width < 1 || was.height < 1) return now;
    const bool is_turned = (was.width > was.height) != (now.width > now.height);
    return is_turned ? (s2_size){ was.height, was.width } : was;
}

/* In pixels of the picture as it was decoded. */
static s2p_status place(const s2a_box *box, int32_t index, const s2_image *picture, s2p_region *out,
                        s2p_error *error)
{
    const s2_size size = displayed(picture);
    const int32_t side[2] = { size.width, size.height };
    const int32_t now[2] = { picture->view.width, picture->view.height };
    double at[4];
    for (int k = 0; k < 4; k++)
        at[k] = box->is_share[k] ? box->at[k] / 100.0 * side[k % 2] : box->at[k];
    for (int k = 0; k < 2; k++)
        if (at[k] >= side[k])
            return s2_fail(error, S2P_EINVAL,
                           "the box %g,%g,%g,%g is outside picture %d, which has %dx%d pixels",
                           at[0], at[1], at[2], at[3], index + 1, size.width, size.height);
    for (int k = 0; k < 4; k++) at[k] *= (double)now[k % 2] / side[k % 2];
    *out = (s2p_region){ .x = at[0], .y = at[1], .width = at[2], .height = at[3] };
    return S2P_OK;
}

/* Every pixel that the region touches. */
static void paint(const s2p_region *r, s2_image *picture)
{
    const double nearly = 1e-9;
    const int32_t width = picture->view.width, height = picture->view.height;
    for (int32_t y = 0; y < height; y++) {
        uint8_t *line = picture->pixels + (ptrdiff_t)y * picture->view.stride;
        if (r->mask) {
            for (int32_t x = 0; x < width; x++)
                if (r->mask[(ptrdiff_t)y * width + x]) memset(line + (ptrdiff_t)3 * x, PAINT, 3);
            continue;
        }
        if (y + 1 <= r->y + nearly || y >= r->y + r->height - nearly) continue;
        const int32_t first = (int32_t)fmax(floor(r->x + nearly), 0.0),
                      end = (int32_t)fmin(ceil(r->x + r->width - nearly), width);
        memset(line + (ptrdiff_t)3 * first, PAINT, (size_t)3 * (size_t)(end - first));
    }
}

/* A pixel of the picture is marked by any light pixel of the mask over it; they differ where one of them was
 * decoded at a reduced scale. Whether there is one. */
static bool mark_light(const uint8_t *gray, const s2p_image *mask, int32_t width, int32_t height,
                       uint8_t *marked)
{
    const int64_t w = mask->width, h = mask->height;
    bool has_one = false;
    for (int64_t y = 0; y < height; y++)
        for (int64_t x = 0; x < width; x++) {
            uint8_t *out = &marked[y * width + x];
            const int64_t bottom = ((y + 1) * h + height - 1) / height,
                          right = ((x + 1) * w + width - 1) / width;
            for (int64_t r = y * h / height; r < bottom && !*out; r++)
                for (int64_t c = x * w / width; c < right; c++) *out |= gray[r * w + c] >= 128;
            has_one = has_one || *out;
        }
    return has_one;
}

static s2p_status read_mask(const s2a_box *box, int32_t index, const s2_image *picture,
                            s2a_mask_reader reader, void *user, s2a_regions *out, s2p_error *error)
{
    s2_image mask = { .pixels = NULL };
    const s2_size size = displayed(picture);
    const int32_t width = picture->view.width, height = picture->view.height;
    TRY(reader(box->mask, user, &mask, error));
    const s2_size own = displayed(&mask);
    s2p_status st = S2P_OK;
    uint8_t *marked = NULL;
    if (own.width != size.width || own.height != size.height)
        st = s2_fail(error, S2P_EINVAL,
                     "the mask %.200s has %dx%d pixels and picture %d has %dx%d; a mask must "
                     "have the size of its picture",
                     box->mask, own.width, own.height, index + 1, size.width, size.height);
    if (st == S2P_OK) {
        const size_t n = (size_t)width * (size_t)height;
        uint8_t *gray = malloc((size_t)mask.view.width * (size_t)mask.view.height);
        marked = calloc(n, 1);
        if (!gray || !marked) st = s2_fail_memory(error, n, "a mask");
        if (st == S2P_OK) s2_image_gray(&mask.view, gray);
        if (st == S2P_OK && !mark_light(gray, &mask.view, width, height, marked))
            st = s2_fail(error, S2P_EINVAL,
                         "the mask %.200s marks nothing: no pixel is at least half white",
                         box->mask);
        free(gray);
    }
    s2_image_free(&mask);
    if (st == S2P_OK)
        out->mask[out->n_masks++] = marked;
    else
        free(marked);
    return st;
}

s2p_status s2a_boxes_apply(const s2a_boxes *boxes, int32_t index, s2_image *picture,
                           s2a_mask_reader reader, void *user, s2a_regions *out, s2p_error *error)
{
    const size_t n = (size_t)boxes->n;
    *out = (s2a_regions){ .n = 0 };
    if (n == 0) return S2P_OK;
    out->region = calloc(n, sizeof *out->region);
    out->mask = calloc(n, sizeof *out->mask);
    s2p_status st = out->region && out->mask ? S2P_OK : s2_fail_memory(error, n, "boxes");
    for (int32_t i = 0; st == S2P_OK && i < boxes->n; i++) {
        const s2a_box *box = &boxes->box[i];
        s2p_region region = { .mask = NULL };
        if (box->picture != 0 && box->picture != index + 1) continue;
        if (box->mask)
            st = read_mask(box, index, picture, reader, user, out, error);
        else
            st = place(box, index, picture, &region, error);
        if (st != S2P_OK) break;
        if (box->mask) region.mask = out->mask[out->n_masks - 1];
        region.kind = box->kind == S2A_BOX_DROP ? S2P_REGION_DROP : S2P_REGION_KEEP;
        if (box->kind == S2A_BOX_BLANK)
            paint(&region, picture);
        else
            out->region[out->n++] = region;
    }
    if (st != S2P_OK) s2a_regions_free(out);
    return st;
}

void s2a_regions_free(s2a_regions *regions)
{
    for (int32_t i = 0; i < regions->n_masks; i++) free(regions->mask[i]);
    free(regions->mask);
    free(regions->region);
    *regions = (s2a_regions){ .n = 0 };
}

void s2a_regions_mark(const s2a_regions *regions, s2_size size, s2_size shown, s2p_grid grid,
                      uint8_t *mark)
{
    const size_t n = (size_t)grid.rows * (size_t)grid.cols;
    memset(mark, 0, n);
    for (int32_t i = 0; i < regions->n; i++) {
        const s2p_region *r = &regions->region[i];
        const uint8_t kind = r->kind == S2P_REGION_DROP ? S2_OVERLAY_DROPPED : S2_OVERLAY_KEPT;
        if (r->mask)
            s2_mark_pixels(r->mask, size, shown, grid, kind, mark);
        else
            s2_mark_box(r->x, r->y, r->width, r->height, size, shown, grid, kind, mark);
    }
    for (size_t t = 0; t < n; t++)
        if (mark[t] & S2_OVERLAY_DROPPED) mark[t] = S2_OVERLAY_DROPPED;
}
