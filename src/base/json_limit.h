/* json_limit.h - JSON of a checkpoint: bounded in bytes and in values before it is parsed.
 *
 * "[[],[],...": three bytes of text cost a parser a hundred bytes of memory. Counting brackets and
 * commas first keeps the tree of a malicious file as small as that of an ordinary one.
 */
#ifndef S2_BASE_JSON_LIMIT_H
#define S2_BASE_JSON_LIMIT_H

#include "base/json.h"

/* As s2_json_parse; S2P_ELIMIT when the text holds more than `max_values` brackets and commas. */
s2p_status s2_json_parse_few(const void *text, size_t n, const char *name, size_t max_values,
                             json_t **out, s2p_error *error);

/* The object in the file `name` of a folder, of at most max_bytes; the name starts the sentences. */
s2p_status s2_json_read_in(const char *folder, const char *name, size_t max_bytes,
                           size_t max_values, json_t **out, s2p_error *error);

#endif /* S2_BASE_JSON_LIMIT_H */
