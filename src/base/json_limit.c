/* json_limit.c - count what a parser would have to build, then parse. */
#include "base/json_limit.h"

#include "base/file.h"
#include "base/path.h"

#include <stdlib.h>
#include <string.h>

/* Brackets that open and commas, outside strings: never fewer than half of the values. */
static size_t count_values(const uint8_t *text, size_t n)
{
    size_t count = 0;
    bool in_string = false;
    for (size_t i = 0; i < n; i++) {
        const uint8_t c = text[i];
        if (in_string) {
            if (c == '\\') i++;
            in_string = c != '"';
        } else if (c == '"') {
            in_string = true;
        } else if (c == '[' || c == '{' || c == ',') {
            count++;
        }
    }
    return count;
}

s2p_status s2_json_parse_few(const void *text, size_t n, const char *name, size_t max_values,
                             json_t **out, s2p_error *error)
{
    *out = NULL;
    const size_t count = count_values(text, n);
    if (count > max_values)
        return s2_fail(error, S2P_ELIMIT, "%s: JSON of %zu values; the limit is %zu", name, count,
                       max_values);
    return s2_json_parse(text, n, name, out, error);
}

s2p_status s2_json_read_in(const char *folder, const char *name, size_t max_bytes,
                           size_t max_values, json_t **out, s2p_error *error)
{
    *out = NULL;
    char *path = s2_path_in(folder, name);
    if (!path) return s2_fail_memory(error, strlen(folder), "a file name");
    s2_buffer text;
    s2_buffer_init(&text, max_bytes);
    s2p_status st = s2_file_read(path, &text, error);
    if (st == S2P_OK)
        st = s2_json_parse_few(text.data ? text.data : (const uint8_t *)"", text.size, name,
                               max_values, out, error);
    s2_buffer_free(&text);
    free(path);
    if (st == S2P_OK && !json_is_object(*out)) {
        json_decref(*out);
        *out = NULL;
        st = s2_fail(error, S2P_EFORMAT, "%s: it is not a JSON object", name);
    }
    return st;
}
