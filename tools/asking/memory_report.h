/* memory_report.h - what a model will take, for people and programs. */
#ifndef S2_TOOLS_MEMORY_REPORT_H
#define S2_TOOLS_MEMORY_REPORT_H

#include "base/buffer.h"
#include "s2vlm.h"

#include <jansson.h>

void s2_memory_text(const s2v_memory *memory, s2_buffer *out);
json_t *s2_memory_json(const s2v_memory *memory);

/* Whether it fits, the cache of pictures left aside, which takes what is there; S2P_ENOMEM with the
 * numbers. */
s2p_status s2_memory_check(const s2v_memory *memory, s2p_error *error);

#endif /* S2_TOOLS_MEMORY_REPORT_H */
