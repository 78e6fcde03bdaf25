/* body.h - the bytes of a request to a JSON tree within limits.
 *
 * A linear scan comes before the parser: it limits nesting, values and strings, and cuts out data URIs,
 * which would be copied three times otherwise. In the tree such a string is U+0001 and its number.
 */
#ifndef S2_SERVE_BODY_H
#define S2_SERVE_BODY_H

#include "serve/front/http_error.h"

#define S2_BODY_MAX_VALUES 65536u
#define S2_BODY_MAX_STRING ((size_t)1 << 20) /* of text; data URIs may be longer */
#define S2_BODY_MAX_CUTS 32

typedef struct s2_body { /* free with s2_body_free */
    json_t *json;        /* an object */
    s2_buffer text;      /* what was parsed: the request without its data URIs */
    struct {
        const char *text; /* between the quotes, escapes and all; points into the bytes given */
        size_t n;
        bool is_base64; /* without "data:...," before it */
    } cut[S2_BODY_MAX_CUTS];
    size_t n_cuts;
} s2_body;

/* The bytes must outlive the body. false: *error says why, with the offset. */
bool s2_body_read(const void *bytes, size_t n, s2_body *out, s2_http_error *error);

/* The same for an API whose pictures are base64 alone: strings that are too long for text are taken as
 * pictures. */
bool s2_body_read_base64(const void *bytes, size_t n, s2_body *out, s2_http_error *error);
void s2_body_free(s2_body *body);

/* Appends the file in a data URI, a string of the body; `param` is for the message. */
bool s2_body_data_uri(const s2_body *body, const json_t *string, const char *param, s2_buffer *out,
                      s2_http_error *error);

/* The same, or base64 without "data:...," before it. */
bool s2_body_base64(const s2_body *body, const json_t *string, const char *param, s2_buffer *out,
                    s2_http_error *error);

/* Whether a string was cut out. */
bool s2_body_is_cut(const json_t *string);

#endif /* S2_SERVE_BODY_H */
