/* json.h - JSON in and out, through jansson, with limits before parsing.
 *
 * Reading: s2_json_parse bounds the nesting, refuses duplicate
 * keys, invalid UTF-8 and NaN, and returns a tree. Writing: build a tree
 * with jansson's own constructors and print it with s2_json_write.
 */
#ifndef S2_BASE_JSON_H
#define S2_BASE_JSON_H

#include "base/buffer.h"

#include <jansson.h>
#include <stdbool.h>

#define S2_JSON_MAX_DEPTH 64

/* *out is a new reference the caller drops with json_decref. `name` is for the sentence. */
s2p_status s2_json_parse(const void *text, size_t n, const char *name, json_t **out,
                         s2p_error *error);
s2p_status s2_json_read_file(const char *path, size_t max_bytes, json_t **out, s2p_error *error);

/* One line, compact; reals with enough digits to give back the same float (9) or double (17). */
s2p_status s2_json_write(const json_t *value, int digits, s2_buffer *out);

/* Member access for untrusted trees: false when missing, of another type, or out of int32 range. */
bool s2_json_int(const json_t *object, const char *key, int32_t *out);
const char *s2_json_string(const json_t *object, const char *key); /* NULL when not there */

/* Arrays of numbers: *n values in a new array the caller frees; NULL (and *n = 0) when the member
 * is missing, empty or holds anything else. Strings are read as C hex floats by _doubles. */
int32_t *s2_json_ints(const json_t *array, size_t *n);
double *s2_json_doubles(const json_t *array, size_t *n);

/* [1,2,3]; a new reference, NULL without memory. */
json_t *s2_json_of_ints(const int32_t *value, size_t n);

#endif /* S2_BASE_JSON_H */
