/* complete.h - how a line typed to a conversation goes on: a command, or the name of a file. */
#ifndef S2_TOOLS_COMPLETE_H
#define S2_TOOLS_COMPLETE_H

#include "base/buffer.h"

typedef const char *(*s2_word_at)(size_t index); /* NULL past the end */

/* line[0..n): up to the cursor. `add`: text to insert there, perhaps none. `list`: where there are several
 * and nothing to insert, one name a line. Names with control characters are not offered. */
void s2_complete(const char *line, size_t n, s2_word_at command, s2_buffer *add, s2_buffer *list);

#endif /* S2_TOOLS_COMPLETE_H */
