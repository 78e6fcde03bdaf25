/* verify_hf_tiles.c - cases of InternVL and SmolVLM: pictures in tiles and whole.
 *
 * case.tiles has rows and columns of tiles for each picture; a label names the picture of each grid:
 * "a" is one seen whole, "a:tiles" its tiles, and "a:thumbnail" or "a:global" follows them. How many
 * tiles were allowed is not told: the largest limit that gives these tiles is taken, the model's own
 * first. Views are stored in the order of the prompt, the whole picture behind its tiles.
 */
#include "verify/hf_case.h"

#include "engine/vision/towers/vit_tower.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define CLOSE 1e-6f
#define MOST_TILES 64

bool s2_hf_is_tiled(const s2v_gguf *full) { return s2v_gguf_find_key(full, "case.tiles") != NULL; }

/* Rows and columns of tiles the engine gives a picture of this size. */
static bool count_tiles(const s2v_model *model, const s2p_image *image, const s2v_image_options *o,
                        int32_t *rows, int32_t *cols, s2_size *size)
{
    const int32_t side = ((const vit_tower *)model->own)->side;
    const s2p_image empty = { image->width, image->height, 3 * (ptrdiff_t)image->width, NULL };
    s2v_frame f;
    if (model->arch->frame(model, &empty, o, S2V_FRAMING_ANYRES, &f, NULL) != S2P_OK) return false;
    *rows = *cols = 1;
    if (f.n_parts > 1) {
        *rows = f.part[1].grid.rows / side;
        *cols = f.part[1].grid.cols / side;
    }
    if (size) *size = (s2_size){ f.part[f.n_parts - 1].width, f.part[f.n_parts - 1].height };
    s2v_frame_free(&f);
    return true;
}

static bool find_limit(hf_case *c, const s2v_model *model, int32_t i, int64_t rows, int64_t cols)
{
    const int64_t area =
        (int64_t)((const vit_tower *)model->own)->image * ((const vit_tower *)model->own)->image;
    s2v_image_options *o = &c->size[i];
    int32_t got_rows, got_cols;
    o->framing = rows * cols <= 1 ? S2V_FRAMING_BASE : S2V_FRAMING_ANYRES;
    c->n_views[i] = rows * cols <= 1 ? 1 : (int32_t)(rows * cols) + 1;
    if (rows * cols <= 1) return true;
    for (int32_t most = MOST_TILES; most >= 0; most--) {
        o->max_pixels = most == MOST_TILES ? 0 : most * area;
        if (count_tiles(model, &c->view[i], o, &got_rows, &got_cols, NULL) && got_rows == rows &&
            got_cols == cols)
            return true;
    }
    s2_differs(c->verdict, "picture %d: no limit gives %dx%d tiles", i, (int)rows, (int)cols);
    return false;
}

bool s2_hf_read_tiles(hf_case *c, const s2v_model *model)
{
    const s2v_gguf_key *tiles = s2v_gguf_find_key(c->full, "case.tiles");
    const s2v_image_options o = { .size = sizeof(s2v_image_options) };
    char key[32], label[64];
    for (int32_t j = 0; j < 2 * HF_MAX_PICTURES; j++) {
        (void)snprintf(key, sizeof key, "grid%d.label", j);
        if (!s2_hf_text(c->full, key, label, sizeof label)) break;
        const char *kind = strchr(label, ':');
        const int32_t last = c->n_pictures - 1;
        if (kind && strcmp(kind, ":tiles") != 0 && last >= 0) {
            c->whole_grid[last] = j;
            continue;
        }
        int64_t rows, cols;
        const uint64_t at = 2 * (uint64_t)(last + 1);
        if (!s2_hf_add_named(c, label, &o) || !s2v_gguf_item_int(tiles, at, &rows) ||
            !s2v_gguf_item_int(tiles, at + 1, &cols)) {
            s2_malformed(c->verdict, "no picture or no tiles for '%s'", label);
            return false;
        }
        c->whole_grid[last + 1] = kind ? -1 : j;
        c->tile_grid[last + 1] = kind ? j : -1;
        if (!find_limit(c, model, last + 1, rows, cols)) return false;
    }
    if (c->n_pictures == 0) s2_malformed(c->verdict, "the case names no pictures");
    return c->n_pictures > 0;
}

size_t s2_hf_n_views(const hf_case *c)
{
    size_t n = 0;
    for (int32_t i = 0; i < c->n_pictures; i++) n += (size_t)c->n_views[i];
    return n;
}

size_t s2_hf_stored_view(const hf_case *c, int32_t picture, int32_t view)
{
    size_t n = 0;
    for (int32_t i = 0; i < picture; i++) n += (size_t)c->n_views[i];
    return n + (size_t)(view == 0 ? c->n_views[picture] - 1 : view - 1);
}

/* --- pixels ------------------------------------------------------------------------ */

/* Line y of a view. expected: [channel][lines][x], the line. */
static bool is_line_close(const s2v_model *model, const float *view, int32_t y,
                          const float *expected, size_t n_lines)
{
    const s2v_tower *v = &model->tower;
    const vit_tower *own = model->own;
    const int32_t merge = v->merge, py = y / v->patch;
    for (int32_t ch = 0; ch < 3; ch++)
        for (int32_t x = 0; x < own->patches * v->patch; x++) {
            const int32_t px = x / v->patch, token = py / merge * own->side + px / merge;
            const int32_t patch = token * merge * merge + py % merge * merge + px % merge;
            const int32_t at = (ch * v->patch + y % v->patch) * v->patch + x % v->patch;
            const float got = view[(ptrdiff_t)patch * v->patch_row + at];
            const float wanted = expected[(size_t)ch * n_lines * (size_t)own->image + (size_t)x];
            if (!(fabsf(wanted - got) <= CLOSE)) return false;
        }
    return true;
}

void s2_hf_check_tiles(hf_case *c, const s2v_model *model, const char *name)
{
    char key[80], path[HF_PATH_CAPACITY];
    size_t n_lines = 0, n_values = 0;
    const vit_tower *own = model->own;
    (void)snprintf(key, sizeof key, "%s.rows", name);
    const int32_t *line = s2_hf_ints(c->golden, key, &n_lines);
    (void)snprintf(key, sizeof key, "%s.pixel_values", name);
    const float *values = s2_hf_floats(c->golden, key, &n_values);
    hf_case of = { .verdict = c->verdict };
    (void)snprintf(of.folder, sizeof of.folder, "%s", c->folder);
    (void)snprintf(path, sizeof path, "%.3900s/full_%.60s.gguf", c->folder, name);
    const bool is_there = s2v_gguf_open(&of.full, path, NULL) == S2P_OK && s2_hf_is_tiled(of.full);
    if (!line || !values || !is_there) {
        s2_malformed(c->verdict, "%s: no lines, pixel values or case", name);
    } else if (s2_hf_read_tiles(&of, model)) {
        const size_t per_view = 3 * n_lines * (size_t)own->image;
        if (n_values != s2_hf_n_views(&of) * per_view)
            s2_differs(c->verdict, "%s: %zu views of pixel values, %zu expected", name,
                       n_values / per_view, s2_hf_n_views(&of));
        for (int32_t i = 0; !c->verdict->case_failed && i < of.n_pictures; i++) {
            s2v_frame f;
            if (model->arch->frame(model, &of.view[i], &of.size[i], S2V_FRAMING_ANYRES, &f, NULL) !=
                S2P_OK) {
                s2_differs(c->verdict, "%s: refused", name);
                break;
            }
            for (int32_t view = 0; view < f.n_views; view++)
                for (size_t k = 0; k < n_lines; k++) {
                    const float *got =
                        f.patches + (ptrdiff_t)view * f.n_patches * model->tower.patch_row;
                    const float *expected = values + s2_hf_stored_view(&of, i, view) * per_view +
                                            k * (size_t)own->image;
                    if (line[k] < 0 || line[k] >= own->patches * model->tower.patch) continue;
                    if (!is_line_close(model, got, line[k], expected, n_lines))
                        s2_differs(c->verdict, "%s: line %d of view %d of picture %d differs", name,
                                   line[k], view, i);
                }
            s2v_frame_free(&f);
        }
    }
    for (int32_t i = 0; i < of.n_pictures; i++) s2_image_free(&of.picture[i]);
    s2v_gguf_close(of.full);
}

/* InternVL's "tiles": height, width, most tiles, columns, rows. SmolVLM's "sizes": height, width, longest
 * side, then height and width after each step, the last two those of the tiled picture. */
void s2_hf_check_tile_sizes(hf_case *c, const s2v_model *model)
{
    const int32_t tile = ((const vit_tower *)model->own)->image;
    size_t n_tiles = 0, n_sizes = 0;
    const int32_t *tiles = s2_hf_ints(c->golden, "tiles", &n_tiles);
    const int32_t *sizes = s2_hf_ints(c->golden, "sizes", &n_sizes);
    for (size_t i = 0; tiles && i + 5 <= n_tiles; i += 5) {
        const int32_t *t = tiles + i;
        const s2v_image_options o = { .size = sizeof o,
                                      .framing = S2V_FRAMING_ANYRES,
                                      .max_pixels = (int64_t)t[2] * tile * tile };
        int32_t rows = 0, cols = 0;
        if (!count_tiles(model, &(s2p_image){ t[1], t[0], 0, NULL }, &o, &rows, &cols, NULL) ||
            cols != t[3] || rows != t[4])
            s2_differs(c->verdict, "tiles: %dx%d pixels, at most %d tiles: %dx%d, expected %dx%d",
                       t[1], t[0], t[2], cols, rows, t[3], t[4]);
    }
    for (size_t i = 0; sizes && i + 7 <= n_sizes; i += 7) {
        const int32_t *s = sizes + i;
        const s2v_image_options o = { .size = sizeof o,
                                      .framing = S2V_FRAMING_ANYRES,
                                      .max_pixels = (int64_t)s[2] * s[2] };
        int32_t rows = 0, cols = 0;
        s2_size size = { 0, 0 };
        if (!count_tiles(model, &(s2p_image){ s[1], s[0], 0, NULL }, &o, &rows, &cols, &size) ||
            size.height != s[5] || size.width != s[6])
            s2_differs(c->verdict, "sizes: %dx%d pixels within %d: %dx%d, expected %dx%d", s[1],
                       s[0], s[2], size.width, size.height, s[6], s[5]);
    }
}
