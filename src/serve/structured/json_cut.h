/* json_cut.h - a value of a JSON text as the client wrote it.
 *
 * A schema must reach the engine as it was sent: parsed numbers lose their spelling (0.07 would become
 * 0.070000000000000007), and answers are spelled like the schema.
 */
#ifndef S2_SERVE_JSON_CUT_H
#define S2_SERVE_JSON_CUT_H

#include <stdbool.h>
#include <stddef.h>

/* text[0..n): valid JSON. path: keys of objects, or "#3" for item 3 of a list, up to a NULL. false: it is not
 * there, or a key on the way is spelled with escapes. */
bool s2_json_cut(const char *text, size_t n, const char *const *path, const char **out,
                 size_t *n_out);

#endif /* S2_SERVE_JSON_CUT_H */
