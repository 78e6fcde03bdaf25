/* json_scan.h - the outline of JSON: where strings, records and members begin and end.
 *
 * Follows brackets and strings alone, so that one broken record does not take the next one with it;
 * whether a record is JSON is for the parser.
 */
#ifndef S2_EVAL_JSON_SCAN_H
#define S2_EVAL_JSON_SCAN_H

#include "base/buffer.h"
#include "eval/readers/input.h"
#include "eval/readers/rows.h"

/* Skip white space; returns the next byte without taking it; -1 at the end of the file. */
s2p_status s2e_json_peek(s2e_input *input, int *c, s2p_error *error);

/* Take the next value. Its text replaces what `out` holds (NULL: it is dropped); a value
 * longer than out->max is taken all the same and leaves out->status S2P_ELIMIT. *whole is false when
 * the file ended inside it. */
s2p_status s2e_json_take(s2e_input *input, s2_buffer *out, bool *whole, s2p_error *error);

/* The same for a line; the line end is taken and not part of it. */
s2p_status s2e_json_take_line(s2e_input *input, s2_buffer *out, bool *whole, s2p_error *error);

/* In memory: bytes of the value at text[at] (n in all), 0 when it does not end; and past spaces. */
size_t s2e_json_value_size(const char *text, size_t at, size_t n);
size_t s2e_json_skip_space(const char *text, size_t at, size_t n);

/* json_record.c: one record of JSON as a row. */
typedef struct s2e_json_record {
    const s2e_rows_options *options;
    const char *path;
    s2e_arena *arena;
    const char *text; /* [n] bytes of the file, unchanged */
    size_t n;
    uint64_t at; /* of text[0] in the file */
} s2e_json_record;

/* Names and values of the record; a value that is no object is one called "value". `key` (NULL: none)
 * comes first, with the text of a JSON string, quotes included. The sentence says what is wrong and
 * not where. */
s2p_status s2e_json_record_read(const s2e_json_record *record, const char *key, size_t key_n,
                                s2e_row *row, s2p_error *error);

#endif /* S2_EVAL_JSON_SCAN_H */
