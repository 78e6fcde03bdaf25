/* inspect_text.h - an inspection for people. */
#ifndef S2_TOOLS_INSPECT_TEXT_H
#define S2_TOOLS_INSPECT_TEXT_H

#include "inspect/inspect.h"

void s2_inspect_text(const s2_inspection *in, s2_buffer *out);

#endif /* S2_TOOLS_INSPECT_TEXT_H */
