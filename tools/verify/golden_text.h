/* golden_text.h - golden files written as lines of text. */
#ifndef S2_TOOLS_GOLDEN_TEXT_H
#define S2_TOOLS_GOLDEN_TEXT_H

#include "base/json.h"

/* Lines of text to cases. *stage: which one, borrowed from a table; NULL when the text is none of
 * ours. */
s2p_status s2_golden_text(const char *text, size_t n, const char *name, const char **stage,
                          json_t **cases, s2p_error *error);

#endif /* S2_TOOLS_GOLDEN_TEXT_H */
