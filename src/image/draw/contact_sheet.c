/* contact_sheet.c - lay out tiles, draw pictures and captions into them. */
#include "image/draw/contact_sheet.h"

#include "image/draw/drawing.h"

#include <math.h>
#include <string.h>

#define GAP 20         /* between tiles, and around all of them */
#define PAD 8          /* between a picture and its lines */
#define SHAPE 1.5      /* width over height a sheet aims at */
#define MAX_TALL 2     /* height over width of a tile; taller pictures stand narrower in it */
#define SMALL_TILE 240 /* narrower than this gets small letters */
#define MAX_TILES 4096

#define COLOUR_PAPER 255
#define COLOUR_INK ((s2_colour){ 32, 34, 40 })
#define COLOUR_FAINT ((s2_colour){ 100, 105, 116 })
#define COLOUR_EMPTY ((s2_colour){ 232, 233, 236 })
#define COLOUR_RIGHT ((s2_colour){ 20, 112, 50 })
#define COLOUR_WRONG ((s2_colour){ 180, 35, 24 })

static int32_t line_height(const s2_sheet *s) { return (S2_LETTER_HEIGHT + 2) * s->scale; }

static int32_t tile_pitch_x(const s2_sheet *s) { return s->tile_width + GAP; }

static int32_t tile_pitch_y(const s2_sheet *s)
{
    return s->tile_height + PAD + 2 * line_height(s) + GAP;
}

static int32_t heading(const s2_sheet *s) { return GAP + line_height(s) + PAD; }

static int32_t sheet_width(const s2_sheet *s) { return GAP + s->columns * tile_pitch_x(s); }

static int32_t sheet_height(const s2_sheet *s)
{
    const int32_t n_rows = (s->n_tiles + s->columns - 1) / s->columns;
    return heading(s) + n_rows * tile_pitch_y(s);
}

/* The columns whose sheet comes closest to the shape and leaves few places empty. */
static void choose_columns(s2_sheet *s)
{
    double best = INFINITY;
    s2_sheet trial = *s;
    for (trial.columns = s->group; trial.columns <= s->n_tiles; trial.columns += s->group) {
        const int32_t n_empty = (trial.columns - s->n_tiles % trial.columns) % trial.columns;
        const double off = fabs(log((double)sheet_width(&trial) / sheet_height(&trial) / SHAPE)) +
                           0.5 * n_empty / s->n_tiles;
        if (off >= best) continue;
        best = off;
        s->columns = trial.columns;
    }
}

/* The largest tiles that fit; false when even the smallest do not. */
static bool lay_out(s2_sheet *s, int32_t width, int32_t height)
{
    static const int32_t widths[] = { 480, 400, 320, 240, 180, 120, 96 };
    for (size_t i = s->n_tiles <= 12 ? 0 : 2; i < sizeof widths / sizeof *widths; i++) {
        s->tile_width = widths[i];
        const double tall = fmin((double)height / width, MAX_TALL);
        s->tile_height = (int32_t)fmax(rint(widths[i] * tall), 1.0);
        s->scale = widths[i] < SMALL_TILE ? 1 : 2;
        choose_columns(s);
        if ((int64_t)sheet_width(s) * sheet_height(s) <= S2_SHEET_MAX_PIXELS) return true;
    }
    return false;
}

static void fill_frame(s2_image *image, s2p_rect r, s2_colour colour)
{
    for (int32_t y = r.row0; y < r.row1; y++)
        for (int32_t x = r.col0; x < r.col1; x++)
            s2_blend(image->pixels + image->view.stride * y + (ptrdiff_t)3 * x, colour, 255);
}

s2p_status s2_sheet_create(const char *title, int32_t n_tiles, int32_t group, int32_t width,
                           int32_t height, s2_sheet *out, s2p_error *error)
{
    s2_sheet sheet = { .n_tiles = n_tiles, .group = group };
    if (n_tiles < 1 || group < 1 || n_tiles % group != 0 || width < 1 || height < 1)
        return s2_fail(error, S2P_EINVAL, "cannot lay out %d tiles of %dx%d px, %d together",
                       (int)n_tiles, (int)width, (int)height, (int)group);
    if (n_tiles > MAX_TILES || !lay_out(&sheet, width, height))
        return s2_fail(error, S2P_ELIMIT,
                       "%d pictures do not fit a sheet of %lld pixels; use fewer methods, budgets "
                       "or pictures",
                       (int)n_tiles, (long long)S2_SHEET_MAX_PIXELS);
    TRY(s2_image_create(sheet_width(&sheet), sheet_height(&sheet), &sheet.image, error));
    memset(sheet.image.pixels, COLOUR_PAPER,
           (size_t)sheet.image.view.stride * (size_t)sheet.image.view.height);
    (void)s2_letters_draw(&sheet.image, title ? title : "", GAP, GAP,
                          sheet.image.view.width - 2 * GAP, sheet.scale, COLOUR_INK);
    *out = sheet;
    return S2P_OK;
}

s2p_rect s2_sheet_at(const s2_sheet *s, int32_t index)
{
    const int32_t x = GAP + index % s->columns * tile_pitch_x(s);
    const int32_t y = heading(s) + index / s->columns * tile_pitch_y(s);
    return (s2p_rect){ y, x, y + s->tile_height, x + s->tile_width };
}

/* Two texts on one line: the right one whole if it can be, the left one in what is left. */
static void draw_line(s2_sheet *s, s2p_rect at, int32_t line, const char *left, s2_colour left_ink,
                      const char *right, s2_colour right_ink)
{
    const int32_t y = at.row1 + PAD + line * line_height(s);
    int32_t room = s->tile_width;
    if (right) {
        const int32_t wide = s2_letters_width(strlen(right), s->scale);
        if (wide < room) {
            (void)s2_letters_draw(&s->image, right, at.col1 - wide, y, wide, s->scale, right_ink);
            room -= wide + S2_LETTER_ADVANCE * s->scale;
        }
    }
    if (left) (void)s2_letters_draw(&s->image, left, at.col0, y, room, s->scale, left_ink);
}

/* The picture as large as the tile allows, in its middle. */
static s2p_status draw_picture(s2_sheet *s, s2p_rect at, const s2p_image *picture, s2p_error *error)
{
    const double by_width = (double)s->tile_width / picture->width;
    const double by_height = (double)s->tile_height / picture->height;
    const double factor = fmin(by_width, by_height);
    const int32_t w = (int32_t)fmax(fmin(rint(picture->width * factor), s->tile_width), 1.0);
    const int32_t h = (int32_t)fmax(fmin(rint(picture->height * factor), s->tile_height), 1.0);
    s2_image fitted;
    TRY(s2_image_resize(picture, w, h, &fitted, error));
    const int32_t x = at.col0 + (s->tile_width - w) / 2, y = at.row0 + (s->tile_height - h) / 2;
    for (int32_t row = 0; row < h; row++)
        memcpy(s->image.pixels + s->image.view.stride * (y + row) + (ptrdiff_t)3 * x,
               fitted.pixels + fitted.view.stride * row, (size_t)3 * (size_t)w);
    s2_image_free(&fitted);
    return S2P_OK;
}

s2p_status s2_sheet_place(s2_sheet *sheet, int32_t index, const s2_sheet_tile *tile,
                          s2p_error *error)
{
    if (index < 0 || index >= sheet->n_tiles)
        return s2_fail(error, S2P_EINVAL, "tile %d of a sheet of %d", (int)index,
                       (int)sheet->n_tiles);
    const s2p_rect at = s2_sheet_at(sheet, index);
    if (tile->picture)
        TRY(draw_picture(sheet, at, tile->picture, error));
    else
        fill_frame(&sheet->image, at, COLOUR_EMPTY);
    draw_line(sheet, at, 0, tile->title, COLOUR_INK, tile->note, COLOUR_FAINT);
    draw_line(sheet, at, 1, tile->text, COLOUR_INK, tile->mark,
              tile->is_right ? COLOUR_RIGHT : COLOUR_WRONG);
    return S2P_OK;
}
