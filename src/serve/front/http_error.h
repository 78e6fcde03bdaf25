/* http_error.h - why a request is refused: a status, a type that OpenAI clients know, one sentence, the
 * field at fault. */
#ifndef S2_SERVE_HTTP_ERROR_H
#define S2_SERVE_HTTP_ERROR_H

#include "base/json.h"

typedef struct s2_http_error {
    int status;       /* of HTTP; 0: none */
    const char *type; /* NULL: by the status */
    char message[512];
    char param[128];         /* "" : none */
    int32_t n_prompt, n_ctx; /* n_ctx above 0: both are reported */
    int retry_after_s;       /* above 0: sent as Retry-After */
} s2_http_error;

/* Fill *error; always false, so that a check can return it. param NULL: none. */
bool s2_http_fail(s2_http_error *error, int status, const char *param, const char *format, ...)
    S2_PRINTF(4, 5);

/* {"error":{"message":,"type":,"code":,"param":}}; a new reference. */
json_t *s2_http_error_json(const s2_http_error *error);

#endif /* S2_SERVE_HTTP_ERROR_H */
