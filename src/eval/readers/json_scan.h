/* json_scan.h - the outline of JSON: where strings, records and members begin and end.
 *
 * Follows brackets and strings alone, so that one broken record does not take the next one with it;
 * whether a record is JSON is for the parser.
 */
#ifndef S2_EVAL_JSON_SCAN_H
#define S2_EVAL_JSON_SCAN_H

#include "base/buffer.h"
#include "eval/readers/input.h"

/* Skip white space; the byte that stands there, not taken; -1 at the end of the file. */
s2p_status s2e_json_peek(s2e_input *input, int *c, s2p_error *error);

/* Take the value that stands there. Its text replaces what `out` holds (NULL: it is dropped); a value
 * longer than out->max is taken all the same and leaves out->status S2P_ELIMIT. *whole is false when
 * the file ended inside it. */
s2p_status s2e_json_take(s2e_input *input, s2_buffer *out, bool *whole, s2p_error *error);

/* The same for a line; the line end is taken and not part of it. */
s2p_status s2e_json_take_line(s2e_input *input, s2_buffer *out, bool *whole, s2p_error *error);

/* In memory: bytes of the value at text[at] (n in all), 0 when it does not end; and past spaces. */
size_t s2e_json_value_size(const char *text, size_t at, size_t n);
size_t s2e_json_skip_space(const char *text, size_t at, size_t n);

#endif /* S2_EVAL_JSON_SCAN_H */
