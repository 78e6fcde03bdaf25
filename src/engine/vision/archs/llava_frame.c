/* llava_frame.c - a picture as LLaVA-OneVision sees it: 384x384 views of 27x27 tokens.
 *
 * Base: the whole picture stretched to one view; a newline row follows its tokens.
 * Square: the same after padding to a square, what Hugging Face does with several
 * pictures. Any-res, its default for one picture: the base view, then the picture
 * fitted into the best of 36 arrangements of tiles, black around it. The tokens of
 * the tiles are put together to one large grid, the ones of the padding cut off;
 * when more than nine views' worth are left, the grid is shrunk (bilinear); a
 * newline row follows each line of it. 27 patches of 14 pixels cover 378 of 384:
 * the last 6 columns and lines of a view are never seen.
 */
#include "engine/vision/archs/llava_frame.h"

#include "image/geometry.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SQUARE 8192 /* side of a picture padded to a square: 192 MiB of pixels */

/* --- patches --------------------------------------------------------------------- */

typedef struct cutter {
    const s2v_vision *v;
    float level[3][256]; /* byte -> normalised value */
    float *at;           /* where the next patch goes */
} cutter;

static void cutter_init(cutter *c, const s2v_vision *v, float *patches)
{
    *c = (cutter){ .v = v, .at = patches };
    for (int32_t ch = 0; ch < 3; ch++)
        for (int32_t b = 0; b < 256; b++)
            c->level[ch][b] = ((float)b * (1.0f / 255.0f) - v->mean[ch]) / v->std[ch];
}

/* [channel][y][x], as the convolution's weights are stored. */
static void cut_patch(cutter *c, const s2p_image *image, int32_t top, int32_t left)
{
    const int32_t patch = c->v->patch;
    for (int32_t y = 0; y < patch; y++) {
        const uint8_t *pixel = image->pixels + (top + y) * image->stride + (ptrdiff_t)left * 3;
        for (int32_t x = 0; x < patch; x++, pixel += 3)
            for (int32_t ch = 0; ch < 3; ch++)
                c->at[(ch * patch + y) * patch + x] = c->level[ch][pixel[ch]];
    }
    c->at += c->v->patch_row;
}

/* The view whose first pixel is (top, left). */
static void cut_view(cutter *c, const s2p_image *image, int32_t top, int32_t left)
{
    for (int32_t row = 0; row < c->v->side; row++)
        for (int32_t col = 0; col < c->v->side; col++)
            cut_patch(c, image, top + row * c->v->patch, left + col * c->v->patch);
}

static s2p_status cut_resized(cutter *c, const s2p_image *image, s2p_error *error)
{
    s2_image resized;
    const s2p_status st = s2_image_resize(image, c->v->image, c->v->image, &resized, error);
    if (st != S2P_OK) return st;
    cut_view(c, &resized.view, 0, 0);
    s2_image_free(&resized);
    return S2P_OK;
}

/* --- padding ---------------------------------------------------------------------- */

/* `image` in the middle of a larger one of one colour. */
static s2p_status pad(const s2p_image *image, s2_size size, const uint8_t colour[3], s2_image *out,
                      s2p_error *error)
{
    s2_image padded;
    const s2p_status st = s2_image_create(size.width, size.height, &padded, error);
    if (st != S2P_OK) return st;
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

s2p_status s2v_square(const s2v_model *model, const s2p_image *image, s2_image *out,
                      s2p_error *error)
{
    const int32_t side = image->width > image->height ? image->width : image->height;
    if (side > MAX_SQUARE)
        return s2_fail(error, S2P_ELIMIT,
                       "a picture of %dx%d pixels cannot be padded to a square: %d is the limit",
                       image->width, image->height, MAX_SQUARE);
    uint8_t colour[3];
    for (int ch = 0; ch < 3; ch++)
        colour[ch] = (uint8_t)(fminf(fmaxf(model->vision.mean[ch], 0.0f), 1.0f) * 255.0f);
    return pad(image, (s2_size){ side, side }, colour, out, error);
}

/* --- tiles ------------------------------------------------------------------------ */

/* The picture's size when it is fitted into the tiles. */
static s2_size fitted_size(const s2p_image *image, s2_size best)
{
    const double w = image->width, h = image->height;
    const double scale_w = best.width / w, scale_h = best.height / h;
    s2_size size = best;
    if (scale_w < scale_h)
        size.height = (int32_t)fmin(ceil(h * scale_w), best.height);
    else
        size.width = (int32_t)fmin(ceil(w * scale_h), best.width);
    return size;
}

static s2p_status cut_tiles(cutter *c, const s2p_image *image, s2_size fitted, s2_size best,
                            s2p_error *error)
{
    static const uint8_t black[3] = { 0, 0, 0 };
    s2_image resized, padded;
    s2p_status st = s2_image_resize(image, fitted.width, fitted.height, &resized, error);
    if (st != S2P_OK) return st;
    st = pad(&resized.view, best, black, &padded, error);
    s2_image_free(&resized);
    if (st != S2P_OK) return st;
    for (int32_t top = 0; top < best.height; top += c->v->image)
        for (int32_t left = 0; left < best.width; left += c->v->image)
            cut_view(c, &padded.view, top, left);
    s2_image_free(&padded);
    return S2P_OK;
}

/* Which two of `n` samples make sample i of `to`, and the weight of the second: PyTorch's bilinear
 * interpolation with align_corners off, in its own precision. */
static void neighbours(int32_t n, int32_t to, int32_t i, int32_t at[2], float weight[2])
{
    const float scale = (float)n / (float)to;
    const float from = fmaxf(scale * ((float)i + 0.5f) - 0.5f, 0.0f);
    at[0] = (int32_t)from < n - 1 ? (int32_t)from : n - 1;
    at[1] = at[0] < n - 1 ? at[0] + 1 : at[0];
    weight[1] = n == to ? 0.0f : fminf(from - (float)at[0], 1.0f);
    weight[0] = 1.0f - weight[1];
}

typedef struct mosaic { /* tokens of all tiles as one grid */
    const s2v_vision *v;
    s2_anyres plan;
    int32_t top, left; /* tokens of padding cut off there */
} mosaic;

static void add_blend(const mosaic *m, s2v_frame *f, int32_t row, int32_t y, int32_t x,
                      float weight)
{
    if (!(weight > 0.0f)) return;
    const int32_t side = m->v->side, across = m->plan.best.width / m->v->image;
    y += m->top;
    x += m->left;
    f->blend[f->n_blend++] = (s2v_blend){ .view = 1 + y / side * across + x / side,
                                          .token = y % side * side + x % side,
                                          .row = row,
                                          .weight = weight };
}

static s2p_status blend_tiles(const mosaic *m, s2v_frame *f, s2p_error *error)
{
    const s2v_part *part = &f->part[1];
    const int32_t n = s2v_part_tokens(part);
    f->blend = malloc((size_t)n * 4 * sizeof *f->blend);
    if (!f->blend) return s2_fail_memory(error, (size_t)n * 4 * sizeof *f->blend, "tiles");
    for (int32_t t = 0; t < n; t++) {
        int32_t y[2], x[2];
        float wy[2], wx[2];
        neighbours(m->plan.full_rows, part->grid.rows, t / part->grid.cols, y, wy);
        neighbours(m->plan.full_cols, part->grid.cols, t % part->grid.cols, x, wx);
        for (int i = 0; i < 4; i++)
            add_blend(m, f, s2v_part_row(part, t), y[i / 2], x[i % 2], wy[i / 2] * wx[i % 2]);
    }
    return S2P_OK;
}

/* --- the frame -------------------------------------------------------------------- */

static s2p_status check_options(const s2v_vision *v, const s2v_image_options *o, s2p_error *error)
{
    if ((o->width > 0 || o->height > 0) && (o->width != v->image || o->height != v->image))
        return s2_fail(error, S2P_EINVAL, "image size %dx%d: this tower sees %dx%d pixels",
                       o->width, o->height, v->image, v->image);
    if (o->min_pixels > 0 || o->max_pixels > 0)
        return s2_fail(error, S2P_EINVAL, "min and max pixels: this tower has one size, %dx%d",
                       v->image, v->image);
    if ((unsigned)o->framing > S2V_FRAMING_SQUARE)
        return s2_fail(error, S2P_EINVAL, "unknown framing %d", (int)o->framing);
    return S2P_OK;
}

static s2p_status reserve(const s2v_vision *v, s2v_frame *f, s2p_error *error)
{
    const size_t n = (size_t)f->n_views * (size_t)f->n_patches * (size_t)v->patch_row;
    f->patches = calloc(n, sizeof *f->patches); /* the padding of a row stays zero */
    return f->patches ? S2P_OK : s2_fail_memory(error, n * sizeof *f->patches, "patches");
}

/* One view, then a newline. */
static s2p_status frame_whole(const s2v_model *model, const s2p_image *image, bool has_newline,
                              s2v_frame *f, s2p_error *error)
{
    s2p_status st = reserve(&model->vision, f, error);
    if (st != S2P_OK) return st;
    f->n_rows += has_newline;
    cutter c;
    cutter_init(&c, &model->vision, f->patches);
    if (f->framing != S2V_FRAMING_SQUARE) return cut_resized(&c, image, error);
    s2_image squared;
    st = s2v_square(model, image, &squared, error);
    if (st != S2P_OK) return st;
    st = cut_resized(&c, &squared.view, error);
    s2_image_free(&squared);
    return st;
}

static s2p_status frame_tiles(const s2v_model *model, const s2p_image *image, bool has_newline,
                              s2v_frame *f, s2p_error *error)
{
    const s2v_vision *v = &model->vision;
    if (!v->has_tiles)
        return s2_fail(error, S2P_EUNSUPPORTED,
                       "the mmproj lists other tile sizes than LLaVA-OneVision's 36; see the "
                       "picture in its base view");
    const s2_anyres plan =
        s2_anyres_plan((s2_size){ image->width, image->height }, v->image, v->side);
    if (plan.rows < 1 || plan.cols < 1)
        return s2_fail(error, S2P_EUNSUPPORTED,
                       "a picture of %dx%d pixels is too stretched for tiles", image->width,
                       image->height);
    const s2_size fitted = fitted_size(image, plan.best);
    f->n_views = plan.n_views;
    f->n_parts = 2;
    f->part[1] = (s2v_part){ .grid = { plan.rows, plan.cols },
                             .first = f->n_rows,
                             .pitch = plan.cols + has_newline,
                             .width = fitted.width,
                             .height = fitted.height };
    f->n_rows += plan.rows * f->part[1].pitch;

    const int32_t rows = plan.best.height / v->image * v->side,
                  cols = plan.best.width / v->image * v->side;
    const mosaic m = { v, plan, (rows - plan.full_rows) / 2, (cols - plan.full_cols) / 2 };
    s2p_status st = reserve(v, f, error);
    if (st != S2P_OK) return st;
    cutter c;
    cutter_init(&c, v, f->patches);
    st = cut_resized(&c, image, error);
    if (st == S2P_OK) st = cut_tiles(&c, image, fitted, plan.best, error);
    return st == S2P_OK ? blend_tiles(&m, f, error) : st;
}

s2p_status s2v_llava_frame(const s2v_model *model, const s2p_image *image,
                           const s2v_image_options *options, s2v_framing usual, s2v_frame *out,
                           s2p_error *error)
{
    const s2v_vision *v = &model->vision;
    s2p_status st = check_options(v, options, error);
    if (st != S2P_OK) return st;
    const bool has_newline = v->newline && !options->no_newline;
    s2v_frame frame = { .n_views = 1, .n_parts = 1 };
    frame.framing = options->framing != S2V_FRAMING_AUTO ? options->framing : usual;
    frame.n_patches = frame.n_rows = v->side * v->side;
    frame.part[0] = (s2v_part){
        .grid = { v->side, v->side }, .pitch = v->side, .width = v->image, .height = v->image
    };
    st = frame.framing == S2V_FRAMING_ANYRES
             ? frame_tiles(model, image, has_newline, &frame, error)
             : frame_whole(model, image, has_newline, &frame, error);
    if (st != S2P_OK) {
        s2v_frame_free(&frame);
        return st;
    }
    *out = frame;
    return S2P_OK;
}
