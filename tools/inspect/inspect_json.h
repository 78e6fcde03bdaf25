/* inspect_json.h - an inspection for programs. */
#ifndef S2_TOOLS_INSPECT_JSON_H
#define S2_TOOLS_INSPECT_JSON_H

#include "inspect/inspect.h"

void s2_inspect_json(const s2_inspection *in, s2_buffer *out); /* one line, "s2prune.inspect/1" */

#endif /* S2_TOOLS_INSPECT_JSON_H */
