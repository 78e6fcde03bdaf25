/* json.c - jansson behind the few functions we need.
 *
 * jansson already refuses invalid UTF-8, NaN, control characters and integers
 * beyond 64 bits. What it does not bound is work: a linear scan counts nesting
 * before it sees the text.
 */
#include "base/json.h"

#include "base/file.h"

#include <stdlib.h>
#include <string.h>

/* Deepest nesting of brackets outside strings. */
static size_t depth_of(const uint8_t *text, size_t n)
{
    size_t depth = 0, deepest = 0;
    bool in_string = false;
    for (size_t i = 0; i < n; i++) {
        const uint8_t c = text[i];
        if (in_string) {
            if (c == '\\') i++;
            in_string = c != '"';
        } else if (c == '"') {
            in_string = true;
        } else if (c == '[' || c == '{') {
            if (++depth > deepest) deepest = depth;
        } else if ((c == ']' || c == '}') && depth > 0) {
            depth--;
        }
    }
    return deepest;
}

s2p_status s2_json_parse(const void *text, size_t n, const char *name, json_t **out,
                         s2p_error *error)
{
    *out = NULL;
    const size_t depth = depth_of(text, n);
    if (depth > S2_JSON_MAX_DEPTH)
        return s2_fail(error, S2P_ELIMIT, "%s: JSON is nested %zu deep; the limit is %d", name,
                       depth, S2_JSON_MAX_DEPTH);
    json_error_t why;
    *out = json_loadb(text, n, JSON_REJECT_DUPLICATES, &why);
    if (*out) return S2P_OK;
    if (json_error_code(&why) == json_error_out_of_memory) return s2_fail_memory(error, n, name);
    return s2_fail(error, S2P_EFORMAT, "%s: not valid JSON at line %d, column %d", name, why.line,
                   why.column);
}

s2p_status s2_json_read_file(const char *path, size_t max_bytes, json_t **out, s2p_error *error)
{
    *out = NULL;
    s2_buffer text;
    s2_buffer_init(&text, max_bytes);
    s2p_status st = s2_file_read(path, &text, error);
    if (st == S2P_OK)
        st =
            s2_json_parse(text.data ? text.data : (const uint8_t *)"", text.size, path, out, error);
    s2_buffer_free(&text);
    return st;
}

static int append(const char *text, size_t n, void *buffer)
{
    s2_buffer_append(buffer, text, n);
    return ((s2_buffer *)buffer)->status == S2P_OK ? 0 : -1;
}

s2p_status s2_json_write(const json_t *value, int digits, s2_buffer *out)
{
    const size_t flags = JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION((size_t)digits);
    const int failed = json_dump_callback(value, append, out, flags);
    if (out->status != S2P_OK) return out->status;
    return failed ? S2P_ENOMEM : S2P_OK;
}

/* Integers within int32; 1.0 is not one. */
static bool to_int32(const json_t *value, int32_t *out)
{
    if (!json_is_integer(value)) return false;
    const json_int_t wide = json_integer_value(value);
    if (wide < INT32_MIN || wide > INT32_MAX) return false;
    *out = (int32_t)wide;
    return true;
}

bool s2_json_int(const json_t *object, const char *key, int32_t *out)
{
    return to_int32(json_object_get(object, key), out);
}

const char *s2_json_string(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

int32_t *s2_json_ints(const json_t *array, size_t *n)
{
    *n = 0;
    const size_t count = json_array_size(array);
    int32_t *out = count ? malloc(count * sizeof *out) : NULL;
    for (size_t i = 0; out && i < count; i++) {
        if (to_int32(json_array_get(array, i), &out[i])) continue;
        free(out);
        out = NULL;
    }
    if (out) *n = count;
    return out;
}

static bool to_double(const json_t *value, double *out)
{
    if (json_is_number(value)) {
        *out = json_number_value(value);
        return true;
    }
    const char *text = json_string_value(value);
    if (!text || !*text) return false;
    char *end;
    *out = strtod(text, &end);
    return *end == '\0';
}

double *s2_json_doubles(const json_t *array, size_t *n)
{
    *n = 0;
    const size_t count = json_array_size(array);
    double *out = count ? malloc(count * sizeof *out) : NULL;
    for (size_t i = 0; out && i < count; i++) {
        if (to_double(json_array_get(array, i), &out[i])) continue;
        free(out);
        out = NULL;
    }
    if (out) *n = count;
    return out;
}

json_t *s2_json_of_ints(const int32_t *value, size_t n)
{
    json_t *array = json_array();
    for (size_t i = 0; i < n; i++) (void)json_array_append_new(array, json_integer(value[i]));
    return array;
}
