/* vit_tiles.c - views, parts and rows of a picture in tiles.
 *
 * View 0 is the whole picture and part 0; the tiles are the views after it and part 1, whatever their
 * order in the prompt. Text between tiles is tokenized here, as one piece from tile to tile: two line
 * ends side by side are another token than the two apart.
 */
#include "engine/vision/towers/vit_tiles.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TEXT 256 /* bytes between two tiles */
#define MAX_TILES_SIDE 64

s2p_status s2v_vit_tiles_asked(const s2v_model *model, const s2v_image_options *o, bool *is_whole,
                               s2_size *tiles, s2p_error *error)
{
    const int32_t tile = ((const vit_tower *)model->own)->image;
    *tiles = (s2_size){ 0, 0 };
    if (o->framing == S2V_FRAMING_SQUARE || o->framing == S2V_FRAMING_CROP)
        return s2_fail(error, S2P_EUNSUPPORTED,
                       "%s stretches pictures; use the view base (one tile) or anyres (tiles)",
                       model->arch->title);
    if ((unsigned)o->framing > S2V_FRAMING_CROP)
        return s2_fail(error, S2P_EINVAL, "unknown framing %d", (int)o->framing);
    if (o->min_pixels > 0)
        return s2_fail(error, S2P_EINVAL,
                       "min pixels: %s has no such limit; max pixels limits its tiles of %dx%d",
                       model->arch->title, tile, tile);
    if (o->width > 0 || o->height > 0) {
        if (o->width < tile || o->height < tile || o->width % tile || o->height % tile ||
            o->width > MAX_TILES_SIDE * tile || o->height > MAX_TILES_SIDE * tile)
            return s2_fail(error, S2P_EINVAL,
                           "image size %dx%d: %s sees tiles of %dx%d pixels; both sides have to be "
                           "multiples of %d",
                           o->width, o->height, model->arch->title, tile, tile, tile);
        *tiles = (s2_size){ o->width / tile, o->height / tile };
    }
    *is_whole = o->framing == S2V_FRAMING_BASE || (tiles->width == 1 && tiles->height == 1);
    return S2P_OK;
}

/* --- rows -------------------------------------------------------------------------- */

typedef struct layout { /* rows as they come; the first failure sticks */
    const s2v_model *model;
    s2v_frame *frame;
    int32_t capacity;
    char pending[MAX_TEXT]; /* text since the last tile */
    size_t n_pending;
    s2p_status status;
    s2p_error *error;
} layout;

static void add_text(layout *l, const char *text)
{
    const size_t n = text ? strlen(text) : 0;
    if (l->status != S2P_OK) return;
    if (n > sizeof l->pending - l->n_pending) {
        l->status = s2_fail(l->error, S2P_ELIMIT, "too much text between two tiles");
        return;
    }
    if (n > 0) memcpy(l->pending + l->n_pending, text, n);
    l->n_pending += n;
}

/* The pending text as rows. */
static void flush(layout *l)
{
    s2v_frame *f = l->frame;
    s2v_tokens tokens = { .id = NULL };
    if (l->status != S2P_OK || l->n_pending == 0) return;
    l->status =
        s2v_tokenize(l->model->tokenizer, l->pending, l->n_pending, true, &tokens, l->error);
    for (size_t i = 0; l->status == S2P_OK && i < tokens.n; i++) {
        if (f->n_rows == l->capacity)
            l->status = s2_fail(l->error, S2P_ELIMIT, "too many rows for one picture");
        else
            f->text[f->n_rows++] = tokens.id[i];
    }
    s2v_tokens_free(&tokens);
    l->n_pending = 0;
}

/* Tokens of a view; returns the row of the first. */
static int32_t add_view(layout *l)
{
    const vit_tower *own = l->model->own;
    s2v_frame *f = l->frame;
    flush(l);
    const int32_t first = f->n_rows, n = own->side * own->side;
    if (l->status != S2P_OK) return 0;
    for (int32_t i = 0; i < n; i++) f->text[f->n_rows++] = -1;
    return first;
}

/* Which rows the tokens of tiles and whole are, and which are text. */
static s2p_status lay_out(const s2v_model *model, const vit_tiling *t, s2v_frame *f,
                          s2p_error *error)
{
    const vit_tower *own = model->own;
    const int32_t side = own->side, n_tiles = f->n_views - 1, n = side * side;
    static const vit_marks nothing = { .before_tile = NULL };
    const vit_marks *marks = t->marks ? t->marks : &nothing;
    /* Text of MAX_TEXT bytes has as many tokens at most. */
    const size_t room = (size_t)f->n_views * (size_t)(n + MAX_TEXT) + MAX_TEXT;
    f->text = malloc(room * sizeof *f->text);
    if (n_tiles > 0) f->row = malloc((size_t)n_tiles * (size_t)n * sizeof *f->row);
    if (!f->text || (n_tiles > 0 && !f->row))
        return s2_fail_memory(error, room * sizeof *f->text, "the rows of a picture");
    layout l = { .model = model, .frame = f, .capacity = (int32_t)room - n, .error = error };
    for (int32_t i = 0; i < n_tiles; i++) {
        const int32_t line = i / t->cols, column = i % t->cols;
        char name[48];
        (void)snprintf(name, sizeof name, "<row_%d_col_%d>", line + 1, column + 1);
        add_text(&l, marks->before_tile);
        if (marks->names_tiles) add_text(&l, name);
        const int32_t first = add_view(&l);
        for (int32_t k = 0; k < n; k++) {
            const int32_t y = line * side + k / side, x = column * side + k % side;
            f->row[y * t->cols * side + x] = first + k;
        }
        if (column == t->cols - 1) add_text(&l, marks->after_line);
    }
    add_text(&l, n_tiles > 0 ? marks->before_whole : marks->before_single);
    f->part[0] = (s2v_part){ .grid = { side, side },
                             .first = add_view(&l),
                             .pitch = side,
                             .width = own->image,
                             .height = own->image };
    add_text(&l, marks->after_whole);
    flush(&l);
    if (n_tiles > 0)
        f->part[1] = (s2v_part){ .grid = { t->rows * side, t->cols * side },
                                 .row = f->row,
                                 .width = t->size.width,
                                 .height = t->size.height };
    if (!t->marks) { /* none of the rows is text */
        free(f->text);
        f->text = NULL;
    }
    return l.status;
}

/* --- views ------------------------------------------------------------------------- */

/* The tokens of the tiles are those of part 1 as they are. */
static s2p_status blend_tiles(const s2v_model *model, const vit_tiling *t, s2v_frame *f,
                              s2p_error *error)
{
    const int32_t side = ((const vit_tower *)model->own)->side, cols = t->cols * side;
    const int32_t n = s2v_part_tokens(&f->part[1]);
    f->blend = malloc((size_t)n * sizeof *f->blend);
    if (!f->blend) return s2_fail_memory(error, (size_t)n * sizeof *f->blend, "tiles");
    for (int32_t i = 0; i < n; i++) {
        const int32_t y = i / cols, x = i % cols;
        f->blend[f->n_blend++] = (s2v_blend){ .view = 1 + y / side * t->cols + x / side,
                                              .token = y % side * side + x % side,
                                              .to = i,
                                              .weight = 1.0f };
    }
    return S2P_OK;
}

static s2p_status make_frame(const s2v_model *model, const vit_tiling *t, s2v_frame *f,
                             s2p_error *error)
{
    const vit_tower *own = model->own;
    const bool has_tiles = t->rows * t->cols > 1;
    *f = (s2v_frame){ .framing = t->framing,
                      .n_views = has_tiles ? t->rows * t->cols + 1 : 1,
                      .n_patches = own->patches * own->patches,
                      .n_parts = has_tiles ? 2 : 1 };
    TRY(lay_out(model, t, f, error));
    if (!t->whole) return S2P_OK;
    TRY(s2v_vit_reserve(&model->tower, f, error));
    const ptrdiff_t per_view = (ptrdiff_t)f->n_patches * model->tower.patch_row;
    s2v_vit_cut_view(model, t->whole, 0, 0, f->patches);
    for (int32_t i = 0; has_tiles && i < t->rows * t->cols; i++)
        s2v_vit_cut_view(model, t->tiled, i / t->cols * own->image, i % t->cols * own->image,
                         f->patches + (i + 1) * per_view);
    return has_tiles ? blend_tiles(model, t, f, error) : S2P_OK;
}

s2p_status s2v_vit_tiles_frame(const s2v_model *model, const vit_tiling *tiling, s2v_frame *out,
                               s2p_error *error)
{
    s2v_frame frame;
    const s2p_status st = make_frame(model, tiling, &frame, error);
    if (st == S2P_OK)
        *out = frame;
    else
        s2v_frame_free(&frame);
    return st;
}
