/* http_error.c - statuses and their types. */
#include "serve/front/http_error.h"

#include <stdarg.h>
#include <stdio.h>

static const char *type_of(int status)
{
    switch (status) {
    case 401:
        return "authentication_error";
    case 403:
        return "permission_error";
    case 404:
        return "not_found_error";
    case 429:
        return "rate_limit_error";
    case 500:
        return "server_error";
    case 503:
        return "unavailable_error";
    default:
        return "invalid_request_error";
    }
}

bool s2_http_fail(s2_http_error *error, int status, const char *param, const char *format, ...)
{
    va_list args;
    *error = (s2_http_error){ .status = status };
    va_start(args, format);
    (void)vsnprintf(error->message, sizeof error->message, format, args);
    va_end(args);
    if (param) (void)snprintf(error->param, sizeof error->param, "%s", param);
    return false;
}

json_t *s2_http_error_json(const s2_http_error *e)
{
    json_t *inside = json_pack("{s:s,s:s,s:i,s:s?}", "message", e->message, "type",
                               e->type ? e->type : type_of(e->status), "code", e->status, "param",
                               e->param[0] ? e->param : NULL);
    if (inside && e->n_ctx > 0) {
        json_object_set_new(inside, "n_prompt_tokens", json_integer(e->n_prompt));
        json_object_set_new(inside, "n_ctx", json_integer(e->n_ctx));
    }
    return json_pack("{s:o}", "error", inside);
}
