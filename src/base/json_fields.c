/* json_fields.c - one check for all tables of fields. */
#include "base/json_fields.h"

#include "base/error.h"

#include <stdio.h>
#include <string.h>

static s2p_status check_size(size_t n, const s2_json_field *f, const char *param, const char *what,
                             s2p_error *error)
{
    if ((double)n >= f->min && (double)n <= f->max) return S2P_OK;
    return s2_fail(error, S2P_EINVAL, "%s has %zu %s; it must have from %.0f to %.0f", param, n,
                   what, f->min, f->max);
}

static s2p_status check_field(const json_t *value, const s2_json_field *f, const char *param,
                              int32_t n_ctx, s2p_error *error)
{
    const char *expected = NULL;
    switch (f->type) {
    case S2_JSON_INT:
        if (!json_is_integer(value)) expected = "a whole number";
        break;
    case S2_JSON_REAL:
        if (!json_is_number(value)) expected = "a number";
        break;
    case S2_JSON_BOOL:
        if (!json_is_boolean(value)) expected = "true or false";
        break;
    case S2_JSON_TEXT:
        if (!json_is_string(value)) expected = "a string";
        break;
    case S2_JSON_LIST:
        if (!json_is_array(value)) expected = "a list";
        break;
    case S2_JSON_OBJECT:
        if (!json_is_object(value)) expected = "an object";
        break;
    case S2_JSON_OTHER:
        break;
    }
    if (expected) return s2_fail(error, S2P_EINVAL, "%s must be %s", param, expected);
    if (f->type == S2_JSON_TEXT)
        return check_size(json_string_length(value), f, param, "bytes", error);
    if (f->type == S2_JSON_LIST)
        return check_size(json_array_size(value), f, param, "items", error);
    if (f->type != S2_JSON_INT && f->type != S2_JSON_REAL) return S2P_OK;
    const double number = json_number_value(value),
                 max = f->max == S2_JSON_CONTEXT ? n_ctx : f->max;
    /* as a double 2^53 + 1 is 2^53 */
    const bool is_above =
        json_is_integer(value) && max < 0x1p62 && json_integer_value(value) > (json_int_t)max;
    if (number >= f->min && number <= max && !is_above) return S2P_OK; /* false for NaN */
    if (is_above)
        return s2_fail(error, S2P_EINVAL, "%s is %lld; it must be from %.10g to %.16g", param,
                       (long long)json_integer_value(value), f->min, max);
    return s2_fail(error, S2P_EINVAL, "%s is %.10g; it must be from %.10g to %.16g", param, number,
                   f->min, max);
}

s2p_status s2_json_check_fields(const json_t *object, const s2_json_field *fields, const char *path,
                                bool is_closed, int32_t n_ctx, char param[S2_JSON_PARAM],
                                s2p_error *error)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        const s2_json_field *f = fields;
        while (f->name && strcmp(f->name, key) != 0) f++;
        (void)snprintf(param, S2_JSON_PARAM, "%.60s%.40s", path, key);
        if (!f->name && is_closed) {
            char list[200] = "";
            size_t at = 0;
            for (f = fields; f->name && at < sizeof list; f++)
                at += (size_t)snprintf(list + at, sizeof list - at, "%s%s", at > 0 ? ", " : "",
                                       f->name);
            return s2_fail(error, S2P_EINVAL, "%s is not known; there are %s", param, list);
        }
        if (!f->name || json_is_null(value)) continue;
        TRY(check_field(value, f, param, n_ctx, error));
    }
    param[0] = '\0';
    return S2P_OK;
}
