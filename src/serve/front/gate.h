/* gate.h - the head of a request, judged before anything is done for it.
 *
 * The HTTP library is lenient; what it lets through and two parsers could read in two ways is refused
 * here: lengths that contradict each other, odd names, control characters, strange targets.
 */
#ifndef S2_SERVE_GATE_H
#define S2_SERVE_GATE_H

#include "serve/front/http_error.h"

#define S2_GATE_MAX_FIELDS 100
#define S2_GATE_MAX_TARGET 8192
#define S2_GATE_MAX_HEADERS ((size_t)32 << 10)

typedef struct s2_head_field {
    const char *name, *value; /* both NUL-terminated; lengths may say that a NUL is inside */
    size_t n_name, n_value;
} s2_head_field;

typedef struct s2_head { /* all borrowed */
    const char *method, *target, *version;
    s2_head_field field[S2_GATE_MAX_FIELDS + 1];
    size_t n_fields;
    /* found by the gate; NULL: not there */
    const char *host, *origin, *authorization, *api_key, *content_type, *accept_encoding,
        *if_none_match;
    int64_t content_length; /* below 0: not given */
    bool is_chunked;
} s2_head;

bool s2_gate_check(s2_head *head, s2_http_error *error);

/* Bytes of the path of a target: all before the '?'. */
size_t s2_target_path(const char *target);

/* The value of a name in the query, as it stands there; "" when it is not there. */
void s2_target_query(const char *target, const char *name, char *out, size_t capacity);

#endif /* S2_SERVE_GATE_H */
