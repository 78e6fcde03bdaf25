/* verify_hf_pixels.c - what the tower reads, against the recorded pixel values.
 *
 * Qwen's are patches, rows of <view>.pixel_values in merge groups; LLaVA-OneVision's
 * are some lines of every view, [views][channel][line][x]. Lines and columns beyond
 * the last whole patch are not read by the tower and not compared.
 */
#include "verify/hf_case.h"

#include "engine/vision/towers/vit_tower.h"
#include "engine/vision/towers/qwen_frame.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define CLOSE 1e-6f

/* Row r of the reference: merge groups in raster order, 2x2 patches inside, [c][t][y][x]. */
static void compare_patch(hf_case *c, const s2v_frame *f, const s2v_tower *v, int32_t r,
                          const float *expected)
{
    const int32_t at = qwen_raster(f)[r / 4] * 4 + r % 4, area = v->patch * v->patch;
    const float *got = f->patches + (ptrdiff_t)at * v->patch_row;
    for (int32_t ch = 0; ch < 3; ch++)
        for (int32_t t = 0; t < 2; t++)
            for (int32_t i = 0; i < area; i++)
                if (!(fabsf(expected[(ch * 2 + t) * area + i] - got[ch * area + i]) <= CLOSE)) {
                    s2_differs(c->verdict, "pixel_values: row %d differs", r);
                    return;
                }
}

/* What the tower saw, stored beside the case, or the source it was made of; its size. */
static bool find_view(hf_case *c, const char *name, s2v_image_options *size)
{
    char key[80], path[HF_PATH_CAPACITY];
    size_t n = 0;
    s2_image_limits limits;
    s2_image_limits_init(&limits);
    s2_image *view = &c->picture[c->n_pictures];
    (void)snprintf(key, sizeof key, "view_%s", name);
    if (c->n_pictures == HF_MAX_PICTURES) return false;
    if (s2_hf_find_file(c->folder, key, ".png", false, path)) {
        if (s2_image_load(path, S2_PIXELS_REFERENCE, &limits, view, NULL) != S2P_OK) return false;
        *size = (s2v_image_options){ .size = sizeof(s2v_image_options),
                                     .width = view->view.width,
                                     .height = view->view.height };
        c->view[c->n_pictures++] = view->view;
        return true;
    }
    (void)snprintf(key, sizeof key, "%s.grid_thw", name);
    const int32_t *grid = s2_hf_ints(c->golden, key, &n);
    if (!grid || n != 3 || grid[1] < 1 || grid[2] < 1 || grid[1] > 4096 || grid[2] > 4096)
        return false;
    *size = (s2v_image_options){ .size = sizeof(s2v_image_options),
                                 .width = grid[2] * c->patch,
                                 .height = grid[1] * c->patch,
                                 .resize = S2V_RESIZE_PILLOW13 };
    return s2_hf_add_source_of(c, name, size);
}

static void check_view(hf_case *c, const s2v_model *model, const char *name)
{
    char key[80];
    size_t n_rows = 0, n_values = 0;
    const size_t width = 6 * (size_t)model->tower.patch * (size_t)model->tower.patch;
    (void)snprintf(key, sizeof key, "%s.rows", name);
    const int32_t *rows = s2_hf_ints(c->golden, key, &n_rows);
    (void)snprintf(key, sizeof key, "%s.pixel_values", name);
    const float *values = s2_hf_floats(c->golden, key, &n_values);
    s2v_image_options size;
    s2v_frame frame;
    if (!rows || !values || n_values != n_rows * width || !find_view(c, name, &size)) {
        s2_malformed(c->verdict, "%s: no rows, pixel values or picture", name);
        return;
    }
    const s2p_image *view = &c->view[c->n_pictures - 1];
    if (model->arch->frame(model, view, &size, S2V_FRAMING_BASE, &frame, NULL) != S2P_OK) {
        s2_differs(c->verdict, "%s: refused", name);
        return;
    }
    for (size_t i = 0; i < n_rows; i++)
        if (rows[i] >= 0 && rows[i] < frame.n_patches)
            compare_patch(c, &frame, &model->tower, rows[i], values + i * width);
        else
            s2_malformed(c->verdict, "%s: row %d is outside the picture", name, rows[i]);
    s2v_frame_free(&frame);
}

/* --- LLaVA-OneVision --------------------------------------------------------------- */

/* Where the patch of a line and a column stands: the patches of a token are neighbors. */
static int32_t place_of(const s2v_model *model, int32_t row, int32_t col)
{
    const int32_t merge = model->tower.merge, side = ((const vit_tower *)model->own)->side;
    const int32_t token = row / merge * side + col / merge;
    return token * merge * merge + row % merge * merge + col % merge;
}

/* Line y of a view, all columns whole patches cover. expected: [channel][lines][x], the line. */
static bool is_line_close(const s2v_model *model, const float *view, int32_t y,
                          const float *expected, size_t n_lines)
{
    const s2v_tower *v = &model->tower;
    const vit_tower *own = model->own;
    for (int32_t ch = 0; ch < 3; ch++)
        for (int32_t x = 0; x < own->patches * v->patch; x++) {
            const int32_t patch = place_of(model, y / v->patch, x / v->patch);
            const int32_t at = (ch * v->patch + y % v->patch) * v->patch + x % v->patch;
            const float got = view[(ptrdiff_t)patch * v->patch_row + at];
            if (!(fabsf(expected[((size_t)ch * n_lines) * (size_t)own->image + (size_t)x] - got) <=
                  CLOSE))
                return false;
        }
    return true;
}

static void compare_frame(hf_case *c, const s2v_model *model, const s2v_frame *f,
                          const int32_t *lines, size_t n_lines, const float *values)
{
    const s2v_tower *v = &model->tower;
    const vit_tower *own = model->own;
    const size_t per_view = 3 * n_lines * (size_t)own->image;
    for (int32_t view = 0; view < f->n_views; view++)
        for (size_t i = 0; i < n_lines; i++) {
            const float *patches = f->patches + (ptrdiff_t)view * f->n_patches * v->patch_row;
            if (lines[i] < 0 || lines[i] >= own->patches * v->patch) continue;
            if (!is_line_close(model, patches, lines[i],
                               values + (size_t)view * per_view + i * (size_t)own->image, n_lines))
                s2_differs(c->verdict, "pixel_values: line %d of view %d differs", lines[i], view);
        }
}

static void check_views(hf_case *c, const s2v_model *model, const char *name)
{
    char key[80];
    size_t n_lines = 0, n_values = 0;
    const int32_t *lines = s2_hf_ints(c->golden, "anyres.rows", &n_lines);
    (void)snprintf(key, sizeof key, "%s.pixel_values", name);
    const float *values = s2_hf_floats(c->golden, key, &n_values);
    const bool is_anyres = strcmp(name, "anyres") == 0;
    const s2v_image_options o = { .size = sizeof(s2v_image_options),
                                  .framing = is_anyres ? S2V_FRAMING_ANYRES : S2V_FRAMING_SQUARE };
    const size_t per_view = 3 * n_lines * (size_t)((const vit_tower *)model->own)->image;
    const int32_t n = is_anyres || !per_view ? 1 : (int32_t)(n_values / per_view);
    const int32_t first = c->n_pictures;
    if (!lines || !values || !s2_hf_add_pictures(c, is_anyres ? "base" : "pad", n, &o)) {
        s2_malformed(c->verdict, "%s: no lines, pixel values or pictures", name);
        return;
    }
    size_t done = 0;
    for (int32_t i = first; i < c->n_pictures; i++) {
        s2v_frame f;
        if (model->arch->frame(model, &c->view[i], &c->size[i], o.framing, &f, NULL) != S2P_OK) {
            s2_differs(c->verdict, "%s: refused", name);
            return;
        }
        const size_t used = (size_t)f.n_views * per_view;
        if (done + used <= n_values)
            compare_frame(c, model, &f, lines, n_lines, values + done);
        else
            s2_differs(c->verdict, "%s: %d views are too many", name, f.n_views);
        done += used;
        s2v_frame_free(&f);
    }
    if (done != n_values) s2_differs(c->verdict, "%s: too few views", name);
}

/* LLaVA-1.5: one view of the picture that the name says, framed as it says. */
static void check_framed(hf_case *c, const s2v_model *model, const char *name)
{
    char key[80];
    size_t n_lines = 0, n_values = 0;
    const int32_t *lines = s2_hf_ints(c->golden, "rows", &n_lines);
    (void)snprintf(key, sizeof key, "%s.pixel_values", name);
    const float *values = s2_hf_floats(c->golden, key, &n_values);
    const size_t per_view = 3 * n_lines * (size_t)((const vit_tower *)model->own)->image;
    s2v_frame f;
    if (!lines || !values || n_values != per_view || !s2_hf_add_framed(c, name)) {
        s2_malformed(c->verdict, "%s: no lines, pixel values or picture", name);
        return;
    }
    const int32_t i = c->n_pictures - 1;
    if (model->arch->frame(model, &c->view[i], &c->size[i], S2V_FRAMING_SQUARE, &f, NULL) !=
        S2P_OK) {
        s2_differs(c->verdict, "%s: refused", name);
        return;
    }
    compare_frame(c, model, &f, lines, n_lines, values);
    s2v_frame_free(&f);
}

/* A byte as the tower reads it: [3][256], or [256] where the channels are alike. */
static void check_levels(hf_case *c, const s2v_model *model)
{
    size_t n;
    const float *expected = s2_hf_floats(c->golden, "lut", &n);
    const s2v_levels level = s2v_tower_levels(&model->tower);
    if (!expected) return;
    if (n != 256 && n != 3 * 256) {
        s2_malformed(c->verdict, "lut: %zu values", n);
        return;
    }
    for (size_t i = 0; i < 3 * 256; i++)
        if (!(fabsf(expected[i % n] - level.of[i / 256][i % 256]) <= CLOSE)) {
            s2_differs(c->verdict, "lut: expected %.9g for byte %zu of channel %zu, got %.9g",
                       (double)expected[i % n], i % 256, i / 256,
                       (double)level.of[i / 256][i % 256]);
            return;
        }
}

/* Qwen3-VL's "smart_resize": height and width, then those it is shown in, of at most 16,777,216 pixels. */
static void check_sizes(hf_case *c, const s2v_model *model)
{
    size_t n;
    const int32_t *size = s2_hf_ints(c->golden, "smart_resize", &n);
    const int32_t unit = model->tower.patch * model->tower.merge;
    const s2v_image_options o = { .size = sizeof o, .max_pixels = 1 << 24 };
    for (size_t i = 0; size && i + 4 <= n; i += 4) {
        const int32_t *s = size + i;
        const s2p_image empty = { s[1], s[0], 3 * (ptrdiff_t)s[1], NULL };
        s2v_frame f;
        if (model->arch->frame(model, &empty, &o, S2V_FRAMING_BASE, &f, NULL) != S2P_OK) {
            s2_differs(c->verdict, "smart_resize: %dx%d is refused", s[1], s[0]);
            continue;
        }
        const s2p_grid grid = f.part[0].grid;
        if (grid.rows * unit != s[2] || grid.cols * unit != s[3])
            s2_differs(c->verdict, "smart_resize: %dx%d becomes %dx%d, expected %dx%d", s[1], s[0],
                       grid.cols * unit, grid.rows * unit, s[3], s[2]);
        s2v_frame_free(&f);
    }
}

void s2_hf_check_pixels(hf_case *c, const s2v_model *model)
{
    static const char suffix[] = ".pixel_values";
    const bool is_tiled = s2v_gguf_find_tensor(c->golden, "tiles") != NULL ||
                          s2v_gguf_find_tensor(c->golden, "sizes") != NULL;
    if (is_tiled) s2_hf_check_tile_sizes(c, model);
    check_levels(c, model);
    check_sizes(c, model);
    for (size_t i = 0; i < s2v_gguf_n_tensors(c->golden); i++) {
        const s2v_text name = s2v_gguf_tensor_at(c->golden, i)->name;
        const size_t n = name.size - (sizeof suffix - 1);
        char view[64];
        if (name.size < sizeof suffix || n >= sizeof view ||
            memcmp(name.data + n, suffix, sizeof suffix - 1) != 0)
            continue;
        memcpy(view, name.data, n);
        view[n] = '\0';
        if (is_tiled)
            s2_hf_check_tiles(c, model, view);
        else if (model->tower.has_class_row || c->is_stretched)
            check_framed(c, model, view);
        else if (model->tower.merge == 1)
            check_views(c, model, view);
        else
            check_view(c, model, view);
    }
}
