/* llava_frame.c - a picture as LLaVA-OneVision sees it: 384x384 views of 27x27 tokens.
 *
 * Base: the whole picture stretched to one view; a newline row follows its tokens.
 * Square: the same after padding to a square, what Hugging Face does with several
 * pictures. Crop, what Hugging Face does for LLaVA-1.5: the shorter side resized to the
 * view, the middle of the longer one cut out. Any-res, its default for one picture: the base view, then the picture
 * fitted into the best of 36 arrangements of tiles, black around it. The tokens of
 * the tiles are put together to one large grid, the ones of the padding cut off;
 * when more than nine views' worth are left, the grid is shrunk (bilinear); a
 * newline row follows each line of it. 27 patches of 14 pixels cover 378 of 384:
 * the last 6 columns and lines of a view are never seen.
 */
#include "engine/vision/towers/llava_frame.h"

#include "image/geometry.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SQUARE 8192 /* side of a picture padded to a square: 192 MiB of pixels */

/* --- padding ---------------------------------------------------------------------- */

/* `image` in the middle of a larger one of one color. */
static s2p_status pad_picture(const s2p_image *image, s2_size size, const uint8_t colour[3],
                              s2_image *out, s2p_error *error)
{
    s2_image padded;
    TRY(s2_image_create(size.width, size.height, &padded, error));
    const int32_t top = (size.height - image->height) / 2, left = (size.width - image->width) / 2;
    for (int32_t y = 0; y < size.height; y++) {
        uint8_t *row = padded.pixels + y * padded.view.stride;
        for (int32_t x = 0; x < size.width; x++) memcpy(row + (ptrdiff_t)x * 3, colour, 3);
        if (y < top || y >= top + image->height) continue;
        memcpy(row + (ptrdiff_t)left * 3, image->pixels + (y - top) * image->stride,
               (size_t)image->width * 3);
    }
    *out = padded;
    return S2P_OK;
}

/* The square of `side` in the middle. */
static s2p_status crop_picture(const s2p_image *image, int32_t side, s2_image *out,
                               s2p_error *error)
{
    const int32_t top = (image->height - side) / 2, left = (image->width - side) / 2;
    s2_image cropped;
    TRY(s2_image_create(side, side, &cropped, error));
    for (int32_t y = 0; y < side; y++)
        memcpy(cropped.pixels + y * cropped.view.stride,
               image->pixels + (top + y) * image->stride + (ptrdiff_t)left * 3, (size_t)side * 3);
    *out = cropped;
    return S2P_OK;
}

s2p_status s2v_llava_measured(const s2v_model *model, s2v_framing framing, const s2p_image *source,
                              s2_size *size, s2_image *out, s2p_error *error)
{
    *size = (s2_size){ source->width, source->height };
    const int32_t shorter = source->width < source->height ? source->width : source->height;
    if (framing == S2V_FRAMING_CROP) {
        *size = (s2_size){ shorter, shorter };
        return out && source->width != source->height ? crop_picture(source, shorter, out, error)
                                                      : S2P_OK;
    }
    if (framing != S2V_FRAMING_SQUARE) return S2P_OK;
    const int32_t side = source->width > source->height ? source->width : source->height;
    if (side > MAX_SQUARE)
        return s2_fail(error, S2P_ELIMIT,
                       "a picture of %dx%d pixels cannot be padded to a square: %d is the limit",
                       source->width, source->height, MAX_SQUARE);
    *size = (s2_size){ side, side };
    if (!out || source->width == source->height) return S2P_OK;
    uint8_t colour[3];
    for (int ch = 0; ch < 3; ch++)
        colour[ch] = (uint8_t)(fminf(fmaxf(model->tower.mean[ch], 0.0f), 1.0f) * 255.0f);
    return pad_picture(source, *size, colour, out, error);
}

/* --- views ------------------------------------------------------------------------ */

/* View 0: the whole picture stretched. */
static s2p_status cut_whole(const s2v_model *model, const s2p_image *image, s2_resize how,
                            s2v_frame *f, s2p_error *error)
{
    const vit_tower *own = model->own;
    s2_image resized;
    TRY(s2_image_resize_with(image, own->image, own->image, own->filter, how, &resized, error));
    s2v_vit_cut_view(model, &resized.view, 0, 0, f->patches);
    s2_image_free(&resized);
    return S2P_OK;
}

/* View 0: the shorter side resized, the middle of the longer one. Sizes are truncated as in Hugging
 * Face's resize and center_crop. */
static s2p_status cut_middle(const s2v_model *model, const s2p_image *image, s2_resize how,
                             s2v_frame *f, s2p_error *error)
{
    const vit_tower *own = model->own;
    const int32_t side = own->image;
    const int64_t shorter = image->width < image->height ? image->width : image->height;
    const int64_t width = (int64_t)image->width * side / shorter;
    const int64_t height = (int64_t)image->height * side / shorter;
    if (width > MAX_SQUARE || height > MAX_SQUARE)
        return s2_fail(error, S2P_ELIMIT,
                       "a picture of %dx%d pixels is too elongated to be cropped", image->width,
                       image->height);
    s2_image resized;
    TRY(s2_image_resize_with(image, (int32_t)width, (int32_t)height, own->filter, how, &resized,
                             error));
    s2v_vit_cut_view(model, &resized.view, ((int32_t)height - side) / 2,
                     ((int32_t)width - side) / 2, f->patches);
    s2_image_free(&resized);
    return S2P_OK;
}

/* --- tiles ------------------------------------------------------------------------ */

/* Which two of `n` samples make sample i of `to`, and the weight of the second: PyTorch's bilinear
 * interpolation with align_corners off, in its own precision. */
static void find_neighbours(int32_t n, int32_t to, int32_t i, int32_t at[2], float weight[2])
{
    const float scale = (float)n / (float)to;
    const float from = fmaxf(scale * ((float)i + 0.5f) - 0.5f, 0.0f);
    at[0] = (int32_t)from < n - 1 ? (int32_t)from : n - 1;
    at[1] = at[0] < n - 1 ? at[0] + 1 : at[0];
    weight[1] = n == to ? 0.0f : fminf(from - (float)at[0], 1.0f);
    weight[0] = 1.0f - weight[1];
}

/* The tokens of all tiles as one grid, without those of the padding, shrunk where there are too
 * many: up to four of them make a row. */
static s2p_status blend_tiles(const vit_tower *own, const s2_anyres *plan, s2v_frame *f,
                              s2p_error *error)
{
    const s2v_part *part = &f->part[1];
    const int32_t n = s2v_part_tokens(part), side = own->side;
    const int32_t across = plan->best.width / own->image, down = plan->best.height / own->image;
    const int32_t top = (down * side - plan->full_rows) / 2; /* tokens of padding cut off there */
    const int32_t left = (across * side - plan->full_cols) / 2;
    f->blend = malloc((size_t)n * 4 * sizeof *f->blend);
    if (!f->blend) return s2_fail_memory(error, (size_t)n * 4 * sizeof *f->blend, "tiles");
    for (int32_t t = 0; t < n; t++) {
        int32_t rows[2], cols[2];
        float row_weight[2], col_weight[2];
        find_neighbours(plan->full_rows, part->grid.rows, t / part->grid.cols, rows, row_weight);
        find_neighbours(plan->full_cols, part->grid.cols, t % part->grid.cols, cols, col_weight);
        for (int i = 0; i < 4; i++) {
            const float weight = row_weight[i / 2] * col_weight[i % 2];
            if (!(weight > 0.0f)) continue;
            const int32_t y = rows[i / 2] + top, x = cols[i % 2] + left;
            f->blend[f->n_blend++] = (s2v_blend){ .view = 1 + y / side * across + x / side,
                                                  .token = y % side * side + x % side,
                                                  .to = t,
                                                  .weight = weight };
        }
    }
    return S2P_OK;
}

/* --- the frame -------------------------------------------------------------------- */

/* The whole picture, then the tiles, a newline after each line of them. */
static s2p_status frame_tiles(const s2v_model *model, const s2p_image *image, s2_resize how,
                              bool has_newline, s2v_frame *f, s2p_error *error)
{
    const vit_tower *own = model->own;
    if (model->tower.has_class_row || own->style.projector.pooled_norm)
        return s2_fail(error, S2P_EUNSUPPORTED,
                       "%s takes no tiles; use the framing square (padded), crop or base",
                       model->arch->title);
    if (!own->has_tiles)
        return s2_fail(error, S2P_EUNSUPPORTED,
                       "the mmproj lists other tile sizes than LLaVA-OneVision's 36; see the "
                       "picture in its base view");
    const s2_anyres plan =
        s2_anyres_plan((s2_size){ image->width, image->height }, own->image, own->side);
    if (plan.rows < 1 || plan.cols < 1)
        return s2_fail(error, S2P_EUNSUPPORTED,
                       "a picture of %dx%d pixels is too elongated for tiles", image->width,
                       image->height);
    const s2_size best = plan.best;
    const double scale_w = (double)best.width / image->width;
    const double scale_h = (double)best.height / image->height;
    s2_size fitted = best; /* the picture's size inside the tiles */
    if (scale_w < scale_h)
        fitted.height = (int32_t)fmin(ceil(image->height * scale_w), best.height);
    else
        fitted.width = (int32_t)fmin(ceil(image->width * scale_h), best.width);
    f->n_views = plan.n_views;
    f->n_parts = 2;
    f->part[1] = (s2v_part){ .grid = { plan.rows, plan.cols },
                             .first = f->n_rows,
                             .pitch = plan.cols + has_newline,
                             .width = fitted.width,
                             .height = fitted.height };
    f->n_rows += plan.rows * f->part[1].pitch;
    if (!image->pixels) return S2P_OK;
    TRY(s2v_vit_reserve(&model->tower, f, error));
    TRY(cut_whole(model, image, how, f, error));

    /* Views 1 and up: the picture fitted into the tiles, black around it. */
    static const uint8_t black[3] = { 0, 0, 0 };
    const ptrdiff_t per_view = (ptrdiff_t)f->n_patches * model->tower.patch_row;
    s2_image resized, padded;
    TRY(s2_image_resize_as(image, fitted.width, fitted.height, how, &resized, error));
    const s2p_status st = pad_picture(&resized.view, best, black, &padded, error);
    s2_image_free(&resized);
    if (st != S2P_OK) return st;
    float *view = f->patches + per_view;
    for (int32_t top = 0; top < best.height; top += own->image)
        for (int32_t left = 0; left < best.width; left += own->image, view += per_view)
            s2v_vit_cut_view(model, &padded.view, top, left, view);
    s2_image_free(&padded);
    return blend_tiles(own, &plan, f, error);
}

s2p_status s2v_llava_frame(const s2v_model *model, const s2p_image *image,
                           const s2v_image_options *options, s2v_framing usual, s2v_frame *out,
                           s2p_error *error)
{
    const vit_tower *own = model->own;
    const s2v_image_options *o = options;
    if ((o->width > 0 || o->height > 0) && (o->width != own->image || o->height != own->image))
        return s2_fail(error, S2P_EINVAL, "image size %dx%d: this tower sees %dx%d pixels",
                       o->width, o->height, own->image, own->image);
    if (o->min_pixels > 0 || o->max_pixels > 0)
        return s2_fail(error, S2P_EINVAL, "min and max pixels: this tower has one size, %dx%d",
                       own->image, own->image);
    if ((unsigned)o->framing > S2V_FRAMING_CROP)
        return s2_fail(error, S2P_EINVAL, "unknown framing %d", (int)o->framing);

    const bool has_newline = model->tower.newline && !o->no_newline;
    const s2_resize how = (s2_resize)o->resize;
    s2v_frame frame = { .n_views = 1, .n_parts = 1 };
    frame.framing = o->framing != S2V_FRAMING_AUTO ? o->framing : usual;
    frame.n_patches = own->patches * own->patches;
    frame.n_rows = own->side * own->side;
    frame.part[0] = (s2v_part){ .grid = { own->side, own->side },
                                .pitch = own->side,
                                .width = own->image,
                                .height = own->image };
    s2p_status st;
    if (frame.framing == S2V_FRAMING_ANYRES) {
        st = frame_tiles(model, image, how, has_newline, &frame, error);
    } else { /* one view, then a newline */
        s2_image squared = { .pixels = NULL };
        s2_size size;
        frame.n_rows += has_newline;
        const bool is_crop = frame.framing == S2V_FRAMING_CROP;
        st = image->pixels ? s2v_vit_reserve(&model->tower, &frame, error) : S2P_OK;
        if (st == S2P_OK && image->pixels && is_crop)
            st = cut_middle(model, image, how, &frame, error);
        if (st == S2P_OK && image->pixels && !is_crop)
            st = s2v_llava_measured(model, frame.framing, image, &size, &squared, error);
        if (st == S2P_OK && image->pixels && !is_crop)
            st = cut_whole(model, squared.pixels ? &squared.view : image, how, &frame, error);
        s2_image_free(&squared);
    }
    if (st == S2P_OK)
        *out = frame;
    else
        s2v_frame_free(&frame);
    return st;
}
