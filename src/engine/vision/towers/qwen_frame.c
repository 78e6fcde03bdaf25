/* qwen_frame.c - a picture cut into patches, in the order a Qwen-VL tower wants them.
 *
 * Resize (Pillow's bicubic), normalise, cut. Windows of 4x4 tokens become
 * contiguous, whole ones first, then those cut off at the right, the bottom and the
 * corner, so that every kind is one batch of equal sequences and no mask is
 * needed. Attention inside a window does not care about the order of windows;
 * `raster` puts the tokens back. A tower without windows has one, the whole picture.
 *
 * Tokens that PixelPrune drops are not cut at all. The others keep their rows and columns, and
 * windows stay where they are on the whole grid: one that lost tokens is shorter, one that lost all
 * is not there, and windows of one length are a kind.
 */
#include "engine/vision/towers/qwen_frame.h"

#include "engine/vision/regions.h"
#include "image/geometry.h"
#include "image/image.h"

#include <stdlib.h>
#include <string.h>

#define MAX_TOKENS 16384

/* Where place i of n reads a line of `side` learned positions whose ends are those of the picture, in the
 * floats of torch.linspace: counted from the nearer end. */
static float place_on_line(int32_t i, int32_t n, int32_t side)
{
    if (n < 2) return 0.0f;
    const float end = (float)(side - 1), step = end / (float)(n - 1);
    return i < n / 2 ? step * (float)i : end - step * (float)(n - 1 - i);
}

/* The four learned positions around each patch, and their shares. */
static void interpolate_positions(s2v_frame *f, int32_t side, int32_t n_lines, int32_t n_columns)
{
    const ptrdiff_t n = f->n_patches;
    const int32_t *row = qwen_positions(f), *col = row + n;
    int32_t *tap = ((qwen_order *)f->own)->list + 4 * n + f->n_rows, *weight = tap + 4 * n;
    for (ptrdiff_t i = 0; i < n; i++) {
        const float y = place_on_line(row[i], n_lines, side),
                    x = place_on_line(col[i], n_columns, side);
        const int32_t top = (int32_t)y, left = (int32_t)x;
        const float down = y - (float)top, right = x - (float)left;
        for (int32_t k = 0; k < 4; k++) {
            const int32_t r = top + (k / 2 && top + 1 < side),
                          c = left + (k % 2 && left + 1 < side);
            const float share = (k / 2 ? down : 1.0f - down) * (k % 2 ? right : 1.0f - right);
            tap[k * n + i] = r * side + c;
            memcpy(&weight[k * n + i], &share, sizeof share);
        }
    }
}

/* --- windows -------------------------------------------------------------------------- */

typedef struct laying { /* the tower's order of patches, window by window */
    const s2v_frame *frame;
    const int32_t *place; /* [tokens of the grid] which of those that are there; -1: it is not */
    int32_t *pos, *raster;
    int32_t merge, at; /* patches so far */
} laying;

static s2p_rect window_at(s2p_grid grid, int32_t side, int32_t r0, int32_t c0)
{
    return (s2p_rect){ r0, c0, r0 + side < grid.rows ? r0 + side : grid.rows,
                       c0 + side < grid.cols ? c0 + side : grid.cols };
}

/* Of a whole picture bit 0: cut off at the right, bit 1: at the bottom. With holes: its tokens less one;
 * -1: it has none. */
static int32_t kind_of(const laying *l, s2p_rect w, int32_t side)
{
    if (!l->frame->kept) return (w.col1 - w.col0 < side ? 1 : 0) + (w.row1 - w.row0 < side ? 2 : 0);
    int32_t n = 0;
    for (int32_t r = w.row0; r < w.row1; r++)
        for (int32_t c = w.col0; c < w.col1; c++)
            n += l->place[r * l->frame->part[0].grid.cols + c] >= 0;
    return n - 1;
}

/* The patches of a window's tokens; returns how many. */
static int32_t lay_window(laying *l, s2p_rect w)
{
    const int32_t cols = l->frame->part[0].grid.cols, merge = l->merge, first = l->at;
    for (int32_t r = w.row0; r < w.row1; r++)
        for (int32_t c = w.col0; c < w.col1; c++) {
            const int32_t place = l->place[r * cols + c];
            if (place < 0) continue;
            l->raster[place] = l->at / (merge * merge);
            for (int32_t patch = 0; patch < merge * merge; patch++, l->at++) {
                const int32_t row = r * merge + patch / merge, col = c * merge + patch % merge;
                for (int32_t plane = 0; plane < 4; plane++)
                    l->pos[plane * (ptrdiff_t)l->frame->n_patches + l->at] = plane % 2 ? col : row;
            }
        }
    return l->at - first;
}

/* --- patches -------------------------------------------------------------------------- */

/* Cut the resized picture; windows of one kind are neighbors. */
static s2p_status cut_patches(const s2v_model *model, const s2p_image *image, s2v_frame *f,
                              s2p_error *error)
{
    const s2v_tower *v = &model->tower;
    const int32_t learned = ((const qwen_tower *)model->own)->position_side;
    const size_t n = (size_t)f->n_patches;
    const size_t n_list = (learned > 0 ? 12 : 4) * n + (size_t)f->n_rows;
    const s2p_grid grid = f->part[0].grid;
    f->n_own_bytes = sizeof(qwen_order) + n_list * sizeof(int32_t);
    f->own = calloc(1, f->n_own_bytes);
    f->patches = calloc(n * (size_t)v->patch_row, sizeof *f->patches); /* the padding stays zero */
    int32_t *place = malloc((size_t)grid.rows * (size_t)grid.cols * sizeof *place);
    if (!f->patches || !f->own || !place) {
        free(place);
        return s2_fail_memory(error, n * (size_t)v->patch_row * sizeof *f->patches, "patches");
    }
    for (int32_t t = 0; t < grid.rows * grid.cols; t++) place[t] = f->kept ? -1 : t;
    for (int32_t i = 0; f->kept && i < f->n_rows; i++) place[f->kept[i]] = i;

    qwen_order *order = f->own;
    laying l = { .frame = f, .place = place, .pos = order->list, .merge = v->merge };
    l.raster = l.pos + 4 * (ptrdiff_t)n;
    const int32_t window = ((const qwen_tower *)model->own)->window;
    const int32_t side = window > 0 ? window : grid.rows > grid.cols ? grid.rows : grid.cols;
    order->whole.count[0] = 1;
    order->whole.patches[0] = f->n_patches;
    if (window > 0 || !f->kept)
        for (int32_t kind = 0; kind < S2V_WINDOW_KINDS; kind++)
            for (int32_t r0 = 0; r0 < grid.rows; r0 += side)
                for (int32_t c0 = 0; c0 < grid.cols; c0 += side) {
                    const s2p_rect w = window_at(grid, side, r0, c0);
                    if (kind_of(&l, w, side) != kind) continue;
                    order->windows.count[kind]++;
                    order->windows.patches[kind] = lay_window(&l, w);
                }
    else { /* no windows: all that are there see each other */
        (void)lay_window(&l, (s2p_rect){ 0, 0, grid.rows, grid.cols });
        order->windows = order->whole;
    }
    free(place);
    if (learned > 0) interpolate_positions(f, learned, grid.rows * v->merge, grid.cols * v->merge);
    const int32_t *row = qwen_positions(f), *col = row + f->n_patches;
    const s2v_levels level = s2v_tower_levels(v);
    for (size_t i = 0; i < n; i++)
        s2v_tower_cut_patch(v, &level, image, row[i] * v->patch, col[i] * v->patch,
                            f->patches + i * (size_t)v->patch_row);
    return S2P_OK;
}

/* What has to stay in the decoder enters the tower, too. */
static s2p_status keep_regions(const s2v_image_options *options, s2_size size, s2v_frame *f,
                               int32_t *n_kept, s2p_error *error)
{
    const s2p_grid grid = f->part[0].grid;
    const int32_t n = grid.rows * grid.cols;
    uint8_t *mark = malloc((size_t)n);
    if (!mark) return s2_fail_memory(error, (size_t)n, "the regions of a picture");
    s2v_regions_mark(options, size, size, grid, mark);
    for (int32_t i = 0; i < *n_kept; i++) mark[f->kept[i]] |= S2V_MARK_KEEP;
    *n_kept = 0;
    for (int32_t t = 0; t < n; t++)
        if (mark[t] & S2V_MARK_KEEP) f->kept[(*n_kept)++] = t;
    free(mark);
    return S2P_OK;
}

/* Which tokens of the resized picture enter the tower. All of them: the frame is that of a whole picture. */
static s2p_status skip_tokens(const s2v_model *model, const s2p_image *image, s2_size size,
                              const s2v_image_options *options, s2v_frame *f, s2p_error *error)
{
    const s2p_grid grid = f->part[0].grid;
    const int32_t window = ((const qwen_tower *)model->own)->window, n = f->n_rows;
    if (window * window > S2V_WINDOW_KINDS)
        return s2_fail(error, S2P_EUNSUPPORTED,
                       "PixelPrune knows windows of up to %d tokens; this tower has %d",
                       S2V_WINDOW_KINDS, window * window);
    int32_t n_kept = 0;
    f->kept = malloc((size_t)n * sizeof *f->kept);
    if (!f->kept) return s2_fail_memory(error, (size_t)n * sizeof *f->kept, "kept tokens");
    const s2p_status st =
        s2p_pixelprune_select(image, grid, &options->pixelprune, f->kept, &n_kept);
    if (st != S2P_OK)
        return s2_fail(error, st, "PixelPrune with threshold %g: %s", options->pixelprune.threshold,
                       s2p_status_text(st));
    if (options->n_regions > 0) TRY(keep_regions(options, size, f, &n_kept, error));
    if (n_kept == n) {
        free(f->kept);
        f->kept = NULL;
        return S2P_OK;
    }
    f->n_rows = f->part[0].n_tokens = n_kept;
    f->part[0].token = f->kept;
    f->n_patches = n_kept * model->tower.merge * model->tower.merge;
    return S2P_OK;
}

s2p_status s2v_qwen_frame(const s2v_model *model, const s2p_image *image,
                          const s2v_image_options *options, s2v_framing usual, s2v_frame *out,
                          s2p_error *error)
{
    (void)usual; /* there is one way to see a picture */
    if (options->framing != S2V_FRAMING_AUTO && options->framing != S2V_FRAMING_BASE)
        return s2_fail(
            error, S2P_EUNSUPPORTED,
            "this model takes the whole picture in one view; use the framing auto or base "
            "(the others are for LLaVA)");
    const s2v_tower *v = &model->tower;
    const int32_t unit = v->patch * v->merge;
    const s2_size in = { image->width, image->height };
    s2_size size = { options->width, options->height };
    if (size.width > 0 || size.height > 0) {
        if (size.width < unit || size.height < unit || size.width % unit != 0 ||
            size.height % unit != 0)
            return s2_fail(error, S2P_EINVAL, "image size %dx%d is not a multiple of %d pixels",
                           size.width, size.height, unit);
    } else {
        const int64_t low = options->min_pixels > 0 ? options->min_pixels : v->min_pixels;
        const int64_t high = options->max_pixels > 0 ? options->max_pixels : v->max_pixels;
        if (low > high)
            return s2_fail(error, S2P_EINVAL, "min pixels %lld is above max pixels %lld",
                           (long long)low, (long long)high);
        if (s2_smart_resize(in, unit, low, high, &size) != S2P_OK)
            return s2_fail(
                error, S2P_EUNSUPPORTED,
                "a picture of %dx%d pixels is too elongated; the limit is an aspect ratio of 200:1",
                image->width, image->height);
    }
    const s2p_grid grid = { size.height / unit, size.width / unit };
    const int64_t tokens = (int64_t)grid.cols * grid.rows;
    if (tokens > MAX_TOKENS)
        return s2_fail(error, S2P_ELIMIT,
                       "a picture of %dx%d pixels has %lld tokens; the limit is %d", size.width,
                       size.height, (long long)tokens, MAX_TOKENS);

    s2_image resized;
    s2v_frame frame = { .n_views = 1, .n_parts = 1, .framing = S2V_FRAMING_BASE };
    frame.n_rows = grid.rows * grid.cols;
    frame.n_patches = frame.n_rows * v->merge * v->merge;
    frame.part[0] =
        (s2v_part){ .grid = grid, .pitch = grid.cols, .width = size.width, .height = size.height };
    if (!image->pixels) {
        *out = frame;
        return S2P_OK;
    }
    TRY(s2_image_resize_as(image, size.width, size.height, (s2_resize)options->resize, &resized,
                           error));
    s2p_status st = S2P_OK;
    if (options->before_tower) st = skip_tokens(model, &resized.view, in, options, &frame, error);
    if (st == S2P_OK) st = cut_patches(model, &resized.view, &frame, error);
    s2_image_free(&resized);
    if (st == S2P_OK)
        *out = frame;
    else
        s2v_frame_free(&frame);
    return st;
}
