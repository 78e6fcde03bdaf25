/* gguf_parse.c - accept or refuse the whole header of a model file.
 *
 * Layout of versions 2 and 3, little-endian:
 *
 *   "GGUF", u32 version, u64 tensors, u64 keys
 *   keys:     string name, u32 type, value
 *   tensors:  string name, u32 dims, u64 ne[dims], u32 type, u64 offset
 *   padding to general.alignment, then the data the offsets count from
 *
 *   string:   u64 length, bytes
 *   array:    u32 type, u64 count, items
 *
 * One cursor, and one comparison with the bytes that are left before it moves:
 * no length from the file is added to anything before it has been found to fit.
 * Memory is asked for twice, once for all keys and once for all tensors, after
 * the counts were compared with what the bytes left could hold.
 */
#include "gguf/gguf_parse.h"

#include "base/checked.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADER_BYTES 24u
#define MIN_KEY_BYTES (8u + 1u + 4u + 1u) /* a name of one letter, a value of one byte */
#define MIN_TENSOR_BYTES (8u + 1u + 4u + 8u + 4u + 8u) /* a name of one letter, one dimension */
#define SHAPE_TEXT 96                                  /* four numbers of 19 digits and a sign */

typedef struct reader {
    s2v_gguf *file;
    const char *name; /* of the file, for the sentence */
    s2p_error *error;
    size_t at;     /* never beyond file->n_bytes */
    char part[96]; /* what is being read: "key 3 of 20", "tensor 'w'" */
} reader;

typedef struct span { /* a tensor's place in the data */
    uint64_t begin, end;
    size_t index;
} span;

_Static_assert(S2V_GGUF_MAX_KEYS *(sizeof(s2v_gguf_key) + 2 * sizeof(s2v_name_slot)) +
                       S2V_GGUF_MAX_TENSORS *
                           (sizeof(s2v_gguf_tensor) + sizeof(span) + 2 * sizeof(s2v_name_slot)) <=
                   (16u << 20),
               "metadata may take 16 MiB beyond a small multiple of the header");

/* --- the cursor ------------------------------------------------------------------------- */

static s2p_status refuse_gguf(const reader *r, s2p_status status, const char *format, ...)
    S2_PRINTF(3, 4);

static s2p_status refuse_gguf(const reader *r, s2p_status status, const char *format, ...)
{
    char text[sizeof r->error->message];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    const bool has_name = r->name && r->name[0];
    return s2_fail(r->error, status, "%.80s%s%s", has_name ? r->name : "", has_name ? ": " : "",
                   text);
}

static size_t left(const reader *r) { return r->file->n_bytes - r->at; }

static s2p_status fail_short(const reader *r)
{
    return refuse_gguf(r, S2P_EFORMAT, "the file ends after %zu bytes, inside %s", r->file->n_bytes,
                       r->part);
}

static s2p_status read_number(reader *r, size_t width, uint64_t *out)
{
    if (left(r) < width) return fail_short(r);
    *out = s2v_load(r->file->bytes + r->at, width);
    r->at += width;
    return S2P_OK;
}

/* A length and that many bytes, borrowed. */
static s2p_status read_text(reader *r, size_t limit, s2v_text *out)
{
    uint64_t n = 0;
    TRY(read_number(r, 8, &n));
    if (n > left(r))
        return refuse_gguf(r, S2P_EFORMAT,
                           "%s: a string of %" PRIu64 " bytes, but only %zu bytes are left",
                           r->part, n, left(r));
    if (n > limit)
        return refuse_gguf(r, S2P_ELIMIT, "%s: a string of %" PRIu64 " bytes; the limit is %zu",
                           r->part, n, limit);
    *out = (s2v_text){ (const char *)r->file->bytes + r->at, (size_t)n };
    r->at += (size_t)n;
    return S2P_OK;
}

/* --- magic, version, counts ------------------------------------------------------------- */

/* What people pass by mistake, told by its first bytes. */
static s2p_status fail_magic(const reader *r)
{
    static const struct {
        const char *start, *what;
    } others[] = {
        { "PK\x03\x04", "it is a zip archive, as PyTorch writes; convert it first" },
        { "\x80\x02", "it is a Python pickle, which is never loaded; convert it first" },
        { "version https://git-lfs", "it is a Git LFS pointer; fetch the real file" },
        { "tjgg", "it is in the older GGJT format; convert it again" },
        { "fmgg", "it is in the older GGMF format; convert it again" },
        { "lmgg", "it is in the older GGML format; convert it again" },
        { "FUGG", "its magic is byte-swapped" },
    };
    const uint8_t *bytes = r->file->bytes;
    const size_t n = r->file->n_bytes;
    if (n == 0) return refuse_gguf(r, S2P_EFORMAT, "not a GGUF file: it is empty");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const size_t length = strlen(others[i].start);
        if (n >= length && memcmp(bytes, others[i].start, length) == 0)
            return refuse_gguf(r, S2P_EFORMAT, "not a GGUF file: %s", others[i].what);
    }
    if (n > 8 && bytes[8] == '{')
        return refuse_gguf(r, S2P_EFORMAT,
                           "not a GGUF file: it looks like safetensors; convert it first");
    return refuse_gguf(r, S2P_EFORMAT, "not a GGUF file: it does not start with 'GGUF'");
}

static s2p_status check_version(const reader *r, uint32_t version)
{
    if (version == 2 || version == 3) return S2P_OK;
    if (version == 1)
        return refuse_gguf(r, S2P_EUNSUPPORTED,
                           "GGUF version 1 is not supported (2 and 3 are); convert the file again");
    if (version != 0 && (version & 0xffffu) == 0)
        return refuse_gguf(r, S2P_EUNSUPPORTED,
                           "a big-endian GGUF file is not supported; convert it to little-endian");
    return refuse_gguf(r, S2P_EUNSUPPORTED,
                       "GGUF version %" PRIu32 " is not supported (2 and 3 are)", version);
}

static s2p_status check_count(const reader *r, const char *what, uint64_t n, uint64_t limit,
                              size_t min_bytes)
{
    if (n > limit)
        return refuse_gguf(r, S2P_ELIMIT, "a %s count of %" PRIu64 "; the limit is %" PRIu64, what,
                           n, limit);
    if (n > left(r) / min_bytes)
        return refuse_gguf(r, S2P_EFORMAT,
                           "a %s count of %" PRIu64 " cannot fit into the %zu bytes left", what, n,
                           left(r));
    return S2P_OK;
}

static s2p_status read_start(reader *r)
{
    s2v_gguf *file = r->file;
    if (file->n_bytes < 4 || memcmp(file->bytes, "GGUF", 4) != 0) return fail_magic(r);
    r->at = 4;
    (void)snprintf(r->part, sizeof r->part, "its first %u bytes", HEADER_BYTES);

    uint64_t version = 0, n_tensors = 0, n_keys = 0;
    TRY(read_number(r, 4, &version));
    TRY(check_version(r, (uint32_t)version));
    TRY(read_number(r, 8, &n_tensors));
    TRY(read_number(r, 8, &n_keys));

    file->version = (uint32_t)version;
    file->claimed_tensors = n_tensors;
    file->claimed_keys = n_keys;
    TRY(check_count(r, "tensor", n_tensors, S2V_GGUF_MAX_TENSORS, MIN_TENSOR_BYTES));
    return check_count(r, "key", n_keys, S2V_GGUF_MAX_KEYS, MIN_KEY_BYTES);
}

/* --- keys --------------------------------------------------------------------------------- */

/* Visible ASCII: key names are printed, compared and searched, never translated. */
static bool is_key_name(s2v_text name)
{
    for (size_t i = 0; i < name.size; i++)
        if (name.data[i] < 0x21 || name.data[i] > 0x7e) return false;
    return name.size > 0;
}

/* `count` values of one type, the items of an array or a value alone. */
static s2p_status read_items(reader *r, s2v_gguf_type type, uint64_t count)
{
    if (type == S2V_GGUF_STRING) {
        if (count > left(r) / 8) /* each has at least its length */
            return refuse_gguf(r, S2P_EFORMAT,
                               "%s: %" PRIu64 " strings, but only %zu bytes are left", r->part,
                               count, left(r));
        s2v_text ignored;
        for (uint64_t i = 0; i < count; i++) TRY(read_text(r, S2V_GGUF_MAX_STRING, &ignored));
        return S2P_OK;
    }
    const size_t width = s2v_gguf_width(type);
    assert(width > 0); /* not an array */
    if (count > left(r) / width)
        return refuse_gguf(r, S2P_EFORMAT,
                           "%s: %" PRIu64 " values of %zu bytes, but only %zu bytes are left",
                           r->part, count, width, left(r));
    const uint8_t *items = r->file->bytes + r->at;
    for (uint64_t i = 0; type == S2V_GGUF_BOOL && i < count; i++)
        if (items[i] > 1)
            return refuse_gguf(r, S2P_EFORMAT, "%s: a boolean is %u", r->part, (unsigned)items[i]);
    r->at += (size_t)count * width;
    return S2P_OK;
}

static s2p_status read_value(reader *r, s2v_gguf_key *key)
{
    uint64_t type = 0, item = 0, count = 1;
    TRY(read_number(r, 4, &type));
    if (type > S2V_GGUF_F64)
        return refuse_gguf(r, S2P_EFORMAT, "%s: unknown value type %" PRIu64, r->part, type);
    item = type;
    if (type == S2V_GGUF_ARRAY) {
        TRY(read_number(r, 4, &item));
        TRY(read_number(r, 8, &count));
        if (item == S2V_GGUF_ARRAY)
            return refuse_gguf(r, S2P_EUNSUPPORTED, "%s: an array of arrays is not supported",
                               r->part);
        if (item > S2V_GGUF_F64)
            return refuse_gguf(r, S2P_EFORMAT, "%s: array of unknown value type %" PRIu64, r->part,
                               item);
        if (count > S2V_GGUF_MAX_ITEMS)
            return refuse_gguf(r, S2P_ELIMIT,
                               "%s: an array of %" PRIu64 " values; the limit is %" PRIu64, r->part,
                               count, S2V_GGUF_MAX_ITEMS);
    } else if (left(r) < (type == S2V_GGUF_STRING ? 8 : s2v_gguf_width((uint32_t)type))) {
        return fail_short(r);
    }
    key->type = (s2v_gguf_type)type;
    key->item = (s2v_gguf_type)item;
    key->count = count;
    key->value = r->file->bytes + r->at;
    TRY(read_items(r, key->item, count));
    key->n_bytes = (size_t)(r->file->bytes + r->at - key->value);
    return S2P_OK;
}

static s2p_status add_name(const reader *r, s2v_names *names, size_t index)
{
    switch (s2v_names_add(names, index)) {
    case S2V_NAME_ADDED:
        return S2P_OK;
    case S2V_NAME_TWICE:
        return refuse_gguf(r, S2P_EFORMAT, "%s occurs twice", r->part);
    case S2V_NAME_CROWDED:
        break;
    }
    return refuse_gguf(r, S2P_ELIMIT, "%s: more than %u names share one hash", r->part,
                       S2V_GGUF_MAX_PROBES);
}

static s2p_status read_key(reader *r, size_t index)
{
    s2v_gguf *file = r->file;
    s2v_gguf_key *key = &file->keys[index];
    (void)snprintf(r->part, sizeof r->part, "key %zu of %" PRIu64, index + 1, file->claimed_keys);
    TRY(read_text(r, S2V_GGUF_MAX_KEY_NAME, &key->name));
    if (!is_key_name(key->name))
        return refuse_gguf(r, S2P_EFORMAT, "%s: its name is empty or not printable ASCII", r->part);
    (void)snprintf(r->part, sizeof r->part, "key '%.*s'",
                   key->name.size < 64 ? (int)key->name.size : 64, key->name.data);
    TRY(read_value(r, key));
    return add_name(r, &file->key_names, index);
}

static s2p_status read_keys(reader *r)
{
    s2v_gguf *file = r->file;
    const size_t n = (size_t)file->claimed_keys;
    file->keys = calloc(n ? n : 1, sizeof *file->keys);
    if (!file->keys || !s2v_names_init(&file->key_names, &file->keys->name, sizeof *file->keys, n))
        return s2_fail_memory(r->error, n * sizeof *file->keys, "the keys of a model file");
    for (; file->n_keys < n; file->n_keys++) TRY(read_key(r, file->n_keys));
    return S2P_OK;
}

static s2p_status read_alignment(reader *r)
{
    const size_t number = s2v_names_find(&r->file->key_names, "general.alignment");
    r->file->alignment = S2V_GGUF_DEFAULT_ALIGNMENT;
    if (number == 0) return S2P_OK;
    const s2v_gguf_key *key = &r->file->keys[number - 1];
    if (key->type != S2V_GGUF_U32)
        return refuse_gguf(r, S2P_EFORMAT, "key 'general.alignment' is not of type u32");
    const uint64_t value = s2v_load(key->value, 4);
    if (value < S2V_GGUF_MIN_ALIGNMENT || value > S2V_GGUF_MAX_ALIGNMENT ||
        (value & (value - 1)) != 0)
        return refuse_gguf(r, S2P_EFORMAT,
                           "key 'general.alignment' is %" PRIu64
                           ", not a power of two from %u to %u",
                           value, S2V_GGUF_MIN_ALIGNMENT, S2V_GGUF_MAX_ALIGNMENT);
    r->file->alignment = (size_t)value;
    return S2P_OK;
}

/* --- tensors ------------------------------------------------------------------------------ */

/* No control characters: names reach terminals, and C strings end at a NUL. */
static bool is_tensor_name(s2v_text name)
{
    for (size_t i = 0; i < name.size; i++)
        if ((uint8_t)name.data[i] < 0x20 || name.data[i] == 0x7f) return false;
    return name.size > 0;
}

static const char *shape_text(const s2v_gguf_tensor *tensor, char out[SHAPE_TEXT])
{
    size_t n = 0;
    for (int32_t d = 0; d < tensor->n_dims; d++)
        n += (size_t)snprintf(out + n, SHAPE_TEXT - n, "%s%" PRId64, d ? "x" : "", tensor->ne[d]);
    return out;
}

/* Product of positive numbers; false when it leaves int64. */
static bool mul(int64_t a, int64_t b, int64_t *out)
{
    if (a > INT64_MAX / b) return false;
    *out = a * b;
    return true;
}

static s2p_status read_shape(reader *r, s2v_gguf_tensor *tensor)
{
    uint64_t n_dims = 0;
    TRY(read_number(r, 4, &n_dims));
    if (n_dims < 1 || n_dims > S2V_GGUF_MAX_DIMS)
        return refuse_gguf(r, S2P_EFORMAT, "%s has %" PRIu64 " dimensions, not 1 to %d", r->part,
                           n_dims, S2V_GGUF_MAX_DIMS);
    tensor->n_dims = (int32_t)n_dims;
    for (size_t d = 0; d < S2V_GGUF_MAX_DIMS; d++) {
        uint64_t n = 1;
        if (d < n_dims) TRY(read_number(r, 8, &n));
        if (n < 1 || n > INT64_MAX)
            return refuse_gguf(r, S2P_EFORMAT, "%s: dimension %zu is %" PRIu64, r->part, d, n);
        tensor->ne[d] = (int64_t)n;
    }
    return S2P_OK;
}

/* Type and shape together: whole blocks, and a number of bytes that is a number. */
static s2p_status measure_tensor(const reader *r, s2v_gguf_tensor *tensor)
{
    char shape[SHAPE_TEXT];
    int64_t block = 0, n = 1, n_bytes = 0;
    size_t block_bytes = 0;
    const char *type = s2v_gguf_tensor_type(tensor->type, &block, &block_bytes);
    if (!type)
        return refuse_gguf(r, S2P_EUNSUPPORTED, "%s has the unknown or removed type %" PRIu32,
                           r->part, tensor->type);
    for (int32_t d = 0; d < tensor->n_dims; d++)
        if (!mul(n, tensor->ne[d], &n))
            return refuse_gguf(r, S2P_EFORMAT, "%s shape %s: element count overflows", r->part,
                               shape_text(tensor, shape));
    if (tensor->ne[0] % block != 0)
        return refuse_gguf(r, S2P_EFORMAT, "%s shape %s: rows of %s must be a multiple of %" PRId64,
                           r->part, shape_text(tensor, shape), type, block);
    if (!mul(n / block, (int64_t)block_bytes, &n_bytes))
        return refuse_gguf(r, S2P_EFORMAT, "%s shape %s: byte count overflows", r->part,
                           shape_text(tensor, shape));
    tensor->n_bytes = (uint64_t)n_bytes;
    return S2P_OK;
}

static s2p_status read_tensor(reader *r, size_t index)
{
    s2v_gguf *file = r->file;
    s2v_gguf_tensor *tensor = &file->tensors[index];
    (void)snprintf(r->part, sizeof r->part, "tensor %zu of %" PRIu64, index + 1,
                   file->claimed_tensors);
    TRY(read_text(r, S2V_GGUF_MAX_TENSOR_NAME, &tensor->name));
    if (!is_tensor_name(tensor->name))
        return refuse_gguf(r, S2P_EFORMAT, "%s: its name is empty or has control characters",
                           r->part);
    (void)snprintf(r->part, sizeof r->part, "tensor '%.*s'", (int)tensor->name.size,
                   tensor->name.data);

    uint64_t type = 0;
    TRY(read_shape(r, tensor));
    TRY(read_number(r, 4, &type));
    TRY(read_number(r, 8, &tensor->offset));
    tensor->type = (uint32_t)type;
    TRY(measure_tensor(r, tensor));
    return add_name(r, &file->tensor_names, index);
}

static int compare_spans(const void *a, const void *b)
{
    const span *x = a, *y = b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static s2p_status check_span(const reader *r, const span *place, const span *before)
{
    const s2v_gguf *file = r->file;
    const s2v_gguf_tensor *tensor = &file->tensors[place->index];
    const int length = (int)tensor->name.size;
    const size_t room = file->n_bytes - file->data_offset;
    if (place->begin % file->alignment != 0)
        return refuse_gguf(r, S2P_EFORMAT,
                           "tensor '%.*s': offset %" PRIu64 " is not a multiple of %zu", length,
                           tensor->name.data, place->begin, file->alignment);
    if (place->end > room)
        return refuse_gguf(r, S2P_EFORMAT,
                           "tensor '%.*s': offset %" PRIu64 " + %" PRIu64
                           " bytes is beyond the %zu bytes of tensor data",
                           length, tensor->name.data, place->begin, tensor->n_bytes, room);
    if (before && place->begin < before->end) {
        const s2v_text other = file->tensors[before->index].name;
        return refuse_gguf(r, S2P_EFORMAT, "tensors '%.*s' and '%.*s' overlap at offset %" PRIu64,
                           (int)other.size, other.data, length, tensor->name.data, place->begin);
    }
    return S2P_OK;
}

/* Where the data starts, that every tensor lies inside it and none inside another. spans: room for
 * one per tensor. */
static s2p_status place_tensors(reader *r, span *spans)
{
    s2v_gguf *file = r->file;
    const size_t n = file->n_tensors;
    size_t start = 0;
    if (!s2_add_size(r->at, file->alignment - 1, &start)) return fail_short(r);
    start -= start % file->alignment;
    if (start > file->n_bytes)
        return refuse_gguf(r, S2P_EFORMAT,
                           "the file ends after %zu bytes; tensor data starts at %zu",
                           file->n_bytes, start);
    file->data_offset = start;

    for (size_t i = 0; i < n; i++) {
        const uint64_t offset = file->tensors[i].offset, size = file->tensors[i].n_bytes;
        const uint64_t end = offset > UINT64_MAX - size ? UINT64_MAX : offset + size;
        spans[i] = (span){ offset, end, i };
    }
    qsort(spans, n, sizeof *spans, compare_spans);
    for (size_t i = 0; i < n; i++) TRY(check_span(r, &spans[i], i ? &spans[i - 1] : NULL));
    for (size_t i = 0; i < n; i++)
        file->tensors[spans[i].index].data = file->bytes + start + (size_t)spans[i].begin;
    return S2P_OK;
}

static s2p_status read_tensors(reader *r)
{
    s2v_gguf *file = r->file;
    const size_t n = (size_t)file->claimed_tensors;
    TRY(check_count(r, "tensor", n, S2V_GGUF_MAX_TENSORS, MIN_TENSOR_BYTES));
    file->tensors = calloc(n ? n : 1, sizeof *file->tensors);
    span *spans = calloc(n ? n : 1, sizeof *spans);
    s2p_status st = S2P_OK;
    if (!spans || !file->tensors ||
        !s2v_names_init(&file->tensor_names, &file->tensors->name, sizeof *file->tensors, n)) {
        st = s2_fail_memory(r->error, n * (sizeof *file->tensors + sizeof *spans),
                            "the tensors of a model file");
        goto done;
    }
    while (file->n_tensors < n) {
        st = read_tensor(r, file->n_tensors);
        if (st != S2P_OK) goto done;
        file->n_tensors++;
    }
    if (n > 0) st = place_tensors(r, spans);
done:
    free(spans);
    return st;
}

s2p_status s2v_gguf_check(s2v_gguf *file, const char *name, s2p_error *error)
{
    reader r = { .file = file, .name = name, .error = error };
    TRY(read_start(&r));
    TRY(read_keys(&r));
    TRY(read_alignment(&r));
    return read_tensors(&r);
}
