/* verify_hf_pictures.c - which pictures a recorded case was made with, and how they were seen.
 *
 * image_<x>_*.png are sources, view_<x>*.png what the tower saw of them. Qwen's
 * cases tell the patches of each picture; a label, or the view of that size, names it. Cases of
 * LLaVA-OneVision name the view ("a_base", "b_pad") when they are pruned; unpruned
 * ones have an image_size (any-res), or the views of the kind stand beside them in
 * order. Their sources may be in a folder beside theirs, or in one of hf/ above them:
 * several models, one set of pictures.
 */
#include "verify/hf_case.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool load_picture(const char *folder, const char *name, s2_image *out)
{
    char path[HF_PATH_CAPACITY];
    s2_image_limits limits;
    s2_image_limits_init(&limits);
    return snprintf(path, sizeof path, "%s/%s", folder, name) < HF_PATH_CAPACITY &&
           s2_image_load(path, S2_PIXELS_REFERENCE, &limits, out, NULL) == S2P_OK;
}

typedef bool (*entry_check)(const char *folder, const char *name, void *user);

/* Call `check` for the files of a folder by name order until one is the right one. */
static bool search_folder(const char *folder, entry_check check, void *user)
{
    struct dirent **entries = NULL;
    const int n = scandir(folder, &entries, NULL, alphasort);
    bool found = false;
    for (int i = 0; i < n; i++) {
        if (!found) found = check(folder, entries[i]->d_name, user);
        free(entries[i]);
    }
    free(entries);
    return found;
}

/* --- sources ----------------------------------------------------------------------- */

typedef struct wanted { /* a picture by the start of its name, and its size unless 0 */
    const char *start;
    int32_t width, height;
    s2_image *out;
} wanted;

static bool is_wanted(const char *folder, const char *name, void *user)
{
    const wanted *w = user;
    const size_t n = strlen(name);
    if (strncmp(name, w->start, strlen(w->start)) != 0 || n < 4 || strcmp(name + n - 4, ".png") ||
        !load_picture(folder, name, w->out))
        return false;
    if (w->width == 0 || (w->out->view.width == w->width && w->out->view.height == w->height))
        return true;
    s2_image_free(w->out);
    return false;
}

static bool is_wanted_inside(const char *folder, const char *name, void *user)
{
    char inner[HF_PATH_CAPACITY];
    return name[0] != '.' &&
           snprintf(inner, sizeof inner, "%s/%s", folder, name) < HF_PATH_CAPACITY &&
           search_folder(inner, is_wanted, user);
}

static bool add_picture(hf_case *c, wanted w, const s2v_image_options *options)
{
    char beside[HF_PATH_CAPACITY], above[HF_PATH_CAPACITY];
    const int32_t i = c->n_pictures;
    if (i == HF_MAX_PICTURES) return false;
    w.out = &c->picture[i];
    (void)snprintf(beside, sizeof beside, "%.4000s/..", c->folder);
    (void)snprintf(above, sizeof above, "%.4000s/../../hf", c->folder);
    if (!search_folder(c->folder, is_wanted, &w) && !search_folder(beside, is_wanted_inside, &w) &&
        !search_folder(above, is_wanted_inside, &w))
        return false;
    c->view[i] = c->picture[i].view;
    c->size[i] = *options;
    c->size[i].resize = S2V_RESIZE_PILLOW13; /* which all of them were recorded with */
    c->n_pictures++;
    return true;
}

bool s2_hf_add_source_of(hf_case *c, const char *view, const s2v_image_options *options)
{
    char start[64];
    (void)snprintf(start, sizeof start, "image_%.*s_", (int)strcspn(view, "0123456789_."), view);
    return add_picture(c, (wanted){ .start = start }, options);
}

bool s2_hf_add_named(hf_case *c, const char *label, const s2v_image_options *options)
{
    const size_t n = strcspn(label, "_:");
    char start[64];
    if (strcspn(label, "0123456789") >= n) {
        (void)snprintf(start, sizeof start, "%.*s", (int)n, label);
        return s2_hf_add_source_of(c, start, options);
    }
    (void)snprintf(start, sizeof start, "view_%.*s", (int)n, label); /* it is the source itself */
    return add_picture(c, (wanted){ .start = start }, options);
}

bool s2_hf_add_framed(hf_case *c, const char *label)
{
    const s2v_image_options o = { .size = sizeof(s2v_image_options),
                                  .framing = strstr(label, "_pad")    ? S2V_FRAMING_SQUARE
                                             : strstr(label, "_crop") ? S2V_FRAMING_CROP
                                             : c->is_stretched        ? S2V_FRAMING_BASE
                                                                      : S2V_FRAMING_CROP };
    return s2_hf_add_named(c, label, &o);
}

/* --- Qwen -------------------------------------------------------------------------- */

typedef struct size_search {
    int32_t width, height;
    char view[64];
} size_search;

static bool has_size(const char *folder, const char *name, void *user)
{
    size_search *s = user;
    s2_image view;
    if (strncmp(name, "view_", 5) != 0 || !load_picture(folder, name, &view)) return false;
    const bool fits = view.view.width == s->width && view.view.height == s->height;
    if (fits) (void)snprintf(s->view, sizeof s->view, "%.60s", name + 5);
    s2_image_free(&view);
    return fits;
}

static bool has_size_inside(const char *folder, const char *name, void *user)
{
    char inner[HF_PATH_CAPACITY];
    return name[0] != '.' &&
           snprintf(inner, sizeof inner, "%s/%s", folder, name) < HF_PATH_CAPACITY &&
           search_folder(inner, has_size, user);
}

/* A view of that size, beside the case or in the folders of other models. */
static bool find_view(const hf_case *c, size_search *s)
{
    char beside[HF_PATH_CAPACITY], above[HF_PATH_CAPACITY];
    (void)snprintf(beside, sizeof beside, "%.4000s/..", c->folder);
    (void)snprintf(above, sizeof above, "%.4000s/../../hf", c->folder);
    return search_folder(c->folder, has_size, s) || search_folder(beside, has_size_inside, s) ||
           search_folder(above, has_size_inside, s);
}

/* --- LLaVA-OneVision --------------------------------------------------------------- */

typedef struct kind_search {
    hf_case *c;
    const char *kind;
    int32_t n; /* still to find */
    const s2v_image_options *options;
} kind_search;

static bool is_of_kind(const char *folder, const char *name, void *user)
{
    (void)folder;
    kind_search *s = user;
    const char *mark = strncmp(name, "view_", 5) == 0 ? strchr(name + 5, '_') : NULL;
    if (mark && strncmp(mark + 1, s->kind, strlen(s->kind)) == 0 &&
        s2_hf_add_source_of(s->c, name + 5, s->options))
        s->n--;
    return s->n == 0;
}

bool s2_hf_add_pictures(hf_case *c, const char *kind, int32_t n, const s2v_image_options *options)
{
    kind_search s = { c, kind, n, options };
    return search_folder(c->folder, is_of_kind, &s);
}

static bool is_square_number(int32_t n)
{
    int32_t root = 1;
    while (root * root < n && root < 4096) root++;
    return root * root == n;
}

/* span: start and length of each picture. One without a newline has as many rows as a square. */
static bool read_spans(hf_case *c, const int32_t *span, size_t n)
{
    size_t n_size;
    const int32_t *size = s2_hf_ints(c->full, "image_size", &n_size);
    s2v_image_options o = { .size = sizeof(s2v_image_options), .framing = S2V_FRAMING_ANYRES };
    if (size && n_size == 2) {
        c->tile_grid[0] = s2v_gguf_find_key(c->golden, "img1.B") ? 1 : -1;
        if (add_picture(c, (wanted){ "image_", size[1], size[0], NULL }, &o)) return true;
        s2_malformed(c->verdict, "no picture of %dx%d pixels", size[1], size[0]);
        return false;
    }
    const int32_t n_pictures = (int32_t)(n / 2);
    char key[32], label[32];
    for (int32_t i = 0; i < n_pictures; i++) {
        (void)snprintf(key, sizeof key, "grid%d.label", i);
        if (!s2_hf_text(c->full, key, label, sizeof label)) break;
        if (!s2_hf_add_framed(c, label)) {
            s2_malformed(c->verdict, "no picture '%s'", label);
            return false;
        }
        if (i == n_pictures - 1) return true;
    }
    o.framing = n_pictures > 1 ? S2V_FRAMING_SQUARE : S2V_FRAMING_BASE;
    o.no_newline = is_square_number(span[1]);
    bool is_complete = true;
    for (int32_t i = 0; is_complete && c->is_pruned && i < n_pictures; i++) {
        char view[32];
        (void)snprintf(key, sizeof key, "img%d.view", i);
        is_complete = s2_hf_text(c->golden, key, view, sizeof view);
        if (!is_complete) break;
        o.framing = strstr(view, "_pad") ? S2V_FRAMING_SQUARE : S2V_FRAMING_BASE;
        is_complete = s2_hf_add_source_of(c, view, &o);
    }
    if (!c->is_pruned)
        is_complete = s2_hf_add_pictures(c, n_pictures > 1 ? "pad" : "base", n_pictures, &o);
    if (!is_complete) s2_malformed(c->verdict, "%d pictures, not all of them found", n_pictures);
    return is_complete;
}

/* --- the case ---------------------------------------------------------------------- */

/* B and K of one stored grid. */
static bool read_budget(hf_case *c, int32_t grid, s2v_budget *out_budget, int32_t *out_side)
{
    char key[32];
    int64_t budget, side;
    (void)snprintf(key, sizeof key, "img%d.B", grid);
    if (!s2v_gguf_int(c->golden, key, &budget)) budget = 0;
    (void)snprintf(key, sizeof key, "img%d.K", grid);
    if (!s2v_gguf_int(c->golden, key, &side)) side = 0;
    if (budget < 1 || budget > 1 << 20 || side < 1 || side > 4096) {
        s2_malformed(c->verdict, "grid %d has no budget", grid);
        return false;
    }
    *out_budget = (s2v_budget){ .tokens = (int32_t)budget };
    *out_side = (int32_t)side;
    return true;
}

bool s2_hf_read_case(hf_case *c)
{
    size_t n_grid = 0, n_span = 0;
    for (int32_t i = 0; i < HF_MAX_PICTURES; i++) {
        c->whole_grid[i] = i;
        c->tile_grid[i] = -1;
    }
    const int32_t *grid = s2_hf_ints(c->full, "image_grid_thw", &n_grid);
    const int32_t *span = s2_hf_ints(c->full, "image_span", &n_span);
    if (grid && n_grid > 0 && n_grid % 3 == 0 && n_grid / 3 <= HF_MAX_PICTURES) {
        for (size_t i = 0; i < n_grid / 3; i++) {
            const int32_t rows = grid[3 * i + 1], cols = grid[3 * i + 2];
            const bool is_sane = rows > 0 && cols > 0 && rows <= 4096 && cols <= 4096;
            size_search s = { .width = is_sane ? cols * c->patch : 0,
                              .height = is_sane ? rows * c->patch : 0 };
            const s2v_image_options size = { .size = sizeof(s2v_image_options),
                                             .width = s.width,
                                             .height = s.height };
            char key[32];
            (void)snprintf(key, sizeof key, "grid%zu.label", i);
            const bool is_named = s2_hf_text(c->full, key, s.view, sizeof s.view);
            if (is_sane && (is_named || find_view(c, &s)) && s2_hf_add_source_of(c, s.view, &size))
                continue;
            s2_malformed(c->verdict, "no picture next to it was seen as %dx%d patches", rows, cols);
            return false;
        }
    } else if (!grid && span && n_span > 0 && n_span % 2 == 0 && n_span / 2 <= HF_MAX_PICTURES) {
        if (!read_spans(c, span, n_span)) return false;
    } else {
        s2_malformed(c->verdict, "neither image_grid_thw nor image_span");
        return false;
    }
    return true;
}

bool s2_hf_read_budgets(hf_case *c)
{
    for (int32_t i = 0; c->is_pruned && i < c->n_pictures; i++) {
        c->tile_budget[i] = (s2v_budget){ .tokens = 1 };
        if (!read_budget(c, c->whole_grid[i], &c->budget[i], &c->side[i]) ||
            (c->tile_grid[i] >= 0 &&
             !read_budget(c, c->tile_grid[i], &c->tile_budget[i], &c->tile_side[i])))
            return false;
    }
    return true;
}

void s2_hf_check_budgets(hf_case *c, int32_t grid, const int32_t *kept, int32_t n)
{
    char key[32];
    size_t n_regions;
    int64_t side, rows, cols;
    (void)snprintf(key, sizeof key, "img%d.budget", grid);
    const int32_t *expected = s2_hf_ints(c->golden, key, &n_regions);
    (void)snprintf(key, sizeof key, "img%d.grid", grid);
    const s2v_gguf_key *size = s2v_gguf_find_key(c->golden, key);
    (void)snprintf(key, sizeof key, "img%d.K", grid);
    if (!expected || !size || !s2v_gguf_int(c->golden, key, &side) ||
        !s2v_gguf_item_int(size, 0, &rows) || !s2v_gguf_item_int(size, 1, &cols))
        return;
    int32_t row[HF_MAX_SIDE + 1], col[HF_MAX_SIDE + 1], got[HF_MAX_SIDE * HF_MAX_SIDE] = { 0 };
    if (side < 1 || side > HF_MAX_SIDE || (size_t)(side * side) != n_regions || rows < side ||
        cols < side || rows > 4096 || cols > 4096) {
        s2_malformed(c->verdict, "img%d: %d x %d regions, %zu budgets", grid, (int)side, (int)side,
                     n_regions);
        return;
    }
    for (int64_t i = 0; i <= side; i++) { /* the paper's partition, half to even */
        row[i] = (int32_t)rint((double)(i * rows) / (double)side);
        col[i] = (int32_t)rint((double)(i * cols) / (double)side);
    }
    for (int32_t k = 0; k < n; k++) {
        int32_t r = 0, q = 0;
        while (r + 1 < side && kept[k] / cols >= row[r + 1]) r++;
        while (q + 1 < side && kept[k] % cols >= col[q + 1]) q++;
        got[r * side + q]++;
    }
    for (size_t i = 0; i < n_regions; i++)
        if (got[i] != expected[i]) {
            s2_differs(c->verdict, "img%d.budget: expected %d in region %zu, got %d", grid,
                       expected[i], i, got[i]);
            return;
        }
}
