/* chat_request.h - a request of an OpenAI client to a job of the engine. */
#ifndef S2_SERVE_CHAT_REQUEST_H
#define S2_SERVE_CHAT_REQUEST_H

#include "base/json_fields.h"
#include "serve/front/body.h"
#include "serve/protocol/frame.h"

#define S2_CHAT_MAX_PICTURES 8
#define S2_CHAT_MAX_ANSWERS 8
#define S2_CHAT_MAX_MASKS 8
#define S2_CHAT_MAX_TEXT ((size_t)1 << 20) /* of all messages */

typedef struct s2_chat_context { /* what requests are checked against */
    const char *model;           /* "" while it is not known: any name is accepted */
    const char *const *others;   /* [n_others] further models */
    size_t n_others;
    const char *virtual_models; /* "full,s2prune-64": also MODEL@full, MODEL@s2prune-64 */
    int32_t n_ctx;
    size_t max_picture_bytes;
    const char *media_path;  /* pictures below it may be named; NULL: none */
    const char *image_hosts; /* servers they may be fetched from (pictures.h); NULL: none */
} s2_chat_context;

typedef struct s2_remote_picture {
    char *url;       /* owned; NULL: the bytes are in picture[] */
    char param[128]; /* the field it was named in */
} s2_remote_picture;

typedef struct s2_chat_request { /* free with s2_chat_request_free */
    bool streams, includes_usage, wants_progress, has_logprobs, is_compare;
    bool has_tools;    /* the answer may have calls of tools */
    int32_t n_answers; /* choices */
    char model[320];   /* the name the client used */
    json_t *job;       /* for the engine */
    s2_buffer picture[S2_CHAT_MAX_PICTURES];
    s2_remote_picture remote[S2_CHAT_MAX_PICTURES]; /* to be fetched into picture[] */
    size_t n_pictures, n_remote;
    s2_buffer mask[S2_CHAT_MAX_MASKS]; /* files; "masks" of the job says what they are of */
    size_t n_masks;
} s2_chat_request;

extern const s2_json_field s2_chat_fields[];

/* is_compare: with "settings", a list of prune objects, instead of "prune". */
bool s2_chat_request_read(const s2_body *body, const s2_chat_context *context, bool is_compare,
                          s2_chat_request *out, s2_http_error *error);
void s2_chat_request_free(s2_chat_request *request);

/* The field logit_bias, checked, as "bias" of the sampling of a job. */
bool s2_logit_bias_read(const json_t *value, json_t *sampling, s2_http_error *error);

/* Fields of other servers that would change the answer but have no effect here are refused. */
bool s2_other_fields_check(const json_t *body, s2_http_error *error);

/* The same for fields of other APIs in a chat, and for fields of a chat that a door did not take. */
bool s2_foreign_fields_check(const json_t *chat, s2_http_error *error);
bool s2_left_fields_check(const json_t *own, const json_t *chat, s2_http_error *error);

/* Fields about thoughts, as "reasoning", "reasoning_budget" and "reasoning_in_text" of a job. */
bool s2_reasoning_read(const json_t *body, json_t *job, s2_http_error *error);

/* Takes "masks" out of a prune object, the one of setting number `setting` of a comparison, else 0: the
 * files to out->mask, the rest to "masks" of the job. path: "prune." or "settings[0].". */
bool s2_masks_take(const s2_body *body, json_t *prune, const char *path, int32_t setting,
                   size_t max_bytes, s2_chat_request *out, s2_http_error *error);

/* {"image":, "prune":{}, "tokens":[R,C]}: the job of a plan. */
bool s2_plan_request_read(const s2_body *body, const s2_chat_context *context, const char *format,
                          s2_chat_request *out, s2_http_error *error);

/* The frame of a request; its number is set on submission. */
void s2_chat_request_encode(const s2_chat_request *request, bool is_quick, s2_buffer *out);

/* Walk "MODEL", "MODEL@full", ... of all models: false past the end. */
bool s2_model_at(const s2_chat_context *context, size_t index, char *out, size_t capacity);

#endif /* S2_SERVE_CHAT_REQUEST_H */
