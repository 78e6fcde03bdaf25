/* npy.c - read and write .npy with nothing taken on trust.
 *
 * The header is a Python dict literal. A dict with exactly the three keys descr,
 * fortran_order and shape, each once and in any order, is accepted; everything
 * else is refused, so no part of Python's grammar has to be understood.
 */
#include "base/npy.h"

#include "base/checked.h"
#include "base/file.h"

#include <stdlib.h>
#include <string.h>

#define MAGIC "\x93NUMPY"
#define MAGIC_SIZE 6u
#define MAX_HEADER ((size_t)64 * 1024)
#define ALIGNMENT 64u

static const struct {
    const char *descr;
    size_t size;
} types[] = {
    [S2_U8] = { "|u1", 1 },  [S2_I32] = { "<i4", 4 }, [S2_I64] = { "<i8", 8 },
    [S2_F32] = { "<f4", 4 }, [S2_F64] = { "<f8", 8 },
};
#define N_TYPES (sizeof types / sizeof *types)

size_t s2_dtype_size(s2_dtype type) { return types[type].size; }

/* --- the header ----------------------------------------------------------- */

typedef struct cursor {
    const char *at, *end;
} cursor;

static void skip_space(cursor *c)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\n')) c->at++;
}

/* Take `text` if it comes next, spaces before it aside. */
static bool take_text(cursor *c, const char *text)
{
    skip_space(c);
    const size_t n = strlen(text);
    if ((size_t)(c->end - c->at) < n || memcmp(c->at, text, n) != 0) return false;
    c->at += n;
    return true;
}

static bool take_descr(cursor *c, s2_array *out)
{
    const char quote[2] = { take_text(c, "'") ? '\'' : '"', '\0' };
    if (quote[0] == '"' && !take_text(c, "\"")) return false;
    for (size_t t = 0; t < N_TYPES; t++) {
        if (!take_text(c, types[t].descr)) continue;
        out->type = (s2_dtype)t;
        return take_text(c, quote);
    }
    return false;
}

static bool take_number(cursor *c, int64_t *out)
{
    skip_space(c);
    const char *first = c->at;
    int64_t value = 0;
    for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++) {
        if (value > (INT64_MAX - 9) / 10) return false;
        value = 10 * value + (*c->at - '0');
    }
    *out = value;
    return c->at > first;
}

/* (), (5,), (3, 4), (3, 4,) */
static bool take_shape(cursor *c, s2_array *out)
{
    if (!take_text(c, "(")) return false;
    for (int32_t d = 0; d < S2_NPY_MAX_DIMS; d++) out->shape[d] = 1;
    out->n_dims = 0;
    while (!take_text(c, ")")) {
        if (out->n_dims == S2_NPY_MAX_DIMS) return false;
        if (!take_number(c, &out->shape[out->n_dims++])) return false;
        if (take_text(c, ",")) continue;
        return out->n_dims > 1 && take_text(c, ")"); /* (5) is a number in Python, not a shape */
    }
    return true;
}

static const char *parse_header(const char *text, size_t n, s2_array *out)
{
    cursor c = { text, text + n };
    bool has_descr = false, has_order = false, has_shape = false;
    if (!take_text(&c, "{")) return "the header is not a dict";
    while (!take_text(&c, "}")) {
        if (!has_descr && take_text(&c, "'descr'") && take_text(&c, ":")) {
            if (!take_descr(&c, out)) return "the type is not one of u1 i4 i8 f4 f8, little-endian";
            has_descr = true;
        } else if (!has_order && take_text(&c, "'fortran_order'") && take_text(&c, ":")) {
            if (!take_text(&c, "False")) return "only C order is supported";
            has_order = true;
        } else if (!has_shape && take_text(&c, "'shape'") && take_text(&c, ":")) {
            if (!take_shape(&c, out)) return "the shape is not a tuple of up to 4 sizes";
            has_shape = true;
        } else {
            return "the header has an unknown or repeated key";
        }
        if (take_text(&c, ",")) continue;
        if (take_text(&c, "}")) break;
        return "the header is not a dict";
    }
    skip_space(&c);
    if (c.at != c.end) return "bytes follow the header's dict";
    return has_descr && has_order && has_shape ? NULL
                                               : "the header lacks descr, fortran_order or shape";
}

/* --- reading ---------------------------------------------------------------- */

s2p_status s2_npy_parse(const void *bytes, size_t n, const char *name, s2_array *out,
                        s2p_error *error)
{
    const uint8_t *b = bytes;
    s2_array array = { .type = S2_U8 };
    if (n < MAGIC_SIZE + 4 || memcmp(b, MAGIC, MAGIC_SIZE) != 0)
        return s2_fail(error, S2P_EFORMAT, "%s: not an .npy file", name);
    const uint8_t major = b[6], minor = b[7];
    if (major < 1 || major > 3 || minor != 0)
        return s2_fail(error, S2P_EUNSUPPORTED, "%s: .npy version %d.%d is not supported", name,
                       major, minor);

    size_t start = MAGIC_SIZE + 4, length = (size_t)b[8] | (size_t)b[9] << 8;
    if (major > 1) { /* four bytes of length instead of two */
        start += 2;
        if (n < start) return s2_fail(error, S2P_EFORMAT, "%s: truncated in its header", name);
        length |= (size_t)b[10] << 16 | (size_t)b[11] << 24;
    }
    if (length > MAX_HEADER)
        return s2_fail(error, S2P_ELIMIT, "%s: header of %zu bytes; the limit is %zu", name, length,
                       MAX_HEADER);
    if (length > n - start)
        return s2_fail(error, S2P_EFORMAT, "%s: header says %zu bytes, %zu are left", name, length,
                       n - start);
    const char *why = parse_header((const char *)b + start, length, &array);
    if (why) return s2_fail(error, S2P_EFORMAT, "%s: %s", name, why);

    array.count = 1;
    for (int32_t d = 0; d < array.n_dims; d++)
        if ((uint64_t)array.shape[d] > SIZE_MAX ||
            !s2_mul_size(array.count, (size_t)array.shape[d], &array.count))
            return s2_fail(error, S2P_EFORMAT, "%s: the shape's element count overflows", name);
    size_t n_bytes;
    const size_t left = n - start - length;
    if (!s2_mul_size(array.count, s2_dtype_size(array.type), &n_bytes) || n_bytes != left)
        return s2_fail(error, S2P_EFORMAT,
                       "%s: the shape asks for %zu elements of %zu bytes, %zu bytes follow", name,
                       array.count, s2_dtype_size(array.type), left);
    if (n_bytes > 0) {
        array.data = malloc(n_bytes);
        if (!array.data) return s2_fail_memory(error, n_bytes, name);
        memcpy(array.data, b + start + length, n_bytes);
    }
    *out = array;
    return S2P_OK;
}

s2p_status s2_npy_read(const char *path, size_t max_bytes, s2_array *out, s2p_error *error)
{
    s2_buffer bytes;
    s2_buffer_init(&bytes, max_bytes);
    s2p_status st = s2_file_read(path, &bytes, error);
    if (st == S2P_OK) st = s2_npy_parse(bytes.data, bytes.size, path, out, error);
    s2_buffer_free(&bytes);
    return st;
}

void s2_array_free(s2_array *array)
{
    free(array->data);
    *array = (s2_array){ .type = S2_U8 };
}

/* --- writing ---------------------------------------------------------------- */

s2p_status s2_npy_format(const s2_array *array, s2_buffer *out)
{
    const size_t start = out->size, fixed = MAGIC_SIZE + 4;
    static const uint8_t preamble[] = { 0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, 0, 0 };
    s2_buffer_append(out, preamble, sizeof preamble);
    s2_buffer_printf(out, "{'descr': '%s', 'fortran_order': False, 'shape': (",
                     types[array->type].descr);
    for (int32_t d = 0; d < array->n_dims; d++)
        s2_buffer_printf(out, d + 1 < array->n_dims ? "%lld, " : "%lld",
                         (long long)array->shape[d]);
    s2_buffer_printf(out, array->n_dims == 1 ? ",), }" : "), }");
    while (out->status == S2P_OK && (out->size - start + 1) % ALIGNMENT != 0)
        s2_buffer_append(out, " ", 1);
    s2_buffer_append(out, "\n", 1);
    if (out->status != S2P_OK) return out->status;

    const size_t length = out->size - start - fixed; /* at most 4 sizes: far below 64 KiB */
    out->data[start + 8] = (uint8_t)(length & 0xff);
    out->data[start + 9] = (uint8_t)(length >> 8);
    s2_buffer_append(out, array->data, array->count * s2_dtype_size(array->type));
    return out->status;
}

s2p_status s2_npy_write(const char *path, const s2_array *array, s2p_error *error)
{
    s2_buffer bytes;
    s2_buffer_init(&bytes, SIZE_MAX);
    s2p_status st = s2_npy_format(array, &bytes);
    if (st == S2P_OK)
        st = s2_file_write(path, bytes.data, bytes.size, error);
    else
        s2_fail_memory(error, array->count * s2_dtype_size(array->type), path);
    s2_buffer_free(&bytes);
    return st;
}
