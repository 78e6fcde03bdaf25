/* inputs.c - files to pictures and matrices.
 *
 * Arrays are converted to float32 once, here, and every value is looked at: a NaN in a score file
 * is a sentence about the file, not a mystery three steps later.
 */
#include "inputs.h"

#include "base/checked.h"
#include "base/file.h"
#include "pdf_page.h"
#include "report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARRAY_MAX_BYTES ((size_t)1 << 32)
#define SHAPE_TEXT 96u

static const char *type_name(s2_dtype type)
{
    static const char *const names[] = { "uint8", "int32", "int64", "float32", "float64" };
    return names[type];
}

/* "float32 [576][64]" */
static void shape_text(const s2_array *array, char out[SHAPE_TEXT])
{
    size_t n = (size_t)snprintf(out, SHAPE_TEXT, "%s ", type_name(array->type));
    for (int32_t d = 0; d < array->n_dims && n < SHAPE_TEXT; d++)
        n += (size_t)snprintf(out + n, SHAPE_TEXT - n, "[%lld]", (long long)array->shape[d]);
}

/* --- pictures ------------------------------------------------------------- */

const char *s2_pixels_name(size_t index)
{
    static const char *const names[] = {
        [S2_PIXELS_REFERENCE] = "reference", [S2_PIXELS_VIEWER] = "viewer"
    };
    return index < sizeof names / sizeof *names ? names[index] : NULL;
}

s2p_status s2_picture_of_array(const s2_array *array, const char *path,
                               const s2_image_limits *limits, s2_image *out, s2p_error *error)
{
    char found[SHAPE_TEXT];
    shape_text(array, found);
    const bool is_rgb = array->n_dims == 3 && array->shape[2] == 3;
    if (array->type != S2_U8 || array->count == 0 || !(is_rgb || array->n_dims == 2))
        return s2_fail(error, S2P_EFORMAT,
                       "'%.80s' is %s; a picture is uint8 [height][width][3] or [height][width]",
                       path, found);
    const int64_t height = array->shape[0], width = array->shape[1];
    if (height > limits->max_side || width > limits->max_side)
        return s2_fail(error, S2P_ELIMIT, "'%.80s' is %lld x %lld pixels; the limit is %d a side",
                       path, (long long)width, (long long)height, (int)limits->max_side);
    if (height * width > limits->max_pixels)
        return s2_fail(error, S2P_ELIMIT,
                       "'%.80s' is %lld x %lld pixels; the limit is %lld pixels "
                       "(--max-image-pixels)",
                       path, (long long)width, (long long)height, (long long)limits->max_pixels);
    const size_t n = (size_t)height * (size_t)width;
    uint8_t *pixels = malloc(3 * n);
    if (!pixels) return s2_fail_memory(error, 3 * n, path);
    const uint8_t *from = array->data;
    for (size_t i = 0; i < 3 * n; i++) pixels[i] = is_rgb ? from[i] : from[i / 3];
    s2_image_adopt(out, pixels, width, height, S2_FORMAT_PNG);
    return S2P_OK;
}

/* A PDF page becomes the bytes of a PNG in place of those of the file. */
static s2p_status draw_page(const char *path, const char *file, int32_t page, s2_buffer *bytes,
                            s2p_error *error)
{
    static const char magic[] = "%PDF-";
    const bool is_pdf = bytes->size >= 5 && memcmp(bytes->data, magic, 5) == 0;
    if (!is_pdf && page == 0) return S2P_OK;
    if (!is_pdf)
        return s2_fail(error, S2P_EFORMAT, "'%.80s' names a page, but '%.80s' is not a PDF file",
                       path, file);
    if (strcmp(file, "-") == 0)
        return s2_fail(error, S2P_EUNSUPPORTED,
                       "a PDF file is not read from standard input; name the file, and a page with "
                       "FILE.pdf#3");
    bytes->size = 0;
    return s2_pdf_draw(file, page > 0 ? page : 1, bytes, error);
}

/* "photo.jpg is 12000x9000 px; decoded at 1/2, 6000x4500 px" */
static void tell_reduced(const char *path, const s2_image *picture)
{
    const int32_t stored = picture->stored.width;
    if (stored == 0) return;
    int32_t scale = 2;
    while (scale < 8 && stored / scale > picture->view.width) scale *= 2;
    s2_report_tell("note: '%.80s' is %dx%d px; decoded at 1/%d, %dx%d px", path, stored,
                   picture->stored.height, scale, picture->view.width, picture->view.height);
}

s2p_status s2_picture_read(const char *path, s2_pixels pixels, const s2_image_limits *limits,
                           s2_image *out, s2p_error *error)
{
    static const uint8_t npy_magic[] = { 0x93, 'N', 'U', 'M', 'P', 'Y' };
    char file[4096];
    const int32_t page = s2_pdf_split(path, file, sizeof file);
    s2_buffer bytes;
    s2_buffer_init(&bytes, limits->max_bytes);
    s2p_error why = { S2P_OK, "" };
    s2p_status st = s2_file_read(page > 0 ? file : path, &bytes, error);
    if (st == S2P_OK) st = draw_page(path, file, page, &bytes, error);
    if (st == S2P_OK && bytes.size > sizeof npy_magic &&
        memcmp(bytes.data, npy_magic, sizeof npy_magic) == 0) {
        s2_array array;
        st = s2_npy_parse(bytes.data, bytes.size, path, &array, error);
        if (st == S2P_OK) {
            st = s2_picture_of_array(&array, path, limits, out, error);
            s2_array_free(&array);
        }
    } else if (st == S2P_OK) {
        bool is_large = false; /* of the limits, this one has an option */
        s2_image_limits asked = *limits;
        asked.too_many = &is_large;
        st = s2_image_decode(bytes.data, bytes.size, pixels, &asked, out, &why);
        if (st != S2P_OK)
            s2_fail(error, st, "cannot read image '%.80s': %s%s", path,
                    why.message[0] ? why.message : s2p_status_text(st),
                    is_large ? " (--max-image-pixels)" : "");
        else
            tell_reduced(path, out);
    }
    s2_buffer_free(&bytes);
    return st;
}

/* --- arrays --------------------------------------------------------------- */

/* How many a letter of a shape stands for; 0: any number. */
static int64_t size_of(char letter, const s2_sizes *sizes)
{
    const int64_t n = (int64_t)sizes->grid.rows * sizes->grid.cols;
    return letter == '1'   ? 1
           : letter == 'n' ? n
           : letter == 'c' ? n + 1
           : letter == 'a' ? (sizes->n_alive > 0 ? sizes->n_alive : n)
           : letter == 'L' ? sizes->n_prompt
                           : 0;
}

/* Whether the array has the shape written before the next '|'. */
static bool matches(const s2_array *array, const char *shape, const s2_sizes *sizes)
{
    const int32_t n_dims = (int32_t)strcspn(shape, "|");
    if (array->count == 0 || array->n_dims != n_dims) return false;
    for (int32_t d = 0; d < n_dims; d++) {
        const int64_t size = size_of(shape[d], sizes);
        /* of tokens that entered the tower there may be as many as are still there */
        if (shape[d] == 'n' && sizes->n_alive > 0 && array->shape[d] == sizes->n_alive) continue;
        if (array->shape[d] > INT32_MAX || (size > 0 && array->shape[d] != size)) return false;
    }
    return true;
}

static bool matches_any(const s2_array *array, const char *shapes, const s2_sizes *sizes)
{
    for (;; shapes++) {
        if (matches(array, shapes, sizes)) return true;
        shapes += strcspn(shapes, "|");
        if (!*shapes) return false;
    }
}

s2p_status s2_tensor_of_array(const s2_array *array, const char *path, const char *field,
                              const char *shapes, const s2_sizes *sizes, s2_tensor *out,
                              s2p_error *error)
{
    if ((array->type != S2_F32 && array->type != S2_F64) || !matches_any(array, shapes, sizes)) {
        char found[SHAPE_TEXT], expected[SHAPE_TEXT] = "";
        shape_text(array, found);
        for (size_t at = 0; *shapes && *shapes != '|' && at < SHAPE_TEXT - 1; shapes++) {
            const int64_t size = size_of(*shapes, sizes); /* "[q][576]": the first that would do */
            const int n = size > 0
                              ? snprintf(expected + at, SHAPE_TEXT - at, "[%lld]", (long long)size)
                              : snprintf(expected + at, SHAPE_TEXT - at, "[%c]", *shapes);
            at += (size_t)n;
        }
        return s2_fail(error, S2P_EFORMAT,
                       "%s: '%.80s' is %s, expected float32 %s for %dx%d tokens", field, path,
                       found, expected, sizes->grid.rows, sizes->grid.cols);
    }
    s2_tensor tensor = { .n_dims = array->n_dims };
    for (int32_t d = 0; d < tensor.n_dims; d++) tensor.shape[d] = (int32_t)array->shape[d];
    tensor.data = malloc(array->count * sizeof *tensor.data);
    if (!tensor.data) return s2_fail_memory(error, array->count * sizeof *tensor.data, path);
    const float *narrow = array->data;
    const double *wide = array->data;
    for (size_t i = 0; i < array->count; i++) {
        tensor.data[i] = array->type == S2_F32 ? narrow[i] : (float)wide[i];
        if (isfinite(tensor.data[i])) continue;
        free(tensor.data);
        return s2_fail(error, S2P_EFORMAT, "%s: element %zu of '%.80s' is not a finite float32",
                       field, i, path);
    }
    *out = tensor;
    return S2P_OK;
}

s2p_status s2_tensor_read(const char *path, const char *field, const char *shapes,
                          const s2_sizes *sizes, s2_tensor *out, s2p_error *error)
{
    s2_array array;
    s2p_error why = { S2P_OK, "" };
    s2p_status st = s2_npy_read(path, ARRAY_MAX_BYTES, &array, &why);
    if (st != S2P_OK) return s2_fail(error, st, "%s: %s", field, why.message);
    st = s2_tensor_of_array(&array, path, field, shapes, sizes, out, error);
    s2_array_free(&array);
    return st;
}

s2p_status s2_matrix_read(const char *path, const char *field, const char *shapes, s2p_grid grid,
                          s2_matrix *out, s2p_error *error)
{
    s2_tensor tensor;
    const s2p_status st =
        s2_tensor_read(path, field, shapes, &(s2_sizes){ .grid = grid }, &tensor, error);
    if (st != S2P_OK) return st;
    const bool is_row = tensor.n_dims == 1;
    *out = (s2_matrix){ tensor.data, is_row ? 1 : tensor.shape[0], tensor.shape[is_row ? 0 : 1] };
    return S2P_OK;
}

/* --- budgets -------------------------------------------------------------- */

s2p_status s2_check_budget(s2p_grid grid, int32_t budget, int32_t side, s2p_error *error)
{
    const int64_t n_tokens = (int64_t)grid.rows * grid.cols;
    const int32_t shorter = grid.rows < grid.cols ? grid.rows : grid.cols;
    if (n_tokens > S2P_MAX_TOKENS)
        return s2_fail(error, S2P_EINVAL, "--tokens %dx%d are %lld tokens; the limit is %d",
                       grid.rows, grid.cols, (long long)n_tokens, S2P_MAX_TOKENS);
    if (budget > n_tokens)
        return s2_fail(
            error, S2P_EBUDGET,
            "--budget %d is more than the %lld tokens of --tokens %dx%d; use --budget %lld or "
            "less",
            budget, (long long)n_tokens, grid.rows, grid.cols, (long long)n_tokens);
    if (side > shorter)
        return s2_fail(error, S2P_EINVAL,
                       "--grid %d does not fit --tokens %dx%d (every region needs a row and a "
                       "column of tokens); use --grid %d or less",
                       side, grid.rows, grid.cols, shorter);
    if (budget < side * side)
        return s2_fail(
            error, S2P_EBUDGET,
            "--budget %d is less than the %d regions of --grid %d (every region keeps one "
            "token); use --grid %d or --budget %d or more",
            budget, side * side, side, (int32_t)sqrt((double)budget), side * side);
    return S2P_OK;
}
