/* safetensors.c - accept or refuse the whole header of a checkpoint file.
 *
 * RELIABILITY R-GG3. One idea carries the placement checks: sorted by their offsets, the tensors
 * must begin at 0, each begin where the one before ended, and end with the file. That leaves no
 * room for overlaps, holes or unknown bytes.
 */
#include "convert/safetensors.h"

#include "base/checked.h"
#include "base/json_limit.h"
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX 8u /* bytes of the header's length */
#define VALUES_PER_TENSOR 12u

struct s2v_safetensors {
    const uint8_t *bytes; /* NULL: read from fd */
    int fd;
    uint64_t n_bytes, data; /* size of the file, first byte of the data */
    char name[128];
    json_t *header; /* owns the tensors' names */
    s2v_st_tensor *tensors;
    size_t n_tensors;
};

static const struct {
    const char *name;
    size_t width;
} types[] = {
    [S2V_ST_BOOL] = { "BOOL", 1 },       [S2V_ST_U8] = { "U8", 1 },
    [S2V_ST_I8] = { "I8", 1 },           [S2V_ST_F8_E5M2] = { "F8_E5M2", 1 },
    [S2V_ST_F8_E4M3] = { "F8_E4M3", 1 }, [S2V_ST_I16] = { "I16", 2 },
    [S2V_ST_U16] = { "U16", 2 },         [S2V_ST_F16] = { "F16", 2 },
    [S2V_ST_BF16] = { "BF16", 2 },       [S2V_ST_I32] = { "I32", 4 },
    [S2V_ST_U32] = { "U32", 4 },         [S2V_ST_F32] = { "F32", 4 },
    [S2V_ST_F64] = { "F64", 8 },         [S2V_ST_I64] = { "I64", 8 },
    [S2V_ST_U64] = { "U64", 8 },
};

static s2p_status refuse_safetensors(const s2v_safetensors *file, s2p_error *error,
                                     s2p_status status, const char *format, ...) S2_PRINTF(4, 5);

static s2p_status refuse_safetensors(const s2v_safetensors *file, s2p_error *error,
                                     s2p_status status, const char *format, ...)
{
    char text[sizeof error->message];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return s2_fail(error, status, "%.80s: %s", file->name, text);
}

/* --- bytes ----------------------------------------------------------------------------------- */

static s2p_status read_at(const s2v_safetensors *file, uint64_t at, size_t n, void *out,
                          s2p_error *error)
{
    if (file->bytes) {
        memcpy(out, file->bytes + at, n);
        return S2P_OK;
    }
    uint8_t *to = out;
    while (n > 0) {
        const ssize_t got = pread(file->fd, to, n, (off_t)at);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) {
            const int code = got < 0 ? errno : EIO;
            refuse_safetensors(file, error, S2P_EIO, "cannot read byte %" PRIu64 ": %s", at,
                               got < 0 ? strerror(code) : "the file became shorter");
            errno = code; /* S2P_EIO promises that errno has more */
            return S2P_EIO;
        }
        to += got;
        at += (uint64_t)got;
        n -= (size_t)got;
    }
    return S2P_OK;
}

s2p_status s2v_safetensors_read(const s2v_safetensors *file, const s2v_st_tensor *tensor,
                                uint64_t from, size_t n, void *out, s2p_error *error)
{
    if (from > tensor->n_bytes || n > tensor->n_bytes - from)
        return refuse_safetensors(file, error, S2P_EINVAL,
                                  "tensor '%.64s': bytes %" PRIu64 " to %" PRIu64
                                  " are out of range",
                                  tensor->name, from, from + n);
    return n ? read_at(file, tensor->offset + from, n, out, error) : S2P_OK;
}

/* --- header ---------------------------------------------------------------------------------- */

/* What people pass by mistake, told by its first bytes. */
static s2p_status check_start(const s2v_safetensors *file, const uint8_t *start, size_t n,
                              s2p_error *error)
{
    static const struct {
        const char *start, *what;
    } others[] = {
        { "PK\x03\x04", "it is a zip archive, as PyTorch writes; save the model as safetensors" },
        { "\x80\x02", "it is a Python pickle, which is never loaded; save it as safetensors" },
        { "version ", "it is a Git LFS pointer; fetch the real file" },
        { "GGUF", "it is a GGUF file, which needs no conversion" },
    };
    if (n == 0)
        return refuse_safetensors(file, error, S2P_EFORMAT, "not safetensors: the file is empty");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const size_t length = strlen(others[i].start);
        if (n >= length && memcmp(start, others[i].start, length) == 0)
            return refuse_safetensors(file, error, S2P_EFORMAT, "not safetensors: %s",
                                      others[i].what);
    }
    if (n < PREFIX + 2)
        return refuse_safetensors(file, error, S2P_EFORMAT,
                                  "not safetensors: the file has only %zu bytes", n);
    return S2P_OK;
}

/* The header's JSON into file->header. */
static s2p_status read_header(s2v_safetensors *file, s2p_error *error)
{
    uint8_t start[PREFIX + 2];
    const size_t n_start = file->n_bytes < sizeof start ? (size_t)file->n_bytes : sizeof start;
    if (n_start > 0) TRY(read_at(file, 0, n_start, start, error));
    TRY(check_start(file, start, n_start, error));

    uint64_t n = 0;
    for (size_t i = 0; i < PREFIX; i++) n |= (uint64_t)start[i] << (8 * i);
    if (n > file->n_bytes - PREFIX)
        return refuse_safetensors(file, error, S2P_EFORMAT,
                                  "the header should have %" PRIu64
                                  " bytes, but the file has only %" PRIu64,
                                  n, file->n_bytes);
    if (n > S2V_ST_MAX_HEADER)
        return refuse_safetensors(file, error, S2P_ELIMIT,
                                  "a header of %" PRIu64 " bytes; the limit is %zu", n,
                                  S2V_ST_MAX_HEADER);
    if (n < 2 || start[PREFIX] != '{')
        return refuse_safetensors(file, error, S2P_EFORMAT,
                                  "not safetensors: the header is not a JSON object");
    file->data = PREFIX + n;

    char *text = malloc((size_t)n);
    if (!text) return s2_fail_memory(error, (size_t)n, "a checkpoint's header");
    s2p_status st = read_at(file, PREFIX, (size_t)n, text, error);
    if (st == S2P_OK)
        st =
            s2_json_parse_few(text, (size_t)n, file->name,
                              (size_t)S2V_ST_MAX_TENSORS * VALUES_PER_TENSOR, &file->header, error);
    free(text);
    if (st == S2P_OK && !json_is_object(file->header))
        st = refuse_safetensors(file, error, S2P_EFORMAT,
                                "not safetensors: the header is not a JSON object");
    return st;
}

/* --- tensors --------------------------------------------------------------------------------- */

/* Names reach terminals and C strings. */
static bool is_name(const char *name)
{
    size_t n = 0;
    for (; name[n]; n++)
        if ((uint8_t)name[n] < 0x20 || name[n] == 0x7f || n >= S2V_ST_MAX_NAME) return false;
    return n > 0;
}

static s2p_status check_metadata(const s2v_safetensors *file, json_t *value, s2p_error *error)
{
    const char *key;
    json_t *item;
    if (!json_is_object(value))
        return refuse_safetensors(file, error, S2P_EFORMAT, "'__metadata__' is not an object");
    json_object_foreach(value, key, item) if (!json_is_string(item)) return refuse_safetensors(
        file, error, S2P_EFORMAT, "'__metadata__' holds '%.40s', not a string", key);
    return S2P_OK;
}

static s2p_status read_type(const s2v_safetensors *file, const json_t *value, s2v_st_tensor *t,
                            s2p_error *error)
{
    const char *name = json_string_value(value);
    if (!name)
        return refuse_safetensors(file, error, S2P_EFORMAT,
                                  "tensor '%.64s': 'dtype' is not a string", t->name);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].name, name) == 0) {
            t->type = (s2v_st_type)i;
            return S2P_OK;
        }
    return refuse_safetensors(file, error, S2P_EFORMAT, "tensor '%.64s': unknown dtype '%.20s'",
                              t->name, name);
}

static s2p_status read_shape(const s2v_safetensors *file, const json_t *value, s2v_st_tensor *t,
                             s2p_error *error)
{
    if (!json_is_array(value))
        return refuse_safetensors(file, error, S2P_EFORMAT, "tensor '%.64s': 'shape' is not a list",
                                  t->name);
    const size_t n_dims = json_array_size(value);
    if (n_dims > S2V_ST_MAX_DIMS)
        return refuse_safetensors(file, error, S2P_ELIMIT,
                                  "tensor '%.64s': %zu dimensions; the limit is %d", t->name,
                                  n_dims, S2V_ST_MAX_DIMS);
    t->n_dims = (int32_t)n_dims;
    for (size_t d = 0; d < S2V_ST_MAX_DIMS; d++) t->shape[d] = 1;
    for (size_t d = 0; d < n_dims; d++) {
        const json_t *size = json_array_get(value, d);
        if (!json_is_integer(size) || json_integer_value(size) < 0)
            return refuse_safetensors(file, error, S2P_EFORMAT,
                                      "tensor '%.64s': a dimension is not a valid size", t->name);
        t->shape[d] = json_integer_value(size);
    }
    size_t n = 1, n_bytes = 0;
    for (size_t d = 0; d < n_dims; d++)
        if (!s2_mul_size(n, (size_t)t->shape[d], &n))
            return refuse_safetensors(file, error, S2P_EFORMAT,
                                      "tensor '%.64s': its shape overflows", t->name);
    if (n > INT64_MAX || !s2_mul_size(n, types[t->type].width, &n_bytes))
        return refuse_safetensors(file, error, S2P_EFORMAT, "tensor '%.64s': its shape overflows",
                                  t->name);
    t->n_values = n;
    t->n_bytes = n_bytes;
    return S2P_OK;
}

static s2p_status read_offsets(const s2v_safetensors *file, const json_t *value, s2v_st_tensor *t,
                               s2p_error *error)
{
    const json_t *first = json_array_get(value, 0), *last = json_array_get(value, 1);
    if (json_array_size(value) != 2 || !json_is_integer(first) || !json_is_integer(last) ||
        json_integer_value(first) < 0 || json_integer_value(last) < json_integer_value(first))
        return refuse_safetensors(file, error, S2P_EFORMAT,
                                  "tensor '%.64s': 'data_offsets' is not a pair of begin and end",
                                  t->name);
    const uint64_t begin = (uint64_t)json_integer_value(first);
    const uint64_t end = (uint64_t)json_integer_value(last);
    if (end > file->n_bytes - file->data)
        return refuse_safetensors(file, error, S2P_EFORMAT,
                                  "tensor '%.64s' ends at byte %" PRIu64 " of %" PRIu64
                                  " bytes of data",
                                  t->name, end, file->n_bytes - file->data);
    if (end - begin != t->n_bytes)
        return refuse_safetensors(file, error, S2P_EFORMAT,
                                  "tensor '%.64s': %" PRIu64
                                  " bytes, but its type and shape need %" PRIu64,
                                  t->name, end - begin, t->n_bytes);
    t->offset = file->data + begin;
    return S2P_OK;
}

static s2p_status read_tensor(const s2v_safetensors *file, const char *name, const json_t *value,
                              s2v_st_tensor *t, s2p_error *error)
{
    t->name = name;
    if (!is_name(name))
        return refuse_safetensors(file, error, S2P_EFORMAT,
                                  "a tensor's name is empty, too long or holds control characters");
    if (!json_is_object(value) || json_object_size(value) != 3)
        return refuse_safetensors(
            file, error, S2P_EFORMAT,
            "tensor '%.64s' is not an object of dtype, shape and data_offsets", name);
    TRY(read_type(file, json_object_get(value, "dtype"), t, error));
    TRY(read_shape(file, json_object_get(value, "shape"), t, error));
    return read_offsets(file, json_object_get(value, "data_offsets"), t, error);
}

/* By place; of those at one place the empty ones first. */
static int compare_places(const void *a, const void *b)
{
    const s2v_st_tensor *x = a, *y = b;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    if (x->n_bytes != y->n_bytes) return x->n_bytes < y->n_bytes ? -1 : 1;
    return strcmp(x->name, y->name);
}

static s2p_status check_places(const s2v_safetensors *file, s2p_error *error)
{
    uint64_t end = file->data;
    for (size_t i = 0; i < file->n_tensors; i++) {
        const s2v_st_tensor *t = &file->tensors[i];
        if (t->offset < end)
            return refuse_safetensors(file, error, S2P_EFORMAT,
                                      "tensors '%.48s' and '%.48s' overlap",
                                      file->tensors[i - 1].name, t->name);
        if (t->offset > end)
            return refuse_safetensors(file, error, S2P_EFORMAT,
                                      "%" PRIu64 " unused byte%s before tensor '%.64s'",
                                      t->offset - end, t->offset - end == 1 ? "" : "s", t->name);
        end = t->offset + t->n_bytes;
    }
    if (end != file->n_bytes)
        return refuse_safetensors(file, error, S2P_EFORMAT,
                                  "%" PRIu64 " unused byte%s after the last tensor",
                                  file->n_bytes - end, file->n_bytes - end == 1 ? "" : "s");
    return S2P_OK;
}

static s2p_status read_tensors(s2v_safetensors *file, s2p_error *error)
{
    const size_t n = json_object_size(file->header);
    if (n > S2V_ST_MAX_TENSORS)
        return refuse_safetensors(file, error, S2P_ELIMIT, "%zu tensors; the limit is %u", n,
                                  S2V_ST_MAX_TENSORS);
    file->tensors = calloc(n ? n : 1, sizeof *file->tensors);
    if (!file->tensors)
        return s2_fail_memory(error, n * sizeof *file->tensors, "a checkpoint's tensors");
    const char *name;
    json_t *value;
    json_object_foreach(file->header, name, value)
    {
        if (strcmp(name, "__metadata__") == 0) {
            TRY(check_metadata(file, value, error));
            continue;
        }
        TRY(read_tensor(file, name, value, &file->tensors[file->n_tensors], error));
        file->n_tensors++;
    }
    qsort(file->tensors, file->n_tensors, sizeof *file->tensors, compare_places);
    return check_places(file, error);
}

/* --- open and close -------------------------------------------------------------------------- */

static s2p_status create_file(s2v_safetensors **out, const char *path, s2p_error *error)
{
    s2v_safetensors *file = calloc(1, sizeof *file);
    *out = file;
    if (!file) return s2_fail_memory(error, sizeof *file, "a checkpoint file");
    file->fd = -1;
    (void)snprintf(file->name, sizeof file->name, "%s", s2_base_name(path));
    return S2P_OK;
}

void s2v_safetensors_close(s2v_safetensors *file)
{
    if (!file) return;
    if (file->fd >= 0) close(file->fd);
    json_decref(file->header);
    free(file->tensors);
    free(file);
}

static s2p_status fail_open(s2p_error *error, const char *path, int code, const char *why)
{
    s2_fail(error, S2P_EIO, "cannot open '%.120s': %s", path, why);
    errno = code;
    return S2P_EIO;
}

static s2p_status open_file(s2v_safetensors *file, const char *path, s2p_error *error)
{
    file->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat info;
    if (file->fd < 0 || fstat(file->fd, &info) != 0)
        return fail_open(error, path, errno, strerror(errno));
    if (!S_ISREG(info.st_mode)) return fail_open(error, path, EINVAL, "it is not a regular file");
    file->n_bytes = (uint64_t)info.st_size;
    return S2P_OK;
}

/* Check everything; the file is the caller's on success and gone otherwise. */
static s2p_status accept_file(s2v_safetensors **out, s2v_safetensors *file, s2p_status st,
                              s2p_error *error)
{
    if (st == S2P_OK) st = read_header(file, error);
    if (st == S2P_OK) st = read_tensors(file, error);
    if (st == S2P_OK) {
        *out = file;
        return S2P_OK;
    }
    const int code = errno;
    s2v_safetensors_close(file);
    errno = code;
    return st;
}

s2p_status s2v_safetensors_open(s2v_safetensors **out, const char *path, s2p_error *error)
{
    s2v_safetensors *file = NULL;
    *out = NULL;
    s2p_status st = create_file(&file, path, error);
    if (st == S2P_OK) st = open_file(file, path, error);
    return accept_file(out, file, st, error);
}

s2p_status s2v_safetensors_parse(s2v_safetensors **out, const void *bytes, size_t n,
                                 const char *name, s2p_error *error)
{
    s2v_safetensors *file = NULL;
    *out = NULL;
    const s2p_status st = create_file(&file, name, error);
    if (st == S2P_OK) {
        file->bytes = bytes;
        file->n_bytes = n;
    }
    return accept_file(out, file, st, error);
}

/* --- what is in it ------------------------------------------------------------------------------
 */

size_t s2v_safetensors_n_tensors(const s2v_safetensors *file) { return file->n_tensors; }
uint64_t s2v_safetensors_n_bytes(const s2v_safetensors *file) { return file->n_bytes; }
const char *s2v_safetensors_name(const s2v_safetensors *file) { return file->name; }

const s2v_st_tensor *s2v_safetensors_at(const s2v_safetensors *file, size_t index)
{
    return index < file->n_tensors ? &file->tensors[index] : NULL;
}

const char *s2v_st_type_name(s2v_st_type type, size_t *width)
{
    if (width) *width = types[type].width;
    return types[type].name;
}
