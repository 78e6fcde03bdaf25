/* method_list.h - the table of methods as a user reads it: --list-methods, and words of reports. */
#ifndef S2_TOOLS_METHOD_LIST_H
#define S2_TOOLS_METHOD_LIST_H

#include "base/buffer.h"
#include "prune/method.h"

/* "default", "published", as s2p_mode counts them; NULL past the end. */
const char *s2_mode_name(size_t index);

/* "before the decoder", "after layer 0", "after layers 2, 6, 15"; "" for no stage. */
#define S2_AFTER_TEXT 64u
void s2_after_text(const int32_t *after, int32_t n_stages, char out[S2_AFTER_TEXT]);

/* Every method of a choice function: where it prunes, whether it sees the question, whether it
 * merges, its source; then what each looks at, its parameters, the signals by name, and what --mode
 * published changes. */
void s2_method_list(const char *(*name)(size_t index), s2_buffer *out);

/* The same on standard output; the exit code. */
int s2_method_list_print(const char *(*name)(size_t index));

#endif /* S2_TOOLS_METHOD_LIST_H */
