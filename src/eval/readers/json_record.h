/* json_record.h - one record of JSON as a row. */
#ifndef S2_EVAL_JSON_RECORD_H
#define S2_EVAL_JSON_RECORD_H

#include "eval/readers/rows.h"

typedef struct s2e_json_record {
    const s2e_rows_options *options;
    const char *path;
    s2e_arena *arena;
    const char *text; /* [n] as it stands in the file */
    size_t n;
    uint64_t at; /* of text[0] in the file */
} s2e_json_record;

/* Names and values of the record; a value that is no object is one called "value". `key` (NULL: none)
 * comes first, with the text of a JSON string, quotes included. The sentence says what is wrong and
 * not where. */
s2p_status s2e_json_record_read(const s2e_json_record *record, const char *key, size_t key_n,
                                s2e_row *row, s2p_error *error);

#endif /* S2_EVAL_JSON_RECORD_H */
