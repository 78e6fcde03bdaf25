/* qwen_frame.c - a picture cut into patches, in the order Qwen2.5-VL's tower wants them.
 *
 * Resize (Pillow's bicubic), normalise, cut. Windows of 4x4 tokens become
 * contiguous, whole ones first, then those cut off at the right, the bottom and the
 * corner, so that every kind is one batch of equal sequences and no mask is
 * needed. Attention inside a window does not care about the order of windows;
 * `raster` puts the tokens back.
 */
#include "engine/vision/archs/qwen_frame.h"

#include "base/checked.h"
#include "image/geometry.h"
#include "image/image.h"

#include <stdlib.h>

#define MAX_TOKENS 16384

static s2p_status target_size(const s2v_vision *v, const s2p_image *image,
                              const s2v_image_options *options, s2_size *out, s2p_error *error)
{
    const int32_t unit = v->patch * v->merge;
    if (options->width > 0 || options->height > 0) {
        if (options->width < unit || options->height < unit || options->width % unit != 0 ||
            options->height % unit != 0)
            return s2_fail(error, S2P_EINVAL, "image size %dx%d is not a multiple of %d pixels",
                           options->width, options->height, unit);
        *out = (s2_size){ options->width, options->height };
    } else {
        const s2_size in = { image->width, image->height };
        const int64_t low = options->min_pixels > 0 ? options->min_pixels : v->min_pixels;
        const int64_t high = options->max_pixels > 0 ? options->max_pixels : v->max_pixels;
        if (low > high)
            return s2_fail(error, S2P_EINVAL, "min pixels %lld is above max pixels %lld",
                           (long long)low, (long long)high);
        if (s2_smart_resize(in, unit, low, high, out) != S2P_OK)
            return s2_fail(error, S2P_EUNSUPPORTED,
                           "a picture of %dx%d pixels is too stretched; 200:1 is the limit",
                           image->width, image->height);
    }
    const int64_t tokens = (int64_t)(out->width / unit) * (out->height / unit);
    if (tokens > MAX_TOKENS)
        return s2_fail(error, S2P_ELIMIT,
                       "a picture of %dx%d pixels has %lld tokens; the limit is %d", out->width,
                       out->height, (long long)tokens, MAX_TOKENS);
    return S2P_OK;
}

typedef struct cutter {
    const s2v_vision *v;
    const s2p_image *image; /* already resized */
    float level[3][256];    /* byte -> normalised value */
    s2v_frame *frame;
    int32_t at; /* patches placed so far */
} cutter;

/* [channel][y][x], as the convolution's weights are stored. */
static void cut_patch(cutter *c, int32_t row, int32_t col)
{
    const int32_t patch = c->v->patch;
    float *out = c->frame->patches + (ptrdiff_t)c->at * c->v->patch_row;
    for (int32_t y = 0; y < patch; y++) {
        const uint8_t *pixel =
            c->image->pixels + (row * patch + y) * c->image->stride + (ptrdiff_t)col * patch * 3;
        for (int32_t x = 0; x < patch; x++, pixel += 3)
            for (int32_t ch = 0; ch < 3; ch++)
                out[(ch * patch + y) * patch + x] = c->level[ch][pixel[ch]];
    }
    for (int32_t plane = 0; plane < 4; plane++)
        c->frame->pos[plane * c->frame->n_patches + c->at] = plane % 2 ? col : row;
    c->at++;
}

static void cut_token(cutter *c, int32_t row, int32_t col)
{
    const int32_t merge = c->v->merge;
    c->frame->raster[row * c->frame->part[0].grid.cols + col] = c->at / (merge * merge);
    for (int32_t y = 0; y < merge; y++)
        for (int32_t x = 0; x < merge; x++) cut_patch(c, row * merge + y, col * merge + x);
}

/* All windows of one kind: bit 0 cut off at the right, bit 1 at the bottom. */
static void cut_windows(cutter *c, int32_t kind)
{
    s2v_frame *f = c->frame;
    const s2p_grid grid = f->part[0].grid;
    const int32_t side = c->v->window, merge = c->v->merge;
    for (int32_t r0 = 0; r0 < grid.rows; r0 += side)
        for (int32_t c0 = 0; c0 < grid.cols; c0 += side) {
            const int32_t r1 = r0 + side < grid.rows ? r0 + side : grid.rows;
            const int32_t c1 = c0 + side < grid.cols ? c0 + side : grid.cols;
            if ((c1 - c0 < side ? 1 : 0) + (r1 - r0 < side ? 2 : 0) != kind) continue;
            for (int32_t row = r0; row < r1; row++)
                for (int32_t col = c0; col < c1; col++) cut_token(c, row, col);
            f->n_windows[kind]++;
            f->window_patches[kind] = (r1 - r0) * (c1 - c0) * merge * merge;
        }
}

static s2p_status cut_all(const s2v_vision *v, const s2p_image *resized, s2v_frame *f,
                          s2p_error *error)
{
    const size_t n = (size_t)f->n_patches;
    f->patches = calloc(n * (size_t)v->patch_row, sizeof *f->patches); /* the padding stays zero */
    f->pos = malloc(4 * n * sizeof *f->pos);
    f->raster = malloc(n * sizeof *f->raster);
    if (!f->patches || !f->pos || !f->raster)
        return s2_fail_memory(error, n * (size_t)v->patch_row * sizeof *f->patches, "patches");
    cutter c = { .v = v, .image = resized, .frame = f };
    for (int32_t ch = 0; ch < 3; ch++)
        for (int32_t b = 0; b < 256; b++)
            c.level[ch][b] = ((float)b * (1.0f / 255.0f) - v->mean[ch]) / v->std[ch];
    for (int32_t kind = 0; kind < S2V_WINDOW_KINDS; kind++) cut_windows(&c, kind);
    return S2P_OK;
}

s2p_status s2v_qwen_frame(const s2v_model *model, const s2p_image *image,
                          const s2v_image_options *options, s2v_framing usual, s2v_frame *out,
                          s2p_error *error)
{
    (void)usual; /* there is one way to see a picture */
    const s2v_vision *v = &model->vision;
    if (options->framing != S2V_FRAMING_AUTO && options->framing != S2V_FRAMING_BASE)
        return s2_fail(error, S2P_EUNSUPPORTED,
                       "this model sees a picture as a whole, in one view; tiles and squares are "
                       "for LLaVA-OneVision");
    s2_size size;
    s2p_status st = target_size(v, image, options, &size, error);
    if (st != S2P_OK) return st;

    s2_image resized;
    st = s2_image_resize(image, size.width, size.height, &resized, error);
    if (st != S2P_OK) return st;
    const int32_t unit = v->patch * v->merge;
    const s2p_grid grid = { size.height / unit, size.width / unit };
    s2v_frame frame = { .n_views = 1, .n_parts = 1, .framing = S2V_FRAMING_BASE };
    frame.n_rows = grid.rows * grid.cols;
    frame.n_patches = frame.n_rows * v->merge * v->merge;
    frame.part[0] =
        (s2v_part){ .grid = grid, .pitch = grid.cols, .width = size.width, .height = size.height };
    st = cut_all(v, &resized.view, &frame, error);
    s2_image_free(&resized);
    if (st != S2P_OK) {
        s2v_frame_free(&frame);
        return st;
    }
    *out = frame;
    return S2P_OK;
}
