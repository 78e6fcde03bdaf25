/* inputs.c - files to pictures and matrices.
 *
 * Arrays are converted to float32 once, here, and every value is looked at: a NaN in a score file
 * is a sentence about the file, not a mystery three steps later.
 */
#include "inputs.h"

#include "base/checked.h"
#include "base/file.h"

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
    if (height > limits->max_side || width > limits->max_side ||
        height * width > limits->max_pixels)
        return s2_fail(error, S2P_ELIMIT, "'%.80s' is %lld x %lld pixels; the limit is %lld pixels",
                       path, (long long)width, (long long)height, (long long)limits->max_pixels);
    const size_t n = (size_t)height * (size_t)width;
    uint8_t *pixels = malloc(3 * n);
    if (!pixels) return s2_fail_memory(error, 3 * n, path);
    const uint8_t *from = array->data;
    for (size_t i = 0; i < 3 * n; i++) pixels[i] = is_rgb ? from[i] : from[i / 3];
    *out = (s2_image){ { (int32_t)width, (int32_t)height, (ptrdiff_t)width * 3, pixels },
                       S2_FORMAT_PNG,
                       pixels };
    return S2P_OK;
}

s2p_status s2_picture_read(const char *path, s2_pixels pixels, const s2_image_limits *limits,
                           s2_image *out, s2p_error *error)
{
    static const uint8_t npy_magic[] = { 0x93, 'N', 'U', 'M', 'P', 'Y' };
    s2_buffer bytes;
    s2_buffer_init(&bytes, limits->max_bytes);
    s2p_error why = { S2P_OK, "" };
    s2p_status st = s2_file_read(path, &bytes, error);
    if (st == S2P_OK && bytes.size > sizeof npy_magic &&
        memcmp(bytes.data, npy_magic, sizeof npy_magic) == 0) {
        s2_array array;
        st = s2_npy_parse(bytes.data, bytes.size, path, &array, error);
        if (st == S2P_OK) {
            st = s2_picture_of_array(&array, path, limits, out, error);
            s2_array_free(&array);
        }
    } else if (st == S2P_OK) {
        st = s2_image_decode(bytes.data, bytes.size, pixels, limits, out, &why);
        if (st != S2P_OK)
            s2_fail(error, st, "cannot read image '%.80s': %s", path,
                    why.message[0] ? why.message : s2p_status_text(st));
    }
    s2_buffer_free(&bytes);
    return st;
}

/* --- arrays --------------------------------------------------------------- */

/* The rows and columns of an array that has the shape asked for. */
static bool matches(const s2_array *array, s2_shape shape, int64_t n, s2_matrix *out)
{
    const int64_t *s = array->shape;
    if (array->count == 0 || s[0] > INT32_MAX || s[1] > INT32_MAX) return false;
    if (shape == S2_SHAPE_TOKENS || (shape == S2_SHAPE_QUERIES && array->n_dims == 1)) {
        *out = (s2_matrix){ NULL, 1, (int32_t)s[0] };
        return array->n_dims == 1 && s[0] == n;
    }
    *out = (s2_matrix){ NULL, (int32_t)s[0], (int32_t)s[1] };
    return array->n_dims == 2 && s[shape == S2_SHAPE_ROWS ? 0 : 1] == n;
}

static s2p_status convert(const s2_array *array, const char *path, const char *field,
                          s2_matrix *out, s2p_error *error)
{
    float *data = malloc(array->count * sizeof *data);
    if (!data) return s2_fail_memory(error, array->count * sizeof *data, path);
    const float *narrow = array->data;
    const double *wide = array->data;
    for (size_t i = 0; i < array->count; i++) {
        data[i] = array->type == S2_F32 ? narrow[i] : (float)wide[i];
        if (isfinite(data[i])) continue;
        free(data);
        return s2_fail(error, S2P_EFORMAT, "%s: element %zu of '%.80s' is not a finite float32",
                       field, i, path);
    }
    out->data = data;
    return S2P_OK;
}

s2p_status s2_matrix_read(const char *path, const char *field, s2_shape shape, s2p_grid grid,
                          s2_matrix *out, s2p_error *error)
{
    s2_array array;
    s2p_error why = { S2P_OK, "" };
    s2p_status st = s2_npy_read(path, ARRAY_MAX_BYTES, &array, &why);
    if (st != S2P_OK) return s2_fail(error, st, "%s: %s", field, why.message);
    const int32_t n = grid.rows * grid.cols;
    s2_matrix matrix;
    if ((array.type != S2_F32 && array.type != S2_F64) || !matches(&array, shape, n, &matrix)) {
        static const char *const before[] = { "", "", "[q]" }, *const after[] = { "", "[d]", "" };
        char found[SHAPE_TEXT];
        shape_text(&array, found);
        st = s2_fail(error, S2P_EFORMAT,
                     "%s: '%.80s' is %s, expected float32 %s[%d]%s for %dx%d tokens", field, path,
                     found, before[shape], n, after[shape], grid.rows, grid.cols);
    } else {
        st = convert(&array, path, field, &matrix, error);
        if (st == S2P_OK) *out = matrix;
    }
    s2_array_free(&array);
    return st;
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
        return s2_fail(
            error, S2P_EINVAL,
            "--grid %d does not fit --tokens %dx%d (every region has a row and a column of "
            "tokens); use --grid %d or less",
            side, grid.rows, grid.cols, shorter);
    if (budget < side * side)
        return s2_fail(
            error, S2P_EBUDGET,
            "--budget %d is less than the %d regions of --grid %d (every region keeps one "
            "token); use --grid %d or --budget %d or more",
            budget, side * side, side, (int32_t)sqrt((double)budget), side * side);
    return S2P_OK;
}
