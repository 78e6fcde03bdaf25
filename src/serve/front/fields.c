/* fields.c - the tables, and one check for all of them. */
#include "serve/front/fields.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_SEED 9007199254740992.0 /* what every client's numbers hold */

/* clang-format off */
const s2_field s2_chat_fields[] = {
    { "model",                 S2_FIELD_TEXT,   1, 256 },
    { "messages",              S2_FIELD_LIST,   1, 256 },
    { "max_tokens",            S2_FIELD_INT,    1, S2_FIELD_CONTEXT },
    { "max_completion_tokens", S2_FIELD_INT,    1, S2_FIELD_CONTEXT },
    { "temperature",           S2_FIELD_REAL,   0, 2 },
    { "top_p",                 S2_FIELD_REAL,   1e-6, 1 },
    { "top_k",                 S2_FIELD_INT,    0, 1048576 },
    { "min_p",                 S2_FIELD_REAL,   0, 0.999999 },
    { "repeat_penalty",        S2_FIELD_REAL,   0.01, 100 },
    { "presence_penalty",      S2_FIELD_REAL,   -2, 2 },
    { "frequency_penalty",     S2_FIELD_REAL,   -2, 2 },
    { "seed",                  S2_FIELD_INT,    0, MAX_SEED },
    { "stop",                  S2_FIELD_OTHER,  0, 0 },
    { "n",                     S2_FIELD_INT,    1, 1 },
    { "stream",                S2_FIELD_BOOL,   0, 0 },
    { "stream_options",        S2_FIELD_OBJECT, 0, 0 },
    { "logprobs",              S2_FIELD_BOOL,   0, 0 },
    { "top_logprobs",          S2_FIELD_INT,    0, 20 },
    { "response_format",       S2_FIELD_OBJECT, 0, 0 },
    { "ignore_eos",            S2_FIELD_BOOL,   0, 0 },
    { "return_progress",       S2_FIELD_BOOL,   0, 0 },
    { "prune",                 S2_FIELD_OBJECT, 0, 0 },
    { .name = NULL },
};

const s2_field s2_prune_fields[] = {
    { "method",     S2_FIELD_TEXT,   1, 40 },
    { "budget",     S2_FIELD_OTHER,  0, 0 },
    { "grid",       S2_FIELD_INT,    0, S2P_MAX_SIDE },
    { "allocator",  S2_FIELD_TEXT,   1, 40 },
    { "selector",   S2_FIELD_TEXT,   1, 40 },
    { "mode",       S2_FIELD_TEXT,   1, 40 },
    { "seed",       S2_FIELD_INT,    0, MAX_SEED },
    { "keep",       S2_FIELD_LIST,   1, 16384 },
    { "parameters", S2_FIELD_OBJECT, 0, 0 },
    { "return",     S2_FIELD_LIST,   0, 8 },
    { .name = NULL },
};
/* clang-format on */

static bool check_number(const json_t *value, const s2_field *f, const char *param, double max,
                         s2_http_error *error)
{
    const bool is_int = f->type == S2_FIELD_INT;
    if (is_int ? !json_is_integer(value) : !json_is_number(value))
        return s2_http_fail(error, 400, param, "%s must be %s", param,
                            is_int ? "a whole number" : "a number");
    const double number = json_number_value(value);
    if (number >= f->min && number <= max) return true; /* NaN is not */
    return s2_http_fail(error, 400, param, "%s is %.10g; it must be from %.10g to %.16g", param,
                        number, f->min, max);
}

static bool check_size(size_t n, const s2_field *f, const char *param, const char *what,
                       s2_http_error *error)
{
    if ((double)n >= f->min && (double)n <= f->max) return true;
    return s2_http_fail(error, 400, param, "%s has %zu %s; it must have from %.0f to %.0f", param,
                        n, what, f->min, f->max);
}

static bool check_field(const json_t *value, const s2_field *f, const char *param, int32_t n_ctx,
                        s2_http_error *error)
{
    switch (f->type) {
    case S2_FIELD_INT:
    case S2_FIELD_REAL:
        return check_number(value, f, param, f->max == S2_FIELD_CONTEXT ? n_ctx : f->max, error);
    case S2_FIELD_BOOL:
        return json_is_boolean(value) ||
               s2_http_fail(error, 400, param, "%s must be true or false", param);
    case S2_FIELD_TEXT:
        if (!json_is_string(value))
            return s2_http_fail(error, 400, param, "%s must be a string", param);
        return check_size(json_string_length(value), f, param, "bytes", error);
    case S2_FIELD_LIST:
        if (!json_is_array(value))
            return s2_http_fail(error, 400, param, "%s must be a list", param);
        return check_size(json_array_size(value), f, param, "items", error);
    case S2_FIELD_OBJECT:
        return json_is_object(value) ||
               s2_http_fail(error, 400, param, "%s must be an object", param);
    default:
        return true;
    }
}

static bool refuse_unknown(const char *key, const s2_field *fields, const char *path,
                           s2_http_error *error)
{
    char list[200] = "", param[128];
    size_t at = 0;
    for (const s2_field *f = fields; f->name && at < sizeof list; f++)
        at += (size_t)snprintf(list + at, sizeof list - at, "%s%s", at > 0 ? ", " : "", f->name);
    (void)snprintf(param, sizeof param, "%s%.40s", path, key);
    return s2_http_fail(error, 400, param, "%s is not known; there are %s", param, list);
}

bool s2_fields_check(const json_t *object, const s2_field *fields, const char *path, bool is_closed,
                     int32_t n_ctx, s2_http_error *error)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        const s2_field *f = fields;
        while (f->name && strcmp(f->name, key) != 0) f++;
        if (!f->name && is_closed) return refuse_unknown(key, fields, path, error);
        if (!f->name || json_is_null(value)) continue;
        char param[128];
        (void)snprintf(param, sizeof param, "%s%s", path, f->name);
        if (!check_field(value, f, param, n_ctx, error)) return false;
    }
    return true;
}
