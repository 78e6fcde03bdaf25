/* json_fields.h - the fields of a JSON object, with their types and ranges.
 *
 * A known field of another type or outside its range is refused, never clamped. null means that the
 * field is absent.
 */
#ifndef S2_BASE_JSON_FIELDS_H
#define S2_BASE_JSON_FIELDS_H

#include "base/json.h"

typedef enum s2_json_type {
    S2_JSON_INT,
    S2_JSON_REAL,
    S2_JSON_BOOL,
    S2_JSON_TEXT, /* min, max: bytes */
    S2_JSON_LIST, /* min, max: items */
    S2_JSON_OBJECT,
    S2_JSON_OTHER /* checked by the caller */
} s2_json_type;

typedef struct s2_json_field {
    const char *name; /* NULL ends a table */
    s2_json_type type;
    double min, max; /* inclusive; max S2_JSON_CONTEXT: the length of the context */
} s2_json_field;

#define S2_JSON_CONTEXT (-1.0)
#define S2_JSON_MAX_SEED 9007199254740992.0 /* every client's numbers can hold it */
#define S2_JSON_PARAM 128                   /* bytes of "prune.budget" and the like */

/* Checks every field of the object that has a row. path: the prefix of the names, "" or "prune.".
 * is_closed: a field without a row is refused, and the sentence lists the known ones. On failure
 * (S2P_EINVAL) `param` is the field at fault. */
s2p_status s2_json_check_fields(const json_t *object, const s2_json_field *fields, const char *path,
                                bool is_closed, int32_t n_ctx, char param[S2_JSON_PARAM],
                                s2p_error *error);

#endif /* S2_BASE_JSON_FIELDS_H */
