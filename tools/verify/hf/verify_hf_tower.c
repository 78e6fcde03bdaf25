/* verify_hf_tower.c - rows on their way through the tower; what its last blocks attend to, and the
 * keys they do it with.
 *
 * Attention and keys are stored as one tensor per block over the patches of all pictures; the engine
 * shows them picture by picture. Attention received is a sum over queries: it is 1 in the mean,
 * whatever the number of patches, so its tolerance is a share of 1.
 *
 * Stages are stored for some rows, in one of these forms:
 *   Qwen           "vis.rows" counts the patches of all pictures, those of a token side by side
 *   views          [view][rows of "vis.rows"], which counts patches line by line behind a class row
 *   LLaVA-1.5      the same for one view, those of later pictures with "img1." and so on in front
 *   OneVision      every so many rows of the first view, or all of them
 */
#include "verify/hf_case.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define TOLERANCE 1e-4      /* of the largest value, at least of 1 */
#define ATTN_TOLERANCE 2e-5 /* of 1 */

/* "vis.attn_received", "vis.attn_nq", "vis.key_mean", "vis.key_rope_mean"; also with a block. */
static bool is_tower_name(const char *name, size_t n)
{
    return (n > 9 && memcmp(name, "vis.attn_", 9) == 0) ||
           (n > 8 && memcmp(name, "vis.key_", 8) == 0);
}

/* Patches of one token: Qwen's merger takes 2x2 of them. */
static size_t patches_per_token(const hf_case *c)
{
    return s2v_gguf_find_tensor(c->golden, "image_grid_thw") ? 4 : 1;
}

/* What the class row attends to, mean over heads: stored as [heads][1 + rows] for each picture. */
static void compare_class(hf_case *c, int32_t block, const float *data, size_t rows)
{
    char tensor[48];
    size_t n_stored;
    (void)snprintf(tensor, sizeof tensor, "vis.cls_attn.%d", block);
    if (c->n_views_seen > 0)
        (void)snprintf(tensor, sizeof tensor, "img%zu.vis.cls_attn.%d", c->n_views_seen, block);
    const float *expected = s2_hf_floats(c->golden, tensor, &n_stored);
    if (!expected || n_stored % (rows + 1) != 0) return;
    const size_t n_heads = n_stored / (rows + 1);
    double worst = 0.0;
    for (size_t i = 0; i < rows; i++) {
        double mean = 0.0;
        for (size_t h = 0; h < n_heads; h++) mean += (double)expected[h * (rows + 1) + 1 + i];
        const double d = fabs(mean / (double)n_heads - (double)data[i]);
        if (!(d <= worst)) worst = d; /* NaN sticks */
    }
    if (!(worst <= c->verdict->where->slack * ATTN_TOLERANCE))
        s2_differs(c->verdict, "%s: off by %.3g", tensor, worst);
}

bool s2_hf_check_tower(hf_case *c, const char *name, int32_t block, const float *data, size_t rows,
                       size_t width)
{
    if (!is_tower_name(name, strlen(name))) return false;
    char tensor[48];
    if (strcmp(name, "vis.attn_received") == 0) compare_class(c, block, data, rows);
    (void)snprintf(tensor, sizeof tensor, "%s.%d", name, block);
    size_t n_stored;
    const float *expected = s2_hf_floats(c->golden, tensor, &n_stored);
    const size_t first = c->n_seen * patches_per_token(c) * width, n = rows * width;
    if (!expected) return true;
    if (n_stored < n || first > n_stored - n) {
        s2_differs(c->verdict, "%s: expected %zu values, got more", tensor, n_stored);
        return true;
    }
    double worst = 0.0, largest = 1.0;
    for (size_t i = 0; i < n; i++) {
        const double e = (double)expected[first + i], d = fabs(e - (double)data[i]);
        if (fabs(e) > largest) largest = fabs(e);
        if (!(d <= worst)) worst = d; /* NaN sticks */
    }
    const bool is_sum = strcmp(name, "vis.attn_received") == 0;
    const double allowed =
        c->verdict->where->slack * (is_sum ? ATTN_TOLERANCE : TOLERANCE * largest);
    if (!(worst <= allowed))
        s2_differs(c->verdict, "%s: off by %.3g, allowed %.3g", tensor, worst, allowed);
    c->n_tower_seen += n;
    return true;
}

/* --- stages ------------------------------------------------------------------------ */

/* "vis.block3", "img1.vis.embed" and so on. */
static bool is_stage_name(const hf_case *c, const char *name, size_t n)
{
    static const char *const start[] = { "vis.patch_embed", "vis.embed",    "vis.pre_ln",
                                         "vis.block",       "vis.shuffled", "vis.post_layernorm" };
    size_t at = 0;
    if (n > 4 && memcmp(name, "img", 3) == 0)
        while (at < n && name[at++] != '.') {
        }
    for (size_t i = 0; i < sizeof start / sizeof *start; i++) {
        const size_t length = strlen(start[i]);
        if (n - at < length || memcmp(name + at, start[i], length) != 0) continue;
        return c->has_last_norm || i + 1 < sizeof start / sizeof *start;
    }
    return false;
}

/* Where a row of a view, counted line by line, stands in the tower's order; -1: there is none. */
static ptrdiff_t row_of_view(const hf_case *c, int32_t row, size_t rows)
{
    if (row < 0 || (size_t)row >= rows) return -1;
    const int32_t merge = c->merge;
    if (merge <= 1) return row;
    int32_t side = 1;
    while ((size_t)(side + 1) * (size_t)(side + 1) <= rows) side++;
    const int32_t first = (int32_t)rows - side * side; /* a class row */
    if (row < first) return row;
    const int32_t y = (row - first) / side, x = (row - first) % side;
    const int32_t token = y / merge * (side / merge) + x / merge;
    return first + (token * merge + y % merge) * merge + x % merge;
}

/* The view that the tower runs on now, of the picture it belongs to. */
static size_t view_now(const hf_case *c)
{
    if (c->n_views[0] == 0) return c->n_views_seen;
    if (c->n_views_seen == 0) return s2_hf_stored_view(c, 0, 0);
    const int32_t i = c->picture_seen;
    if (c->view_seen + 1 < c->n_views[i]) return s2_hf_stored_view(c, i, c->view_seen + 1);
    return i + 1 < c->n_pictures ? s2_hf_stored_view(c, i + 1, 0) : s2_hf_n_views(c);
}

typedef struct stored_stage {
    const float *values;
    size_t n;           /* rows */
    const int32_t *row; /* which they are; NULL: every step-th */
    size_t step;
    int32_t first; /* counted from this one */
} stored_stage;

/* Rows of one view; false: the verdict knows. */
static bool find_stage(hf_case *c, const char *tensor, const float *values, size_t n, size_t rows,
                       size_t width, stored_stage *out)
{
    size_t n_rows = 0;
    const int32_t *row = s2_hf_ints(c->golden, "vis.rows", &n_rows);
    const bool is_own = strncmp(tensor, "img", 3) == 0; /* the tensor is of this picture only */
    const size_t view = is_own ? 0 : view_now(c);
    *out = (stored_stage){ .values = values, .n = n, .row = row, .step = 1 };
    if (s2v_gguf_find_tensor(c->golden, "image_grid_thw")) {
        out->first = (int32_t)(c->n_seen * patches_per_token(c));
        if (row && n_rows == n) return true;
    } else if (!row || n == rows || n < n_rows) {
        out->row = NULL;
        out->step = n > 0 ? (rows + n - 1) / n : 1;
        if (n > 0 && (rows + out->step - 1) / out->step == n) return true;
    } else if (n_rows > 0 && n % n_rows == 0 && view < n / n_rows) {
        out->values += view * n_rows * width;
        out->n = n_rows;
        return true;
    }
    s2_differs(c->verdict, "%s: %zu rows, not those of a view of %zu", tensor, n, rows);
    return false;
}

static void compare_stage(hf_case *c, const char *name, const float *data, size_t rows,
                          size_t width)
{
    char tensor[64];
    size_t n_stored;
    (void)snprintf(tensor, sizeof tensor, "img%zu.%s", c->n_views_seen, name);
    const bool is_later = c->n_views_seen > 0 && s2v_gguf_find_tensor(c->golden, tensor);
    if (!is_later) (void)snprintf(tensor, sizeof tensor, "%s", name);
    const float *expected = s2_hf_floats(c->golden, tensor, &n_stored);
    stored_stage s;
    if (!expected) return;
    if (n_stored % width != 0) {
        s2_differs(c->verdict, "%s: %zu values do not fill rows of %zu", tensor, n_stored, width);
        return;
    }
    if (!find_stage(c, tensor, expected, n_stored / width, rows, width, &s)) return;
    double worst = 0.0, largest = 1.0;
    for (size_t r = 0; r < s.n; r++) {
        const ptrdiff_t at = s.row ? row_of_view(c, s.row[r] - s.first, rows)
                                   : row_of_view(c, (int32_t)(r * s.step), rows);
        if (at < 0) continue; /* of another picture */
        for (size_t k = 0; k < width; k++) {
            const double e = (double)s.values[r * width + k];
            const double d = fabs(e - (double)data[(size_t)at * width + k]);
            if (fabs(e) > largest) largest = fabs(e);
            if (!(d <= worst)) worst = d; /* NaN sticks */
        }
        c->n_stages_seen += width;
    }
    const double allowed = TOLERANCE * c->verdict->where->slack * largest;
    if (!(worst <= allowed))
        s2_differs(c->verdict, "%s: off by %.3g, allowed %.3g", tensor, worst, allowed);
}

/* The patches of a token side by side, as the projector reads them: every so many tokens. */
static void compare_shuffled(hf_case *c, const float *data, size_t rows, size_t width)
{
    const size_t per_token = (size_t)c->merge * (size_t)c->merge, n_tokens = rows / per_token;
    const float *first = data + (rows - n_tokens * per_token) * width; /* behind a class row */
    size_t n_stored;
    const float *expected = s2_hf_floats(c->golden, "vis.shuffled", &n_stored);
    const size_t wide = width * per_token, n_views = s2_hf_n_views(c);
    if (!expected || n_views == 0) return;
    const size_t each = n_stored / wide / n_views, view = view_now(c);
    if (each == 0 || n_tokens % each != 0 || (view + 1) * each * wide > n_stored) {
        s2_differs(c->verdict, "vis.shuffled: %zu values for %zu views", n_stored, n_views);
        return;
    }
    double worst = 0.0, largest = 1.0;
    for (size_t i = 0; i < each * wide; i++) {
        const double e = (double)expected[view * each * wide + i];
        const double d = fabs(e - (double)first[i / wide * (n_tokens / each) * wide + i % wide]);
        if (fabs(e) > largest) largest = fabs(e);
        if (!(d <= worst)) worst = d;
    }
    const double allowed = TOLERANCE * c->verdict->where->slack * largest;
    if (!(worst <= allowed))
        s2_differs(c->verdict, "vis.shuffled: off by %.3g, allowed %.3g", worst, allowed);
    c->n_stages_seen += each * wide;
}

bool s2_hf_check_stage(hf_case *c, const char *name, int32_t block, const float *data, size_t rows,
                       size_t width)
{
    static const char *const names[] = { "vis.patch_embed", "vis.embed", "vis.pre_ln", "vis.block",
                                         "vis.post_layernorm" };
    size_t i = 0;
    while (i < sizeof names / sizeof *names && strcmp(name, names[i]) != 0) i++;
    if (i == sizeof names / sizeof *names) return false;
    char numbered[32];
    const bool is_block = strcmp(name, "vis.block") == 0;
    (void)snprintf(numbered, sizeof numbered, "vis.block%d", block);
    if (strcmp(name, "vis.post_layernorm") == 0) c->has_last_norm = true;
    compare_stage(c, is_block ? numbered : name, data, rows, width);
    if (is_block && block + 1 == c->n_blocks) compare_shuffled(c, data, rows, width);
    return true;
}

/* --- at the end -------------------------------------------------------------------- */

void s2_hf_check_tower_whole(hf_case *c)
{
    size_t n_stored = 0, n_stages = 0;
    for (size_t i = 0; i < s2v_gguf_n_tensors(c->golden); i++) {
        const s2v_gguf_tensor *t = s2v_gguf_tensor_at(c->golden, i);
        if (is_tower_name(t->name.data, t->name.size)) n_stored += t->n_bytes / sizeof(float);
        if (is_stage_name(c, t->name.data, t->name.size)) n_stages += t->n_bytes / sizeof(float);
    }
    if (c->n_stages_seen != n_stages)
        s2_differs(c->verdict, "stages of the tower: expected %zu values, compared %zu", n_stages,
                   c->n_stages_seen);
    if (c->n_tower_seen != n_stored)
        s2_differs(c->verdict, "attention of the tower: expected %zu values, got %zu", n_stored,
                   c->n_tower_seen);
}
