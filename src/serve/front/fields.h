/* fields.h - every field of a request that is looked at, with its type and range. Known fields of another
 * type or outside their range are refused, never clamped; null stands for a field that is not there. */
#ifndef S2_SERVE_FIELDS_H
#define S2_SERVE_FIELDS_H

#include "serve/front/http_error.h"

typedef enum s2_field_type {
    S2_FIELD_INT,
    S2_FIELD_REAL,
    S2_FIELD_BOOL,
    S2_FIELD_TEXT, /* min, max: bytes */
    S2_FIELD_LIST, /* min, max: items */
    S2_FIELD_OBJECT,
    S2_FIELD_OTHER /* looked at elsewhere */
} s2_field_type;

typedef struct s2_field {
    const char *name; /* NULL ends a table */
    s2_field_type type;
    double min, max; /* both allowed; max S2_FIELD_CONTEXT: as many tokens as the context holds */
} s2_field;

#define S2_FIELD_CONTEXT (-1.0)

extern const s2_field s2_chat_fields[], s2_prune_fields[];

/* Every field of the object that has a row. path: what stands before the names, "" or "prune.".
 * is_closed: a field without a row is refused, with the list of those there are. */
bool s2_fields_check(const json_t *object, const s2_field *fields, const char *path, bool is_closed,
                     int32_t n_ctx, s2_http_error *error);

#endif /* S2_SERVE_FIELDS_H */
