/* json_rows.h - JSON lines, arrays of records and objects of records, one record at a time. */
#ifndef S2_EVAL_JSON_ROWS_H
#define S2_EVAL_JSON_ROWS_H

#include "eval/readers/reader.h"

typedef enum s2e_json_shape { S2E_JSON_LINES, S2E_JSON_ARRAY, S2E_JSON_OBJECT } s2e_json_shape;

/* Takes over the input, which stands behind a byte order mark. On failure *out is NULL and the input
 * the caller's. */
s2p_status s2e_json_rows_open(s2e_input *input, s2e_json_shape shape,
                              const s2e_rows_options *options, s2e_reader **out, s2p_error *error);

/* The shape of what stands at the input, which is left there: a text that starts with '{' is one
 * object of records when nothing follows it, and lines otherwise. */
s2p_status s2e_json_shape_of(s2e_input *input, s2e_json_shape *out, s2p_error *error);

#endif /* S2_EVAL_JSON_ROWS_H */
